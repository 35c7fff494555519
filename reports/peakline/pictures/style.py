"""Colours, marks and dashes of every picture, and matplotlib's settings."""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Iterator
from typing import Any

from peakline.profile import Profile

INK = "#1b2026"
MUTED = "#59646f"
GRID = "#e1e5ea"
CARD = "#ffffff"
# The first three, as many lines as most pictures have, differ with every common colour blindness;
# marker and dash tell all apart, in grey too. Each has at least 4.5:1 contrast on CARD, since a
# label takes the colour of its line.
SERIES = ("#0067b1", "#b04a00", "#566270", "#007a5c", "#8a449c", "#7d6500", "#ab2f52", "#1a7691")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = (
    "solid",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (8, 2, 2, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
)

DASHED = (0, (4, 3))
# A line that stands for a limit looks so.
LIMIT: dict[str, Any] = {"color": MUTED, "linestyle": DASHED, "lw": 0.9}

# This stands behind a text, so that it stays legible over lines.
GROUND = {"facecolor": CARD, "edgecolor": "none", "pad": 0.8, "alpha": 0.85}

# Colours that the page may replace: SVG that stands in a page follows its light or dark theme.
CSS_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    CARD: "--card",
    **{color: f"--s{i + 1}" for i, color in enumerate(SERIES)},
}

_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "text.color": INK,
    # Names come from outside: a dollar sign in one is no formula.
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
    # With a fixed salt and no date the same profile gives the same file.
    "svg.hashsalt": "peakline",
    "pdf.fonttype": 42,
}


def precision_of(profile: Profile, name: str) -> str:
    """The precision whose peak a format runs against.

    Its own where the profile has a resource of it; a variant such as "fp8_e5m2" runs against "fp8".
    """
    known = any(r.precision == name for r in profile.resources)
    return name if known else name.partition("_")[0]


def precision_color(profile: Profile, name: str) -> str:
    """One colour per precision, the same in every picture: in the order of the profile's
    resources."""
    known = list(dict.fromkeys(r.precision for r in profile.resources if r.precision))
    precision = precision_of(profile, name)
    return SERIES[known.index(precision) % len(SERIES)] if precision in known else INK


@contextlib.contextmanager
def style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(typing.cast(Any, _RC)):
        yield
