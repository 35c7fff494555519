"""The levels of a device's memory: latency, bandwidth and size."""

import textwrap
from typing import Any

from peakline import units
from peakline.pictures.canvas import Axes, Canvas, Figure, engineering_ticks, note
from peakline.pictures.picture import MEMORY, Picture
from peakline.pictures.style import CARD, SERIES
from peakline.pictures.titles import says
from peakline.profile import MemoryLevel, Profile
from peakline.text import short

_MOST_OF_A_LABEL = 20  # characters; names in a profile may be long


def picture(profile: Profile, device: str) -> Picture | None:
    """Latency and bandwidth of each level, from the profile's memory map."""
    levels = profile.levels(device)
    if sum(level.latency_s is not None for level in levels) < 2:
        return None
    rated = any(level.bytes_per_s for level in levels)
    labels = [short(level.label, _MOST_OF_A_LABEL) for level in levels]

    def draw(canvas: Canvas) -> Figure:
        below = _MOST_OF_A_LABEL if canvas.narrow else 2 * _MOST_OF_A_LABEL
        sizes, lines = (
            [
                f"{label}\n{textwrap.fill(text(level), below)}".rstrip()
                for label, level in zip(labels, levels, strict=True)
            ]
            for text in (_size, _line)
        )
        left = [
            canvas.room(text for row in rows for text in row.split("\n")) for rows in (sizes, lines)
        ]
        figure, panels = canvas.figure(
            (0.54 if canvas.narrow else 0.46) * len(levels) + 0.9,
            2 if rated else 1,
            left=max(left) if canvas.narrow else left,
        )
        for axes, names in zip(panels, (sizes, lines), strict=False):
            canvas.rows(axes, names)
            axes.set_xscale("log")
        _draw_latency(panels[0], canvas, levels)
        if rated:
            _draw_rate(panels[1], canvas, levels)
        return figure

    return Picture(
        "memory-map",
        "Memory map: how far, how fast and how large each level is",
        "The first panel has the time from a load to its data; a hollow mark is the part of the L2 "
        "that is far from the SM. The second has what all SMs together read; of host memory, what "
        "a copy engine brings over PCIe. The first size is the one that the driver states. A "
        "cache is fast up to the largest footprint that is read at the latency or at the rate of "
        "small ones, whichever is larger; the pictures of latency and of caches show each.",
        draw,
        ("memory map",),
        group=MEMORY,
    )


def _size(level: MemoryLevel) -> str:
    """The sizes of a level: "60 MiB, fast up to 56 MiB, 28 MiB near"."""
    each = " per SM" if level.per_sm else ""
    sizes = {"{}": level.size_bytes, "fast up to {}": level.held_bytes, "{} near": level.near_bytes}
    return ", ".join(
        form.format(f"{units.size(size)}{each}") for form, size in sizes.items() if size
    )


def _line(level: MemoryLevel) -> str:
    """The transfer size of a level: "128 B lines, sectors of 32 B"."""
    if not level.line_bytes:
        return ""
    line = units.size(level.line_bytes)
    if level.sector_bytes:
        return f"{line} lines, sectors of {units.size(level.sector_bytes)}"
    return f"{line} {'lines' if level.level in ('l1', 'l2') else 'at a time'}"


def _draw_latency(axes: Axes, canvas: Canvas, levels: tuple[MemoryLevel, ...]) -> None:
    known = [t for level in levels for t in (level.latency_s, level.far_latency_s) if t]
    # Room for the figures beside the outermost marks.
    low, high = min(known) * 1e9 / 4, max(known) * 1e9 * 10
    axes.set_xlim(low, high)
    for y, level in enumerate(levels):
        near, far = level.latency_s, level.far_latency_s
        if near is None:
            continue
        mark = axes.plot([near * 1e9], [y], "o", color=SERIES[0], label=level.level, zorder=3)
        says(mark[0], f"{level.label}: latency {units.time(near)}")
        if not far:
            _label_beside(axes, canvas, near * 1e9, y, units.time(near))
            continue
        hollow: dict[str, Any] = {"markerfacecolor": CARD, "label": f"{level.level}, far"}
        mark = axes.plot([far * 1e9], [y], "o", color=SERIES[0], zorder=3, **hollow)
        says(mark[0], f"{level.label}, far partition: latency {units.time(far)}")
        # The space beside this mark is for the far figure.
        above: dict[str, Any] = {"fontsize": canvas.font - 1, "ha": "center", "va": "bottom"}
        note(axes, units.time(near), (near * 1e9, y), (0, 4), **above)
        _label_beside(axes, canvas, far * 1e9, y, f"{units.time(far)} far")
    engineering_ticks(axes.xaxis, low, max(known) * 1e9, 3)
    canvas.labels(axes, "ns, log scale", "latency of a load")


def _draw_rate(axes: Axes, canvas: Canvas, levels: tuple[MemoryLevel, ...]) -> None:
    known = [level.bytes_per_s for level in levels if level.bytes_per_s]
    low, high = min(known) / 1e9 / 4, max(known) / 1e9 * 20
    axes.set_xlim(low, high)
    for y, level in enumerate(levels):
        if not level.bytes_per_s:
            continue
        rate = level.bytes_per_s / 1e9
        mark = axes.plot([rate], [y], "o", color=SERIES[1], label=f"{level.level}, rate")
        says(mark[0], f"{level.label}: read at {units.rate(level.bytes_per_s, 'B/s')}")
        _label_beside(axes, canvas, rate, y, units.number(rate))
    engineering_ticks(axes.xaxis, low, max(known) / 1e9, 3)
    canvas.labels(axes, "GB/s, log scale", "bandwidth of reads")


def _label_beside(axes: Axes, canvas: Canvas, x: float, y: float, text: str) -> None:
    note(axes, text, (x, y), (6, 0), fontsize=canvas.font - 1)
