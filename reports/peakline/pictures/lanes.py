"""One step on a time axis: a lane for the host, its launches and each stream, of each rank."""

import itertools
from collections.abc import Sequence
from typing import Any

from peakline import units
from peakline.pictures.canvas import Canvas, Figure, enlarge, inches
from peakline.pictures.picture import Picture, stamp
from peakline.pictures.style import (
    COLLECTIVES,
    COPIES,
    HOST_LAUNCHES,
    HOST_WAITS,
    HOST_WORKS,
    KERNELS,
    SAVING,
)
from peakline.pictures.titles import says
from peakline.text import listed
from peakline.workload.analysis import Analysis
from peakline.workload.lanes import Look, lanes
from peakline.workload.part import Part
from peakline.workload.timeline import Step
from peakline.workload.waterfall import Waterfall

MOST_RANKS = 4
_ROW, _BAR = 0.24, 0.8  # inches; share of a row

_LOOKS = {
    Look.KERNELS: KERNELS,
    Look.COLLECTIVES: COLLECTIVES,
    Look.COPIES: COPIES,
    Look.WORK: HOST_WORKS,
    Look.HOST_WAITS: HOST_WAITS,
    Look.LAUNCHES: HOST_LAUNCHES,
    Look.WAIT: SAVING,
}


def picture(analysis: Analysis) -> Picture:
    shown = drawn_ranks(analysis)
    steps = [_typical(analysis.ranks[place]) for place in shown]
    left = [analysis.named(i) for i in range(len(analysis.ranks)) if i not in shown]
    waiting = "time in which nothing runs on the device"
    clocks = ""
    if len(analysis.ranks) > 1:
        waiting = (
            "waiting: of a collective for other ranks, also where kernels run beside it, or of the "
            "device, on which nothing runs"
        )
        clocks = " Clocks of ranks differ, so each begins at its own step."
    headline = "; ".join(
        _said(analysis, place, step) for place, step in zip(shown, steps, strict=True)
    )
    others = f" Not drawn: {listed(left, 8)}." if left else ""
    return Picture(
        "lanes",
        f"One {analysis.one} on a time axis: host, launches and streams",
        f"The {analysis.one} of median length, from its first activity on the device. Red is "
        f"{waiting}. Neighbours shorter than 1 % share a bar.{clocks}{others}",
        lambda canvas: _draw(canvas, analysis, shown, steps),
        headline=headline[0].upper() + headline[1:],
        stamp=stamp(analysis.profile, analysis.ranks[0].device),
    )


def drawn_ranks(analysis: Analysis) -> list[int]:
    """The ranks that pictures show: the one that others wait for, and the first others."""
    first = [analysis.leading, *(i for i in range(len(analysis.ranks)) if i != analysis.leading)]
    return sorted(first[:MOST_RANKS])


def _typical(rank: Waterfall) -> Step:
    return sorted(rank.steps, key=lambda step: step.length)[len(rank.steps) // 2]


def _said(analysis: Analysis, place: int, step: Step) -> str:
    rank, named = analysis.ranks[place], analysis.named(place)
    text = f"{named}: a" if named else "a"
    text += f" {analysis.one} takes {units.time(rank.step_s)}"
    if (count := len(rank.steps)) > 1:
        text += f" (drawn: the median of {count}, {units.time(step.length * 1e-9)})"
    text += f", {units.percent(rank.idle / rank.nanoseconds)} idle"
    if waited := rank.share(Part.COLLECTIVES_WAITING):
        text += f", {units.percent(waited)} waiting for others"
    return text


def _draw(
    canvas: Canvas, analysis: Analysis, shown: Sequence[int], steps: Sequence[Step]
) -> Figure:
    from matplotlib.patches import Patch

    found = [lanes(analysis.ranks[i], step) for i, step in zip(shown, steps, strict=True)]
    used = {bar.look for of_rank in found for bars in of_rank.values() for bar in bars}
    entries = [look for look in _LOOKS if look in used]
    alone = len(analysis.ranks) == 1
    names = ["idle" if look is Look.WAIT and alone else look.value for look in entries]
    columns = canvas.columns(names)
    name_room = 0.3 if len(found) > 1 else 0.1
    most = max(map(len, found))
    figure, panels = canvas.figure(
        _ROW * most + 0.5 + name_room,
        len(found),
        left=canvas.room(itertools.chain.from_iterable(found), canvas.font - 0.5),
        right=0.15,
        top=name_room,
        columns=1,
    )
    longest = max(step.length for step in steps)
    scale, unit = (1e-6, "ms") if longest >= 2e6 else (1e-3, "µs")
    for axes, place, step, of_rank in zip(panels, shown, steps, found, strict=True):
        canvas.rows(axes, list(of_rank))
        for row, bars in enumerate(of_rank.values()):
            for bar in bars:
                length = bar.end - bar.start
                at: dict[str, Any] = {"left": bar.start * scale, "height": _BAR}
                (drawn,) = axes.barh(row, length * scale, **at, **_LOOKS[bar.look])
                share = units.percent(length / step.length)
                says(drawn, f"{bar.text}: {units.time(length * 1e-9)}, {share} of the step")
        axes.set_xlim(0, longest * scale)
        axes.grid(axis="y", visible=False)
        name = analysis.named(place)
        canvas.labels(axes, f"{unit} from the first activity of the {analysis.one}", name)
    handles = [Patch(**_LOOKS[look], label=name) for look, name in zip(entries, names, strict=True)]
    enlarge(figure, canvas.head(len(entries), columns), 0.0)
    bottom = 1.0 + (name_room - 0.1) / inches(panels[0])[1]
    canvas.legend_above(panels[0], columns, handles=handles, bbox_to_anchor=(0.0, bottom))
    return figure
