"""Where the time of a step goes, as a waterfall; idle shares over time; what changed in a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from peakline import units
from peakline.pictures import lanes, style
from peakline.pictures.canvas import Canvas, Figure, text_width
from peakline.pictures.picture import Picture, stamp
from peakline.pictures.style import FASTER, GRID, MUTED, SAVED, SAVING, Fill
from peakline.pictures.titles import says
from peakline.workload import change_text
from peakline.workload.analysis import Analysis
from peakline.workload.change import Change
from peakline.workload.part import COLLECTIVES, COPIES, KERNELS, Part
from peakline.workload.step_text import headline, microseconds
from peakline.workload.waterfall import Waterfall

_ROW = 0.3  # inches
_BAR = 0.62  # of a row
_UNKNOWN = (KERNELS[2], COLLECTIVES[2], COPIES[2], Part.BEFORE, Part.NOT_RECORDED)
_FILLS = {
    KERNELS[0]: style.KERNELS,
    COLLECTIVES[0]: style.COLLECTIVES,
    COPIES[0]: style.COPIES,
    **dict.fromkeys(_UNKNOWN, style.NOT_KNOWN),
}
_BIN_NS = 1_000_000
_MOST_BINS = 600

RULES = (
    "Each instant of a device belongs to one owner: compute, else a collective, else a copy, else "
    "nobody. Kernels that run at once share it equally; copies and fills within the device's "
    "memory count as kernels. The time that an activity owns is compared with its lower bound, the "
    "least time by what was measured here; where the bound is longer, it counts up to that time. A "
    "kernel that ran beside a collective of its device and also alone is compared with itself: "
    "what it takes longer there stands apart. A "
    "step runs from the first activity launched in it to that of the next; the last, open one is "
    "left out; a single one ends with the last activity that it launched. A gap belongs to the "
    "activity that ends it. Until that was launched, the gap is what the launching thread did: "
    "waiting for the device, allocating, loading data, launching where little time passes between "
    "calls, else Python. From the launch call to the start it is launch latency, up to the "
    "measured one. If the launch was already queued, the gap is dispatch, up to twice the measured "
    "time between empty kernels (assumed). What remains is a wait for another stream where a call "
    "shows one, else a late start whose cause is not recorded. The profiler's own time stands "
    "apart. Clocks of ranks are not compared: the shortest time of a collective over all ranks of "
    "its group is its transfer; a rank that takes longer waits for the others."
)


@dataclass(frozen=True)
class Sawtooth:
    """Idle shares of equal intervals, from the first step's start."""

    bin_s: float
    idle: Sequence[float]  # 0 to 1
    marks: Sequence[float]  # starts of steps, in seconds


def sawtooth(rank: Waterfall) -> Sawtooth:
    """Idle shares by millisecond, or by longer intervals for a long trace."""
    start, end = rank.steps[0].start, rank.steps[-1].end
    size = max(_BIN_NS, -(-(end - start) // _MOST_BINS))
    if end - start < 8 * _BIN_NS:
        size = max(1, -(-(end - start) // 64))
    bounds = [*range(start, end, size), end]
    widths = (after - before for before, after in pairwise(bounds))
    idle = rank.idle_between(bounds)
    shares = [time / width for time, width in zip(idle, widths, strict=True)]
    return Sawtooth(size * 1e-9, shares, [(step.start - start) * 1e-9 for step in rank.steps])


def most_idle(analysis: Analysis) -> int:
    """The rank whose device idles for the largest share of its time."""
    shares = [rank.idle / rank.nanoseconds for rank in analysis.ranks]
    return shares.index(max(shares))


def waterfall_pictures(analysis: Analysis) -> list[Picture]:
    most = most_idle(analysis)
    shown = analysis.ranks[most]
    found, idle = sawtooth(shown), shown.idle / shown.nanoseconds
    named = analysis.named(most)
    rank = f" of {named}" if named else ""
    which = ", the rank that idles most," if named else ""
    steps = units.counted(len(shown.steps), analysis.one)
    profile = analysis.profile
    origin = stamp(profile, shown.device)
    return [
        lanes.picture(analysis),
        Picture(
            "waterfall",
            "Where the time of a step goes: parts that add up to it",
            "Each bar begins where the one above ends, so the last ends with the step. Pale is the "
            "least that this machine needs, red is what could be saved, a frame is not known. "
            f"{RULES}",
            lambda canvas: _draw(canvas, analysis),
            headline=headline(analysis),
            stamp=origin,
        ),
        Picture(
            "sawtooth",
            f"Idle over time: the share of each {units.time(found.bin_s)} in which nothing runs",
            f"The device's time{rank}{which} in equal pieces, from the beginning of the first "
            "step; upright lines are where steps begin.",
            lambda canvas: _draw_sawtooth(canvas, analysis),
            headline=f"Over {steps} nothing runs on the device{rank} in {units.percent(idle)} of "
            "the time",
            stamp=origin,
        ),
    ]


Bar = tuple[float, float, Fill]  # start and length


def _draw(canvas: Canvas, analysis: Analysis) -> Figure:
    ranks = [(analysis.named(i), analysis.ranks[i]) for i in lanes.drawn_ranks(analysis)]
    total = max(rank.step_s for _, rank in ranks) * 1e6
    per, unit = (1e6, "s") if total >= 2e6 else (1e3, "ms")
    if total < 2e3:
        per, unit = 1.0, "µs"
    panels = [
        Cascade(
            f"{name}: {units.time(rank.step_s)}{_mean(rank, analysis.one)}" if name else "",
            [part.label for part in rank.parts],
            [
                f"{units.time(time / len(rank.steps) * 1e-9)}, {units.percent(rank.share(part))}"
                for part, time in rank.parts.items()
            ],
            _falling(rank, per),
        )
        for name, rank in ranks
    ]
    figure = cascades(canvas, panels)
    for axes in figure.axes:
        axes.set_xlim(0, max(total / per, 1e-9))
        canvas.labels(axes, f"{unit} of a {analysis.one}")
    return figure


def _mean(rank: Waterfall, one: str) -> str:
    return f", mean of {units.counted(len(rank.steps), one)}" if len(rank.steps) > 1 else ""


def _falling(rank: Waterfall, per: float) -> list[Bar]:
    bars = []
    begun = 0.0
    for part, time in microseconds(rank.parts, len(rank.steps)).items():
        bars.append((begun, time / per, _FILLS.get(part, SAVING)))
        begun += time / per
    return bars


@dataclass(frozen=True, slots=True)
class Cascade:
    """A panel of bars, one a row, each joined to the one above it if it begins beyond 0. texts:
    right of the rows."""

    heading: str
    names: Sequence[str]
    texts: Sequence[str]
    bars: Sequence[Bar]


def cascades(canvas: Canvas, panels: Sequence[Cascade]) -> Figure:
    taller = 1.6 if canvas.narrow else 1.0
    names = [name for panel in panels for name in panel.names]
    texts = [text for panel in panels for text in panel.texts]
    head = 0.3 if any(panel.heading for panel in panels) else 0.1
    figure, all_axes = canvas.figure(
        _ROW * taller * max(len(panel.names) for panel in panels) + 0.56 + head,
        len(panels),
        # On the narrow canvas names stand above their bars.
        left=0.15 if canvas.narrow else canvas.room(names),
        right=canvas.room(texts, canvas.font - 1),
        top=head,
        columns=1,
    )
    for axes, panel in zip(all_axes, panels, strict=True):
        for row, (start, length, fill) in enumerate(panel.bars):
            look: dict[str, Any] = {"height": _BAR / taller, **fill}
            (bar,) = axes.barh(row, length, left=start, **look)
            says(bar, f"{panel.names[row]}: {panel.texts[row]}")
            if start:
                axes.plot([start, start], [row - 1, row], color=GRID, lw=0.8, zorder=0.5)
            canvas.beside(axes, row, panel.texts[row])
        (canvas.above_rows if canvas.narrow else canvas.rows)(axes, panel.names)
        canvas.title(axes, panel.heading)
        axes.grid(visible=False, axis="y")
    return figure


def _draw_sawtooth(canvas: Canvas, analysis: Analysis) -> Figure:
    found = sawtooth(analysis.ranks[most_idle(analysis)])
    length = found.bin_s * len(found.idle)
    per, unit = (1.0, "s") if length >= 2 else (1e-3, "ms")
    left = (text_width("100 %", canvas.font) + 14) / 72
    figure, (axes,) = canvas.figure(1.9, left=left, right=0.15, top=0.32)
    edges = [place * found.bin_s / per for place in range(len(found.idle) + 1)]
    axes.stairs([100 * share for share in found.idle], edges, fill=True, color=SAVED)
    for mark in found.marks:
        axes.axvline(mark / per, color=MUTED, lw=0.8, linestyle=(0, (2, 2)))
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(0, 100)
    axes.set_yticks([0, 50, 100])
    axes.set_yticklabels(["0", "50 %", "100 %"])
    canvas.labels(axes, f"{unit} from the first step", "idle")
    return figure


_LESS, _MORE, _WHOLE = {"color": FASTER}, {"color": SAVED}, {"color": MUTED}
_WORTH = 0.002  # of the longer step: smaller changes are one bar


def change_pictures(change: Change) -> list[Picture]:
    profile = change.before.profile
    return [
        Picture(
            "change",
            "What changed: from the step before to the step after",
            "The first bar is the step before, the last the step after. Each bar between them "
            "begins where the one above ended, and is what a part of the step takes more or less.",
            lambda canvas: _draw_change(canvas, change),
            headline=change_text.headline(change),
            stamp=stamp(profile, change.before.ranks[0].device),
        )
    ]


def _draw_change(canvas: Canvas, change: Change) -> Figure:
    before, after = change.before.step_s, change.after.step_s
    least = _WORTH * max(before, after)
    rows = [(Part(row.name).label, row.change_s) for row in change.parts]
    shown = [row for row in rows if abs(row[1]) >= least]
    if len(shown) < len(rows):
        shown.append(("all others", change.change_s - sum(seconds for _, seconds in shown)))
    names = ["before", *(name for name, _ in shown), "after"]
    texts = [
        units.time(before),
        *(change_text.signed(seconds) for _, seconds in shown),
        units.time(after),
    ]
    scale, unit = (1e3, "ms") if max(before, after) >= 2e-3 else (1e6, "µs")
    bars = [(0.0, before * scale, _WHOLE)]
    at = before
    for _, seconds in shown:
        bars.append((at * scale, seconds * scale, _MORE if seconds > 0 else _LESS))
        at += seconds
    bars.append((0.0, after * scale, _WHOLE))
    figure = cascades(canvas, [Cascade("", names, texts, bars)])
    (axes,) = figure.axes
    axes.set_xlim(left=0)
    canvas.labels(axes, f"{unit} of a {change.after.one}{change.after.mean}")
    return figure
