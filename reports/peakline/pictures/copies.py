"""Copies to shared memory by way and size; the host link by kind of memory, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, plain_log_ticks
from peakline.pictures.curves import all_x, amount, curve, plot
from peakline.pictures.headlines import COPY_WAYS
from peakline.pictures.picture import Picture
from peakline.pictures.style import INK, SERIES
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = (
    ("copy.hbm", "GB/s from memory", 1e9),
    ("copy.l2", "GB/s from the L2", 1e9),
    ("copy.latency", "ns, one copy alone", 1e-9),
)


def to_shared(profile: Profile, device: str) -> Picture | None:
    """Bandwidth and latency of each way from global to shared memory, by size."""
    panels_data = []
    for id_, label, scale in _PANELS:
        rows = profile.of(device, id_)
        lines = [
            (index, curve(name, of_way, lambda m: m.integer("tile") or None))
            for index, (way, name) in enumerate(COPY_WAYS.items())
            if (of_way := [m for m in rows if m.params.get("way") == way])
        ]
        lines = [(index, line) for index, line in lines if line.x]
        if lines:
            panels_data.append((label, scale, lines))
    if not panels_data:
        return None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.1, len(panels_data), left=0.5, right=0.2)
        for axes, (label, scale, lines) in zip(panels, panels_data, strict=True):
            axes.set_xscale("log", base=2)
            for index, line in lines:
                plot(axes, line, index, scale)
            axes.set_ylim(0, 1.06 * max(y for _, line in lines for y in line.y) / scale)
            sizes = all_x(line for _, line in lines)
            plain_log_ticks(axes.xaxis, sizes, [units.size(size) for size in sizes])
            canvas.labels(axes, "size of one copy", label)
            canvas.legend_inside(axes, [line.name for _, line in lines])
        return figure

    return Picture(
        "copies",
        "Copies to shared memory: which way, and how large",
        "Plain loads go through registers, cp.async bypasses them; both move 16 bytes per lane. "
        "Bulk and tensor copies are started by one lane and carried out by the SM's Tensor Memory "
        "Accelerator. In the first two panels the number of warps that share an SM is the best "
        "one; in the third a warp waits for each copy.",
        draw,
        ("copies to shared memory",),
    )


_MEMORY = {
    "pinned": "pinned",
    "write_combined": "write-combined",
    "mapped": "mapped, by SMs",
    "pageable": "pageable",
}
_DIRECTIONS = {"h2d": "to device", "d2h": "to host", "bidirectional": "both ways"}
_COSTS = {
    "pinned": "cudaHostAlloc",
    "register_small_pages": "cudaHostRegister, small pages",
    "register_huge_pages": "cudaHostRegister, huge pages",
    "first_touch_small_pages": "first touch, small pages",
    "first_touch_huge_pages": "first touch, huge pages",
}


def link(profile: Profile, device: str) -> Picture | None:
    """The host link's rate by kind of host memory and direction, and what the memory costs."""
    rows = [m for m in profile.of(device, "pcie") if m.integer("bytes")]
    compared = [m.integer("bytes") or 0 for m in rows if m.id.endswith((".mapped", "_combined"))]
    if not compared:
        return None
    rates = {m.id: amount(m) for m in rows if m.integer("bytes") == max(compared)}
    memory = [kind for kind in _MEMORY if any(id_.endswith(f".{kind}") for id_ in rates)]
    said = profile.curve(device, "allocation")
    costs = {
        name: said.values[f"{key}_s_per_gib"]
        for key, name in _COSTS.items()
        if said and f"{key}_s_per_gib" in said.values
    }

    def draw(canvas: Canvas) -> Figure:
        names = [_MEMORY[kind] for kind in memory]
        left = canvas.room([*names, *costs], canvas.font - 0.5)
        figure, panels = canvas.figure(
            0.56 * len(memory) + 1.0, 1 + bool(costs), left=left, right=0.5, top=0.5
        )
        canvas.rows(panels[0], names)
        height = 0.8 / len(_DIRECTIONS)
        for index, (direction, name) in enumerate(_DIRECTIONS.items()):
            bars = [
                (y + (index - 1) * height, rate / 1e9)
                for y, kind in enumerate(memory)
                if (rate := rates.get(f"pcie.{direction}.{kind}"))
            ]
            _bars(panels[0], canvas, bars, height * 0.9, SERIES[index], name)
        canvas.labels(panels[0], f"GB/s, copies of {units.size(max(compared))}")
        canvas.legend_above(panels[0], len(_DIRECTIONS), 1.5)
        if costs:
            canvas.rows(panels[1], list(costs))
            bars = [(y, cost * 1e3) for y, cost in enumerate(costs.values())]
            _bars(panels[1], canvas, bars, 0.5, SERIES[3])
            canvas.labels(panels[1], "ms per GiB")
        return figure

    return Picture(
        "host-memory",
        "Host memory: copy bandwidth by kind, and the cost of allocating it",
        "Copy engines move pinned and write-combined memory, SMs read and write mapped memory, and "
        "the CPU stages pageable memory. Both ways counts the bytes of both directions. The cost "
        "of pinning and of first touching a page is paid once, here by one thread.",
        draw,
        ("host link", "allocation"),
        headline=_headline(rows, max(compared), costs),
    )


def _headline(rows: Sequence[Measurement], drawn: int, costs: Mapping[str, float]) -> str:
    """Page-locked memory against the memory that programs usually have: at the size of the bars,
    and at the largest one, which is that of the profile's own sentence."""
    pinned, pageable = (
        {m.integer("bytes") or 0: amount(m) for m in rows if m.id == f"pcie.h2d.{kind}" and m.value}
        for kind in ("pinned", "pageable")
    )
    both = pinned.keys() & pageable.keys()
    cost = costs.get(_COSTS["pinned"])
    if not both or not cost:
        return ""
    shares = [
        f"{units.percent(pageable[size] / pinned[size])} ({units.size(size)})"
        for size in sorted({drawn, max(both)} & both)
    ]
    return (
        f"Pageable copies to the device run at {' and '.join(shares)} of the pinned rate; "
        f"pinning a GiB takes {units.time(cost)}"
    )


def _bars(
    axes: Axes,
    canvas: Canvas,
    bars: Sequence[tuple[float, float]],
    height: float,
    color: str,
    name: str = "",
) -> None:
    """Horizontal bars at (y, length), each with its length."""
    ys, lengths = [y for y, _ in bars], [length for _, length in bars]
    axes.barh(ys, lengths, height=height, color=color, label=name)
    for y, length in bars:
        axes.annotate(
            units.number(length),
            xy=(length, y),
            xytext=(3, 0),
            textcoords="offset points",
            fontsize=canvas.font - 1.5,
            color=INK,
            va="center",
        )
    axes.grid(axis="y", visible=False)
