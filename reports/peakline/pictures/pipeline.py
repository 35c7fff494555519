"""Keeping a device busy: copies beside kernels, fused steps, and what waiting costs.

All three are drawn from the figures of the profile's sentences about these curves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, EndLabel, end_labels, plain_log_ticks
from peakline.pictures.curves import Curve, all_x, integer_ticks, plot_all, size_ticks
from peakline.pictures.picture import Picture
from peakline.pictures.style import INK, LIMIT, MUTED, SERIES
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WAYS = {"h2d": "in", "h2d_d2h": "in and out"}
_HIDDEN, _IN_TURN = "all else hidden", "one after another"
_CHAINS = {"separate": "separate", "graph": "graph of these", "fused": "fused"}
# Colours of what the host does, what one kernel waits for, and what threads wait for.
_HOST, _KERNEL, _THREADS = SERIES[:3]
_WAITS: dict[str, tuple[str, str]] = {
    r"event_record": ("recording an event", _HOST),
    r"wait_stream": ("launch, wait for the stream", _HOST),
    r"wait_event": ("launch, wait for an event", _HOST),
    r"wait_blocking_event": ("launch, sleep until an event", _HOST),
    r"wait_device": ("launch, wait for the device", _HOST),
    r"wait_read_back": ("launch, read 4 bytes back", _HOST),
    r"dependent_launch_ordinary": ("kernel to kernel", _KERNEL),
    r"dependent_launch_programmatic": ("the same, launched early", _KERNEL),
    r"grid": ("grid barrier, 256 threads per SM", _THREADS),
    r"cluster_(\d+)": ("cluster barrier, {} × 256 threads", _THREADS),
    r"cluster_relaxed_(\d+)": ("the same without a fence, {} × 256", _THREADS),
    r"block_(\d+)": ("block barrier, {} threads", _THREADS),
}


def _figures(profile: Profile, device: str, topic: str) -> dict[str, float]:
    """Those that a logarithmic axis can show."""
    said = profile.curve(device, topic)
    if said is None or not profile.of(device, topic):
        return {}
    return {name: value for name, value in said.values.items() if value > 0}


def _line(
    figures: Mapping[str, float], pattern: str, name: str, of: Callable[[float], float]
) -> Curve:
    """The figures whose whole name fits, over the number that the pattern finds in it."""
    found = {re.fullmatch(pattern, key): value for key, value in figures.items()}
    points = sorted((float(match[1]), of(value)) for match, value in found.items() if match)
    kept = [(x, y) for x, y in points if x > 0]
    return Curve(name, tuple(x for x, _ in kept), tuple(y for _, y in kept))


def overlap(profile: Profile, device: str) -> Picture | None:
    """How much of the slowest part's rate is left when copies run beside a kernel."""
    figures = _figures(profile, device, "overlap")
    panels_data = []
    for way, heading in _WAYS.items():
        lines = [
            _line(figures, rf"{way}_{memory}_(\d+)_share", memory, lambda share: share * 100)
            for memory in ("pinned", "pageable")
        ]
        lines = [line for line in lines if len(line.x) > 1]
        if lines:
            panels_data.append((heading, 1 + len(way.split("_")), lines))
    if not panels_data:
        return None

    def draw(canvas: Canvas) -> Figure:
        names = [line.name for _, _, lines in panels_data for line in lines]
        room = canvas.room([*names, _HIDDEN, _IN_TURN], canvas.font - 1)
        figure, panels = canvas.figure(3.2, len(panels_data), right=room + 0.05)
        for axes, (heading, parts, lines) in zip(panels, panels_data, strict=True):
            axes.set_xscale("log", base=2)
            labels = plot_all(axes, lines, [line.name for line in lines])
            axes.axhline(100, label=_HIDDEN, **LIMIT)
            axes.axhline(100 / parts, label=_IN_TURN, **LIMIT)
            axes.set_ylim(0, max(110.0, *(y for line in lines for y in line.y)))
            labels.append(EndLabel(100, _HIDDEN, MUTED))
            labels.append(EndLabel(100 / parts, _IN_TURN, MUTED))
            sizes = all_x(lines)
            plain_log_ticks(axes.xaxis, sizes, [units.size(size) for size in sizes])
            canvas.labels(
                axes, "bytes of a batch", f"% of the slowest part's rate, copying {heading}"
            )
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "overlap",
        "Overlap: copying the next batch while computing",
        "A kernel works on one batch while the next is copied in and, at the right, the results of "
        "the last are copied out; it takes about as long as the slower copy alone, or the point is "
        "left out. 100 % is the rate of the slowest part alone; the lower dashed line is what "
        "equal parts reach one after another.",
        draw,
        ("overlap",),
    )


def fusion(profile: Profile, device: str) -> Picture | None:
    """What one kernel for several element-wise steps saves, in large arrays and in small ones."""
    figures = _figures(profile, device, "fusion")
    savings = [
        _line(figures, rf"steps_(\d+)_{figure}", name, lambda share: share * 100)
        for figure, name in (("saving", "measured"), ("saving_by_bytes", "by bytes moved"))
    ]
    chains = [
        _line(figures, rf"{kernels}_(\d+)_s", name, lambda seconds: seconds * 1e6)
        for kernels, name in _CHAINS.items()
    ]
    savings, chains = ([line for line in of if len(line.x) > 1] for of in (savings, chains))
    if not savings and not chains:
        return None

    def draw(canvas: Canvas) -> Figure:
        names = [line.name for line in (*savings, *chains)]
        wanted = [bool(savings), bool(chains)]
        figure, panels = canvas.figure(
            3.2, sum(wanted), right=canvas.room(names, canvas.font - 1) + 0.1
        )
        remaining = list(panels)
        if savings:
            axes = remaining.pop(0)
            labels = plot_all(axes, savings, [line.name for line in savings])
            integer_ticks(axes.xaxis, all_x(savings))
            axes.set_ylim(0, 100)
            canvas.labels(
                axes, "element-wise steps in one kernel", "% of the time saved, large arrays"
            )
            end_labels(axes, labels, canvas.font - 1)
        if chains:
            axes = remaining.pop(0)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            labels = plot_all(axes, chains, [line.name for line in chains])
            low, high = axes.get_ylim()
            ticks = [v for e in range(-3, 10) for v in (10.0**e, 2 * 10.0**e, 5 * 10.0**e)]
            shown = [v for v in ticks if low <= v <= high]
            plain_log_ticks(axes.yaxis, shown, [f"{v:g}" for v in shown])
            xs = all_x(chains)
            size_ticks(axes.xaxis, xs[0], xs[-1], 5)
            canvas.labels(axes, "bytes of each array", "µs for four steps, with launches")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "fusion",
        "Fusion: several element-wise steps in one kernel",
        "Each step adds another array to the sum. With large arrays a single kernel saves the "
        "traffic of the intermediate sums; with small ones it saves launches, some of which a "
        "graph of the separate kernels saves too.",
        draw,
        ("fusion",),
    )


def synchronization(profile: Profile, device: str) -> Picture | None:
    """What it costs the host, a kernel and threads to wait."""
    figures = _figures(profile, device, "synchronization")
    rows = [
        (name.format(*match.groups()), seconds, color)
        for pattern, (name, color) in _WAITS.items()
        for key, seconds in figures.items()
        if (match := re.fullmatch(rf"{pattern}_s", key))
    ]
    if not rows:
        return None

    def draw(canvas: Canvas) -> Figure:
        names = [name for name, _, _ in rows]
        figure, (axes,) = canvas.figure(
            0.21 * len(rows) + 1.0,
            left=canvas.room(names, canvas.font - 0.5),
            right=canvas.room(["000 ns"], canvas.font - 1),
            top=0.12,
        )
        canvas.rows(axes, names)
        values = [seconds * 1e9 for _, seconds, _ in rows]
        low, high = min(values) / 2, max(values) * 1.5
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        decades = [10.0**e for e in range(-3, 12) if low <= 10.0**e <= high]
        if canvas.narrow:
            decades = decades[::2]
        plain_log_ticks(
            axes.xaxis, decades, [f"{v:g} ns" if v < 1e3 else f"{v / 1e3:g} µs" for v in decades]
        )
        for y, (_, seconds, color) in enumerate(rows):
            axes.plot([seconds * 1e9], [y], "o", color=color)
            axes.annotate(
                units.time(seconds),
                xy=(seconds * 1e9, y),
                xytext=(6, 0),
                textcoords="offset points",
                fontsize=canvas.font - 1,
                color=INK,
                va="center",
            )
        canvas.labels(axes, "time, log scale")
        return figure

    return Picture(
        "synchronization",
        "Synchronization: what waiting costs",
        "Blue: from the launch of an empty kernel until the host knows that it has finished, by "
        "how the host waits. Orange: from one kernel to the next, which needs its result; a "
        "programmatic dependent launch starts the next one early. Grey: from one barrier to the "
        "next.",
        draw,
        ("synchronization",),
    )
