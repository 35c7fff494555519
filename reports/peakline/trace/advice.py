"""What a step could save at the most, by what, and the measured curve behind it.

Nothing is said that its number does not carry: a saving below a fiftieth of the step is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from peakline import units
from peakline.kernels import Placement, shortened
from peakline.trace.analysis import Analysis
from peakline.trace.bounds import UNKNOWN
from peakline.trace.costs import Links
from peakline.trace.fusing import chains
from peakline.trace.model import Host, Kind, Way
from peakline.trace.part import Part
from peakline.trace.sides import trouble
from peakline.trace.waterfall import Waterfall

_WORTH = 0.02
_NAME = 48  # characters of a kernel's name


@dataclass(frozen=True, slots=True)
class Advice:
    """A sentence on a part, and what it could save."""

    part: Part
    saving_s: float  # of a step, at the most
    text: str  # without its full stop
    topic: str = ""  # of the profile's curve behind it; "" where there is none
    shown: str = ""  # what that curve says


def advice(analysis: Analysis) -> list[Advice]:
    """What could be saved, the most first."""
    found = [said for rule in _RULES for said in rule(analysis)]
    worth = [said for said in found if said.saving_s >= _WORTH * analysis.step_s]
    return sorted(worth, key=lambda said: -said.saving_s)


def _said(analysis: Analysis, part: Part, saving_s: float, text: str, topic: str = "") -> Advice:
    curve = analysis.profile.curve(analysis.ranks[0].device, topic)
    if curve is None or not (curve.title or curve.sentence):
        return Advice(part, saving_s, text)
    return Advice(part, saving_s, text, topic, curve.title or curve.sentence)


def _each(analysis: Analysis, part: Part) -> float:
    """Seconds of a part in a step."""
    return analysis.parts.get(part, 0) / analysis.steps * 1e-9


def _launches(analysis: Analysis) -> Iterator[Advice]:
    seconds = _each(analysis, Part.LAUNCH)
    count = sum(rank.launches for rank in analysis.ranks) / analysis.steps
    node = analysis.ranks[0].costs.node
    if not seconds or count < 1:
        return
    each = units.time(seconds / count)
    if _of_graphs(analysis) > 0.5:
        text = (
            f"{count:.0f} gaps of {each} lie between the nodes of CUDA graphs: fewer and larger "
            "kernels have fewer of them; fuse"
        )
        yield _said(analysis, Part.LAUNCH, seconds, text, "fusion")
    elif node:
        saving = max(0.0, seconds - count * node * 1e-9)
        text = (
            f"launching takes {each} in each of {count:.0f} gaps: a CUDA graph starts a kernel "
            f"in {units.time(node * 1e-9)}"
        )
        yield _said(analysis, Part.LAUNCH, saving, text, "kernel launch")


def _of_graphs(analysis: Analysis) -> float:
    """The share of gaps that nodes of graphs end."""
    gaps = sum(len(rank.gaps.starts) for rank in analysis.ranks)
    return sum(rank.nodes for rank in analysis.ranks) / gaps if gaps else 0.0


def _waits(analysis: Analysis) -> Iterator[Advice]:
    seconds = _each(analysis, Part.SYNCHRONIZATION)
    count = sum(rank.waits for rank in analysis.ranks) / analysis.steps
    if seconds:
        text = (
            f"{count:.3g} times a step the host waits for the device, which then waits "
            "for the next launch: leave values on the device (.item(), .cpu(), a condition on a "
            "tensor), or read them a step later"
        )
        yield _said(analysis, Part.SYNCHRONIZATION, seconds, text, "synchronization")


def _data(analysis: Analysis) -> Iterator[Advice]:
    text = (
        "the device waits for the data loader: give it more workers (num_workers), let them run "
        "ahead (prefetch_factor), and move work out of __getitem__"
    )
    yield _said(analysis, Part.LOADER, _each(analysis, Part.LOADER), text)


def _python(analysis: Analysis) -> Iterator[Advice]:
    text = (
        "nothing is queued while the host computes: take its work out of the loop, or let it run "
        "ahead of the device; torch.compile and CUDA graphs leave less of it"
    )
    yield _said(analysis, Part.PYTHON, _each(analysis, Part.PYTHON), text)


def _allocation(analysis: Analysis) -> Iterator[Advice]:
    text = (
        "memory comes from the driver in each step: keep it (no torch.cuda.empty_cache() in the "
        "loop, buffers allocated once, memory pinned once)"
    )
    yield _said(analysis, Part.ALLOCATION, _each(analysis, Part.ALLOCATION), text, "allocation")


def _copies(analysis: Analysis) -> Iterator[Advice]:
    """Pinned memory for pageable copies, and a stream of their own for all of them."""
    exposed = pinned = pageable = 0.0
    for rank in analysis.ranks:
        rows, links = rank.timeline.rows, Links(analysis.profile, rank.device)
        for activity in np.flatnonzero((rows["kind"] == Kind.COPY) & (rank.owned > 0)).tolist():
            owned = int(rank.owned[activity])
            exposed += owned
            if rows["host"][activity] == Host.PAGEABLE:
                way = Way(int(rows["way"][activity]))
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
    text = (
        f"copies take {units.time(exposed * scale)} that nothing hides: prefetch the next step's "
        "inputs on a stream of their own, from pinned memory"
    )
    yield _said(analysis, part, exposed * scale, text, "overlap")


def _larger(analysis: Analysis, *parts: Part) -> Part:
    return max(parts, key=lambda part: analysis.parts.get(part, 0))


def _kernels(analysis: Analysis) -> Iterator[Advice]:
    """The kernels that take longest beyond their bound, each with what its shape tells."""
    beyond: dict[str, float] = {}
    first: dict[str, Placement] = {}
    for rank in analysis.ranks:
        for place, seconds in _beyond(rank):
            p = rank.bounds.kernels[place]
            beyond[p.kernel.name] = beyond.get(p.kernel.name, 0.0) + seconds
            first.setdefault(p.kernel.name, p)
    longest = sorted(beyond, key=lambda name: -beyond[name])[:3]
    called = shortened([first[name].label for name in longest], _NAME)
    for name in longest:
        p, saving = first[name], beyond[name] / analysis.steps
        label = called[p.label]
        why = trouble(analysis.profile, p, analysis.ranks[0].bounds.sides.get(name, ()))
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


def _fusing(analysis: Analysis) -> Iterator[Advice]:
    """Elementwise kernels that hand each other what they write."""
    for chain in chains(analysis.ranks[0]):
        saving = chain.saving_s * chain.times / len(analysis.ranks[0].steps)
        often = chain.times / len(analysis.ranks[0].steps)
        times = f", {often:.3g} times a step," if often > 1 else ""
        names = ", ".join(dict.fromkeys(chain.names))
        text = (
            f"{chain.count} elementwise kernels one after the other ({names}){times} move "
            f"{units.size(chain.moved)}; in one kernel "
            f"that is {units.size(chain.needed)}: fuse them (torch.compile)"
        )
        yield _said(analysis, Part.KERNELS, saving, text, "fusion")


def _collectives(analysis: Analysis) -> Iterator[Advice]:
    waiting = _each(analysis, Part.COLLECTIVES_WAITING)
    if waiting:
        shares = [rank.share(Part.COLLECTIVES_WAITING) for rank in analysis.ranks]
        last = shares.index(min(shares))
        number = analysis.ranks[last].timeline.trace.rank
        text = (
            f"ranks wait for one another; rank {last if number is None else number} waits the "
            "least, so the others wait for it: look at what it does longer"
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


_RULES: tuple[Callable[[Analysis], Iterator[Advice]], ...] = (
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
