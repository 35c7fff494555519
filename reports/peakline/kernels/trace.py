"""Traces of `torch.profiler`."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from peakline.kernels.events import trace_events
from peakline.kernels.kernel import (
    UNKNOWN_UNIT,
    Kernel,
    KernelsError,
    check_count,
    merge,
    short_name,
)
from peakline.kernels.numbers import checked
from peakline.kernels.shapes import Work, works

# These numbers of an event are read.
_NUMBERS = ("dur", "flops", "kernel_flop", "kernel_num_gb")
_KEPT = ("External id", "flops", "kernel_flop", "kernel_num_gb")
_TF32_KERNEL = re.compile("tf32|s1688|s16816gemm_f32")
# Kernels with these names do an operator's arithmetic, rather than convert, reduce or copy.
_ARITHMETIC = re.compile("gemm|gemv|nvjet|cutlass|xmma|cublas|mma|flash|sdpa|attention|conv|triton")


def parse_trace(file: TextIO, name: str) -> list[Kernel]:
    """The kernels of a trace, the launches of each together. Raises KernelsError."""
    operators: dict[int, list[Work]] = {}  # by id: those of which something is known
    launches: list[dict[str, Any]] = []
    events = trace_events(file)
    for index in itertools.count():
        try:
            event = next(events)
        except StopIteration:
            break
        except (ValueError, RecursionError) as error:
            raise KernelsError(f"{name}: not a torch.profiler trace: {error}") from error
        if not isinstance(event, dict) or not isinstance(event.get("args"), dict):
            continue
        _check(event, f"{name}: traceEvents[{index}]")
        identity = event["args"].get("External id")
        if event.get("cat") == "cpu_op" and isinstance(identity, int):
            operators[identity] = _stated(event) or works(event)
        elif str(event.get("cat")).lower() == "kernel":
            check_count(len(launches), name)
            launches.append(_slim(event))
    if not launches:
        raise KernelsError(
            f"{name}: the trace holds no GPU kernel: record with activities=[CPU, CUDA] and "
            "record_shapes=True"
        )
    by_operator: dict[int, list[dict[str, Any]]] = {}
    for launch in launches:
        identity = launch["args"].get("External id")
        if isinstance(identity, int) and identity in operators:
            by_operator.setdefault(identity, []).append(launch)
    shares: dict[int, Work] = {}  # by the launch's identity in memory
    for identity, group in by_operator.items():
        for work in operators[identity]:
            parts = _doers(group, work.role)
            for launch in parts:
                shares[id(launch)] = Work(
                    work.unit, work.flops / len(parts), work.bytes / len(parts)
                )
    return merge([_kernel(launch, shares.get(id(launch))) for launch in launches])


def _slim(event: Mapping[str, Any]) -> dict[str, Any]:
    """What is read of a kernel's event, which has some twenty arguments."""
    name = event.get("name", "kernel")
    return {
        "name": sys.intern(str(name)),
        "dur": event.get("dur"),
        "args": {key: event["args"][key] for key in _KEPT if key in event["args"]},
    }


def _check(event: Mapping[str, Any], where: str) -> None:
    """Raises KernelsError for a number that no kernel has."""
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


def _doers(group: Sequence[dict[str, Any]], role: str) -> list[dict[str, Any]]:
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
