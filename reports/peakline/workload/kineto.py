"""Reads traces of `torch.profiler` into columns."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TextIO

from peakline import units
from peakline.text import whole
from peakline.workload.events import Damage, trace_events
from peakline.workload.foreign import CHAKRA, tool_of, vendor_of
from peakline.workload.kernel import RECORDING, WorkloadError
from peakline.workload.model import (
    MODULE,
    Activity,
    Call,
    HostMemory,
    Kind,
    Message,
    Operator,
    Range,
    Trace,
    TraceFinding,
    Way,
)
from peakline.workload.works import SHAPES, counts, stated, works

# A trace of 2 GB has some seven million.
_MOST_EVENTS = 40_000_000
_MOST_SEEN = 20_000
_AXES = 3  # of a grid
_LARGEST_NS = 1 << 62
_NUMBER = re.compile(r"([0-9]{1,16})(?:\.([0-9]+))?")
_EXPONENT = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,40})?[eE][-+]?[0-9]{1,2}")
_WAYS = {"HtoD": Way.TO_DEVICE, "DtoH": Way.TO_HOST, "DtoD": Way.WITHIN, "PtoP": Way.BETWEEN}
_COPY = re.compile(r"Memcpy (\w+) \((\w+) -> (\w+)\)")
_HOSTS = {"Pinned": HostMemory.PINNED, "Pageable": HostMemory.PAGEABLE}
# PyTorch 1.8 and 1.9 have other names of categories.
_ACTIVITIES = {
    "kernel": Kind.COMPUTE, "gpu_memcpy": Kind.COPY, "gpu_memset": Kind.COMPUTE,
    "memcpy": Kind.COPY, "memset": Kind.COMPUTE,
}  # fmt: skip
_CALLS = ("cuda_runtime", "cuda_driver", "runtime")
_OPERATORS = ("cpu_op", "operator")
# Older versions record these ranges as operators.
_RANGES = re.compile(r"DataLoader|ProfilerStep")
_AMD_WARP = 64  # lanes; NVIDIA's warps have 32
# Names of ranges that load data.
LOADER = re.compile(
    r"data_?loader|load(ing)?[_ ]?(batch|data)|(batch|data)[_ ]?load|next[_ ]?batch", re.IGNORECASE
)
# Collectives in names of PyTorch and of NCCL's kernels, without "_".
_OPERATIONS = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all", "broadcast": "broadcast", "send": "send_receive",
    "recv": "send_receive",
}  # fmt: skip
_ELEMENT_BYTES = {
    "bfloat16": 2, "half": 2, "float": 4, "double": 8, "int": 4, "long": 8, "char": 1, "byte": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


def read_kineto(file: TextIO, name: str) -> Trace:
    trace = Trace(name)
    beside: dict[str, Any] = {}
    damage, index = Damage(), -1
    reader = _Reader(trace)
    try:
        for index, event in trace_events(file, beside, _MOST_EVENTS, damage):
            if not isinstance(event, dict) or event.get("ph") != "X":
                continue
            arguments = event.get("args")
            try:
                reader.take(event, arguments if isinstance(arguments, dict) else {})
            except (ValueError, RecursionError, TypeError, OverflowError) as error:
                damage.add(index, error)
    except (ValueError, RecursionError, OverflowError) as error:
        if {"schema", "nodes"} <= beside.keys():
            raise WorkloadError(f"{name}: {CHAKRA}") from error
        raise WorkloadError(f"{name}: not a torch.profiler trace: {error}") from error
    if reader.tool and not (len(trace.calls) or len(trace.operators)):
        raise WorkloadError(f"{name}: {reader.tool}")
    _devices(trace, beside)
    distributed = beside.get("distributedInfo")
    rank = _integer(distributed.get("rank") if isinstance(distributed, dict) else None, -1)
    trace.rank = rank if rank >= 0 else None
    why = damage.first or damage.end
    if why and not len(trace.activities):
        raise WorkloadError(f"{name}: not a torch.profiler trace: {why}")
    if damage.events:
        text = f"{units.counted(damage.events, 'event')} of {index + 1} cannot be read and "
        text += f"{'is' if damage.events == 1 else 'are'} left out; the first is {damage.first}."
        trace.findings.append(
            TraceFinding("damaged_events", "warning", text, damage.events, index + 1)
        )
    if damage.end:
        text = f"The file is cut off or damaged {damage.end}. Only what stands before it is read."
        trace.findings.append(TraceFinding("cut_off", "warning", text))
    if not len(trace.activities) and not trace.vendor:
        raise WorkloadError(
            f"{name}: the trace holds no GPU kernel or copy: {RECORDING[trace.tool]['kernels']}"
        )
    return trace


def _devices(trace: Trace, beside: Mapping[str, Any]) -> None:
    """Sets the facts that a trace states of its devices."""
    found = beside.get("deviceProperties")
    for device in found if isinstance(found, list) else []:
        if not isinstance(device, dict) or not isinstance(number := device.get("id"), int):
            continue
        trace.models[number] = str(device.get("name", ""))
        major, minor = (_integer(device.get(key), -1) for key in ("computeMajor", "computeMinor"))
        if 0 < major < 100 and 0 <= minor < 10:
            trace.capabilities[number] = major + minor / 10
        if _integer(device.get("warpSize")) == _AMD_WARP:
            trace.vendor = "AMD's ROCm"


class _Reader:
    """Sorts events into the columns of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        # Work by an operator's name and shapes; -1 if unknown.
        self._seen: dict[tuple[str, ...], int] = {}
        self._others = 0  # events of other categories that were examined
        self.tool = ""  # what the trace is, if not one of PyTorch's profiler

    def take(self, event: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        """Adds an event with a duration, if its kind is used."""
        category = str(event.get("cat")).lower()
        if category in _ACTIVITIES:
            self._activity(event, category, arguments)
        elif category in _CALLS:
            self._call(event, arguments)
        elif category in _OPERATORS:
            self._operator(event, arguments)
        elif category == "user_annotation" or (
            category == "python_function" and str(event.get("name")).startswith(MODULE)
        ):
            self._trace.ranges.add(self._named(event))
        elif category == "overhead" and "Loading" not in str(event.get("name")):
            # Loading a kernel's code is the driver's work, inside the call that needs it.
            self._trace.overhead.add(self._named(event))
        elif not self.tool and self._others < _MOST_SEEN:
            self._others += 1
            self.tool = tool_of(event)
        self._trace.vendor = self._trace.vendor or vendor_of(category, arguments)

    def _span(self, event: Mapping[str, Any]) -> tuple[int, int]:
        start = _nanoseconds(event.get("ts"), "ts")
        return start, start + _nanoseconds(event.get("dur", "0"), "dur")

    def _named(self, event: Mapping[str, Any]) -> Range:
        start, end = self._span(event)
        name = self._trace.id_of(str(event.get("name")))
        return Range(start, end, name, 0, _integer(event.get("tid")))

    def _of_process(self, event: Mapping[str, Any], where: int) -> None:
        self._trace.processes.setdefault(where, set()).add(str(event.get("pid")))

    def _call(self, event: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        start, end, name, process, thread = self._named(event)
        self._of_process(event, -1)
        self._trace.calls.add(
            Call(start, end, name, _integer(arguments.get("correlation")), process, thread)
        )

    def _operator(self, event: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        name = str(event.get("name"))
        if _RANGES.search(name):
            self._trace.ranges.add(self._named(event))
        identity = _integer(arguments.get("External id"), -1)
        if identity < 0:
            return
        self._trace.has_shapes = self._trace.has_shapes or bool(arguments.get(SHAPES[0]))
        shapes = [str(arguments.get(key)) for key in (*SHAPES, "Input type", "Input Strides")]
        key = (name, str(arguments.get("flops")), *shapes)
        place = self._seen.get(key)
        if place is None:
            plain = {**event, "args": arguments}
            found = stated(plain) or works(plain)
            place = self._trace.work_of(tuple(found)) if found else -1
            if len(self._seen) < _MOST_SEEN:
                self._seen[key] = place
        start, end = self._span(event)
        self._of_process(event, -1)
        thread = _integer(event.get("tid"))
        sequence = _integer(arguments.get("Sequence number"))
        if _integer(arguments.get("Fwd thread id")):
            sequence = -sequence
        self._trace.operators.add(Operator(start, end, thread, identity, place, sequence))

    def _activity(
        self, event: Mapping[str, Any], category: str, arguments: Mapping[str, Any]
    ) -> None:
        start, end = self._span(event)
        name = str(event.get("name"))
        kind, way, host, message = _ACTIVITIES[category], Way.NONE, HostMemory.UNKNOWN, -1
        if "memset" in category:
            way = Way.FILL
        elif kind == Kind.COPY:
            kind, way, host = _copy(name)
        elif is_collective(name):
            kind, message = Kind.COLLECTIVE, self._message(name, arguments)
        flops, moved = counts(arguments)
        device, stream, correlation, size = (
            _integer(arguments.get(key)) for key in ("device", "stream", "correlation", "bytes")
        )
        self._of_process(event, device)
        operator = _integer(arguments.get("External id", arguments.get("external id")), -1)
        self._trace.activities.add(
            Activity(
                start, end, kind, device, stream, self._trace.id_of(name), correlation, 0,
                operator, size, way, host, message, round(flops), round(moved),
                _blocks(arguments.get("grid")),
            )
        )  # fmt: skip

    def _message(self, name: str, arguments: Mapping[str, Any]) -> int:
        operation = operation_of(str(arguments.get("Collective name", ""))) or operation_of(name)
        elements = max(
            _integer(arguments.get("In msg nelems")), _integer(arguments.get("Out msg nelems"))
        )
        size = _ELEMENT_BYTES.get(str(arguments.get("dtype", "")).lower(), 0)
        group = str(arguments.get("Process Group Name", ""))
        self._trace.messages.append(
            Message(operation, group, _integer(arguments.get("Group size")), elements * size)
        )
        return len(self._trace.messages) - 1


def _copy(name: str) -> tuple[Kind, Way, HostMemory]:
    """A copy's kind, direction and host memory by its name: "Memcpy HtoD (Pageable -> Device)"."""
    match = _COPY.match(name)
    way = _WAYS.get(match[1], Way.NONE) if match else Way.NONE
    hosts = [_HOSTS[end] for end in (match[2], match[3]) if end in _HOSTS] if match else []
    kind = Kind.COMPUTE if way == Way.WITHIN else Kind.COPY
    return kind, way, hosts[0] if hosts else HostMemory.UNKNOWN


def is_collective(kernel: str) -> bool:
    return kernel.lower().startswith("nccl")


def operation_of(name: str) -> str:
    """The collective in a name: "ncclDevKernel_AllReduce_Sum_f32", "_allgather_base"."""
    plain = name.lower().replace("_", "")
    return next((operation for part, operation in _OPERATIONS.items() if part in plain), "")


def _blocks(grid: object) -> int:
    """The number of blocks; 0 for an invalid grid."""
    if not isinstance(grid, list) or len(grid) != _AXES:
        return 0
    product = math.prod(max(0, _integer(side)) for side in grid)
    return product if product < _LARGEST_NS else 0


def _nanoseconds(text: object, what: str) -> int:
    """Whole nanoseconds from a trace's decimal microseconds."""
    match = _NUMBER.fullmatch(str(text))
    if match is not None:
        value = int(match[1]) * 1000 + int(((match[2] or "") + "000")[:3])
    elif _EXPONENT.fullmatch(str(text)):
        value = int(Decimal(str(text)).scaleb(3))
    else:
        raise ValueError(f"{what} is {str(text)[:40]!r}, but must be microseconds from 0")
    if value >= _LARGEST_NS:
        raise ValueError(f"{what} is out of range")
    return value


def _integer(value: object, otherwise: int = 0) -> int:
    """An integer that fits a column, else `otherwise`."""
    if type(value) is int and -_LARGEST_NS < value < _LARGEST_NS:
        return value
    number = whole(value) if isinstance(value, str) else None
    return otherwise if number is None else number
