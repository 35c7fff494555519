"""Which kernels of an operator do its work, and what a trace states of it."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from peakline.workload.kernel import UNKNOWN_UNIT, Kernel, short_name
from peakline.workload.numbers import checked
from peakline.workload.works import Work, works

# What events state of their work.
COUNTS = ("flops", "kernel_flop", "kernel_num_gb")
# Power control takes a tenth of a second to slow a device down, and as long to let it recover.
_REST_NS = 100_000_000
# Both are recorded with record_shapes=True, and an operator's work follows from them.
SHAPES = ("Input Dims", "Concrete Inputs")
_OPAQUE = re.compile(r"OpaqueType<(\d{1,2})u?>")
_TF32_KERNEL = re.compile("tf32|s1688|s16816gemm_f32")
# Kernels with these names do an operator's arithmetic, rather than convert, reduce or copy.
_ARITHMETIC = re.compile("gemm|gemv|nvjet|cutlass|xmma|cublas|mma|flash|sdpa|attention|conv|triton")


def loads(spans: Iterable[tuple[float, float]]) -> Iterator[float]:
    """Nanoseconds that a device had been busy when each of its activities ended.

    spans: their starts and ends in nanoseconds, by start. A rest that lets the clocks recover ends
    a load.
    """
    began = ended = -math.inf
    for start, end in spans:
        if start - ended > _REST_NS:
            began = start
        ended = max(ended, end)
        yield end - began


def _positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return checked(value) if value > 0 else 0.0


def stated(operator: Mapping[str, Any]) -> list[Work]:
    """What an operator does by the FLOPs that the trace states, with the bytes of its shapes."""
    flops = _positive(operator["args"].get("flops"))
    if not flops:
        return []
    found = works(operator)
    if len(found) == 1:
        return [dataclasses.replace(found[0], flops=flops)]
    return [Work(UNKNOWN_UNIT, flops, 0.0, 0.0)]


class Launched(NamedTuple):
    """One of the kernels of an operator."""

    name: str
    nanoseconds: int
    activity: int


def shared(operator: Iterable[Work], group: Sequence[Launched]) -> Iterator[tuple[int, Work]]:
    """The activities of an operator that do its work, each with its share; group: all of them."""
    for work in operator:
        parts = _doers(group, work.role)
        for one in parts:
            size = _OPAQUE.search(one.name) if work.opaque else None
            if size or not work.opaque:
                yield one.activity, work.times((int(size[1]) if size else 1) / len(parts))


def _doers(group: Sequence[Launched], role: str) -> list[Launched]:
    """The kernels of an operator that share its work: those of the name that takes the longest."""
    candidates = [one for one in group if role in one.name]
    if not role:
        found = [one for one in candidates if _ARITHMETIC.search(one.name.lower())]
        candidates = found or candidates
    times: Counter[str] = Counter()
    for one in candidates:
        times[one.name] += one.nanoseconds
    longest = max(times, key=lambda name: times[name], default="")
    return [one for one in candidates if one.name == longest]


def counts(arguments: Mapping[str, Any]) -> tuple[float, float]:
    """FLOPs and bytes of a kernel as its event states them; 0 where it does not."""
    flops = _positive(arguments.get("kernel_flop")) or _positive(arguments.get("flops"))
    return flops, _positive(arguments.get("kernel_num_gb")) * 1e9


def kernel_of(
    name: str, launches: int, seconds: float, flops: float, total: float, work: Work | None
) -> Kernel:
    """Launches with the work that the trace states, or that their shapes tell of each.

    flops, total: FLOPs and bytes as `counts` has them.
    """
    moved = {"hbm": total} if total else {}
    from_shapes = work is not None and not flops and not moved
    unit = UNKNOWN_UNIT
    if work is not None:
        unit = work.unit
        flops = flops or work.flops * launches
        if not moved and (work.read or work.written):
            moved = {"hbm.read": work.read * launches, "hbm.write": work.written * launches}
        if unit == "cuda_core.fp32" and _TF32_KERNEL.search(name):
            unit = "tensor.tf32"
    unknown = (*(() if flops else ("flops",)), *(() if moved else ("hbm",)))
    counted = {unit: flops} if flops else {}
    return Kernel(short_name(name), launches, seconds or None, counted, moved, unknown, from_shapes)
