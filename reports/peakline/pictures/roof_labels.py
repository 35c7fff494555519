"""What is written into a roofline's panel: names of slopes, numbers of kernels, ridge points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.kernels import Mark
from peakline.limits import Limits
from peakline.pictures.canvas import Canvas
from peakline.pictures.labels import Outline, Spot, line, place, renderer_of
from peakline.pictures.style import GROUND, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a kernel's number may stand, in points: on circles around its dot, the nearest first.
_AROUND = [
    (radius * math.cos(turn * math.pi / 6), radius * math.sin(turn * math.pi / 6))
    for radius in (10, 16, 24, 34)
    for turn in (3, 9, 0, 6, 1, 5, 7, 11, 2, 4, 8, 10)
]
# Among more roofs than this one cannot tell whose ridge a number is.
_FEW_ROOFS = 4
# A label of a ridge stands off its dot by this many points at most: further away it would be read
# as that of another.
_FAR = 14


def slope_angle(axes: Axes) -> float:
    """Degrees on paper of a line of slope 1 in log-log."""
    figure = axes.get_figure()
    assert figure is not None
    box = axes.get_position()
    width = box.width * figure.get_figwidth()  # type: ignore[union-attr]
    height = box.height * figure.get_figheight()  # type: ignore[union-attr]
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    return math.degrees(math.atan2(height / math.log(y1 / y0), width / math.log(x1 / x0)))


def slope_spots(axes: Axes, bandwidth: float) -> list[Spot]:
    """Places for a label along a slope, above it and below it, from its start on."""
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    start, end = max(x0, y0 / bandwidth), min(x1, y1 / bandwidth)
    at = [start * (end / start) ** (i / 24) for i in range(1, 20)]
    return [Spot((x, x * bandwidth), away) for away in ((-4, 4), (6, -12)) for x in at]


def write_labels(axes: Axes, canvas: Canvas, found: Limits, marks: Sequence[Mark]) -> None:
    """Writes what finds room; call it when everything else is drawn."""
    top, right, fastest = found.roofs[0].value, axes.get_xlim()[1], found.slopes[0].value
    slopes = [line(axes, (1e-6, 1e-6 * s.value), (top / s.value, top)) for s in found.slopes]
    roofs = [line(axes, (r.value / fastest, r.value), (right, r.value)) for r in found.roofs]
    points, texts = _points(axes), _legend(axes)
    for slope in sorted(found.slopes, key=lambda s: s.resource != found.main.resource):
        text = f"{slope.label} {units.rate(slope.value, 'B/s')}"
        spots = slope_spots(axes, slope.value)
        style = {"rotation": slope_angle(axes), "fontsize": canvas.font - 0.5, "color": INK}
        # Across a roof, or even a point, rather than not at all; on another slope it would be read
        # as the name of that one.
        for others in ([*points, *slopes, *roofs], [*points, *slopes], slopes):
            blocked = [*texts, *others]
            if place(axes, text, spots, blocked, **style):
                texts.append(blocked[-1])
                break
    taken = [*texts, *points]
    _number_marks(axes, canvas, marks, taken)
    _label_ridges(axes, canvas, found, [*taken, *slopes])


def _points(axes: Axes) -> list[Outline]:
    """Where marks are drawn."""
    found = []
    for points in axes.get_lines():
        if points.get_marker() != "None":
            half = points.get_markersize() / 2 * axes.figure.dpi / 72
            for x, y in axes.transData.transform(points.get_xydata()):
                found.append(_box(x - half, y - half, x + half, y + half))
    return found


def _legend(axes: Axes) -> list[Outline]:
    legend = axes.get_legend()
    if legend is None:
        return []
    box = legend.get_window_extent(renderer_of(axes.figure))
    return [_box(box.x0, box.y0, box.x1, box.y1)]


def _box(x0: float, y0: float, x1: float, y1: float) -> Outline:
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def _number_marks(axes: Axes, canvas: Canvas, marks: Sequence[Mark], taken: list[Outline]) -> None:
    """Names of kernels are far too long for a picture: it shows their numbers in the table."""
    for mark in marks:
        at = (mark.intensity, mark.flops_per_s)
        spots = [Spot(at, away, "center", "center") for away in _AROUND]
        style = {"fontsize": canvas.font - 0.5, "color": INK, "fontweight": "bold"}
        place(axes, str(mark.number), spots, taken, zorder=6, **style)


def _label_ridges(axes: Axes, canvas: Canvas, found: Limits, taken: list[Outline]) -> None:
    """Dots where slopes meet roofs; beside those of the main memory the intensity
    where roofs are few."""
    for slope in found.slopes:
        main = slope.resource == found.main.resource
        axes.plot(
            [r.value / slope.value for r in found.roofs],
            [r.value for r in found.roofs],
            linestyle="none",
            marker="o",
            markersize=4 if main else 3,
            color=INK,
            label=f"_ridge points {slope.resource}",
            zorder=4,
        )
    if len(found.roofs) > _FEW_ROOFS:
        return
    style = {"fontsize": canvas.font - 1.5, "color": INK, "bbox": GROUND}
    for roof in found.roofs:
        at = (roof.value / found.main.value, roof.value)
        spots = [Spot(at, (-4, dy), "right") for dy in range(3, _FAR, 4)]
        spots += [Spot(at, (5, -dy), "left", "top") for dy in range(3, _FAR, 4)]
        place(axes, units.intensity(at[0]), spots, taken, **style)
