"""Consecutive elementwise kernels, which would move fewer bytes if fused."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from peakline.workload.kernel_names import shortened
from peakline.workload.waterfall import Waterfall

_SHORTEST = 3
_LONGEST = 12
_NAME = 28
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Chain:
    """A recurring sequence of elementwise kernels."""

    count: int  # kernels in the sequence
    names: tuple[str, ...]  # distinct ones, of the first kernels
    times: int  # occurrences over all steps
    moved: float  # bytes of all its kernels
    needed: float  # bytes of a fused kernel, if each reads the previous one's output
    saving_s: float  # per occurrence


def chain(rank: Waterfall) -> Chain | None:
    """The sequence with the most to save; None without any."""
    found: dict[tuple[int, ...], tuple[int, int]] = {}  # times and nanoseconds by kernels
    for row, nanoseconds in _rows(rank):
        times, sum_ = found.get(row, (0, 0))
        found[row] = (times + 1, sum_ + nanoseconds)
    made = [_chain(rank, row, *counted) for row, counted in found.items()]
    return max(made, key=lambda chain: chain.saving_s * chain.times, default=None)


def _rows(rank: Waterfall) -> Iterator[tuple[tuple[int, ...], int]]:
    """Sequences of a step's kernels, by their places, with the time that they own. Each may read
    the previous one's output. In-place operators are excluded, as arrays may be unrelated."""
    works, rows = rank.bounds.works, rank.timeline.rows
    elementwise = np.array([work is not None and work.elementwise for work in works] or [False])
    kinds = rank.bounds.kernel
    step = np.searchsorted([one.start for one in rank.steps], rows["start"], side="right")
    for stream in np.unique(rows["stream"]):
        row: list[int] = []
        time = last = 0
        for activity in (*np.flatnonzero((rows["stream"] == stream) & (rank.owned > 0)), -1):
            kind = int(kinds[activity]) if activity >= 0 else -1
            here = works[kind] if kind >= 0 and elementwise[kind] else None
            before = works[row[-1]] if row else None
            if step[activity] != last:
                before = None
            if not (here and before) or before.written > here.read or len(row) == _LONGEST:
                if len(row) >= _SHORTEST:
                    yield tuple(row), time
                row, time = [], 0
            if here:
                row.append(kind)
                last = step[activity]
                time += int(rank.owned[activity])


def _chain(rank: Waterfall, row: tuple[int, ...], times: int, nanoseconds: int) -> Chain:
    works = [work for kind in row if (work := rank.bounds.works[kind]) is not None]
    moved = sum(work.read + work.written for work in works)
    shared = sum(2 * work.written for work in works[:-1])
    needed = moved - shared
    labels = [rank.bounds.kernels[kind].label for kind in row]
    short = shortened(labels, _NAME)
    names = list(dict.fromkeys(short[label] for label in labels))
    if len(names) > _NAMED:
        names[_NAMED - 1 :] = [f"{len(names) - _NAMED + 1} more"]
    return Chain(
        len(row),
        tuple(names),
        times,
        moved,
        needed,
        nanoseconds / times * 1e-9 * (1 - needed / moved),
    )
