"""Several devices in one frame: rooflines overlaid, ceilings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from peakline import units
from peakline.limits import MEASURED, Limit, Limits, limits
from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.curves import plot_marks
from peakline.pictures.picture import Picture
from peakline.pictures.roofline import frame, short_label, slope_text
from peakline.pictures.style import DASHES, INK, LIMIT, SERIES
from peakline.profile import Ceiling, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
        lambda canvas: _draw_overlay(canvas, found),
        reading=_overlay_reading(found),
    )


def _overlay_reading(found: Sequence[tuple[str, Limits]]) -> str:
    """Who leads in main memory, and in the first machine's highest roof that all have."""
    parts = [_leader("Memory", {name: limits_.main.best for name, limits_ in found})]
    by_resource = [{r.resource: r for r in limits_.roofs} for _, limits_ in found]
    for resource, roof in by_resource[0].items():
        if all(resource in roofs for roofs in by_resource):
            rows = {name: r[resource].best for (name, _), r in zip(found, by_resource, strict=True)}
            parts.append(_leader(roof.label, rows))
            break
    return " ".join(parts)


def _leader(what: str, rows: dict[str, Ceiling]) -> str:
    best, worst = (choose(rows, key=lambda name: rows[name].value) for choose in (max, min))
    return (
        f"{what}: {best} leads with {units.rate(rows[best].value, rows[best].unit)}, "
        f"{units.number(rows[best].value / rows[worst].value)} times {worst}."
    )


def _draw_overlay(canvas: Canvas, found: Sequence[tuple[str, Limits]]) -> Figure:
    figure, (axes,) = canvas.figure(
        4.4 if canvas.narrow else 4.9, right=1.0 if canvas.narrow else 1.9
    )
    bandwidths = [limits_.main.value for _, limits_ in found]
    highest = max(limits_.roofs[0].value for _, limits_ in found)
    ridges = [roof.value / limits_.main.value for _, limits_ in found for roof in limits_.roofs]
    frame(axes, min(bandwidths), highest, ridges, ())
    ranks = sorted(range(len(found)), key=lambda i: -bandwidths[i])
    for i, (name, limits_) in enumerate(found):
        _draw_machine(axes, canvas, name, limits_, i, ranks.index(i))
    canvas.labels(axes, "arithmetic intensity, FLOP/byte", "FLOP/s")
    roofs: dict[str, list[Limit]] = {}
    for _, limits_ in found:
        for roof in limits_.roofs:
            roofs.setdefault(roof.resource, []).append(roof)
    ends = [_shared_label(canvas, group) for group in roofs.values()]
    end_labels(axes, ends, canvas.font - (1.5 if canvas.narrow else 0.5))
    return figure


def _draw_machine(
    axes: Axes, canvas: Canvas, name: str, found: Limits, index: int, rank: int
) -> None:
    """One machine's slope and roofs; rank: of its bandwidth, from 0."""
    style: dict[str, Any] = {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[index % len(DASHES)],
    }
    bandwidth, top = found.main.value, found.roofs[0].value
    x_low, x_high = axes.get_xlim()
    axes.plot(
        [x_low, top / bandwidth],
        [x_low * bandwidth, top],
        label=f"{name} {found.main.resource}",
        **style,
    )
    at = min(x_low * 1.3 * 6.0**rank, top / bandwidth)
    text = f"{name}: {units.rate(bandwidth, 'B/s')}"
    away = (-4, 5 if rank == 0 else -13)
    slope_text(axes, text, at, at * bandwidth, away, canvas.font - 0.5, style["color"])
    for roof in found.roofs:
        ends = [roof.value / bandwidth, x_high]
        axes.plot(ends, [roof.value] * 2, lw=1.4, label=f"{name} {roof.resource}", **style)


def _shared_label(canvas: Canvas, roofs: Sequence[Limit]) -> EndLabel:
    """One label for the same roof of several machines."""
    ordered = sorted(roofs, key=lambda roof: roof.value)
    name = short_label(roofs[0].label) if canvas.narrow else roofs[0].label
    short = len(roofs) > 3 or canvas.narrow
    shown = [ordered[0], ordered[-1]] if short else roofs
    amounts = [units.rate(roof.value, roof.best.unit).split(" ")[0] for roof in shown]
    return EndLabel(ordered[-1].value, f"{name} {('–' if short else ' / ').join(amounts)}", INK)


def ceilings_side_by_side(items: Sequence[tuple[str, Profile, str]]) -> Picture | None:
    """Each measured ceiling of (name, profile, device), relative to the first one's.

    None without two devices that share a ceiling.
    """
    if len(items) < 2:
        return None
    rows: dict[str, dict[str, Ceiling]] = {}
    labels: dict[str, str] = {}
    for name, profile, device in items:
        for resource in profile.resources_of(device):
            row = profile.ceiling(device, resource, *MEASURED)
            if row is not None:
                rows.setdefault(resource, {})[name] = row
                labels.setdefault(resource, profile.label(resource))
    base = items[0][0]
    rows = {r: found for r, found in rows.items() if base in found and len(found) > 1}
    if not rows:
        return None
    return Picture(
        "ceilings",
        "Ceilings side by side",
        f"Each row is one ceiling, each mark one machine, as a share of {base}, whose own figures "
        "are on the right. A ratio alone is no verdict: peakline compare weighs confidence "
        "intervals and the spread between runs.",
        lambda canvas: _draw_side_by_side(canvas, [name for name, _, _ in items], rows, labels),
        reading=_furthest(rows, labels, base),
    )


def _furthest(rows: dict[str, dict[str, Ceiling]], labels: dict[str, str], base: str) -> str:
    ratios = {
        (name, resource): row.value / found[base].value
        for resource, found in rows.items()
        for name, row in found.items()
        if name != base
    }
    high, low = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
    ahead = (
        f"{high[0]} is furthest ahead of {base} in {labels[high[1]]}, with "
        f"{ratios[high]:.2f} times its rate"
        if ratios[high] > 1
        else f"Nothing is ahead of {base}"
    )
    behind = (
        f"{low[0]} is furthest behind in {labels[low[1]]}, with {ratios[low]:.2f} times."
        if ratios[low] < 1
        else "nothing is behind."
    )
    return f"{ahead}; {behind}"


def _draw_side_by_side(
    canvas: Canvas,
    machines: Sequence[str],
    rows: dict[str, dict[str, Ceiling]],
    labels: dict[str, str],
) -> Figure:
    shown = [labels[resource] for resource in rows]
    base = machines[0]
    figure, (axes,) = canvas.figure(
        1.25 + 0.27 * len(rows),
        left=canvas.room(shown, canvas.font - 0.5),
        right=canvas.room(["000 TFLOP/s"], canvas.font - 1),
    )
    for i, name in enumerate(machines):
        points = [
            (found[name].value / found[base].value * 100, y)
            for y, found in enumerate(rows.values())
            if name in found
        ]
        plot_marks(axes, points, i, label=name)
    for y, found in enumerate(rows.values()):
        canvas.beside(axes, y, units.rate(found[base].value, found[base].unit), SERIES[0])
    axes.axvline(100, **LIMIT)
    canvas.rows(axes, shown)
    axes.margins(x=0.08)
    canvas.legend_above(axes, 2 if canvas.narrow else 4)
    canvas.labels(axes, f"% of {base}")
    return figure
