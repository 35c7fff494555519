"""What a rank did in one step: bars of the host, its launches and each stream."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from peakline.workload.kernel import short_name
from peakline.workload.model import Did, Int, Kind
from peakline.workload.timeline import Step, where
from peakline.workload.waterfall import Waterfall

_MOST_STREAMS = 6
_ALONE = 0.01  # of a step: shorter activities share a bar with their neighbours
_NEAR = 0.001  # of a step: bars this close are one


class Look(Enum):
    """What a bar stands for."""

    KERNELS = "kernels"
    COLLECTIVES = "collectives"
    COPIES = "copies"
    WORK = "host works"
    LAUNCHES = "launches"
    HOST_WAITS = "host waits"
    WAIT = "idle, or waits for ranks"


_KINDS = {Kind.COMPUTE: Look.KERNELS, Kind.COLLECTIVE: Look.COLLECTIVES, Kind.COPY: Look.COPIES}


@dataclass(frozen=True, slots=True)
class Bar:
    """A span of a lane in nanoseconds, what it is, and what it says."""

    start: int
    end: int
    look: Look
    text: str


Lanes = dict[str, list[Bar]]


def lanes(rank: Waterfall, step: Step) -> Lanes:
    """The lanes of a step by name; times from its start."""
    line = rank.timeline
    inside = np.flatnonzero((line.rows["end"] > step.start) & (line.rows["start"] < step.end))
    found: Lanes = {}
    if len(line.host.did) and not line.trace.skewed:
        found |= _of_host(rank, step, np.unique(line.host.calls["thread"][line.call[inside]]))
    streams = line.rows["stream"][inside]
    busiest = sorted(np.unique(streams).tolist(), key=lambda s: -int((streams == s).sum()))
    for stream in sorted(busiest[:_MOST_STREAMS]):
        found[f"stream {stream}"] = list(_of_stream(rank, step, inside[streams == stream]))
    starts, ends = rank.gaps[:2]
    gaps = (ends > step.start) & (starts < step.end)
    found["nothing runs"] = _bars(step, starts[gaps], ends[gaps], Look.WAIT, "nothing runs")
    return found


def _of_host(rank: Waterfall, step: Step, threads: Int) -> Lanes:
    """What the launching threads did: operators, waits for the device, and launches."""
    line = rank.timeline
    calls, did = line.host.calls, line.host.did
    mine = np.isin(calls["thread"], threads)
    operators = {name: line.trace.operators[name] for name in ("start", "end", "thread")}
    working = where(operators, np.isin(operators["thread"], threads))
    waiting = where(calls, mine & (did == Did.SYNCHRONIZE))
    launching = where(calls, mine & np.isin(did, (Did.LAUNCH, Did.GRAPH)))
    launched = len(_within(step, launching["start"], launching["end"])[0])
    return {
        "host": [
            *_bars(step, working["start"], working["end"], Look.WORK, "host in operators"),
            *_bars(step, waiting["start"], waiting["end"], Look.HOST_WAITS, "waits for the device"),
        ],
        "launches": _bars(
            step,
            launching["start"],
            launching["end"],
            Look.LAUNCHES,
            f"some of {launched} launches",
        ),
    }


def _of_stream(rank: Waterfall, step: Step, activities: Int) -> Iterator[Bar]:
    rows = rank.timeline.rows
    least = _ALONE * step.length
    for kind, look in _KINDS.items():
        mine = activities[rows["kind"][activities] == kind]
        starts, ends = rows["start"][mine], rows["end"][mine]
        long = ends - starts >= least
        yield from _bars(step, starts[~long], ends[~long], look, f"short {look.value}")
        for place in mine[long].tolist():
            start, end = int(rows["start"][place]), int(rows["end"][place])
            name = short_name(rank.timeline.name(place))
            # A collective waits first and transfers last.
            moves = max(start, end - rank.transfers.get(place, end - start))
            if moves > start:
                yield from _bars(step, [start], [moves], Look.WAIT, f"{name} waits for other ranks")
            yield from _bars(step, [moves], [end], look, name)


def _within(step: Step, starts: Sequence[int] | Int, ends: Sequence[int] | Int) -> tuple[Int, Int]:
    """The parts of spans inside a step, from its start, in order."""
    low, high = (np.clip(np.asarray(side), step.start, step.end) for side in (starts, ends))
    order = np.argsort(low, kind="stable")
    order = order[(high > low)[order]]
    return low[order] - step.start, high[order] - step.start


def _bars(
    step: Step, starts: Sequence[int] | Int, ends: Sequence[int] | Int, look: Look, text: str
) -> list[Bar]:
    """Bars of spans; those that nearly touch are one."""
    merged: list[list[int]] = []
    for start, end in zip(*(side.tolist() for side in _within(step, starts, ends)), strict=True):
        if merged and start - merged[-1][1] <= _NEAR * step.length:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return [Bar(start, end, look, text) for start, end in merged]
