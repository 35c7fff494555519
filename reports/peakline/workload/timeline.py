"""What ran on one device, in the order in which it began, with the calls that launched it."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peakline.workload.kernel import WorkloadError
from peakline.workload.kineto import LOADER
from peakline.workload.model import Activity, Call, Columns, Did, Int, Kind, Range, Trace, Way, did
from peakline.workload.model import Host as Memory

# Ranges that are steps by what they are called, numbered or not.
_STEP = re.compile(r"(profilerstep|(train(ing)?[ _-]?)?(step|iter(ation)?)|decode[ _-]step)", re.I)
_NUMBER = re.compile(r"[#\s:_-]*\d+$")
_MOSTLY = 0.9  # of the activities


def _sorted(columns: Columns, row: type, *by: str) -> dict[str, Int]:
    """The columns of rows, sorted by some of them; the first decides."""
    found = {name: columns.column(name) for name in row._fields}  # type: ignore[attr-defined]
    order = np.lexsort([found[name] for name in reversed(by)])
    return {name: column[order] for name, column in found.items()}


@dataclass(frozen=True)
class Host:
    """What the threads of a trace did: calls and ranges, each by when it began."""

    calls: dict[str, Int]
    did: Int  # of each call
    ranges: dict[str, Int]
    overhead: dict[str, Int]


@dataclass(frozen=True)
class Step:
    """The time of a device from the first activity of a step to that of the next."""

    name: str
    start: int
    end: int

    @property
    def length(self) -> int:
        """Nanoseconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    """One device of a trace."""

    trace: Trace
    device: int
    host: Host
    rows: dict[str, Int]  # of activities, by start
    call: Int  # of each activity, its place among the calls; -1 where none is recorded
    operator: Int  # of each activity, its place among the trace's operators; -1 without one

    @functools.cached_property
    def until(self) -> Int:
        """When the last of the activities up to each one ended."""
        return np.maximum.accumulate(self.rows["end"])

    @functools.cached_property
    def launched(self) -> Int:
        """When the launching call of each activity began; -1 where none is recorded."""
        starts = self.host.calls["start"]
        if not len(starts):
            return np.full(len(self.call), -1, np.int64)
        return np.where(self.call >= 0, starts[self.call], -1)

    @functools.cached_property
    def before(self) -> NDArray[np.bool_]:
        """Which activities were launched before the recording: their calls are missing, and those
        of all later ones follow."""
        known = self.rows["start"][self.call >= 0]
        first = int(known.min()) if len(known) else 0
        return (self.call < 0) & (self.rows["start"] < first)

    @functools.cached_property
    def forward(self) -> tuple[Int, Int]:
        """When and on which thread the forward operator began that each activity is the gradient
        of; -1 for those that are of no backward pass."""
        start, end, thread, number = (
            self.trace.operators.column(key) for key in ("start", "end", "thread", "sequence")
        )
        order = np.lexsort([start, number])
        order = order[number[order] > 0]
        # Of several, the innermost, which begins last.
        last = order[np.flatnonzero(np.diff(number[order], append=0))]
        back = np.flatnonzero(number < 0)
        if not len(last) or not len(back):
            return (np.full(len(self.call), -1, np.int64),) * 2
        inner = Nested(start[back], end[back], thread[back]).around(*self.launch)
        wanted = np.where(inner >= 0, -number[back[inner]], 0)
        at = last[np.minimum(np.searchsorted(number[last], wanted), len(last) - 1)]
        same = (number[at] == wanted) & (wanted > 0)
        return np.where(same, start[at], -1), np.where(same, thread[at], -1)

    @property
    def launch(self) -> tuple[Int, Int]:
        """When each activity was launched, and by which thread; -1 where that is not recorded."""
        threads = self.host.calls["thread"]
        found = np.where(self.call >= 0, threads[self.call], -1) if len(threads) else self.call
        return self.launched, found

    def name(self, activity: int) -> str:
        """What an activity is called."""
        return self.trace.names[int(self.rows["name"][activity])]


def timelines(trace: Trace) -> list[Timeline]:
    """The devices of a trace, each with what its own processes did on the host."""
    calls = _sorted(trace.calls, Call, "start")
    ranges = _sorted(trace.ranges, Range, "start")
    overhead = _sorted(trace.overhead, Range, "start")
    kinds = np.array([int(did(name)) for name in trace.names] or [0], np.int64)
    every = _sorted(trace.activities, Activity, "start", "correlation")
    found = []
    for device in np.unique(every["device"]):
        rows = _where(every, every["device"] == device)
        processes = np.unique(rows["process"])
        mine, marks, work = (
            _where(columns, np.isin(columns["process"], processes))
            for columns in (calls, ranges, overhead)
        )
        host = Host(mine, kinds[mine["name"]], marks, work)
        call = _joined(rows, mine, trace.name)
        # A thread waits for a copy from or to pageable memory where its call lasts until that is
        # done. From pinned memory a short copy may be done before its call returns.
        waited = (call >= 0) & (rows["kind"] == Kind.COPY) & (rows["host"] == Memory.PAGEABLE)
        of_copies = call[waited]
        until = mine["end"][of_copies] >= rows["end"][waited]
        host.did[of_copies[until]] = Did.SYNCHRONIZE
        operators = _operators(trace, rows, call, mine)
        if len(trace.operators) and Did.BEGIN_CAPTURE in host.did:
            of_call = operators_around(trace, mine["start"], mine["thread"])
            graphs = _replayed(trace, rows, call, mine, host.did, of_call)
            operators = np.where(graphs >= 0, graphs, operators)
        found.append(Timeline(trace, int(device), host, rows, call, operators))
    return found


def _where(columns: dict[str, Int], chosen: NDArray[np.bool_]) -> dict[str, Int]:
    return {name: column[chosen] for name, column in columns.items()}


def _joined(rows: dict[str, Int], calls: dict[str, Int], name: str) -> Int:
    """The place of each activity's call, that of the same process with its correlation; name: of
    the file."""
    processes, places = np.unique(
        np.concatenate([rows["process"], calls["process"]]), return_inverse=True
    )
    width = (
        max(int(rows["correlation"].max(initial=0)), int(calls["correlation"].max(initial=0))) + 1
    )
    count = len(rows["start"])
    if width > (1 << 62) // len(processes):
        raise WorkloadError(f"{name}: correlations of launches are out of range")
    wanted = places[:count] * width + rows["correlation"]
    there = places[count:] * width + calls["correlation"]
    keys, first = np.unique(there, return_index=True)  # of several, the first: it holds the others
    if not len(keys):
        return np.full(count, -1, np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = (keys[at] == wanted) & (rows["correlation"] > 0)
    return np.where(found, first[at], -1)


def _operators(trace: Trace, rows: dict[str, Int], call: Int, calls: dict[str, Int]) -> Int:
    """The place of the operator that launched each activity; -1 without one.

    Activities name their operator, but up to PyTorch 2.0 that number is their correlation, which
    may be another operator's: there it is the innermost one around the call on its thread.
    """
    count = len(call)
    if not len(trace.operators):
        return np.full(count, -1, np.int64)
    named = rows["operator"] >= 0
    same = named & (rows["operator"] == rows["correlation"])
    if same.sum() < _MOSTLY * max(1, named.sum()):
        identities, first = np.unique(trace.operators.column("identity"), return_index=True)
        at = np.minimum(np.searchsorted(identities, rows["operator"]), len(identities) - 1)
        return np.where(identities[at] == rows["operator"], first[at], -1)
    found = np.full(count, -1, np.int64)
    launched = np.flatnonzero(call >= 0)
    at = call[launched]
    found[launched] = operators_around(trace, calls["start"][at], calls["thread"][at])
    return found


def captured(starts: Int, ends: Int, did: Int) -> Iterator[tuple[int, int]]:
    """Times in which a stream was captured, cut where the recording begins or ends: what is
    launched then makes a graph, and does not run. Of calls, when they began and ended, and what
    they are."""
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
    """The operator of each activity that a graph launched; -1 of those that none is known of.

    The launches of a capture and the activities of a replay are matched by their order, where there
    are as many of each, all in one stream, and the same ones are fills. of_call: the operator
    around each call.
    """
    found = np.full(len(call), -1, np.int64)
    fills = np.array(["emset" in name for name in trace.names])[calls["name"]]
    captures = [
        (
            high,
            np.flatnonzero((calls["start"] > low) & (calls["start"] < high) & (did == Did.LAUNCH)),
        )
        for low, high in captured(calls["start"], calls["end"], did)
    ]
    graphs = np.flatnonzero((call >= 0) & (did[call] == Did.GRAPH)) if captures else found[:0]
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
    """The place of the innermost operator at each time on a thread; -1 where none is."""
    columns = (trace.operators.column(key) for key in ("start", "end", "thread"))
    return Nested(*columns).around(when, who)


class Nested:
    """Spans of threads, of which some lie within others."""

    def __init__(self, starts: Int, ends: Int, threads: Int) -> None:
        self._starts, self._ends, self._threads = starts, ends, threads
        self._order = np.lexsort([-ends, starts, threads])
        outer = [-1] * len(starts)  # the place of the span around each; -1 where none is
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
        """The place of the innermost span at each time on a thread; -1 where none is."""
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
    """The steps of a device: those of ranges called `wanted`, else of ranges that name steps.

    A step runs from the first activity that was launched in its range to that of the next, so the
    last one is open and left out; a single one ends with the last activity that it launched. Empty
    where the trace has no such ranges; raises WorkloadError where these were `wanted`.
    """
    ranges = timeline.host.ranges
    chosen = _chosen(timeline, wanted)
    launched = timeline.launched
    order = np.argsort(launched, kind="stable")
    times = launched[order]
    marks: list[tuple[int, str]] = []
    last = 0
    for place in chosen:
        start, end = int(ranges["start"][place]), int(ranges["end"][place])
        low, high = np.searchsorted(times, [start, end])
        mine = order[low:high]
        mine = mine[timeline.rows["process"][mine] == ranges["process"][place]]
        if len(mine):
            first = int(timeline.rows["start"][mine].min())
            last = int(timeline.rows["end"][mine].max())
            if not marks or first > marks[-1][0]:
                marks.append((first, timeline.trace.names[int(ranges["name"][place])]))
    if wanted and not marks:
        raise WorkloadError(
            f"{timeline.trace.name}: no range {wanted!r} launches work on device {timeline.device}"
        )
    if len(marks) == 1:
        ((start, name),) = marks
        return [Step(name, start, last)]
    return [
        Step(name, start, following) for (start, name), (following, _) in itertools.pairwise(marks)
    ]


def whole(timeline: Timeline) -> Step:
    """All that a trace has of a device."""
    rows = timeline.rows
    return Step("the whole trace", int(rows["start"].min()), int(rows["end"].max()))


def _chosen(timeline: Timeline, wanted: str) -> list[int]:
    """The places of the ranges that are steps."""
    names = timeline.trace.names
    places = range(len(timeline.host.ranges["start"]))
    called = [names[int(name)] for name in timeline.host.ranges["name"]]
    if wanted:
        plain = wanted.rstrip("#: _-")  # "ProfilerStep#" stands for all of them
        found = [p for p in places if called[p] == wanted or numberless(called[p]) == plain]
        if not found:
            offered = sorted({numberless(name) for name in called} - {""})
            raise WorkloadError(
                f"{timeline.trace.name}: no range {wanted!r}; it has "
                f"{', '.join(offered[:8]) or 'none at all'}"
            )
        return found
    groups: dict[str, list[int]] = {}
    for p in places:
        if is_step(called[p]):
            groups.setdefault(numberless(called[p]).lower(), []).append(p)
    # The profiler's own steps go before ranges of the user's.
    return groups.get("profilerstep") or max(groups.values(), key=len, default=[])


def numberless(name: str) -> str:
    """What the names of numbered ranges have in common."""
    return _NUMBER.sub("", name)


def is_step(name: str) -> bool:
    """Whether a range is a step, by its name."""
    return _STEP.fullmatch(numberless(name)) is not None


def is_loader(name: str) -> bool:
    """Whether a range is one in which data are loaded, by its name."""
    return LOADER.search(name) is not None
