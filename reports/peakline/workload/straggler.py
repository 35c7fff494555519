"""Why other ranks wait for one: more work, a slower device or kernel, or a late host.

Kernels of one name and work are compared across ranks. NCCL's kernels of waiting ranks spin and
slow concurrent kernels there, so only a larger difference shows a slow rank.
"""

from dataclasses import dataclass

from peakline import units
from peakline.workload.kernel_names import shortened
from peakline.workload.model import Kind
from peakline.workload.part import IDLE, Part
from peakline.workload.waterfall import Waterfall

# Idle parts with a finding of their own.
_OF_HOST = (Part.LAUNCH, Part.SYNCHRONIZATION, Part.LOADER, Part.PYTHON, Part.ALLOCATION)
_MORE = 1.1  # ratio of kernel counts, or of times for the same kernels
_WORTH = 0.01  # of the step
_NAME = 48  # characters of a kernel's name


@dataclass(frozen=True, slots=True)
class Cause:
    text: str  # a relative clause about the rank
    of_host: bool = False
    seconds: float = 0.0  # per step, waiting that kernels of other ranks hide included


def cause(late: Waterfall, waiting: Waterfall) -> Cause | None:
    """Why a rank is late; None if the recording does not show it."""
    many, few = _kernels(late), _kernels(waiting)
    pairs = _pairs(late, waiting)
    slower = _slower(pairs)
    if many > _MORE * few > 0:
        same = f" at {slower:.2f} x their time" if slower else ""
        return Cause(
            f"which runs {many:.0f} kernels a step instead of {few:.0f}{same}: more work, not a "
            "slow GPU"
        )
    # A single slow kernel may depend on its data; a slow GPU slows the others, too.
    worst = max(pairs, key=lambda pair: pair[1] - pair[2], default=("", 0.0, 0.0))
    others = _slower([pair for pair in pairs if pair is not worst])
    if min(slower, others or slower) > _MORE:
        text = f"whose kernels take {slower:.2f} x as long for the same work: a slow GPU"
        return Cause(text, seconds=sum(mine - other for _, mine, other in pairs))
    label, mine, other = worst
    least = _WORTH * 1e-9 * late.nanoseconds / len(late.steps)
    idle = 1e-9 * (late.idle / len(late.steps) - waiting.idle / len(waiting.steps))
    if mine - other > max(idle, least, (_MORE - 1) * other):
        label = shortened([label], _NAME)[label]
        return Cause(
            f"whose kernel {label} takes {units.time(mine)} a step instead of {units.time(other)} "
            "for the same work: that kernel, not a slow GPU",
            seconds=mine - other,
        )
    parts = {part: late.parts.get(part, 0) for part in IDLE}
    most = max(parts, key=lambda part: parts[part])
    if idle > 0 and parts[most]:
        return Cause(
            f"whose device is idle for {units.time(idle)} longer a step: {most.label}",
            most in _OF_HOST,
        )
    return None


def _kernels(rank: Waterfall) -> float:
    ran = (rank.timeline.rows["kind"] == Kind.COMPUTE) & (rank.owned > 0)
    return float(ran.sum()) / len(rank.steps)


def _pairs(late: Waterfall, other: Waterfall) -> list[tuple[str, float, float]]:
    """(label, seconds on the late rank, on the other) of common kernels, per step."""
    kernels = [dict(zip(r.bounds.keys, r.bounds.kernels, strict=True)) for r in (late, other)]
    found = []
    for key, p in kernels[1].items():
        mine = kernels[0].get(key)
        if mine and mine.kernel.seconds and p.kernel.seconds:
            times, steps = p.kernel.launches / mine.kernel.launches, len(other.steps)
            found.append((p.label, times * mine.kernel.seconds / steps, p.kernel.seconds / steps))
    return found


def _slower(pairs: list[tuple[str, float, float]]) -> float:
    """The late rank's time over the other's; 0 without common kernels."""
    there = sum(other for _, _, other in pairs)
    return sum(mine for _, mine, _ in pairs) / there if there else 0.0
