"""Shared memory: what bank conflicts cost, and what another SM's costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas
from peakline.pictures.curves import Curve, amount, curve, integer_ticks, plot
from peakline.pictures.picture import Picture
from peakline.pictures.style import INK, LIMIT, SERIES
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def conflicts(profile: Profile, device: str) -> Picture | None:
    """How much longer reads take whose lanes meet in a bank."""
    rates = curve("measured", profile.of(device, "shared.conflicts"), lambda m: m.integer("ways"))
    alone = rates.at(1)
    if alone is None or len(rates.x) < 2:
        return None
    times = Curve(rates.name, rates.x, tuple(alone / y for y in rates.y))

    def draw(canvas: Canvas) -> Figure:
        figure, (axes,) = canvas.figure(3.2, right=0.3)
        axes.set_xscale("log", base=2)
        integer_ticks(axes.xaxis, [x for x in times.x if math.log2(x).is_integer()])
        axes.set_yscale("log", base=2)
        axes.plot(times.x, times.x, label="one lane after another", **LIMIT)
        plot(axes, times, 0)
        ticks = [2**e for e in range(6) if 2**e <= 1.2 * max(times.y)]
        axes.set_yticks(ticks, [f"{tick} ×" for tick in ticks])
        axes.minorticks_off()
        canvas.labels(axes, "lanes of a warp that hit the same bank", "time of a read, relative")
        axes.legend(fontsize=canvas.font - 1, frameon=False, loc="upper left")
        return figure

    return Picture(
        "conflicts",
        "Bank conflicts: what they cost",
        "Each lane reads 4 bytes; so many lanes need different words of the same bank. 1 × is a "
        "read without conflicts; on the dashed line the bank serves one lane after another.",
        draw,
        ("bank conflicts",),
    )


def clusters(profile: Profile, device: str) -> Picture | None:
    """Reads of another SM's shared memory by the size of the cluster, beside one's own."""
    rates = {
        size: amount(m)
        for m in profile.of(device, "dsmem.read")
        if (size := m.integer("cluster")) is not None
    }
    if len(rates) < 2:
        return None
    sizes = sorted(rates)
    latency = {
        m.integer("blocks"): f" GB/s, {units.time(amount(m))}"
        for m in profile.of(device, "latency.dsmem")
    }
    if latency and (own := [amount(m) for m in profile.of(device, "latency.shared")]):
        latency[1] = f" GB/s, {units.time(own[0])}"
    notes = [units.number(rates[size] / 1e9) + latency.get(size, "") for size in sizes]

    def draw(canvas: Canvas) -> Figure:
        names = ["its own" if size == 1 else f"in a cluster of {size}" for size in sizes]
        figure, (axes,) = canvas.figure(
            0.34 * len(sizes) + 0.7, left=canvas.room(names), right=canvas.room(notes), top=0.1
        )
        canvas.rows(axes, names)
        axes.grid(axis="y", visible=False)
        for y, (size, note) in enumerate(zip(sizes, notes, strict=True)):
            rate = rates[size] / 1e9
            axes.barh(y, rate, height=0.6, color=SERIES[0 if size == 1 else 1])
            axes.annotate(
                note,
                (rate, y),
                xytext=(4, 0),
                textcoords="offset points",
                fontsize=canvas.font - 1,
                color=INK,
                va="center",
                annotation_clip=False,
            )
        canvas.labels(axes, "GB/s read by all SMs together")
        return figure

    of_load = ", and beside it how long one load takes" if latency else ""
    return Picture(
        "dsmem",
        "Distributed shared memory: what another SM's shared memory costs",
        "Each block reads the shared memory of the next block in its cluster, which runs on a "
        f"nearby SM; the first bar is a block that reads its own{of_load}.",
        draw,
        ("distributed shared memory",),
    )
