"""Effective bandwidth against the offset and the stride of accesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.curves import Curve, curve, integer_ticks, plot
from peakline.pictures.picture import Picture
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(profile: Profile, device: str) -> Picture | None:
    """Effective bandwidth against the offset and against the stride of accesses."""
    panels_data = []
    for id_, parameter, label in (
        ("alignment.offset", "offset", "offset, bytes"),
        ("alignment.stride", "stride", "stride, elements"),
    ):
        rows = profile.of(device, id_)
        lines = []
        for width in sorted({m.integer("width") or 0 for m in rows}):
            line = curve(
                f"{width} bytes",
                [m for m in rows if (m.integer("width") or 0) == width],
                lambda m, parameter=parameter: m.integer(parameter),  # type: ignore[misc]
            )
            base = line.at(0) or line.at(1)
            if base and len(line.x) > 1:
                lines.append(Curve(line.name, line.x, tuple(y / base for y in line.y)))
        if lines:
            panels_data.append((id_, label, lines))
    if not panels_data:
        return None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.1, len(panels_data), right=canvas.room(["16 bytes"]))
        for axes, (id_, label, lines) in zip(panels, panels_data, strict=True):
            labels = []
            for i, line in enumerate(lines):
                color = plot(axes, line, i, 0.01)
                labels.append(EndLabel(line.y[-1] * 100, line.name, color))
            axes.set_ylim(0, max(105.0, *(y * 105 for line in lines for y in line.y)))
            if id_ == "alignment.stride":
                axes.set_xscale("log", base=2)
                integer_ticks(axes.xaxis, sorted({x for line in lines for x in line.x}))
            else:
                # DRAM moves sectors of 32 bytes, so that is where the pattern repeats.
                multiples = {x for line in lines for x in line.x if x % 32 == 0}
                axes.set_xticks(sorted(multiples)[:9])
            canvas.labels(axes, label, "% of the aligned bandwidth")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "alignment",
        "Alignment: offset and stride",
        "Each line is one access width; 100 % is the same access aligned and contiguous. Only what "
        "the kernel asked for counts, not what the hardware moved besides.",
        " ".join(_alignment_reading(id_, lines) for id_, _, lines in panels_data),
        draw,
    )


def _alignment_reading(id_: str, lines: Sequence[Curve]) -> str:
    worst_line = min(lines, key=lambda line: min(line.y))
    worst = min(worst_line.y)
    at = worst_line.x[worst_line.y.index(worst)]
    if id_ == "alignment.offset":
        if worst > 0.98:
            return "No offset costs more than 2 %."
        return (
            f"The worst offset, {at:g} bytes with accesses of {worst_line.name}, leaves "
            f"{units.percent(worst)}."
        )
    half = [(line, x) for line in lines for x, y in zip(line.x, line.y, strict=True) if y <= 0.55]
    text = f"At stride {at:g} accesses of {worst_line.name} keep {units.percent(worst)}."
    if half and len(lines[0].x) > 2:
        line, x = min(half, key=lambda item: item[1])
        text += f" Half is already lost at stride {x:g} ({line.name})."
    return text
