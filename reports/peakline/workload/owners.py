"""The owner of each instant of a device: compute, else a collective, else a copy, else nobody.

Concurrent activities of the owning class share it equally, in whole nanoseconds; the remainder goes
to those that began first.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from peakline.workload.model import Int, Kind


class Gaps(NamedTuple):
    """Times in which nothing ran on a device, sorted."""

    starts: Int
    ends: Int
    enders: Int  # the activity that ends each gap, or -1


@dataclass(frozen=True)
class Owned:
    """The division of a window of a device's time; the sum of all parts is its length."""

    nanoseconds: Int  # of each activity
    gaps: Gaps


def divide(
    starts: Int, ends: Int, kinds: Int, window: tuple[int, int], following: int = -1
) -> Owned:
    """Divides a window among activities, which are sorted by start and may extend beyond it.
    following: the activity that begins where the window ends, and ends a gap there."""
    low, high = window
    inside = np.flatnonzero((ends > low) & (starts < high) & (ends > starts))
    owned = np.zeros(len(starts), np.int64)
    begins = np.maximum(starts[inside], low)
    finishes = np.minimum(ends[inside], high)
    times = np.concatenate([begins, finishes])
    # Ends sort before begins, so that adjacent activities leave no gap.
    order = np.lexsort([np.arange(len(times)), times]).tolist()
    count = len(inside)
    places, instants, classes = inside.tolist(), times.tolist(), kinds[inside].tolist()
    running: list[dict[int, None]] = [{} for _ in Kind]
    gaps: list[tuple[int, int, int]] = []
    last, shares = low, dict.fromkeys(places, 0)
    for position in order:
        now = instants[position]
        if now > last:
            owners = next((found for found in running if found), None)
            if owners is None:
                gaps.append((last, now, places[position % count]))
            else:
                each, rest = divmod(now - last, len(owners))
                for rank, owner in enumerate(owners):
                    shares[owner] += each + (rank < rest)
            last = now
        index = position % count
        if position < count:
            running[classes[index]][places[index]] = None
        else:
            del running[classes[index]][places[index]]
    if last < high:
        gaps.append((last, high, following))
    owned[places] = [shares[place] for place in places]
    return Owned(owned, Gaps(*np.array(gaps, np.int64).reshape(-1, 3).T))
