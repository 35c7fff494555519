"""Labels inside a panel, placed by measuring with the renderer; those of a roofline.

adjustText (1.4.0) left 21 labels on lines or marks and 2 on one another for real kernels on the
roofline, where these leave none, and took 4 s for a drawing of 0.2 s.
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from peakline import units
from peakline.limits.ceilings import Limits
from peakline.pictures.canvas import Axes, Canvas, Text, inches, note
from peakline.pictures.style import INK

# Corners of a convex shape, in pixels; two are a line.
Outline = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for a label: a point in data coordinates, and a distance in points."""

    xy: tuple[float, float]
    away: tuple[float, float]
    ha: str = "left"
    va: str = "bottom"


def place(axes: Axes, text: str, spots: Sequence[Spot], taken: list[Outline], **style: Any) -> bool:
    """Writes a text at the first spot inside the panel and clear of what is taken.

    Adds its outline to `taken`; writes nothing and returns False if no spot is free. Call it when
    the axes have their final limits.
    """
    for spot in spots:
        sides: dict[str, Any] = {"ha": spot.ha, "va": spot.va, "rotation_mode": "anchor"}
        label = note(axes, text, spot.xy, spot.away, **sides, **style)
        corners = outline(label)
        inside = all(axes.bbox.contains(x, y) for x, y in corners)
        if inside and not any(overlap(corners, other) for other in taken):
            taken.append(corners)
            return True
        label.remove()
    return False


def outline(text: Text) -> Outline:
    """The corners of a possibly rotated text in pixels, without its leader."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Annotation, Text

    figure: Any = text.figure
    if not isinstance(figure.canvas, FigureCanvasAgg):
        FigureCanvasAgg(figure)
    renderer = figure.canvas.get_renderer()
    if isinstance(text, Annotation):
        text.update_positions(renderer)
    box, angle = Text.get_window_extent(text, renderer), text.get_rotation()
    # A rotated text's box has the same centre as the text.
    text.set_rotation(0)
    level = Text.get_window_extent(text, renderer)
    text.set_rotation(angle)
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    halves = [(i * level.width / 2, j * level.height / 2) for i, j in _CORNERS]
    return [(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in halves]


_CORNERS = ((-1, -1), (1, -1), (1, 1), (-1, 1))


def line(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> Outline:
    return [tuple(axes.transData.transform(point)) for point in (start, end)]


def disc(axes: Axes, xy: tuple[float, float], radius: float) -> Outline:
    """A round mark at a point in data coordinates; radius in points."""
    (x, y), r = axes.transData.transform(xy), radius * axes.figure.dpi / 72
    turns = [i * math.pi / 6 for i in range(12)]
    return [(x + r * math.cos(turn), y + r * math.sin(turn)) for turn in turns]


def overlap(one: Outline, other: Outline, spare: float = 0.5) -> bool:
    """Whether two convex outlines overlap by more than `spare` pixels (separating axes)."""
    for x, y in (*_normals(one), *_normals(other)):
        a, b = ([px * x + py * y for px, py in corners] for corners in (one, other))
        if max(a) - min(b) <= spare or max(b) - min(a) <= spare:
            return False
    return True


def _normals(corners: Outline) -> Iterator[tuple[float, float]]:
    """The normals of each side; a line also has ends."""
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


# With more roofs, ridge labels would be ambiguous.
_FEW_ROOFS = 4
# Largest distance in points of a ridge's label: further away it would look like another's.
_FAR = 14
# Points between a slope and its name; above it the text's descenders add room.
_ABOVE, _BELOW = 1.0, 3.0


def short_label(label: str) -> str:
    """A resource's label for narrow pictures: "BF16 tensor", "HBM"."""
    return re.sub(
        r" read\b", "", label.replace(" Tensor Cores", " tensor").replace(" CUDA cores", "")
    )


def slope_angle(axes: Axes) -> float:
    """Degrees on paper of a log-log line of slope 1."""
    width, height = inches(axes)
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    return math.degrees(math.atan2(height / math.log(y1 / y0), width / math.log(x1 / x0)))


def slope_spots(axes: Axes, bandwidth: float) -> list[Spot]:
    """Places for a label along a slope, above and below it, from its start."""
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    start, end = max(x0, y0 / bandwidth), min(x1, y1 / bandwidth)
    at = [start * (end / start) ** (i / 48) for i in range(1, 40)]
    angle = math.radians(slope_angle(axes))
    dx, dy = math.sin(angle), math.cos(angle)
    above = [Spot((x, x * bandwidth), (-_ABOVE * dx, _ABOVE * dy)) for x in at]
    return above + [Spot((x, x * bandwidth), (_BELOW * dx, -_BELOW * dy), va="top") for x in at]


def write_labels(axes: Axes, canvas: Canvas, found: Limits, ridges: bool = True) -> None:
    """Writes labels that find room; call it after everything else is drawn."""
    lines, points = _drawn(axes)
    texts: list[Outline] = []
    top = found.roofs[0].value
    slopes = [line(axes, (1e-6, 1e-6 * s.value), (top / s.value, top)) for s in found.slopes]
    for slope in sorted(found.slopes, key=lambda s: s.resource != found.main.resource):
        name = short_label(slope.label) if canvas.narrow else slope.label
        text = f"{name} {units.rate(slope.value, 'B/s')}"
        spots = slope_spots(axes, slope.value)
        style = {"rotation": slope_angle(axes), "fontsize": canvas.font - 1, "color": INK}
        # A name may cross a roof or even a point, but on another slope it would be misread.
        for others in ([*points, *lines], [*points, *slopes], slopes):
            blocked = [*texts, *others]
            if place(axes, text, spots, blocked, **style):
                texts.append(blocked[-1])
                break
    if ridges:
        _label_ridges(axes, canvas, found, [*texts, *points, *lines])


def _drawn(axes: Axes) -> tuple[list[Outline], list[Outline]]:
    """The lines and the marks of a panel."""
    lines, marks = [], []
    for drawn in axes.get_lines():
        data: Any = drawn.get_xydata()
        if drawn.get_marker() != "None":
            marks += [disc(axes, at, drawn.get_markersize() / 2) for at in data]
        else:
            lines += [line(axes, *ends) for ends in itertools.pairwise(data)]
    return lines, marks


def _label_ridges(axes: Axes, canvas: Canvas, found: Limits, taken: list[Outline]) -> None:
    """Writes intensities right of the main memory's ridges, unless roofs are many."""
    if len(found.roofs) > _FEW_ROOFS:
        return
    style = {"fontsize": canvas.font - 1, "color": INK}
    for roof in found.roofs:
        at = (roof.value / found.main.value, roof.value)
        away = range(3, _FAR, 4)
        spots = [Spot(at, (dx, -dy), "left", "top") for dy in away for dx in (3, 6, 9)]
        spots += [Spot(at, (0, dy), "left") for dy in away]
        basis = " burst" if roof.sustained else ""
        place(axes, f"{units.intensity(at[0])}{basis}", spots, taken, **style)
