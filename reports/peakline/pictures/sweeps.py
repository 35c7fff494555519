"""Curves over one varying size: caches, latencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, EndLabel, decade_ticks, end_labels
from peakline.pictures.curves import Curve, curve, plot, size_of, size_ticks
from peakline.pictures.picture import Picture
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(profile: Profile, device: str, area: str, title: str) -> Picture | None:
    """Curves of every `area.*` benchmark over its one varying size: caches, latencies."""
    lines: list[tuple[str, Curve]] = []
    for id_ in dict.fromkeys(m.id for m in profile.of(device, area)):
        rows = profile.of(device, id_)
        rows = [m for m in rows if m.id == id_ and size_of(m)]
        line = curve(id_.removeprefix(area + "."), rows, size_of)
        if len(line.x) > 1:
            lines.append((rows[0].unit, line))
    if not lines:
        return None
    units_found = list(dict.fromkeys(unit for unit, _ in lines))

    def draw(canvas: Canvas) -> Figure:
        right = canvas.room(line.name for _, line in lines)
        figure, panels = canvas.figure(3.4, len(units_found), right=right)
        for axes, unit in zip(panels, units_found, strict=True):
            scale, label = {"s": (1e-9, "ns"), "B/s": (1e9, "GB/s")}.get(unit, (1.0, unit))
            labels = []
            for i, (_, line) in enumerate((u, c) for u, c in lines if u == unit):
                color = plot(axes, line, i, scale)
                labels.append(EndLabel(line.y[-1] / scale, line.name, color))
            xs = [x for u, line in lines if u == unit for x in line.x]
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            size_ticks(axes.xaxis, min(xs), max(xs), 6)
            low, high = axes.get_ylim()
            decade_ticks(axes.yaxis, low, high)
            canvas.labels(axes, "footprint", label)
            end_labels(axes, labels, canvas.font - 1)
        return figure

    unit, line = lines[0]
    first, last = units.value(line.y[0], unit), units.value(line.y[-1], unit)
    return Picture(
        area,
        title,
        "Each plateau is one level of the memory hierarchy; a step marks the size at which a level "
        "overflows.",
        f"{line.name.capitalize()}: {first} at {units.size(line.x[0])}, {last} at "
        f"{units.size(line.x[-1])}.",
        draw,
    )
