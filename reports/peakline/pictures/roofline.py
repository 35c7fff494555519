"""The roofline: performance against arithmetic intensity (Williams, Waterman, Patterson 2009).

Attainable FLOP/s = min(roof, intensity x bandwidth), log-log; one slope per memory level, one flat
roof per precision and unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from peakline import units
from peakline.kernels import Mark
from peakline.limits import Limit, Limits, limits
from peakline.pictures.canvas import Canvas, EndLabel, decade_ticks, end_labels
from peakline.pictures.picture import Picture
from peakline.pictures.style import (
    CARD,
    GROUND,
    INK,
    LIMIT,
    MARKERS,
    MUTED,
    SERIES,
    precision_color,
)
from peakline.profile import Ceiling, Profile, RooflinePoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Slopes whose bandwidths differ by less than this leave no room for a text between them.
_CLOSE = 3.0


def short_label(label: str) -> str:
    """A resource's label for narrow pictures: "BF16 T"."""
    label = label.replace(" Tensor Cores", " T").replace(" CUDA cores", "")
    return label.replace(" matrix product", " GEMM")


def picture(profile: Profile, device: str, marks: Sequence[Mark] = ()) -> Picture | None:
    """The roofline of a device; `marks` are kernels to be put on it."""
    found, roofline = limits(profile, device), profile.roofline(device)
    if found is None or roofline is None:
        return None
    return Picture(
        "roofline",
        "Roofline",
        "A kernel can reach the roof above its arithmetic intensity and no more: left of a ridge "
        "point memory is the limit, right of it arithmetic is. Solid lines were measured (thick: "
        "burst, thin: sustained) and their bands say where the next run on this machine lands, "
        "dashed ones follow from the specification; "
        + (
            "small marks are the measured sweep, numbers your kernels as in the table below."
            if marks
            else "marks are the measured sweep."
        ),
        lambda canvas: _draw(canvas, profile, found, roofline.points, marks),
        ("roofline sweep",),
    )


def frame(
    axes: Axes,
    low_bandwidth: float,
    high_roof: float,
    ridges: Sequence[float],
    marks: Sequence[Mark],
) -> None:
    """Log-log axes that hold the ridges, the highest roof and the marks."""
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


def slope_angle(axes: Axes) -> float:
    """Degrees on paper of a line of slope 1 in log-log."""
    figure = axes.get_figure()
    assert figure is not None
    box = axes.get_position()
    width = box.width * figure.get_figwidth()  # type: ignore[union-attr]
    height = box.height * figure.get_figheight()  # type: ignore[union-attr]
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    return math.degrees(math.atan2(height / math.log(y1 / y0), width / math.log(x1 / x0)))


def _draw(
    canvas: Canvas,
    profile: Profile,
    found: Limits,
    sweep: Sequence[RooflinePoint],
    marks: Sequence[Mark],
) -> Figure:
    figure, (axes,) = canvas.figure(
        4.6 if canvas.narrow else 4.9,
        right=1.3 if canvas.narrow else 2.3,
        top=0.48 if canvas.narrow else 0.34,
    )
    highest = max(
        [found.roofs[0].value, *(r.theoretical.value for r in found.roofs if r.theoretical)]
    )
    ridges = [r.value / s.value for r in found.roofs for s in found.slopes]
    frame(axes, found.main.value, highest, ridges, marks)
    for slope in found.slopes:
        _draw_slope(axes, canvas, found, slope, highest)
    labels = [_draw_roof(axes, canvas, profile, found.slopes[0], roof) for roof in found.roofs]
    _mark_ridges(axes, found, canvas)
    _draw_sweep(axes, profile, sweep)
    for mark in marks:
        _draw_mark(axes, canvas, mark)
    _unit_heading(axes, found, canvas)
    canvas.labels(axes, "arithmetic intensity, FLOP/byte", "FLOP/s")
    end_labels(axes, labels, canvas.font - (1.5 if canvas.narrow else 0.5))
    return figure


def _draw_slope(axes: Axes, canvas: Canvas, found: Limits, slope: Limit, highest: float) -> None:
    """A memory level's slope up to the highest roof, with its interval and its theoretical one."""
    bandwidth = slope.value
    start = max(axes.get_xlim()[0], axes.get_ylim()[0] / bandwidth)
    ends = [start, found.roofs[0].value / bandwidth]
    axes.plot(
        ends,
        [x * bandwidth for x in ends],
        color=INK,
        lw=2.0 if slope is found.main else 1.4,
        label=slope.resource,
    )
    low, high = slope.best.ci_low, slope.best.ci_high
    if low is not None and high is not None:
        axes.fill_between(
            ends, [x * low for x in ends], [x * high for x in ends], color=INK, alpha=0.2, lw=0
        )
    if slope.theoretical is not None:
        value = slope.theoretical.value
        name = f"{slope.resource} theoretical"
        axes.plot([start, highest / value], [start * value, highest], label=name, **LIMIT)
    at = start * (1.25 if slope is found.slopes[0] or canvas.narrow else 1.6)
    text = f"{slope.label} {units.rate(bandwidth, 'B/s')}"
    # Below the line where the next faster one leaves no room above it.
    crowded = any(1 < other.value / bandwidth < _CLOSE for other in found.slopes)
    away = (6, -13) if crowded else (-5, 6)
    slope_text(axes, text, at, at * bandwidth, away, canvas.font - 0.5, INK)


def slope_text(
    axes: Axes, text: str, x: float, y: float, away: tuple[float, float], font: float, color: str
) -> None:
    """A text along a slope, `away` points from (x, y)."""
    axes.annotate(
        text,
        xy=(x, y),
        xytext=away,
        textcoords="offset points",
        rotation=slope_angle(axes),
        rotation_mode="anchor",
        fontsize=font,
        color=color,
    )


def _draw_roof(axes: Axes, canvas: Canvas, profile: Profile, slope: Limit, roof: Limit) -> EndLabel:
    """A roof from where `slope` meets it, with its interval, its sustained and theoretical ones."""
    color, right = precision_color(profile, roof.precision), axes.get_xlim()[1]

    def flat(row: Ceiling, bandwidth: float, name: str, **style: Any) -> str:
        ends = [row.value / bandwidth, right]
        axes.plot(ends, [row.value] * 2, label=f"{roof.resource}{name}", **style)
        return units.rate(row.value, row.unit).split(" ")[0]

    amount = flat(roof.best, slope.value, "", color=color, lw=2.2)
    low, high = roof.best.ci_low, roof.best.ci_high
    if low is not None and high is not None:
        ends = [roof.value / slope.value, right]
        axes.fill_between(ends, low, high, color=color, alpha=0.3, lw=0)
    if roof.sustained is not None:
        held = flat(roof.sustained, slope.value, " sustained", color=color, lw=1.0)
        amount += f" | {held}"
    if roof.theoretical is not None:
        bandwidth = (slope.theoretical or slope.best).value
        flat(roof.theoretical, bandwidth, " theoretical", **{**LIMIT, "color": color})
    name = short_label(roof.label) if canvas.narrow else roof.label
    return EndLabel(roof.value, f"{name} {amount}", color)


def _draw_sweep(axes: Axes, profile: Profile, sweep: Sequence[RooflinePoint]) -> None:
    for i, precision in enumerate(dict.fromkeys(point.precision for point in sweep)):
        points = [
            (p.intensity, p.flops_per_s)
            for p in sweep
            if p.precision == precision and p.intensity > 0 and p.flops_per_s > 0
        ]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            linestyle="none",
            marker=MARKERS[i % len(MARKERS)],
            markerfacecolor=precision_color(profile, precision),
            markeredgecolor="white",
            markeredgewidth=0.4,
            markersize=5,
            label=f"sweep {precision}",
            zorder=3,
        )


def _draw_mark(axes: Axes, canvas: Canvas, mark: Mark) -> None:
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


def _unit_heading(axes: Axes, found: Limits, canvas: Canvas) -> None:
    # INT8's OP/s stands beside the others' FLOP/s.
    roof = next((r for r in found.roofs if r.best.unit == "FLOP/s"), found.roofs[0])
    unit = units.rate(roof.value, roof.best.unit).split(" ")[1]
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
    for slope in found.slopes:
        bandwidth = slope.value
        axes.plot(
            [r.value / bandwidth for r in found.roofs],
            [r.value for r in found.roofs],
            linestyle="none",
            marker="o",
            markersize=4 if slope is found.main else 3,
            color=INK,
            label=f"ridge points {slope.resource}",
            zorder=4,
        )
        close_by = 1 / _CLOSE < bandwidth / found.main.value < _CLOSE
        if slope is not found.main and (canvas.narrow or close_by):
            continue
        groups: list[list[Limit]] = []
        for roof in found.roofs:
            if groups and math.log(groups[-1][-1].value / roof.value) < close:
                groups[-1].append(roof)
            else:
                groups.append([roof])
        for group in groups:
            values = [units.intensity(r.value / bandwidth) for r in group]
            text = values[0] if len(set(values)) == 1 else f"{values[-1]}–{values[0]}"
            axes.annotate(
                text,
                xy=(group[0].value / bandwidth, group[0].value),
                xytext=(-4, 4),
                textcoords="offset points",
                fontsize=canvas.font - 1.5,
                color=INK if slope is found.main else MUTED,
                ha="right",
                va="bottom",
                bbox=GROUND,
            )
