"""Pictures of GEMMs: what unaligned dimensions cost, and tiles that do not fill the SMs.

Sweeps run on a warm card, whose power limit sets the clock anew for each point, so pictures that
compare sizes show rates per clock.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peakline import units
from peakline.names import format_name
from peakline.pictures.canvas import Canvas, EndLabel, Figure, end_labels
from peakline.pictures.curves import Points, format_of, formats_of, per_clock, plot, plot_marks
from peakline.pictures.picture import Picture
from peakline.pictures.style import LIMIT, MUTED, format_look
from peakline.profile import Measurement, Profile

# Size of the other two dimensions, and of the aligned GEMM.
ALIGNED_SIZE = 8192
_SIDES = " × ".join([str(ALIGNED_SIZE)] * 3)


@dataclass(frozen=True, slots=True)
class _Aligned:
    """Rates per clock relative to the aligned GEMM: all points, and medians by power of two."""

    name: str
    points: tuple[tuple[int, float], ...]

    @property
    def medians(self) -> dict[int, float]:
        return {
            power: statistics.median(share for p, share in self.points if p == power)
            for power in sorted({p for p, _ in self.points})
        }


def _aligned(rows: Sequence[Measurement], base: float) -> _Aligned:
    points = [
        (size & -size, rate / base)
        for m in rows
        if (size := m.integer("size")) and (rate := per_clock(m))
    ]
    return _Aligned(format_of(rows[0]), tuple(sorted(points)))


def alignment(profile: Profile, device: str) -> Picture | None:
    """Rates per clock of unaligned GEMMs, relative to the aligned one."""
    rows = profile.of(device, "gemm.alignment")
    panels_data: dict[str, list[_Aligned]] = {}
    for dimension in "MNK":
        for name in formats_of(rows):
            of_format = [m for m in rows if format_of(m) == name]
            base = max(
                (per_clock(m) or 0.0 for m in of_format if m.integer("size") == ALIGNED_SIZE),
                default=0.0,
            )
            chosen = [m for m in of_format if m.params.get("dimension") == dimension]
            line = _aligned(chosen, base) if base and chosen else None
            if line and len(line.medians) > 1:
                panels_data.setdefault(dimension, []).append(line)
    if not panels_data:
        return None
    powers = sorted({p for lines in panels_data.values() for line in lines for p in line.medians})
    position = {power: i for i, power in enumerate(powers)}
    top = max(y for lines in panels_data.values() for line in lines for _, y in line.points)
    low = min(y for lines in panels_data.values() for line in lines for _, y in line.points)

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.0, len(panels_data), left=0.5, right=0.16)
        for axes, (dimension, lines) in zip(panels, panels_data.items(), strict=True):
            for i, line in enumerate(lines):
                medians = line.medians
                style = format_look(line.name)
                shown = [(position[p], y / 0.01) for p, y in medians.items()]
                said = [_said(line.name, dimension, p, y) for p, y in medians.items()]
                plot(axes, shown, i, said, **style, lw=1.4, label=format_name(line.name))
                points = [(position[p], y * 100) for p, y in line.points]
                look = {**style, "markersize": 3, "fillstyle": "none"}
                said = [_said(line.name, dimension, p, y) for p, y in line.points]
                plot_marks(axes, points, i, said, label=f"_{line.name} points", **look)
            # Room for every other label, the aligned size's included.
            axes.set_xticks(
                range(len(powers)),
                [str(p) if (len(powers) - i) % 2 else "" for i, p in enumerate(powers)],
            )
            axes.set_ylim(max(0.0, low * 100 - 12), top * 100 + 4)
            heading = f"{dimension}: % of the aligned rate"
            canvas.labels(axes, f"power of two that divides {dimension}", heading)
        panels[0].legend(fontsize=canvas.font - 1, loc="lower right", borderaxespad=0.1)
        return figure

    return Picture(
        "matrix-alignment",
        "Odd sides: what alignment costs a GEMM",
        f"Of M × N × K = {_SIDES} one side is moved slightly away, the other two stay; the axis "
        "shows the largest power of two that divides it. Small marks are single sizes, lines "
        "their median; 100 % is the rate per clock of the aligned product.",
        draw,
        ("product sides", "vocabulary"),
    )


def _said(name: str, dimension: str, power: int, share: float) -> str:
    return (
        f"{format_name(name)}, {dimension} divisible by {power}: {units.percent(share)} of the "
        "aligned rate"
    )


# More vertical lines would hide the curves; then only some waves have one.
MOST_WAVES = 12
_KERNELS = {"fixed": "one kernel", "best": "best kernel"}


def waves(profile: Profile, device: str) -> Picture | None:
    """Rate per clock by number of waves, and the cost of idle SMs alone."""
    rows = profile.of(device, "gemm.waves")
    gpu = profile.gpu(device)
    sms = gpu.sm_count if gpu else None
    if not rows or not sms:
        return None
    # Both kernels use the fixed one's waves, so that equal M have equal x.
    waves_of = {
        m.integer("m"): waves
        for m in rows
        if m.params.get("kernel") == "fixed" and (waves := _waves(m, sms))
    }
    lines = {}
    for kernel in _KERNELS:
        points = sorted(
            (waves_of[m.integer("m")], rate / sms)
            for m in rows
            if m.params.get("kernel") == kernel
            and m.integer("m") in waves_of
            and (rate := per_clock(m))
        )
        if len(points) > 1:
            lines[kernel] = points
    ideal = _ideal(profile, device, waves_of, lines.get("fixed", ()))
    if not lines:
        return None
    name = format_of(rows[0])
    last = max(line[-1][0] for line in lines.values())

    def draw(canvas: Canvas) -> Figure:
        texts = [_KERNELS[kernel] for kernel in lines]
        figure, (axes,) = canvas.figure(3.2, left=0.7, right=canvas.room(texts, canvas.font - 1))
        step = math.ceil(last / MOST_WAVES)
        for whole in range(step, int(last) + 1, step):
            axes.axvline(whole, color=MUTED, lw=0.6, zorder=1, label=f"_wave {whole}")
        if ideal:
            axes.plot(*zip(*ideal, strict=True), label="idle SMs alone", **LIMIT)
        labels = []
        for i, (text, line) in enumerate(zip(texts, lines.values(), strict=True)):
            color = plot(axes, line, i, markersize=3, lw=1.4, label=text)
            labels.append(EndLabel(line[-1][1], text, color))
        axes.set_ylim(0, max(y for line in lines.values() for _, y in line) * 1.08)
        axes.set_xticks(range(0, int(last) + step + 1, step))
        axes.set_xlim(0, last * 1.02)
        canvas.labels(
            axes, f"waves: tiles of work / {sms} SMs", f"{format_name(name)} FLOP per clock and SM"
        )
        end_labels(axes, labels, canvas.font - 1)
        return figure

    fixed = _fixed(rows)
    return Picture(
        "waves",
        "Wave quantization: tiles that do not fill the SMs",
        f"M grows, {fixed} stay fixed; the thin verticals are whole waves, where every SM has a "
        "tile. Just past one the last wave is nearly empty, yet takes as long as a full one: the "
        "dashed line is one kernel if that were all. The best kernel is chosen anew for each M "
        "and stands above the same M. Rates are per clock.",
        draw,
        ("waves",),
    )


def _fixed(rows: Sequence[Measurement]) -> str:
    """The other two dimensions: "N = 2816 and K = 4096"."""
    known = next((m.launch for m in rows if {"n", "k"} <= m.launch.keys()), None)
    return f"N = {known['n']} and K = {known['k']}" if known else "N and K"


def _waves(m: Measurement, sms: int) -> float | None:
    """Waves of a GEMM: tiles of the fixed kernel / SMs."""
    sizes = [m.integer("m"), *(m.launch.get(name) for name in ("n", "tile_m", "tile_n"))]
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        return None
    rows, columns, tile_rows, tile_columns = (int(str(size)) for size in sizes)
    return rows * columns / (tile_rows * tile_columns) / sms


def _ideal(profile: Profile, device: str, waves_of: Mapping[Any, float], fixed: Points) -> Points:
    """The profile's ideal sawtooth, scaled to the fixed kernel's maximum; empty if unknown."""
    shares = profile.figures(device, topic="waves", name="ideal_share")
    points = sorted((waves_of[m], f.value) for f in shares if (m := f.by.get("m")) in waves_of)
    if not points or not fixed:
        return ()
    top = max(y for _, y in fixed) / max(share for _, share in points)
    return [(x, share * top) for x, share in points]
