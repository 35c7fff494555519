"""Causes of gaps; a gap belongs to the activity that ends it.

Until its launch call, the gap is what the launching thread did, or the one that launched before.
From the call to the start it is launch latency, up to the measured one. If it was already queued,
it is dispatch, or a wait that a call shows. The rest is a late start of unknown cause.
"""

import functools
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peakline.workload.costs import Costs
from peakline.workload.kineto import LOADER
from peakline.workload.model import Did, Int, at
from peakline.workload.owners import Gaps
from peakline.workload.part import Part
from peakline.workload.timeline import Timeline, where

# Calls within this many launch times are back-to-back launches: frameworks need some time for each.
_NEAR = 12
# Number of earlier calls to search for one that makes the stream wait.
_LOOK_BACK = 16


class Spans:
    """Times, merged where they touch."""

    def __init__(self, starts: Int, ends: Int) -> None:
        order = np.argsort(starts, kind="stable")
        starts, until = starts[order], np.maximum.accumulate(ends[order])
        first = np.flatnonzero(np.append(True, starts[1:] > until[:-1])[: len(starts)])
        self._starts = starts[first]
        self._ends = until[np.append(first, len(starts))[1:] - 1]
        self._sums = np.append(0, np.cumsum(self._ends - self._starts))

    def inside(self, low: Int, high: Int) -> Int:
        """How much of them lies between each pair of instants."""
        return self._before(high) - self._before(low)

    def _before(self, when: Int) -> Int:
        count = np.searchsorted(self._starts, when)
        found: Int = self._sums[count] - np.maximum(0, at(self._ends, count - 1) - when)
        return found

    def last(self, low: Int, high: Int) -> Int:
        """The end of the last one between each pair of instants; -1 without one."""
        end = at(self._ends, np.searchsorted(self._starts, high) - 1)
        return np.where(end > low, end, -1)


class _Done(NamedTuple):
    """What some threads did, as times."""

    by_rank: dict[Part, Spans]  # of each cause and those before it, which count first
    allocating: Spans
    waiting: Spans


class Causing:
    """Finds the causes of the gaps of one device."""

    def __init__(self, timeline: Timeline, costs: Costs) -> None:
        self._costs, self._skewed = costs, timeline.trace.skewed
        self.launches = self.waits = 0  # gaps with launch time; gaps with a wait
        self.nodes = 0  # gaps between graph nodes
        self._host = host = timeline.host
        self._calls, self._did, self._call = host.calls, host.did, timeline.call
        self._launching = np.flatnonzero(np.isin(host.did, (Did.LAUNCH, Did.GRAPH)))
        # These calls hold a thread up. Only threads that launch wait for a loader; others load
        # beside.
        loads = timeline.trace.named(host.ranges, LOADER.search)
        self._times = {
            Part.ALLOCATION: where(host.calls, host.did == Did.ALLOCATE),
            Part.SYNCHRONIZATION: where(host.calls, host.did == Did.SYNCHRONIZE),
            Part.LOADER: where(host.ranges, loads),
        }
        self._overhead = Spans(host.overhead["start"], host.overhead["end"])
        self._follows_wait = _follows_wait(host.calls["thread"], host.did)
        self._done = functools.cache(self._done_by)

    def of(self, gaps: Gaps) -> Counter[Part]:
        """Nanoseconds of gaps by cause; the sum is exact."""
        causes: Counter[Part] = Counter()
        if self._skewed:
            causes[Part.NOT_RECORDED] = int((gaps.ends - gaps.starts).sum())
            return causes
        call = at(self._call, gaps.enders)
        began = at(self._calls["start"], call)
        launched = np.clip(began, gaps.starts, gaps.ends)
        of_profiler = self._overhead.inside(launched, gaps.ends)
        causes[Part.PROFILER] += int(of_profiler.sum())
        rest = gaps.ends - launched - of_profiler
        causes[Part.NOT_RECORDED] += int(rest[call < 0].sum())
        queued = (call >= 0) & (began < gaps.starts)
        later = (call >= 0) & ~queued
        self._of_queued(call[queued], gaps.starts[queued], rest[queued], causes)
        self._before(call[later], gaps.starts[later], launched[later], causes)
        self._of_launched(call[later], rest[later], causes)
        return causes

    def _until(self, calls: Int) -> Int:
        """The latest end of launching; a call itself may be long if it loads a kernel's code or
        copies into pinned memory."""
        starts = self._calls["start"][calls]
        found: Int = np.maximum(self._calls["end"][calls], starts + self._costs.latency)
        return found

    def _of_queued(self, calls: Int, starts: Int, lengths: Int, causes: Counter[Part]) -> None:
        """Attributes gaps before activities that were already launched."""
        launching = np.maximum(self._costs.queued, self._until(calls) - starts)
        dispatch = np.minimum(lengths, launching)
        causes[Part.LAUNCH] += int(dispatch.sum())
        self.launches += len(calls)
        of_graph = self._did[calls] == Did.GRAPH
        self.nodes += int(of_graph.sum())
        self._late(lengths - dispatch, self._follows_wait[calls] & ~of_graph, causes)

    def _of_launched(self, calls: Int, lengths: Int, causes: Counter[Part]) -> None:
        """Attributes the time from launch calls to starts."""
        latency = np.minimum(lengths, self._until(calls) - self._calls["start"][calls])
        causes[Part.LAUNCH] += int(latency.sum())
        self.launches += int((latency > 0).sum())
        self._late(lengths - latency, self._follows_wait[calls], causes)

    def _late(self, rest: Int, waits: NDArray[np.bool_], causes: Counter[Part]) -> None:
        causes[Part.STREAMS] += int(rest[waits].sum())
        causes[Part.LATE] += int(rest[~waits].sum())

    def _before(self, calls: Int, low: Int, high: Int, causes: Counter[Part]) -> None:
        """Attributes the time until launch calls to what the launching threads did: the call's own,
        and the one that launched before it."""
        own, starts = self._calls["thread"][calls], self._calls["start"]
        last = np.searchsorted(starts[self._launching], starts[calls]) - 1
        other = np.where(last >= 0, at(self._calls["thread"], at(self._launching, last)), own)
        threads = np.column_stack([own, other])
        for pair in np.unique(threads, axis=0):
            mine = (threads == pair).all(axis=1)
            self._by_threads(self._done(*pair.tolist()), low[mine], high[mine], causes)

    def _by_threads(self, done: _Done, low: Int, high: Int, causes: Counter[Part]) -> None:
        before = np.zeros(len(low), np.int64)
        taken = {}
        for part, spans in done.by_rank.items():
            covered = spans.inside(low, high)
            taken[part], before = covered - before, covered
            causes[part] += int(taken[part].sum())
        self.waits += int((taken[Part.SYNCHRONIZATION] > 0).sum())
        rest = high - low - before
        allocated, waited = done.allocating.last(low, high), done.waiting.last(low, high)
        # The first that holds is the cause of the rest.
        rules = {
            Part.PYTHON: rest > _NEAR * self._costs.submit,
            Part.LOADER: taken[Part.LOADER] > 0,
            Part.SYNCHRONIZATION: waited > allocated,
            Part.ALLOCATION: allocated >= 0,
            Part.LAUNCH: np.ones(len(rest), bool),
        }
        for part, holds in rules.items():
            causes[part] += int(rest[holds].sum())
            rest = np.where(holds, 0, rest)

    def _done_by(self, *threads: int) -> _Done:
        alone: dict[Part, Spans] = {}
        by_rank = {Part.PROFILER: self._overhead}
        starts, ends = (self._host.overhead[key] for key in ("start", "end"))
        for part, rows in self._times.items():
            mine = where(rows, np.isin(rows["thread"], threads))
            alone[part] = Spans(mine["start"], mine["end"])
            starts, ends = np.append(starts, mine["start"]), np.append(ends, mine["end"])
            by_rank[part] = Spans(starts, ends)
        return _Done(by_rank, alone[Part.ALLOCATION], alone[Part.SYNCHRONIZATION])


def _follows_wait(threads: Int, did: Int) -> NDArray[np.bool_]:
    """Whether a thread made its stream wait for another just before each call. Calls are sorted."""
    order = np.argsort(threads, kind="stable")
    of_thread, of_call, place = threads[order], did[order], np.arange(len(order))
    tells = np.isin(of_call, (Did.WAIT_EVENT, Did.LAUNCH, Did.GRAPH, Did.SYNCHRONIZE))
    before = np.append(-1, np.maximum.accumulate(np.where(tells, place, -1)))[:-1]
    near = (before >= place - _LOOK_BACK) & (at(of_thread, before) == of_thread)
    found = np.zeros(len(order), bool)
    found[order] = (before >= 0) & near & (at(of_call, before) == Did.WAIT_EVENT)
    return found
