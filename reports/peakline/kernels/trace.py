"""Traces of `torch.profiler`."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

# What events state of their work.
COUNTS = ("flops", "kernel_flop", "kernel_num_gb")
# These numbers of an event are read.
_NUMBERS = ("ts", "dur", *COUNTS)
_KEPT = ("External id", "device", *COUNTS)
# These run on the device beside kernels.
_COPIES = ("gpu_memcpy", "gpu_memset")
# Power control takes a tenth of a second to slow a device down, and as long to let it recover.
_REST_NS = 100_000_000
# Both are recorded with record_shapes=True, and an operator's work follows from them.
SHAPES = ("Input Dims", "Concrete Inputs")
_TF32_KERNEL = re.compile("tf32|s1688|s16816gemm_f32")
# Kernels with these names do an operator's arithmetic, rather than convert, reduce or copy.
_ARITHMETIC = re.compile("gemm|gemv|nvjet|cutlass|xmma|cublas|mma|flash|sdpa|attention|conv|triton")


def parse_trace(file: TextIO, name: str) -> list[Kernel]:
    """The kernels of a trace, the launches of each together. Raises KernelsError."""
    operators: dict[int, list[Work]] = {}  # by id: those of which something is known
    has_shapes = False
    launches: list[dict[str, Any]] = []
    copies: list[dict[str, Any]] = []
    beside: dict[str, Any] = {}
    events = trace_events(file, beside)
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
            operators[identity] = stated(event) or works(event)
            has_shapes = has_shapes or all(event["args"].get(key) for key in SHAPES)
        elif (category := str(event.get("cat")).lower()) == "kernel" or category in _COPIES:
            check_count(len(launches) + len(copies), name)
            (launches if category == "kernel" else copies).append(_slim(event))
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
        shares |= {id(launch): work for launch, work in shared(operators[identity], group)}
    lacking = ("flops", "hbm") if has_shapes else ("shapes",)
    models, loads = device_models(beside), _loads([*launches, *copies])
    return merge(
        [
            dataclasses.replace(
                kernel_of(
                    launch["name"],
                    _positive(launch.get("dur")) * 1e-6,
                    *counts(launch["args"]),
                    shares.get(id(launch)),
                    lacking,
                ),
                load_s=loads.get(id(launch)),
                device=models.get(launch["args"].get("device"), ""),
            )
            for launch in launches
        ]
    )


def device_models(beside: Mapping[str, Any]) -> dict[object, str]:
    """The devices' models by their numbers, where the trace tells them."""
    found = beside.get("deviceProperties")
    return {
        device.get("id"): str(device.get("name", ""))
        for device in (found if isinstance(found, list) else [])
        if isinstance(device, dict) and isinstance(device.get("id"), int)
    }


def _loads(events: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Seconds that a device had been busy when each event ended, by its identity in memory."""
    result: dict[int, float] = {}
    by_device: dict[object, list[tuple[float, float, int]]] = {}
    for event in events:
        start, lasted = _positive(event.get("ts")) * 1e3, _positive(event.get("dur")) * 1e3
        if start:
            device = event["args"].get("device")
            by_device.setdefault(str(device), []).append((start, start + lasted, id(event)))
    for stretches in by_device.values():
        stretches.sort()
        busy = loads((start, end) for start, end, _ in stretches)
        result |= {row[2]: load * 1e-9 for row, load in zip(stretches, busy, strict=True)}
    return result


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


def _slim(event: Mapping[str, Any]) -> dict[str, Any]:
    """What is read of a kernel's event, which has some twenty arguments."""
    name = event.get("name", "kernel")
    return {
        "name": sys.intern(str(name)),
        "ts": event.get("ts"),
        "dur": event.get("dur"),
        "args": {key: event["args"][key] for key in _KEPT if key in event["args"]},
    }


def _check(event: Mapping[str, Any], where: str) -> None:
    """Raises KernelsError for a number that no kernel has."""
    for key, value in {**event["args"], "ts": event.get("ts"), "dur": event.get("dur")}.items():
        if key in _NUMBERS:
            try:
                _positive(value)
            except ValueError as error:
                raise KernelsError(f"{where}: {key} is {error}") from error


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


def shared(
    operator: Iterable[Work], group: Sequence[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Work]]:
    """The kernels of an operator that do its work, each with its share.

    group: all of its kernels, with "name" and "dur".
    """
    for work in operator:
        parts = _doers(group, work.role)
        for event in parts:
            yield event, work.times(1 / len(parts))


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


def counts(arguments: Mapping[str, Any]) -> tuple[float, float]:
    """FLOPs and bytes of a kernel as its event states them; 0 where it does not."""
    flops = _positive(arguments.get("kernel_flop")) or _positive(arguments.get("flops"))
    return flops, _positive(arguments.get("kernel_num_gb")) * 1e9


def kernel_of(
    name: str,
    seconds: float,
    flops: float,
    total: float,
    work: Work | None,
    lacking: tuple[str, ...],
) -> Kernel:
    """A launch with the work that the trace states or that its shapes tell.

    flops, total: FLOPs and bytes as `counts` has them. lacking: what is not known where there is
    none.
    """
    moved = {"hbm": total} if total else {}
    from_shapes = work is not None and not flops and not moved
    unit = UNKNOWN_UNIT
    if work is not None:
        unit = work.unit
        flops = flops or work.flops
        if not moved and work.read:
            moved = {"hbm.read": work.read, "hbm.write": work.written}
        if unit == "cuda_core.fp32" and _TF32_KERNEL.search(name):
            unit = "tensor.tf32"
    unknown = (*(() if flops else ("flops",)), *(() if moved else ("hbm",)))
    return Kernel(
        short_name(name),
        1,
        seconds or None,
        {unit: flops} if flops else {},
        moved,
        lacking if len(unknown) == 2 else unknown,
        from_shapes,
    )
