"""The parts of a step, in display order."""

from __future__ import annotations

from enum import Enum


class Part(str, Enum):
    """A part of a step: its name in documents (value) and for readers (label)."""

    label: str

    def __new__(cls, value: str, label: str = "") -> Part:
        part = str.__new__(cls, value)
        part._value_, part.label = value, label
        return part

    KERNELS = "kernels_at_bound", "kernels, at their lower bound"
    KERNELS_BEYOND = "kernels_beyond", "kernels, above their lower bound"
    KERNELS_BESIDE = "kernels_beside_collectives", "kernels, slower beside collectives"
    KERNELS_UNKNOWN = "kernels_bound_not_known", "kernels, lower bound not known"
    COLLECTIVES = "collectives_at_bound", "collectives, at the measured rate"
    COLLECTIVES_BEYOND = "collectives_beyond", "collectives, below the measured rate"
    COLLECTIVES_WAITING = "collectives_waiting", "collectives, waiting for other ranks"
    COLLECTIVES_UNKNOWN = "collectives_bound_not_known", "collectives, bound not known"
    COPIES = "copies_at_bound", "copies, at the measured rate"
    COPIES_BEYOND = "copies_beyond", "copies, below the measured rate"
    COPIES_UNKNOWN = "copies_bound_not_known", "copies, rate not known"
    BEFORE = "launched_before", "launched before the recording"
    LAUNCH = "launches", "launching kernels"
    SYNCHRONIZATION = "synchronization", "synchronization"
    LOADER = "data_loading", "waiting for data"
    PYTHON = "python", "waiting for the CPU (Python)"
    ALLOCATION = "allocation", "allocating memory"
    STREAMS = "waiting_for_streams", "waiting for another stream"
    LATE = "late_start_cause_not_recorded", "late start, cause not recorded"
    PROFILER = "profiler", "the profiler itself"
    NOT_RECORDED = "cause_not_recorded", "idle, cause not recorded"

    @property
    def is_idle(self) -> bool:
        return self in IDLE


# Parts of activities: at their lower bound, above it, without a known one.
KERNELS = (Part.KERNELS, Part.KERNELS_BEYOND, Part.KERNELS_UNKNOWN)
OF_KERNELS = (*KERNELS, Part.KERNELS_BESIDE)
COLLECTIVES = (Part.COLLECTIVES, Part.COLLECTIVES_BEYOND, Part.COLLECTIVES_UNKNOWN)
COPIES = (Part.COPIES, Part.COPIES_BEYOND, Part.COPIES_UNKNOWN)
IDLE = tuple(Part)[list(Part).index(Part.LAUNCH) :]
