"""One step on a time axis: a lane for the host, its launches and each stream, of each rank."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from peakline import units
from peakline.pictures.canvas import Canvas, Figure
from peakline.pictures.picture import Picture, stamp
from peakline.pictures.style import MUTED, NEEDED_ALPHA, SAVED, SERIES
from peakline.pictures.titles import says
from peakline.text import listed
from peakline.workload.analysis import Analysis
from peakline.workload.kernel import short_name
from peakline.workload.model import Did, Int, Kind
from peakline.workload.part import Part
from peakline.workload.timeline import Step, where
from peakline.workload.waterfall import Waterfall

MOST_RANKS = 4
_MOST_STREAMS = 6
_ROW, _BAR = 0.24, 0.8  # inches; share of a row
_ALONE = 0.01  # of a step: shorter activities share a bar with their neighbours
_NEAR = 0.001  # of a step: bars this close are one

WAIT, _WORK = "waiting, or nothing runs", "host works"
_LOOKS = {
    "kernels": (SERIES[0], NEEDED_ALPHA),
    "collectives": (SERIES[4], NEEDED_ALPHA),
    "copies": (SERIES[1], NEEDED_ALPHA),
    _WORK: (MUTED, 0.35),
    "launches": (MUTED, 1.0),
    WAIT: (SAVED, 1.0),
}
_KINDS = {Kind.COMPUTE: "kernels", Kind.COLLECTIVE: "collectives", Kind.COPY: "copies"}


@dataclass(frozen=True, slots=True)
class Bar:
    """A span of a lane in nanoseconds, what it is, and what it says."""

    start: int
    end: int
    look: str
    text: str


Lanes = dict[str, list[Bar]]


def picture(analysis: Analysis) -> Picture:
    shown = drawn_ranks(analysis)
    steps = [_typical(analysis.ranks[place]) for place in shown]
    left = [analysis.named(i) for i in range(len(analysis.ranks)) if i not in shown]
    clocks = " Clocks of ranks differ, so each begins at its own step." if len(shown) > 1 else ""
    others = f" Not drawn: {listed(left, 8)}." if left else ""
    return Picture(
        "lanes",
        f"One {analysis.one} on a time axis: host, launches and streams",
        f"The {analysis.one} of median length, from its first activity on the device. Red is "
        "waiting: the host for the device, a collective for other ranks, or a device on which "
        f"nothing runs. Neighbours shorter than 1 % share a bar.{clocks}{others}",
        lambda canvas: _draw(canvas, analysis, shown, steps),
        headline="; ".join(
            _said(analysis, place, step) for place, step in zip(shown, steps, strict=True)
        ),
        stamp=stamp(analysis.profile, analysis.ranks[0].device),
    )


def drawn_ranks(analysis: Analysis) -> list[int]:
    """The ranks that pictures show: the one that others wait for, and the first others."""
    first = [analysis.leading, *(i for i in range(len(analysis.ranks)) if i != analysis.leading)]
    return sorted(first[:MOST_RANKS])


def _typical(rank: Waterfall) -> Step:
    return sorted(rank.steps, key=lambda step: step.length)[len(rank.steps) // 2]


def _said(analysis: Analysis, place: int, step: Step) -> str:
    rank = analysis.ranks[place]
    parts = rank.each[rank.steps.index(step)]
    idle = sum(time for part, time in parts.items() if part.is_idle)
    name = analysis.named(place) or f"this {analysis.one}"
    text = f"{name}: {units.time(step.length * 1e-9)}, {units.percent(idle / step.length)} idle"
    if waited := parts.get(Part.COLLECTIVES_WAITING, 0):
        text += f", {units.percent(waited / step.length)} waiting for others"
    return text


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
    found["nothing runs"] = _bars(step, starts[gaps], ends[gaps], WAIT, "nothing runs")
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
            *_bars(step, working["start"], working["end"], _WORK, "host in operators"),
            *_bars(step, waiting["start"], waiting["end"], WAIT, "host waits for the device"),
        ],
        "launches": _bars(
            step, launching["start"], launching["end"], "launches", f"some of {launched} launches"
        ),
    }


def _of_stream(rank: Waterfall, step: Step, activities: Int) -> Iterator[Bar]:
    rows = rank.timeline.rows
    least = _ALONE * step.length
    for kind, look in _KINDS.items():
        mine = activities[rows["kind"][activities] == kind]
        starts, ends = rows["start"][mine], rows["end"][mine]
        long = ends - starts >= least
        yield from _bars(step, starts[~long], ends[~long], look, f"short {look}")
        for place in mine[long].tolist():
            start, end = int(rows["start"][place]), int(rows["end"][place])
            name = short_name(rank.timeline.name(place))
            # A collective waits first and transfers last.
            moves = max(start, end - rank.transfers.get(place, end - start))
            if moves > start:
                yield from _bars(step, [start], [moves], WAIT, f"{name} waits for other ranks")
            yield from _bars(step, [moves], [end], look, name)


def _within(step: Step, starts: Sequence[int] | Int, ends: Sequence[int] | Int) -> tuple[Int, Int]:
    """The parts of spans inside a step, from its start, in order."""
    low, high = (np.clip(np.asarray(side), step.start, step.end) for side in (starts, ends))
    order = np.argsort(low, kind="stable")
    order = order[(high > low)[order]]
    return low[order] - step.start, high[order] - step.start


def _bars(
    step: Step, starts: Sequence[int] | Int, ends: Sequence[int] | Int, look: str, text: str
) -> list[Bar]:
    """Bars of spans; those that nearly touch are one."""
    merged: list[list[int]] = []
    for start, end in zip(*(side.tolist() for side in _within(step, starts, ends)), strict=True):
        if merged and start - merged[-1][1] <= _NEAR * step.length:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return [Bar(start, end, look, text) for start, end in merged]


def _draw(
    canvas: Canvas, analysis: Analysis, shown: Sequence[int], steps: Sequence[Step]
) -> Figure:
    from matplotlib.patches import Patch

    found = [lanes(analysis.ranks[i], step) for i, step in zip(shown, steps, strict=True)]
    used = {bar.look for of_rank in found for bars in of_rank.values() for bar in bars}
    entries = [look for look in _LOOKS if look in used]
    head = canvas.head(len(entries), canvas.columns(entries)) + 0.2
    most = max(map(len, found))
    figure, panels = canvas.figure(
        _ROW * most + 0.5 + head,
        len(found),
        left=canvas.room(itertools.chain.from_iterable(found), canvas.font - 0.5),
        right=0.15,
        top=head,
        columns=1,
    )
    longest = max(step.length for step in steps)
    scale, unit = (1e-6, "ms") if longest >= 2e6 else (1e-3, "µs")
    for axes, place, step, of_rank in zip(panels, shown, steps, found, strict=True):
        canvas.rows(axes, list(of_rank))
        for row, bars in enumerate(of_rank.values()):
            for bar in bars:
                color, alpha = _LOOKS[bar.look]
                length = bar.end - bar.start
                look: dict[str, Any] = {
                    "height": _BAR,
                    "color": color,
                    "alpha": alpha,
                    "linewidth": 0,
                }
                (drawn,) = axes.barh(row, length * scale, left=bar.start * scale, **look)
                share = units.percent(length / step.length)
                says(drawn, f"{bar.text}: {units.time(length * 1e-9)}, {share} of the step")
        axes.set_xlim(0, longest * scale)
        axes.grid(axis="y", visible=False)
        name = analysis.named(place)
        canvas.labels(axes, f"{unit} from the first activity of the {analysis.one}", name)
    handles = [Patch(color=_LOOKS[look][0], alpha=_LOOKS[look][1], label=look) for look in entries]
    bottom = 1.0 + (0.2 / panels[0].get_position().height / float(figure.get_figheight()))
    canvas.legend_above(
        panels[0], canvas.columns(entries), handles=handles, bbox_to_anchor=(0.0, bottom)
    )
    return figure
