"""Device memory: access patterns, widths and footprints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline.names import level_of
from peakline.pictures.canvas import Canvas, end_labels
from peakline.pictures.curves import all_x, amount, curve, plot_all, plot_marks, size_of, size_ticks
from peakline.pictures.picture import Picture
from peakline.pictures.style import INK, LIMIT
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def picture(profile: Profile, device: str) -> Picture | None:
    """Device memory: access patterns and widths, and the rate against the footprint."""
    rows = profile.of(device, "hbm")
    if not rows:
        return None
    values = _largest_footprints(rows)
    patterns = list(dict.fromkeys(id_ for id_, _ in values))
    memory = profile.memory_resource(device, "hbm")
    limit = profile.ceiling(device, memory, "theoretical") if memory else None
    lines = []
    texts = []
    for id_ in patterns:
        # The widest access is the one that has all footprints.
        widest = max((w for i, w in values if i == id_), key=lambda w: w or 0)
        of_width = [m for m in rows if m.id == id_ and m.integer("width") == widest]
        line = curve(_pattern(id_), of_width, size_of)
        if len(line.x) > 1:
            lines.append(line)
            texts.append(f"{line.name} {line.y[-1] / 1e9:.0f}")

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(
            max(3.1, 0.34 * len(patterns) + 1.3),
            2 if lines else 1,
            left=0.75,
            right=canvas.room(texts),
            top=0.42,
        )
        _draw_patterns(panels[0], canvas, values, limit.value if limit else None)
        if lines:
            axes = panels[1]
            axes.set_xscale("log", base=2)
            labels = plot_all(axes, lines, texts, 1e9)
            xs = all_x(lines)
            size_ticks(axes.xaxis, xs[0], xs[-1], 4)
            canvas.labels(axes, "footprint", "GB/s, widest access")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "hbm",
        "Device memory: patterns and widths",
        "Each row is one access pattern, each mark one access width; the dashed line is what clock "
        "and bus width allow. cudaMemcpy and cudaMemset choose their width themselves. A copy "
        "counts the bytes it reads and the bytes it writes.",
        draw,
        tuple(profile.label(r) for r in profile.resources_of(device) if level_of(r) == "hbm"),
    )


def _pattern(id_: str) -> str:
    return id_.removeprefix("hbm.")


def _largest_footprints(rows: Sequence[Measurement]) -> dict[tuple[str, int | None], float]:
    """Rates by pattern and width, at the largest footprint of each, where caches play no part."""
    values: dict[tuple[str, int | None], tuple[float, float]] = {}
    for m in rows:
        key = (m.id, m.integer("width"))
        values[key] = max(values.get(key, (0.0, 0.0)), (size_of(m) or 0, amount(m)))
    return {key: rate for key, (_, rate) in values.items()}


def _draw_patterns(
    axes: Axes, canvas: Canvas, values: dict[tuple[str, int | None], float], limit: float | None
) -> None:
    patterns = list(dict.fromkeys(id_ for id_, _ in values))
    widths = sorted({w for _, w in values if w is not None})
    for i, width in enumerate([*widths, None]):
        rates = [values.get((id_, width)) for id_ in patterns]
        points = [(rate / 1e9, y) for y, rate in enumerate(rates) if rate is not None]
        if not points:
            continue
        if width is not None:
            plot_marks(axes, points, i, label=f"{width} bytes")
        else:
            plot_marks(axes, points, i, color=INK, label="by the driver")
    canvas.rows(axes, [_pattern(id_) for id_ in patterns])
    low, high = min(values.values()) / 1e9, max(values.values()) / 1e9
    if limit is not None:
        high = max(high, limit / 1e9)
        axes.axvline(limit / 1e9, label="theoretical", **LIMIT)
    axes.set_xlim(low - (high - low) * 0.15, high + (high - low) * 0.06)
    canvas.legend_above(axes, 3 if canvas.narrow else 5, 1.5)
    canvas.labels(axes, "GB/s, read + written, by access width")
