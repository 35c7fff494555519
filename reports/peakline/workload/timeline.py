"""The activities of one device, sorted by start, with the calls that launched them."""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peakline.workload.kernel import WorkloadError
from peakline.workload.model import Did, HostMemory, Int, Kind, Rows, Trace, Way, at
from peakline.workload.step_names import called, is_step, numberless, phase

_MOSTLY = 0.9  # of the activities


@dataclass(frozen=True)
class HostThreads:
    """Calls and ranges of host threads, sorted by start."""

    calls: dict[str, Int]
    did: Int  # of each call
    ranges: dict[str, Int]
    overhead: dict[str, Int]


@dataclass(frozen=True)
class Step:
    """A device's time from the first activity of a step to that of the next."""

    name: str
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start

    @property
    def phase(self) -> str:
        """What a server does in it; "" if its range does not tell."""
        return phase(self.name)


@dataclass(frozen=True)
class Timeline:
    trace: Trace
    device: int
    host: HostThreads
    rows: dict[str, Int]  # of activities, by start
    call: Int  # index of each activity's call; -1 if not recorded
    operator: Int  # index of each activity's operator; -1 without one

    @functools.cached_property
    def until(self) -> Int:
        """The running maximum of ends."""
        return np.maximum.accumulate(self.rows["end"])

    @functools.cached_property
    def launched(self) -> Int:
        """The start of each activity's launch call; -1 if not recorded."""
        return at(self.host.calls["start"], self.call)

    @functools.cached_property
    def before(self) -> NDArray[np.bool_]:
        """Activities launched before the recording: those without a call at its start."""
        known = self.rows["start"][self.call >= 0]
        first = int(known.min()) if len(known) else 0
        return (self.call < 0) & (self.rows["start"] < first)

    @functools.cached_property
    def forward(self) -> tuple[Int, Int]:
        """Start and thread of the forward operator whose gradient each activity computes; -1
        outside of the backward pass."""
        start, end, thread, number = (
            self.trace.operators[key] for key in ("start", "end", "thread", "sequence")
        )
        order = np.lexsort([start, number])
        order = order[number[order] > 0]
        # The innermost operator begins last.
        last = order[np.flatnonzero(np.diff(number[order], append=0))]
        back = np.flatnonzero(number < 0)
        inner = Nested(start[back], end[back], thread[back]).around(*self.launch)
        wanted = -np.append(number[back], 0)[inner]  # no operator has the number 0
        found = at(last, _places(number[last], wanted))
        return at(start, found), at(thread, found)

    @property
    def launch(self) -> tuple[Int, Int]:
        """Time and thread of each activity's launch; -1 if not recorded."""
        return self.launched, at(self.host.calls["thread"], self.call)

    @functools.cached_property
    def replayed(self) -> NDArray[np.bool_]:
        """Activities launched by a graph."""
        found: NDArray[np.bool_] = at(self.host.did, self.call) == Did.GRAPH
        return found

    def name(self, activity: int) -> str:
        return self.trace.names[int(self.rows["name"][activity])]


def timelines(trace: Trace) -> list[Timeline]:
    """The devices of a trace, each with the host activity of its own processes."""
    of_host = [rows.sorted("start") for rows in (trace.calls, trace.ranges, trace.overhead)]
    every = trace.activities.sorted("start", "correlation")
    found = []
    for device in np.unique(every["device"]):
        rows = where(every, every["device"] == device)
        processes = np.unique(rows["process"])
        calls, ranges, overhead = (
            where(columns, np.isin(columns["process"], processes)) for columns in of_host
        )
        host = HostThreads(calls, trace.did(calls), ranges, overhead)
        call = joined(trace, rows, calls)
        # A thread waits for a pageable copy if its call outlasts it. A short pinned copy may also
        # end before its call returns.
        waited = (call >= 0) & (rows["kind"] == Kind.COPY) & (rows["host"] == HostMemory.PAGEABLE)
        of_copies = call[waited]
        until = calls["end"][of_copies] >= rows["end"][waited]
        host.did[of_copies[until]] = Did.SYNCHRONIZE
        operators = _operators(trace, rows, call, calls)
        if len(trace.operators) and Did.BEGIN_CAPTURE in host.did:
            of_call = operators_around(trace, calls["start"], calls["thread"])
            graphs = _replayed(trace, rows, call, calls, host.did, of_call)
            operators = np.where(graphs >= 0, graphs, operators)
        found.append(Timeline(trace, int(device), host, rows, call, operators))
    return found


def where(columns: dict[str, Int], chosen: NDArray[np.bool_]) -> dict[str, Int]:
    """The chosen rows."""
    return {name: column[chosen] for name, column in columns.items()}


def keys(trace: Trace, rows: Rows, calls: Rows) -> tuple[Int, Int]:
    """The correlation ids of activities and of calls, made distinct per process."""
    processes, places = np.unique(
        np.concatenate([rows["process"], calls["process"]]), return_inverse=True
    )
    ids = [columns["correlation"] for columns in (rows, calls)]
    width = max(int(column.max(initial=0)) for column in ids) + 1
    if width > (1 << 62) // max(1, len(processes)):
        raise WorkloadError(f"{trace.name}: correlations of launches are out of range")
    count = len(ids[0])
    return places[:count] * width + ids[0], places[count:] * width + ids[1]


def joined(trace: Trace, rows: Rows, calls: Rows) -> Int:
    """The index of each activity's call, the outermost of several; -1 without one."""
    wanted, there = keys(trace, rows, calls)
    return np.where(rows["correlation"] > 0, _places(there, wanted), -1)


def _places(there: Int, wanted: Int) -> Int:
    """The first place where each wanted value is; -1 if it is not there."""
    values, first = np.unique(there, return_index=True)
    if not len(values):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[at] == wanted, first[at], -1)


def _operators(trace: Trace, rows: dict[str, Int], call: Int, calls: dict[str, Int]) -> Int:
    """The index of the operator that launched each activity; -1 without one.

    Activities name their operator. Up to PyTorch 2.0 that number is their correlation id instead;
    then it is the innermost operator around the call on its thread.
    """
    named = rows["operator"] >= 0
    same = named & (rows["operator"] == rows["correlation"])
    if same.sum() < _MOSTLY * max(1, named.sum()):
        return _places(trace.operators["identity"], rows["operator"])
    return at(operators_around(trace, calls["start"], calls["thread"]), call)


def captured(starts: Int, ends: Int, did: Int) -> Iterator[tuple[int, int]]:
    """Times of stream captures, cut at the ends of the recording: launches in them build a graph
    and run nothing. starts, ends, did: of calls."""
    order = np.argsort(starts, kind="stable")
    began: int | None = int(starts.min(initial=0))
    for place in order[np.isin(did[order], (Did.BEGIN_CAPTURE, Did.END_CAPTURE))].tolist():
        if did[place] == Did.BEGIN_CAPTURE:
            began = int(starts[place])
        elif began is not None:
            yield began, int(ends[place])
            began = None
    if began is not None and Did.BEGIN_CAPTURE in did:
        yield began, int(ends.max(initial=0))


def _replayed(
    trace: Trace, rows: dict[str, Int], call: Int, calls: dict[str, Int], did: Int, of_call: Int
) -> Int:
    """The operator of each activity launched by a graph; -1 if unknown.

    A capture's launches and a replay's activities match by order, if they are equally many, all in
    one stream, with fills at the same places. of_call: the operator around each call.
    """
    found = np.full(len(call), -1, np.int64)
    fills = trace.named(calls, lambda name: "emset" in name)
    captures = [
        (
            high,
            np.flatnonzero((calls["start"] > low) & (calls["start"] < high) & (did == Did.LAUNCH)),
        )
        for low, high in captured(calls["start"], calls["end"], did)
    ]
    graphs = np.flatnonzero(at(did, call) == Did.GRAPH)
    for graph in np.unique(call[graphs]).tolist():
        mine = graphs[call[graphs] == graph]
        for high, places in reversed(captures):
            fits = high <= calls["start"][graph] and len(places) == len(mine)
            alike = fits and (fills[places] == (rows["way"][mine] == Way.FILL)).all()
            if alike and len(np.unique(rows["stream"][mine])) == 1:
                found[mine] = of_call[places]
                break
    return found


def operators_around(trace: Trace, when: Int, who: Int) -> Int:
    """The index of the innermost operator at each time on a thread; -1 without one."""
    columns = (trace.operators[key] for key in ("start", "end", "thread"))
    return Nested(*columns).around(when, who)


class Nested:
    def __init__(self, starts: Int, ends: Int, threads: Int) -> None:
        self._starts, self._ends, self._threads = starts, ends, threads
        self._order = np.lexsort([-ends, starts, threads])
        outer = [-1] * len(starts)  # index of the span around each; -1 without one
        open_: list[tuple[int, int, int, int]] = []  # start, end, thread, place
        columns = (column[self._order].tolist() for column in (starts, ends, threads))
        for start, end, thread, place in zip(*columns, self._order.tolist(), strict=True):
            while open_ and (open_[-1][2] != thread or open_[-1][1] < end):
                open_.pop()
            if open_:
                outer[place] = open_[-1][3]
            open_.append((start, end, thread, place))
        self.outer = np.array(outer, np.int64)

    def around(self, when: Int, who: Int) -> Int:
        """The index of the innermost span at each time on a thread; -1 without one."""
        found = np.full(len(when), -1, np.int64)
        for thread in np.unique(self._threads):
            mine = self._order[self._threads[self._order] == thread]
            asked = np.flatnonzero(who == thread)
            at = np.searchsorted(self._starts[mine], when[asked], side="right") - 1
            place = np.where(at >= 0, mine[at], -1)
            while (past := (place >= 0) & (self._ends[place] < when[asked])).any():
                place[past] = self.outer[place[past]]
            found[asked] = place
        return found


def steps(timeline: Timeline, wanted: str = "") -> list[Step]:
    """The steps of a device: ranges called `wanted`, else ranges with names of steps.

    A step runs from the first activity launched in its range to that of the next, or of the next
    step of another phase. The last has no end and is left out; a single one ends with its last
    activity. Empty without such ranges; raises WorkloadError if they were `wanted`.
    """
    ranges = timeline.host.ranges
    named = [timeline.trace.names[int(name)] for name in ranges["name"]]
    chosen = set(_chosen(timeline, named, wanted))
    served = any(phase(named[place]) for place in chosen)
    borders = [p for p, name in enumerate(named) if p in chosen or (served and phase(name))]
    launched = timeline.launched
    order = np.argsort(launched, kind="stable")
    times = launched[order]
    marks: list[tuple[int, int, str]] = []  # start, end, name; "" of a step that is not chosen
    for place in borders:
        start, end = int(ranges["start"][place]), int(ranges["end"][place])
        low, high = np.searchsorted(times, [start, end])
        mine = order[low:high]
        mine = mine[timeline.rows["process"][mine] == ranges["process"][place]]
        if len(mine):
            first = int(timeline.rows["start"][mine].min())
            last = int(timeline.rows["end"][mine].max())
            if not marks or first > marks[-1][0]:
                marks.append((first, last, named[place] if place in chosen else ""))
    found = [mark for mark in marks if mark[2]]
    if wanted and not found:
        raise WorkloadError(
            f"{timeline.trace.name}: no range {wanted!r} launches work on device {timeline.device}"
        )
    if len(found) == 1 and found[0] == marks[-1]:
        ((start, last, name),) = found
        return [Step(name, start, last)]
    return [
        Step(name, start, following)
        for (start, _, name), (following, *_) in itertools.pairwise(marks)
        if name
    ]


def whole(timeline: Timeline) -> Step:
    rows = timeline.rows
    return Step("the whole trace", int(rows["start"].min()), int(rows["end"].max()))


def _chosen(timeline: Timeline, named: list[str], wanted: str) -> list[int]:
    """The places of the ranges that are steps."""
    if wanted:
        chosen = called(named, wanted)
        if not chosen:
            offered = sorted({numberless(name) for name in named} - {""})
            raise WorkloadError(
                f"{timeline.trace.name}: no range {wanted!r}; it has "
                f"{', '.join(offered[:8]) or 'none at all'}"
            )
        return [place for place, name in enumerate(named) if name in chosen]
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(named):
        if is_step(name):
            groups.setdefault(numberless(name).lower(), []).append(place)
    # The profiler's own steps take precedence over the user's ranges.
    return groups.get("profilerstep") or max(groups.values(), key=len, default=[])
