"""Why nothing ran: a gap belongs to the activity that ends it.

Until its launch call: what the launching thread did, and the thread that launched before. From the
call to the start: launch latency, up to the measured one. Queued before the gap: dispatch, or a
wait that a call shows. What is left starts late, and nothing recorded says why.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from peakline.workload.costs import Costs
from peakline.workload.model import Did, Int
from peakline.workload.owners import Gaps
from peakline.workload.part import Part
from peakline.workload.timeline import Timeline, is_loader

# A thread that takes less than so many launches' time from one call to the next is launching one
# after the other: frameworks need some time of their own for each.
_NEAR = 12
# Calls that are looked at before a launch for one that makes its stream wait.
_LOOK_BACK = 16
_Span = tuple[int, int]


@dataclass
class Causes:
    """Nanoseconds of gaps by cause."""

    parts: dict[Part, int] = field(default_factory=dict)
    launches: int = 0  # gaps that launching takes a part of
    waits: int = 0  # gaps that a synchronization left
    nodes: int = 0  # gaps between nodes of graphs

    def add(self, part: Part, nanoseconds: int) -> None:
        """Adds time to a part."""
        if nanoseconds:
            self.parts[part] = self.parts.get(part, 0) + nanoseconds


class Causing:
    """Finds the causes of the gaps of one device."""

    def __init__(self, timeline: Timeline, costs: Costs) -> None:
        self._costs = costs
        host = timeline.host
        self._calls, self._did, self._call = host.calls, host.did, timeline.call
        threads = host.calls["thread"]
        self._by_thread = {int(t): np.flatnonzero(threads == t) for t in np.unique(threads)}
        self._thread_starts = {
            thread: host.calls["start"][places] for thread, places in self._by_thread.items()
        }
        self._launching = np.flatnonzero(np.isin(host.did, (Did.LAUNCH, Did.GRAPH)))
        self._launching_starts = host.calls["start"][self._launching]
        names = timeline.trace.names
        loads = np.array([is_loader(name) for name in names] or [False])[host.ranges["name"]]
        # A thread that launches nothing loads beside those that do, which need not wait for it.
        self._loaders = {
            thread: _merged(
                _spans(host.ranges, np.flatnonzero(loads & (host.ranges["thread"] == thread)))
            )
            for thread in self._by_thread
        }
        every = np.arange(len(host.overhead["start"]))
        self._overhead = _merged(_spans(host.overhead, every))
        stopping = np.flatnonzero(np.isin(host.did, (Did.SYNCHRONIZE, Did.ALLOCATE)))
        # Where none of these is, a gap is of one kind.
        loaders = itertools.chain.from_iterable(self._loaders.values())
        self._special = _merged([*loaders, *self._overhead, *_spans(host.calls, stopping)])

    def of(self, gaps: Gaps) -> Causes:
        """The causes of some gaps; their parts add up to the gaps."""
        causes = Causes()
        call = np.where(gaps.enders >= 0, self._call[gaps.enders], -1)
        plain = (call >= 0) & ~self._touched(gaps)
        began = np.where(call >= 0, self._calls["start"][call] if len(self._did) else 0, 0)
        queued = plain & (began < gaps.starts)
        launched = plain & (began >= gaps.starts)
        lengths = gaps.ends - gaps.starts
        self._all_queued(call[queued], gaps.starts[queued], lengths[queued], causes)
        before = (np.minimum(began, gaps.ends) - gaps.starts)[launched]
        near = before <= _NEAR * self._costs.submit
        causes.add(Part.LAUNCH, int(before[near].sum()))
        causes.add(Part.PYTHON, int(before[~near].sum()))
        self._all_launched(call[launched], gaps.ends[launched], causes)
        for place in np.flatnonzero(~plain).tolist():
            start, end, ender = (int(column[place]) for column in gaps)
            self._explain(start, end, ender, causes)
        return causes

    def _touched(self, gaps: Gaps) -> NDArray[np.bool_]:
        """Which gaps have something in them that is looked at one by one."""
        if not self._special:
            return np.zeros(len(gaps.starts), bool)
        starts, ends = (np.array(column) for column in zip(*self._special, strict=True))
        at = np.searchsorted(ends, gaps.starts, side="right")
        found: NDArray[np.bool_] = np.append(starts, gaps.ends.max(initial=0))[at] < gaps.ends
        return found

    def _until(self, calls: Int) -> Int:
        """When launching is over, at the latest: a call itself may last, as it loads a kernel's
        code, or copies into pinned memory."""
        starts = self._calls["start"][calls]
        found: Int = np.maximum(self._calls["end"][calls], starts + self._costs.latency)
        return found

    def _all_queued(self, calls: Int, starts: Int, lengths: Int, causes: Causes) -> None:
        """Gaps before things that were already launched."""
        launching = np.maximum(self._costs.queued, self._until(calls) - starts)
        dispatch = np.minimum(lengths, launching)
        causes.add(Part.LAUNCH, int(dispatch.sum()))
        causes.launches += len(calls)
        of_graph = self._did[calls] == Did.GRAPH
        causes.nodes += int(of_graph.sum())
        for place in np.flatnonzero(lengths > dispatch).tolist():
            waits = not of_graph[place] and self._follows_wait(int(calls[place]))
            rest = int(lengths[place] - dispatch[place])
            causes.add(Part.STREAMS if waits else Part.LATE, rest)

    def _all_launched(self, calls: Int, ends: Int, causes: Causes) -> None:
        """From launch calls to the starts."""
        starts, until = self._calls["start"][calls], self._until(calls)
        latency = np.minimum(ends, until) - np.minimum(ends, starts)
        causes.add(Part.LAUNCH, int(latency.sum()))
        causes.launches += int((latency > 0).sum())
        for place in np.flatnonzero(ends > until).tolist():
            waits = self._follows_wait(int(calls[place]))
            rest = int(ends[place] - until[place])
            causes.add(Part.STREAMS if waits else Part.LATE, rest)

    def _explain(self, start: int, end: int, ender: int, causes: Causes) -> None:
        """A gap in which the host waited, allocated or loaded, or the profiler worked."""
        rest = [(start, end)]
        overhead = _common(rest, self._overhead)
        causes.add(Part.PROFILER, _length(overhead))
        rest = _without(rest, overhead)
        call = int(self._call[ender]) if ender >= 0 else -1
        if call < 0:
            causes.add(Part.NOT_RECORDED, _length(rest))
            return
        began = int(self._calls["start"][call])
        one = np.array([call])
        if began < start:
            self._all_queued(one, np.array([start]), np.array([_length(rest)]), causes)
            return
        self._before(call, start, _cut(rest, start, began), causes)
        after = _length(_cut(rest, began, end))
        self._all_launched(one, np.array([began + after]), causes)

    def _before(self, call: int, start: int, rest: list[_Span], causes: Causes) -> None:
        """Until the launch call: what the threads did that launch."""
        last = None
        began = int(self._calls["start"][call])
        threads = self._threads(call, began)
        calls = self._calls_in(threads, start, began)
        for did, part in ((Did.ALLOCATE, Part.ALLOCATION), (Did.SYNCHRONIZE, Part.SYNCHRONIZATION)):
            spans = _merged((s, e) for s, e, found in calls if found == did)
            found = _common(rest, spans)
            if spans and (last is None or spans[-1][1] > last[0]):
                last = (spans[-1][1], part)
            causes.add(part, _length(found))
            rest = _without(rest, found)
            causes.waits += did == Did.SYNCHRONIZE and bool(found)
        loaders = _merged(span for thread in threads for span in self._loaders[thread])
        loading = _common(rest, loaders)
        causes.add(Part.LOADER, _length(loading))
        rest = _without(rest, loading)
        length = _length(rest)
        if length > _NEAR * self._costs.submit:
            causes.add(Part.PYTHON, length)
        elif loading:
            causes.add(Part.LOADER, length)
        elif last is not None:
            causes.add(last[1], length)
        else:
            causes.add(Part.LAUNCH, length)

    def _threads(self, call: int, began: int) -> set[int]:
        """The thread that launched, and the one that launched before it."""
        threads = {int(self._calls["thread"][call])}
        before = int(np.searchsorted(self._launching_starts, began)) - 1
        if before >= 0:
            threads.add(int(self._calls["thread"][self._launching[before]]))
        return threads

    def _calls_in(self, threads: set[int], low: int, high: int) -> list[tuple[int, int, int]]:
        """What threads called in a time."""
        found = []
        for thread in threads:
            first, end = np.searchsorted(self._thread_starts[thread], [low, high])
            # Calls of a thread follow one another, or lie within one that began shortly before.
            places = self._by_thread[thread][max(0, int(first) - 2) : int(end)]
            columns = (self._calls["start"], self._calls["end"], self._did)
            rows = zip(*(column[places].tolist() for column in columns), strict=True)
            found += [row for row in rows if row[1] > low]
        return found

    def _follows_wait(self, call: int) -> bool:
        """Whether the thread made a stream wait for another just before it launched."""
        thread, start = (int(self._calls[key][call]) for key in ("thread", "start"))
        at = int(np.searchsorted(self._thread_starts[thread], start))
        places = self._by_thread[thread][max(0, at - _LOOK_BACK) : at]
        for did in self._did[places][::-1].tolist():
            if did == Did.WAIT_EVENT:
                return True
            if did in (Did.LAUNCH, Did.GRAPH, Did.SYNCHRONIZE):
                return False
        return False


def _spans(rows: dict[str, Int], places: Int) -> list[_Span]:
    starts, ends = rows["start"][places].tolist(), rows["end"][places].tolist()
    return list(zip(starts, ends, strict=True))


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    """Spans in order, those that touch as one."""
    merged: list[_Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > start:
            merged.append((start, end))
    return merged


def _common(first: Sequence[_Span], second: Sequence[_Span]) -> list[_Span]:
    """What two lists of spans in order, which do not touch, have in common."""
    if not first or not second:
        return []
    found = []
    at = bisect.bisect_right(second, first[0][0], key=lambda span: span[1])
    for start, end in first:
        for place in range(at, len(second)):
            other_start, other_end = second[place]
            if other_start >= end:
                break
            if other_end > start:
                found.append((max(start, other_start), min(end, other_end)))
    return found


def _without(spans: Sequence[_Span], others: Sequence[_Span]) -> list[_Span]:
    """What is left of spans where others, which lie within them, are taken out."""
    if not others:
        return list(spans)
    left = []
    for start, end in spans:
        for other_start, other_end in others:
            if other_end <= start or other_start >= end:
                continue
            if other_start > start:
                left.append((start, other_start))
            start = other_end
        if end > start:
            left.append((start, end))
    return left


def _cut(spans: Sequence[_Span], low: int, high: int) -> list[_Span]:
    return [(max(s, low), min(e, high)) for s, e in spans if e > low and s < high]


def _length(spans: Iterable[_Span]) -> int:
    return sum(end - start for start, end in spans)
