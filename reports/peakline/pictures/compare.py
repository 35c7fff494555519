"""Ceilings of several devices side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.base import MARKERS, MUTED, SERIES, Canvas, Picture
from peakline.pictures.roofline import MEASURED, resource_name
from peakline.profile import Ceiling, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ceilings_side_by_side(items: Sequence[tuple[str, Profile, str]]) -> Picture | None:
    """Each measured ceiling of (name, profile, device), relative to the first one's.

    None without two devices that share a ceiling.
    """
    if len(items) < 2:
        return None
    rows: dict[str, dict[str, Ceiling]] = {}
    for name, profile, device in items:
        for resource in profile.resources(device):
            row = profile.ceiling(device, resource, *MEASURED)
            if row is not None:
                rows.setdefault(resource, {})[name] = row
    base = items[0][0]
    rows = {r: found for r, found in rows.items() if base in found and len(found) > 1}
    if not rows:
        return None
    names = list(rows)

    def draw(canvas: Canvas) -> Figure:
        figure, (axes,) = canvas.figure(
            1.25 + 0.27 * len(names),
            left=canvas.room(map(resource_name, names), canvas.font - 0.5),
            right=canvas.room(["000 TFLOP/s"], canvas.font - 1),
        )
        for i, (name, _, _) in enumerate(items):
            points = [
                (rows[r][name].value / rows[r][base].value * 100, y)
                for y, r in enumerate(names)
                if name in rows[r]
            ]
            axes.plot(
                [p[0] for p in points],
                [p[1] for p in points],
                linestyle="none",
                marker=MARKERS[i % len(MARKERS)],
                fillstyle="full" if i % 2 == 0 else "none",
                color=SERIES[i % len(SERIES)],
                markersize=6,
                label=name,
            )
        for y, resource in enumerate(names):
            row = rows[resource][base]
            axes.annotate(
                units.rate(row.value, row.unit),
                xy=(1.0, y),
                xytext=(4, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                fontsize=canvas.font - 1,
                color=SERIES[0],
                va="center",
                annotation_clip=False,
            )
        axes.axvline(100, color=MUTED, lw=0.8, linestyle=(0, (4, 3)))
        axes.set_yticks(range(len(names)), [resource_name(r) for r in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.margins(x=0.08)
        axes.legend(
            fontsize=canvas.font - 1,
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=2 if canvas.narrow else 4,
            handletextpad=0.2,
            borderaxespad=0.1,
        )
        canvas.labels(axes, f"% of {base}")
        return figure

    ratios = {
        (name, resource): row.value / found[base].value
        for resource, found in rows.items()
        for name, row in found.items()
        if name != base
    }
    high, low = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
    reading = (
        f"{high[0]} is furthest ahead of {base} in {resource_name(high[1])}, with "
        f"{ratios[high]:.2f} times its rate"
        if ratios[high] > 1
        else f"Nothing is ahead of {base}"
    )
    reading += (
        f"; {low[0]} is furthest behind in {resource_name(low[1])}, with {ratios[low]:.2f} times."
        if ratios[low] < 1
        else "; nothing is behind."
    )
    return Picture(
        "ceilings",
        "Ceilings side by side",
        f"Each row is one ceiling, each mark one machine, as a share of {base}, whose own figures "
        "stand at the right. A ratio alone is no verdict: peakline compare weighs intervals and "
        "the spread between runs.",
        reading,
        draw,
    )
