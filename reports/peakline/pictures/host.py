"""The host's memory and arithmetic against threads."""

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
    """The host's memory bandwidth and arithmetic against threads."""
    panels_data = []
    for prefix, label in (("host.memory", "GB/s"), ("host.fma", "GFLOP/s")):
        rows = profile.of(device, prefix)
        lines = [
            line
            for id_ in dict.fromkeys(m.id for m in rows)
            if (
                line := curve(
                    id_.rsplit(".", 1)[1],
                    [m for m in rows if m.id == id_],
                    lambda m: m.integer("threads") or None,
                )
            ).x
        ]
        if lines:
            panels_data.append((prefix, label, lines))
    # One number of threads makes no curve; the table of ceilings has it.
    if not any(len(line.x) > 1 for _, _, lines in panels_data for line in lines):
        return None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.1, len(panels_data), right=canvas.room(["triad 0000"]))
        for axes, (_, label, lines) in zip(panels, panels_data, strict=True):
            labels = []
            for i, line in enumerate(lines):
                color = plot(axes, line, i, 1e9)
                labels.append(
                    EndLabel(
                        line.y[-1] / 1e9, f"{line.name} {units.number(line.y[-1] / 1e9)}", color
                    )
                )
            axes.set_xscale("log", base=2)
            integer_ticks(axes.xaxis, sorted({x for line in lines for x in line.x}), 7)
            axes.set_ylim(bottom=0)
            canvas.labels(axes, "threads", label)
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "host",
        "Host: memory and arithmetic against threads",
        "A line that goes flat has met a shared limit, mostly the memory controllers; one that "
        "keeps rising still gains from every thread.",
        " ".join(_scaling_reading(prefix, lines) for prefix, _, lines in panels_data),
        draw,
    )


def _scaling_reading(prefix: str, lines: Sequence[Curve]) -> str:
    line = max(lines, key=lambda item: max(item.y))
    best = max(line.y)
    enough = next(x for x, y in zip(line.x, line.y, strict=True) if y >= 0.95 * best)
    what = "Memory" if prefix == "host.memory" else "Arithmetic"
    rate = units.rate(best, "B/s" if prefix == "host.memory" else "FLOP/s")
    text = f"{what} peaks at {rate} ({line.name})"
    if len(line.x) == 1:
        return f"{text} with {line.x[0]:g} thread{'' if line.x[0] == 1 else 's'}."
    plural = "" if enough == 1 else "s"
    if enough == line.x[-1]:
        return (
            f"{text} and still grows at {enough:g} thread{plural}, to "
            f"{units.number(best / line.y[0])} times the rate of {line.x[0]:g}."
        )
    return f"{text}; {enough:g} thread{plural} get 95 % of it."
