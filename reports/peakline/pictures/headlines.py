"""What each picture says about this device in one line, from the figures that the profile holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from peakline import units
from peakline.names import format_name
from peakline.profile import Profile

# The figures of a picture's curves, by name.
Values = Mapping[str, float]


def headline(profile: Profile, device: str, key: str, topics: tuple[str, ...]) -> str:
    """The headline of a picture; empty where the profile lacks a figure of it."""
    curves = [profile.curve(device, topic) for topic in topics]
    values = {name: value for c in curves if c for name, value in c.values.items()}
    try:
        if key in _OF_CEILINGS:
            return _OF_CEILINGS[key](profile, device, values)
        return _OF_FIGURES[key](values) if key in _OF_FIGURES else ""
    except (KeyError, ValueError, ZeroDivisionError):  # a figure is missing, or none is like it
        return ""


def _matching(values: Values, pattern: str) -> dict[tuple[str, ...], float]:
    """The figures whose whole name fits a pattern, by its groups."""
    found = {re.fullmatch(pattern, name): value for name, value in values.items()}
    return {match.groups(): value for match, value in found.items() if match}


def _rate(profile: Profile, device: str, resource: str, *bases: str) -> float:
    row = profile.ceiling(device, resource, *bases)
    if row is None:
        raise KeyError(resource)
    return row.value


def _sustained(profile: Profile, device: str, _: Values) -> str:
    """BF16 where there is one, else the fastest format."""
    held = [c for c in profile.ceilings if c.device == device and c.basis == "sustained"]
    row = max(held, key=lambda c: (c.resource == "tensor.bf16", c.value))
    burst = _rate(profile, device, row.resource, "burst")
    text = f"{profile.label(row.resource)} hold {units.percent(row.value / burst)} of their burst"
    clock, gpu = row.conditions.sm_clock_hz, profile.gpu(device)
    if clock and gpu and gpu.sm_clock_max_hz:
        text += f", at {clock / 1e6:.0f} of {units.clock(gpu.sm_clock_max_hz)}"
    return text


def _hbm(profile: Profile, device: str, _: Values) -> str:
    memory = profile.memory_resource(device, "hbm") or ""
    value = _rate(profile, device, memory, "measured")
    share = units.percent(value / _rate(profile, device, memory, "theoretical"))
    return f"{profile.label(memory)}: {units.rate(value, 'B/s')}, {share} of theoretical"


def _pcie(profile: Profile, device: str, values: Values) -> str:
    there, back = (
        units.rate(_rate(profile, device, f"pcie.{way}", "measured"), "B/s")
        for way in ("h2d", "d2h")
    )
    half = units.size(values["h2d_half_rate_bytes"])
    return f"PCIe: {there} to the device, {back} back; half of that from {half} on"


def _collectives(values: Values) -> str:
    small = units.time(values["all_reduce_smallest_s"])
    large = units.rate(values["all_reduce_bus_bytes_per_s"], "B/s")
    return f"All-reduce takes at least {small} and reaches {large} of bus bandwidth"


COPY_WAYS = {
    "plain": "plain",
    "cp_async": "cp.async",
    "bulk": "bulk",
    "tensor_1d": "1D tensor",
    "tensor_2d": "2D tensor",
}


def _copies(values: Values) -> str:
    """The quickest way of copying the largest tile, against plain loads."""
    times = _matching(values, r"latency_(\w+)_(\d+)_s")
    tile = max((at[1] for at in times if at[0] == "plain"), key=int)
    plain = times["plain", tile]
    best, way = min((time, at[0]) for at, time in times.items() if at[1] == tile)
    text = (
        f"Copying {units.size(float(tile))} from the L2 takes {units.time(plain)} with plain loads"
    )
    if way == "plain":
        return text
    name = COPY_WAYS[way] + ("" if way == "cp_async" else " copies")
    return f"{text}, {units.time(best)} with {name}"


def _soak(values: Values) -> str:
    text = f"{units.rate(values['flops_per_s'], 'FLOP/s')} over {values['seconds']:.0f} s of load"
    rest = values.get("equilibrium_s")
    return text + (f"; the temperature settles after {rest:.0f} s" if rest else "")


def _model(values: Values) -> str:
    found = _matching(values, r"(\w+)_(\d+)_tokens_share_of_burst")
    name, tokens = max(found, key=lambda at: (at[0] == "bf16", int(at[1])))
    share = units.percent(found[name, tokens])
    return f"{format_name(name)} layers reach {share} of burst at {tokens} tokens"


def _skinny(values: Values) -> str:
    found = _matching(values, r"(\w+)_half_burst_m")
    (name,) = max(found, key=lambda at: at[0] == "bf16")
    return f"{format_name(name)} needs {found[name,]:.0f} rows for half of its burst rate"


def _sides(values: Values) -> str:
    shares = _matching(values, r"(\w+)_([mnk])_worst_share_per_clock")
    name, side = min(shares, key=shares.__getitem__)
    size = values[f"{name}_{side}_worst_size"]
    what = f"An odd {side.upper()} ({size:.0f})" if size % 2 else f"{side.upper()} = {size:.0f}"
    return f"{what} costs {format_name(name)} products {1 / shares[name, side]:.1f} ×"


def _waves(values: Values) -> str:
    share = units.percent(values["share_per_clock"])
    best = units.percent(values["best_share_per_clock"])
    return f"Just past a full wave one kernel runs at {share} of its rate, the best one at {best}"


def _data(values: Values) -> str:
    rates = _matching(values, r"([^_]+)_(\w+)_flops_per_s")
    ratios = {(name, kind): rate / rates[name, "normal"] for (name, kind), rate in rates.items()}
    name, kind = max(ratios, key=lambda at: (at[0] == "bf16", ratios[at]))
    faster = (ratios[name, kind] - 1) * 100
    kind = kind.replace("_", " ") + ("" if kind == "zeros" else " data")
    return f"{format_name(name)} runs {faster:.0f} % faster on {kind} than on normal data"


def _launch(values: Values) -> str:
    submit, node = units.time(values["submit_s"]), units.time(values["graph_per_node_s"])
    return f"A launch takes {submit} to submit, another node of a graph {node}"


def _cache(values: Values) -> str:
    l1, l2 = units.size(values["l1_held_bytes"]), values["l2_held_bytes"] / units.MIB
    return f"Reads keep the rate of the L1 up to {l1} per SM, and that of the L2 up to {l2:.3g} MiB"


def _latency(values: Values) -> str:
    far, near = (units.time(values[f"{level}_s"]) for level in ("hbm", "l2_near"))
    return f"A load takes {far} from device memory, {near} from the near part of the L2"


def _memory_map(profile: Profile, device: str, _: Values) -> str:
    levels = {level.level: level for level in profile.levels(device)}
    near, far = levels["l1"], levels["hbm"]
    if not (near.latency_s and far.latency_s and near.bytes_per_s and far.bytes_per_s):
        raise KeyError("latency and bandwidth of both")
    later, slower = far.latency_s / near.latency_s, near.bytes_per_s / far.bytes_per_s
    return (
        f"From L1 to device memory, latency grows {units.number(later)} ×, "
        f"bandwidth falls {units.number(slower)} ×"
    )


def _conflicts(values: Values) -> str:
    slower = units.number(values["conflict_slowdown"])
    return f"A read whose lanes all hit one bank takes {slower} × as long"


def _clusters(values: Values) -> str:
    found = _matching(values, r"cluster_(\d+)_bytes_per_s")
    rates = {int(size): rate for (size,), rate in found.items()}
    slower = [rates[1] / rate for size, rate in rates.items() if size > 1]
    least, most = f"{min(slower):.0f}", f"{max(slower):.0f}"
    times = least if least == most else f"{least} to {most}"
    return f"Another SM's shared memory is {times} × slower than one's own"


def _occupancy(values: Values) -> str:
    flight = units.size(values["hbm_bytes_in_flight_per_sm"])
    return f"90 % of the memory's bandwidth needs at least {flight} in flight per SM"


def _instructions(values: Values) -> str:
    documented = _matching(values, r"(\w+)_documented_per_clock_per_sm")
    shares = {op: values[f"{op}_per_clock_per_sm"] / rate for (op,), rate in documented.items()}
    op = min(shares, key=shares.__getitem__)
    name = op.replace("_", " ")
    return f"Furthest below its documented rate: {name}, at {units.percent(shares[op])}"


def _atomics(values: Values) -> str:
    # At the usual scope, which has no name here: of it is the picture.
    shares = _matching(values, r"global_((?:(?!_block|_system)\w)+)_one_address_share")
    (op,) = min(shares, key=shares.__getitem__)
    slower = units.number(1 / shares[op,])
    return (
        f"With all threads on one address, {op.replace('_', ' ')} is {slower} × slower "
        "than with one each"
    )


def _overlap(values: Values) -> str:
    shares = _matching(values, r"h2d_d2h_pinned_(\d+)_share")
    (largest,) = max(shares, key=lambda at: int(at[0]))
    both = units.percent(shares[largest,])
    hidden = units.size(values["h2d_pinned_hidden_bytes"])
    return f"Copies to the device hide behind a kernel from {hidden} on; both ways reach {both}"


def _synchronization(values: Values) -> str:
    read, grid, block = (
        units.time(values[f"{name}_s"]) for name in ("wait_read_back", "grid", "block_256")
    )
    return (
        f"Launching a kernel and reading 4 bytes back takes {read}, a grid barrier {grid}, "
        f"a block barrier {block}"
    )


def _fusion(values: Values) -> str:
    savings = _matching(values, r"steps_(\d+)_saving")
    (steps,) = max(savings, key=lambda at: int(at[0]))
    times = _matching(values, r"separate_(\d+)_s")
    (smallest,) = min(times, key=lambda at: int(at[0]))
    slower = times[smallest,] / values[f"fused_{smallest}_s"]
    return (
        f"Fusing {steps} steps saves {units.percent(savings[steps,])} of the time; on arrays of "
        f"{units.size(float(smallest))}, fusing four runs {units.number(slower)} × as fast"
    )


def _divergence(values: Values) -> str:
    inside, between = values["lanes_slowdown"], values["warps_slowdown"]
    return f"Divergent paths: {inside:.1f} × the time within a warp, {between:.2f} × between warps"


def _host(values: Values) -> str:
    read, fp32 = values["read_speedup"], values["fp32_speedup"]
    return f"All threads read {read:.1f} × as fast as one, and compute {fp32:.1f} × as fast"


def _links(values: Values) -> str:
    slowest = values["read_slowest_bytes_per_s"]
    both = values["bidirectional_bytes_per_s"]
    return (
        f"GPUs read from each other at {units.rate(slowest, 'B/s')} or more; both ways at once "
        f"they move {units.rate(both, 'B/s')}"
    )


def _concurrent(values: Values) -> str:
    one_way = units.percent(min(values[f"{name}_least_share"] for name in ("h2d", "d2h")))
    both = units.percent(values["both_least_share"])
    return (
        f"With all GPUs copying, a host link keeps {one_way} of its rate one way, {both} both ways"
    )


_OF_CEILINGS: dict[str, Callable[[Profile, str, Values], str]] = {
    "memory-map": _memory_map,
    "sustained": _sustained,
    "hbm": _hbm,
    "pcie": _pcie,
}
_OF_FIGURES: dict[str, Callable[[Values], str]] = {
    "soak": _soak,
    "model": _model,
    "skinny": _skinny,
    "matrix-alignment": _sides,
    "waves": _waves,
    "data": _data,
    "launch": _launch,
    "collectives": _collectives,
    "cache": _cache,
    "copies": _copies,
    "latency": _latency,
    "conflicts": _conflicts,
    "dsmem": _clusters,
    "occupancy": _occupancy,
    "instructions": _instructions,
    "atomics": _atomics,
    "overlap": _overlap,
    "synchronization": _synchronization,
    "fusion": _fusion,
    "divergence": _divergence,
    "host": _host,
    "node-links": _links,
    "node-concurrent": _concurrent,
}
