"""The roofline: performance by arithmetic intensity (Williams, Waterman, Patterson 2009).

Attainable FLOP/s = min(roof, intensity x bandwidth), log-log; one slope per memory level, one flat
roof per precision and unit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peakline import units
from peakline.limits.ceilings import Limits, RooflineLimit, limits
from peakline.names import format_name, level_of
from peakline.pictures.canvas import (
    Axes,
    Canvas,
    EndLabel,
    Figure,
    end_labels,
    engineering_ticks,
    inches,
    note,
)
from peakline.pictures.curves import amount, format_of, plot_marks
from peakline.pictures.labels import short_label, write_labels
from peakline.pictures.picture import Picture
from peakline.pictures.style import CARD, INK, LIMIT, MUTED, format_color, format_look
from peakline.pictures.titles import says
from peakline.profile import HOST, Profile

# Precisions that people ask about first, by preference; devices with no more roofs show all.
FIRST_ROOFS = (("fp8",), ("bf16", "fp16"), ("fp32",))
FIRST_LEVELS = ("l1", "l2", "hbm", "memory")
_KINDS = {"sweep": "the measured sweep", "GEMMs": "skinny GEMMs"}

# Ratio to a roof above which points are not scatter.
_ABOVE = 1.05
# Relative spread between runs that is worth a note.
_WIDE = 0.1

# Dashes of roofs with the same colour, highest first: short ones, since limits have long ones.
_OF_ONE_COLOR: tuple[Any, ...] = ("solid", (0, (1, 1)), (0, (4, 1, 1, 1)))


@dataclass(frozen=True, slots=True)
class Points:
    """Measured points: (FLOP/byte, FLOP/s)."""

    name: str
    precision: str
    at: tuple[tuple[float, float], ...]


def picture(profile: Profile, device: str) -> Picture | None:
    """The main roofline of a device."""
    found = limits(profile, device)
    if found is None:
        return None
    shown = first_roofs(found)
    points = _points(profile, device, shown.roofs)
    slower = _slower_memory(shown, points)
    named = [what for kind, what in _KINDS.items() if any(kind in p.name for p in points)]
    return Picture(
        "roofline",
        "Roofline",
        "A kernel reaches the roof above its arithmetic intensity and no more: left of a ridge "
        "point memory is the limit, right of it arithmetic is. "
        + _lines(shown)
        + (f" Marks are {' and '.join(named)}." if named else "")
        + _two_speeds(profile, device, shown.roofs, points),
        lambda canvas: _draw(canvas, [shown], points, ridges=slower == 1),
        ("roofline sweep",),
        every_device=True,
        headline=_headline(shown, slower),
    )


def _lines(found: Limits) -> str:
    """What the lines are, of those that there are."""
    text = "Thick lines were measured"
    if any(roof.sustained for roof in found.roofs):
        text += " from rest (burst); a band reaches down to what holds under load (achievable)"
    if any(limit.theoretical for limit in (found.main, *found.roofs)):
        text += "; dashed lines are what the hardware allows at its maximum clock"
    return text + "."


def every(profile: Profile, device: str) -> Picture | None:
    """All roofs and slopes of a device, unless `picture` shows all."""
    found = limits(profile, device)
    if found is None:
        return None
    panels = [
        Limits(found.main, found.slopes, roofs)
        for unit in ("FLOP/s", "OP/s")
        if (roofs := tuple(r for r in found.roofs if r.best.unit == unit))
    ]
    first = first_roofs(found)
    if panels == [first]:
        return None
    points = _points(profile, device, found.roofs)
    return Picture(
        "roofline-all",
        "Every roof: all precisions and memory levels",
        "As above, with all roofs and slopes. Of the roofs of one precision the highest is solid, "
        "the next dotted, a third dash-dotted. Integer operations have a panel of their own.",
        lambda canvas: _draw(canvas, panels, points, ridges=_slower_memory(found, points) == 1),
        headline=_lead(panels[0].roofs),
    )


def _lead(roofs: Sequence[RooflineLimit]) -> str:
    """The highest roof's lead over the next and the lowest one."""
    first, *others = roofs
    text = f"Highest: {first.label}, {units.rate(first.value, first.best.unit)}"
    times = [f"{units.number(first.value / r.value, 2)} × {r.label}" for r in others]
    compared = ", ".join(dict.fromkeys([*times[:1], *times[-1:]]))
    return f"{text}: {compared}" if compared else text


def first_roofs(found: Limits) -> Limits:
    """The main roofs of one unit, and the slopes of memory that holds kernels' data."""
    roofs = [r for r in found.roofs if r.best.unit == "FLOP/s"] or list(found.roofs)
    if len(roofs) > len(FIRST_ROOFS):
        chosen = [
            next((r for name in names for r in roofs if r.precision == name), None)
            for names in FIRST_ROOFS
        ]
        roofs = [r for r in chosen if r] or roofs[: len(FIRST_ROOFS)]
    slopes = [s for s in found.slopes if level_of(s.resource) in FIRST_LEVELS]
    return Limits(found.main, tuple(slopes or found.slopes), tuple(roofs))


def _slower_memory(found: Limits, points: Sequence[Points]) -> float:
    """How many times as fast as its slope the main memory served a point, which shows that it was
    slower while its own rate was measured; 1 for no more than scatter."""
    times = [
        y / (x * found.main.value)
        for p in points
        for roof in found.roofs
        if roof.precision == p.precision
        for x, y in p.at
        if x * found.main.value < roof.value
    ]
    most = max(times, default=1.0)
    return most if most > _ABOVE else 1.0


def _headline(found: Limits, slower_memory: float = 1.0) -> str:
    """The main roof under load and in a burst, each with its ridge unless the memory's slope is
    wrong."""
    roofs = [r for r in found.roofs if r.sustained] or list(found.roofs)
    roof = next((r for r in roofs if r.precision == "bf16"), roofs[0])
    unit = roof.best.unit.removesuffix("/s")
    name = format_name(roof.precision)

    def ridge(value: float) -> str:
        return units.intensity(value / found.main.value)

    rate = units.rate(roof.value, roof.best.unit)
    if slower_memory > 1:
        return (
            f"{name} reaches {rate}; no ridge: points lie up to "
            f"{units.number(slower_memory, 2)} × above the slope of {found.main.label}, which was "
            "slower while its own rate was measured"
        )
    if roof.sustained is None:
        return f"{name} reaches {rate}; below {ridge(roof.value)} {unit}/byte memory binds"
    load = roof.sustained.value
    return (
        f"{name} achieves {units.rate(load, roof.best.unit)} under load, and memory binds below "
        f"{ridge(load)} {unit}/byte; in a burst {scaled(roof, roof.value)[0]}, below "
        f"{ridge(roof.value)}"
    )


def scaled(first: RooflineLimit, value: float) -> tuple[str, str]:
    """A rate in the unit of the panel's first roof: ("858", "TFLOP/s")."""
    scale, unit = units.rate_unit(first.value, first.best.unit)
    return units.number(value / scale), unit


def _points(profile: Profile, device: str, roofs: Sequence[RooflineLimit]) -> list[Points]:
    """The measured sweep and the skinny GEMMs, for the roofs shown."""
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    roofline = profile.roofline(device)
    for p in roofline.points if roofline else ():
        rows.setdefault(("sweep", p.precision), []).append((p.intensity, p.flops_per_s))
    for m in profile.of(device, "gemm.skinny"):
        moved = m.work.bytes_read + m.work.bytes_written
        if moved:
            rows.setdefault(("GEMMs", format_of(m)), []).append((m.work.flops / moved, amount(m)))
    shown = {roof.precision for roof in roofs}
    return [
        Points(f"{format_name(precision)} {kind}", precision, known)
        for (kind, precision), at in rows.items()
        if precision in shown and (known := tuple((x, y) for x, y in at if x > 0 and y > 0))
    ]


def _two_speeds(
    profile: Profile, device: str, roofs: Sequence[RooflineLimit], points: Sequence[Points]
) -> str:
    """A note on points above their roof, if samples of the roof itself are as high: the processor
    ran at two speeds, and the roof is the slower one."""
    rows = {m.name: m for m in profile.of(device)}
    text = ""
    for roof in roofs:
        source = rows.get(roof.best.measurement)
        top = max(
            (y for p in points if p.precision == roof.precision for _, y in p.at), default=0.0
        )
        if source is None or not source.samples_s or top < _ABOVE * roof.value:
            continue
        fastest = source.work.flops / min(source.samples_s)
        if fastest * _ABOVE < top:
            continue
        low, high = (units.rate(value, roof.best.unit) for value in (roof.value, fastest))
        machine = f" (virtualized: {kind})" if (kind := profile.host.virtualization) else ""
        what = f"the processor{machine}" if device == HOST else "the device"
        text += (
            f" {format_name(roof.precision)} points lie up to {units.number(top / roof.value)} × "
            f"as high as their roof: {what} ran at two speeds, between which samples of the roof "
            f"lie too, from {low} to {high}."
        )
    return text


def frame(
    axes: Axes,
    low_bandwidth: float,
    high_roof: float,
    ridges: Sequence[float],
    points: Sequence[tuple[float, float]],
) -> None:
    """Sets log-log axes that hold the ridges, the highest roof and every point."""
    # Room left of the first ridge for the slopes' names.
    x_low = min([1 / 16, *(r / 90 for r in ridges), *(x / 1.5 for x, _ in points)])
    x_high = max([256.0, *(2.5 * r for r in ridges), *(x * 1.5 for x, _ in points)])
    y_low = min([low_bandwidth * x_low * 0.7, *(y / 1.5 for _, y in points)])
    y_high = max([high_roof * 1.8, *(y * 1.5 for _, y in points)])
    log_axes(axes, (x_low, x_high), (y_low, y_high))


def log_axes(axes: Axes, x: tuple[float, float], y: tuple[float, float]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(x)
    axes.set_ylim(y)
    engineering_ticks(axes.xaxis, *x, min(5, int(2.2 * inches(axes)[0])))
    engineering_ticks(axes.yaxis, *y)


def _draw(
    canvas: Canvas, panels: Sequence[Limits], points: Sequence[Points], ridges: bool = True
) -> Figure:
    """ridges: whether they are marked."""
    font = canvas.font - (1.0 if canvas.narrow else 0.5)
    labels = [[_end_label(canvas, found, roof) for roof in found.roofs] for found in panels]
    right = max(
        canvas.room([label.text for group in labels for label in group], font) + 0.1,
        canvas.room([p.name for p in points], canvas.font - 1) + 0.1,
    )
    heading = 0.48 if canvas.narrow else 0.34
    figure, drawn = canvas.figure(
        (4.3 if len(panels) == 1 else 3.7) + 1.3 * canvas.narrow,
        len(panels),
        right=right,
        top=heading,
        columns=1,
    )
    for axes, found, ends in zip(drawn, panels, labels, strict=True):
        shown = {roof.precision for roof in found.roofs}
        of_panel = [p for p in points if p.precision in shown]
        _draw_panel(axes, canvas, found, of_panel, ridges)
        held = any(r.sustained is not None for r in found.roofs)
        unit_heading(axes, canvas, found.roofs[0], ", burst | achievable" if held else "")
        unit = found.roofs[0].best.unit
        canvas.labels(axes, f"arithmetic intensity, {unit.removesuffix('/s')}/byte", unit)
        end_labels(axes, ends, font)
    return figure


def _draw_panel(
    axes: Axes, canvas: Canvas, found: Limits, points: Sequence[Points], with_ridges: bool
) -> None:
    theories = [r.theoretical.value for r in found.roofs if r.theoretical]
    # The narrow canvas has no room for the ridges of host links, a hundred times further right.
    slopes = [found.main] if canvas.narrow else found.slopes
    ridges = [r.value / s.value for r in found.roofs for s in slopes]
    at = [point for p in points for point in p.at]
    frame(axes, found.main.value, max([found.roofs[0].value, *theories]), ridges, at)
    for slope in found.slopes:
        _draw_slope(axes, found, slope)
    for roof, dash in zip(found.roofs, _dashes(found.roofs), strict=True):
        _draw_roof(axes, found, roof, dash)
    for slope in found.slopes if with_ridges else ():
        _draw_ridges(axes, found, slope)
    for i, p in enumerate(points):
        look: dict[str, Any] = {"markersize": 5.5, "zorder": 4}
        seen = p.precision in {other.precision for other in points[:i]}
        look |= {"fillstyle": "none" if seen else "full", "markeredgewidth": 1.0 if seen else 0.5}
        look |= {"markeredgecolor": format_color(p.precision) if seen else CARD}
        texts = [_said(found, p, *at) for at in p.at]
        plot_marks(axes, p.at, i, texts, **format_look(p.precision), label=p.name, **look)
    write_labels(axes, canvas, found, with_ridges)
    if points:
        # Right of the panel, below the roofs' labels.
        beside: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (1.0, 0.0)}
        beside |= {"handlelength": 1.0, "handletextpad": 0.4, "borderpad": 0.0}
        canvas.legend_of(axes, [p.name for p in points], alignment="left", **beside)


def _said(found: Limits, p: Points, intensity: float, rate: float) -> str:
    """A point and its distance to the roof above it."""
    roof = max(r.value for r in found.roofs if r.precision == p.precision)
    bound = min(roof, intensity * found.main.value)
    return (
        f"{p.name}: {units.rate(rate, 'FLOP/s')} at {units.intensity(intensity)} FLOP/byte, "
        f"{units.percent(rate / bound)} of the {'roof' if bound == roof else 'memory slope'} above"
    )


def _draw_ridges(axes: Axes, found: Limits, slope: RooflineLimit) -> None:
    size = 4 if slope.resource == found.main.resource else 3
    look = {"color": INK, "markersize": size, "label": f"_ridge points {slope.resource}"}
    roofs = [r for r in found.roofs if r.value / slope.value <= axes.get_xlim()[1]]
    texts = [
        f"{r.label} meets {slope.label} at {units.intensity(r.value / slope.value)} FLOP/byte"
        for r in roofs
    ]
    at = [(r.value / slope.value, r.value) for r in roofs]
    plot_marks(axes, at, 0, texts, zorder=4, **look)


def _draw_slope(axes: Axes, found: Limits, slope: RooflineLimit) -> None:
    """Draws a slope up to the highest roof, and the main memory's theoretical one."""
    bandwidth, top = slope.value, found.roofs[0].value
    start = max(axes.get_xlim()[0], axes.get_ylim()[0] / bandwidth)
    ends = [start, top / bandwidth]
    main = slope.resource == found.main.resource
    lw = 2.2 if main else 1.4
    (line,) = axes.plot(ends, [x * bandwidth for x in ends], color=INK, lw=lw, label=slope.resource)
    says(line, f"{slope.label}: {units.rate(bandwidth, 'B/s')}")
    if slope.theoretical and main:
        value = slope.theoretical.value
        ends = [start, top / value]
        name = f"{slope.resource} theoretical"
        (line,) = axes.plot(ends, [x * value for x in ends], label=name, zorder=1, **LIMIT)
        says(line, f"{slope.label}, theoretical: {units.rate(value, 'B/s')}")


def _dashes(roofs: Sequence[RooflineLimit]) -> list[Any]:
    """A dash per roof: solid for the highest of a colour, dotted below."""
    seen: list[str] = []
    dashes = []
    for roof in roofs:
        color = format_color(roof.precision)
        dashes.append(_OF_ONE_COLOR[min(seen.count(color), len(_OF_ONE_COLOR) - 1)])
        seen.append(color)
    return dashes


def _draw_roof(axes: Axes, found: Limits, roof: RooflineLimit, dash: Any) -> None:
    """Draws a roof from the fastest slope on, with its band and its theoretical value."""
    color, right = format_color(roof.precision), axes.get_xlim()[1]
    bandwidth = found.slopes[0].value
    ends = [roof.value / bandwidth, right]
    (line,) = axes.plot(ends, [roof.value] * 2, label=roof.resource, color=color, lw=2.2, ls=dash)
    held = ""
    if roof.sustained:
        held = f", {units.rate(roof.sustained.value, roof.best.unit)} achievable"
    says(line, f"{roof.label}: {units.rate(roof.value, roof.best.unit)}{held}")
    if roof.sustained:
        low, high = sorted((roof.sustained.value, roof.value))
        # The band's corners lie on the slope.
        xs = sorted([low / bandwidth, high / bandwidth, right])
        tops = [min(x * bandwidth, high) for x in xs]
        axes.fill_between(xs, [low] * len(xs), tops, color=color, alpha=0.22, lw=0)
    if roof.theoretical:
        value = roof.theoretical.value
        name = f"{roof.resource} theoretical"
        ends = [value / bandwidth, right]
        (line,) = axes.plot(ends, [value] * 2, label=name, **{**LIMIT, "color": color})
        says(line, f"{roof.label}, theoretical: {units.rate(value, roof.best.unit)}")


def _end_label(canvas: Canvas, found: Limits, roof: RooflineLimit) -> EndLabel:
    name = roof.label
    if canvas.narrow:
        alone = [r.precision for r in found.roofs].count(roof.precision) == 1
        name = format_name(roof.precision) if alone else short_label(roof.label)
    text = f"{name} {scaled(found.roofs[0], roof.value)[0]}"
    low, high = roof.best.ci_low, roof.best.ci_high
    if roof.sustained:
        text += f" | {scaled(found.roofs[0], roof.sustained.value)[0]}"
    elif low and high and high - low > _WIDE * roof.value:
        text += " ({}–{})".format(*(scaled(found.roofs[0], edge)[0] for edge in (low, high)))
    elif roof.best.varies:
        text += " (varies)"
    return EndLabel(roof.value, text, format_color(roof.precision))


def unit_heading(axes: Axes, canvas: Canvas, first: RooflineLimit, what: str = "") -> None:
    """Writes the unit of the labels at the right, which is the first roof's."""
    text = scaled(first, first.value)[1] + what
    if canvas.narrow:
        text = text.replace(", ", ",\n")
    of, style = ("axes fraction", "axes fraction"), {"color": MUTED, "va": "bottom"}
    note(axes, text, (1.0, 1.0), (4, 6), of, fontsize=canvas.font - 1, **style)
