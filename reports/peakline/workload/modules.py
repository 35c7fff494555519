"""Time by module: the names of the ranges around a launch, outermost first.

Ranges are modules of a stack (`with_stack=True`), `record_function` and NVTX. A backward launch
belongs to the module of the forward operator with its sequence number.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peakline.workload.bounds import UNKNOWN
from peakline.workload.model import MODULE, Int
from peakline.workload.step_names import is_step, numberless
from peakline.workload.timeline import Nested, Timeline
from peakline.workload.waterfall import Waterfall

_DEEPEST = 4
_WORTH = 0.005  # of the steps' time

Path = tuple[str, ...]


@dataclass(slots=True)
class Module:
    """Nanoseconds launched within ranges of one name, over all steps."""

    path: Path  # names without numbers, outermost first
    count: int = 0  # of ranges that differ only by number: layers
    forward: int = 0
    backward: int = 0
    beyond: int = 0  # above the known bounds

    @property
    def label(self) -> str:
        """Its name, with the number of ranges."""
        return self.path[-1] + (f" × {self.count}" if self.count > 1 else "")

    @property
    def nanoseconds(self) -> int:
        return self.forward + self.backward


def modules(rank: Waterfall, least: float = _WORTH) -> list[Module]:
    """The modules with at least this share of the time, each before those inside it."""
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
    """Modules before those inside them, and the longest first among siblings."""
    times = {module.path: module.nanoseconds for module in found}

    def order(module: Module) -> list[tuple[int, str]]:
        begins = (module.path[: depth + 1] for depth in range(len(module.path)))
        return [(-times.get(path, 0), path[-1]) for path in begins]

    return sorted(found, key=order)


def _paths(timeline: Timeline, by: str) -> tuple[list[Path], Int, NDArray[np.bool_]]:
    """All paths, each activity's path (-1 without one), and whether it is of the backward pass. by:
    the name of steps, which are not modules."""
    ranges, names = timeline.host.ranges, timeline.trace.names
    (when, who), (forward_at, forward_on) = timeline.launch, timeline.forward
    backward = forward_at >= 0
    nested = Nested(ranges["start"], ranges["end"], ranges["thread"])
    inner = nested.around(np.where(backward, forward_at, when), np.where(backward, forward_on, who))
    spans, of_span = np.unique(inner, return_inverse=True)
    numbers = np.full(len(spans), -1, np.int64)
    paths: dict[Path, int] = {}
    for number, span in enumerate(spans.tolist()):
        path: list[str] = []
        at = span
        while at >= 0:
            name = names[int(ranges["name"][at])]
            if not is_step(name) and numberless(name) != numberless(by):
                path.insert(0, name.removeprefix(MODULE))
            at = int(nested.outer[at])
        if path:
            numbers[number] = paths.setdefault(tuple(path), len(paths))
    return list(paths), numbers[of_span.ravel()], backward
