"""Traces of `torch.profiler`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from peakline.kernels.kernel import UNKNOWN_UNIT, Kernel, KernelsError, merge, short_name
from peakline.kernels.numbers import checked

_TORCH_TYPES = {
    "c10::bfloat16": "tensor.bf16",
    "c10::half": "tensor.fp16",
    "c10::float8_e4m3fn": "tensor.fp8",
    "c10::float8_e5m2": "tensor.fp8",
    "float": "cuda_core.fp32",
    "double": "tensor.fp64",
}
# The numbers of an event that are read.
_NUMBERS = ("dur", "flops", "kernel_flop", "kernel_num_gb")
_TF32_KERNEL = re.compile("tf32|s1688|s16816gemm_f32")


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
    launches = [
        e for e in events if str(e.get("cat")).lower() == "kernel" and _positive(e.get("dur"))
    ]
    if not launches:
        raise KernelsError(
            f"{name}: the trace holds no GPU kernel: record with activities=[CPU, CUDA] and "
            "record_shapes=True"
        )
    # Of several kernels of one operator the longest gets its FLOPs: they are counted once.
    longest: dict[Any, dict[str, Any]] = {}
    for event in launches:
        identity = event["args"].get("External id")
        if isinstance(identity, int) and event["dur"] > longest.get(identity, {"dur": 0})["dur"]:
            longest[identity] = event
    kernels = []
    for event in launches:
        arguments = event["args"]
        identity = arguments.get("External id")
        operator = operators.get(identity) if longest.get(identity) is event else None
        flops = _positive(arguments.get("kernel_flop")) or _positive(arguments.get("flops"))
        if not flops and operator is not None:
            flops = _operator_flops(operator)
        moved = _positive(arguments.get("kernel_num_gb"))
        unit = _torch_unit(operator, str(event.get("name", "")))
        kernels.append(
            Kernel(
                short_name(str(event.get("name", "kernel"))),
                1,
                float(event["dur"]) * 1e-6,
                {unit: flops} if flops else {},
                {"hbm": moved * 1e9} if moved else {},
            )
        )
    kernels = merge(kernels)
    if not any(kernel.flops for kernel in kernels):
        raise KernelsError(
            f"{name}: no kernel of the trace has FLOPs: record with record_shapes=True, or use ncu"
        )
    return [kernel for kernel in kernels if kernel.flops or kernel.bytes]


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


def _operator_flops(operator: Mapping[str, Any]) -> float:
    """FLOPs that the trace states, else 2 M N K of a matrix product from its input shapes."""
    arguments = operator["args"]
    stated = _positive(arguments.get("flops"))
    if stated:
        return stated
    first = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}.get(
        str(operator.get("name"))
    )
    shapes = arguments.get("Input Dims")
    if first is None or not isinstance(shapes, list) or len(shapes) < first + 2:
        return 0.0
    try:
        sizes = [*shapes[first], shapes[first + 1][-1]]
        return _positive(2 * math.prod(s if isinstance(s, int) else 0 for s in sizes))
    except (TypeError, LookupError, ValueError):
        return 0.0


def _torch_unit(operator: Mapping[str, Any] | None, kernel: str) -> str:
    types = operator["args"].get("Input type") if operator is not None else None
    if not isinstance(types, list) or not types:
        return UNKNOWN_UNIT
    unit = _TORCH_TYPES.get(str(types[0]).lower(), UNKNOWN_UNIT)
    if unit == "cuda_core.fp32" and _TF32_KERNEL.search(kernel):
        return "tensor.tf32"
    return unit
