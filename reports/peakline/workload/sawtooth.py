"""The share of a device's time in which nothing runs, over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peakline.workload.waterfall import Waterfall

_BIN_NS = 1_000_000
_MOST_BINS = 600


@dataclass(frozen=True)
class Sawtooth:
    """Idle shares of equal pieces of time, from the first step's start on."""

    bin_s: float
    idle: Sequence[float]  # 0 to 1
    marks: Sequence[float]  # seconds at which steps begin


def sawtooth(rank: Waterfall) -> Sawtooth:
    """Idle shares by millisecond; of a trace that is long, by as many as a picture can show."""
    start, end = rank.steps[0].start, rank.steps[-1].end
    size = max(_BIN_NS, -(-(end - start) // _MOST_BINS))
    if end - start < 8 * _BIN_NS:
        size = max(1, -(-(end - start) // 64))
    count = -(-(end - start) // size)
    idle = np.zeros(count)
    # Nanoseconds without anything up to each gap's edges; between these it grows or stands.
    edges = np.column_stack(rank.gaps[:2]).ravel()
    lengths = np.cumsum(rank.gaps.ends - rank.gaps.starts)
    sums = np.column_stack([lengths - (rank.gaps.ends - rank.gaps.starts), lengths]).ravel()
    borders = start + size * np.arange(count + 1)
    borders[-1] = end
    if len(edges):
        idle = np.diff(np.interp(borders - start, edges - start, sums))
    widths = np.full(count, size)
    widths[-1] = (end - start) - (count - 1) * size
    marks = [(step.start - start) * 1e-9 for step in rank.steps]
    return Sawtooth(size * 1e-9, (idle / widths).tolist(), marks)
