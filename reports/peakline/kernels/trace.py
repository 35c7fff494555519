"""Traces of `torch.profiler`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from peakline.kernels.kernel import UNKNOWN_UNIT, Kernel, KernelsError, merge, short_name
from peakline.kernels.numbers import checked
from peakline.kernels.shapes import Work, works

# These numbers of an event are read.
_NUMBERS = ("dur", "flops", "kernel_flop", "kernel_num_gb")
_TF32_KERNEL = re.compile("tf32|s1688|s16816gemm_f32")
# Kernels with these names do an operator's arithmetic, rather than convert, reduce or copy.
_ARITHMETIC = re.compile("gemm|gemv|nvjet|cutlass|xmma|cublas|mma|flash|sdpa|attention|conv|triton")


def parse_trace(text: str, name: str) -> list[Kernel]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KernelsError(f"{name}: not a torch.profiler trace: {error}") from error
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise KernelsError(f"{name}: not a torch.profiler trace: it has no traceEvents")
    for index, event in enumerate(events):
        _check(event, f"{name}: traceEvents[{index}]")
    events = [e for e in events if isinstance(e, dict) and isinstance(e.get("args"), dict)]
    operators = {
        e["args"]["External id"]: e
        for e in events
        if e.get("cat") == "cpu_op" and isinstance(e["args"].get("External id"), int)
    }
    launches = [e for e in events if str(e.get("cat")).lower() == "kernel"]
    if not launches:
        raise KernelsError(
            f"{name}: the trace holds no GPU kernel: record with activities=[CPU, CUDA] and "
            "record_shapes=True"
        )
    by_operator: dict[int, list[Mapping[str, Any]]] = {}
    for event in launches:
        identity = event["args"].get("External id")
        if isinstance(identity, int) and identity in operators:
            by_operator.setdefault(identity, []).append(event)
    shares: dict[int, Work] = {}  # by the event's identity in memory
    for identity, group in by_operator.items():
        for work in _stated(operators[identity]) or works(operators[identity]):
            parts = _doers(group, work.role)
            for event in parts:
                shares[id(event)] = Work(
                    work.unit, work.flops / len(parts), work.bytes / len(parts)
                )
    return merge([_kernel(event, shares.get(id(event))) for event in launches])


def _check(event: object, where: str) -> None:
    """Raises KernelsError for a number that no kernel has."""
    if not isinstance(event, dict) or not isinstance(event.get("args"), dict):
        return
    for key, value in {**event["args"], "dur": event.get("dur")}.items():
        if key in _NUMBERS:
            try:
                _positive(value)
            except ValueError as error:
                raise KernelsError(f"{where}: {key} is {error}") from error


def _positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return checked(value) if value > 0 else 0.0


def _stated(operator: Mapping[str, Any]) -> list[Work]:
    """The FLOPs that the trace states, with the bytes of the shapes."""
    flops = _positive(operator["args"].get("flops"))
    if not flops:
        return []
    found = works(operator)
    if len(found) == 1:
        return [Work(found[0].unit, flops, found[0].bytes)]
    return [Work(UNKNOWN_UNIT, flops, 0.0)]


def _doers(group: Sequence[Mapping[str, Any]], role: str) -> list[Mapping[str, Any]]:
    """The kernels of an operator that share its work: those of the name that takes the longest."""
    if role:
        candidates = [e for e in group if role in str(e.get("name"))]
    else:
        candidates = [e for e in group if _ARITHMETIC.search(str(e.get("name")).lower())]
        candidates = candidates or list(group)
    times: dict[str, float] = {}
    for event in candidates:
        name = str(event.get("name"))
        times[name] = times.get(name, 0.0) + _positive(event.get("dur"))
    if not times:
        return []
    longest = max(times, key=lambda name: times[name])
    return [e for e in candidates if str(e.get("name")) == longest]


def _kernel(event: Mapping[str, Any], work: Work | None) -> Kernel:
    arguments = event["args"]
    name = str(event.get("name", "kernel"))
    flops = _positive(arguments.get("kernel_flop")) or _positive(arguments.get("flops"))
    moved = _positive(arguments.get("kernel_num_gb")) * 1e9
    from_shapes = work is not None and not flops and not moved
    unit = UNKNOWN_UNIT
    if work is not None:
        unit = work.unit
        flops, moved = flops or work.flops, moved or work.bytes
        if unit == "cuda_core.fp32" and _TF32_KERNEL.search(name):
            unit = "tensor.tf32"
    return Kernel(
        short_name(name),
        1,
        _positive(event.get("dur")) * 1e-6 or None,
        {unit: flops} if flops else {},
        {"hbm": moved} if moved else {},
        (*(() if flops else ("flops",)), *(() if moved else ("hbm",))),
        from_shapes,
    )
