"""Pictures of execution: launches, divergence, matrix products, sustained load, ceilings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from peakline import units
from peakline.pictures.base import (
    DASHES,
    INK,
    MARKERS,
    MUTED,
    SERIES,
    Canvas,
    EndLabel,
    Picture,
    end_labels,
)
from peakline.pictures.memory import Curve, amount, curve, integer_ticks, plot
from peakline.pictures.roofline import resource_color, resource_name
from peakline.profile import Ceiling, Measurement, Profile

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


def _shape(m: Measurement) -> tuple[int, int, int] | None:
    text = m.params.get("shape")
    if isinstance(text, str):
        parts = text.lower().split("x")
        if len(parts) == 3 and all(p.isdigit() and int(p) > 0 for p in parts):
            return int(parts[0]), int(parts[1]), int(parts[2])
    sizes = tuple(m.integer(k) for k in ("m", "n", "k"))
    if all(sizes):
        return sizes  # type: ignore[return-value]
    return None


# More rows than this make a list that nobody reads; the fastest and the slowest stay.
MAX_SHAPES = 24


def gemm_shapes(profile: Profile, device: str) -> Picture | None:
    """Matrix products: rate of each shape and precision."""
    values: dict[str, dict[tuple[int, int, int], float]] = {}
    for m in profile.of(device, "gemm"):
        shape = _shape(m)
        if shape and m.unit in ("FLOP/s", "OP/s"):
            of_id = values.setdefault(m.id.removeprefix("gemm."), {})
            of_id[shape] = max(of_id.get(shape, 0.0), amount(m))
    shapes = sorted(
        {s for of_id in values.values() for s in of_id}, key=lambda s: (s[0] * s[1] * s[2], s)
    )
    if len(shapes) < 2:
        return None
    if len(shapes) > MAX_SHAPES:
        reference = max(values, key=lambda name: len(values[name]))
        ranked = sorted(shapes, key=lambda s: values[reference].get(s, 0.0))
        kept = {*ranked[: MAX_SHAPES // 2], *ranked[-MAX_SHAPES // 2 :]}
        shapes = [s for s in shapes if s in kept]
    order = sorted(values, key=lambda name: -max(values[name].values()))

    def draw(canvas: Canvas) -> Figure:
        labels = ["×".join(map(str, s)) for s in shapes]
        figure, (axes,) = canvas.figure(
            1.1 + 0.25 * len(shapes), left=canvas.room(labels, canvas.font - 1.5)
        )
        for i, name in enumerate(order):
            points = [
                (values[name][s] / 1e12, y) for y, s in enumerate(shapes) if s in values[name]
            ]
            axes.plot(
                [p[0] for p in points],
                [p[1] for p in points],
                linestyle="none",
                marker=MARKERS[i % len(MARKERS)],
                color=resource_color(f"tensor.{name}"),
                markersize=6,
                fillstyle="full" if i % 2 == 0 else "none",
                label=name.upper(),
            )
        axes.set_yticks(range(len(shapes)), labels)
        axes.tick_params(axis="y", labelsize=canvas.font - 1.5)
        axes.set_ylim(len(shapes) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.legend(
            fontsize=canvas.font - 1,
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=4 if canvas.narrow else 8,
            handletextpad=0.2,
            columnspacing=1.0,
            borderaxespad=0.1,
        )
        canvas.labels(axes, "TFLOP/s of M×N×K products, small to large")
        return figure

    name = order[0]
    best = max(values[name], key=values[name].__getitem__)
    worst = min(values[name], key=values[name].__getitem__)
    return Picture(
        "gemm",
        "Matrix products: what the shape decides",
        "Each row is one shape, each mark one precision; far right is close to the ceiling, and "
        "a row far to the left is a shape that the library or the device does not serve well.",
        f"{name.upper()} is fastest at {'×'.join(map(str, best))} with "
        f"{units.rate(values[name][best], 'FLOP/s')}; {'×'.join(map(str, worst))} reaches "
        f"{units.percent(values[name][worst] / values[name][best])} of that.",
        draw,
    )


def sustained(profile: Profile, device: str) -> Picture | None:
    """Rate, clock, power and temperature over an unbroken load."""
    rows = [m for m in profile.of(device) if m.series is not None and len(m.series.time_s) > 1]
    rows = [m for m in rows if m.unit in ("FLOP/s", "OP/s")]
    if not rows:
        return None
    rows.sort(key=lambda m: -amount(m))

    def draw(canvas: Canvas) -> Figure:
        kinds = [
            ("rate", "TFLOP/s", 1e12),
            ("sm_clock_hz", "SM clock, MHz", 1e6),
            ("power_w", "power, W", 1.0),
            ("temperature_c", "temperature, °C", 1.0),
        ]
        shown = [
            kind
            for kind in kinds
            if any(v is not None for m in rows for v in getattr(m.series, kind[0]))
        ]
        right = canvas.room((m.id for m in rows), canvas.font - 1.5)
        figure, panels = canvas.figure(2.2, len(shown), right=right, columns=2)
        for axes, (key, label, scale) in zip(panels, shown, strict=True):
            labels = []
            for i, m in enumerate(rows):
                assert m.series is not None
                points = [
                    (t, v / scale)
                    for t, v in zip(m.series.time_s, getattr(m.series, key), strict=True)
                    if v is not None
                ]
                if not points:
                    continue
                color = SERIES[i % len(SERIES)]
                axes.plot(
                    [p[0] for p in points],
                    [p[1] for p in points],
                    color=color,
                    linestyle=DASHES[i % len(DASHES)],
                    lw=1.4,
                    label=m.id,
                )
                labels.append(EndLabel(points[-1][1], m.id, color))
            axes.margins(y=0.12)
            canvas.labels(axes, "s since the start of the load", label)
            # The others share colours and dashes with the first, and their lines lie close.
            if axes is panels[0]:
                end_labels(axes, labels, canvas.font - 1.5)
        return figure

    return Picture(
        "sustained",
        "From burst to sustained",
        "The same load without a break: where rate and clock fall together while power stays flat, "
        "the power limit decides; where they fall as temperature rises, heat does.",
        _sustained_reading(rows[0], profile, device),
        draw,
    )


def _sustained_reading(m: Measurement, profile: Profile, device: str) -> str:
    assert m.series is not None
    # One interval of the series is noise; the measurement's value is the median of its last third.
    held = amount(m)
    first = next((v for v in m.series.rate if v), held)
    text = (
        f"{m.id} starts at {units.rate(first, m.unit)} and holds {units.rate(held, m.unit)} in the "
        f"last third of {m.series.time_s[-1]:.1f} s ({(held / first - 1) * 100:+.0f} %)"
    )
    powers = [v for v in m.series.power_w if v]
    if m.conditions.sm_clock_hz:
        clock = units.clock(m.conditions.sm_clock_hz)
        highest = next((d.sm_clock_max_hz for d in profile.devices if d.uuid == device), None)
        text += ", with its clock at " + (
            f"{clock.removesuffix(' MHz')} of {units.clock(highest)}" if highest else clock
        )
    if powers:
        text += f", at up to {max(powers):.0f} W"
    text += "."
    if m.conditions.throttle_reasons:
        reasons = ", ".join(r.replace("_", " ") for r in m.conditions.throttle_reasons)
        text += f" The driver names as reason: {reasons}."
    return text


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

    def draw(canvas: Canvas) -> Figure:
        figure, (axes,) = canvas.figure(
            1.25 + 0.25 * len(names),
            left=canvas.room(map(resource_name, names), canvas.font - 0.5),
            right=canvas.room(["00.0 TFLOP/s"], canvas.font - 1),
            top=0.5 if canvas.narrow else 0.34,
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
            ncols=2 if canvas.narrow else 6,
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
        "The dashed line is what clock and unit counts allow; filled marks were measured. A gap "
        "between burst and sustained is the price of unbroken load.",
        f"Closest to the limit: {resource_name(high)} with {units.percent(best(high))}; furthest: "
        f"{resource_name(low)} with {units.percent(best(low))}. Where there is a sustained figure "
        "beside it, the burst one counts.",
        draw,
    )
