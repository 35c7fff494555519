"""Scales and ticks of the axes of declared panels."""

import math
from collections.abc import Sequence
from typing import Any

from peakline import units
from peakline.pictures.canvas import (
    FEWEST_TICKS,
    Axes,
    Canvas,
    inches,
    plain_log_ticks,
    round_values,
    text_width,
)
from peakline.pictures.curves import integer_ticks, size_ticks
from peakline.profile.declared import Axis

_APART = 5  # points between two labels of an axis


def set_scale(axes: Axes, which: str, axis: Axis) -> None:
    """Sets the scale of the x or y axis."""
    setter: Any = axes.set_xscale if which == "x" else axes.set_yscale
    if axis.scale != "linear":
        setter("log", base=2 if axis.scale == "log2" else 10)


def reaching(axis: Axis, low: float, high: float) -> tuple[float, float]:
    """Limits of an axis that reach as far as it is declared to."""
    if axis.low is not None:
        low = min(low, axis.low) if axis.scale != "linear" else axis.low
    return low, high if axis.high is None else max(high, axis.high)


def draw_ticks(
    axes: Axes,
    which: str,
    axis: Axis,
    measured: Sequence[float],
    categories: Sequence[str],
    canvas: Canvas,
) -> None:
    """Draws the ticks of the x or y axis. measured: places that were measured; categories: names of
    places."""
    of: Any = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    at_most = 4 if canvas.narrow else 6
    if which == "x" and axis.written == "size":
        widest = text_width("128 KiB", canvas.font - 0.5) + _APART
        at_most = max(FEWEST_TICKS, min(at_most, int(72 * inches(axes)[0] / widest)))
    if axis.written == "name":
        of.set_ticks(range(len(categories)), labels=list(categories))
    elif axis.scale == "linear":
        if axis.written == "time":
            values = [v for v in of.get_majorticklocs() if low <= v <= high]
            of.set_ticks(values, labels=[_time_tick(v) for v in values])
    elif axis.written == "size":
        sizes = [(x, units.size(x)) for x in measured]
        if sizes and len(sizes) <= at_most and _fitting(axes, canvas, sizes) == sizes:
            plain_log_ticks(of, list(measured), [text for _, text in sizes])
        else:
            size_ticks(of, *((measured[0], measured[-1]) if measured else (low, high)), at_most)
    elif axis.written == "integer" and axis.scale == "log2":
        shown = list(measured) or [2.0**e for e in range(-8, 40) if low <= 2.0**e <= high]
        powers = [x for x in shown if x > 0 and math.log2(x).is_integer()]
        integer_ticks(of, powers or shown, at_most + 2)
    else:
        values = round_values(low, high, at_most)
        write = _time_tick if axis.written == "time" else "{:g}".format
        plain_log_ticks(of, values, [write(v) for v in values])
    if which == "x":
        _thin(axes, canvas)


def _time_tick(seconds: float) -> str:
    """A time without trailing zeros: "10 ns"."""
    if seconds == 0:
        return "0"
    scale, unit = units.time_unit(seconds)
    return f"{float(units.number(seconds / scale)):g} {unit}"


def _fitting(
    axes: Axes, canvas: Canvas, ticks: Sequence[tuple[float, str]]
) -> list[tuple[float, str]]:
    """The ticks of the x axis whose labels do not meet the one before."""
    at, room = axes.transData + axes.transAxes.inverted(), 72 * inches(axes)[0]
    chosen, end = [], -math.inf
    for place, text in ticks:
        x = room * float(at.transform((place, 0.0))[0])
        half = text_width(text, canvas.font - 0.5) / 2
        if x - half >= end + _APART:
            chosen.append((place, text))
            end = x + half
    return chosen


def _thin(axes: Axes, canvas: Canvas) -> None:
    """Drops labels of the x axis, at equal distances if three are left, until the rest fit."""
    room = 72 * inches(axes)[0]
    low, high = sorted(axes.get_xlim())
    ticks = [
        (place, text.get_text())
        for place, text in zip(axes.get_xticks(), axes.get_xticklabels(), strict=False)
        if low <= place <= high and text.get_text()
    ]
    widest = max((text_width(text, canvas.font - 0.5) for _, text in ticks), default=0.0) + _APART
    step = 1
    while len(ticks[::step]) > 1 and len(ticks[::step]) * widest > room:
        step += 1
    chosen = ticks[::step]
    if len(chosen) < FEWEST_TICKS:
        chosen = ticks
    chosen = _fitting(axes, canvas, chosen)
    if chosen == ticks:
        return
    axes.set_xticks([place for place, _ in chosen], [text for _, text in chosen])
    axes.minorticks_off()
