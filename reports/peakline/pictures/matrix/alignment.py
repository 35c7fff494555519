"""The cost of unaligned dimensions, by the largest power of two that divides them."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from peakline.names import format_name
from peakline.pictures.canvas import Canvas, Figure
from peakline.pictures.curves import plot, plot_marks
from peakline.pictures.matrix.rows import format_of, formats_of, per_clock
from peakline.pictures.picture import Picture
from peakline.pictures.style import precision_color
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


def picture(profile: Profile, device: str) -> Picture | None:
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
                color = precision_color(profile, line.name)
                shown = [(position[p], y / 0.01) for p, y in medians.items()]
                plot(axes, shown, i, color=color, lw=1.4, label=format_name(line.name))
                points = [(position[p], y * 100) for p, y in line.points]
                look = {"markersize": 3, "fillstyle": "none", "label": f"_{line.name} points"}
                plot_marks(axes, points, i, color=color, **look)
            # Room for every other label, the aligned size's included.
            axes.set_xticks(
                range(len(powers)),
                [str(p) if (len(powers) - i) % 2 else "" for i, p in enumerate(powers)],
            )
            axes.set_ylim(max(0.0, low * 100 - 12), top * 100 + 4)
            heading = f"{dimension}: % of the aligned rate"
            canvas.labels(axes, f"power of two that divides {dimension}", heading)
        panels[0].legend(fontsize=canvas.font - 1.5, loc="lower right", borderaxespad=0.1)
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
