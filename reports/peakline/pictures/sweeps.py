"""Curves over one parameter: alignment, divergence and the host's threads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.names import format_name
from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.curves import Curve, all_x, curve, integer_ticks, log2_x, plot_all
from peakline.pictures.picture import Picture
from peakline.pictures.style import LIMIT, MUTED
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def alignment(profile: Profile, device: str) -> Picture | None:
    """Effective bandwidth against the offset and against the stride of accesses."""
    panels_data = []
    for parameter, unit, against in (
        ("offset", "bytes", "aligned"),
        ("stride", "elements", "contiguous"),
    ):
        rows = profile.of(device, f"alignment.{parameter}")
        lines = {}
        for width in sorted({m.integer("width") or 0 for m in rows}):
            line = curve(
                f"{width} bytes",
                [m for m in rows if (m.integer("width") or 0) == width],
                lambda m, parameter=parameter: m.integer(parameter),  # type: ignore[misc]
            )
            base = line.at(0) or line.at(1)
            if base and len(line.x) > 1:
                lines[width] = line.over(base)
        if lines:
            panels_data.append((f"{parameter}, {unit}", against, lines))
    if not panels_data:
        return None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.1, len(panels_data), right=canvas.room(["16 bytes"]))
        for axes, (label, against, by_width) in zip(panels, panels_data, strict=True):
            lines = list(by_width.values())
            labels = plot_all(axes, lines, [line.name for line in lines], 0.01)
            axes.set_ylim(0, max(105.0, *(y * 105 for line in lines for y in line.y)))
            if against == "contiguous":
                log2_x(axes, lines)
            else:
                # DRAM moves sectors of 32 bytes, so that is where the pattern repeats.
                axes.set_xticks([x for x in all_x(lines) if x % 32 == 0][:9])
            canvas.labels(axes, label, f"% of the bandwidth of {against} access")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "alignment",
        "Alignment: offset and stride",
        "Each line is one access width; 100 % is the same access aligned and contiguous. Only what "
        "the kernel asked for counts, not what the hardware moved on top of it.",
        draw,
        ("alignment",),
        headline=_worst([by_width for _, _, by_width in panels_data]),
    )


def _worst(panels: Sequence[Mapping[int, Curve]]) -> str:
    """What the worst offset leaves of the bandwidth, and the worst stride of the same width."""
    if len(panels) < 2:
        return ""
    offsets, strides = panels
    width = min(offsets, key=lambda width: min(offsets[width].y))
    if width not in strides:
        return ""
    (left, offset), (sparse, stride) = (
        min(zip(line.y, line.x, strict=True)) for line in (offsets[width], strides[width])
    )
    return (
        f"An offset of {units.size(offset)} leaves {units.percent(left)} of the bandwidth of "
        f"{width}-byte accesses, a stride of {stride:.0f} elements {units.percent(sparse)}"
    )


def divergence(profile: Profile, device: str) -> Picture | None:
    """Slowdown against the number of paths, inside a warp and between warps."""
    lines = []
    for id_, name in (("divergence.lanes", "inside a warp"), ("divergence.warps", "between warps")):
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
        texts = [f"{line.name} {units.number(line.y[-1])} ×" for line in lines]
        figure, (axes,) = canvas.figure(3.1, right=canvas.room(texts, canvas.font - 1))
        xs = all_x(lines)
        labels = plot_all(axes, lines, texts)
        axes.plot(xs, xs, label="full serialization", **LIMIT)
        labels.append(EndLabel(xs[-1], "one after another", MUTED))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        for axis in (axes.xaxis, axes.yaxis):
            integer_ticks(axis, [x for x in xs if math.log2(x).is_integer()] or xs)
        canvas.labels(axes, "different paths", "time, as a multiple of one path")
        end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "divergence",
        "Divergence: threads that take different paths",
        "On the dashed line paths run strictly one after another; the same paths split between "
        "whole warps are the control, which should stay at 1.",
        draw,
        ("divergence",),
    )


def host(profile: Profile, device: str) -> Picture | None:
    """The host's memory bandwidth and arithmetic against threads."""
    panels_data = []
    for prefix, label, named in (
        ("host.memory", "GB/s", str),
        ("host.fma", "GFLOP/s", format_name),
    ):
        rows = profile.of(device, prefix)
        lines = [
            line
            for id_ in dict.fromkeys(m.id for m in rows)
            if (
                line := curve(
                    named(id_.rsplit(".", 1)[1]),
                    [m for m in rows if m.id == id_],
                    lambda m: m.integer("threads") or None,
                )
            ).x
        ]
        if lines:
            panels_data.append((label, lines))
    # One number of threads makes no curve; the table of ceilings has it.
    if not any(len(line.x) > 1 for _, lines in panels_data for line in lines):
        return None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.1, len(panels_data), right=canvas.room(["triad 0000"]))
        for axes, (label, lines) in zip(panels, panels_data, strict=True):
            texts = [f"{line.name} {units.number(line.y[-1] / 1e9)}" for line in lines]
            labels = plot_all(axes, lines, texts, 1e9)
            log2_x(axes, lines, 7)
            axes.set_ylim(bottom=0)
            canvas.labels(axes, "threads", label)
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "host",
        "Threads: the memory and arithmetic of the host",
        "A line that flattens has hit a shared limit, usually the memory controllers; one that "
        "keeps rising still gains from every thread.",
        draw,
        ("threads",),
    )
