"""Threads that take different paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.curves import Curve, curve, integer_ticks, plot
from peakline.pictures.picture import Picture
from peakline.pictures.style import (
    DASHED,
    MUTED,
)
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(profile: Profile, device: str) -> Picture | None:
    """Slowdown against the number of paths, inside a warp and between warps."""
    lines = []
    for id_, name in (
        ("divergence.lanes", "inside a warp"),
        ("divergence.warps", "between warps"),
    ):
        rows = profile.of(device, id_)
        line = curve(name, rows, lambda m: m.integer("paths") or None)
        base = line.at(1)
        if base and len(line.x) > 1:
            slower = (
                (y / base for y in line.y) if rows[0].unit == "s" else (base / y for y in line.y)
            )
            lines.append(Curve(name, line.x, tuple(slower)))
    if not lines:
        return None

    def draw(canvas: Canvas) -> Figure:
        texts = [f"{line.name} {line.y[-1]:.1f}×" for line in lines]
        figure, (axes,) = canvas.figure(3.1, right=canvas.room(texts, canvas.font - 1))
        xs = sorted({x for line in lines for x in line.x})
        labels = []
        for i, line in enumerate(lines):
            labels.append(EndLabel(line.y[-1], texts[i], plot(axes, line, i)))
        axes.plot(xs, xs, color=MUTED, linestyle=DASHED, lw=0.9, label="full serialization")
        labels.append(EndLabel(xs[-1], "one after another", MUTED))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        integer_ticks(axes.xaxis, xs)
        integer_ticks(axes.yaxis, xs)
        canvas.labels(axes, "different paths", "time, as a multiple of one path")
        end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "divergence",
        "Divergence: threads that take different paths",
        "On the dashed line paths run strictly one after another; the same paths split between "
        "whole warps are the control and should stay at 1.",
        " ".join(
            f"{int(line.x[-1])} paths {line.name} take {line.y[-1]:.1f} times as long as one."
            if line.y[-1] > 1.05
            else f"Splitting {int(line.x[-1])} paths {line.name} costs "
            + (f"{(line.y[-1] - 1) * 100:.0f} %." if line.y[-1] > 1.01 else "nothing.")
            for line in lines
        ),
        draw,
    )
