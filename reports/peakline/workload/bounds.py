"""Bounds of a device's activities: kernels by shapes, copies and collectives by size."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from peakline.profile import Profile
from peakline.workload.costs import Links
from peakline.workload.kernel import (
    RECORDING,
    UNKNOWN_UNIT,
    Kernel,
    WorkloadError,
    merge,
    scaled_by_name,
    short_name,
)
from peakline.workload.model import HostMemory, Int, Kind, Way
from peakline.workload.placement import Placement, place_each
from peakline.workload.timeline import Timeline
from peakline.workload.works import OpWork, foreach_work

UNKNOWN = -1
# Power control needs about 0.1 s to slow a device down, or to let it recover.
_REST_NS = 100_000_000
_OPAQUE = re.compile(r"OpaqueType<(\d{1,2})u?>")
_TF32_KERNEL = re.compile("tf32|s1688|s16816gemm_f32")
# Names of kernels that do an operator's arithmetic, rather than convert, reduce or copy.
_ARITHMETIC = re.compile("gemm|gemv|nvjet|cutlass|xmma|cublas|mma|flash|sdpa|attention|conv|triton")


# A kernel's name and the work of one launch.
Key = tuple[str, OpWork | None]


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The least nanoseconds of each activity of a device; UNKNOWN if nothing determines them."""

    least: Int
    kernel: Int  # each activity's place in `kernels`; -1 for others
    kernels: tuple[Placement, ...]  # by name and work, as written
    works: tuple[OpWork | None, ...]  # of one launch of each kernel

    @property
    def keys(self) -> list[Key]:
        """Of `kernels`; those of several ranks are compared by them."""
        return [(p.kernel.name, work) for p, work in zip(self.kernels, self.works, strict=True)]


def bounds_of(timeline: Timeline, profile: Profile, device: str, inside: Int) -> Bounds:
    """The bounds of a device's activities. device: of the profile. inside: nanoseconds of each
    activity within the steps; only kernels with any are placed."""
    count = len(inside)
    least = np.full(count, UNKNOWN, np.int64)
    chosen = np.flatnonzero((timeline.rows["kind"] == Kind.COMPUTE) & (inside > 0))
    kernels, of_groups, group = _grouped(timeline, chosen)
    places = np.full(count, -1, np.int64)
    places[chosen] = group
    placed = place_each(profile, kernels, device) if kernels else []
    for number, p in enumerate(placed):
        answer = p.rewritten
        if answer is None:
            continue
        each = answer.share * (p.kernel.seconds or 0.0) / p.kernel.launches
        least[places == number] = round(each * 1e9)
    _of_links(timeline, Links(profile, device), least)
    return Bounds(least, places, tuple(placed), tuple(of_groups))


def kernels_of(timelines: Sequence[Timeline], name: str) -> list[Kernel]:
    """The merged kernels of a trace. Raises WorkloadError if there are none."""
    found: list[Kernel] = []
    for timeline in timelines:
        rows = timeline.rows
        chosen = np.flatnonzero((rows["kind"] <= Kind.COLLECTIVE) & (rows["way"] == Way.NONE))
        found += _grouped(timeline, chosen)[0]
    if not found:
        raise WorkloadError(
            f"{name}: the trace holds no GPU kernel: "
            + "; ".join({RECORDING[line.trace.tool]["kernels"] for line in timelines})
        )
    return merge(found)


def _grouped(timeline: Timeline, chosen: Int) -> tuple[list[Kernel], list[OpWork | None], Int]:
    """Activities merged by name and work; the work of one launch; each activity's kernel."""
    rows = timeline.rows
    lengths = rows["end"] - rows["start"]
    spans = zip(rows["start"].tolist(), rows["end"].tolist(), strict=True)
    busy = np.fromiter(_loads(spans), np.float64, len(lengths))
    work, works = _works(timeline)
    keys = np.column_stack(
        [
            rows["name"][chosen],
            work[chosen],
            rows["way"][chosen],
            np.where(rows["way"][chosen] > 0, rows["bytes"][chosen], 0),
            rows["flops"][chosen],
            rows["moved"][chosen],
        ]
    )
    # In order of first appearance.
    groups, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    groups, group = groups[order], np.argsort(order)[group.ravel()]
    launches = np.bincount(group, minlength=len(groups))
    sums = [
        np.bincount(group, weights=weights[chosen], minlength=len(groups))
        for weights in (lengths, lengths * busy)
    ]
    of_groups = [works[number] if number >= 0 else None for number in groups[:, 1].tolist()]
    of_each = zip(groups.tolist(), of_groups, launches.tolist(), *sums, strict=True)
    return [_kernel(timeline, *row) for row in of_each], of_groups, group


def _loads(spans: Iterable[tuple[float, float]]) -> Iterator[float]:
    """Nanoseconds that the device had been busy at the end of each activity. spans: starts and ends
    in nanoseconds, sorted by start. A rest that lets the clocks recover ends a load."""
    began = ended = -math.inf
    for start, end in spans:
        if start - ended > _REST_NS:
            began = start
        ended = max(ended, end)
        yield end - began


def _kernel(
    timeline: Timeline,
    key: Sequence[int],
    work: OpWork | None,
    launches: int,
    nanoseconds: float,
    load: float,
) -> Kernel:
    """One kernel for launches of one name and work, with FLOPs and bytes as stated or by shapes.
    load: the sum of each launch's nanoseconds times those that the device had been busy."""
    name, _, way, size, flops, moved = key
    called, unit, unknown = timeline.trace.names[name], UNKNOWN_UNIT, ()
    count, bytes_ = float(flops * launches), {"hbm": float(moved * launches)} if moved else {}
    from_shapes = work is not None and not count and not bytes_
    if way and size:
        written = float(size * launches)
        bytes_ = {"hbm.write": written, "hbm.read": written if way == Way.WITHIN else 0.0}
    else:
        called = short_name(called)
        if work is not None:
            unit, count = work.unit, count or work.flops * launches
            if not bytes_ and (work.read or work.written):
                bytes_ = {"hbm.read": work.read * launches, "hbm.write": work.written * launches}
            if unit == "cuda_core.fp32" and _TF32_KERNEL.search(timeline.trace.names[name]):
                unit = "tensor.tf32"
        if unit == UNKNOWN_UNIT and scaled_by_name(called):
            unit = "tensor.fp8"
        unknown = (*(() if count else ("flops",)), *(() if bytes_ else ("hbm",)))
        if len(unknown) == 2 and not timeline.trace.has_shapes:
            unknown = ("shapes" if timeline.trace.tool != "nsys" else "nsys",)
    return Kernel(
        called,
        launches,
        nanoseconds * 1e-9 or None,
        {unit: count} if count else {},
        bytes_,
        unknown,
        from_shapes,
        load_s=load / nanoseconds * 1e-9 if nanoseconds else 0.0,
        device=timeline.trace.models.get(timeline.device, ""),
        capability=timeline.trace.capabilities.get(timeline.device),
        clipped=name in timeline.trace.clipped,
        scaled=work.scaled if work is not None else "",
    )


def _works(timeline: Timeline) -> tuple[Int, list[OpWork]]:
    """All works, and each launch's index among them; -1 if its operator gives none."""
    known, rows = timeline.trace.operators, timeline.rows
    found = np.full(len(rows["start"]), -1, np.int64)
    places: dict[OpWork, int] = {}
    _of_foreach(timeline, found, places)
    if not len(known):
        return found, list(places)
    kinds, at = known["work"], timeline.operator
    launched = (at >= 0) & (rows["kind"] == Kind.COMPUTE) & (rows["way"] == Way.NONE)
    launched &= kinds[at] >= 0
    chosen = np.flatnonzero(launched)
    # Each replay of a graph does its operators' work again.
    run = at + len(known) * np.where(timeline.replayed, timeline.call + 1, 0)
    order = chosen[np.argsort(run[chosen], kind="stable")]
    borders = np.flatnonzero(np.diff(run[order], prepend=-1, append=-1))
    counts = np.diff(borders)
    works = timeline.trace.works
    # Fast path: most operators do one work by one kernel.
    firsts = order[borders[:-1]]
    for number, one in enumerate(works):
        if len(one) == 1 and not one[0].role:
            alone = firsts[(counts == 1) & (kinds[at[firsts]] == number)]
            found[alone] = places.setdefault(one[0], len(places)) if len(alone) else -1
    for begin, end in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        of_operator = works[int(kinds[at[order[begin]]])]
        if end - begin == 1 and len(of_operator) == 1 and not of_operator[0].role:
            continue
        group = [
            _Launched(timeline.name(a), int(rows["end"][a] - rows["start"][a]), a)
            for a in order[begin:end].tolist()
        ]
        for activity, share in _shared(of_operator, group):
            found[activity] = places.setdefault(share, len(places))
    return found, list(places)


class _Launched(NamedTuple):
    name: str
    nanoseconds: int
    activity: int


def _shared(operator: Sequence[OpWork], group: Sequence[_Launched]) -> Iterator[tuple[int, OpWork]]:
    """The activities in `group` that do an operator's work, each with its share."""
    roles: dict[str, list[OpWork]] = {}
    for work in operator:
        roles.setdefault(work.role, []).append(work)
    doers = {role: _doers(group, role) for role, works in roles.items() if len(works) == 1}
    left = [role for role, found in doers.items() if not found and roles[role][0].flops]
    if left:
        # A library's kernel may have a name without the role.
        others = [one for one in group if not any(role and role in one.name for role in roles)]
        doers |= dict(zip(left, _longest(others, len(left)), strict=False))
    for role, works in roles.items():
        if len(works) > 1:
            yield from _one_each(works, [one for one in group if role in one.name])
            continue
        parts = doers[role]
        for one in parts:
            size = _OPAQUE.search(one.name) if works[0].opaque else None
            if size or not works[0].opaque:
                yield one.activity, works[0].times((int(size[1]) if size else 1) / len(parts))


def _one_each(
    works: Sequence[OpWork], launches: Sequence[_Launched]
) -> Iterator[tuple[int, OpWork]]:
    """Gives the most bytes to the longest launch, if there are as many launches as works."""
    if len(works) == len(launches):
        longest = sorted(launches, key=lambda one: -one.nanoseconds)
        largest = sorted(works, key=lambda work: -work.read - work.written)
        for one, work in zip(longest, largest, strict=True):
            yield one.activity, work


def _longest(group: Sequence[_Launched], wanted: int) -> Sequence[list[_Launched]]:
    """The launches of the `wanted` names that take the longest; none if one of these does no
    arithmetic, since the worker is then unknown."""
    names: dict[str, list[_Launched]] = {}
    for one in group:
        names.setdefault(one.name, []).append(one)
    longest = sorted(names.values(), key=lambda found: -sum(one.nanoseconds for one in found))
    found = longest[:wanted]
    return found if all(_ARITHMETIC.search(of[0].name.lower()) for of in found) else []


def _doers(group: Sequence[_Launched], role: str) -> list[_Launched]:
    """The kernels that share an operator's work: those of the name that takes the longest."""
    candidates = [one for one in group if role in one.name]
    if not role:
        found = [one for one in candidates if _ARITHMETIC.search(one.name.lower())]
        candidates = found or candidates
    times: Counter[str] = Counter()
    for one in candidates:
        times[one.name] += one.nanoseconds
    longest = max(times, key=lambda name: times[name], default="")
    return [one for one in candidates if one.name == longest]


def _of_foreach(timeline: Timeline, found: Int, places: dict[OpWork, int]) -> None:
    """Sets the works of kernels over tensor lists, by their names and grids."""
    of_lists = timeline.trace.named(timeline.rows, lambda name: "multi_tensor_apply" in name)
    for activity in np.flatnonzero(of_lists).tolist():
        work = foreach_work(timeline.name(activity), int(timeline.rows["blocks"][activity]))
        if work is not None:
            found[activity] = places.setdefault(work, len(places))


def _of_links(timeline: Timeline, links: Links, least: Int) -> None:
    rows, messages = timeline.rows, timeline.trace.messages
    for activity in np.flatnonzero(rows["kind"] != Kind.COMPUTE).tolist():
        if rows["kind"][activity] == Kind.COPY:
            way, host = Way(int(rows["way"][activity])), HostMemory(int(rows["host"][activity]))
            found = links.copy(way, host, int(rows["bytes"][activity]))
        else:
            place_ = int(rows["message"][activity])
            found = links.collective(messages[place_]) if place_ >= 0 else None
        least[activity] = UNKNOWN if found is None else found
