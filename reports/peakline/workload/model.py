"""A trace as columns: what ran on devices, what host threads called, and ranges with names.

Times are whole nanoseconds of the trace's own clock, which is no other trace's.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peakline.profile import printable
from peakline.workload.works import Work

Int = NDArray[np.int64]

MODULE = "nn.Module: "  # PyTorch's stacks name modules so, each with its number among its class


class Kind(IntEnum):
    """What runs on a device. The order is that in which they own an instant: COMPUTE first."""

    COMPUTE = 0  # kernels, and copies and fills within the device's memory, which use it as they do
    COLLECTIVE = 1
    COPY = 2  # over a link


class Way(IntEnum):
    """Where a copy goes."""

    NONE = 0
    TO_DEVICE = 1
    TO_HOST = 2
    WITHIN = 3  # the device's memory
    FILL = 4
    BETWEEN = 5  # devices
    MIGRATION = 6  # of a page of unified memory, to the device or back


class Host(IntEnum):
    """The host memory of a copy."""

    UNKNOWN = 0
    PINNED = 1
    PAGEABLE = 2


class Did(IntEnum):
    """What a call into the driver is to a thread."""

    OTHER = 0
    LAUNCH = 1  # submits work
    GRAPH = 2  # submits a graph
    SYNCHRONIZE = 3  # waits for the device
    ALLOCATE = 4
    WAIT_EVENT = 5  # lets a stream wait for another
    BEGIN_CAPTURE = 6  # of a stream: launches from here on make a graph, and run nothing
    END_CAPTURE = 7


class Activity(NamedTuple):
    """Something that ran on a device."""

    start: int
    end: int
    kind: int
    device: int
    stream: int
    name: int  # among Trace.names
    correlation: int  # of its launch within its process; 0 where that is not recorded
    process: int
    operator: int = -1  # of the framework, that launched it
    bytes: int = 0
    way: int = Way.NONE
    host: int = Host.UNKNOWN
    message: int = -1  # among Trace.messages: what a collective moved
    flops: int = 0  # that the trace states of a kernel
    moved: int = 0  # bytes of the device's memory, likewise
    blocks: int = 0  # of its grid; 0 where that is not recorded


class Call(NamedTuple):
    """A call into the driver or its runtime."""

    start: int
    end: int
    name: int
    correlation: int
    process: int
    thread: int


class Range(NamedTuple):
    """Time of a host thread that has a name."""

    start: int
    end: int
    name: int
    process: int
    thread: int


class Operator(NamedTuple):
    """What launched kernels, in a framework."""

    start: int
    end: int
    thread: int
    identity: int
    work: int  # among Trace.works; -1 where it is not known
    sequence: int = 0  # of autograd: that of a forward operator, negative in the backward pass


class Message(NamedTuple):
    """What a collective moves, as far as the trace tells."""

    operation: str  # as `peakline.collective_time` calls it; "" where it is another
    group: str
    ranks: int
    bytes: int  # of the whole array


class Columns:
    """Rows of one of the above, a column each; `column(name)` once all of them are added."""

    def __init__(self, row: type[Any]) -> None:
        self.fields: tuple[str, ...] = row._fields
        self._buffers = [array("q") for _ in self.fields]

    def add(self, row: tuple[int, ...]) -> None:
        """Appends a row."""
        for buffer, value in zip(self._buffers, row, strict=True):
            buffer.append(value)

    def __len__(self) -> int:
        return len(self._buffers[0])

    def column(self, name: str) -> Int:
        """The values of a field, in the order in which rows were added."""
        buffer = self._buffers[self.fields.index(name)]
        return np.frombuffer(buffer, np.int64) if len(buffer) else np.empty(0, np.int64)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Leaves out the rows that are not chosen."""
        columns = [self.column(name)[chosen].tobytes() for name in self.fields]
        self._buffers = [array("q", column) for column in columns]


_SUFFIX = re.compile(r"_v\d{4,}$|_ptsz$|_ptds$")
_CALLS = (
    (Did.GRAPH, re.compile(r"cu(da)?GraphLaunch")),
    (Did.LAUNCH, re.compile(r"cu(da)?(Launch|Mem(cpy|set).*Async|MemPrefetch)")),
    (Did.SYNCHRONIZE, re.compile(r"cu\w*Synchronize|cu(da)?Memcpy(?!.*Async)")),
    (
        Did.ALLOCATE,
        re.compile(
            r"cu(da)?(Malloc|Free|Host(Alloc|Register|Unregister)|Mem(Alloc|Free|Host|Create"
            r"|Release|Map|Unmap|SetAccess|AddressReserve|AddressFree))(?!.*Async)"
        ),
    ),
    (Did.WAIT_EVENT, re.compile(r"cu(da)?StreamWaitEvent")),
    (Did.BEGIN_CAPTURE, re.compile(r"cu(da)?StreamBeginCapture")),
    (Did.END_CAPTURE, re.compile(r"cu(da)?StreamEndCapture")),
)  # fmt: skip


def did(call: str) -> Did:
    """What a call is, by its name."""
    name = _SUFFIX.sub("", call)
    return next((kind for kind, pattern in _CALLS if pattern.match(name)), Did.OTHER)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is said of a trace or a run."""

    code: str  # of a part of the step where it takes time there, else of what does not fit
    severity: str  # "saving", "warning" (figures may be wrong), "note"
    text: str
    count: int = 0  # of the events concerned
    of: int = 0  # among so many
    rank: int | None = None
    saving_s: float = 0.0  # of a step, at the most
    subject: str = ""  # in few words, where it is another than the part's label
    topic: str = ""  # of the profile's curve behind it; "" where there is none
    shown: str = ""  # what that curve says


@dataclass
class Trace:
    """One file of a profiler: a process, or several of one machine."""

    name: str  # of the file
    activities: Columns = field(default_factory=lambda: Columns(Activity))
    calls: Columns = field(default_factory=lambda: Columns(Call))
    ranges: Columns = field(default_factory=lambda: Columns(Range))
    overhead: Columns = field(default_factory=lambda: Columns(Range))  # the profiler's own work
    names: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    # Operators whose work is known, with its place among `works`.
    operators: Columns = field(default_factory=lambda: Columns(Operator))
    works: list[tuple[Work, ...]] = field(default_factory=list)
    has_shapes: bool = False
    models: dict[int, str] = field(default_factory=dict)  # of devices
    capabilities: dict[int, float] = field(default_factory=dict)  # of devices
    vendor: str = ""  # of the devices, where it is another than NVIDIA
    rank: int | None = None
    findings: list[Finding] = field(default_factory=list)
    skewed: bool = False  # clocks of host and device differ, so that no gap has a cause
    _ids: dict[str, int] = field(default_factory=dict)
    _work_ids: dict[tuple[Work, ...], int] = field(default_factory=dict)

    def id_of(self, name: str) -> int:
        """The place of a name among `names`, where it is as a terminal may get it."""
        found = self._ids.get(name)
        if found is None:
            found = self._ids[name] = len(self.names)
            self.names.append(printable(name))
        return found

    def work_of(self, works: tuple[Work, ...]) -> int:
        """The place of what an operator does among `works`; most do what another did before."""
        found = self._work_ids.setdefault(works, len(self.works))
        if found == len(self.works):
            self.works.append(works)
        return found
