"""The roofline: performance against arithmetic intensity (Williams, Waterman, Patterson 2009).

Attainable FLOP/s = min(roof, intensity x bandwidth), log-log; one slope per memory level, one flat
roof per precision and unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline import units
from peakline.kernels import Mark
from peakline.limits import Limit, Limits, limits, main_slope, plain_roof
from peakline.names import resource_name
from peakline.pictures.canvas import Canvas, EndLabel, decade_ticks, end_labels
from peakline.pictures.picture import Picture
from peakline.pictures.style import (
    CARD,
    DASHED,
    DASHES,
    GROUND,
    INK,
    MARKERS,
    MUTED,
    SERIES,
    resource_color,
)
from peakline.profile import Profile, Roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def short_name(resource: str) -> str:
    """The same for narrow pictures: "BF16 T"."""
    name = resource_name(resource).replace(" Tensor Cores", " T").replace(" CUDA cores", "")
    return name.replace(" matrix product", " GEMM")


def picture(profile: Profile, device: str, marks: Sequence[Mark] = ()) -> Picture | None:
    """The roofline of a device; `marks` are kernels to be put on it."""
    found = limits(profile, device)
    if found is None:
        return None
    roofline = next(r for r in profile.rooflines if r.device == device)
    return Picture(
        "roofline",
        "Roofline",
        "A kernel can reach the roof above its arithmetic intensity and no more; left of a ridge "
        "point memory binds, right of it arithmetic does. Solid lines were measured (thick: burst, "
        "thin: sustained), dashed ones follow from the specification; "
        + (
            "small marks are the measured sweep, numbers your kernels as in the table below."
            if marks
            else "marks are the measured sweep."
        ),
        _reading(found, roofline),
        lambda canvas: _draw(canvas, found, roofline, marks),
    )


def _reading(found: Limits, roofline: Roofline) -> str:
    slope, roof = main_slope(found), found.roofs[0]
    ridge = roof.best.value / slope.best.value
    text = (
        f"At {units.rate(slope.best.value, 'B/s')} of {resource_name(slope.resource)} a kernel "
        f"needs {units.intensity(ridge)} FLOP for each byte before the roof of "
        f"{resource_name(roof.resource)}, {units.rate(roof.best.value, roof.best.unit)}, binds it"
    )
    plain = next(
        (r for r in found.roofs if r.resource.endswith("core.fp32") and r is not roof), None
    ) or (found.roofs[-1] if found.roofs[-1] is not roof else None)
    if plain is not None:
        text += (
            f", and {units.intensity(plain.best.value / slope.best.value)} for "
            f"{resource_name(plain.resource)} ({units.rate(plain.best.value, plain.best.unit)})"
        )
    shares = [
        point.flops_per_s / min(limit.best.value, slope.best.value * point.intensity)
        for point in roofline.points
        if point.intensity > 0
        and point.flops_per_s > 0
        and (limit := plain_roof(found, point.precision)) is not None
    ]
    text += "."
    if shares:
        text += (
            f" The measured sweep stays between {units.percent(min(shares))} and "
            f"{units.percent(max(shares))} of its roof."
        )
    if roof.sustained is not None and roof.sustained.value < 0.98 * roof.best.value:
        text += (
            f" Under unbroken load the roof of {resource_name(roof.resource)} comes down to "
            f"{units.rate(roof.sustained.value, roof.sustained.unit)}, "
            f"{units.percent(roof.sustained.value / roof.best.value)} of burst."
        )
    return text


def frame(
    axes: Axes,
    low_bandwidth: float,
    high_roof: float,
    ridges: Sequence[float],
    marks: Sequence[Mark],
) -> tuple[float, float]:
    x_low = min([1 / 16, *(m.intensity / 2 for m in marks if m.intensity > 0)])
    x_high = max([256.0, *(2.5 * r for r in ridges), *(m.intensity * 2 for m in marks)])
    y_low = min(
        [low_bandwidth * x_low * 0.7, *(m.flops_per_s / 2 for m in marks if m.flops_per_s > 0)]
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(x_low, x_high)
    axes.set_ylim(y_low, high_roof * 2.2)
    decade_ticks(axes.xaxis, x_low, x_high)
    decade_ticks(axes.yaxis, y_low, high_roof * 2.2)
    return x_low, x_high


def slope_angle(axes: Axes) -> float:
    """Degrees on paper of a line of slope 1 in log-log."""
    figure = axes.get_figure()
    assert figure is not None
    box = axes.get_position()
    width = box.width * figure.get_figwidth()  # type: ignore[union-attr]
    height = box.height * figure.get_figheight()  # type: ignore[union-attr]
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    return math.degrees(math.atan2(height / math.log(y1 / y0), width / math.log(x1 / x0)))


def _draw(canvas: Canvas, found: Limits, roofline: Roofline, marks: Sequence[Mark]) -> Figure:
    figure, (axes,) = canvas.figure(
        4.6 if canvas.narrow else 4.9,
        right=1.3 if canvas.narrow else 2.3,
        top=0.48 if canvas.narrow else 0.34,
    )
    top = found.roofs[0].best.value
    highest = max([top, *(r.theoretical.value for r in found.roofs if r.theoretical is not None)])
    main = main_slope(found)
    ridges = [r.best.value / s.best.value for r in found.roofs for s in found.slopes]
    x_low, x_high = frame(axes, main.best.value, highest, ridges, marks)
    angle = slope_angle(axes)

    for i, slope in enumerate(found.slopes):
        bandwidth = slope.best.value
        start = max(x_low, axes.get_ylim()[0] / bandwidth)
        axes.plot(
            [start, top / bandwidth],
            [start * bandwidth, top],
            color=INK,
            linestyle=DASHES[0],
            lw=2.0 if slope is main else 1.4,
            label=slope.resource,
        )
        if slope.best.ci_low is not None and slope.best.ci_high is not None:
            axes.fill_between(
                [start, top / bandwidth],
                [start * slope.best.ci_low, top / bandwidth * slope.best.ci_low],
                [start * slope.best.ci_high, top / bandwidth * slope.best.ci_high],
                color=INK,
                alpha=0.2,
                lw=0,
            )
        if slope.theoretical is not None:
            value = slope.theoretical.value
            axes.plot(
                [start, highest / value],
                [start * value, highest],
                color=MUTED,
                linestyle=DASHED,
                lw=0.9,
                label=f"{slope.resource} theoretical",
            )
        at = start * (1.25 if i == 0 or canvas.narrow else 1.6)
        axes.annotate(
            f"{resource_name(slope.resource)} {units.rate(bandwidth, 'B/s')}",
            xy=(at, at * bandwidth),
            xytext=(-5, 6),
            textcoords="offset points",
            rotation=angle,
            rotation_mode="anchor",
            fontsize=canvas.font - 0.5,
            color=INK,
        )

    labels = []
    for roof in found.roofs:
        color = resource_color(roof.resource)
        value = roof.best.value
        start = value / found.slopes[0].best.value
        axes.plot([start, x_high], [value, value], color=color, lw=2.2, label=roof.resource)
        if roof.best.ci_low is not None and roof.best.ci_high is not None:
            axes.fill_between(
                [start, x_high], roof.best.ci_low, roof.best.ci_high, color=color, alpha=0.3, lw=0
            )
        amount = units.rate(value, roof.best.unit).split(" ")[0]
        if roof.sustained is not None:
            held = roof.sustained.value
            axes.plot(
                [held / found.slopes[0].best.value, x_high],
                [held, held],
                color=color,
                lw=1.0,
                label=f"{roof.resource} sustained",
            )
            amount += f" | {units.rate(held, roof.sustained.unit).split(' ')[0]}"
        if roof.theoretical is not None:
            limit = roof.theoretical.value
            slope_limit = found.slopes[0].theoretical or found.slopes[0].best
            axes.plot(
                [limit / slope_limit.value, x_high],
                [limit, limit],
                color=color,
                linestyle=DASHED,
                lw=0.9,
                label=f"{roof.resource} theoretical",
            )
        name = short_name(roof.resource) if canvas.narrow else resource_name(roof.resource)
        labels.append(EndLabel(value, f"{name} {amount}", color))

    _mark_ridges(axes, found, canvas)
    by_precision: dict[str, list[tuple[float, float]]] = {}
    for point in roofline.points:
        if point.intensity > 0 and point.flops_per_s > 0:
            by_precision.setdefault(point.precision, []).append(
                (point.intensity, point.flops_per_s)
            )
    for i, (precision, points) in enumerate(by_precision.items()):
        plain = plain_roof(found, precision)
        axes.plot(
            [p[0] for p in points],
            [p[1] for p in points],
            linestyle="none",
            marker=MARKERS[i % len(MARKERS)],
            markerfacecolor=resource_color(plain.resource) if plain else INK,
            markeredgecolor="white",
            markeredgewidth=0.4,
            markersize=5,
            label=f"sweep {precision}",
            zorder=3,
        )
    for mark in marks:
        axes.plot(
            [mark.intensity],
            [mark.flops_per_s],
            linestyle="none",
            marker="o",
            color=SERIES[1],
            markersize=canvas.font + 3,
            markeredgecolor=CARD,
            label=f"kernel {mark.name}",
            zorder=5,
        )
        # Names of kernels are far too long for a picture: it shows their numbers in the table.
        axes.text(
            mark.intensity,
            mark.flops_per_s,
            str(mark.number),
            fontsize=canvas.font - 1,
            color=CARD,
            ha="center",
            va="center_baseline",
            zorder=6,
        )
    _unit_heading(axes, found, canvas)
    canvas.labels(axes, "arithmetic intensity, FLOP/byte", "FLOP/s")
    end_labels(axes, labels, canvas.font - (1.5 if canvas.narrow else 0.5))
    return figure


def _unit_heading(axes: Axes, found: Limits, canvas: Canvas) -> None:
    unit = units.rate(found.roofs[0].best.value, found.roofs[0].best.unit).split(" ")[1]
    held = any(r.sustained is not None for r in found.roofs)
    text = f"{unit}, burst | sustained" if held else unit
    if canvas.narrow and held:
        text = f"{unit},\nburst | sustained"
    axes.annotate(
        text,
        xy=(1.0, 1.0),
        xytext=(4, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=canvas.font - 1,
        color=MUTED,
        ha="left",
        va="bottom",
        annotation_clip=False,
    )


def _mark_ridges(axes: Axes, found: Limits, canvas: Canvas) -> None:
    """Dots where slope meets roof, with the intensity beside them; neighbours share one label."""
    (y0, y1) = axes.get_ylim()
    close = math.log(y1 / y0) / (14 if canvas.narrow else 20)
    main = main_slope(found)
    for slope in found.slopes:
        bandwidth = slope.best.value
        axes.plot(
            [r.best.value / bandwidth for r in found.roofs],
            [r.best.value for r in found.roofs],
            linestyle="none",
            marker="o",
            markersize=4 if slope is main else 3,
            color=INK,
            label=f"ridge points {slope.resource}",
            zorder=4,
        )
        if canvas.narrow and slope is not main:
            continue
        groups: list[list[Limit]] = []
        for roof in found.roofs:
            if groups and math.log(groups[-1][-1].best.value / roof.best.value) < close:
                groups[-1].append(roof)
            else:
                groups.append([roof])
        for group in groups:
            values = [units.intensity(r.best.value / bandwidth) for r in group]
            text = values[0] if len(set(values)) == 1 else f"{values[-1]}–{values[0]}"
            axes.annotate(
                text,
                xy=(group[0].best.value / bandwidth, group[0].best.value),
                xytext=(-4, 4),
                textcoords="offset points",
                fontsize=canvas.font - 1.5,
                color=INK if slope is main else MUTED,
                ha="right",
                va="bottom",
                bbox=GROUND,
            )
