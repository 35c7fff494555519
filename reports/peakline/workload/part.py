"""The parts of a step, in the order in which they are shown."""

from __future__ import annotations

from enum import Enum


class Part(str, Enum):
    """A part of a step; its value is what documents call it."""

    KERNELS = "kernels_at_bound"
    KERNELS_BEYOND = "kernels_beyond"
    KERNELS_UNKNOWN = "kernels_bound_not_known"
    COLLECTIVES = "collectives_at_bound"
    COLLECTIVES_BEYOND = "collectives_beyond"
    COLLECTIVES_WAITING = "collectives_waiting"
    COLLECTIVES_UNKNOWN = "collectives_bound_not_known"
    COPIES = "copies_at_bound"
    COPIES_BEYOND = "copies_beyond"
    COPIES_UNKNOWN = "copies_bound_not_known"
    BEFORE = "launched_before"
    LAUNCH = "launches"
    SYNCHRONIZATION = "synchronization"
    LOADER = "data_loading"
    PYTHON = "python"
    ALLOCATION = "allocation"
    STREAMS = "waiting_for_streams"
    LATE = "late_start_cause_not_recorded"
    PROFILER = "profiler"
    NOT_RECORDED = "cause_not_recorded"

    @property
    def label(self) -> str:
        """What tables and pictures call it."""
        return _LABELS[self]

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs on the device."""
        return self in IDLE

    @property
    def is_needed(self) -> bool:
        """Whether this machine needs the time for what the step does."""
        return self in (Part.KERNELS, Part.COLLECTIVES, Part.COPIES)


_LABELS = {
    Part.KERNELS: "kernels, at their bound",
    Part.KERNELS_BEYOND: "kernels, beyond it",
    Part.KERNELS_UNKNOWN: "kernels, bound not known",
    Part.COLLECTIVES: "collectives, at the measured rate",
    Part.COLLECTIVES_BEYOND: "collectives, beyond it",
    Part.COLLECTIVES_WAITING: "collectives, waiting for other ranks",
    Part.COLLECTIVES_UNKNOWN: "collectives, bound not known",
    Part.COPIES: "copies, at the measured rate",
    Part.COPIES_BEYOND: "copies, beyond it",
    Part.COPIES_UNKNOWN: "copies, rate not known",
    Part.BEFORE: "launched before the recording",
    Part.LAUNCH: "launching kernels",
    Part.SYNCHRONIZATION: "synchronization",
    Part.LOADER: "waiting for data",
    Part.PYTHON: "waiting for the CPU (Python)",
    Part.ALLOCATION: "allocating memory",
    Part.STREAMS: "waiting for another stream",
    Part.LATE: "late start, cause not recorded",
    Part.PROFILER: "the profiler itself",
    Part.NOT_RECORDED: "idle, cause not recorded",
}
IDLE = (
    Part.LAUNCH,
    Part.SYNCHRONIZATION,
    Part.LOADER,
    Part.PYTHON,
    Part.ALLOCATION,
    Part.STREAMS,
    Part.LATE,
    Part.PROFILER,
    Part.NOT_RECORDED,
)
