"""What kernels lose beside collectives of their device."""

import numpy as np

from peakline.workload.bounds import Bounds
from peakline.workload.gaps import Spans
from peakline.workload.model import Int, Kind
from peakline.workload.timeline import Timeline


def lost_beside_collectives(timeline: Timeline, bounds: Bounds) -> Int:
    """Nanoseconds that each activity would take less without a collective beside it, 0 if unknown.

    A kernel that ran both ways is compared with itself: launches of one name and work that touch a
    collective of the same device, against those that touch none, mean against mean. What they take
    more is shared out in proportion to their times. A kernel that never ran alone has no measure.
    """
    rows, lost = timeline.rows, np.zeros(len(timeline.rows["start"]), np.int64)
    collective = rows["kind"] == Kind.COLLECTIVE
    if not collective.any():
        return lost
    spans = Spans(rows["start"][collective], rows["end"][collective])
    touched = spans.inside(rows["start"], rows["end"]) > 0
    lengths = rows["end"] - rows["start"]
    for place in range(len(bounds.kernels)):
        mine = bounds.kernel == place
        beside, alone = mine & touched, mine & ~touched
        if not (beside.any() and alone.any()):
            continue
        more = 1 - float(lengths[alone].mean()) / float(lengths[beside].mean())
        if more > 0:
            lost[beside] = np.rint(lengths[beside] * more)
    return lost
