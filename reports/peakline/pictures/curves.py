"""Curves of measurements over one parameter."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from peakline import units
from peakline.pictures.canvas import Axes, Canvas, note, plain_log_ticks, powers
from peakline.pictures.style import DASHES, MARKERS, MUTED, SERIES
from peakline.pictures.titles import says
from peakline.profile import Measurement

Points = Sequence[tuple[float, float]]


def amount(m: Measurement) -> float:
    """The value of a usable measurement."""
    assert m.value is not None
    return m.value


def highest(
    rows: Sequence[Measurement], x: Callable[[Measurement], float | None]
) -> list[tuple[float, float]]:
    """The points of `rows` over `x`, sorted; of several values at one x, the highest. A negative x
    is no size, count or distance, and is left out."""
    best: dict[float, float] = {}
    for row in rows:
        at = x(row)
        if at is not None and at >= 0:
            best[at] = max(best.get(at, 0.0), amount(row))
    return sorted(best.items())


def size_ticks(axis: object, low: float, high: float, at_most: int) -> None:
    """Sets ticks of a log2 axis of sizes: 4 KiB, 64 KiB, 1 MiB, ..."""
    values = powers(2.0, math.log2(low), math.log2(high), at_most)
    plain_log_ticks(axis, values, [units.size(v) for v in values])


def integer_ticks(axis: object, values: Sequence[float], at_most: int) -> None:
    """Sets ticks at measured values, thinned out to fit."""
    step = max(1, math.ceil(len(values) / at_most))
    chosen = list(values)[::step]
    plain_log_ticks(axis, chosen, [f"{v:g}" for v in chosen])


def plot(axes: Axes, points: Points, index: int, texts: Sequence[str] = (), **style: Any) -> str:
    """Draws a line in the index-th colour, dash and marker, or as `style`; returns the colour.
    Two points say nothing of what lies between, so they are marks alone. texts: what each mark
    says, unless it follows from the axes."""
    chosen: dict[str, Any] = {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)],
        **style,
    }
    if len(points) < 3:
        chosen["linestyle"] = "none"
    (line,) = axes.plot([x for x, _ in points], [y for _, y in points], **chosen)
    if texts:
        says(line, *texts)
    return str(chosen["color"])


def plot_marks(
    axes: Axes, points: Points, index: int, texts: Sequence[str] = (), **style: Any
) -> None:
    """Draws points in the index-th colour and marker; every other index is hollow."""
    look = {"linestyle": "none", "fillstyle": "none" if index % 2 else "full", "markersize": 6}
    plot(axes, points, index, texts, **{**look, **style})


def size_of(m: Measurement) -> float | None:
    """Bytes per transfer of a measurement, or its footprint."""
    return m.integer("bytes") or m.integer("footprint")


def mark_end(axes: Axes, canvas: Canvas, text: str, at: float, side: str) -> None:
    """Draws a dotted line at `at`, named on one side."""
    name = " ".join(text.split())
    says(axes.axvline(at, color=MUTED, lw=0.8, ls=":", label=name), name)
    away, style = (-4 if side == "right" else 4, -3), {"color": MUTED, "ha": side, "va": "top"}
    of = ("data", "axes fraction")
    note(axes, text, (at, 1.0), away, of, fontsize=canvas.font - 1, **style)


def format_of(m: Measurement) -> str:
    return m.id.rpartition(".")[2]


def formats_of(rows: Sequence[Measurement]) -> list[str]:
    """The operand formats of `rows`, in the profile's order."""
    return list(dict.fromkeys(format_of(m) for m in rows))


def per_clock(m: Measurement) -> float | None:
    """Operations per clock of the whole device."""
    clock = m.conditions.sm_clock_hz
    return amount(m) / clock if clock else None


def shape_of(m: Measurement) -> str:
    """M, N and K of a GEMM that was searched for: "5632 × 1536 × 24576"; else empty."""
    shape = m.launch.get("shape")
    return shape.replace("x", " × ") if isinstance(shape, str) else ""
