"""Rate per clock by number of waves."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from peakline.names import format_name
from peakline.pictures.canvas import Canvas, EndLabel, Figure, end_labels
from peakline.pictures.curves import Points, plot
from peakline.pictures.matrix.rows import format_of, per_clock
from peakline.pictures.picture import Picture
from peakline.pictures.style import LIMIT, MUTED
from peakline.profile import Measurement, Profile

# More vertical lines would hide the curves; then only some waves have one.
MOST_WAVES = 12
_KERNELS = {"fixed": "one kernel", "best": "best kernel"}


def picture(profile: Profile, device: str) -> Picture | None:
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
