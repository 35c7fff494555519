"""Colours, marks and dashes of every picture, and matplotlib's settings."""

import contextlib
import threading
import typing
from collections.abc import Iterator
from typing import Any

from peakline.text import printable

INK = "#1b2026"
MUTED = "#59646f"
GRID = "#e1e5ea"
CARD = "#ffffff"
# The first three, which suffice for most pictures, differ with every common colour blindness;
# marker and dash distinguish all, in grey too. Labels take their line's colour, so each has at
# least 4.5:1 contrast on CARD.
SERIES = (
    "#0067b1",
    "#b04a00",
    "#566270",
    "#007a5c",
    "#8a449c",
    "#7d6500",
    "#1a7691",
    "#4f52b8",
    "#4f7316",
)
# What can be saved, is slower, or fails: the strongest colour, which means nothing else.
SAVED = "#ab2f52"
FASTER = SERIES[3]
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = (
    "solid",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (8, 2, 2, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
    (0, (12, 3)),
    (0, (3, 3, 1, 3)),
)

# A format's colour and mark, in every picture.
FORMATS = {
    "bf16": (SERIES[0], "o"),
    "fp8": (SERIES[1], "s"),
    "fp32": (SERIES[2], "^"),
    "fp16": (SERIES[3], "D"),
    "tf32": (SERIES[4], "v"),
    "fp64": (SERIES[5], "P"),
    "int8": (SERIES[6], "X"),
    "fp4": (INK, "*"),
    "nvfp4": (INK, "*"),
}
Fill = dict[str, Any]


def _fill(color: str, alpha: float = 1.0) -> Fill:
    return {"color": color, "alpha": alpha, "linewidth": 0}


def pale(color: str) -> Fill:
    """The fill of what is needed, beside what can be saved."""
    return _fill(color, 0.45)


# Pictures of a step and of its kernels stand on one page, on which a colour has one meaning.
SAVING = _fill(SAVED)
NOT_KNOWN: Fill = {"facecolor": CARD, "edgecolor": MUTED, "linewidth": 0.8}
KERNELS, COLLECTIVES, COPIES = pale(SERIES[0]), pale(SERIES[4]), pale(SERIES[1])
# Waits cover the operators that wait.
HOST_WORKS, HOST_LAUNCHES, HOST_WAITS = _fill(MUTED, 0.5), _fill(MUTED), _fill(GRID)
# What limits kernels. Levels of memory, by what resources and counters call them:
LEVELS = {"memory": ("device memory", SERIES[3]), "l2": ("L2", SERIES[6]), "l1": ("L1", SERIES[5])}
TENSOR_CORES = ("tensor cores", SERIES[7])
OTHER_UNITS = ("issue slots, other pipes", SERIES[8])

DASHED = (0, (4, 3))
# Style of limit lines.
LIMIT: dict[str, Any] = {"color": MUTED, "linestyle": DASHED, "lw": 0.9}

# Background of a text over lines.
GROUND = {"facecolor": CARD, "edgecolor": "none", "pad": 0.8, "alpha": 0.85}

# Colours that follow the page's light or dark theme in its SVG.
CSS_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    CARD: "--card",
    SAVED: "--saved",
    **{color: f"--s{i + 1}" for i, color in enumerate(SERIES)},
}

_DRAWING = threading.RLock()
_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "text.color": INK,
    # A dollar sign in a name is no formula.
    "text.parse_math": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.facecolor": CARD,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "figure.facecolor": CARD,
    "savefig.facecolor": CARD,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    # A fixed salt, and no date, make files reproducible.
    "svg.hashsalt": "peakline",
    "pdf.fonttype": 42,
}


def format_look(name: str) -> dict[str, Any]:
    """A format's colour and mark, "fp8_e5m2" those of "fp8"; empty for other names."""
    found = FORMATS.get(name) or FORMATS.get(name.partition("_")[0])
    return dict(zip(("color", "marker"), found, strict=True)) if found else {}


def format_color(name: str) -> str:
    return str(format_look(name).get("color", INK))


@contextlib.contextmanager
def style() -> Iterator[None]:
    """matplotlib's settings for pictures, in which each line of a text is printable. They hold for
    the process, so one thread draws at a time."""
    import matplotlib
    from matplotlib.text import Text

    with _DRAWING, matplotlib.rc_context(typing.cast(Any, _RC)):
        plain: Any = Text.set_text

        def set_text(text: Text, content: object) -> None:
            lines = str("" if content is None else content).split("\n")
            plain(text, "\n".join(map(printable, lines)))

        # All texts pass here: also those of ticks and legends, which matplotlib makes as it draws.
        Text.set_text = set_text  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            Text.set_text = plain  # type: ignore[method-assign]
