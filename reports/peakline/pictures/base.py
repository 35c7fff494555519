"""What all pictures share: their description, the canvas they are drawn on, direct labels, and SVG
that takes its colours from the page it stands in."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import math
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class DrawingUnavailable(RuntimeError):
    """matplotlib is not installed."""


def require_matplotlib() -> None:
    """Raises DrawingUnavailable, which says what to install."""
    if importlib.util.find_spec("matplotlib") is None:
        raise DrawingUnavailable(
            "drawing needs matplotlib: install the package as peakline[draw], or pip install "
            "matplotlib"
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture of one device: what it is called, what it says, and how to draw it."""

    key: str
    title: str
    how: str  # one sentence on how to read it
    reading: str  # what it says about this device, computed from the profile
    draw: Callable[[Canvas], Figure]


INK = "#1b2026"
MUTED = "#59646f"
GRID = "#e1e5ea"
CARD = "#ffffff"
# The first three, as many lines as most pictures have, differ with every common colour blindness;
# marker and dash tell all apart, in grey too. Each has at least 4.5:1 contrast on CARD, since a
# label takes the colour of its line.
SERIES = (
    "#0067b1",
    "#b04a00",
    "#566270",
    "#007a5c",
    "#8a449c",
    "#7d6500",
    "#ab2f52",
    "#1a7691",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = (
    "solid",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (8, 2, 2, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
)

# Behind a text, so that it stays legible over lines.
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
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    # A fixed salt and no date: the same profile gives the same file.
    "svg.hashsalt": "peakline",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True, slots=True)
class Canvas:
    """The shape that a picture is drawn for: a laptop's column, or a phone's."""

    narrow: bool = False

    @property
    def font(self) -> float:
        """Points; the narrow canvas is shown at about the size it is drawn."""
        return 10.0 if self.narrow else 9.0

    @property
    def width(self) -> float:
        """Inches."""
        return 4.6 if self.narrow else 8.2

    def figure(
        self,
        height: float,
        panels: int = 1,
        *,
        left: float = 0.62,
        right: float = 0.12,
        top: float = 0.34,
        columns: int = 0,
    ) -> tuple[Figure, list[Axes]]:
        """A figure with panels side by side, or one above the other on the narrow canvas.

        All in inches: height of one panel; left, right and top the room that each panel keeps free
        for its labels (`room`). columns: how many panels stand in a row, 0 for all.
        """
        from matplotlib.figure import Figure

        columns = 1 if self.narrow else (columns or panels)
        rows = math.ceil(panels / columns)
        figure = Figure(figsize=(self.width, height * rows))
        bottom = 0.52
        for i in range(panels):
            row, column = divmod(i, columns)
            figure.add_axes(
                (
                    (column / columns) + left / self.width,
                    1 - (row + 1) / rows + bottom / (height * rows),
                    1 / columns - (left + right) / self.width,
                    1 / rows - (top + bottom) / (height * rows),
                )
            )
        for axes in figure.axes:
            axes.tick_params(labelsize=self.font - 0.5, length=3)
        return figure, list(figure.axes)

    def room(self, texts: Iterable[str], font: float | None = None) -> float:
        """Inches that the longest of `texts` takes beside an axis."""
        # 0.62 em is the mean advance of DejaVu Sans over letters and digits, rounded up.
        longest = max((len(text) for text in texts), default=0)
        return (longest * 0.62 * (font or self.font) + 16) / 72

    def title(self, axes: Axes, text: str) -> None:
        """A left-aligned heading of a panel."""
        axes.set_title(text, loc="left", fontsize=self.font, color=INK, pad=6)

    def labels(self, axes: Axes, x: str, y: str = "") -> None:
        """Axis labels; the y label stands level above the axis, as the panel's heading."""
        axes.set_xlabel(x, fontsize=self.font)
        if y:
            self.title(axes, y)


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions moved as little as needed to lie at least `gap` apart, within [low, high].

    Where there is no room for all, they are spaced evenly. The order is kept.
    """
    count = len(positions)
    if count == 0:
        return []
    if gap * (count - 1) >= high - low:
        gap = (high - low) / max(1, count - 1)
    order = sorted(range(count), key=lambda i: positions[i])
    placed = [min(max(positions[i], low), high) for i in order]
    # Neighbours that are too close form a block around their mean; blocks that touch are merged.
    blocks: list[list[float]] = []  # [sum of wanted first positions, number of members]
    for rank, position in enumerate(placed):
        blocks.append([position, 1.0, float(rank)])
        while len(blocks) > 1 and _start(blocks[-2], gap, low, high) + gap * blocks[-2][1] > _start(
            blocks[-1], gap, low, high
        ):
            last = blocks.pop()
            before = blocks[-1]
            before[0] += last[0] - gap * before[1] * last[1]
            before[1] += last[1]
    result = [0.0] * count
    for block in blocks:
        start = _start(block, gap, low, high)
        for member in range(int(block[1])):
            result[order[int(block[2]) + member]] = start + gap * member
    return result


def _start(block: list[float], gap: float, low: float, high: float) -> float:
    start = block[0] / block[1]
    return min(max(start, low), high - gap * (block[1] - 1))


@dataclass(frozen=True, slots=True)
class EndLabel:
    """A label at the right edge of a panel, level with `y` in data coordinates."""

    y: float
    text: str
    color: str


def end_labels(axes: Axes, labels: Sequence[EndLabel], font: float) -> None:
    """Labels lines at the right edge instead of a legend, moved apart where they would overlap.

    Call it last: it needs the axes' final limits.
    """
    low, high = axes.get_ylim()
    figure = axes.get_figure()
    assert figure is not None
    height = axes.get_position().height * figure.get_figheight() * 72  # type: ignore[union-attr]
    log = axes.get_yscale() == "log"

    def level(y: float) -> float:
        if log:
            return (math.log(max(y, low)) - math.log(low)) / (math.log(high) - math.log(low))
        return (y - low) / (high - low)

    wanted = [level(label.y) * height for label in labels]
    placed = spread(wanted, font * 1.25, 0.0, height)
    moved = any(abs(at - target) > 1.0 for at, target in zip(placed, wanted, strict=True))
    for label, at, target in zip(labels, placed, wanted, strict=True):
        leader = {
            "arrowstyle": "-",
            "color": label.color,
            "lw": 0.6,
            "relpos": (0.0, 0.5),  # ends at the text's left edge, not below its neighbours
            "shrinkA": 1,
            "shrinkB": 0,
        }
        axes.annotate(
            label.text,
            xy=(1.0, target / height),
            xytext=(12 if moved else 4, at - target),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=font,
            color=label.color,
            va="center",
            ha="left",
            annotation_clip=False,
            arrowprops=leader if moved else None,
        )


def plain_log_ticks(axis: Any, values: Sequence[float], labels: Sequence[str]) -> None:
    """Ticks at chosen places of a log axis, with plain labels."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_major_formatter(FixedFormatter(list(labels)))
    axis.set_minor_locator(NullLocator())


def decade_ticks(axis: Any, low: float, high: float, at_most: int = 8) -> None:
    """Ticks at powers of ten as "1", "10", "100", "1 k" ... "1 P"."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / at_most))
    values = [10.0**e for e in range(first, last + 1, step)]
    plain_log_ticks(axis, values, [_engineering(v) for v in values])


def _engineering(value: float) -> str:
    for scale, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale * 0.999:
            return f"{value / scale:g} {prefix}"
    return f"{value:g}"


@contextlib.contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(typing.cast(Any, _RC)):
        yield


def render(picture: Picture, file_format: str, canvas: Canvas | None = None) -> bytes:
    """The picture as a file: "svg", "png" (150 dpi) or "pdf"."""
    with _style():
        figure = picture.draw(canvas or Canvas())
        target = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format)
        figure.savefig(target, format=file_format, dpi=150, metadata=metadata)
    return target.getvalue()


def draw(picture: Picture, canvas: Canvas | None = None) -> Figure:
    """The matplotlib figure, for those who want to add to it."""
    with _style():
        return picture.draw(canvas or Canvas())


_ID = re.compile(r'(\bid="|url\(#|xlink:href="#)')
_COLOR = re.compile("|".join(CSS_VARIABLES), re.IGNORECASE)


def inline_svg(picture: Picture, canvas: Canvas, prefix: str) -> str:
    """SVG to stand in an HTML page: scales with its column, takes the page's colours and font.

    prefix keeps its ids apart from those of the page's other pictures.
    """
    text = render(picture, "svg", canvas).decode("utf-8")
    text = text[text.index("<svg") :]
    head, _, body = text.partition(">")
    view_box = re.search(r'viewBox="[^"]*"', head)
    assert view_box is not None
    # Drops matplotlib's metadata and its style sheet, whose rules would apply to the whole page.
    body = body[body.index("</defs>") + len("</defs>") :]
    body = _ID.sub(lambda match: match.group(1) + prefix, body)
    body = _COLOR.sub(lambda match: f"var({CSS_VARIABLES[match.group(0).lower()]})", body)
    # The page's own font; matplotlib's metrics of DejaVu Sans leave room for any other.
    body = body.replace("'DejaVu Sans'", "var(--font)")
    return f'<svg {view_box.group(0)} aria-hidden="true" focusable="false">{body}'
