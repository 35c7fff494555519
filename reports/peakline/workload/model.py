"""A trace as columns: activities of devices, calls of host threads, and named ranges.

Times are whole nanoseconds of the trace's own clock; clocks of different traces differ.
"""

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peakline.workload.works import OpWork

Int = NDArray[np.int64]

MODULE = "nn.Module: "  # prefix of modules in PyTorch's stacks, before class and number


class Kind(IntEnum):
    """Kinds of activities, in the order in which they own an instant."""

    COMPUTE = 0  # kernels, and copies and fills within the device's memory
    COLLECTIVE = 1
    COPY = 2  # over a link


class Way(IntEnum):
    NONE = 0
    TO_DEVICE = 1
    TO_HOST = 2
    WITHIN = 3  # within the device's memory
    FILL = 4
    BETWEEN = 5  # between devices
    MIGRATION = 6  # of a unified-memory page, in either direction


class HostMemory(IntEnum):
    UNKNOWN = 0
    PINNED = 1
    PAGEABLE = 2


class Did(IntEnum):
    """Effects of driver calls."""

    OTHER = 0
    LAUNCH = 1  # submits work
    GRAPH = 2  # submits a graph
    SYNCHRONIZE = 3  # waits for the device
    ALLOCATE = 4
    WAIT_EVENT = 5  # makes a stream wait for another
    BEGIN_CAPTURE = 6  # following launches on the stream build a graph, and run nothing
    END_CAPTURE = 7


class Activity(NamedTuple):
    start: int
    end: int
    kind: int
    device: int
    stream: int
    name: int  # index in Trace.names
    correlation: int  # of its launch, per process; 0 if not recorded
    process: int
    operator: int = -1  # framework operator that launched it
    bytes: int = 0
    way: int = Way.NONE
    host: int = HostMemory.UNKNOWN
    message: int = -1  # index in Trace.messages, for a collective
    flops: int = 0  # stated in the trace
    moved: int = 0  # bytes of device memory, stated in the trace
    blocks: int = 0  # of its grid; 0 if not recorded


class Call(NamedTuple):
    """A call of the driver or runtime API."""

    start: int
    end: int
    name: int
    correlation: int
    process: int
    thread: int


class Range(NamedTuple):
    start: int
    end: int
    name: int
    process: int
    thread: int


class Operator(NamedTuple):
    """A framework's operator, which launches kernels."""

    start: int
    end: int
    thread: int
    identity: int
    work: int  # index in Trace.works; -1 if unknown
    sequence: int = 0  # autograd's number of a forward operator; negated in the backward pass


class Message(NamedTuple):
    """The data of a collective, as far as recorded."""

    operation: str  # as in `peakline.collective_time`; "" for others
    group: str
    ranks: int
    bytes: int  # of the whole array


class Columns:
    """Rows of one of the types above, stored by column; read them only after the last `add`."""

    def __init__(self, row: type[Any]) -> None:
        self.fields: tuple[str, ...] = row._fields
        self._buffers = [array("q") for _ in self.fields]

    def add(self, row: tuple[int, ...]) -> None:
        for buffer, value in zip(self._buffers, row, strict=True):
            buffer.append(value)

    def __len__(self) -> int:
        return len(self._buffers[0])

    def __getitem__(self, name: str) -> Int:
        """A field's values, in insertion order."""
        buffer = self._buffers[self.fields.index(name)]
        return np.frombuffer(buffer, np.int64) if len(buffer) else np.empty(0, np.int64)

    def sorted(self, *by: str) -> dict[str, Int]:
        """The columns, sorted by these fields; the first decides."""
        order = np.lexsort([self[name] for name in reversed(by)])
        return {name: self[name][order] for name in self.fields}

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Removes the rows that are not chosen."""
        columns = [self[name][chosen].tobytes() for name in self.fields]
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
    name = _SUFFIX.sub("", call)
    return next((kind for kind, pattern in _CALLS if pattern.match(name)), Did.OTHER)


@dataclass(frozen=True, slots=True)
class TraceFinding:
    code: str  # a part of the step if it takes time there, else the kind of problem
    severity: str  # "saving", "warning" (figures may be wrong), "note"
    text: str
    count: int = 0  # of affected events
    of: int = 0  # of all such events
    rank: int | None = None
    saving_s: float = 0.0  # per step, at most
    step_s: float = 0.0  # the step that it is saved of, the rank's own
    subject: str = ""  # short name, if not the part's label
    lead: str = ""  # what a headline says before it
    topic: str = ""  # of the profile's curve behind it, if any
    shown: str = ""  # the curve's statement


Rows = Columns | dict[str, Int]


def at(column: Int, places: Int) -> Int:
    """The values at these places; -1 where there is none, which is place -1."""
    found: Int = np.append(column, -1)[places]
    return found


@dataclass
class Trace:
    """One profiler file, with one or several processes of a machine."""

    name: str  # of the file
    tool: str = "torch.profiler"  # a key of RECORDING
    activities: Columns = field(default_factory=lambda: Columns(Activity))
    calls: Columns = field(default_factory=lambda: Columns(Call))
    ranges: Columns = field(default_factory=lambda: Columns(Range))
    overhead: Columns = field(default_factory=lambda: Columns(Range))  # the profiler's own work
    names: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    # `work` is an index in `works`.
    operators: Columns = field(default_factory=lambda: Columns(Operator))
    works: list[tuple[OpWork, ...]] = field(default_factory=list)
    has_shapes: bool = False
    models: dict[int, str] = field(default_factory=dict)  # of devices
    capabilities: dict[int, float] = field(default_factory=dict)  # of devices
    vendor: str = ""  # of the devices, if not NVIDIA
    rank: int | None = None
    # Processes of one rank by device; -1 is the host. Traces state them.
    processes: dict[int, set[str]] = field(default_factory=dict)
    findings: list[TraceFinding] = field(default_factory=list)
    clipped: set[int] = field(default_factory=set)  # names of activities cut short
    skewed: bool = False  # clocks of host and device differ, so that gaps have no causes
    _ids: dict[str, int] = field(default_factory=dict)
    _work_ids: dict[tuple[OpWork, ...], int] = field(default_factory=dict)

    def id_of(self, name: str) -> int:
        """The index of a name in `names`."""
        found = self._ids.get(name)
        if found is None:
            found = self._ids[name] = len(self.names)
            self.names.append(name)
        return found

    def named(self, rows: Rows, test: Callable[[str], object]) -> NDArray[np.bool_]:
        """A mask of the rows whose name passes a test, which is asked once per name."""
        return np.array([bool(test(name)) for name in self.names] or [False])[rows["name"]]

    def did(self, calls: Rows) -> Int:
        """The effect of each call."""
        return np.array([int(did(name)) for name in self.names] or [0], np.int64)[calls["name"]]

    def work_of(self, works: tuple[OpWork, ...]) -> int:
        """The index of an operator's works in `works`; most operators repeat earlier ones."""
        found = self._work_ids.setdefault(works, len(self.works))
        if found == len(self.works):
            self.works.append(works)
        return found
