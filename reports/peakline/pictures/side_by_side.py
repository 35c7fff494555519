"""Several devices in one frame: rooflines overlaid, ceilings side by side."""

import math
from collections.abc import Sequence
from typing import Any

from peakline import units
from peakline.limits.ceilings import MEASURED, Limits, RooflineLimit, limits
from peakline.pictures.canvas import Axes, Canvas, EndLabel, Figure, Line2D, end_labels
from peakline.pictures.curves import plot_marks
from peakline.pictures.labels import short_label
from peakline.pictures.picture import Picture, stamp
from peakline.pictures.roofline import first_roofs, frame, scaled, unit_heading
from peakline.pictures.style import DASHES, INK, LIMIT, SERIES
from peakline.pictures.titles import says
from peakline.profile import Ceiling, Profile


def overlay(items: Sequence[tuple[str, Profile, str]]) -> Picture | None:
    """Rooflines of several (name, profile, device) in one frame; None for fewer than two."""
    found = [
        (name, first_roofs(limits_))
        for name, profile, device in items
        if (limits_ := limits(profile, device))
    ]
    if len(found) < 2:
        return None
    return Picture(
        "rooflines",
        "Rooflines overlaid",
        "Colour and dash tell the machines apart; the slope is the main memory's, the flat lines "
        "are the best measured rate of each precision.",
        lambda canvas: _draw_overlay(canvas, found),
        headline=_leads(found),
        stamp=_stamp(items),
    )


def _stamp(items: Sequence[tuple[str, Profile, str]]) -> str:
    return "; ".join(f"{name}: {stamp(profile, device)}" for name, profile, device in items)


def _leads(found: Sequence[tuple[str, Limits]]) -> str:
    """The leaders in the slope, and in the first machine's highest roof that all have."""
    by_resource = [{r.resource: r for r in limits_.roofs} for _, limits_ in found]
    shared = [
        [roofs[resource] for roofs in by_resource]
        for resource in by_resource[0]
        if all(resource in roofs for roofs in by_resource)
    ]
    names = [name for name, _ in found]
    return "; ".join(
        _lead(names, rows) for rows in ([limits_.main for _, limits_ in found], *shared[:1])
    )


# Two runs of one healthy card are as far apart.
_NO_LEAD = 1.02


def _lead(names: Sequence[str], rows: Sequence[RooflineLimit]) -> str:
    """ "HBM read: h200 leads with 4617 GB/s, 1.44 × h100"."""
    (best, leader), *others = sorted(
        zip(rows, names, strict=True), key=lambda row: row[0].value, reverse=True
    )
    last, slowest = others[-1]
    value, least = (units.rate(row.value, best.best.unit) for row in (best, last))
    if value == least:
        return f"{best.label}: {value} each"
    if best.value < _NO_LEAD * last.value:
        return f"{best.label}: {least} to {value}"
    return f"{best.label}: {leader} leads with {value}, {best.value / last.value:.3g} × {slowest}"


def _draw_overlay(canvas: Canvas, found: Sequence[tuple[str, Limits]]) -> Figure:
    roofs: dict[str, list[RooflineLimit]] = {}
    for _, limits_ in found:
        for roof in limits_.roofs:
            roofs.setdefault(roof.resource, []).append(roof)
    first = max((limits_.roofs[0] for _, limits_ in found), key=lambda roof: roof.value)
    ends = [_shared_label(canvas, group, first) for group in roofs.values()]
    font = canvas.font - (1.0 if canvas.narrow else 0.5)
    right = canvas.room([label.text for label in ends], font) + 0.1
    figure, (axes,) = canvas.figure(4.3, right=right)
    bandwidths = [limits_.main.value for _, limits_ in found]
    ridges = [roof.value / limits_.main.value for _, limits_ in found for roof in limits_.roofs]
    frame(axes, min(bandwidths), first.value, ridges, ())
    slopes = [_draw_machine(axes, name, limits_, i) for i, (name, limits_) in enumerate(found)]
    # Below all slopes and roofs, up to the figure's edge: names may be long.
    axes.legend(
        slopes,
        [f"{name}: {units.rate(limits_.main.value, 'B/s')}" for name, limits_ in found],
        fontsize=canvas.font - 1,
        loc="lower right",
        bbox_to_anchor=(1.0 + right / axes.get_position().width / canvas.width, 0.0),
        handlelength=2.2,
        borderaxespad=0.2,
    )
    canvas.labels(axes, "arithmetic intensity, FLOP/byte", "FLOP/s")
    unit_heading(axes, canvas, first)
    end_labels(axes, ends, font)
    return figure


def _draw_machine(axes: Axes, name: str, found: Limits, index: int) -> Line2D:
    """Draws a machine's slope and roofs; returns the slope."""
    style: dict[str, Any] = {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[index % len(DASHES)],
    }
    bandwidth, top = found.main.value, found.roofs[0].value
    x_low, x_high = axes.get_xlim()
    (slope,) = axes.plot(
        [x_low, top / bandwidth],
        [x_low * bandwidth, top],
        label=f"{name} {found.main.resource}",
        **style,
    )
    says(slope, f"{name} {found.main.label}: {units.rate(bandwidth, 'B/s')}")
    for roof in found.roofs:
        ends = [roof.value / bandwidth, x_high]
        label = f"{name} {roof.resource}"
        (line,) = axes.plot(ends, [roof.value] * 2, lw=1.4, label=label, **style)
        says(line, f"{name} {roof.label}: {units.rate(roof.value, roof.best.unit)}")
    return slope


def _shared_label(canvas: Canvas, roofs: Sequence[RooflineLimit], first: RooflineLimit) -> EndLabel:
    """One label for a roof of several machines, in the first roof's unit."""
    ordered = sorted(roofs, key=lambda roof: roof.value)
    name = short_label(roofs[0].label) if canvas.narrow else roofs[0].label
    short = len(roofs) > 3 or canvas.narrow
    shown = [ordered[0], ordered[-1]] if short else roofs
    amounts = [scaled(first, roof.value)[0] for roof in shown]
    return EndLabel(ordered[-1].value, f"{name} {('–' if short else ' / ').join(amounts)}", INK)


def ceilings_side_by_side(items: Sequence[tuple[str, Profile, str]]) -> Picture | None:
    """Each measured ceiling of (name, profile, device), relative to the first one's. None unless
    two devices share a ceiling."""
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
        "are on the right; the table has the other bases of each precision. A ratio alone is no "
        "verdict: peakline compare weighs intervals, the spread between runs, and how cards of a "
        "model differ.",
        lambda canvas: _draw_side_by_side(canvas, [name for name, _, _ in items], rows, labels),
        headline=_furthest(rows, labels, base),
        stamp=_stamp(items),
    )


def _furthest(rows: dict[str, dict[str, Ceiling]], labels: dict[str, str], base: str) -> str:
    """The largest difference to the first machine. Verdicts are for `peakline compare`."""
    ratio, name, resource = max(
        (
            (row.value / found[base].value, name, resource)
            for resource, found in rows.items()
            for name, row in found.items()
            if name != base
        ),
        key=lambda each: abs(math.log(each[0])),
    )
    return f"Furthest apart: {labels[resource]}, {name} at {units.percent(ratio)} of {base}"


def _draw_side_by_side(
    canvas: Canvas,
    machines: Sequence[str],
    rows: dict[str, dict[str, Ceiling]],
    labels: dict[str, str],
) -> Figure:
    shown = [labels[resource] for resource in rows]
    base = machines[0]
    amounts = [units.rate(found[base].value, found[base].unit) for found in rows.values()]
    beside = [""] * len(shown) if canvas.narrow else shown
    step = 0.42 if canvas.narrow else 0.27
    figure, axes = canvas.row_panel(beside, step, amounts, machines, color=SERIES[0])
    if canvas.narrow:
        canvas.above_rows(axes, shown)
    for i, name in enumerate(machines):
        points = [
            (found[name].value / found[base].value * 100, y)
            for y, found in enumerate(rows.values())
            if name in found
        ]
        plot_marks(axes, points, i, label=name)
    axes.axvline(100, **LIMIT)
    # Machines that are the same look the same.
    low, high = min(axes.dataLim.x0, 97.0), max(axes.dataLim.x1, 103.0)
    axes.set_xlim(low - 0.04 * (high - low), high + 0.04 * (high - low))
    axes.locator_params(axis="x", nbins=4 if canvas.narrow else 8)
    canvas.legend_above(axes, canvas.columns(machines))
    canvas.labels(axes, f"% of {base}")
    return figure
