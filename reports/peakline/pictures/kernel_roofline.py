"""Kernels on their own roofline: FLOPs and bytes under the roofs that they use."""

import math
from collections.abc import Sequence
from typing import Any

from peakline import units
from peakline.limits.ceilings import Limits, RooflineLimit, limits
from peakline.names import level_of
from peakline.pictures.canvas import Axes, Canvas, EndLabel, Figure, end_labels, note
from peakline.pictures.labels import short_label
from peakline.pictures.picture import Picture
from peakline.pictures.roofline import log_axes
from peakline.pictures.style import CARD, GROUND, INK, LEVELS, MUTED
from peakline.pictures.titles import says
from peakline.profile import Profile
from peakline.workload.kernel_text import YOURS, names_of
from peakline.workload.placement import Placement

# More numbers would overlap; the bars and the table have the others.
_MOST = 12
_CACHES = ("l1", "l2")
# Mark areas in square points, by time.
_LARGEST, _SMALLEST = 330.0, 26.0
_INNER = 0.45  # share of the area, for marks of caches
_MARGIN = 4.0  # factor beyond the outermost mark
_HOVERED = 200  # characters of a name shown on hovering


def picture(
    profile: Profile, device: str, placements: Sequence[Placement], called: str = YOURS
) -> Picture | None:
    """The kernels whose FLOPs and bytes are known; None without any, or without roofs."""
    numbered = [
        (number, p)
        for number, p in enumerate(placements, start=1)
        if p.flops_per_s and _moved(p) and p.kernel.seconds and not p.impossible
    ]
    found = limits(profile, device)
    if not numbered or found is None:
        return None
    chosen = sorted(numbered, key=lambda row: -(row[1].kernel.seconds or 0.0))[:_MOST]
    roofs = _used(found, [p for _, p in chosen])
    drawn = {number for number, _ in chosen}
    left = [p for number, p in enumerate(placements, start=1) if number not in drawn]
    bound = sum(_is_memory_bound(p, roofs) for _, p in chosen)
    return Picture(
        "kernel-roofline",
        f"{called} on the roofline: what they do with each byte",
        "A mark is a kernel, numbered as in the table; its area is its time. "
        "A kernel has a mark for each memory level, at its FLOPs per byte of that level. No kernel "
        "can lie above the slope of a level or the roof of its format; the distance below the "
        "nearest is what a rewritten kernel could gain. Only roofs that these kernels use are "
        "drawn, at the best rates measured here."
        + (f" Not drawn, without FLOPs or too short: {names_of(left)}." if left else ""),
        lambda canvas: _draw(canvas, profile, roofs, chosen),
        headline=_headline(bound, len(chosen)),
    )


def _headline(bound: int, drawn: int) -> str:
    """Which roof is nearest; bound: the kernels for which it is device memory."""
    if 0 < bound < drawn:
        return (
            f"Nearest roof: device memory for {bound} of {drawn} kernels with FLOPs, the FLOP rate "
            f"for {drawn - bound}; other units may stop them earlier"
        )
    roof = "device memory" if bound else "the FLOP rate"
    which = f"all {drawn} kernels" if drawn > 1 else "the kernel"
    return f"Nearest roof: {roof} for {which} with FLOPs; other units may stop them earlier"


def _moved(p: Placement) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, count in p.kernel.bytes.items():
        found[level_of(name)] = found.get(level_of(name), 0.0) + count
    memory = sum(count for level, count in found.items() if level not in _CACHES)
    # Traffic that bypasses a cache, such as TMA copies, leaves its counter below the memory's.
    return {
        level: count
        for level, count in found.items()
        if count and (level not in _CACHES or count >= memory / 2)
    }


def _used(found: Limits, placements: Sequence[Placement]) -> Limits:
    levels = {level for p in placements for level in _moved(p)}
    named = {unit for p in placements for unit, count in p.kernel.flops.items() if count}
    slopes = [s for s in found.slopes if level_of(s.resource) in levels] or [found.main]
    roofs = [r for r in found.roofs if r.resource in named or r.precision in named]
    roofs = roofs or [found.roofs[0]]
    return Limits(found.main, tuple(slopes), tuple(roofs))


def _is_memory_bound(p: Placement, found: Limits) -> bool:
    """Whether a kernel is left of its highest roof's ridge."""
    main = _moved(p).get(level_of(found.main.resource))
    roofs = [r.value for r in found.roofs if p.kernel.flops.get(r.resource)]
    ridge = max(roofs or [found.roofs[0].value]) / found.main.value
    return main is not None and sum(p.kernel.flops.values()) / main < ridge


def _draw(
    canvas: Canvas, profile: Profile, found: Limits, chosen: Sequence[tuple[int, Placement]]
) -> Figure:
    font = canvas.font - (1.0 if canvas.narrow else 0.5)
    ends = [_end(profile, roof, canvas.narrow) for roof in found.roofs]
    room = canvas.room([end.text for end in ends], font) + 0.1
    figure, (axes,) = canvas.figure(4.2 + 0.4 * canvas.narrow, left=0.75, right=room, top=0.34)
    _frame(axes, found, [p for _, p in chosen])
    _draw_roofs(axes, found)
    longest = max(p.kernel.seconds or 0.0 for _, p in chosen)
    taken: list[tuple[float, float]] = []
    for number, p in chosen:
        area = max(_SMALLEST, _LARGEST * (p.kernel.seconds or 0.0) / longest)
        _draw_kernel(axes, found, number, p, area)
        _number(axes, canvas, number, p, area, taken)
    for level in dict.fromkeys(level for _, p in chosen for level in _moved(p)):
        name, color = LEVELS.get(level, LEVELS["memory"])
        axes.scatter([], [], s=40, color=color, label=name)
    canvas.legend_above(axes, 3)
    canvas.labels(axes, "arithmetic intensity, FLOP/byte")
    axes.set_ylabel("performance, FLOP/s", fontsize=canvas.font)
    end_labels(axes, ends, font)
    return figure


def _end(profile: Profile, roof: RooflineLimit, brief: bool) -> EndLabel:
    text = short_label(profile.label(roof.resource))
    rate = "" if brief else f" {units.rate(roof.value, roof.best.unit)}"
    return EndLabel(roof.value, f"{text}{rate}", INK)


def _frame(axes: Axes, found: Limits, placements: Sequence[Placement]) -> None:
    ridges = [roof.value / slope.value for roof in found.roofs for slope in found.slopes]
    at = [sum(p.kernel.flops.values()) / count for p in placements for count in _moved(p).values()]
    heights = [p.flops_per_s or 0.0 for p in placements]
    x_low, x_high = min(*at, *ridges) / _MARGIN, max(*at, *ridges) * _MARGIN
    y_low, y_high = min(*heights, found.roofs[-1].value) / _MARGIN, found.roofs[0].value * 2
    log_axes(axes, (x_low, x_high), (y_low, y_high))


def _draw_roofs(axes: Axes, found: Limits) -> None:
    low, high = axes.get_xlim()
    top = found.roofs[0].value
    for slope in found.slopes:
        _, color = LEVELS.get(level_of(slope.resource), LEVELS["memory"])
        end = min(high, top / slope.value)
        axes.plot([low, end], [low * slope.value, end * slope.value], color=color, lw=1.4)
    fastest = max(slope.value for slope in found.slopes)
    for roof in found.roofs:
        axes.plot([roof.value / fastest, high], [roof.value] * 2, color=MUTED, lw=1.2)


def _places(p: Placement) -> dict[str, float]:
    """FLOP/byte by memory level."""
    return {level: sum(p.kernel.flops.values()) / count for level, count in _moved(p).items()}


def _draw_kernel(axes: Axes, found: Limits, number: int, p: Placement, area: float) -> None:
    """Draws a kernel's marks; area: of the largest, in square points."""
    slopes = {level_of(slope.resource): slope.value for slope in found.slopes}
    roof = max(
        (r.value for r in found.roofs if p.kernel.flops.get(r.resource)),
        default=found.roofs[0].value,
    )
    height, places = p.flops_per_s or 0.0, _places(p)
    ends = [min(places.values()), max(places.values())]
    axes.plot(ends, [height] * 2, color=MUTED, lw=0.6, zorder=2)
    for level, x in places.items():
        name, color = LEVELS.get(level, LEVELS["memory"])
        size = area * (_INNER if level in _CACHES else 1.0)
        mark = axes.scatter(
            [x], [height], s=size, color=color, alpha=0.75, edgecolors=CARD, zorder=3
        )
        least = min(bound for bound in (roof, x * slopes.get(level, math.inf)) if bound)
        says(
            mark,
            f"{number}: {p.kernel.name[:_HOVERED]}: {units.rate(height, p.rate_unit)}, "
            f"{units.intensity(x)} FLOP/byte of {name}; {units.percent(height / least)} of the "
            "lower of slope and roof",
        )


def _number(
    axes: Axes,
    canvas: Canvas,
    number: int,
    p: Placement,
    area: float,
    taken: list[tuple[float, float]],
) -> None:
    """Writes a kernel's number beside its device-memory mark, clear of those `taken`."""
    places, height = _places(p), p.flops_per_s or 0.0
    at = next((x for level, x in places.items() if level not in _CACHES), min(places.values()))
    dots_per_point = axes.figure.dpi / 72
    x, y = (float(side) / dots_per_point for side in axes.transData.transform((at, height)))
    near = canvas.font * 1.2
    beside = math.sqrt(area / math.pi) + canvas.font * 0.9
    spots = [
        (side * beside * far, dy)
        for dy in (0, 10, -10, 20, -20, 30, -30)
        for far in (1, 2)
        for side in (1, -1)
    ]
    free = [
        (dx, dy)
        for dx, dy in spots
        if all(abs(x + dx - u) > near * 1.3 or abs(y + dy - v) > near for u, v in taken)
    ]
    dx, dy = (free or spots)[0]
    taken.append((x + dx, y + dy))
    leader = {"arrowstyle": "-", "color": MUTED, "lw": 0.5} if dy else None
    style: dict[str, Any] = {"ha": "center", "bbox": GROUND, "zorder": 4, "arrowprops": leader}
    note(axes, str(number), (at, height), (dx, dy), fontsize=canvas.font - 1, **style)
