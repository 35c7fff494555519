"""The memory system: latency and random access by footprint, and the work in flight it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, end_labels
from peakline.pictures.curves import (
    Curve,
    all_x,
    curve,
    integer_ticks,
    log2_x,
    plot,
    plot_all,
    size_of,
    size_ticks,
)
from peakline.pictures.picture import Picture
from peakline.pictures.style import INK, MUTED
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEVELS = {
    "latency.l1": "L1",
    "latency.l2/part:near": "L2, near part",
    "latency.l2/part:far": "L2, beyond it",
    "latency.hbm": "device memory",
}
_BYTES_OF_WARP = 32 * 16  # of one load of 16 bytes by each thread


def latency(profile: Profile, device: str) -> Picture | None:
    """Latency against the footprint, with the levels it goes through, and random access."""
    sweep = curve("latency", profile.of(device, "latency.sweep"), size_of)
    gather = curve("sectors", profile.of(device, "random.gather"), size_of)
    if len(sweep.x) < 2:
        return None
    levels = {_LEVELS[m.name]: m.value for m in profile.of(device, "latency") if m.name in _LEVELS}

    def draw(canvas: Canvas) -> Figure:
        both = len(gather.x) > 1
        figure, panels = canvas.figure(3.4, 2 if both else 1, right=0.2)
        axes = panels[0]
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        plot(axes, sweep, 0, 1e-9, markersize=3)
        for label, seconds in levels.items():
            if seconds is None:
                continue
            axes.axhline(seconds * 1e9, color=MUTED, lw=0.7, linestyle=":")
            axes.annotate(
                f"{label} {units.time(seconds)}",
                (sweep.x[0], seconds * 1e9),
                xytext=(0, 2),
                textcoords="offset points",
                fontsize=canvas.font - 1,
                color=INK,
            )
        low, high = min(sweep.y) * 1e9, max(sweep.y) * 1e9
        axes.set_ylim(low / 1.3, high * 1.5)
        integer_ticks(axes.yaxis, [2.0**e for e in range(3, 14) if low / 1.3 <= 2**e <= high * 1.5])
        size_ticks(axes.xaxis, sweep.x[0], sweep.x[-1], 6)
        canvas.labels(axes, "footprint", "ns for a load")
        if both:
            _draw_gather(panels[1], canvas, gather)
        return figure

    return Picture(
        "latency",
        "Latency: how long a load takes",
        "One thread follows pointers through lines in random order, each load waiting for the one "
        "before; a step is where a cache, or what the TLB covers, ends. Beside it all threads read "
        "sectors of 32 bytes at random.",
        draw,
        ("memory latency", "random access"),
    )


def _draw_gather(axes: Axes, canvas: Canvas, gather: Curve) -> None:
    axes.set_xscale("log", base=2)
    plot(axes, gather, 1, 1e9)
    axes.set_ylim(bottom=0)
    size_ticks(axes.xaxis, gather.x[0], gather.x[-1], 5)
    canvas.labels(axes, "footprint", "GB/s of random sectors")


def occupancy(profile: Profile, device: str) -> Picture | None:
    """Memory bandwidth and FMA rate against the work in flight."""
    reads = _by(
        profile.of(device, "occupancy.hbm"),
        "loads",
        lambda m, n: (m.integer("warps") or 0) * n * _BYTES_OF_WARP / units.KIB,
    )
    adds = _by(profile.of(device, "occupancy.fma"), "chains", lambda m, _: m.integer("warps") or 0)
    panels_data = [
        (label, unit, scale, lines)
        for label, unit, scale, lines in (
            ("KiB in flight per SM", "GB/s read, by loads of a thread", 1e9, reads),
            ("warps per SM", "FP32 TFLOP/s, by chains of a thread", 1e12, adds),
        )
        if lines
    ]
    if not panels_data:
        return None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.3, len(panels_data), right=canvas.room(["8 chains"]))
        for axes, (label, unit, scale, lines) in zip(panels, panels_data, strict=True):
            labels = plot_all(axes, lines, [line.name for line in lines], scale)
            log2_x(axes, lines, 4)
            integer_ticks(
                axes.xaxis, [x for x in all_x(lines) if float(x).hex().startswith("0x1.0")]
            )
            axes.set_ylim(bottom=0)
            canvas.labels(axes, label, unit)
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "occupancy",
        "Occupancy: how much must be in flight",
        "Each line is one number of independent loads or chains a thread; more of them do the work "
        "of more warps. What counts for memory is the bytes in flight, so its lines coincide.",
        draw,
        ("occupancy",),
    )


def _by(
    rows: Sequence[Measurement], parameter: str, x: Callable[[Measurement, int], float]
) -> list[Curve]:
    """A line for each value of the parameter, where it has several points."""
    lines = []
    for value in sorted({m.integer(parameter) or 0 for m in rows} - {0}):
        of_value = [m for m in rows if m.integer(parameter) == value]
        name = f"{value} {parameter if value > 1 else parameter.removesuffix('s')}"
        line = curve(name, of_value, lambda m, value=value: x(m, value))  # type: ignore[misc]
        if len(line.x) > 1:
            lines.append(line)
    return lines
