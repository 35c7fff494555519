"""Why the other ranks wait for one: more work, a slower device, or a late host.

Kernels of one name and work are compared across ranks. While the others wait, NCCL's kernels spin
on their devices and slow what runs beside them, so a rank is slow only by more than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peakline import units
from peakline.workload.model import Kind
from peakline.workload.part import IDLE, Part
from peakline.workload.waterfall import Waterfall

# Idle parts that have a finding of their own.
_OF_HOST = (Part.LAUNCH, Part.SYNCHRONIZATION, Part.LOADER, Part.PYTHON, Part.ALLOCATION)
_MORE = 1.1  # times as many kernels, or as long for the same ones


@dataclass(frozen=True, slots=True)
class Cause:
    """What a rank does longer than another."""

    text: str  # a relative clause on the rank
    of_host: bool = False


def cause(late: Waterfall, waiting: Waterfall) -> Cause | None:
    """Why a rank comes late; None where nothing that was recorded tells."""
    many, few = _kernels(late), _kernels(waiting)
    slower = _slower(late, waiting)
    same = "" if slower is None else f" at {slower:.2f} x their time"
    if many > _MORE * few > 0:
        return Cause(
            f"which runs {many:.0f} kernels a step instead of {few:.0f}{same}: more work, not a "
            "slow GPU"
        )
    if slower is not None and slower > _MORE:
        return Cause(f"whose kernels take {slower:.2f} x as long for the same work: a slow GPU")
    idle = _idle(late) - _idle(waiting)
    parts = {part: late.parts.get(part, 0) for part in IDLE}
    most = max(parts, key=lambda part: parts[part])
    if idle > 0 and parts[most]:
        return Cause(
            f"whose device is idle for {units.time(idle)} longer a step: {most.label}",
            most in _OF_HOST,
        )
    return None


def _idle(rank: Waterfall) -> float:
    return rank.idle / len(rank.steps) * 1e-9


def _kernels(rank: Waterfall) -> float:
    """Kernels in a step."""
    return float(((rank.timeline.rows["kind"] == Kind.COMPUTE) & (rank.owned > 0)).sum()) / len(
        rank.steps
    )


def _slower(late: Waterfall, other: Waterfall) -> float | None:
    """How many times as long the same kernels take; None without any in common."""
    mean = [
        {
            (p.kernel.name, work): (p.kernel.seconds or 0.0) / p.kernel.launches
            for p, work in zip(rank.bounds.kernels, rank.bounds.works, strict=True)
        }
        for rank in (late, other)
    ]
    common = [key for key in mean[0] if mean[1].get(key)]
    if not common:
        return None
    weights = np.array([mean[1][key] for key in common])
    return float(np.average([mean[0][key] / mean[1][key] for key in common], weights=weights))
