"""Time by module: what the ranges around a launch are called, from the outermost inwards.

Ranges are modules of a stack (`with_stack=True`), `record_function` and NVTX. What the backward
pass launches belongs to the module whose forward operator has its sequence number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peakline.workload.bounds import UNKNOWN
from peakline.workload.model import Int
from peakline.workload.timeline import Timeline, is_step, numberless, outer_spans, span_around
from peakline.workload.waterfall import Waterfall

MODULE = "nn.Module: "  # PyTorch's stacks name modules so, with the number of each of a class
_DEEPEST = 4
_WORTH = 0.005  # of the steps' time

Path = tuple[str, ...]


@dataclass(slots=True)
class Module:
    """What is launched within ranges of one name, in all steps; times are nanoseconds."""

    path: Path  # names without their numbers, the outermost first
    count: int = 0  # of ranges that differ by their number alone: layers
    forward: int = 0
    backward: int = 0
    beyond: int = 0  # their bounds, as far as these are known

    @property
    def label(self) -> str:
        """Its own name, and how many there are of it."""
        return self.path[-1] + (f" × {self.count}" if self.count > 1 else "")

    @property
    def nanoseconds(self) -> int:
        """Both passes."""
        return self.forward + self.backward


def modules(rank: Waterfall, least: float = _WORTH) -> list[Module]:
    """The modules of a share of the time or more, each before those within it; empty without any
    ranges."""
    found: dict[Path, Module] = {}
    members: dict[Path, set[Path]] = {}
    paths, place, backward = _paths(rank.timeline, rank.by)
    bound = np.where(rank.bounds.least == UNKNOWN, rank.owned, rank.bounds.least)
    columns = (rank.owned * ~backward, rank.owned * backward, np.maximum(0, rank.owned - bound))
    sums = [np.bincount(place + 1, time, len(paths) + 1)[1:].tolist() for time in columns]
    for path, *times in zip(paths, *sums, strict=True):
        for depth in range(1, min(len(path), _DEEPEST) + 1):
            key = tuple(map(numberless, path[:depth]))
            module = found.setdefault(key, Module(key))
            members.setdefault(key, set()).add(path[:depth])
            module.forward += round(times[0])
            module.backward += round(times[1])
            module.beyond += round(times[2])
    for key, module in found.items():
        module.count = len(members[key])
    worth = [m for m in found.values() if m.nanoseconds >= least * rank.nanoseconds]
    return _ordered(worth)


def _ordered(found: list[Module]) -> list[Module]:
    """Each module before those within it, the longest first among those of one."""
    times = {module.path: module.nanoseconds for module in found}

    def order(module: Module) -> list[tuple[int, str]]:
        begins = (module.path[: depth + 1] for depth in range(len(module.path)))
        return [(-times.get(path, 0), path[-1]) for path in begins]

    return sorted(found, key=order)


def _paths(timeline: Timeline, by: str) -> tuple[list[Path], Int, NDArray[np.bool_]]:
    """The paths that there are, that of each activity (-1 without one), and whether it is of the
    backward pass.

    by: what steps are called, which is no module.
    """
    ranges, calls, names = timeline.host.ranges, timeline.host.calls, timeline.trace.names
    known = timeline.call >= 0
    when = np.where(known, timeline.launched, -1)
    thread = calls["thread"][timeline.call] if len(calls["thread"]) else np.full(len(when), -1)
    forward_at, forward_on = timeline.forward
    backward = known & (forward_at >= 0)
    when, thread = np.where(backward, forward_at, when), np.where(backward, forward_on, thread)
    place = np.full(len(when), -1, np.int64)
    paths: dict[Path, int] = {}
    for one in np.unique(ranges["thread"]):
        mine = np.flatnonzero(ranges["thread"] == one)
        mine = mine[np.lexsort([-ranges["end"][mine], ranges["start"][mine]])]
        starts, ends = ranges["start"][mine], ranges["end"][mine]
        outer = outer_spans(starts, ends)
        asked = np.flatnonzero(known & (thread == one))
        inner = span_around(starts, ends, outer, when[asked])
        for span in np.unique(inner[inner >= 0]).tolist():
            path: list[str] = []
            at = span
            while at >= 0:
                name = names[int(ranges["name"][mine[at]])]
                if not is_step(name) and numberless(name) != numberless(by):
                    path.insert(0, name.removeprefix(MODULE))
                at = int(outer[at])
            if path:
                number = paths.setdefault(tuple(path), len(paths))
                place[asked[inner == span]] = number
    return list(paths), place, backward
