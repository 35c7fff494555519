"""Why ceilings are below 100 % of theoretical: the shares of their factors."""

from collections.abc import Sequence
from dataclasses import dataclass

from peakline import units
from peakline.limits.ceilings import MEASURED, CeilingRow, ceiling_table
from peakline.names import basis_name
from peakline.pictures.canvas import Axes, Canvas, Figure
from peakline.pictures.labels import short_label
from peakline.pictures.picture import Picture
from peakline.pictures.style import GRID, LIMIT, SERIES
from peakline.pictures.titles import says
from peakline.profile import Ceiling, Profile

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
    "turnaround": ("reads and writes take turns", SERIES[2]),
    "DRAM": ("refresh, opening rows and the rest", SERIES[5]),
}
_OF_LINK = ("flow control and host memory", SERIES[6])


# A resource, its label, and its ceilings that have factors.
_Row = tuple[CeilingRow, str, list[Ceiling]]


@dataclass(frozen=True, slots=True)
class _Bar:
    """One ceiling: its share of its limit, and what each step takes, top down."""

    share: float
    lost: tuple[tuple[str, str, float], ...]  # (step, colour, share of the limit)


def picture(profile: Profile, device: str) -> Picture | None:
    """Each ceiling's way down from the theoretical value; None where no factors say it."""
    rows: list[_Row] = []
    for row in ceiling_table(profile, device)[1]:
        best = [row.by_basis[b] for b in MEASURED if b in row.by_basis and b != "instruction"]
        shown = [c for c in dict.fromkeys([*best[:1], *best[-1:]]) if c.losses]
        if shown:
            rows.append((row, profile.label(row.resource), shown))
    if not rows:
        return None
    return Picture(
        "factors",
        "Why not 100 %: from theoretical to measured",
        "The blue bar is what was measured; what stands right of it was lost on the way down from "
        "the theoretical value at the maximum clock. Where a row has two bars, the upper one is "
        "burst and the lower one achievable. The limit of a link is what its packets "
        "allow. The table below has every factor.",
        lambda canvas: _draw(canvas, rows),
        headline=_headline(rows),
    )


def _bar(row: Ceiling) -> _Bar:
    lost: dict[str, tuple[str, float]] = {}
    left = 1.0
    rest = _OF_LINK if row.packets != 1 else (_LIBRARY, SERIES[4])
    for factor in row.losses:
        step, color = _STEPS.get(factor.name, rest)
        lost[step] = (color, lost.get(step, (color, 0.0))[1] + left * (1 - factor.value))
        left *= factor.value
    return _Bar(left, tuple((step, color, share) for step, (color, share) in lost.items()))


def _headline(rows: Sequence[_Row]) -> str:
    """The largest loss of all, in words."""
    losses = (
        (share, step, label, row)
        for _, label, shown in rows
        for row in shown
        for step, _, share in _bar(row).lost
    )
    # max() names the first of equal losses, such as a GEMM's half rate.
    share, step, label, row = max(losses, key=lambda loss: loss[0])
    lost = units.percent(share)
    return f"The largest loss: {lost} of {label}, {basis_name(row.basis)}, to {step}"


def _draw(canvas: Canvas, rows: Sequence[_Row]) -> Figure:
    names = [short_label(label) if canvas.narrow else label for _, label, _ in rows]
    lost = [loss for _, _, shown in rows for row in shown for loss in _bar(row).lost]
    steps = dict.fromkeys(step for step, _, share in lost if share > 0)
    amounts = [] if canvas.narrow else [_amounts(shown) + row.raw for row, _, shown in rows]
    legend = ["measured", *steps]
    figure, axes = canvas.row_panel(names, 0.3, amounts, legend, spare=0.75)
    used: set[str] = set()
    for y, (_, label, shown) in enumerate(rows):
        height = 0.72 / len(shown)
        for i, row in enumerate(shown):
            name = f"{label}, {basis_name(row.basis)}, {units.rate(row.value, row.unit)}"
            at = y + (i - (len(shown) - 1) / 2) * height
            _draw_bar(axes, name, _bar(row), at, height, used)
    axes.axvline(100, **LIMIT)
    # The axis begins at 0, since a bar says its value by its length.
    axes.set_xlim(0, 100 * max(1.02, *(_bar(row).share for _, _, shown in rows for row in shown)))
    canvas.legend_above(axes, canvas.columns(legend))
    canvas.labels(axes, "% of theoretical, at the maximum clock")
    return figure


def _draw_bar(axes: Axes, name: str, bar: _Bar, y: float, height: float, used: set[str]) -> None:
    parts = [("measured", SERIES[0], bar.share)]
    at = 0.0
    # The first loss is at the far end, next to the theoretical value.
    for step, color, share in [*parts, *reversed(bar.lost)]:
        if share <= 0:
            continue
        label = "" if step in used else step
        used.add(step)
        (part,) = axes.barh(
            y,
            share * 100,
            height * 0.88,
            left=at * 100,
            color=color,
            alpha=1.0 if step == "measured" else 0.75,
            label=label,
        )
        says(part, f"{name}: {step}, {units.percent(share)} of theoretical")
        at += share


def _amounts(shown: Sequence[Ceiling]) -> str:
    """The values of a row's bars: "858 | 716 TFLOP/s"."""
    *others, last = shown
    numbers = (units.rate_number(row.value, row.unit) for row in others)
    varies = " (varies)" * any(row.varies for row in shown)
    return " | ".join([*numbers, units.rate(last.value, last.unit)]) + varies
