"""Kernels from a profiler under the measured roofs of a device.

    least time = max over memory levels of bytes / bandwidth, over units of FLOP / peak
    share of the roof = least time / measured time

An FMA counts as 2 FLOP. A count is known, known to be 0, or not known; a kernel of which one is not
known gets no verdict.
"""

from peakline.kernels.kernel import UNKNOWN_UNIT, Kernel, KernelsError
from peakline.kernels.labels import shortened
from peakline.kernels.ncu import NCU_COMMAND
from peakline.kernels.placement import LevelPoint, Mark, Placement, marks, place
from peakline.kernels.reader import parse, read
from peakline.kernels.text import (
    NAME_WIDTH,
    advice,
    reached,
    table,
    total_seconds,
    unplaced,
    verdict,
)
