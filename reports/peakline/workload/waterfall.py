"""The parts of a device's steps, which add up exactly."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from peakline.profile import Profile
from peakline.workload.beside import lost_beside_collectives
from peakline.workload.bounds import UNKNOWN, Bounds, bounds_of
from peakline.workload.costs import Costs, costs_of
from peakline.workload.gaps import Causing, Spans
from peakline.workload.model import Int, Kind
from peakline.workload.owners import Gaps, Owned, divide
from peakline.workload.part import COLLECTIVES, COPIES, KERNELS, Part
from peakline.workload.ranks import Meetings
from peakline.workload.step_names import numberless, phase
from peakline.workload.timeline import Step, Timeline, steps, whole

_BOUND = {Kind.COMPUTE: KERNELS, Kind.COLLECTIVE: COLLECTIVES, Kind.COPY: COPIES}


@dataclass(frozen=True)
class Waterfall:
    """The steps of one device, in nanoseconds of each part."""

    timeline: Timeline
    device: str  # of the profile
    costs: Costs
    steps: tuple[Step, ...]
    by: str  # name of the step ranges, or "" for the whole trace
    parts: Mapping[Part, int]  # over all steps, in the order of Part; the sum is `nanoseconds`
    each: tuple[Mapping[Part, int], ...]  # by step
    owned: Int  # by activity
    bounds: Bounds
    clipped: int  # activities whose bound exceeds their owned time
    launches: int  # gaps with launch time
    waits: int  # gaps with a synchronization
    nodes: int  # gaps between graph nodes
    awaited: int  # nanoseconds that other ranks waited for this one, hidden waiting included
    gaps: Gaps
    transfers: Mapping[int, int]  # nanoseconds that a collective transfers, by activity, if known

    @property
    def nanoseconds(self) -> int:
        return sum(step.length for step in self.steps)

    @property
    def step_s(self) -> float:
        return self.nanoseconds / len(self.steps) * 1e-9

    @property
    def idle(self) -> int:
        return sum(time for part, time in self.parts.items() if part.is_idle)

    def idle_between(self, instants: Sequence[int]) -> list[int]:
        """Nanoseconds in which nothing runs between each instant and the next."""
        edges = np.array(instants, np.int64)
        found: list[int] = Spans(*self.gaps[:2]).inside(edges[:-1], edges[1:]).tolist()
        return found

    def share(self, part: Part) -> float:
        """The share of the steps' time."""
        return self.parts.get(part, 0) / self.nanoseconds


def waterfall(
    timeline: Timeline, profile: Profile, device: str, wanted: str, met: Meetings
) -> Waterfall:
    """Divides a device's steps into parts. device: of the profile. wanted: the name of the ranges
    that are steps. met: its collectives, compared with other ranks'."""
    rows, found = timeline.rows, steps(timeline, wanted)
    name = found[0].name if found else ""
    by = numberless(name) if phase(name) else name.rstrip("0123456789").strip()
    found = found or [whole(timeline)]
    costs = costs_of(profile, device)
    causing = Causing(timeline, costs)
    divided = [_divided(timeline, step) for step in found]
    owned = np.zeros(len(rows["start"]), np.int64)
    for around, division in divided:
        owned[around] += division.nanoseconds
    bounds = bounds_of(timeline, profile, device, owned)
    beside = lost_beside_collectives(timeline, bounds)
    each, clipped, total = [], 0, Counter[Part]()
    for step, (around, division) in zip(found, divided, strict=True):
        bounded = (bounds.least[around], beside[around])
        parts, shorter = _activities(timeline, step, around, division, bounded, met.transfers)
        parts.update(causing.of(division.gaps))
        each.append(_in_order(parts))
        total.update(parts)
        clipped += shorter
    gaps = Gaps(*map(np.concatenate, zip(*(d.gaps for _, d in divided), strict=True)))
    return Waterfall(
        timeline, device, costs, tuple(found), by, _in_order(total), tuple(each), owned, bounds,
        clipped, causing.launches, causing.waits, causing.nodes, met.awaited, gaps, met.transfers,
    )  # fmt: skip


def _in_order(parts: Mapping[Part, int]) -> dict[Part, int]:
    return {part: parts[part] for part in Part if parts[part]}


def _divided(timeline: Timeline, step: Step) -> tuple[slice, Owned]:
    """The activities around a step, and the division of its time among them."""
    rows = timeline.rows
    high = int(np.searchsorted(rows["start"], step.end))
    # The first activity still running at the step's start.
    low = int(np.searchsorted(timeline.until, step.start, side="right"))
    around = slice(low, max(low, high))
    following = high if high < len(rows["start"]) else -1
    found = divide(
        rows["start"][around],
        rows["end"][around],
        rows["kind"][around],
        (step.start, step.end),
        following - low if following >= 0 else -1,
    )
    enders = np.where(found.gaps.enders >= 0, found.gaps.enders + low, -1)
    return around, Owned(found.nanoseconds, found.gaps._replace(enders=enders))


def _activities(
    timeline: Timeline,
    step: Step,
    around: slice,
    division: Owned,
    bounded: tuple[Int, Int],
    transfers: Mapping[int, int],
) -> tuple[Counter[Part], int]:
    """A step's parts by activities, and the number of those that own less than their bound.
    bounded: the least time of each activity, and what it loses beside collectives."""
    bound, beside = bounded
    rows = {key: timeline.rows[key][around] for key in ("start", "end", "kind")}
    owned = division.nanoseconds
    lengths = rows["end"] - rows["start"]
    inside = np.minimum(rows["end"], step.end) - np.maximum(rows["start"], step.start)
    # An activity that spans two steps has a share of its bound in each.
    cut = (owned > 0) & (inside < lengths) & (bound >= 0)
    # As floats: the product overflows 64 bits for a copy of seconds.
    part = (bound * (inside / np.maximum(lengths, 1))).astype(np.int64)
    bound = np.where(cut, part, bound)
    waiting = np.zeros(len(owned), np.int64)
    for activity, transfer in transfers.items():
        place = activity - around.start
        if 0 <= place < len(owned):
            # A collective waits first and transfers last, so a concurrent kernel hides the waiting.
            waiting[place] = max(0, owned[place] - transfer)
    parts = Counter({Part.COLLECTIVES_WAITING: int(waiting.sum())})
    before = timeline.before[around]
    parts[Part.BEFORE] = int((owned - waiting)[before].sum())
    moved = np.where(before, 0, owned - waiting)
    for kind, (at_bound, beyond, unknown) in _BOUND.items():
        mine = (rows["kind"] == kind) & (moved > 0)
        known = mine & (bound != UNKNOWN)
        parts[at_bound] = int(np.minimum(moved, bound)[known].sum())
        parts[beyond] = int(moved[known].sum()) - parts[at_bound]
        parts[unknown] = int(moved[mine & ~known].sum())
        slower = np.minimum(beside, moved - np.where(known, np.minimum(moved, bound), 0))
        for part, chosen in ((beyond, mine & known), (unknown, mine & ~known)):
            parts[part] -= int(slower[chosen].sum())
            parts[Part.KERNELS_BESIDE] += int(slower[chosen].sum())
    return parts, int(((bound > moved) & (moved > 0)).sum())
