"""Products with few rows, from memory-bound to compute-bound."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peakline import units
from peakline.names import format_name
from peakline.pictures.canvas import Canvas, EndLabel, end_labels, plain_log_ticks
from peakline.pictures.curves import Curve, curve, log2_x
from peakline.pictures.matrix.rows import ceiling_value, format_of, formats_of
from peakline.pictures.picture import Picture
from peakline.pictures.style import GROUND, INK, LIMIT, MARKERS, precision_color
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class _Skinny:
    """Products of few rows in one format, in FLOP/s over M, and what the roofline says of them."""

    name: str
    measured: Curve
    predicted: Curve  # the ridge included; empty where a ceiling is missing
    ridge: float | None  # M from which arithmetic binds


def _skinny(rows: Sequence[Measurement], bandwidth: float | None, burst: float | None) -> _Skinny:
    measured = curve(format_of(rows[0]), rows, lambda m: m.integer("m") or None)
    work = {
        float(m.integer("m") or 0): (m.work.flops, m.work.bytes_read + m.work.bytes_written)
        for m in rows
    }
    known = [(m, *work[m]) for m in measured.x if all(work[m])]
    if not bandwidth or not burst or not known:
        return _Skinny(measured.name, measured, Curve(measured.name, (), ()), None)
    points = [(m, min(flops / size * bandwidth, burst)) for m, flops, size in known]
    # FLOP and bytes are linear in M, so between two points the ridge's M follows exactly.
    ridge = None
    excess = [(m, flops * bandwidth - size * burst) for m, flops, size in known]
    for (low, below), (high, above) in itertools.pairwise(excess):
        if below < 0 <= above:
            ridge = low + (high - low) * below / (below - above)
            points.append((ridge, burst))
    points.sort()
    predicted = Curve(measured.name, tuple(p[0] for p in points), tuple(p[1] for p in points))
    return _Skinny(measured.name, measured, predicted, ridge)


def picture(profile: Profile, device: str) -> Picture | None:
    """Products with few rows, from memory-bound to compute-bound."""
    rows = profile.of(device, "gemm.skinny")
    main = profile.memory_resource(device, "hbm")
    memory = profile.ceiling(device, main, "measured") if main else None
    lines = [
        _skinny(
            [m for m in rows if format_of(m) == name],
            memory.value if memory else None,
            ceiling_value(profile, device, name, "burst"),
        )
        for name in formats_of(rows)
    ]
    lines = [line for line in lines if len(line.measured.x) > 1]
    if not lines:
        return None

    shape = _shape([m for m in rows if format_of(m) == lines[0].name])
    return Picture(
        "skinny",
        "Few rows: from memory-bound to compute-bound",
        f"{shape}The strong lines were measured; the dashed ones are the roofline, intensity times "
        "HBM read up to the burst ceiling. Left of the ridge another row is free, since the "
        "weights come from memory anyway: that is where a language model decodes. Below the line, "
        "the library loses time.",
        lambda canvas: _draw(canvas, profile, lines),
        ("skinny products",),
    )


def _shape(rows: Sequence[Measurement]) -> str:
    """ "N = 8192, K = 8192. ", from the work: elements read are M K + N K, FLOPs 2 M N K."""
    known = sorted((m.integer("m") or 0, m.work.bytes_read, m.work.flops) for m in rows)
    (one, read, flops), (other, more, _) = known[0], known[-1]
    if not 0 < one < other or not read < more or not flops:
        return ""
    step = (more - read) / (other - one)  # bytes of K elements
    n = (read - one * step) / step
    return f"N = {n:.0f}, K = {flops / (2 * one * n):.0f}. " if n > 0 else ""


def _draw(canvas: Canvas, profile: Profile, lines: Sequence[_Skinny]) -> Figure:
    font = canvas.font - 1
    texts = [
        f"{format_name(line.name)} {units.number(line.measured.y[-1] / 1e12)}" for line in lines
    ]
    figure, (axes,) = canvas.figure(3.6, right=canvas.room(texts, font))
    axes.set_yscale("log")
    labels = []
    for i, (line, text) in enumerate(zip(lines, texts, strict=True)):
        color = precision_color(profile, line.name)
        predicted = [y / 1e12 for y in line.predicted.y]
        thin = {**LIMIT, "color": color}
        axes.plot(line.predicted.x, predicted, label=f"{line.name} roofline", **thin)
        axes.plot(
            line.measured.x,
            [y / 1e12 for y in line.measured.y],
            color=color,
            lw=1.6,
            marker=MARKERS[i % len(MARKERS)],
            label=line.name,
        )
        labels.append(EndLabel(line.measured.y[-1] / 1e12, text, color))
    _mark_ridges(axes, font, profile, lines)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 1.6)
    decades = [10.0**e for e in range(-3, 6) if low <= 10.0**e <= high * 1.6]
    plain_log_ticks(axes.yaxis, decades, [f"{v:g}" for v in decades])
    log2_x(axes, [line.measured for line in lines], 7)
    canvas.labels(axes, "M, rows (tokens of a step)", "TFLOP/s")
    end_labels(axes, labels, font)
    return figure


def _mark_ridges(axes: Axes, font: float, profile: Profile, lines: Sequence[_Skinny]) -> None:
    """Each format's ridge with its M: the lowest is named below, those above it above."""
    ridges = sorted(
        ((line.predicted.at(line.ridge) or 0.0) / 1e12, line.ridge, line.name)
        for line in lines
        if line.ridge
    )
    for rank, (height, ridge, name) in enumerate(ridges):
        below = rank == 0 and len(ridges) > 1
        axes.plot(
            [ridge],
            [height],
            color=INK,
            marker="D",
            fillstyle="none",
            linestyle="none",
            markersize=8,
            label=f"{name} ridge",
        )
        axes.annotate(
            f"{format_name(name)} ridge: M = {ridge:.0f}",
            xy=(ridge, height),
            xytext=(9, -12) if below else (-9, 8),
            textcoords="offset points",
            fontsize=font,
            color=precision_color(profile, name),
            ha="left" if below else "right",
            va="top" if below else "bottom",
            bbox=GROUND,
        )
