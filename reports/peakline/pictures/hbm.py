"""Device memory: access patterns, widths and footprints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.curves import amount, curve, plot, size_of, size_ticks
from peakline.pictures.picture import Picture
from peakline.pictures.style import (
    DASHED,
    INK,
    MARKERS,
    MUTED,
    SERIES,
)
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(profile: Profile, device: str) -> Picture | None:
    """Device memory: access patterns and widths, and the rate against the footprint."""
    rows = profile.of(device, "hbm")
    if not rows:
        return None
    patterns = list(dict.fromkeys(m.id for m in rows))
    # Patterns compare at the largest footprint that each has, where caches play no part.
    values: dict[tuple[str, int | None], float] = {}
    for id_ in patterns:
        of_id = [m for m in rows if m.id == id_]
        for width in {m.integer("width") for m in of_id}:
            of_width = [m for m in of_id if m.integer("width") == width]
            largest = max((size_of(m) or 0) for m in of_width)
            values[id_, width] = max(amount(m) for m in of_width if (size_of(m) or 0) == largest)
    limit = profile.ceiling(device, "hbm.read", "theoretical") or profile.ceiling(
        device, "hbm.copy", "theoretical"
    )
    curves = []
    for id_ in patterns:
        best = max((w for i, w in values if i == id_), key=lambda w: values[id_, w])
        line = curve(
            id_.removeprefix("hbm."),
            [m for m in rows if m.id == id_ and m.integer("width") == best],
            size_of,
        )
        if len(line.x) > 1:
            curves.append(line)

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(
            max(3.1, 0.34 * len(patterns) + 1.3),
            2 if curves else 1,
            left=0.75,
            right=canvas.room(f"{line.name} 0000" for line in curves),
            top=0.42,
        )
        axes = panels[0]
        widths = sorted({w for _, w in values if w is not None})
        for i, width in enumerate([*widths, None]):
            points = [
                (values[id_, width], y) for y, id_ in enumerate(patterns) if (id_, width) in values
            ]
            if points:
                axes.plot(
                    [p[0] / 1e9 for p in points],
                    [p[1] for p in points],
                    linestyle="none",
                    marker=MARKERS[i % len(MARKERS)],
                    color=SERIES[i % len(SERIES)] if width is not None else INK,
                    fillstyle="full" if i % 2 == 0 else "none",
                    markersize=6,
                    label=f"{width} bytes" if width is not None else "whole",
                )
        axes.set_yticks(range(len(patterns)), [p.removeprefix("hbm.") for p in patterns])
        axes.set_ylim(len(patterns) - 0.4, -0.6)
        low, high = min(values.values()) / 1e9, max(values.values()) / 1e9
        if limit is not None:
            high = max(high, limit.value / 1e9)
            axes.axvline(
                limit.value / 1e9, color=MUTED, linestyle=DASHED, lw=0.9, label="theoretical"
            )
        axes.set_xlim(low - (high - low) * 0.15, high + (high - low) * 0.06)
        axes.legend(
            fontsize=canvas.font - 1.5,
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            ncols=3 if canvas.narrow else 5,
            handletextpad=0.1,
            columnspacing=0.7,
            borderaxespad=0.1,
        )
        canvas.labels(axes, "GB/s, read + written, by access width")
        if curves:
            axes = panels[1]
            axes.set_xscale("log", base=2)
            labels = []
            for i, line in enumerate(curves):
                color = plot(axes, line, i, 1e9)
                labels.append(
                    EndLabel(line.y[-1] / 1e9, f"{line.name} {line.y[-1] / 1e9:.0f}", color)
                )
            xs = [x for line in curves for x in line.x]
            size_ticks(axes.xaxis, min(xs), max(xs), 4)
            canvas.labels(axes, "footprint", "GB/s, best width")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "hbm",
        "Device memory: patterns and widths",
        "Each row is one access pattern, each mark one access width; the dashed line is what clock "
        "and bus width allow. A copy counts the bytes it reads and the bytes it writes.",
        _hbm_reading(values, limit.value if limit else None),
        draw,
    )


def _hbm_reading(values: dict[tuple[str, int | None], float], limit: float | None) -> str:
    fastest = max(values, key=values.__getitem__)
    slowest_pattern = min(
        {i for i, _ in values}, key=lambda i: max(v for (j, _), v in values.items() if j == i)
    )
    slow = max(v for (i, _), v in values.items() if i == slowest_pattern)
    text = (
        f"The fastest pattern, {fastest[0].removeprefix('hbm.')}, reaches "
        f"{values[fastest] / 1e9:.0f} GB/s"
    )
    if limit:
        text += (
            f", {units.percent(values[fastest] / limit)} of the theoretical {limit / 1e9:.0f} GB/s"
        )
    text += "."
    if slowest_pattern != fastest[0]:
        text += (
            f" {slowest_pattern.removeprefix('hbm.').capitalize()} is the slowest with "
            f"{slow / 1e9:.0f} GB/s."
        )
    # The pattern to which the width matters most speaks for all.
    gains = {}
    for pattern in {i for i, _ in values}:
        widths = {w: v for (i, w), v in values.items() if i == pattern and w is not None}
        if len(widths) > 1:
            wide, narrow = max(widths), min(widths)
            gains[pattern, wide, narrow] = widths[wide] / widths[narrow] - 1
    if gains:
        (pattern, wide, narrow), change = max(gains.items(), key=lambda item: abs(item[1]))
        text += (
            f" Width matters most to {pattern.removeprefix('hbm.')}: {wide}-byte accesses are "
            f"{abs(change) * 100:.0f} % {'faster' if change > 0 else 'slower'} than {narrow}-byte "
            "ones."
            if abs(change) >= 0.01
            else f" {narrow}-byte accesses are as fast as {wide}-byte ones."
        )
    return text
