"""Changes between two runs: bars from the step before to the step after."""

from __future__ import annotations

from peakline import units
from peakline.pictures.canvas import Canvas, Figure
from peakline.pictures.picture import Picture, stamp
from peakline.pictures.style import MUTED, SERIES
from peakline.pictures.waterfall import cascade
from peakline.workload.change import Change
from peakline.workload.change_text import headline, signed
from peakline.workload.part import Part

_LESS, _MORE = SERIES[0], SERIES[6]
_WORTH = 0.002  # of the longer step: smaller changes are one bar


def change_pictures(change: Change) -> list[Picture]:
    profile = change.before.profile
    return [
        Picture(
            "change",
            "What changed: from the step before to the step after",
            "The first bar is the step before, the last the step after. Each bar between them "
            "begins where the one above ended, and is what a part of the step takes more or less.",
            lambda canvas: _draw(canvas, change),
            headline=headline(change),
            stamp=stamp(profile, change.before.ranks[0].device),
        )
    ]


def _draw(canvas: Canvas, change: Change) -> Figure:
    before, after = change.before.step_s, change.after.step_s
    least = _WORTH * max(before, after)
    rows = [(Part(row.name).label, row.change_s) for row in change.parts]
    shown = [row for row in rows if abs(row[1]) >= least]
    if len(shown) < len(rows):
        shown.append(("all others", change.change_s - sum(seconds for _, seconds in shown)))
    names = ["before", *(name for name, _ in shown), "after"]
    texts = [units.time(before), *(signed(seconds) for _, seconds in shown), units.time(after)]
    scale, unit = (1e3, "ms") if max(before, after) >= 2e-3 else (1e6, "µs")
    bars = [(0.0, before * scale, MUTED, 1.0)]
    at = before
    for _, seconds in shown:
        bars.append((at * scale, seconds * scale, _MORE if seconds > 0 else _LESS, 1.0))
        at += seconds
    figure, axes = cascade(canvas, names, texts, [*bars, (0.0, after * scale, MUTED, 1.0)])
    axes.set_xlim(left=0)
    canvas.labels(axes, f"{unit} of a {change.after.one}{change.after.mean}")
    return figure
