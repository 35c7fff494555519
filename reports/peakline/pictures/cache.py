"""The caches: read bandwidth against the footprint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, EndLabel, end_labels, plain_log_ticks
from peakline.pictures.curves import all_x, curve, mark_end, plot_all, size_ticks
from peakline.pictures.picture import Picture
from peakline.pictures.style import LIMIT, MUTED
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(profile: Profile, device: str) -> Picture | None:
    """Read bandwidth from the L1 to memory, through the L1 and past it."""
    rows = profile.of(device, "cache.sweep")
    gpu = profile.gpu(device)
    sms = gpu.sm_count if gpu else None
    if sms is None:
        return None

    def footprint(m: Measurement) -> float | None:
        part = m.integer("sm_bytes")
        return part * sms if part else None

    lines = [
        curve(name, [m for m in rows if m.params.get("through") == through], footprint)
        for through, name in (("l1", "through the L1"), ("l2", "past the L1"))
    ]
    lines = [line for line in lines if len(line.x) > 1]
    if not lines:
        return None
    limit = profile.ceiling(device, "l1.read", "theoretical")
    said = profile.curve(device, "caches")
    found = said.values if said else {}

    def draw(canvas: Canvas) -> Figure:
        texts = [f"{line.name} {units.number(line.y[-1] / 1e9)}" for line in lines]
        theory = f"L1, theoretical {units.number(limit.value / 1e9)}" if limit else ""
        room = canvas.room([*texts, theory], canvas.font - 1)
        figure, (axes,) = canvas.figure(3.4, right=room)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        labels = plot_all(axes, lines, texts, 1e9)
        if limit is not None:
            at = limit.value / 1e9
            axes.axhline(at, label="theoretical", **LIMIT)
            labels.append(EndLabel(at, theory, MUTED))
        low, high = axes.get_ylim()
        high *= 1.6  # room for the names of the sizes above all lines
        axes.set_ylim(low, high)
        per_sm = "" if canvas.narrow else " per SM"
        for level, name, times, of, side in (
            ("L1", "l1_held_bytes", sms, per_sm, "right"),
            ("L2", "l2_held_bytes", 1, "", "left"),
        ):
            if name in found:
                text = f"{level} {units.size(found[name])}{of}"
                mark_end(axes, canvas, text, found[name] * times, side)
        xs = all_x(lines)
        size_ticks(axes.xaxis, xs[0], xs[-1], 4 if canvas.narrow else 8)
        ticks = [v for v in (1e3, 2e3, 5e3, 1e4, 2e4, 5e4) if low <= v <= high]
        plain_log_ticks(axes.yaxis, ticks, [f"{v:g}" for v in ticks])
        canvas.labels(axes, "footprint of all SMs together", "GB/s read")
        end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "cache",
        "Caches: read bandwidth against the footprint",
        "Each SM reads its own part of the footprint again and again. A line falls where a level "
        "no longer holds all of it: through the L1 where a part exceeds the SM's L1, past the L1 "
        "where the whole exceeds the L2. Dotted lines mark the sizes found, that of one SM's L1 "
        "where all of them end.",
        draw,
        ("caches",),
    )
