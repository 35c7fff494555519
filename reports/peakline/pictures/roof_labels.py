"""Labels inside a roofline: names of slopes, ridge points."""

import itertools
import math
import re
from typing import Any

from peakline import units
from peakline.limits.ceilings import Limits
from peakline.pictures.canvas import Axes, Canvas, inches
from peakline.pictures.labels import Outline, Spot, disc, line, place
from peakline.pictures.style import INK

# With more roofs, ridge labels would be ambiguous.
_FEW_ROOFS = 4
# Largest distance in points of a ridge's label: further away it would look like another's.
_FAR = 14
# Points between a slope and its name; above it the text's descenders add room.
_ABOVE, _BELOW = 1.0, 3.0
# Small, since panels are crowded.
_FONT = 8.5


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


def write_labels(axes: Axes, canvas: Canvas, found: Limits) -> None:
    """Writes labels that find room; call it after everything else is drawn."""
    lines, points = _drawn(axes)
    texts: list[Outline] = []
    top = found.roofs[0].value
    slopes = [line(axes, (1e-6, 1e-6 * s.value), (top / s.value, top)) for s in found.slopes]
    for slope in sorted(found.slopes, key=lambda s: s.resource != found.main.resource):
        name = short_label(slope.label) if canvas.narrow else slope.label
        text = f"{name} {units.rate(slope.value, 'B/s')}"
        spots = slope_spots(axes, slope.value)
        style = {"rotation": slope_angle(axes), "fontsize": _FONT, "color": INK}
        # A name may cross a roof or even a point, but on another slope it would be misread.
        for others in ([*points, *lines], [*points, *slopes], slopes):
            blocked = [*texts, *others]
            if place(axes, text, spots, blocked, **style):
                texts.append(blocked[-1])
                break
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
    style = {"fontsize": canvas.font - 1.5, "color": INK}
    for roof in found.roofs:
        at = (roof.value / found.main.value, roof.value)
        away = range(3, _FAR, 4)
        spots = [Spot(at, (dx, -dy), "left", "top") for dy in away for dx in (3, 6, 9)]
        spots += [Spot(at, (0, dy), "left") for dy in away]
        place(axes, units.intensity(at[0]), spots, taken, **style)
