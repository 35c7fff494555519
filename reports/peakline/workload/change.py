"""Changes between two runs, by part, module and kernel.

Times are means per step over all ranks, so that the changes of parts add up to the step's. Kernels
are compared where name and work are the same; others are marked as not comparable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from peakline import units
from peakline.workload.analysis import Analysis
from peakline.workload.bounds import Key
from peakline.workload.kernel import short_name
from peakline.workload.kernel_names import labels
from peakline.workload.model import TraceFinding
from peakline.workload.modules import modules
from peakline.workload.part import Part

_SIDES = ("before", "after")
_LITTLE = 0.01  # of a step
_OTHER = {True: "other shapes", False: "its work is not known in both runs"}
_WITHOUT = "without shapes"
INTO = " / "  # separates a module from one inside it


@dataclass(frozen=True, slots=True)
class Taken:
    """Mean time and launches of something per step."""

    seconds: float
    launches: float = 0.0

    def __add__(self, other: Taken) -> Taken:
        return Taken(self.seconds + other.seconds, self.launches + other.launches)


@dataclass(frozen=True, slots=True)
class Row:
    """A part, module or kernel before and after; None if a run does not have it."""

    name: str
    before: Taken | None
    after: Taken | None
    note: str = ""
    comparable: bool = True  # False: the same name does other work

    @property
    def change_s(self) -> float:
        """Seconds per step; negative if it became faster."""
        before, after = (side.seconds if side else 0.0 for side in (self.before, self.after))
        return after - before


@dataclass(frozen=True)
class Change:
    """Two runs, compared with the profile of one machine."""

    before: Analysis
    after: Analysis
    parts: tuple[Row, ...]  # named as in Part
    kernels: tuple[Row, ...]  # with collectives and copies, largest change first
    modules: tuple[Row, ...]
    findings: tuple[TraceFinding, ...]  # what is not comparable, and each run's own findings

    @property
    def change_s(self) -> float:
        return self.after.step_s - self.before.step_s

    @property
    def share(self) -> float:
        return self.change_s / self.before.step_s

    @property
    def comparable(self) -> bool:
        """Whether the runs did the same, but for kernels that hardly count: else the change of a
        step says nothing."""
        if any(finding.code in _FACTS for finding in self.findings):
            return False
        other = [row for row in self.kernels if not row.comparable]
        before = sum(row.before.seconds for row in other if row.before)
        after = sum(row.after.seconds for row in other if row.after)
        return before <= _LITTLE * self.before.step_s and after <= _LITTLE * self.after.step_s

    @property
    def overlap(self) -> bool:
        """Whether step times of both runs overlap, so that the change may be chance."""
        (low, high), (lowest, highest) = lengths(self.before), lengths(self.after)
        return low <= highest and lowest <= high


def lengths(analysis: Analysis) -> tuple[float, float]:
    found = [step.length * 1e-9 for rank in analysis.ranks for step in rank.steps]
    return min(found), max(found)


def compare(before: Analysis, after: Analysis) -> Change:
    kernels = tuple(_kernels(_launched(before), _launched(after)))
    findings = [*_differences(before, after), *_of_kernels(kernels)]
    for side, analysis in zip(_SIDES, (before, after), strict=True):
        findings += [
            dataclasses.replace(finding, text=f"{side}: {finding.text}")
            for finding in analysis.findings
            if finding.severity == "warning" or finding.code == "ranks_not_matched"
        ]
    return Change(
        before,
        after,
        tuple(_rows(_parts(before), _parts(after))),
        kernels,
        tuple(_rows(_modules(before), _modules(after))),
        tuple(findings),
    )


def _rows(before: Mapping[str, Taken], after: Mapping[str, Taken]) -> Iterator[Row]:
    """Rows by name, with each module before those inside it."""
    order = {name: place for place, name in enumerate(dict.fromkeys([*before, *after]))}

    def within(name: str) -> list[int]:
        path = name.split(INTO)
        return [order.get(INTO.join(path[: n + 1]), 0) for n in range(len(path))]

    for name in sorted(order, key=within):
        yield Row(name, before.get(name), after.get(name))


def _parts(analysis: Analysis) -> dict[str, Taken]:
    scale = 1e-9 / analysis.steps
    found = analysis.parts
    return {part.value: Taken(found[part] * scale) for part in Part if part in found}


def _modules(analysis: Analysis) -> dict[str, Taken]:
    found: dict[str, Taken] = {}
    for rank in analysis.ranks:
        for module in modules(rank, 0.0):
            name = INTO.join(module.path)
            taken = Taken(module.nanoseconds * 1e-9 / analysis.steps)
            found[name] = found.get(name, Taken(0.0)) + taken
    return found


def _launched(analysis: Analysis) -> dict[Key, Taken]:
    """Activities by name and work, weighted by the time that they own."""
    found: dict[Key, Taken] = {}
    for rank in analysis.ranks:
        names = rank.timeline.rows["name"]
        pairs = np.column_stack([names, rank.bounds.kernel])[rank.owned > 0]
        groups, group = np.unique(pairs, axis=0, return_inverse=True)
        sums = np.bincount(group.ravel(), rank.owned[rank.owned > 0], len(groups))
        counts = np.bincount(group.ravel(), minlength=len(groups))
        for (name, kernel), time, count in zip(groups.tolist(), sums, counts, strict=True):
            key = (
                rank.timeline.trace.names[name],
                rank.bounds.works[kernel] if kernel >= 0 else None,
            )
            taken = Taken(float(time) * 1e-9 / analysis.steps, float(count) / analysis.steps)
            found[key] = found.get(key, Taken(0.0)) + taken
    return found


def _kernels(before: dict[Key, Taken], after: dict[Key, Taken]) -> list[Row]:
    """Kernels with the same name and work; then those with the same work under another name, those
    with the same name but other work, and those of only one run."""
    called = labels(short_name(name) for name, _ in (*before, *after))

    def label(key: Key) -> str:
        return called[short_name(key[0])] + (key[1].size if key[1] else "")

    rows = [Row(label(key), before[key], after[key]) for key in before if key in after]
    left = [{k: v for k, v in side.items() if k not in other}
            for side, other in ((before, after), (after, before))]  # fmt: skip
    for old in list(left[0]):
        same = [new for new in left[1] if new[1] == old[1]]
        rivals = [key for key in left[0] if key[1] == old[1]]
        if old[1] is not None and old[1].sides and len(same) == len(rivals) == 1:
            note = f"the same product by another kernel: {label(same[0])}"
            rows.append(Row(label(old), left[0].pop(old), left[1].pop(same[0]), note))
    others = {name for name, _ in left[1]}
    for name in dict.fromkeys(name for name, _ in left[0] if name in others):
        known = all(work is not None for side in left for of, work in side if of == name)
        old_s, new_s = (
            sum((side.pop(key) for key in list(side) if key[0] == name), Taken(0.0))
            for side in left
        )
        rows.append(Row(called[short_name(name)], old_s, new_s, _OTHER[known], False))
    rows += [Row(label(key), taken, None, "only before") for key, taken in left[0].items()]
    rows += [Row(label(key), None, taken, "only after") for key, taken in left[1].items()]
    return sorted(rows, key=lambda row: -abs(row.change_s))


def _of_kernels(rows: tuple[Row, ...]) -> Iterator[TraceFinding]:
    other = [row for row in rows if not row.comparable]
    if other:
        seconds = sum(row.after.seconds for row in other if row.after)
        yield TraceFinding(
            "other_work",
            "note",
            f"Not comparable: {units.counted(len(other), 'kernel')} of the same name "
            f"({units.time(seconds)} of a step after): other shapes, or work that is not known in "
            "both runs.",
            len(other),
            len(rows),
        )


def _differences(before: Analysis, after: Analysis) -> Iterator[TraceFinding]:
    """Differences between the runs that may explain other times."""
    for code, (what, of) in _FACTS.items():
        values = [of(run) for run in (before, after)]
        if values[0] != values[1]:
            text = f"Not comparable: {what} was {values[0]} before and is {values[1]} after."
            yield TraceFinding(code, "warning", text)
        elif code == "other_shapes" and values[0] == _WITHOUT:
            text = "Shapes were not recorded, so kernels of one name may do other work."
            yield TraceFinding("no_shapes", "note", text)


def _devices(run: Analysis) -> str:
    ran = (rank.timeline.trace.models.get(rank.timeline.device, "") for rank in run.ranks)
    return ", ".join(dict.fromkeys(model or "not known" for model in ran))


def _shapes(run: Analysis) -> str:
    has = any(rank.timeline.trace.has_shapes for rank in run.ranks)
    return "with shapes" if has else _WITHOUT


# In which runs must agree, by the code of the finding where they do not.
_FACTS: Mapping[str, tuple[str, Callable[[Analysis], str]]] = {
    "other_devices": ("the device", _devices),
    "other_ranks": ("the number of ranks", lambda run: str(len(run.ranks))),
    "other_steps": ("what a step is", lambda run: run.ranks[0].by or "the whole trace"),
    "other_shapes": ("the recording", _shapes),
}
