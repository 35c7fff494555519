"""Kernels from a profiler against what bounds them on a device.

    as written: the busiest unit of the device decides; rewritten: bytes and FLOPs decide
    share = least time / measured time

An FMA counts as 2 FLOP. A count is known, known to be 0, or not known; what is known caps what
there is to gain, and nothing else is claimed.
"""

from peakline.kernels.document import document
from peakline.kernels.kernel import UNKNOWN_UNIT, Kernel, KernelsError, Shape
from peakline.kernels.labels import shortened
from peakline.kernels.ncu import NCU_COMMAND
from peakline.kernels.placement import Answer, Placement, place, same_unit
from peakline.kernels.reader import parse, read
from peakline.kernels.reason import Reason
from peakline.kernels.text import (
    NAME_WIDTH,
    advice,
    answers,
    described,
    explained,
    headline,
    reached,
    table,
    total,
    total_seconds,
)
