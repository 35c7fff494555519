"""The least time of what ran on a device: kernels by shapes, copies and collectives by size."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from peakline.kernels import Kernel, Placement, place
from peakline.kernels.kernel import merge
from peakline.kernels.shapes import Work
from peakline.kernels.trace import doers, kernel_of
from peakline.profile import Profile, printable
from peakline.trace.costs import Links
from peakline.trace.model import Host, Int, Kind, Way
from peakline.trace.timeline import Timeline

# Power control takes a tenth of a second to slow a device down, and as long to let it recover.
_REST_NS = 100_000_000
UNKNOWN = -1


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The least nanoseconds of each activity of a device; UNKNOWN where nothing tells."""

    least: Int
    kernel: Int  # of each activity, its place among `kernels`; -1 of those that are none
    kernels: tuple[Placement, ...]  # launches of one name and work together, as they are written
    works: tuple[Work | None, ...]  # of one launch of each
    table: tuple[Placement, ...]  # the kernels with one row a name, most to gain first

    @property
    def sides(self) -> dict[str, list[tuple[int, int, int, int]]]:
        """Rows, columns, inner side and bytes of an element of the products of each kernel."""
        found: dict[str, list[tuple[int, int, int, int]]] = {}
        for p, work in zip(self.kernels, self.works, strict=True):
            if work is not None and work.sides is not None:
                found.setdefault(p.kernel.name, []).append(work.sides)
        return found


def bounds_of(timeline: Timeline, profile: Profile, device: str, inside: Int) -> Bounds:
    """The bounds of a device's activities.

    device: of the profile. inside: nanoseconds of each activity within the steps; the kernels'
    table counts those that have any.
    """
    count = len(inside)
    least = np.full(count, UNKNOWN, np.int64)
    rows = timeline.rows
    lengths = rows["end"] - rows["start"]
    works = _works(timeline)
    places = np.full(count, -1, np.int64)
    groups: dict[tuple[int, Work | None, int, int], int] = {}
    members: list[list[int]] = []
    # Of launches with one name and work, one stands for all.
    for activity in np.flatnonzero((rows["kind"] == Kind.COMPUTE) & (inside > 0)).tolist():
        way = int(rows["way"][activity])
        size = int(rows["bytes"][activity]) if way else 0
        key = (int(rows["name"][activity]), works.get(activity), way, size)
        found = groups.setdefault(key, len(members))
        if found == len(members):
            members.append([])
        members[found].append(activity)
        places[activity] = found
    loads = _loads(rows)
    kernels = [
        _kernel(timeline, key, np.array(group), lengths, loads)
        for key, group in zip(groups, members, strict=True)
    ]
    placed = _in_order(profile, kernels, device)
    for number, p in enumerate(placed):
        answer = p.rewritten
        if answer is None:
            continue
        each = answer.share * (p.kernel.seconds or 0.0) / p.kernel.launches
        least[places == number] = round(each * 1e9)
    _of_links(timeline, Links(profile, device), least)
    table = place(profile, merge(kernels), device) if kernels else []
    return Bounds(least, places, tuple(placed), tuple(key[1] for key in groups), tuple(table))


def _in_order(profile: Profile, kernels: Sequence[Kernel], device: str) -> list[Placement]:
    """The placements of kernels, in the kernels' order."""
    if not kernels:
        return []
    by_kernel = {id(p.kernel): p for p in place(profile, kernels, device)}
    return [by_kernel[id(kernel)] for kernel in kernels]


def _kernel(
    timeline: Timeline,
    key: tuple[int, Work | None, int, int],
    members: Int,
    lengths: Int,
    loads: Int,
) -> Kernel:
    """Launches of one name and work, as one kernel."""
    name, work, way, size = key
    launches, nanoseconds = len(members), int(lengths[members].sum())
    called = printable(timeline.trace.names[name])
    event = {"name": called, "dur": nanoseconds * 1e-3, "args": {}}
    load_s = float(np.average(loads[members], weights=lengths[members])) * 1e-9
    model = timeline.trace.models.get(timeline.device, "")
    if way and size:
        moved = {"hbm.write": float(size * launches)}
        if way == Way.WITHIN:
            moved["hbm.read"] = moved["hbm.write"]
        else:
            moved["hbm.read"] = 0.0
        return Kernel(called, launches, nanoseconds * 1e-9, {}, moved, load_s=load_s, device=model)
    if work is not None:
        work = dataclasses.replace(
            work,
            flops=work.flops * launches,
            read=work.read * launches,
            written=work.written * launches,
        )
    lacking = ("flops", "hbm") if timeline.trace.has_shapes else ("shapes",)
    made = kernel_of(event, work, lacking)
    return dataclasses.replace(made, launches=launches, load_s=load_s, device=model)


def _works(timeline: Timeline) -> dict[int, Work]:
    """The work of each launch whose operator's shapes tell it."""
    known, rows = timeline.trace.works, timeline.rows
    if not known:
        return {}
    operators = rows["operator"]
    interesting = np.isin(operators, np.fromiter(known, np.int64, len(known)))
    chosen = np.flatnonzero(interesting & (rows["kind"] == Kind.COMPUTE) & (rows["way"] == 0))
    groups: dict[int, list[dict[str, object]]] = {}
    for activity in chosen.tolist():
        event = {
            "name": timeline.name(activity),
            "dur": int(rows["end"][activity] - rows["start"][activity]) * 1e-3,
            "activity": activity,
        }
        groups.setdefault(int(operators[activity]), []).append(event)
    shares: dict[int, Work] = {}
    for operator, group in groups.items():
        for work in known[operator]:
            parts = doers(group, work.role)
            for event in parts:
                shares[event["activity"]] = dataclasses.replace(
                    work,
                    flops=work.flops / len(parts),
                    read=work.read / len(parts),
                    written=work.written / len(parts),
                )
    return shares


def _loads(rows: dict[str, Int]) -> Int:
    """Nanoseconds that the device had been busy without a rest when each activity ended."""
    starts, ends = rows["start"], rows["end"]
    until = np.maximum.accumulate(ends)
    rested = np.ones(len(starts), bool)
    rested[1:] = starts[1:] - until[:-1] > _REST_NS
    began = np.maximum.accumulate(np.where(rested, starts, starts[0]))
    found: Int = ends - began
    return found


def _of_links(timeline: Timeline, links: Links, least: Int) -> None:
    """The bounds of copies over a link and of collectives."""
    rows, messages = timeline.rows, timeline.trace.messages
    for activity in np.flatnonzero(rows["kind"] != Kind.COMPUTE).tolist():
        if rows["kind"][activity] == Kind.COPY:
            way, host = Way(int(rows["way"][activity])), Host(int(rows["host"][activity]))
            found = links.copy(way, host, int(rows["bytes"][activity]))
        else:
            place_ = int(rows["message"][activity])
            found = links.collective(messages[place_]) if place_ >= 0 else None
        least[activity] = UNKNOWN if found is None else found
