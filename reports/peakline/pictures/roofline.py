"""The roofline: performance against arithmetic intensity (Williams, Waterman, Patterson 2009).

Attainable FLOP/s = min(roof, intensity x bandwidth), log-log; one slope per memory level, one flat
roof per precision and unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.base import (
    CARD,
    DASHES,
    GROUND,
    INK,
    MARKERS,
    MUTED,
    SERIES,
    Canvas,
    EndLabel,
    Picture,
    decade_ticks,
    end_labels,
)
from peakline.profile import Ceiling, Profile, Roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The best that was measured, as far as there is one; sustained is drawn beside it.
MEASURED = ("burst", "measured", "instruction", "sustained")

_LEVEL_NAMES = {"hbm": "HBM", "pcie": "PCIe", "memory": "memory", "l2": "L2", "shared": "shared"}
_VARIANT_NAMES = {"h2d": "to device", "d2h": "to host", "bidirectional": "both ways"}
_UNIT_NAMES = {
    "tensor": "Tensor Cores",
    "cuda_core": "CUDA cores",
    "gemm": "matrix product",
    "cpu": "CPU",
}
_FORMAT_NAMES = {
    "fp8_e5m2": "FP8 E5M2",
    "fp8_accurate": "FP8 accurate",
    "fp16_acc16": "FP16 acc16",
}
_COLORS = {
    "tensor.bf16": SERIES[6],
    "tensor.fp16": SERIES[5],
    "tensor.tf32": SERIES[4],
    "tensor.fp8": SERIES[1],
    "tensor.int8": SERIES[2],
    "tensor.fp64": SERIES[0],
    "cuda_core.fp16": SERIES[7],
    "cuda_core.fp32": SERIES[3],
    "cuda_core.fp64": SERIES[0],
    "gemm.fp32": SERIES[2],
    "gemm.fp64": SERIES[1],
    "cpu.fp32": SERIES[3],
    "cpu.fp64": SERIES[0],
}


def format_name(name: str) -> str:
    """How an operand format is called: "bf16" is "BF16", "fp8_e5m2" is "FP8 E5M2"."""
    return _FORMAT_NAMES.get(name, name.upper())


def resource_name(resource: str) -> str:
    """How a resource is called, as `peakline show` does: "tensor.bf16" is "BF16 Tensor Cores"."""
    family, _, variant = resource.partition(".")
    if family in _UNIT_NAMES:
        return f"{format_name(variant)} {_UNIT_NAMES[family]}"
    variant = _VARIANT_NAMES.get(variant, variant.replace("_", " "))
    return f"{_LEVEL_NAMES.get(family, family)} {variant}".strip()


def _short_name(resource: str) -> str:
    """The same for narrow pictures: "BF16 T"."""
    name = resource_name(resource).replace(" Tensor Cores", " T").replace(" CUDA cores", "")
    return name.replace(" matrix product", " GEMM")


def level_of(resource: str) -> str:
    """The memory level of a resource: "hbm" of "hbm.read", "l2" of "cache.l2.read"."""
    family, _, variant = resource.partition(".")
    return variant.partition(".")[0] if family == "cache" else family


def resource_color(resource: str) -> str:
    """One colour per resource, the same in every picture."""
    return _COLORS.get(resource, SERIES[sum(map(ord, resource)) % len(SERIES)])


@dataclass(frozen=True, slots=True)
class Limit:
    """One slope or roof with the bases there are."""

    resource: str
    best: Ceiling  # the highest measured
    sustained: Ceiling | None  # where it is another figure than `best`
    theoretical: Ceiling | None


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds kernels on one device."""

    slopes: tuple[Limit, ...]  # one per memory level, fastest first
    roofs: tuple[Limit, ...]  # one per precision and unit, highest first

    def attainable(self, intensity: float) -> float:
        """FLOP/s under the fastest slope and the highest roof at `intensity` FLOP/byte."""
        return min(self.roofs[0].best.value, self.slopes[0].best.value * intensity)


def _limit(profile: Profile, device: str, resource: str) -> Limit | None:
    best = profile.ceiling(device, resource, *MEASURED)
    if best is None:
        return None
    sustained = profile.ceiling(device, resource, "sustained")
    return Limit(
        resource,
        best,
        sustained if sustained is not best else None,
        profile.ceiling(device, resource, "theoretical"),
    )


def limits(profile: Profile, device: str) -> Limits | None:
    """Slopes and roofs of a device; None without at least one of each."""
    roofline = next((r for r in profile.rooflines if r.device == device), None)
    if roofline is None:
        return None
    slopes: dict[str, Limit] = {}
    for resource in roofline.memory:
        limit = _limit(profile, device, resource)
        if limit is None or limit.best.unit != "B/s":
            continue
        level = level_of(resource)
        if level not in slopes or slopes[level].best.value < limit.best.value:
            slopes[level] = limit
    roofs = [
        limit
        for resource in roofline.compute
        if (limit := _limit(profile, device, resource)) is not None
        and limit.best.unit in ("FLOP/s", "OP/s")
    ]
    if not slopes or not roofs:
        return None
    return Limits(
        tuple(sorted(slopes.values(), key=lambda s: -s.best.value)),
        tuple(sorted(roofs, key=lambda r: -r.best.value)),
    )


def main_slope(found: Limits) -> Limit:
    """The slope that kernels' data usually come from: HBM, else the host's memory."""
    for level in ("hbm", "memory"):
        for slope in found.slopes:
            if level_of(slope.resource) == level:
                return slope
    return found.slopes[0]


@dataclass(frozen=True, slots=True)
class Mark:
    """A kernel's place on the roofline, from one memory level."""

    number: int  # its rank in the table of kernels, which the picture shows
    name: str
    intensity: float
    flops_per_s: float


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
        and (limit := _plain_roof(found, point.precision)) is not None
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


def _plain_roof(found: Limits, precision: str) -> Limit | None:
    """The roof that a sweep of FMAs in this precision runs under: the plain cores', not tensor."""
    for family in ("cuda_core", "cpu"):
        for roof in found.roofs:
            if roof.resource == f"{family}.{precision}":
                return roof
    return None


def _frame(
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


def _slope_angle(axes: Axes) -> float:
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
    x_low, x_high = _frame(axes, main.best.value, highest, ridges, marks)
    angle = _slope_angle(axes)

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
                linestyle=(0, (4, 3)),
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
                linestyle=(0, (4, 3)),
                lw=0.9,
                label=f"{roof.resource} theoretical",
            )
        name = _short_name(roof.resource) if canvas.narrow else resource_name(roof.resource)
        labels.append(EndLabel(value, f"{name} {amount}", color))

    _mark_ridges(axes, found, canvas)
    by_precision: dict[str, list[tuple[float, float]]] = {}
    for point in roofline.points:
        if point.intensity > 0 and point.flops_per_s > 0:
            by_precision.setdefault(point.precision, []).append(
                (point.intensity, point.flops_per_s)
            )
    for i, (precision, points) in enumerate(by_precision.items()):
        plain = _plain_roof(found, precision)
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
    x_low, x_high = _frame(axes, min(bandwidths), highest, ridges, ())
    angle = _slope_angle(axes)
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
        name = _short_name(resource) if canvas.narrow else resource_name(resource)
        amounts = " / ".join(text for _, text in values)
        if len(values) > 3 or canvas.narrow:
            amounts = f"{min(values)[1]}–{max(values)[1]}"
        ends.append(EndLabel(max(values)[0], f"{name} {amounts}", INK))
    end_labels(axes, ends, canvas.font - (1.5 if canvas.narrow else 0.5))
    return figure
