"""The host link: copies between host and device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, EndLabel, end_labels, plain_log_ticks
from peakline.pictures.curves import Curve, curve, plot, size_of, size_ticks
from peakline.pictures.picture import Picture
from peakline.pictures.style import (
    DASHED,
    MUTED,
)
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Below this a copy's time is mostly the cost of starting it.
SMALL_COPY_BYTES = 64 * 1024
# From here on a copy is long enough for bandwidth alone to count; ceilings use the same bound.
LARGE_COPY_BYTES = 256 * 1024 * 1024
# Sizes this factor apart tell where a curve bends; a quick run's few are further apart.
NEAR_SIZES = 8


def picture(profile: Profile, device: str) -> Picture | None:
    """Copy rate between host and device against size."""
    names = {
        "pcie.h2d.pinned": "to device, pinned",
        "pcie.d2h.pinned": "to host, pinned",
        "pcie.h2d.pageable": "to device, pageable",
        "pcie.d2h.pageable": "to host, pageable",
        "pcie.bidirectional.pinned": "both ways, pinned",
    }
    rows = profile.of(device, "pcie")
    ids = list(dict.fromkeys(m.id for m in rows))
    lines = {
        id_: line
        for id_ in sorted(ids, key=lambda i: list(names).index(i) if i in names else len(names))
        if (line := curve(names.get(id_, id_), [m for m in rows if m.id == id_], size_of)).x
    }
    if not lines:
        return None
    limit = profile.ceiling(device, "pcie.h2d", "theoretical")

    def draw(canvas: Canvas) -> Figure:
        font = canvas.font - (1.5 if canvas.narrow else 1)
        texts = [f"{line.name} {line.y[-1] / 1e9:.1f}" for line in lines.values()]
        figure, (axes,) = canvas.figure(3.6, right=canvas.room(texts, font))
        low = min(x for line in lines.values() for x in line.x)
        high = max(x for line in lines.values() for x in line.x)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        labels = []
        for i, line in enumerate(lines.values()):
            labels.append(EndLabel(line.y[-1], texts[i], plot(axes, line, i)))
        if limit is not None:
            axes.axhline(limit.value, color=MUTED, linestyle=DASHED, lw=0.9, label="link")
            labels.append(EndLabel(limit.value, f"link, raw {limit.value / 1e9:.1f}", MUTED))
        bottom, top = axes.get_ylim()
        size_ticks(axes.xaxis, low, high, 3 if canvas.narrow else 7)
        decades = [10.0**e for e in range(6, 13) if bottom <= 10.0**e <= top]
        plain_log_ticks(axes.yaxis, decades, [f"{v / 1e9:g}" for v in decades])
        canvas.labels(axes, "bytes of one copy", "GB/s")
        end_labels(axes, labels, font)
        return figure

    return Picture(
        "pcie",
        "Host link: copies between host and device",
        "Small copies cost a fixed time, large ones run at the link's rate; where a line bends is "
        "the size from which bandwidth counts. Both ways counts the bytes of both directions.",
        _pcie_reading(lines, rows, limit.value if limit else None),
        draw,
    )


def _half_rate_size(line: Curve) -> float | None:
    """The smallest size that reaches half the top rate, if the next smaller one is near it."""
    rates = zip(line.x, line.y, strict=True)
    x = next((size for size, rate in rates if rate >= max(line.y) / 2), 0)
    below = max((smaller for smaller in line.x if smaller < x), default=0)
    return x if below * NEAR_SIZES >= x else None


def _pcie_reading(lines: dict[str, Curve], rows: Sequence[Measurement], limit: float | None) -> str:
    parts = []
    down, up = lines.get("pcie.h2d.pinned"), lines.get("pcie.d2h.pinned")
    if down and up:
        text = (
            f"Large pinned copies reach {down.y[-1] / 1e9:.1f} GB/s to the device and "
            f"{up.y[-1] / 1e9:.1f} GB/s back"
        )
        if limit:
            text += (
                f", {units.percent(down.y[-1] / limit)} and {units.percent(up.y[-1] / limit)} of "
                "the link's raw rate"
            )
        parts.append(text + ".")
    elif lines:
        line = next(iter(lines.values()))
        parts.append(f"Copies {line.name} reach {max(line.y) / 1e9:.1f} GB/s.")
    small = [
        m.summary.median_s
        for m in rows
        if m.id == "pcie.h2d.pinned" and m.summary and (size_of(m) or math.inf) <= SMALL_COPY_BYTES
    ]
    if small:
        half = _half_rate_size(down) if down else None
        text = f"A small copy takes {units.time(min(small))}"
        if half:
            text += f", and copies of {units.size(half)} reach half the rate"
        parts.append(text + ".")
    pageable = lines.get("pcie.h2d.pageable")
    if pageable and down and (pinned := down.at(pageable.x[-1])):
        ratio = pinned / pageable.y[-1]
        parts.append(
            f"To the device, pageable memory makes copies of {units.size(pageable.x[-1])} "
            f"{units.number(ratio, 2)} times slower."
            if ratio > 1.1
            else "Pageable memory costs nothing here."
        )
    return " ".join(parts)
