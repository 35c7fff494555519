"""Measured ceilings against the theoretical ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from peakline import units
from peakline.names import resource_name
from peakline.pictures.canvas import Canvas
from peakline.pictures.picture import Picture
from peakline.pictures.style import (
    DASHED,
    INK,
    MUTED,
    SERIES,
)
from peakline.profile import Ceiling, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Marker, fill and colour: filled is measured under load, hollow is anything else.
_BASIS_MARKS: dict[str, tuple[str, Literal["full", "none"], str]] = {
    "datasheet": ("D", "none", INK),
    "instruction": ("^", "none", INK),
    "measured": ("o", "full", SERIES[0]),
    "burst": ("o", "full", SERIES[0]),
    "sustained": ("s", "full", SERIES[1]),
    "model_shaped": ("v", "none", INK),
}
# Burst is how a compute peak is measured, "measured" how a bandwidth is: one kind of mark.
_BASIS_NAMES = {
    "datasheet": "datasheet",
    "instruction": "instruction",
    "measured": "measured (burst)",
    "burst": "measured (burst)",
    "sustained": "sustained",
    "model_shaped": "model-shaped",
}
_TOP_BASES = ("measured", "burst", "instruction", "sustained", "model_shaped")


def picture(profile: Profile, device: str) -> Picture | None:
    """Each ceiling as a share of what the specification allows."""
    rows: dict[str, dict[str, Ceiling]] = {}
    limits: dict[str, float] = {}
    for resource in profile.resources(device):
        limit = profile.ceiling(device, resource, "theoretical")
        found = {
            basis: row
            for basis in _BASIS_MARKS
            if (row := profile.ceiling(device, resource, basis)) is not None
        }
        if limit is not None and any(b != "datasheet" for b in found):
            rows[resource], limits[resource] = found, limit.value
    if len(rows) < 2:
        return None

    def best(resource: str) -> float:
        return (
            next(rows[resource][b].value for b in _TOP_BASES if b in rows[resource])
            / limits[resource]
        )

    names = list(rows)
    entries = len({_BASIS_NAMES[basis] for found in rows.values() for basis in found}) + 1

    def draw(canvas: Canvas) -> Figure:
        columns = 2 if canvas.narrow else 6
        figure, (axes,) = canvas.figure(
            1.05 + 0.25 * len(names) + 0.2 * math.ceil(entries / columns),
            left=canvas.room(map(resource_name, names), canvas.font - 0.5),
            right=canvas.room(["00.0 TFLOP/s"], canvas.font - 1),
            top=0.14 + 0.2 * math.ceil(entries / columns),
        )
        used: set[str] = set()
        for y, resource in enumerate(names):
            shares = [row.value / limits[resource] * 100 for row in rows[resource].values()]
            axes.plot([min(shares), max(shares)], [y, y], color=MUTED, lw=0.8, zorder=1)
            for basis, row in rows[resource].items():
                marker, fill, color = _BASIS_MARKS[basis]
                axes.plot(
                    [row.value / limits[resource] * 100],
                    [y],
                    linestyle="none",
                    marker=marker,
                    fillstyle=fill,
                    color=color,
                    markersize=6,
                    label="" if _BASIS_NAMES[basis] in used else _BASIS_NAMES[basis],
                )
                used.add(_BASIS_NAMES[basis])
            top = next(rows[resource][b] for b in _TOP_BASES if b in rows[resource])
            axes.annotate(
                units.rate(top.value, top.unit),
                xy=(1.0, y),
                xytext=(4, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                fontsize=canvas.font - 1,
                color=INK,
                va="center",
                annotation_clip=False,
            )
        axes.axvline(100, color=MUTED, linestyle=DASHED, lw=0.9, label="theoretical")
        axes.set_yticks(range(len(names)), [resource_name(n) for n in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        low = min(row.value / limits[n] * 100 for n in names for row in rows[n].values())
        axes.set_xlim(min(75.0, low - 5), 102)
        axes.legend(
            fontsize=canvas.font - 1,
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=columns,
            handletextpad=0.2,
            columnspacing=1.0,
            borderaxespad=0.1,
        )
        canvas.labels(axes, "% of theoretical, at the maximum clock")
        return figure

    low, high = min(names, key=best), max(names, key=best)
    return Picture(
        "ceilings",
        "Measured against theoretical",
        "The dashed line is what clock and unit counts allow; filled marks were measured under "
        "load. A gap between burst and sustained is the price of unbroken load; model-shaped is "
        "what the products of a transformer layer reach.",
        f"Closest to the limit: {resource_name(high)} with {units.percent(best(high))}; furthest: "
        f"{resource_name(low)} with {units.percent(best(low))}. Where there is a sustained figure "
        "beside it, the burst one counts.",
        draw,
    )
