"""Where the time of a step goes: its parts as a waterfall, and idle shares over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from peakline import units
from peakline.pictures.canvas import Axes, Canvas, Figure, text_width
from peakline.pictures.picture import Picture, stamp
from peakline.pictures.style import GRID, MUTED, SERIES
from peakline.workload.analysis import Analysis
from peakline.workload.part import COLLECTIVES, COPIES, KERNELS, Part
from peakline.workload.text import headline, microseconds
from peakline.workload.waterfall import Waterfall

_ROW = 0.3  # inches
_BAR = 0.62  # of a row
_PALE = 0.35
_NEEDED, _, _OF_NO_BOUND = zip(KERNELS, COLLECTIVES, COPIES, strict=True)
_UNKNOWN = (*_OF_NO_BOUND, Part.BEFORE, Part.NOT_RECORDED)
_KINDS = (("kernels", SERIES[0]), ("collectives", SERIES[4]), ("copies", SERIES[1]))
_IDLE = SERIES[6]
_BIN_NS = 1_000_000
_MOST_BINS = 600

RULES = (
    "Each instant of a device belongs to one owner: compute, else a collective, else a copy, else "
    "nobody. Kernels that run at once share it equally; copies and fills within the device's "
    "memory count as kernels. The time that an activity owns is compared with its lower bound, the "
    "least time by what was measured here; where the bound is longer, it counts up to that time. A "
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


def waterfall_pictures(analysis: Analysis) -> list[Picture]:
    first = analysis.ranks[0]
    found, idle = sawtooth(first), first.idle / first.nanoseconds
    named = analysis.named(0)
    rank = f" of {named}" if named else ""
    profile = analysis.profile
    origin = stamp(profile, first.device)
    return [
        Picture(
            "waterfall",
            "Where the time of a step goes: parts that add up to it",
            "Each bar begins where the one above ends, so the last ends with the step. Full colour "
            "is the least that this machine needs, pale is time above it, grey is not known. "
            f"{RULES}",
            lambda canvas: _draw(canvas, analysis),
            headline=headline(analysis),
            stamp=origin,
        ),
        Picture(
            "sawtooth",
            f"Idle over time: the share of each {units.time(found.bin_s)} in which nothing runs",
            f"The device's time{rank} in equal pieces, from the beginning of the first step; "
            "upright lines are where steps begin.",
            lambda canvas: _draw_sawtooth(canvas, analysis),
            headline=f"Nothing runs on the device{rank} in {units.percent(idle)} of the time",
            stamp=origin,
        ),
    ]


def _color(part: Part) -> tuple[str, float]:
    if part in _UNKNOWN:
        return MUTED, 0.5
    color = next((color for name, color in _KINDS if part.value.startswith(name)), _IDLE)
    return color, 1.0 if part in _NEEDED or part.is_idle else _PALE


def _draw(canvas: Canvas, analysis: Analysis) -> Figure:
    shown = microseconds(analysis.parts, analysis.steps)
    total = sum(shown.values())
    per, unit = (1e6, "s") if total >= 2e6 else (1e3, "ms")
    if total < 2e3:
        per, unit = 1.0, "µs"
    names = [part.label for part in shown]
    texts = [
        f"{units.time(time / analysis.steps * 1e-9)}, {units.percent(analysis.share(part))}"
        for part, time in analysis.parts.items()
    ]
    bars = []
    begun = 0.0
    for part, time in shown.items():
        bars.append((begun, time / per, *_color(part)))
        begun += time / per
    figure, axes = cascade(canvas, names, texts, bars)
    axes.set_xlim(0, max(begun, 1e-9))
    canvas.labels(axes, f"{unit} of a {analysis.one}{analysis.mean}")
    return figure


def cascade(
    canvas: Canvas,
    names: Sequence[str],
    texts: Sequence[str],
    bars: Sequence[tuple[float, float, str, float]],
) -> tuple[Figure, Axes]:
    """A row per bar (start, length, colour, alpha), each joined to the one above it if it begins
    beyond 0. texts: right of the rows."""
    taller = 1.6 if canvas.narrow else 1.0
    # On the narrow canvas names stand above their bars.
    left = 0.15 if canvas.narrow else canvas.room(names)
    right = canvas.room(texts, canvas.font - 1)
    height = _ROW * taller * len(names) + 0.66
    figure, (axes,) = canvas.figure(height, left=left, right=right, top=0.1)
    for row, (start, length, color, alpha) in enumerate(bars):
        axes.barh(row, length, left=start, height=_BAR / taller, color=color, alpha=alpha)
        if start:
            axes.plot([start, start], [row - 1, row], color=GRID, lw=0.8, zorder=0.5)
        canvas.beside(axes, row, texts[row])
    (canvas.above_rows if canvas.narrow else canvas.rows)(axes, names)
    axes.grid(visible=False, axis="y")
    return figure, axes


def _draw_sawtooth(canvas: Canvas, analysis: Analysis) -> Figure:
    found = sawtooth(analysis.ranks[0])
    length = found.bin_s * len(found.idle)
    per, unit = (1.0, "s") if length >= 2 else (1e-3, "ms")
    left = (text_width("100 %", canvas.font) + 14) / 72
    figure, (axes,) = canvas.figure(1.9, left=left, right=0.15, top=0.32)
    edges = [place * found.bin_s / per for place in range(len(found.idle) + 1)]
    axes.stairs([100 * share for share in found.idle], edges, fill=True, color=_IDLE, alpha=0.8)
    for mark in found.marks:
        axes.axvline(mark / per, color=MUTED, lw=0.8, linestyle=(0, (2, 2)))
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(0, 100)
    axes.set_yticks([0, 50, 100])
    axes.set_yticklabels(["0", "50 %", "100 %"])
    canvas.labels(axes, f"{unit} from the first step", "idle")
    return figure
