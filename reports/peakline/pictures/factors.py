"""Why ceilings are below 100 % of theoretical: the shares of their factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peakline import units
from peakline.limits.ceilings import basis_name, ceiling_table
from peakline.limits.roofline import MEASURED
from peakline.pictures.canvas import Canvas
from peakline.pictures.picture import Picture
from peakline.pictures.roof_labels import short_label
from peakline.pictures.style import GRID, LIMIT, SERIES
from peakline.profile import Ceiling, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CLOCK, _LIBRARY = "clock and power", "waves, library and the rest"
# Printed names of factors. The "rest" of a link or memory stands beside factors that GEMMs lack.
_STEPS = {
    "half rate": ("half rate with FP32 sums", GRID),
    "boost clock": (_CLOCK, SERIES[1]),
    "clock": (_CLOCK, SERIES[1]),
    "memory clock": (_CLOCK, SERIES[1]),
    "waves": (_LIBRARY, SERIES[4]),
    "instruction": (_LIBRARY, SERIES[4]),
    "launch": ("start and end of the launch", SERIES[3]),
    "turnaround": ("reads and writes take turns", SERIES[6]),
    "DRAM": ("refresh and opening rows", SERIES[5]),
    "packets": ("packet headers", SERIES[2]),
}
_OF_LINK = ("flow control and host memory", SERIES[7])


@dataclass(frozen=True, slots=True)
class _Bar:
    """One ceiling: its share of the theoretical value, and the loss of each step, top down."""

    share: float
    lost: tuple[tuple[str, str, float], ...]  # (step, colour, share of the theoretical value)


def picture(profile: Profile, device: str) -> Picture | None:
    """Each ceiling's losses from the theoretical value; None without factors."""
    rows: list[tuple[str, list[Ceiling]]] = []
    for row in ceiling_table(profile, device)[1]:
        best = [row.by_basis[b] for b in MEASURED if b in row.by_basis and b != "instruction"]
        shown = [c for c in dict.fromkeys([*best[:1], *best[-1:]]) if c.factors]
        if shown:
            rows.append((profile.label(row.resource), shown))
    if not rows:
        return None
    return Picture(
        "factors",
        "Why not 100 %: from theoretical to measured",
        "The blue bar is what was measured; what stands right of it was lost on the way down from "
        "the theoretical value at the maximum clock. Where a row has two bars, the upper one is "
        "burst and the lower one sustained. The table below has every factor.",
        lambda canvas: _draw(canvas, rows),
        headline=_headline(rows),
    )


def _bar(row: Ceiling) -> _Bar:
    lost: dict[str, tuple[str, float]] = {}
    left = 1.0
    for factor in row.factors:
        link = any(f.name == "packets" for f in row.factors)
        rest = _OF_LINK if link else (_LIBRARY, SERIES[4])
        step, color = _STEPS.get(factor.name, rest)
        lost[step] = (color, lost.get(step, (color, 0.0))[1] + left * (1 - factor.value))
        left *= factor.value
    return _Bar(left, tuple((step, color, share) for step, (color, share) in lost.items()))


def _headline(rows: Sequence[tuple[str, list[Ceiling]]]) -> str:
    losses = (
        (share, step, label, row)
        for label, shown in rows
        for row in shown
        for step, _, share in _bar(row).lost
    )
    # max() names the first of equal losses, such as a GEMM's half rate.
    share, step, label, row = max(losses, key=lambda loss: loss[0])
    lost = units.percent(share)
    return f"The largest loss: {lost} of {label}, {basis_name(row.basis)}, to {step}"


def _draw(canvas: Canvas, rows: Sequence[tuple[str, list[Ceiling]]]) -> Figure:
    names = [short_label(label) if canvas.narrow else label for label, _ in rows]
    steps = dict.fromkeys(
        step for _, shown in rows for row in shown for step, _, share in _bar(row).lost if share > 0
    )
    amounts = [] if canvas.narrow else [_amounts(shown) for _, shown in rows]
    legend = ["measured", *steps]
    figure, axes = canvas.row_panel(names, 0.3, amounts, legend, spare=0.75)
    used: set[str] = set()
    lowest = 1.0
    for y, (_, shown) in enumerate(rows):
        height = 0.72 / len(shown)
        for i, row in enumerate(shown):
            bar = _bar(row)
            lowest = min(lowest, bar.share)
            _draw_bar(axes, bar, y + (i - (len(shown) - 1) / 2) * height, height, used)
    axes.axvline(100, **LIMIT)
    # Bars show values by length, so the axis starts at 0.
    axes.set_xlim(0, 100 * max(1.02, *(_bar(row).share for _, shown in rows for row in shown)))
    canvas.legend_above(axes, canvas.columns(legend))
    canvas.labels(axes, "% of theoretical" + ("" if canvas.narrow else ", at the maximum clock"))
    return figure


def _draw_bar(axes: Axes, bar: _Bar, y: float, height: float, used: set[str]) -> None:
    parts = [("measured", SERIES[0], bar.share)]
    at = 0.0
    # The first loss is at the far end, next to the theoretical value.
    for step, color, share in [*parts, *reversed(bar.lost)]:
        if share <= 0:
            continue
        label = "" if step in used else step
        used.add(step)
        axes.barh(
            y,
            share * 100,
            height * 0.88,
            left=at * 100,
            color=color,
            alpha=1.0 if step == "measured" else 0.75,
            label=label,
        )
        at += share


def _amounts(shown: Sequence[Ceiling]) -> str:
    """The values of a row's bars: "858 | 716 TFLOP/s"."""
    values = [units.rate(row.value, row.unit) for row in shown]
    return " | ".join([*(value.split(" ")[0] for value in values[:-1]), values[-1]])
