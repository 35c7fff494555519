"""Pictures of execution: launches, divergence, sustained load, ceilings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from peakline import units
from peakline.pictures.base import (
    DASHES,
    GROUND,
    INK,
    MUTED,
    SERIES,
    Canvas,
    EndLabel,
    Picture,
    end_labels,
    plain_log_ticks,
)
from peakline.pictures.memory import Curve, amount, curve, integer_ticks, plot
from peakline.pictures.roofline import format_name, resource_color, resource_name
from peakline.profile import Ceiling, Measurement, Profile, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LAUNCHES = {
    "launch.submit": "submit: host time of the call",
    "launch.back_to_back": "back to back: one of many",
    "launch.round_trip": "round trip: launch to finish",
    "launch.empty_kernel": "empty kernel: time on device",
}


def launch(profile: Profile, device: str) -> Picture | None:
    """What starting work costs, one by one and as a graph."""
    rows = profile.of(device, "launch")
    graph = curve(
        "graph", [m for m in rows if m.id == "launch.graph"], lambda m: m.integer("nodes") or None
    )
    # A benchmark with parameters (other than the graph) is listed once for each.
    single: dict[str, float] = {}
    for m in rows:
        if m.id != "launch.graph":
            suffix = ", ".join(f"{k} {v}" for k, v in m.params.items())
            name = _LAUNCHES.get(m.id, m.id.removeprefix("launch.").replace("_", " "))
            single[f"{name} ({suffix})" if suffix else name] = amount(m)
    if not single and not graph.x:
        return None
    ordered = sorted(single.items(), key=lambda item: item[1])
    per_node = Curve("graph", graph.x, tuple(y / x for x, y in zip(graph.x, graph.y, strict=True)))

    def draw(canvas: Canvas) -> Figure:
        panels_wanted = [bool(ordered), len(graph.x) > 1]
        figure, panels = canvas.figure(3.0, sum(panels_wanted), right=canvas.room(["stream"]))
        remaining = list(panels)
        if ordered:
            axes = remaining.pop(0)
            values = [v * 1e6 for _, v in ordered]
            axes.barh(range(len(ordered)), values, height=0.42, color=SERIES[0])
            for y, (name, value) in enumerate(ordered):
                axes.text(0, y - 0.3, name, fontsize=canvas.font - 1, color=INK, va="bottom")
                axes.text(
                    values[y],
                    y,
                    f" {units.time(value)}",
                    fontsize=canvas.font - 1,
                    color=INK,
                    va="center",
                )
            axes.set_ylim(len(ordered) - 0.5, -0.8)
            axes.set_xlim(0, max(values) * 1.12)
            axes.set_yticks([])
            axes.grid(axis="y", visible=False)
            canvas.labels(axes, "µs", "one launch")
        if len(graph.x) > 1:
            axes = remaining.pop(0)
            plot(axes, per_node, 1, 1e-6)
            back = single.get(_LAUNCHES["launch.back_to_back"])
            labels = [EndLabel(per_node.y[-1] * 1e6, "graph", SERIES[1])]
            if back:
                axes.axhline(
                    back * 1e6, color=SERIES[0], linestyle=DASHES[1], lw=1.2, label="back to back"
                )
                labels.append(EndLabel(back * 1e6, "stream", SERIES[0]))
            axes.set_xscale("log", base=2)
            integer_ticks(axes.xaxis, graph.x, 7)
            axes.set_ylim(bottom=0)
            canvas.labels(axes, "nodes of a graph", "µs for each kernel")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "launch",
        "Launches: what starting work costs",
        "Four different quantities: the host's time to submit, the time from launch to finish, the "
        "rate of a filled stream, and the kernel's own time; a graph spreads its fixed part over "
        "its nodes.",
        _launch_reading(single, per_node),
        draw,
    )


def _launch_reading(single: dict[str, float], per_node: Curve) -> str:
    parts = []
    trip = single.get(_LAUNCHES["launch.round_trip"])
    back = single.get(_LAUNCHES["launch.back_to_back"])
    if trip:
        parts.append(f"Launching one kernel and waiting for it costs {units.time(trip)}.")
    if back:
        parts.append(
            f"A filled stream starts one every {units.time(back)}, so kernels much shorter than "
            "that leave the device idle."
        )
    if len(per_node.x) > 1:
        text = f"A graph of {per_node.x[-1]:g} nodes brings it to {units.time(per_node.y[-1])} each"
        if back:
            gain = back / per_node.y[-1]
            text += (
                f", {units.number(gain, 2)} times less"
                if gain > 1.05
                else ", no gain over a stream"
            )
        parts.append(text + ".")
    return " ".join(parts) or f"{len(single)} launch costs were measured."


def divergence(profile: Profile, device: str) -> Picture | None:
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
        axes.plot(xs, xs, color=MUTED, linestyle=(0, (4, 3)), lw=0.9, label="full serialization")
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


# More lines than these no one tells apart.
MAX_SERIES = 6
# Where the time axis begins: the first points of a series are this far apart.
FIRST_POINT_S = 0.01
# The fall from burst is over by then, which the picture of sustained load shows.
BURST_OVER_S = 1.0
# The power limit has taken hold by then; what a soak loses later is heat's doing.
SETTLED_S = 5.0


@dataclass(frozen=True, slots=True)
class _Panel:
    """One quantity of a series: how it is called, and its values."""

    label: str
    values: Callable[[Measurement, Series], Iterable[float | None]]

    def points(self, m: Measurement, from_s: float = 0.0) -> tuple[list[float], list[float]]:
        """Times above 0, from `from_s` on, and values; what is not known is left out."""
        assert m.series is not None
        known = [
            (t, v)
            for t, v in zip(m.series.time_s, self.values(m, m.series), strict=True)
            if v is not None and t > 0 and t >= from_s
        ]
        return [t for t, _ in known], [v for _, v in known]


def _scaled(values: Iterable[float | None], scale: float) -> list[float | None]:
    return [None if v is None else v / scale for v in values]


def _per_clock(series: Series) -> list[float | None]:
    """Operations per clock of the whole device."""
    return [
        rate / clock if rate and clock else None
        for rate, clock in zip(series.rate, series.sm_clock_hz, strict=True)
    ]


_TELEMETRY = (
    _Panel("SM clock, MHz", lambda _, series: _scaled(series.sm_clock_hz, 1e6)),
    _Panel("power, W", lambda _, series: series.power_w),
    _Panel("temperature, °C", lambda _, series: series.temperature_c),
)


def _present(
    panels: Iterable[_Panel], rows: Sequence[Measurement], from_s: float = 0.0
) -> list[_Panel]:
    """The panels that at least one of `rows` has values for, from `from_s` on."""
    return [panel for panel in panels if any(panel.points(m, from_s)[0] for m in rows)]


def _with_series(profile: Profile, device: str) -> list[Measurement]:
    return [
        m
        for m in profile.of(device)
        if m.series is not None and len(m.series.time_s) > 1 and m.unit in ("FLOP/s", "OP/s")
    ]


def _format(m: Measurement) -> str:
    return m.id.rpartition(".")[2]


def _resource(profile: Profile, device: str, m: Measurement) -> str:
    """The resource whose ceilings a load belongs to."""
    name = _format(m)
    if not m.id.startswith("gemm."):
        return f"cuda_core.{name}"
    product = f"gemm.{name}"
    return product if product in profile.resources(device) else f"tensor.{name}"


def sustained(profile: Profile, device: str) -> Picture | None:
    """Rate, clock, power and temperature over an unbroken load, from the first burst on."""
    rows = [m for m in _with_series(profile, device) if m.params.get("load") != "soak"]
    family = "gemm." if any(m.id.startswith("gemm.") for m in rows) else ""
    rows = [m for m in rows if m.id.startswith(family)]
    if not rows:
        return None
    rows = sorted(rows, key=lambda m: -amount(m))[:MAX_SERIES]
    bursts = {m.id: amount(m) for m in profile.of(device) if m.params.get("load") == "burst"}
    highest = _highest_clock(profile, device)
    # Operations per clock that the units allow: the theoretical ceiling holds at the highest clock.
    limits = {
        m.id: limit.value / highest
        for m in rows
        if highest
        and (limit := profile.ceiling(device, _resource(profile, device, m), "theoretical"))
    }

    def percent(values: Sequence[float | None], of: float | None) -> list[float | None]:
        return _scaled(values, of / 100) if of else [None] * len(values)

    def of_burst(m: Measurement, series: Series) -> list[float | None]:
        return percent(series.rate, bursts.get(m.id))

    def of_units(m: Measurement, series: Series) -> list[float | None]:
        return percent(_per_clock(series), limits.get(m.id))

    panels_wanted = _present(
        [
            _Panel("rate, % of burst; right: TFLOP/s held", of_burst),
            _Panel("rate per clock, % of what the units allow", of_units),
            *_TELEMETRY,
        ],
        rows,
    )
    if not panels_wanted:
        return None

    def draw(canvas: Canvas) -> Figure:
        names = [format_name(_format(m)) for m in rows]
        held = [units.number(amount(m) / 1e12) for m in rows]
        right = canvas.room(map("{} {}".format, names, held), canvas.font - 1)
        figure, panels = canvas.figure(2.3, len(panels_wanted), right=right, columns=2)
        last = max(m.series.time_s[-1] for m in rows if m.series)
        for axes, panel in zip(panels, panels_wanted, strict=True):
            labels = []
            for i, (m, name) in enumerate(zip(rows, names, strict=True)):
                times, values = panel.points(m)
                if not times:
                    continue
                color = resource_color(_resource(profile, device, m))
                dashes = DASHES[i % len(DASHES)]
                axes.plot(times, values, color=color, linestyle=dashes, lw=1.4, label=name)
                labels.append(EndLabel(values[-1], f"{name} {held[i]}", color))
            axes.set_xscale("log")
            axes.set_xlim(FIRST_POINT_S * 0.9, max(last, FIRST_POINT_S) * 1.05)
            ticks = {0.01: "10 ms", 0.1: "100 ms", 1.0: "1 s", 10.0: "10 s"}
            plain_log_ticks(axes.xaxis, list(ticks), list(ticks.values()))
            axes.margins(y=0.12)
            canvas.labels(axes, "since the start of the load", panel.label)
            # The others share colours and dashes with the first, and their lines lie close.
            if axes is panels[0]:
                end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "sustained",
        "From burst to sustained",
        "The same load without a break, time on a log scale. Where rate and clock fall together "
        "while power stays flat, the power limit decides; where they fall as temperature rises, "
        "heat does. A rate per clock that stays level says that nothing but the clock changed. "
        "INT8 counts integer operations.",
        _sustained_reading(rows, profile, device),
        draw,
    )


def _highest_clock(profile: Profile, device: str) -> float | None:
    return next((d.sm_clock_max_hz for d in profile.devices if d.uuid == device), None)


def _sustained_reading(rows: Sequence[Measurement], profile: Profile, device: str) -> str:
    m = next((m for m in rows if m.id == "gemm.bf16"), rows[0])
    assert m.series is not None
    # One interval of the series is noise; the measurement's value is the median of its last third.
    held = amount(m)
    first = next((v for v in m.series.rate if v), held)
    text = (
        f"{format_name(_format(m))} starts at {units.rate(first, m.unit)} and holds "
        f"{units.rate(held, m.unit)} in the last third of {m.series.time_s[-1]:.1f} s "
        f"({(held / first - 1) * 100:+.0f} %)"
    )
    if m.conditions.sm_clock_hz:
        clock = units.clock(m.conditions.sm_clock_hz)
        highest, sms = _highest_clock(profile, device), profile.sm_count(device)
        text += ", with its clock at " + (
            f"{clock.removesuffix(' MHz')} of {units.clock(highest)}" if highest else clock
        )
        if sms:
            text += f" and {held / m.conditions.sm_clock_hz / sms:.0f} FLOP per clock and SM"
    powers = [v for v in m.series.power_w if v]
    if powers:
        text += f", at up to {max(powers):.0f} W"
    text += "."
    per_joule = [
        f"{format_name(_format(m))} {units.number(amount(m) / m.conditions.power_w / 1e9)}"
        for m in rows
        if m.conditions.power_w
    ]
    if per_joule:
        integers = ", integers GOP/J" if any(m.unit == "OP/s" for m in rows) else ""
        text += f" Held efficiency in GFLOP/J{integers}: {', '.join(per_joule)}."
    if m.conditions.throttle_reasons:
        reasons = ", ".join(r.replace("_", " ") for r in m.conditions.throttle_reasons)
        text += f" The driver names as reason: {reasons}."
    return text


def soak(profile: Profile, device: str) -> Picture | None:
    """Minutes of unbroken load, with the time at which the temperature came to rest."""
    m = next((m for m in _with_series(profile, device) if m.params.get("load") == "soak"), None)
    if m is None or m.series is None or m.series.time_s[-1] <= BURST_OVER_S:
        return None
    series = m.series
    sms = profile.sm_count(device)
    panels_wanted = _present(
        [
            _Panel("TFLOP/s", lambda _, series: _scaled(series.rate, 1e12)),
            _Panel(
                "FLOP per clock and SM",
                lambda _, series: _scaled(_per_clock(series), sms)
                if sms
                else [None] * len(series.rate),
            ),
            *_TELEMETRY,
        ],
        [m],
        BURST_OVER_S,
    )
    if not panels_wanted:
        return None
    equilibrium = m.launch.get("equilibrium_s")
    rest = equilibrium if isinstance(equilibrium, int) else None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(2.0, len(panels_wanted), right=0.22, columns=2)
        for axes, panel in zip(panels, panels_wanted, strict=True):
            times, values = panel.points(m, BURST_OVER_S)
            axes.plot(times, values, color=SERIES[0], lw=1.4, label=panel.label)
            # What does not change shall look level, not like noise.
            low, high = min(values), max(values)
            spare = max(0.12 * (high - low), (0.05 * high - (high - low)) / 2) or 1.0
            axes.set_ylim(low - spare, high + spare)
            axes.set_xlim(0, series.time_s[-1])
            if rest is not None:
                axes.axvline(rest, color=MUTED, linestyle=(0, (4, 3)), lw=0.9, label="equilibrium")
            canvas.labels(axes, "s since the start of the load", panel.label)
        if rest is not None:
            late = rest > series.time_s[-1] / 2
            panels[0].annotate(
                f"equilibrium, {rest} s",
                xy=(rest, 0.06),
                xytext=(-4 if late else 4, 0),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                fontsize=canvas.font - 1,
                color=MUTED,
                ha="right" if late else "left",
                bbox=GROUND,
            )
        return figure

    temperature = m.launch.get("equilibrium_temperature_c")
    text = (
        f"{format_name(_format(m))} holds {units.rate(amount(m), m.unit)} at the end of "
        f"{series.time_s[-1]:.0f} s without a break"
    )
    start = [v for t, v in zip(series.time_s, series.rate, strict=True) if v and t <= SETTLED_S]
    if start:
        text += f", {units.percent(amount(m) / start[-1])} of what it does after {SETTLED_S:.0f} s"
    text += "."
    if rest is None:
        text += " It came to no thermal equilibrium in that time."
    else:
        text += f" Its thermal equilibrium came after {rest} s"
        text += f", at {temperature} °C." if isinstance(temperature, int) else "."
    return Picture(
        "soak",
        "Soak: minutes of unbroken load",
        "From the first second on, after the fall from burst. The dashed line marks where the "
        "temperature has come to rest; a rate that falls while it rises is what a run of seconds "
        "does not see.",
        text,
        draw,
    )


# Marker, fill and colour: filled is measured under load, hollow is anything else.
_BASIS_MARKS: dict[str, tuple[str, Literal["full", "none"], str]] = {
    "datasheet": ("D", "none", INK),
    "instruction": ("^", "none", INK),
    "measured": ("o", "full", SERIES[0]),
    "burst": ("o", "full", SERIES[0]),
    "sustained": ("s", "full", SERIES[1]),
    "model_shaped": ("v", "none", INK),
}
# Burst is how a compute peak is measured, "measured" how a bandwidth is: one kind of mark.
_BASIS_NAMES = {
    "datasheet": "datasheet",
    "instruction": "instruction",
    "measured": "measured (burst)",
    "burst": "measured (burst)",
    "sustained": "sustained",
    "model_shaped": "model-shaped",
}
_TOP_BASES = ("measured", "burst", "instruction", "sustained", "model_shaped")


def ceilings(profile: Profile, device: str) -> Picture | None:
    """Each ceiling as a share of what the specification allows."""
    rows: dict[str, dict[str, Ceiling]] = {}
    limits: dict[str, float] = {}
    for resource in profile.resources(device):
        limit = profile.ceiling(device, resource, "theoretical")
        found = {
            basis: row
            for basis in _BASIS_MARKS
            if (row := profile.ceiling(device, resource, basis)) is not None
        }
        if limit is not None and any(b != "datasheet" for b in found):
            rows[resource], limits[resource] = found, limit.value
    if len(rows) < 2:
        return None

    def best(resource: str) -> float:
        return (
            next(rows[resource][b].value for b in _TOP_BASES if b in rows[resource])
            / limits[resource]
        )

    names = list(rows)
    entries = len({_BASIS_NAMES[basis] for found in rows.values() for basis in found}) + 1

    def draw(canvas: Canvas) -> Figure:
        columns = 2 if canvas.narrow else 6
        figure, (axes,) = canvas.figure(
            1.05 + 0.25 * len(names) + 0.2 * math.ceil(entries / columns),
            left=canvas.room(map(resource_name, names), canvas.font - 0.5),
            right=canvas.room(["00.0 TFLOP/s"], canvas.font - 1),
            top=0.14 + 0.2 * math.ceil(entries / columns),
        )
        used: set[str] = set()
        for y, resource in enumerate(names):
            shares = [row.value / limits[resource] * 100 for row in rows[resource].values()]
            axes.plot([min(shares), max(shares)], [y, y], color=MUTED, lw=0.8, zorder=1)
            for basis, row in rows[resource].items():
                marker, fill, color = _BASIS_MARKS[basis]
                axes.plot(
                    [row.value / limits[resource] * 100],
                    [y],
                    linestyle="none",
                    marker=marker,
                    fillstyle=fill,
                    color=color,
                    markersize=6,
                    label="" if _BASIS_NAMES[basis] in used else _BASIS_NAMES[basis],
                )
                used.add(_BASIS_NAMES[basis])
            top = next(rows[resource][b] for b in _TOP_BASES if b in rows[resource])
            axes.annotate(
                units.rate(top.value, top.unit),
                xy=(1.0, y),
                xytext=(4, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                fontsize=canvas.font - 1,
                color=INK,
                va="center",
                annotation_clip=False,
            )
        axes.axvline(100, color=MUTED, linestyle=(0, (4, 3)), lw=0.9, label="theoretical")
        axes.set_yticks(range(len(names)), [resource_name(n) for n in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        low = min(row.value / limits[n] * 100 for n in names for row in rows[n].values())
        axes.set_xlim(min(75.0, low - 5), 102)
        axes.legend(
            fontsize=canvas.font - 1,
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=columns,
            handletextpad=0.2,
            columnspacing=1.0,
            borderaxespad=0.1,
        )
        canvas.labels(axes, "% of theoretical, at the maximum clock")
        return figure

    low, high = min(names, key=best), max(names, key=best)
    return Picture(
        "ceilings",
        "Measured against theoretical",
        "The dashed line is what clock and unit counts allow; filled marks were measured under "
        "load. A gap between burst and sustained is the price of unbroken load; model-shaped is "
        "what the products of a transformer layer reach.",
        f"Closest to the limit: {resource_name(high)} with {units.percent(best(high))}; furthest: "
        f"{resource_name(low)} with {units.percent(best(low))}. Where there is a sustained figure "
        "beside it, the burst one counts.",
        draw,
    )
