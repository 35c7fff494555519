"""Changes between two runs: bars from the step before to the step after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas
from peakline.pictures.picture import Picture
from peakline.pictures.style import GRID, MUTED, SERIES
from peakline.workload.change import Change
from peakline.workload.change_text import headline, signed
from peakline.workload.part import Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.3  # inches
_BAR = 0.62  # of a row
_LESS, _MORE = SERIES[0], SERIES[6]
_WORTH = 0.002  # of the longer step: smaller changes are one bar


def change_pictures(change: Change) -> list[Picture]:
    profile = change.before.profile
    device = profile.device_name(change.before.ranks[0].device)
    return [
        Picture(
            "change",
            "What changed: from the step before to the step after",
            "The first bar is the step before, the last the step after. Each bar between them "
            "begins where the one above ended, and is what a part of the step takes more or less.",
            lambda canvas: _draw(canvas, change),
            headline=headline(change),
            stamp=f"{device}, {profile.created[:10]}, {profile.tool}",
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
    height = _ROW * (1.6 if canvas.narrow else 1.0)
    left = 0.15 if canvas.narrow else canvas.room(names)
    figure, (axes,) = canvas.figure(
        height * len(names) + 0.66, left=left, right=canvas.room(texts, canvas.font - 1), top=0.1
    )
    bar = _BAR / (1.6 if canvas.narrow else 1.0)
    at = before
    axes.barh(0, before * scale, height=bar, color=MUTED)
    for row, (_, seconds) in enumerate(shown, start=1):
        color = _MORE if seconds > 0 else _LESS
        axes.barh(row, seconds * scale, left=at * scale, height=bar, color=color)
        axes.plot([at * scale] * 2, [row - 1, row], color=GRID, lw=0.8, zorder=0.5)
        at += seconds
    axes.barh(len(names) - 1, after * scale, height=bar, color=MUTED)
    for row, text in enumerate(texts):
        canvas.beside(axes, row, text)
    canvas.rows(axes, names)
    if canvas.narrow:
        canvas.above_rows(axes, names)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")
    canvas.labels(axes, f"{unit} of a {change.after.one}{change.after.mean}")
    return figure
