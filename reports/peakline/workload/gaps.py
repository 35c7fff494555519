"""Causes of gaps; a gap belongs to the activity that ends it.

Until its launch call, the gap is what the launching thread did, or the one that launched before.
From the call to the start it is launch latency, up to the measured one. If it was already queued,
it is dispatch, or a wait that a call shows. The rest is a late start of unknown cause.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from peakline.workload.costs import Costs
from peakline.workload.kineto import LOADER
from peakline.workload.model import Did, Int, at
from peakline.workload.owners import Gaps
from peakline.workload.part import Part
from peakline.workload.timeline import Timeline

# Calls within this many launch times are back-to-back launches: frameworks need some time for each.
_NEAR = 12
# Number of earlier calls to search for one that makes the stream wait.
_LOOK_BACK = 16
_Span = tuple[int, int]
_STOPS = (Part.ALLOCATION, Part.SYNCHRONIZATION)


class Causing:
    """Finds the causes of the gaps of one device."""

    def __init__(self, timeline: Timeline, costs: Costs) -> None:
        self._costs, self._skewed = costs, timeline.trace.skewed
        self.launches = self.waits = 0  # gaps with launch time; gaps with a wait
        self.nodes = 0  # gaps between graph nodes
        host = timeline.host
        self._calls, self._did, self._call = host.calls, host.did, timeline.call
        threads = host.calls["thread"]
        self._by_thread = {int(t): np.flatnonzero(threads == t) for t in np.unique(threads)}
        self._thread_starts = {
            thread: host.calls["start"][places] for thread, places in self._by_thread.items()
        }
        self._launching = np.flatnonzero(np.isin(host.did, (Did.LAUNCH, Did.GRAPH)))
        self._launching_starts = host.calls["start"][self._launching]
        loads = timeline.trace.named(host.ranges, LOADER.search)
        # Only threads that launch can be held up by loading; others load in the background.
        self._loaders = {
            thread: _merged(
                _spans(host.ranges, np.flatnonzero(loads & (host.ranges["thread"] == thread)))
            )
            for thread in self._by_thread
        }
        every = np.arange(len(host.overhead["start"]))
        self._overhead = _merged(_spans(host.overhead, every))
        stopping = np.flatnonzero(np.isin(host.did, (Did.SYNCHRONIZE, Did.ALLOCATE)))
        # A gap that touches none of these has a simple cause.
        loaders = itertools.chain.from_iterable(self._loaders.values())
        self._special = _merged([*loaders, *self._overhead, *_spans(host.calls, stopping)])

    def of(self, gaps: Gaps) -> Counter[Part]:
        """Nanoseconds of gaps by cause; the sum is exact."""
        causes: Counter[Part] = Counter()
        if self._skewed:
            causes[Part.NOT_RECORDED] = int((gaps.ends - gaps.starts).sum())
            return causes
        call = at(self._call, gaps.enders)
        plain = (call >= 0) & ~self._touched(gaps)
        began = at(self._calls["start"], call)
        queued = plain & (began < gaps.starts)
        launched = plain & (began >= gaps.starts)
        lengths = gaps.ends - gaps.starts
        self._all_queued(call[queued], gaps.starts[queued], lengths[queued], causes)
        before = (np.minimum(began, gaps.ends) - gaps.starts)[launched]
        near = before <= _NEAR * self._costs.submit
        causes[Part.LAUNCH] += int(before[near].sum())
        causes[Part.PYTHON] += int(before[~near].sum())
        self._all_launched(call[launched], gaps.ends[launched], causes)
        for place in np.flatnonzero(~plain).tolist():
            start, end, ender = (int(column[place]) for column in gaps)
            self._explain(start, end, ender, causes)
        return causes

    def _touched(self, gaps: Gaps) -> NDArray[np.bool_]:
        """A mask of gaps that need individual treatment."""
        if not self._special:
            return np.zeros(len(gaps.starts), bool)
        starts, ends = (np.array(column) for column in zip(*self._special, strict=True))
        at = np.searchsorted(ends, gaps.starts, side="right")
        found: NDArray[np.bool_] = np.append(starts, gaps.ends.max(initial=0))[at] < gaps.ends
        return found

    def _until(self, calls: Int) -> Int:
        """The latest end of launching; a call itself may be long if it loads a kernel's code or
        copies into pinned memory."""
        starts = self._calls["start"][calls]
        found: Int = np.maximum(self._calls["end"][calls], starts + self._costs.latency)
        return found

    def _all_queued(self, calls: Int, starts: Int, lengths: Int, causes: Counter[Part]) -> None:
        """Attributes gaps before activities that were already launched."""
        launching = np.maximum(self._costs.queued, self._until(calls) - starts)
        dispatch = np.minimum(lengths, launching)
        causes[Part.LAUNCH] += int(dispatch.sum())
        self.launches += len(calls)
        of_graph = self._did[calls] == Did.GRAPH
        self.nodes += int(of_graph.sum())
        for place in np.flatnonzero(lengths > dispatch).tolist():
            waits = not of_graph[place] and self._follows_wait(int(calls[place]))
            rest = int(lengths[place] - dispatch[place])
            causes[Part.STREAMS if waits else Part.LATE] += rest

    def _all_launched(self, calls: Int, ends: Int, causes: Counter[Part]) -> None:
        """Attributes the time from launch calls to starts."""
        starts, until = self._calls["start"][calls], self._until(calls)
        latency = np.minimum(ends, until) - np.minimum(ends, starts)
        causes[Part.LAUNCH] += int(latency.sum())
        self.launches += int((latency > 0).sum())
        for place in np.flatnonzero(ends > until).tolist():
            waits = self._follows_wait(int(calls[place]))
            rest = int(ends[place] - until[place])
            causes[Part.STREAMS if waits else Part.LATE] += rest

    def _explain(self, start: int, end: int, ender: int, causes: Counter[Part]) -> None:
        """Attributes a gap with waiting, allocating, loading or work of the profiler."""
        call = int(self._call[ender]) if ender >= 0 else -1
        began = int(self._calls["start"][call]) if call >= 0 else -1
        launched = min(max(start, began), end)
        overhead = _near(self._overhead, start, end)
        (of_profiler,) = _taken(launched, end, [overhead])
        rest = end - launched - of_profiler
        causes[Part.PROFILER] += of_profiler
        one = np.array([call])
        if call < 0:
            causes[Part.NOT_RECORDED] += rest
        elif began < start:
            self._all_queued(one, np.array([start]), np.array([rest]), causes)
        else:
            self._before(call, (start, launched), overhead, causes)
            self._all_launched(one, np.array([began + rest]), causes)

    def _before(
        self, call: int, window: _Span, overhead: Sequence[_Span], causes: Counter[Part]
    ) -> None:
        """Attributes the time until the launch call to what the launching threads did; where
        several causes coincide, the first in `spans` counts."""
        low, high = window
        began = int(self._calls["start"][call])
        threads = self._threads(call, began)
        calls = self._calls_in(threads, low, began)
        spans: dict[Part, Sequence[_Span]] = {
            Part.PROFILER: overhead,
            Part.ALLOCATION: [(s, e) for s, e, found in calls if found == Did.ALLOCATE],
            Part.SYNCHRONIZATION: [(s, e) for s, e, found in calls if found == Did.SYNCHRONIZE],
            Part.LOADER: [x for thread in threads for x in _near(self._loaders[thread], low, high)],
        }
        taken = dict(zip(spans, _taken(low, high, list(spans.values())), strict=True))
        causes.update(taken)
        self.waits += taken[Part.SYNCHRONIZATION] > 0
        rest = high - low - sum(taken.values())
        ends = {part: max((e for _, e in spans[part]), default=-1) for part in _STOPS}
        last = max(_STOPS, key=lambda part: ends[part])
        if rest > _NEAR * self._costs.submit:
            causes[Part.PYTHON] += rest
        elif taken[Part.LOADER]:
            causes[Part.LOADER] += rest
        else:
            causes[last if ends[last] >= 0 else Part.LAUNCH] += rest

    def _threads(self, call: int, began: int) -> set[int]:
        """The launching thread, and the one that launched before it."""
        threads = {int(self._calls["thread"][call])}
        before = int(np.searchsorted(self._launching_starts, began)) - 1
        if before >= 0:
            threads.add(int(self._calls["thread"][self._launching[before]]))
        return threads

    def _calls_in(self, threads: set[int], low: int, high: int) -> list[tuple[int, int, int]]:
        found = []
        for thread in threads:
            first, end = np.searchsorted(self._thread_starts[thread], [low, high])
            # A thread's calls are consecutive, or nested in one that began shortly before.
            places = self._by_thread[thread][max(0, int(first) - 2) : int(end)]
            columns = (self._calls["start"], self._calls["end"], self._did)
            rows = zip(*(column[places].tolist() for column in columns), strict=True)
            found += [row for row in rows if row[1] > low]
        return found

    def _follows_wait(self, call: int) -> bool:
        """Whether the thread made its stream wait for another just before the launch."""
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
    """Sorted spans, with touching ones merged."""
    merged: list[_Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > start:
            merged.append((start, end))
    return merged


def _near(spans: Sequence[_Span], low: int, high: int) -> Sequence[_Span]:
    """The merged spans that overlap a window."""
    first = bisect.bisect_right(spans, low, key=lambda span: span[1])
    return spans[first : bisect.bisect_left(spans, high, key=lambda span: span[0])]


def _taken(low: int, high: int, classes: Sequence[Sequence[_Span]]) -> list[int]:
    """The time of a window per class of spans; where several overlap, the first counts."""
    taken = [0] * len(classes)
    merged = [(number, _merged(spans)) for number, spans in enumerate(classes) if spans]
    edges = {edge for _, spans in merged for span in spans for edge in span if low < edge < high}
    for start, end in itertools.pairwise(sorted({low, high, *edges}) if merged else ()):
        for number, spans in merged:
            place = bisect.bisect_right(spans, start, key=lambda span: span[0]) - 1
            if place >= 0 and spans[place][1] > start:
                taken[number] += end - start
                break
    return taken
