"""Labels inside a panel, put where the renderer says that there is room.

adjustText (1.4.0) was tried in place of it, with real kernels on the roofline: it left 21 labels on
lines or marks and 2 on one another, where these leave none, and took 4 s for a drawing of 0.2 s.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peakline.pictures.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

# The corners of something convex on paper, in pixels; two are a line.
Outline = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for a label: a point in data coordinates and how many points away from it."""

    xy: tuple[float, float]
    away: tuple[float, float]
    ha: str = "left"
    va: str = "bottom"


def place(axes: Axes, text: str, spots: Sequence[Spot], taken: list[Outline], **style: Any) -> bool:
    """Writes a text at the first spot where it lies in the panel and clear of what is taken.

    Adds its outline to `taken`; writes nothing and returns False where no spot is free. Call it
    when the axes have their final limits.
    """
    for spot in spots:
        label = axes.annotate(
            text,
            xy=spot.xy,
            xytext=spot.away,
            textcoords="offset points",
            ha=spot.ha,
            va=spot.va,
            rotation_mode="anchor",
            **style,
        )
        corners = outline(label)
        inside = all(axes.bbox.contains(x, y) for x, y in corners)
        if inside and not any(overlap(corners, other) for other in taken):
            taken.append(corners)
            return True
        label.remove()
    return False


@dataclass(frozen=True, slots=True)
class Dot:
    """A round mark that has a number: where, in data coordinates, and its radius in points."""

    number: int
    xy: tuple[float, float]
    radius: float


# A number may stand in these directions of its dot, straight above first, and so many points off
# its edge: close by, or at the end of a leader.
_TURNS = [math.radians(turn) for turn in (90, 270, 0, 180, 45, 135, 225, 315)]
_TURNS += [math.radians(turn) for turn in range(0, 360, 9) if turn % 45]
_BESIDE, _LED = (1,), range(7, 100, 5)
# Pixels that a number keeps from all else, its leader from other dots, and a number that has none
# from these, which would be taken for its own.
_APART, _CLEAR, _ALONE = 1.0, 3.0, 6.0


def write_numbers(
    axes: Axes,
    dots: Sequence[Dot],
    most: int,
    lines: Sequence[Outline],
    texts: list[Outline],
    **style: Any,
) -> int:
    """Writes the numbers of dots, the lowest `most`, each beside its own or at the end of a leader.

    A number lies on no line, text, dot or leader. A leader may cross lines, and dots where there is
    no other way. Adds what it writes to `texts`; returns how many dots have no number. Call it when
    the axes have their final limits.
    """
    point = axes.figure.dpi / 72
    discs = [(*axes.transData.transform(dot.xy), dot.radius * point) for dot in dots]
    ground, written = [*map(_bounded, lines)], [*map(_bounded, texts)]
    left = len(dots)
    # The smallest come first, since a leader reaches a large one from more sides.
    lowest = sorted(range(len(dots)), key=lambda i: dots[i].number)[:most]
    for i in sorted(lowest, key=lambda i: dots[i].radius):
        dot = dots[i]
        found = _write_number(axes, dot, ground, written, [*discs[:i], *discs[i + 1 :]], style)
        written += map(_bounded, found)
        texts += found
        left -= bool(found)
    return left


# This is an outline behind its lowest and highest x and y.
_Bounded = tuple[float, float, float, float, Outline]


def _bounded(corners: Outline) -> _Bounded:
    xs, ys = zip(*corners, strict=True)
    return min(xs), max(xs), min(ys), max(ys), corners


def _hit(corners: Outline, others: Iterable[_Bounded], spare: float) -> bool:
    """Whether an outline overlaps any of the others; almost all lie too far off to look closely."""
    left, right, low, high, _ = _bounded(corners)
    left, right, low, high = left + spare, right - spare, low + spare, high - spare
    return any(
        x0 < right and x1 > left and y0 < high and y1 > low and overlap(corners, other, spare)
        for x0, x1, y0, y1, other in others
    )


# The centre of a circle and its radius.
_Circle = tuple[float, float, float]


def _on_box(corners: Outline, circles: Iterable[_Circle], apart: float) -> bool:
    """Whether a box that is not turned comes nearer to any of the circles than `apart`."""
    left, right, low, high, _ = _bounded(corners)
    return any(
        math.hypot(max(left - x, 0, x - right), max(low - y, 0, y - high)) < radius + apart
        for x, y, radius in circles
    )


def _on_line(ends: Outline, circles: Iterable[_Circle], apart: float) -> bool:
    """Whether a line comes nearer to any of the circles than `apart`."""
    (x0, y0), (x1, y1) = ends
    dx, dy = x1 - x0, y1 - y0
    squared = dx * dx + dy * dy
    for x, y, radius in circles:
        along = min(max(((x - x0) * dx + (y - y0) * dy) / squared, 0), 1)
        if math.hypot(x0 + along * dx - x, y0 + along * dy - y) < radius + apart:
            return True
    return False


def _write_number(
    axes: Axes,
    dot: Dot,
    lines: Sequence[_Bounded],
    texts: Sequence[_Bounded],
    others: Sequence[_Circle],
    style: dict[str, Any],
) -> list[Outline]:
    """Writes a number; returns the outlines of it and its leader, none where it has no room."""
    style = {"textcoords": "offset points", "ha": "center", "va": "center", **style}
    probe = axes.annotate(str(dot.number), dot.xy, (0, 0), **style)
    level = outline(probe)
    probe.remove()
    (x0, y0), (x1, y1) = level[0], level[2]
    (x, y), point = axes.transData.transform(dot.xy), axes.figure.dpi / 72
    edge = dot.radius * point
    for gaps, apart, barred in ((_BESIDE, _ALONE, ()), (_LED, _APART, others), (_LED, _APART, ())):
        for gap, turn in itertools.product(gaps, _TURNS):
            cos, sin = math.cos(turn), math.sin(turn)
            far = edge + gap * point + (abs(cos) * (x1 - x0) + abs(sin) * (y1 - y0)) / 2
            number = [(px + far * cos, py + far * sin) for px, py in level]
            leader = [(x + edge * cos, y + edge * sin), (x + far * cos, y + far * sin)]
            if (
                not all(axes.bbox.contains(*corner) for corner in number)
                or _on_box(number, others, apart)
                or _hit(number, texts, -_APART)
                or _hit(number, lines, -_APART)
                or _hit(leader, texts, 0.5)
                or _on_line(leader, barred, _CLEAR)
            ):
                continue
            if gaps is _LED:
                # The leader goes to the middle, which tells dots apart that lie on each other.
                ends = {"shrinkA": 0, "shrinkB": 0}
                style["arrowprops"] = {"arrowstyle": "-", "color": INK, "lw": 0.6, **ends}
            away = (far * cos / point, far * sin / point)
            axes.annotate(str(dot.number), dot.xy, away, **style)
            return [number, leader]
    return []


def renderer_of(figure: Any) -> Any:
    """What measures a figure's texts."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if not isinstance(figure.canvas, FigureCanvasAgg):
        FigureCanvasAgg(figure)
    return figure.canvas.get_renderer()


def outline(text: Text) -> Outline:
    """The corners of a text that may be turned, in pixels; a leader does not belong to it."""
    from matplotlib.text import Annotation, Text

    renderer = renderer_of(text.figure)
    if isinstance(text, Annotation):
        text.update_positions(renderer)
    box, angle = Text.get_window_extent(text, renderer), text.get_rotation()
    # The box around a turned text has the same centre as the text.
    text.set_rotation(0)
    level = Text.get_window_extent(text, renderer)
    text.set_rotation(angle)
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    halves = [(i * level.width / 2, j * level.height / 2) for i, j in _CORNERS]
    return [(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in halves]


_CORNERS = ((-1, -1), (1, -1), (1, 1), (-1, 1))


def line(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> Outline:
    """A straight line between two points in data coordinates."""
    return [tuple(axes.transData.transform(point)) for point in (start, end)]


def disc(axes: Axes, xy: tuple[float, float], radius: float) -> Outline:
    """A round mark at a point in data coordinates; its radius is in points."""
    (x, y), r = axes.transData.transform(xy), radius * axes.figure.dpi / 72
    turns = [i * math.pi / 6 for i in range(12)]
    return [(x + r * math.cos(turn), y + r * math.sin(turn)) for turn in turns]


def overlap(one: Outline, other: Outline, spare: float = 0.5) -> bool:
    """Whether two convex outlines share more than `spare` pixels, by their separating axes.

    Below 0 `spare` is how far they have to be apart.
    """
    for x, y in (*_normals(one), *_normals(other)):
        a, b = ([px * x + py * y for px, py in corners] for corners in (one, other))
        if max(a) - min(b) <= spare or max(b) - min(a) <= spare:
            return False
    return True


def _normals(corners: Outline) -> Iterator[tuple[float, float]]:
    """The directions across each side; a line has ends as well."""
    if len(corners) == 2:
        (x0, y0), (x1, y1) = corners
        length = math.hypot(x1 - x0, y1 - y0)
        if length > 0:
            yield (y0 - y1) / length, (x1 - x0) / length
            yield (x1 - x0) / length, (y1 - y0) / length
        return
    before_x, before_y = corners[-1]
    for x, y in corners:
        length = math.hypot(x - before_x, y - before_y)
        if length > 0:
            yield (before_y - y) / length, (x - before_x) / length
        before_x, before_y = x, y
