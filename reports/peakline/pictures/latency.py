"""The memory system: latency and random access by footprint, and the work in flight it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.curves import (
    Curve,
    all_x,
    curve,
    integer_ticks,
    log2_x,
    mark_end,
    plot,
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
    "latency.l2/part:far": "L2, far part",
    "latency.hbm": "memory",
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
        texts = {f"{label} {units.time(t)}": t * 1e9 for label, t in levels.items() if t}
        rooms = [canvas.room(texts, canvas.font - 1), 0.12]
        figure, panels = canvas.figure(3.4, 1 + both, right=rooms[: 1 + both])
        axes = panels[0]
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        plot(axes, sweep, 0, 1e-9, markersize=3)
        for nanoseconds in texts.values():
            axes.axhline(nanoseconds, color=MUTED, lw=0.7, linestyle=":")
        low, high = min(sweep.y) * 1e9, max(sweep.y) * 1e9
        axes.set_ylim(low / 1.3, high * 1.5)
        integer_ticks(axes.yaxis, [2.0**e for e in range(3, 14) if low / 1.3 <= 2**e <= high * 1.5])
        size_ticks(axes.xaxis, sweep.x[0], sweep.x[-1], 4)
        canvas.labels(axes, "footprint", "ns per load")
        end_labels(axes, [EndLabel(y, text, INK) for text, y in texts.items()], canvas.font - 1)
        if both:
            _draw_gather(panels[1], canvas, gather)
        return figure

    return Picture(
        "latency",
        "Latency: how long a load takes",
        "One thread chases pointers through lines in random order, so each load waits for the one "
        "before. The curve steps up where a cache, or the reach of the TLB, ends. Beside it all "
        "threads read random sectors of 32 bytes.",
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
            ("KiB in flight per SM", "GB/s read, by loads per thread", 1e9, reads),
            ("warps per SM", "FP32 TFLOP/s, by chains per thread", 1e12, adds),
        )
        if lines
    ]
    if not panels_data:
        return None
    said = profile.curve(device, "occupancy")
    needed = said.values.get("hbm_bytes_in_flight_per_sm") if said else None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.3, len(panels_data))
        for axes, (label, unit, scale, lines) in zip(panels, panels_data, strict=True):
            for index, line in enumerate(lines):
                plot(axes, line, index, scale)
            log2_x(axes, lines, 4)
            integer_ticks(
                axes.xaxis, [x for x in all_x(lines) if float(x).hex().startswith("0x1.0")]
            )
            axes.set_ylim(0, axes.get_ylim()[1] * 1.06)  # room for the name of the mark
            if lines is reads and needed:
                text = f"fewest for 90 %: {units.size(needed)}"
                mark_end(axes, canvas, text, needed / units.KIB, "right")
            canvas.labels(axes, label, unit)
            canvas.legend_inside(axes, [line.name for line in lines])
        return figure

    return Picture(
        "occupancy",
        "Occupancy: how much must be in flight",
        "Each line is a number of independent loads or FMA chains per thread: more of them stand "
        "in for more warps. Memory sees little but the bytes in flight, so its lines are close; "
        "the dotted line marks the fewest bytes with which one of them reaches 90 % of the "
        "bandwidth.",
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
