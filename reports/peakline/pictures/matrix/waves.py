"""Rate per clock against how often the tiles fill all SMs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from peakline.names import format_name
from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.curves import Curve, plot
from peakline.pictures.matrix.rows import format_of, per_clock
from peakline.pictures.picture import Picture
from peakline.pictures.style import MUTED
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# More verticals than these hide the lines; then every so many waves have one.
MOST_WAVES = 12


def picture(profile: Profile, device: str) -> Picture | None:
    """Rate per clock against how often the tiles fill all SMs."""
    rows = profile.of(device, "gemm.waves")
    gpu = profile.gpu(device)
    sms = gpu.sm_count if gpu else None
    if not rows or not sms:
        return None
    # Both kernels are drawn over the fixed one's waves, so that the same M stands at the same x.
    fixed_rows = [m for m in rows if m.params.get("kernel") == "fixed"]
    waves_of: dict[int | None, float] = {}
    for m in fixed_rows:
        tiles = m.launch.get("tiles")
        if isinstance(tiles, int) and tiles > 0:
            waves_of[m.integer("m")] = tiles / sms
    lines = {}
    for kernel, name in (("fixed", "one kernel"), ("best", "best kernel")):
        points = sorted(
            (waves_of[m.integer("m")], rate / sms)
            for m in rows
            if m.params.get("kernel") == kernel
            and m.integer("m") in waves_of
            and (rate := per_clock(m))
        )
        if len(points) > 1:
            lines[kernel] = Curve(name, tuple(p[0] for p in points), tuple(p[1] for p in points))
    if not lines:
        return None
    name = format_of(rows[0])
    last = max(line.x[-1] for line in lines.values())

    def draw(canvas: Canvas) -> Figure:
        texts = [line.name for line in lines.values()]
        figure, (axes,) = canvas.figure(3.2, left=0.7, right=canvas.room(texts, canvas.font - 1))
        step = math.ceil(last / MOST_WAVES)
        for whole in range(step, int(last) + 1, step):
            axes.axvline(whole, color=MUTED, lw=0.6, zorder=1, label=f"_wave {whole}")
        labels = []
        for i, line in enumerate(lines.values()):
            color = plot(axes, line, i, markersize=3, lw=1.4)
            labels.append(EndLabel(line.y[-1], line.name, color))
        axes.set_ylim(0, max(y for line in lines.values() for y in line.y) * 1.08)
        axes.set_xticks(range(0, int(last) + step + 1, step))
        axes.set_xlim(0, last * 1.02)
        canvas.labels(
            axes, f"waves: tiles / {sms} SMs", f"{format_name(name)} FLOP per clock and SM"
        )
        end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "waves",
        "Wave quantization: tiles that do not fill the SMs",
        "M grows, N and K stay fixed; the thin verticals are whole waves, where every SM has a "
        "tile. "
        "Just past one the last wave is nearly empty, yet takes as long as a full one. The best "
        "kernel is chosen anew for each M and stands above the same M. Rates are per clock.",
        draw,
        ("waves",),
    )
