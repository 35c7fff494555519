"""What a step could save at the most, by what, and the measured curve behind it.

Nothing is said that its number does not carry: a saving below a fiftieth of the step is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from peakline import units
from peakline.workload.analysis import Analysis
from peakline.workload.bounds import UNKNOWN
from peakline.workload.costs import Links
from peakline.workload.fusing import chain
from peakline.workload.labels import shortened
from peakline.workload.model import Finding, Host, Kind, Way
from peakline.workload.part import Part
from peakline.workload.placement import Placement
from peakline.workload.sides import trouble
from peakline.workload.waterfall import Waterfall
from peakline.workload.works import Work

_WORTH = 0.02
_NAME = 48  # characters of a kernel's name


def advice(analysis: Analysis) -> list[Finding]:
    """What could be saved, the most first."""
    found = [said for rule in _RULES for said in rule(analysis)]
    worth = [said for said in found if said.saving_s >= _WORTH * analysis.step_s]
    return sorted(worth, key=lambda said: -said.saving_s)


def _said(
    analysis: Analysis, part: Part, saving_s: float, text: str, topic: str = "", place: int = 0
) -> Finding:
    """place: that of the rank whose time it is."""
    curve = analysis.profile.curve(analysis.ranks[0].device, topic)
    shown = (curve.title or curve.sentence) if curve else ""
    several = len(analysis.ranks) > 1
    return Finding(
        part.value,
        "saving",
        text,
        rank=analysis.number(place) if several else None,
        saving_s=saving_s,
        topic=topic if shown else "",
        shown=shown,
    )


def _each(analysis: Analysis, part: Part) -> float:
    """Seconds of a part in a step."""
    return analysis.parts.get(part, 0) / analysis.steps * 1e-9


def _launches(analysis: Analysis) -> Iterator[Finding]:
    seconds = _each(analysis, Part.LAUNCH)
    count = sum(rank.launches for rank in analysis.ranks) / analysis.steps
    node = analysis.ranks[0].costs.node
    if not seconds or count < 1:
        return
    each, gaps = units.time(seconds / count), f"{count:.0f} gap{'' if round(count) == 1 else 's'}"
    if _of_graphs(analysis) > 0.5:
        text = (
            f"nodes of CUDA graphs have {gaps} of {each} between them: fewer and larger kernels "
            "have fewer; fuse"
        )
        yield _said(analysis, Part.LAUNCH, seconds, text, "fusion")
    elif node:
        saving = max(0.0, seconds - count * node * 1e-9)
        text = (
            f"launching takes {each} in each of {gaps}: a CUDA graph starts a kernel in "
            f"{units.time(node * 1e-9)}"
        )
        yield _said(analysis, Part.LAUNCH, saving, text, "kernel launch")


def _often(count: float) -> str:
    number = f"{count:.3g}"
    return "once" if number == "1" else f"{number} times"


def _of_graphs(analysis: Analysis) -> float:
    """The share of gaps that nodes of graphs end."""
    gaps = sum(len(rank.gaps.starts) for rank in analysis.ranks)
    return sum(rank.nodes for rank in analysis.ranks) / gaps if gaps else 0.0


def _waits(analysis: Analysis) -> Iterator[Finding]:
    seconds = _each(analysis, Part.SYNCHRONIZATION)
    count = sum(rank.waits for rank in analysis.ranks) / analysis.steps
    if seconds:
        text = (
            f"{_often(count)} a step the host waits for the device, which then waits "
            "for the next launch: leave values on the device (.item(), .cpu(), a condition on a "
            "tensor), or read them a step later"
        )
        yield _said(analysis, Part.SYNCHRONIZATION, seconds, text, "synchronization")


def _data(analysis: Analysis) -> Iterator[Finding]:
    text = (
        "the device waits for the data loader: give it more workers (num_workers), let them run "
        "ahead (prefetch_factor), and move work out of __getitem__"
    )
    yield _said(analysis, Part.LOADER, _each(analysis, Part.LOADER), text)


def _python(analysis: Analysis) -> Iterator[Finding]:
    text = (
        "nothing is queued while the host computes: take its work out of the loop, or let it run "
        "ahead of the device; torch.compile and CUDA graphs leave less of it"
    )
    yield _said(analysis, Part.PYTHON, _each(analysis, Part.PYTHON), text)


def _allocation(analysis: Analysis) -> Iterator[Finding]:
    text = (
        "memory comes from the driver in each step: keep it (no torch.cuda.empty_cache() in the "
        "loop, buffers allocated once, memory pinned once)"
    )
    yield _said(analysis, Part.ALLOCATION, _each(analysis, Part.ALLOCATION), text, "allocation")


def _copies(analysis: Analysis) -> Iterator[Finding]:
    """Pinned memory for pageable copies, and a stream of their own for all of them."""
    inputs = others = pinned = pageable = 0.0
    for rank in analysis.ranks:
        rows, links = rank.timeline.rows, Links(analysis.profile, rank.device)
        for activity in np.flatnonzero((rows["kind"] == Kind.COPY) & (rank.owned > 0)).tolist():
            owned, way = int(rank.owned[activity]), Way(int(rows["way"][activity]))
            inputs += owned * (way == Way.TO_DEVICE)
            others += owned * (way != Way.TO_DEVICE)
            if rows["host"][activity] == Host.PAGEABLE:
                best = links.copy(way, Host.PINNED, int(rows["bytes"][activity]))
                pageable += owned
                pinned += min(owned, best) if best is not None else owned
    scale = 1e-9 / analysis.steps
    part = _larger(analysis, Part.COPIES, Part.COPIES_BEYOND, Part.COPIES_UNKNOWN)
    if pageable:
        text = (
            f"copies from and to pageable memory take {units.time(pageable * scale)} that nothing "
            f"hides; pinned memory needs {units.time(pinned * scale)} for the same bytes "
            "(pin_memory=True, non_blocking=True)"
        )
        yield _said(analysis, part, (pageable - pinned) * scale, text, "host memory")
    for which, seconds, what in (
        (
            "copies to the device",
            inputs * scale,
            "prefetch the next step's inputs from pinned memory",
        ),
        ("other copies", others * scale, "put them"),
    ):
        text = f"{which} take {units.time(seconds)} that nothing hides: {what} on a separate stream"
        yield _said(analysis, part, seconds, text, "overlap")


def _larger(analysis: Analysis, *parts: Part) -> Part:
    return max(parts, key=lambda part: analysis.parts.get(part, 0))


def _kernels(analysis: Analysis) -> Iterator[Finding]:
    """The kernels that take longest beyond their bound, each with what its shape tells."""
    # By name and work: one kernel may compute products of many shapes.
    beyond: dict[tuple[str, Work | None], float] = {}
    first: dict[tuple[str, Work | None], Placement] = {}
    for rank in analysis.ranks:
        for place, seconds in _beyond(rank):
            p = rank.bounds.kernels[place]
            key = (p.kernel.name, rank.bounds.works[place])
            beyond[key] = beyond.get(key, 0.0) + seconds
            first.setdefault(key, p)
    longest = sorted(beyond, key=lambda key: -beyond[key])[:3]
    called = shortened([first[key].label for key in longest], _NAME)
    for key in longest:
        p, saving = first[key], beyond[key] / analysis.steps
        sides = key[1].sides if key[1] else None
        label = called[p.label]
        if sides:
            label += f" ({' x '.join(str(side) for side in sides[:3])})"
        why = trouble(analysis.profile, p, sides) if sides else None
        topic = why.topic if why else (p.reason.topic if p.reason else "")
        text = f"the kernel {label} takes {units.time(saving)} beyond its bound"
        if why:
            text += f": {why.text}"
        elif p.reason:
            text += f": {p.reason.text}"
        yield _said(analysis, Part.KERNELS_BEYOND, saving, text, topic)


def _beyond(rank: Waterfall) -> Iterator[tuple[int, float]]:
    """Seconds that each kernel owns beyond its bound, over all steps."""
    least, owned, kernel = rank.bounds.least, rank.owned, rank.bounds.kernel
    known = (kernel >= 0) & (least != UNKNOWN)
    sums = np.bincount(
        kernel[known],
        weights=np.maximum(0, owned[known] - least[known]),
        minlength=len(rank.bounds.kernels),
    )
    yield from ((place, float(time) * 1e-9) for place, time in enumerate(sums) if time)


def _fusing(analysis: Analysis) -> Iterator[Finding]:
    """Elementwise kernels that may hand each other what they write."""
    if found := chain(analysis.ranks[0]):
        often = found.times / len(analysis.ranks[0].steps)
        times = f", {_often(often)} a step," if often > 1 else ""
        text = (
            f"{found.count} elementwise kernels one after the other ({', '.join(found.names)})"
            f"{times} move {units.size(found.moved)}; if each reads what the one before it wrote, "
            f"one kernel would move {units.size(found.needed)}: fuse them (torch.compile)"
        )
        yield _said(analysis, Part.KERNELS, found.saving_s * often, text, "fusion")


def _collectives(analysis: Analysis) -> Iterator[Finding]:
    waiting = _each(analysis, Part.COLLECTIVES_WAITING)
    if waiting:
        awaited = [rank.awaited for rank in analysis.ranks]
        last = analysis.number(awaited.index(max(awaited)))
        text = (
            f"ranks wait for one another, most of all for rank {last}: look at what it does longer"
        )
        yield _said(analysis, Part.COLLECTIVES_WAITING, waiting, text)
    exposed = sum(
        _each(analysis, part)
        for part in (Part.COLLECTIVES, Part.COLLECTIVES_BEYOND, Part.COLLECTIVES_UNKNOWN)
    )
    text = (
        f"collectives take {units.time(exposed)} that no kernel hides: start them as soon as a "
        "bucket of gradients is there, or prefetch parameters"
    )
    part = _larger(analysis, Part.COLLECTIVES, Part.COLLECTIVES_BEYOND, Part.COLLECTIVES_UNKNOWN)
    yield _said(analysis, part, exposed, text)


_RULES: tuple[Callable[[Analysis], Iterator[Finding]], ...] = (
    _launches,
    _waits,
    _data,
    _python,
    _allocation,
    _copies,
    _kernels,
    _fusing,
    _collectives,
)
