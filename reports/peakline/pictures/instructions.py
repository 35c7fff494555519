"""Single instructions per clock, and atomic operations by how many threads share an address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, decade_ticks, end_labels, plain_log_ticks
from peakline.pictures.curves import Curve, amount, plot_all, plot_marks
from peakline.pictures.picture import Picture
from peakline.pictures.style import INK, MUTED, SERIES
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The profile's figures of an instruction are named <op> and one of these.
_RATE, _DOCUMENTED, _LATENCY = "_per_clock_per_sm", "_documented_per_clock_per_sm", "_cycles"
_RATE_TICKS = (1, 4, 16, 64, 256)
_LEAST_RATE = 0.5
# The addresses stand in the order of their number, as the measurements name them.
_ADDRESSES = {"one": "1", "per_lane": "32", "per_warp": "1 per warp", "per_thread": "1 per thread"}


def picture(profile: Profile, device: str) -> Picture | None:
    """Throughput of each instruction per clock, its documented rate, and its latency."""
    said = profile.curve(device, "instructions")
    if said is None or not profile.of(device, "instruction"):
        return None
    figures = said.values
    ops = [
        name.removesuffix(_RATE)
        for name in figures
        if name.endswith(_RATE) and not name.endswith(_DOCUMENTED)
    ]
    if not ops:
        return None

    def draw(canvas: Canvas) -> Figure:
        latencies = [figures.get(op + _LATENCY) for op in ops]
        texts = ["" if cycles is None else f"{cycles:.0f} cycles" for cycles in latencies]
        figure, (axes,) = canvas.figure(
            0.19 * len(ops) + 1.0,
            left=canvas.room([_name(op) for op in ops], canvas.font - 0.5),
            right=canvas.room([*texts, "latency"], canvas.font - 1),
            top=0.5,
        )
        canvas.rows(axes, [_name(op) for op in ops])
        axes.set_xscale("log", base=2)
        axes.set_xlim(_LEAST_RATE, 4 * max(figures[op + _RATE] for op in ops))
        plain_log_ticks(axes.xaxis, _RATE_TICKS, [str(tick) for tick in _RATE_TICKS])
        rates, documented = (
            {y: figures[op + kind] for y, op in enumerate(ops) if op + kind in figures}
            for kind in (_RATE, _DOCUMENTED)
        )
        upright = {"marker": "|", "markersize": 11, "markeredgewidth": 2.2, "color": SERIES[1]}
        for known, name, look in (
            (documented, "documented", upright),
            (rates, "measured", {"markersize": 4.5}),
        ):
            if known:
                plot_marks(axes, [(rate, y) for y, rate in known.items()], 0, label=name, **look)
        for y, rate in rates.items():
            axes.annotate(
                units.number(rate),
                xy=(max(rate, documented.get(y, 0)), y),
                xytext=(4, 0),
                textcoords="offset points",
                fontsize=canvas.font - 1.5,
                color=INK,
                va="center",
            )
            canvas.beside(axes, y, texts[y], MUTED)
        canvas.beside(axes, -1.1, "latency", INK)
        canvas.labels(axes, "results per clock and SM, log scale")
        canvas.legend_above(axes, 2)
        return figure

    return Picture(
        "instructions",
        "Instructions: how many per clock, and after how many clocks",
        "Dots are measured results per clock and SM, a packed pair being two; the upright mark is "
        "the rate that NVIDIA documents, where it does. At the right, the clocks from an "
        "instruction to one that needs its result.",
        draw,
        ("instructions",),
    )


def _name(op: str) -> str:
    return op.replace("_", " ")


def atomics(profile: Profile, device: str) -> Picture | None:
    """Rates of atomic operations by how far the threads spread over addresses."""
    panels_data = [
        (heading, lines)
        for space, heading in (("global", "global memory"), ("shared", "shared memory"))
        if (lines := _by_addresses(profile, device, f"atomics.{space}"))
    ]
    if not panels_data:
        return None
    names = [_name(line.name) for _, lines in panels_data for line in lines]
    low = min(y for _, lines in panels_data for line in lines for y in line.y)
    high = max(y for _, lines in panels_data for line in lines for y in line.y)

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.4, len(panels_data), right=canvas.room(names))
        for axes, (heading, lines) in zip(panels, panels_data, strict=True):
            axes.set_yscale("log")
            axes.set_ylim(low / 1.5e9, high * 1.5 / 1e9)
            labels = plot_all(axes, lines, [_name(line.name) for line in lines], 1e9)
            decade_ticks(axes.yaxis, *axes.get_ylim())
            _address_ticks(axes)
            canvas.labels(axes, "addresses", f"10⁹ operations per second, {heading}")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "atomics",
        "Atomic operations: what sharing an address costs",
        "From one address for all threads (in shared memory, of a block) over 32, one for each "
        "lane, to one for each warp and one for each thread. Swaps count whether they succeed or "
        "not.",
        draw,
        ("atomics",),
    )


def _by_addresses(profile: Profile, device: str, id_: str) -> list[Curve]:
    """A line for each operation at the usual scope, over the places of _ADDRESSES."""
    found: dict[str, dict[float, float]] = {}
    for m in profile.of(device, id_):
        addresses = str(m.params.get("addresses"))
        if m.params.get("scope", "device") == "device" and addresses in _ADDRESSES:
            place = float(list(_ADDRESSES).index(addresses))
            found.setdefault(str(m.params.get("op")), {})[place] = amount(m)
    return [
        Curve(op, tuple(sorted(points)), tuple(points[x] for x in sorted(points)))
        for op, points in found.items()
        if len(points) > 1
    ]


def _address_ticks(axes: Axes) -> None:
    axes.set_xticks(range(len(_ADDRESSES)), list(_ADDRESSES.values()))
