"""Kernels under the measured roofs of a device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peakline.kernels.kernel import UNKNOWN_UNIT, Kernel, KernelsError
from peakline.kernels.labels import labels
from peakline.limits import Limits, limits
from peakline.names import level_of
from peakline.profile import Profile

# Profilers count the bytes of these levels; a CPU's memory stands for its device memory.
_COUNTED = {"hbm": "hbm", "memory": "hbm", "l2": "l2", "l1": "l1"}
# A level that moves less than this share of what the main memory does is passed by.
_PASSED_BY = 0.1
# Clocks and ceilings differ from run to run by less than what a share may lie above 1.
_MOST = 1.05


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """A kernel seen from one memory level."""

    resource: str  # the slope: "hbm.read"
    intensity: float | None  # FLOP/byte; None for a kernel that moves no bytes there
    bandwidth: float  # B/s
    share: float  # of the slope


@dataclass(frozen=True, slots=True)
class Placement:
    """A kernel under the roofs of one device."""

    kernel: Kernel
    label: str  # the kernel's name, without template arguments or namespaces where that is unique
    device: str
    flops_per_s: float | None  # over all units; None where not all of them are known
    levels: tuple[LevelPoint, ...]  # main memory first
    shares: Mapping[str, float]  # of each roof and slope that it runs under, the binding one first
    bound_by: str | None  # the resource that takes the longest; None: no verdict
    share: float | None  # least time / measured time
    gain_s: float | None  # what is lost against the roof, over all launches
    ignored: tuple[str, ...]  # units with FLOPs for which the profile has no ceiling
    # Why there is no verdict: `Kernel.unknown`, "time", "ceiling", "work"; "dtype" where another
    # roof would bind in another precision; "precision" and "level" where FLOPs and bytes are more
    # than their roof allows.
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A kernel's place on the roofline, from one memory level."""

    number: int  # its rank in the table of kernels, which the picture shows
    name: str
    intensity: float
    flops_per_s: float
    bound_by: str | None = None
    seconds: float = 0.0
    resource: str = ""  # the slope of the level: "hbm.read"


def place(
    profile: Profile, kernels: Sequence[Kernel], device: str | int | None = None
) -> list[Placement]:
    """Kernels under the measured roofs of a device, most to gain first.

    A kernel whose work is not all known has no verdict: what was not counted could be what bounds
    it. Such kernels come last, longest first.

    device: as in `Profile.select_devices`; of several it takes the first. Raises PeakError for an
    unknown device, KernelsError where the profile has no roofline for it.
    """
    uuid = profile.select_devices(device)[0]
    found = limits(profile, uuid)
    if found is None:
        raise KernelsError(
            f"{profile.path or 'the profile'} has no roofline of {profile.device_name(uuid)}: "
            "measure with peakline run without --filter"
        )
    called = labels(kernel.name for kernel in kernels)
    placed = [_place(kernel, called[kernel.name], found, uuid) for kernel in kernels]
    return sorted(
        placed, key=lambda p: (p.gain_s is None, -(p.gain_s or 0.0), -(p.kernel.seconds or 0.0))
    )


def _roof(found: Limits, unit: str) -> tuple[str, float] | None:
    """The roof a count of this unit runs under."""
    for roof in found.roofs:
        if unit in (roof.resource, roof.precision):
            return roof.resource, roof.value
    return None


def _longest(found: Limits, flops: float) -> float:
    """The time of FLOPs of an unknown precision under the lowest roof of floating point."""
    roofs = [roof.value for roof in found.roofs if roof.best.unit == "FLOP/s"]
    return flops / min(roofs) if roofs else math.inf


def _place(kernel: Kernel, label: str, found: Limits, device: str) -> Placement:
    """A kernel under the roof that takes the longest, or without one where that is in doubt."""
    moved = _moved(kernel, found)
    times = [(moved[s.resource] / s.value, s.resource) for s in found.slopes if s.resource in moved]
    ignored: tuple[str, ...] = ()
    unknown = kernel.unknown
    for unit, count in kernel.flops.items():
        roof = _roof(found, unit)
        if unit == UNKNOWN_UNIT:
            # Where its bytes take longer in any precision, it does not matter which.
            if count > 0 and _longest(found, count) > max(times, default=(0.0, ""))[0]:
                unknown = (*unknown, "dtype")
        elif roof is not None:
            times.append((count / roof[1], roof[0]))
        elif count > 0:
            ignored += (unit,)
    times.sort(reverse=True)
    unknown += _doubts(kernel, times, ignored, moved, bool(unknown))
    seconds = kernel.seconds
    if seconds is None:
        return Placement(
            kernel, label, device, None, (), {}, None, None, None, (*ignored,), unknown
        )
    least, bound = times[0] if times else (0.0, "")
    flops_known = kernel.flops_known() and "tensor" not in unknown
    flops = sum(kernel.flops.values())
    return Placement(
        kernel,
        label,
        device,
        flops / seconds if flops_known else None,
        _levels(found, moved, seconds, flops if flops_known else None),
        {resource: needed / seconds for needed, resource in times if needed > 0},
        None if unknown else bound,
        None if unknown else least / seconds,
        None if unknown else max(0.0, seconds - least),
        ignored,
        unknown,
    )


def _moved(kernel: Kernel, found: Limits) -> dict[str, float]:
    """The bytes that a kernel moves, by the slopes of the levels that were counted."""
    levels = {slope.resource: _COUNTED.get(level_of(slope.resource)) for slope in found.slopes}
    return {
        resource: kernel.bytes[level]
        for resource, level in levels.items()
        if level is not None and level in kernel.bytes
    }


def _doubts(
    kernel: Kernel,
    times: Sequence[tuple[float, str]],
    ignored: Sequence[str],
    moved: Mapping[str, float],
    in_doubt: bool,
) -> tuple[str, ...]:
    """What else forbids a verdict; in_doubt: whether something of the kernel is not known anyway.

    times: what it needs at the least under each slope and roof, the longest first.
    """
    timeless = () if kernel.seconds is not None else ("time",)
    # A few FLOPs beside others decide nothing; where they are the work, their roof is missing.
    if sum(kernel.flops[unit] for unit in ignored) > sum(kernel.flops.values()) / 2:
        return (*timeless, "ceiling")
    if in_doubt or kernel.seconds is None:
        return timeless
    least, bound = times[0] if times else (0.0, "")
    if least == 0:
        return ("work",)
    if kernel.tensor_seconds - _in_tensor_pipe(times) > least:
        return ("tensor",)  # it was busy for longer than what was counted could bind
    if least > _MOST * kernel.seconds:
        return ("level" if bound in moved else "precision",)
    return ()


def _levels(
    found: Limits, moved: Mapping[str, float], seconds: float, flops: float | None
) -> tuple[LevelPoint, ...]:
    """A kernel seen from each level that was counted, the main memory first."""
    points = [
        LevelPoint(
            slope.resource,
            flops / amount if amount > 0 and flops is not None else None,
            amount / seconds,
            amount / seconds / slope.value,
        )
        for slope in found.slopes
        if (amount := moved.get(slope.resource)) is not None
    ]
    return tuple(sorted(points, key=lambda point: point.resource != found.main.resource))


def _in_tensor_pipe(times: Sequence[tuple[float, str]]) -> float:
    """What the tensor pipe needs, which on Hopper runs packed half-precision arithmetic too."""
    return sum(s for s, resource in times if resource.startswith(("tensor.", "cuda_core.fp16")))


def marks(placements: Sequence[Placement]) -> list[Mark]:
    """Points for the roofline: one for each memory level of each kernel that counts FLOPs.

    A level that its data pass by, as bulk copies do the L1, has none: it would say nothing but
    stretch the picture. Their numbers are the kernels' ranks in `placements`, from 1.
    """
    return [
        Mark(
            number,
            p.label,
            point.intensity,
            p.flops_per_s,
            p.bound_by,
            p.kernel.seconds or 0.0,
            point.resource,
        )
        for number, p in enumerate(placements, start=1)
        for point in p.levels
        if point.intensity and p.flops_per_s
        if point.bandwidth > _PASSED_BY * p.levels[0].bandwidth
    ]
