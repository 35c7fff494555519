"""Possible savings of a step, with remedies and the measured curves behind them."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from peakline import units
from peakline.profile import Profile
from peakline.workload.analysis import Analysis
from peakline.workload.bounds import UNKNOWN, Key
from peakline.workload.costs import Links
from peakline.workload.fusing import chain
from peakline.workload.kernel_names import shortened
from peakline.workload.model import HostMemory, Kind, TraceFinding, Way
from peakline.workload.part import COLLECTIVES, COPIES, Part
from peakline.workload.placement import Placement
from peakline.workload.straggler import cause, often
from peakline.workload.waterfall import Waterfall

_WORTH = 0.02  # of the step: smaller savings are not reported
_NAME = 48  # characters of a kernel's name
# Tensor Cores load rows in pieces of this size; unaligned rows take a slower path.
_ALIGNED_BYTES = 16
_MOSTLY = 2 / 3  # of the waiting: whose cause is not known
_GOOD_SHARE = 0.8  # of the bound: faster kernels have no trouble with their dimensions


def advice(analysis: Analysis) -> list[TraceFinding]:
    """All savings worth reporting, largest first."""
    found = [said for rule in _RULES for said in rule(analysis)]
    worth = [said for said in found if said.saving_s >= _WORTH * said.step_s]
    return sorted(worth, key=lambda said: -said.saving_s)


def _said(
    analysis: Analysis, part: Part, saving_s: float, text: str, topic: str = "", place: int = 0
) -> TraceFinding:
    """place: of the rank that spends the time."""
    curve = analysis.profile.curve(analysis.ranks[0].device, topic)
    shown = curve.title if curve else ""
    several, step_s = len(analysis.ranks) > 1, analysis.ranks[place].step_s
    return TraceFinding(
        part.value,
        "saving",
        text,
        rank=analysis.number(place) if several else None,
        saving_s=min(saving_s, step_s),
        step_s=step_s,
        topic=topic if shown else "",
        shown=shown,
    )


def _worst(analysis: Analysis, *parts: Part) -> tuple[float, int]:
    """Seconds per step of these parts on the rank with the most of them, and its place. The run
    waits for that rank, so the time is not averaged over ranks."""
    each = [
        sum(rank.parts.get(part, 0) for part in parts) / len(rank.steps) * 1e-9
        for rank in analysis.ranks
    ]
    return max(each), each.index(max(each))


def _launches(analysis: Analysis) -> Iterator[TraceFinding]:
    seconds, place = _worst(analysis, Part.LAUNCH)
    rank = analysis.ranks[place]
    count, node = rank.launches / len(rank.steps), rank.costs.node
    if not seconds or count < 1:
        return
    each, gaps = units.time(seconds / count), units.counted(round(count), "gap")
    if len(rank.gaps.starts) and rank.nodes / len(rank.gaps.starts) > 0.5:
        text = (
            f"nodes of CUDA graphs have {gaps} of {each} between them: fewer and larger kernels "
            "have fewer; fuse"
        )
        yield _said(analysis, Part.LAUNCH, seconds, text, "fusion", place)
    elif node:
        saving = max(0.0, seconds - count * node * 1e-9)
        text = (
            f"launching takes {each} in each of {gaps}: a CUDA graph starts a kernel in "
            f"{units.time(node * 1e-9)}"
        )
        yield _said(analysis, Part.LAUNCH, saving, text, "kernel launch", place)


def _waits(analysis: Analysis) -> Iterator[TraceFinding]:
    seconds, place = _worst(analysis, Part.SYNCHRONIZATION)
    count = analysis.ranks[place].waits / len(analysis.ranks[place].steps)
    if seconds:
        text = (
            f"{often(count)} a step the CPU reads a result (.item(), .cpu(), if tensor:) and the "
            f"GPU idles meanwhile, {units.time(seconds / max(count, 1))} each: keep it on the "
            "GPU, or read it a step later"
        )
        yield _said(analysis, Part.SYNCHRONIZATION, seconds, text, "synchronization", place)


# Remedy and curve by what the host does while nothing is queued.
_OF_HOST = {
    Part.LOADER: (
        "the device waits for the data loader: give it more workers (num_workers), let them run "
        "ahead (prefetch_factor), and move work out of __getitem__",
        "",
    ),
    Part.PYTHON: (
        "nothing is queued while the host computes: take its work out of the loop, or let it run "
        "ahead of the device; torch.compile and CUDA graphs leave less of it",
        "",
    ),
    Part.ALLOCATION: (
        "memory comes from the driver in each step: keep it (no torch.cuda.empty_cache() in the "
        "loop, buffers allocated once, memory pinned once)",
        "allocation",
    ),
}


def _host(analysis: Analysis) -> Iterator[TraceFinding]:
    for part, (text, topic) in _OF_HOST.items():
        seconds, place = _worst(analysis, part)
        yield _said(analysis, part, seconds, text, topic, place)


def _copies(analysis: Analysis) -> Iterator[TraceFinding]:
    """Suggests pinned memory for pageable copies, and a separate stream for all copies."""
    _, place = _worst(analysis, *COPIES)
    rank, part = analysis.ranks[place], _largest(analysis, COPIES)
    inputs = others = pinned = pageable = 0.0
    rows, links = rank.timeline.rows, Links(analysis.profile, rank.device)
    copies = (rows["kind"] == Kind.COPY) & (rows["way"] != Way.MIGRATION) & (rank.owned > 0)
    for activity in np.flatnonzero(copies).tolist():
        owned, way = int(rank.owned[activity]), Way(int(rows["way"][activity]))
        inputs += owned * (way == Way.TO_DEVICE)
        others += owned * (way != Way.TO_DEVICE)
        if rows["host"][activity] == HostMemory.PAGEABLE:
            best = links.copy(way, HostMemory.PINNED, int(rows["bytes"][activity]))
            pageable += owned
            pinned += min(owned, best) if best is not None else owned
    scale = 1e-9 / len(rank.steps)
    if pageable:
        text = (
            f"copies from and to pageable memory take {units.time(pageable * scale)} that nothing "
            f"hides; pinned memory needs {units.time(pinned * scale)} for the same bytes "
            "(pin_memory=True, non_blocking=True)"
        )
        yield _said(analysis, part, (pageable - pinned) * scale, text, "host memory", place)
    for which, time, what in (
        ("copies to the device", inputs, "prefetch the next step's inputs from pinned memory"),
        ("other copies", others, "put them"),
    ):
        text = f"{which} take {units.time(time * scale)} that nothing hides: {what} on a separate "
        yield _said(analysis, part, time * scale, text + "stream", "overlap", place)


def _largest(analysis: Analysis, parts: Sequence[Part]) -> Part:
    return max(parts, key=lambda part: analysis.parts.get(part, 0))


def _kernels(analysis: Analysis) -> Iterator[TraceFinding]:
    """The kernels that take longest above their lower bound, each with what its shape tells."""
    # By name and work, since one kernel may compute products of many shapes: of the rank that loses
    # the most by it.
    found: dict[Key, tuple[float, int, Placement]] = {}
    for number, rank in enumerate(analysis.ranks):
        of, beyond = rank.bounds.keys, defaultdict[Key, float](float)
        for place, seconds in _beyond(rank):
            beyond[of[place]] += seconds / len(rank.steps)
        for key, seconds in beyond.items():
            if seconds > found.get(key, (0.0,))[0]:
                found[key] = (seconds, number, rank.bounds.kernels[of.index(key)])
    longest = sorted(found, key=lambda key: -found[key][0])[:3]
    called = shortened([found[key][2].label for key in longest], _NAME)
    for key in longest:
        saving, number, p = found[key]
        sides = key[1].sides if key[1] else None
        label = called[p.label] + (key[1].size if key[1] else "")
        why = _trouble(analysis.profile, p, sides) if sides else None
        if why is None and p.reason:
            why = p.reason.text, p.reason.topic
        cause_, topic = why or ("", "")
        text = (
            f"the kernel {label} takes {units.time(saving)} a {analysis.one} more than its lower "
            f"bound{f': {cause_}' if cause_ else ''}"
        )
        one = _said(analysis, Part.KERNELS_BEYOND, saving, text, topic, number)
        yield dataclasses.replace(one, subject=f"the kernel {label}")


def _trouble(
    profile: Profile, p: Placement, sides: tuple[int, int, int, int]
) -> tuple[str, str] | None:
    """Why a GEMM is slow by its dimensions, and the topic of the curve behind it; None if they do
    not explain it. sides: rows, columns, inner dimension, bytes of an element."""
    if p.rewritten is None or p.rewritten.share >= _GOOD_SHARE:
        return None
    rows, columns, inner, element = sides
    odd = [
        f"{name} = {side}"
        for name, side in (("N", columns), ("K", inner))
        if side > 1 and side * element % _ALIGNED_BYTES
    ]
    if odd:
        text = (
            f"{' and '.join(odd)} {'are' if len(odd) > 1 else 'is'} no multiple of "
            f"{_ALIGNED_BYTES // element} elements, so rows do not begin at multiples of "
            f"{_ALIGNED_BYTES} bytes: pad"
        )
        return text, "product sides"
    # Above this M, a GEMM of the format is limited by the Tensor Cores.
    formats = {unit.partition(".")[2] for unit in p.kernel.flops}
    ridges = profile.figures(p.device, topic="skinny products", name="ridge_m")
    ridge = next((f.value for f in ridges if f.by.get("format") in formats), None)
    if ridge and 1 < rows < min(ridge, columns, inner):
        text = (
            f"M = {rows} is small, and such a product reaches its full rate from M = {ridge:.0f}: "
            "a larger M costs little"
        )
        return text, "skinny products"
    return None


def _beyond(rank: Waterfall) -> Iterator[tuple[int, float]]:
    """Seconds that each kernel owns above its lower bound, over all steps."""
    least, owned, kernel = rank.bounds.least, rank.owned, rank.bounds.kernel
    known = (kernel >= 0) & (least != UNKNOWN)
    sums = np.bincount(
        kernel[known],
        weights=np.maximum(0, owned[known] - least[known]),
        minlength=len(rank.bounds.kernels),
    )
    yield from ((place, float(time) * 1e-9) for place, time in enumerate(sums) if time)


def _fusing(analysis: Analysis) -> Iterator[TraceFinding]:
    place = analysis.leading
    rank = analysis.ranks[place]
    if found := chain(rank):
        times = found.times / len(rank.steps)
        repeated = f", {often(times)} a step," if times > 1 else ""
        text = (
            f"{found.count} elementwise kernels one after the other ({', '.join(found.names)})"
            f"{repeated} move {units.size(found.moved)}; if each reads what the one before it "
            f"wrote, one kernel would move {units.size(found.needed)}: fuse them (torch.compile)"
        )
        yield _said(analysis, Part.KERNELS, found.saving_s * times, text, "fusion", place)


def _collectives(analysis: Analysis) -> Iterator[TraceFinding]:
    waiting, place = _worst(analysis, Part.COLLECTIVES_WAITING)
    last = analysis.leading
    if waiting and last != place:
        why = cause(analysis.ranks[last], analysis.ranks[place])
        whom, late = (f"rank {analysis.number(i)}" for i in (place, last))
        text = f"{whom} waits {units.time(waiting)} for {late}"
        text += f", {why.text}" if why else ": look at what that one does longer"
        subject, lead = f"waiting for {late}", ""
        if why and why.seconds > waiting:
            text += f". In all that is {units.time(why.seconds)} of kernels, more than {whom} waits"
            subject, lead = (
                f"{late}'s longer work",
                f"{whom} waits {units.time(waiting)} for {late}",
            )
        # Healthy ranks are late in turn. A late host is reported as the host's part.
        awaited = [rank.awaited for rank in analysis.ranks]
        if not why.of_host if why else awaited[last] > _MOSTLY * sum(awaited):
            waiting = max(waiting, why.seconds if why else 0.0)
            found = _said(analysis, Part.COLLECTIVES_WAITING, waiting, text, "", last)
            yield dataclasses.replace(found, subject=subject, lead=lead)
    exposed, place = _worst(analysis, *COLLECTIVES)
    served = any(step.phase for rank in analysis.ranks for step in rank.steps)
    remedy = (
        "split each layer over fewer GPUs (tensor parallelism), or let one half of a batch compute "
        "meanwhile"
        if served
        else "start them as soon as a bucket of gradients is there, or prefetch parameters"
    )
    text = f"collectives take {units.time(exposed)} that no kernel hides: {remedy}"
    yield _said(analysis, _largest(analysis, COLLECTIVES), exposed, text, "", place)


_RULES: tuple[Callable[[Analysis], Iterator[TraceFinding]], ...]
_RULES = (_launches, _waits, _host, _copies, _kernels, _fusing, _collectives)
