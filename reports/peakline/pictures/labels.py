"""Places labels inside a panel, by measuring with the renderer.

adjustText (1.4.0) left 21 labels on lines or marks and 2 on one another for real kernels on the
roofline, where these leave none, and took 4 s for a drawing of 0.2 s.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from peakline.pictures.canvas import Axes, Text, note

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
