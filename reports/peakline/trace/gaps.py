"""Why nothing ran: a gap belongs to the activity that ends it.

Until its launch call: what the launching thread did, and the thread that launched before. From the
call to the start: launch latency, up to the measured one. Queued before the gap: dispatch, or a
wait that a call shows, else a dependency that is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from peakline.trace.costs import Costs
from peakline.trace.model import Did, Int
from peakline.trace.owners import Gap
from peakline.trace.part import Part
from peakline.trace.timeline import Timeline, is_loader

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
    launches: int = 0  # gaps that launching left
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
        self._starts, self._ends = (host.calls[key].tolist() for key in ("start", "end"))
        self._did, self._threads = host.did.tolist(), host.calls["thread"].tolist()
        self._call = timeline.call.tolist()
        self._by_thread = {
            int(thread): np.flatnonzero(host.calls["thread"] == thread)
            for thread in np.unique(host.calls["thread"])
        }
        self._thread_starts = {
            thread: host.calls["start"][places] for thread, places in self._by_thread.items()
        }
        launching = np.isin(host.did, (Did.LAUNCH, Did.GRAPH))
        self._launching = np.flatnonzero(launching)
        self._launching_starts = host.calls["start"][self._launching]
        names = timeline.trace.names
        loads = np.array([is_loader(name) for name in names] or [False])
        self._loaders = _merged(_spans(host.ranges, np.flatnonzero(loads[host.ranges["name"]])))
        every = np.arange(len(host.overhead["start"]))
        self._overhead = _merged(_spans(host.overhead, every))

    def of(self, gaps: Iterable[Gap]) -> Causes:
        """The causes of some gaps; their parts add up to the gaps."""
        causes = Causes()
        for gap in gaps:
            self._explain(gap, causes)
        return causes

    def _explain(self, gap: Gap, causes: Causes) -> None:
        rest = [(gap.start, gap.end)]
        overhead = _common(rest, self._overhead)
        causes.add(Part.PROFILER, _length(overhead))
        rest = _without(rest, overhead)
        call = self._call[gap.ender] if gap.ender >= 0 else -1
        if call < 0:
            causes.add(Part.NOT_RECORDED, _length(rest))
            return
        began = self._starts[call]
        if began < gap.start:
            self._queued(call, rest, causes)
            return
        self._before(call, gap.start, _cut(rest, gap.start, began), causes)
        self._after(call, _cut(rest, began, gap.end), causes)

    def _queued(self, call: int, rest: Sequence[_Span], causes: Causes) -> None:
        """A gap before something that was already launched."""
        length = _length(rest)
        dispatch = min(length, self._costs.queued)
        causes.add(Part.LAUNCH, dispatch)
        causes.launches += 1
        of_graph = self._did[call] == Did.GRAPH
        causes.nodes += of_graph
        waits = not of_graph and self._follows_wait(call)
        causes.add(Part.STREAMS if waits else Part.DEPENDENCY, length - dispatch)

    def _after(self, call: int, rest: Sequence[_Span], causes: Causes) -> None:
        """From the launch call to the start."""
        length = _length(rest)
        # The call itself may last: it loads a kernel's code, or copies into pinned memory.
        until = max(self._ends[call], self._starts[call] + self._costs.latency)
        latency = _length(_cut(rest, self._starts[call], until))
        causes.add(Part.LAUNCH, latency)
        waits = self._follows_wait(call)
        causes.add(Part.STREAMS if waits else Part.DEPENDENCY, length - latency)

    def _before(self, call: int, start: int, rest: list[_Span], causes: Causes) -> None:
        """Until the launch call: what the threads did that launch."""
        last = None
        calls = self._calls_in(call, start, self._starts[call])
        for did, part in ((Did.ALLOCATE, Part.ALLOCATION), (Did.SYNCHRONIZE, Part.SYNCHRONIZATION)):
            spans = _merged((s, e) for s, e, found in calls if found == did)
            found = _common(rest, spans)
            if spans and (last is None or spans[-1][1] > last[0]):
                last = (spans[-1][1], part)
            causes.add(part, _length(found))
            rest = _without(rest, found)
            causes.waits += did == Did.SYNCHRONIZE and bool(found)
        loading = _common(rest, self._loaders)
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
            causes.launches += 1

    def _calls_in(self, call: int, low: int, high: int) -> list[tuple[int, int, int]]:
        """What the launching thread called in a time, and the one that launched before it."""
        threads = {self._threads[call]}
        before = int(np.searchsorted(self._launching_starts, self._starts[call])) - 1
        if before >= 0:
            threads.add(self._threads[int(self._launching[before])])
        found = []
        for thread in threads:
            places, starts = self._by_thread[thread], self._thread_starts[thread]
            first, end = np.searchsorted(starts, [low, high])
            # Calls of a thread follow one another, or lie within one that began shortly before.
            for place in places[max(0, int(first) - 2) : int(end)].tolist():
                if self._ends[place] > low:
                    found.append((self._starts[place], self._ends[place], self._did[place]))
        return found

    def _follows_wait(self, call: int) -> bool:
        """Whether the thread made a stream wait for another just before it launched."""
        places = self._by_thread[self._threads[call]]
        at = int(np.searchsorted(self._thread_starts[self._threads[call]], self._starts[call]))
        for place in places[max(0, at - _LOOK_BACK) : at][::-1].tolist():
            if self._did[place] == Did.WAIT_EVENT:
                return True
            if self._did[place] in (Did.LAUNCH, Did.GRAPH, Did.SYNCHRONIZE):
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
    at = _position(second, first[0][0])
    for start, end in first:
        for place in range(at, len(second)):
            other_start, other_end = second[place]
            if other_start >= end:
                break
            if other_end > start:
                found.append((max(start, other_start), min(end, other_end)))
    return found


def _position(spans: Sequence[_Span], instant: int) -> int:
    """The first span that ends after an instant."""
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle][1] > instant:
            high = middle
        else:
            low = middle + 1
    return low


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
