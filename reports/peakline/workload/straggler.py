"""Why other ranks wait for one: more work, a slower device or kernel, or a late host.

Kernels are compared across ranks by name and work: how often each runs, and how long a launch
takes. NCCL's kernels of waiting ranks spin and slow concurrent kernels there, so only a larger
difference shows a slow rank.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from peakline import units
from peakline.workload.bounds import Key
from peakline.workload.kernel_names import shortened
from peakline.workload.model import Kind
from peakline.workload.part import IDLE, Part
from peakline.workload.waterfall import Waterfall

# Idle parts with a finding of their own.
_OF_HOST = (Part.LAUNCH, Part.SYNCHRONIZATION, Part.LOADER, Part.PYTHON, Part.ALLOCATION)
_MORE = 1.1  # ratio of kernel counts, or of times for the same kernels
_WORTH = 0.01  # of the step
_NAME = 48  # characters of a kernel's name


def often(count: float) -> str:
    number = f"{count:.3g}"
    return {"0": "never", "1": "once"}.get(number, f"{number} times")


@dataclass(frozen=True, slots=True)
class Cause:
    text: str  # a relative clause about the rank
    of_host: bool = False
    seconds: float = 0.0  # per step, waiting that kernels of other ranks hide included


def cause(late: Waterfall, waiting: Waterfall) -> Cause | None:
    """Why a rank is late; None if the recording does not show it."""
    many, few = _kernels(late), _kernels(waiting)
    mine, theirs = _ran(late), _ran(waiting)
    pairs = _pairs(mine, theirs)
    slower = _slower(pairs)
    least = _WORTH * late.step_s
    extra = _extra(mine, theirs)
    seconds = sum(extra.values())
    if many > _MORE * few > 0:
        than = "are no slower" if slower <= 1 else f"take {slower:.2f} x as long"
        same = f" (kernels that both run {than} on it)" if slower else ""
        return Cause(
            f"which runs {many:.0f} kernels a step instead of {few:.0f}: more work, not a slow "
            f"GPU{same}",
            seconds=seconds,
        )
    if seconds > max(least, sum(long - short for _, long, short in pairs)):
        key = max(extra, key=lambda key: extra[key])
        count, before = (ran[key].launches if key in ran else 0 for ran in (mine, theirs))
        label = shortened([mine[key].label], _NAME)[mine[key].label]
        return Cause(
            f"whose kernels take {units.time(seconds)} more a step, as it runs {label}"
            f"{key[1].size if key[1] else ''} {often(count)} instead of {often(before)}: more "
            "work, not a slow GPU",
            seconds=seconds,
        )
    # A single slow kernel may depend on its data; a slow GPU slows the others, too.
    worst = max(pairs, key=lambda pair: pair[1] - pair[2], default=("", 0.0, 0.0))
    others = _slower([pair for pair in pairs if pair is not worst])
    if min(slower, others or slower) > _MORE:
        text = f"whose kernels take {slower:.2f} x as long for the same work: a slow GPU"
        return Cause(text, seconds=sum(mine - other for _, mine, other in pairs))
    label, long, short = worst
    idle = 1e-9 * (late.idle / len(late.steps) - waiting.idle / len(waiting.steps))
    if long - short > max(idle, least, (_MORE - 1) * short):
        label = shortened([label], _NAME)[label]
        return Cause(
            f"whose kernel {label} takes {units.time(long)} a step instead of {units.time(short)} "
            "for the same work: that kernel, not a slow GPU",
            seconds=long - short,
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


class _Ran(NamedTuple):
    """A kernel in a step, on average."""

    label: str
    launches: float
    seconds: float


def _ran(rank: Waterfall) -> dict[Key, _Ran]:
    """A rank's kernels by name and work."""
    found: dict[Key, _Ran] = {}
    for key, p in zip(rank.bounds.keys, rank.bounds.kernels, strict=True):
        _, launches, seconds = found.get(key, (p.label, 0.0, 0.0))
        launches += p.kernel.launches / len(rank.steps)
        found[key] = _Ran(p.label, launches, seconds + (p.kernel.seconds or 0.0) / len(rank.steps))
    return found


def _pairs(late: Mapping[Key, _Ran], other: Mapping[Key, _Ran]) -> list[tuple[str, float, float]]:
    """(label, seconds on the late rank, on the other) of as many launches of common kernels."""
    return [
        (label, launches / late[key].launches * late[key].seconds, seconds)
        for key, (label, launches, seconds) in other.items()
        if key in late and late[key].seconds and seconds
    ]


def _extra(late: Mapping[Key, _Ran], other: Mapping[Key, _Ran]) -> dict[Key, float]:
    """Seconds of the launches that only the late rank has; below 0 for those of the other."""
    found = {}
    for key in {**late, **other}:
        launches = [ran[key].launches if key in ran else 0.0 for ran in (late, other)]
        more = launches[0] - launches[1]
        ran = late if more > 0 else other
        if more:
            found[key] = more / ran[key].launches * ran[key].seconds
    return found


def _slower(pairs: list[tuple[str, float, float]]) -> float:
    """The late rank's time over the other's; 0 without common kernels."""
    there = sum(other for _, _, other in pairs)
    return sum(mine for _, mine, _ in pairs) / there if there else 0.0
