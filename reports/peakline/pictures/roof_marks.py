"""Kernels on the roofline: colour is the roof that binds, area time, shape the memory level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from peakline.kernels import Mark
from peakline.limits import Limits
from peakline.pictures.canvas import Canvas
from peakline.pictures.labels import Dot
from peakline.pictures.picture import HOVER
from peakline.pictures.roof_labels import short_label
from peakline.pictures.style import CARD, MUTED, precision_color
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Diameter of a kernel that takes no time, in points.
SMALLEST_MARK = 6.0
# How a mark is filled that shares its colour with others.
_FILLS = ("full", "left", "bottom", "right")
KERNEL: dict[str, Any] = {"linestyle": "none", "marker": "o"}
# Shapes by memory level, and what gives each about the area of a circle of the same size.
_SHAPES = (("o", 1.0), ("s", 0.89), ("^", 1.25), ("D", 0.89))
# How marks are drawn, by the resource that binds them.
Looks = dict[str | None, dict[str, Any]]
# The shape of marks and its size, by the memory level whose bytes they count.
Shapes = dict[str, tuple[str, float]]


def looks_of(canvas: Canvas, profile: Profile, device: str, marks: Sequence[Mark]) -> Looks:
    """How kernels look, by the resource that binds them: its colour, and how much of the mark is
    filled with it where several resources share one."""
    roofline = profile.roofline(device)
    known = (*roofline.memory, *roofline.compute) if roofline else ()
    bound = {mark.bound_by for mark in marks}
    looks: Looks = {}
    for name in known:
        if name in bound:
            color = precision_color(profile, profile.precision(name))
            others = sum(look["color"] == color for look in looks.values())
            label = profile.label(name)
            looks[name] = {
                "label": short_label(label) if canvas.narrow else label,
                "color": color,
                "fillstyle": _FILLS[others % len(_FILLS)],
            }
    if None in bound:
        looks[None] = {"label": "no verdict", "color": MUTED, "fillstyle": "full"}
    for look in looks.values():
        whole = look["fillstyle"] == "full"
        look |= {"markerfacecoloralt": CARD, "markeredgecolor": CARD if whole else look["color"]}
    return looks


def shapes_of(found: Limits, marks: Sequence[Mark]) -> Shapes:
    """The slowest level, which most kernels have, is a circle."""
    counted = {mark.resource for mark in marks}
    levels = [slope.resource for slope in reversed(found.slopes) if slope.resource in counted]
    return dict(zip(levels, itertools.cycle(_SHAPES), strict=False))


def legend_of_shapes(profile: Profile, shapes: Shapes) -> list[dict[str, Any]]:
    """One for each level, where there are several."""
    return [
        {
            "label": f"FLOP per {short_label(profile.label(resource))} byte",
            "marker": marker,
            "color": MUTED,
            "fillstyle": "none",
        }
        for resource, (marker, _) in shapes.items()
        if len(shapes) > 1
    ]


def draw_marks(
    axes: Axes,
    canvas: Canvas,
    profile: Profile,
    marks: Sequence[Mark],
    looks: Looks,
    shapes: Shapes,
) -> list[Dot]:
    """Kernels, the longest below the others: the colour is the binding roof's, the area time."""
    longest = max((mark.seconds for mark in marks), default=0.0)
    largest = 14.0 if canvas.narrow else 20.0
    dots = []
    for mark in sorted(marks, key=lambda mark: -mark.seconds):
        share = mark.seconds / longest if longest else 0.0
        size = math.sqrt(SMALLEST_MARK**2 + (largest**2 - SMALLEST_MARK**2) * share)
        marker, factor = shapes.get(mark.resource, _SHAPES[0])
        size *= factor
        look = {**KERNEL, **looks[mark.bound_by], "marker": marker}
        at = (mark.intensity, mark.flops_per_s)
        style = {**look, "label": f"_kernel {mark.name}", "alpha": 0.85, "zorder": 5}
        (dot,) = axes.plot(*at, markersize=size, **style)
        level = f", by bytes of {profile.label(mark.resource)}" if mark.resource else ""
        dot.set_gid(f"{HOVER}{mark.number}: {mark.name}{level}")
        dots.append(Dot(mark.number, at, size / 2))
    return dots
