"""Several devices in one frame: rooflines overlaid, ceilings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.limits import MEASURED, Limits, limits, main_slope
from peakline.names import resource_name
from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.picture import Picture
from peakline.pictures.roofline import frame, short_name, slope_angle
from peakline.pictures.style import (
    DASHED,
    DASHES,
    INK,
    MARKERS,
    MUTED,
    SERIES,
)
from peakline.profile import Ceiling, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def overlay(items: Sequence[tuple[str, Profile, str]]) -> Picture | None:
    """Rooflines of several (name, profile, device) in one frame; None without two of them."""
    found = [
        (name, limits_) for name, profile, device in items if (limits_ := limits(profile, device))
    ]
    if len(found) < 2:
        return None
    return Picture(
        "rooflines",
        "Rooflines overlaid",
        "Colour and dash tell the machines apart; the slope is the main memory's, the flat lines "
        "are the best measured rate of each precision.",
        _overlay_reading(found),
        lambda canvas: _draw_overlay(canvas, found),
    )


def _overlay_reading(found: Sequence[tuple[str, Limits]]) -> str:
    ranked = sorted(found, key=lambda item: -main_slope(item[1]).best.value)
    fast, slow = main_slope(ranked[0][1]), main_slope(ranked[-1][1])
    parts = [
        f"Memory: {ranked[0][0]} leads with {units.rate(fast.best.value, 'B/s')}, "
        f"{units.number(fast.best.value / slow.best.value)} times {ranked[-1][0]}."
    ]
    shared = set.intersection(*({r.resource for r in item[1].roofs} for item in found))
    for resource in (r.resource for r in found[0][1].roofs if r.resource in shared):
        values = {
            name: next(r.best.value for r in limits_.roofs if r.resource == resource)
            for name, limits_ in found
        }
        best, worst = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
        parts.append(
            f"{resource_name(resource)}: {best} leads with "
            f"{units.rate(values[best], 'FLOP/s')}, "
            f"{units.number(values[best] / values[worst])} times {worst}."
        )
        break
    return " ".join(parts)


def _draw_overlay(canvas: Canvas, found: Sequence[tuple[str, Limits]]) -> Figure:
    figure, (axes,) = canvas.figure(
        4.4 if canvas.narrow else 4.9, right=1.0 if canvas.narrow else 1.9
    )
    bandwidths = [main_slope(item[1]).best.value for item in found]
    highest = max(item[1].roofs[0].best.value for item in found)
    ridges = [
        roof.best.value / main_slope(limits_).best.value
        for _, limits_ in found
        for roof in limits_.roofs
    ]
    x_low, x_high = frame(axes, min(bandwidths), highest, ridges, ())
    angle = slope_angle(axes)
    labels: dict[str, list[tuple[float, str]]] = {}
    order = sorted(range(len(found)), key=lambda i: -bandwidths[i])
    for i, (name, limits_) in enumerate(found):
        color = SERIES[i % len(SERIES)]
        dash = DASHES[i % len(DASHES)]
        bandwidth = bandwidths[i]
        top = limits_.roofs[0].best.value
        axes.plot(
            [x_low, top / bandwidth],
            [x_low * bandwidth, top],
            color=color,
            linestyle=dash,
            label=f"{name} {main_slope(limits_).resource}",
        )
        at = x_low * 1.3 * 6.0 ** order.index(i)
        axes.annotate(
            f"{name}: {units.rate(bandwidth, 'B/s')}",
            xy=(min(at, top / bandwidth), min(at, top / bandwidth) * bandwidth),
            xytext=(-4, 5 if order.index(i) == 0 else -13),
            textcoords="offset points",
            rotation=angle,
            rotation_mode="anchor",
            fontsize=canvas.font - 0.5,
            color=color,
        )
        for roof in limits_.roofs:
            axes.plot(
                [roof.best.value / bandwidth, x_high],
                [roof.best.value, roof.best.value],
                color=color,
                linestyle=dash,
                lw=1.4,
                label=f"{name} {roof.resource}",
            )
            labels.setdefault(roof.resource, []).append(
                (roof.best.value, units.rate(roof.best.value, roof.best.unit).split(" ")[0])
            )
    canvas.labels(axes, "arithmetic intensity, FLOP/byte", "FLOP/s")
    ends = []
    for resource, values in labels.items():
        name = short_name(resource) if canvas.narrow else resource_name(resource)
        amounts = " / ".join(text for _, text in values)
        if len(values) > 3 or canvas.narrow:
            amounts = f"{min(values)[1]}–{max(values)[1]}"
        ends.append(EndLabel(max(values)[0], f"{name} {amounts}", INK))
    end_labels(axes, ends, canvas.font - (1.5 if canvas.narrow else 0.5))
    return figure


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
        axes.axvline(100, color=MUTED, lw=0.8, linestyle=DASHED)
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
