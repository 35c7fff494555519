"""The canvas of a picture: its shape, ticks, and labels beside lines and rows.

Margins are computed from the texts; matplotlib's constrained layout takes twice the time (13 s
instead of 7 for the pictures of one GPU).
"""

import functools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peakline.pictures.style import INK, MUTED
from peakline.pictures.titles import name_rows
from peakline.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation, Text
else:  # describing a picture needs no matplotlib
    Axes = Figure = Line2D = Annotation = Text = Any


# A panel keeps this share of its column, even beside long labels.
_LEAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Canvas:
    """The shape of a picture: for a laptop's column, or a phone's."""

    narrow: bool = False

    @property
    def font(self) -> float:
        """Points; the narrow canvas is shown at about its drawn size."""
        return 10.0 if self.narrow else 9.0

    @property
    def width(self) -> float:
        """Inches."""
        return 3.8 if self.narrow else 8.2

    def figure(
        self,
        height: float,
        panels: int = 1,
        *,
        left: float | Sequence[float] = 0.62,
        right: float | Sequence[float] = 0.12,
        top: float = 0.34,
        columns: int = 0,
        narrow_columns: int = 1,
    ) -> tuple[Figure, list[Axes]]:
        """A figure with panels side by side, or stacked on the narrow canvas.

        In inches: height of a panel; left, right and top: free for its labels (`room`), left and
        right also as one number per panel. Panels of a row are equally wide. columns: panels per
        row, 0 for all.
        """
        from matplotlib.figure import Figure

        columns = narrow_columns if self.narrow else (columns or panels)
        rows = math.ceil(panels / columns)
        whole, bottom = height * rows, 0.52
        figure = Figure(figsize=(self.width, whole))
        lefts, rights = (
            list(room) if isinstance(room, Sequence) else [room] * (columns * rows)
            for room in (left, right)
        )
        for i in range(panels):
            row, column = divmod(i, columns)
            first, end = row * columns, (row + 1) * columns
            width = (self.width - sum(lefts[first:end]) - sum(rights[first:end])) / columns
            # Names in a profile may be long: labels without room are cut.
            width = max(width, _LEAST_SHARE * self.width / columns)
            x = column * width + sum(lefts[first : i + 1]) + sum(rights[first:i])
            y = 1 - (row + 1) / rows + bottom / whole
            size = (width / self.width, 1 / rows - (top + bottom) / whole)
            figure.add_axes((x / self.width, y, *size))
        for axes in figure.axes:
            axes.tick_params(labelsize=self.font - 0.5, length=3)
            # Grid lines end with the panel anyway; their clip paths are 5 % of a page.
            axes.grid(clip_on=False)
            # An explicit position saves the search for one: 8 % of the time.
            axes.set_title("", loc="left", y=1.0)
        return figure, list(figure.axes)

    def room(self, texts: Iterable[str], font: float | None = None) -> float:
        """Inches for the longest of `texts` beside an axis."""
        longest = max((text_width(text, font or self.font) for text in texts), default=0.0)
        return (longest + 18) / 72

    def title(self, axes: Axes, text: str) -> None:
        axes.set_title(text, loc="left", y=1.0, fontsize=self.font, color=INK, pad=6)

    def columns(self, names: Iterable[str]) -> int:
        """The number of legend columns that fit the figure."""
        # Handle and gap are about four letters wide.
        widest = max(text_width(name, self.font - 1) for name in names) + 4.2 * self.font
        return max(1, int(self.width * (1.0 if self.narrow else 0.75) * 72 / widest))

    def head(self, entries: int, columns: int) -> float:
        """Inches for a legend above a panel."""
        return 0.14 + 0.2 * math.ceil(entries / columns)

    def legend_above(self, axes: Axes, columns: int, **style: Any) -> None:
        """A legend above a panel, for marks without a line to label."""
        box = axes.get_position()
        chosen: dict[str, Any] = {
            "fontsize": self.font - 1,
            # On the narrow canvas it starts above the labels at the left.
            "bbox_to_anchor": (0.02 - box.x0 / box.width if self.narrow else 0.0, 1.0),
            "handlelength": 1.6,
            "handletextpad": 0.4,
            "columnspacing": 0.9,
            "borderaxespad": 0.1,
            **style,
        }
        axes.legend(loc="lower left", ncols=columns, **chosen)

    def legend_of(self, axes: Axes, names: Sequence[str], **style: Any) -> None:
        """A legend of these lines, by default in an empty part of a panel."""
        shown = [line for line in axes.get_lines() if line.get_label() in names]
        axes.legend(handles=shown, fontsize=self.font - 1, **style)

    def beside(self, axes: Axes, y: float, text: str, color: str = INK) -> None:
        """Writes a text right of a panel, level with a row."""
        at = ("axes fraction", "data")
        note(axes, text, (1.0, y), (4, 0), at, fontsize=self.font - 1, color=color)

    def row_panel(
        self,
        names: Sequence[str],
        step: float,
        texts: Sequence[str],
        legend: Collection[str] = (),
        *,
        spare: float = 0.91,
        color: str = INK,
    ) -> tuple[Figure, Axes]:
        """A panel of rows with names at the left, texts at the right, and room for a legend above.
        step: height of a row; spare: of axis and margins, both in inches. color: of the texts."""
        head = self.head(len(legend), self.columns(legend)) if legend else 0.0
        figure, (axes,) = self.figure(
            spare + step * len(names) + head,
            left=self.room(names, self.font - 0.5),
            right=self.room(texts, self.font - 1),
            top=head or 0.12,
        )
        self.rows(axes, names)
        for y, text in enumerate(texts):
            self.beside(axes, y, text, color)
        return figure, axes

    def rows(self, axes: Axes, names: Sequence[str]) -> None:
        name_rows(axes, names)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.45, -0.55)

    def above_rows(self, axes: Axes, names: Sequence[str]) -> None:
        """Writes names above their bars, for the narrow canvas."""
        name_rows(axes, names)
        for row, name in enumerate(names):
            at, style = (0, row - 0.2), {"fontsize": self.font - 1, "va": "bottom"}
            note(axes, name, at, (3, 1.5), ("axes fraction", "data"), **style)
        axes.set_yticks([])
        axes.set_ylim(len(names) - 0.6, -0.75)

    def labels(self, axes: Axes, x: str, y: str = "") -> None:
        """Sets axis labels, within the figure; the y label is the panel's heading."""
        box, half = axes.get_position(), text_width(x, self.font) / 144 / self.width + 0.01
        middle = min(max(box.x0 + box.width / 2, half), 1 - half)
        axes.set_xlabel(x, fontsize=self.font, x=(middle - box.x0) / box.width)
        if y:
            self.title(axes, y)


def note(
    axes: Axes,
    text: str,
    at: tuple[float, float],
    away: tuple[float, float],
    of: tuple[str, str] = ("data", "data"),
    **style: Any,
) -> Annotation:
    """Writes a text some points away from a place; of: the coordinate systems of its x and y."""
    return axes.annotate(
        text,
        at,
        away,
        xycoords=of,
        textcoords="offset points",
        **{"color": INK, "va": "center", "annotation_clip": False, **style},
    )


def inches(axes: Axes) -> tuple[float, float]:
    """Width and height of a panel."""
    box = axes.get_position()
    width, height = axes.figure.get_size_inches()  # type: ignore[union-attr]
    return box.width * float(width), box.height * float(height)


def enlarge(figure: Figure, top: float, bottom: float) -> None:
    """Adds so many inches above and below the panels of a figure."""
    width, height = map(float, figure.get_size_inches())
    whole = height + top + bottom
    for axes in figure.axes:
        box = axes.get_position()
        level = (box.y0 * height + bottom) / whole
        axes.set_position((box.x0, level, box.width, box.height * height / whole))
    figure.set_size_inches(width, whole)


@functools.lru_cache(maxsize=4096)  # both canvases have the same texts
def text_width(text: str, font: float, weight: str = "normal") -> float:
    """Width of a single-line text in points, as measured by the renderer."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    properties = FontProperties(family="DejaVu Sans", size=font, weight=weight)
    line = printable(text)
    return float(text_to_path.get_text_width_height_descent(line, properties, ismath=False)[0])


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions moved as little as possible to be at least `gap` apart, within [low, high]. Without
    enough room they are spaced evenly. The order is kept."""
    count = len(positions)
    if count == 0:
        return []
    if gap * (count - 1) >= high - low:
        gap = (high - low) / max(1, count - 1)
    order = sorted(range(count), key=lambda i: positions[i])
    placed = [min(max(positions[i], low), high) for i in order]
    # Neighbours that are too close form a block around their mean; overlapping blocks are merged.
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


# A line that ends beyond this share of the panel's width counts as reaching the edge.
_REACHED = 0.9


@dataclass(frozen=True, slots=True)
class EndLabel:
    """A label at the right edge of a panel, level with `y` in data coordinates. x: end of the named
    line, if it may be before the edge."""

    y: float
    text: str
    color: str
    x: float | None = None


def end_labels(axes: Axes, labels: Sequence[EndLabel], font: float) -> None:
    """Labels lines at the right edge, moved apart where they would overlap.

    A leader connects a label with its line's end if the label was moved or the line ends early.
    Call it last: it needs the axes' final limits.
    """
    low, high = axes.get_ylim()
    width, height = (72 * side for side in inches(axes))
    log = axes.get_yscale() == "log"

    def level(y: float) -> float:
        if log:
            return (math.log(max(y, low)) - math.log(low)) / (math.log(high) - math.log(low))
        return (y - low) / (high - low)

    wanted = [level(label.y) * height for label in labels]
    placed = spread(wanted, font * 1.25, 0.0, height)
    moved = any(abs(at - target) > 1.0 for at, target in zip(placed, wanted, strict=True))
    pixels = axes.transData + axes.transAxes.inverted()
    for label, at, target in zip(labels, placed, wanted, strict=True):
        end = 1.0 if label.x is None else pixels.transform((label.x, label.y))[0]
        short = end < _REACHED
        leader = {
            "arrowstyle": "-",
            "color": label.color,
            "lw": 0.6,
            "relpos": (0.0, 0.5),  # starts at the text's left edge, not below its neighbours
            "shrinkA": 1,
            "shrinkB": 0,
        }
        if short:
            # Inside the panel, a leader in the line's colour would look like the line.
            leader |= {"color": MUTED, "linestyle": (0, (1, 3)), "lw": 0.8, "shrinkB": 5}
        away = ((12 if moved or short else 4) + (1.0 - end) * width * short, at - target)
        style = {"color": label.color, "arrowprops": leader if moved or short else None}
        of = ("axes fraction", "axes fraction")
        note(
            axes,
            label.text,
            (end if short else 1.0, target / height),
            away,
            of,
            fontsize=font,
            **style,
        )


def plain_log_ticks(axis: Any, values: Sequence[float], labels: Sequence[str]) -> None:
    """Sets ticks of a log axis at these values, with these labels."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_major_formatter(FixedFormatter(list(labels)))
    axis.set_minor_locator(NullLocator())


def powers(base: float, low: float, high: float, at_most: int) -> list[float]:
    """Powers of a base between two exponents, thinned out evenly."""
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    step = max(1, math.ceil((last - first + 1) / at_most))
    return [base**e for e in range(first, last + 1, step)]


FEWEST_TICKS = 3


def round_values(low: float, high: float, at_most: int) -> list[float]:
    """1, 2 and 5 times powers of ten between two values, fewer of them in a wide range, and equal
    steps in a narrow one: at least three."""
    for steps in ((1, 2, 5), (1, 3), (1,)):
        exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        values = [step * 10.0**e for e in exponents for step in steps]
        values = [value for value in values if low <= value <= high]
        if len(values) <= at_most + 1:
            break
    if len(values) < FEWEST_TICKS:
        return _equal_steps(low, high)
    return values[:: max(1, math.ceil(len(values) / (at_most + 1)))]


def _equal_steps(low: float, high: float) -> list[float]:
    """At least three round values between two that are not far apart."""
    power = 10.0 ** math.floor(math.log10((high - low) / FEWEST_TICKS))
    step = next(s * power for s in (5, 2, 1, 0.5) if high // (s * power) - low // (s * power) >= 3)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def engineering_ticks(axis: Any, low: float, high: float, at_most: int = 5) -> None:
    """Sets ticks of a log axis at round values: "1", "10", "200", "1 k" ... "1 P"."""
    values = round_values(low, high, at_most)
    plain_log_ticks(axis, values, [_engineering(v) for v in values])


def _engineering(value: float) -> str:
    for scale, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale * 0.999:
            return f"{value / scale:g} {prefix}"
    return f"{value:g}"
