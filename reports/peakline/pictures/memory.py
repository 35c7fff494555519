"""Pictures of data movement: host link, device memory, alignment, caches, the host's memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from peakline import units
from peakline.pictures.base import (
    DASHES,
    INK,
    MARKERS,
    MUTED,
    SERIES,
    Canvas,
    EndLabel,
    Picture,
    decade_ticks,
    end_labels,
    plain_log_ticks,
)
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Below this a copy's time is mostly the cost of starting it.
SMALL_COPY_BYTES = 64 * 1024
# From here on a copy is long enough for bandwidth alone to count; ceilings use the same bound.
LARGE_COPY_BYTES = 256 * 1024 * 1024
# Sizes this factor apart tell where a curve bends; a quick run's few are further apart.
NEAR_SIZES = 8


@dataclass(frozen=True, slots=True)
class Curve:
    """A named line of points (x, value)."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]

    def at(self, x: float) -> float | None:
        """The value at exactly this x, None where there is no such point."""
        return dict(zip(self.x, self.y, strict=True)).get(x)


def amount(m: Measurement) -> float:
    """The value of a measurement that `Profile.of` has let through."""
    assert m.value is not None
    return m.value


def curve(
    name: str, rows: Sequence[Measurement], x: Callable[[Measurement], float | None]
) -> Curve:
    """The curve of `rows` over `x`, in order of x; of several values at one x, the highest.

    An x below 0 is no size, count or distance; its row is left out.
    """
    best: dict[float, float] = {}
    for row in rows:
        at = x(row)
        if at is not None and at >= 0:
            best[at] = max(best.get(at, 0.0), amount(row))
    ordered = sorted(best.items())
    return Curve(name, tuple(p[0] for p in ordered), tuple(p[1] for p in ordered))


def size_ticks(axis: object, low: float, high: float, at_most: int) -> None:
    """Ticks of a log2 axis of sizes: 4 KiB, 64 KiB, 1 MiB, ..."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / at_most))
    values = [2.0**e for e in range(first, last + 1, step)]
    plain_log_ticks(axis, values, [units.size(v) for v in values])


def integer_ticks(axis: object, values: Sequence[float], at_most: int = 9) -> None:
    """Ticks at the values that were measured, thinned to what fits."""
    step = max(1, math.ceil(len(values) / at_most))
    chosen = list(values)[::step]
    plain_log_ticks(axis, chosen, [f"{v:g}" for v in chosen])


def plot(axes: Axes, line: Curve, index: int, scale: float = 1.0, **style: Any) -> str:
    """Draws a curve in the index-th colour, dash and marker, or as `style`; returns the colour."""
    chosen: dict[str, Any] = {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)],
        "label": line.name,
        **style,
    }
    axes.plot(line.x, [y / scale for y in line.y], **chosen)
    return str(chosen["color"])


def pcie(profile: Profile, device: str) -> Picture | None:
    """Copy rate between host and device against size."""
    names = {
        "pcie.h2d.pinned": "to device, pinned",
        "pcie.d2h.pinned": "to host, pinned",
        "pcie.h2d.pageable": "to device, pageable",
        "pcie.d2h.pageable": "to host, pageable",
        "pcie.bidirectional.pinned": "both ways, pinned",
    }
    rows = profile.of(device, "pcie")
    ids = list(dict.fromkeys(m.id for m in rows))
    lines = {
        id_: line
        for id_ in sorted(ids, key=lambda i: list(names).index(i) if i in names else len(names))
        if (line := curve(names.get(id_, id_), [m for m in rows if m.id == id_], _bytes)).x
    }
    if not lines:
        return None
    limit = profile.ceiling(device, "pcie.h2d", "theoretical")

    def draw(canvas: Canvas) -> Figure:
        font = canvas.font - (1.5 if canvas.narrow else 1)
        texts = [f"{line.name} {line.y[-1] / 1e9:.1f}" for line in lines.values()]
        figure, (axes,) = canvas.figure(3.6, right=canvas.room(texts, font))
        low = min(x for line in lines.values() for x in line.x)
        high = max(x for line in lines.values() for x in line.x)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        labels = []
        for i, line in enumerate(lines.values()):
            labels.append(EndLabel(line.y[-1], texts[i], plot(axes, line, i)))
        if limit is not None:
            axes.axhline(limit.value, color=MUTED, linestyle=(0, (4, 3)), lw=0.9, label="link")
            labels.append(EndLabel(limit.value, f"link, raw {limit.value / 1e9:.1f}", MUTED))
        bottom, top = axes.get_ylim()
        size_ticks(axes.xaxis, low, high, 3 if canvas.narrow else 7)
        decades = [10.0**e for e in range(6, 13) if bottom <= 10.0**e <= top]
        plain_log_ticks(axes.yaxis, decades, [f"{v / 1e9:g}" for v in decades])
        canvas.labels(axes, "bytes of one copy", "GB/s")
        end_labels(axes, labels, font)
        return figure

    return Picture(
        "pcie",
        "Host link: copies between host and device",
        "Small copies cost a fixed time, large ones run at the link's rate; where a line bends is "
        "the size from which bandwidth counts. Both ways counts the bytes of both directions.",
        _pcie_reading(lines, rows, limit.value if limit else None),
        draw,
    )


def _bytes(m: Measurement) -> float | None:
    return m.integer("bytes") or m.integer("footprint")


def _half_rate_size(line: Curve) -> float | None:
    """The smallest size that reaches half the top rate, if the next smaller one is near it."""
    rates = zip(line.x, line.y, strict=True)
    x = next((size for size, rate in rates if rate >= max(line.y) / 2), 0)
    below = max((smaller for smaller in line.x if smaller < x), default=0)
    return x if below * NEAR_SIZES >= x else None


def _pcie_reading(lines: dict[str, Curve], rows: Sequence[Measurement], limit: float | None) -> str:
    parts = []
    down, up = lines.get("pcie.h2d.pinned"), lines.get("pcie.d2h.pinned")
    if down and up:
        text = (
            f"Large pinned copies reach {down.y[-1] / 1e9:.1f} GB/s to the device and "
            f"{up.y[-1] / 1e9:.1f} GB/s back"
        )
        if limit:
            text += (
                f", {units.percent(down.y[-1] / limit)} and {units.percent(up.y[-1] / limit)} of "
                "the link's raw rate"
            )
        parts.append(text + ".")
    elif lines:
        line = next(iter(lines.values()))
        parts.append(f"Copies {line.name} reach {max(line.y) / 1e9:.1f} GB/s.")
    small = [
        m.summary.median_s
        for m in rows
        if m.id == "pcie.h2d.pinned" and m.summary and (_bytes(m) or math.inf) <= SMALL_COPY_BYTES
    ]
    if small:
        half = _half_rate_size(down) if down else None
        text = f"A small copy takes {units.time(min(small))}"
        if half:
            text += f", and copies of {units.size(half)} reach half the rate"
        parts.append(text + ".")
    pageable = lines.get("pcie.h2d.pageable")
    if pageable and down and (pinned := down.at(pageable.x[-1])):
        ratio = pinned / pageable.y[-1]
        parts.append(
            f"To the device, pageable memory makes copies of {units.size(pageable.x[-1])} "
            f"{units.number(ratio, 2)} times slower."
            if ratio > 1.1
            else "Pageable memory costs nothing here."
        )
    return " ".join(parts)


def hbm(profile: Profile, device: str) -> Picture | None:
    """Device memory: access patterns and widths, and the rate against the footprint."""
    rows = profile.of(device, "hbm")
    if not rows:
        return None
    patterns = list(dict.fromkeys(m.id for m in rows))
    # Patterns compare at the largest footprint that each has, where caches play no part.
    values: dict[tuple[str, int | None], float] = {}
    for id_ in patterns:
        of_id = [m for m in rows if m.id == id_]
        for width in {m.integer("width") for m in of_id}:
            of_width = [m for m in of_id if m.integer("width") == width]
            largest = max((_bytes(m) or 0) for m in of_width)
            values[id_, width] = max(amount(m) for m in of_width if (_bytes(m) or 0) == largest)
    limit = profile.ceiling(device, "hbm.read", "theoretical") or profile.ceiling(
        device, "hbm.copy", "theoretical"
    )
    curves = []
    for id_ in patterns:
        best = max((w for i, w in values if i == id_), key=lambda w: values[id_, w])
        line = curve(
            id_.removeprefix("hbm."),
            [m for m in rows if m.id == id_ and m.integer("width") == best],
            _bytes,
        )
        if len(line.x) > 1:
            curves.append(line)

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(
            max(3.1, 0.34 * len(patterns) + 1.3),
            2 if curves else 1,
            left=0.75,
            right=canvas.room(f"{line.name} 0000" for line in curves),
            top=0.42,
        )
        axes = panels[0]
        widths = sorted({w for _, w in values if w is not None})
        for i, width in enumerate([*widths, None]):
            points = [
                (values[id_, width], y) for y, id_ in enumerate(patterns) if (id_, width) in values
            ]
            if points:
                axes.plot(
                    [p[0] / 1e9 for p in points],
                    [p[1] for p in points],
                    linestyle="none",
                    marker=MARKERS[i % len(MARKERS)],
                    color=SERIES[i % len(SERIES)] if width is not None else INK,
                    fillstyle="full" if i % 2 == 0 else "none",
                    markersize=6,
                    label=f"{width} bytes" if width is not None else "whole",
                )
        axes.set_yticks(range(len(patterns)), [p.removeprefix("hbm.") for p in patterns])
        axes.set_ylim(len(patterns) - 0.4, -0.6)
        low, high = min(values.values()) / 1e9, max(values.values()) / 1e9
        if limit is not None:
            high = max(high, limit.value / 1e9)
            axes.axvline(
                limit.value / 1e9, color=MUTED, linestyle=(0, (4, 3)), lw=0.9, label="theoretical"
            )
        axes.set_xlim(low - (high - low) * 0.15, high + (high - low) * 0.06)
        axes.legend(
            fontsize=canvas.font - 1.5,
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            ncols=3 if canvas.narrow else 5,
            handletextpad=0.1,
            columnspacing=0.7,
            borderaxespad=0.1,
        )
        canvas.labels(axes, "GB/s, read + written, by access width")
        if curves:
            axes = panels[1]
            axes.set_xscale("log", base=2)
            labels = []
            for i, line in enumerate(curves):
                color = plot(axes, line, i, 1e9)
                labels.append(
                    EndLabel(line.y[-1] / 1e9, f"{line.name} {line.y[-1] / 1e9:.0f}", color)
                )
            xs = [x for line in curves for x in line.x]
            size_ticks(axes.xaxis, min(xs), max(xs), 4)
            canvas.labels(axes, "footprint", "GB/s, best width")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "hbm",
        "Device memory: patterns and widths",
        "Each row is one access pattern, each mark one access width; the dashed line is what clock "
        "and bus width allow. A copy counts the bytes it reads and the bytes it writes.",
        _hbm_reading(values, limit.value if limit else None),
        draw,
    )


def _hbm_reading(values: dict[tuple[str, int | None], float], limit: float | None) -> str:
    fastest = max(values, key=values.__getitem__)
    slowest_pattern = min(
        {i for i, _ in values}, key=lambda i: max(v for (j, _), v in values.items() if j == i)
    )
    slow = max(v for (i, _), v in values.items() if i == slowest_pattern)
    text = (
        f"The fastest pattern, {fastest[0].removeprefix('hbm.')}, reaches "
        f"{values[fastest] / 1e9:.0f} GB/s"
    )
    if limit:
        text += (
            f", {units.percent(values[fastest] / limit)} of the theoretical {limit / 1e9:.0f} GB/s"
        )
    text += "."
    if slowest_pattern != fastest[0]:
        text += (
            f" {slowest_pattern.removeprefix('hbm.').capitalize()} is the slowest with "
            f"{slow / 1e9:.0f} GB/s."
        )
    # The pattern to which the width matters most speaks for all.
    gains = {}
    for pattern in {i for i, _ in values}:
        widths = {w: v for (i, w), v in values.items() if i == pattern and w is not None}
        if len(widths) > 1:
            wide, narrow = max(widths), min(widths)
            gains[pattern, wide, narrow] = widths[wide] / widths[narrow] - 1
    if gains:
        (pattern, wide, narrow), change = max(gains.items(), key=lambda item: abs(item[1]))
        text += (
            f" Width matters most to {pattern.removeprefix('hbm.')}: {wide}-byte accesses are "
            f"{abs(change) * 100:.0f} % {'faster' if change > 0 else 'slower'} than {narrow}-byte "
            "ones."
            if abs(change) >= 0.01
            else f" {narrow}-byte accesses are as fast as {wide}-byte ones."
        )
    return text


def alignment(profile: Profile, device: str) -> Picture | None:
    """Effective bandwidth against the offset and against the stride of accesses."""
    panels_data = []
    for id_, parameter, label in (
        ("alignment.offset", "offset", "offset, bytes"),
        ("alignment.stride", "stride", "stride, elements"),
    ):
        rows = profile.of(device, id_)
        lines = []
        for width in sorted({m.integer("width") or 0 for m in rows}):
            line = curve(
                f"{width} bytes",
                [m for m in rows if (m.integer("width") or 0) == width],
                lambda m, parameter=parameter: m.integer(parameter),  # type: ignore[misc]
            )
            base = line.at(0) or line.at(1)
            if base and len(line.x) > 1:
                lines.append(Curve(line.name, line.x, tuple(y / base for y in line.y)))
        if lines:
            panels_data.append((id_, label, lines))
    if not panels_data:
        return None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.1, len(panels_data), right=canvas.room(["16 bytes"]))
        for axes, (id_, label, lines) in zip(panels, panels_data, strict=True):
            labels = []
            for i, line in enumerate(lines):
                color = plot(axes, line, i, 0.01)
                labels.append(EndLabel(line.y[-1] * 100, line.name, color))
            axes.set_ylim(0, max(105.0, *(y * 105 for line in lines for y in line.y)))
            if id_ == "alignment.stride":
                axes.set_xscale("log", base=2)
                integer_ticks(axes.xaxis, sorted({x for line in lines for x in line.x}))
            else:
                # DRAM moves sectors of 32 bytes, so that is where the pattern repeats.
                multiples = {x for line in lines for x in line.x if x % 32 == 0}
                axes.set_xticks(sorted(multiples)[:9])
            canvas.labels(axes, label, "% of the aligned bandwidth")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "alignment",
        "Alignment: offset and stride",
        "Each line is one access width; 100 % is the same access aligned and contiguous. Only what "
        "the kernel asked for counts, not what the hardware moved besides.",
        " ".join(_alignment_reading(id_, lines) for id_, _, lines in panels_data),
        draw,
    )


def _alignment_reading(id_: str, lines: Sequence[Curve]) -> str:
    worst_line = min(lines, key=lambda line: min(line.y))
    worst = min(worst_line.y)
    at = worst_line.x[worst_line.y.index(worst)]
    if id_ == "alignment.offset":
        if worst > 0.98:
            return "No offset costs more than 2 %."
        return (
            f"The worst offset, {at:g} bytes with accesses of {worst_line.name}, leaves "
            f"{units.percent(worst)}."
        )
    half = [(line, x) for line in lines for x, y in zip(line.x, line.y, strict=True) if y <= 0.55]
    text = f"At stride {at:g} accesses of {worst_line.name} keep {units.percent(worst)}."
    if half and len(lines[0].x) > 2:
        line, x = min(half, key=lambda item: item[1])
        text += f" Half is already lost at stride {x:g} ({line.name})."
    return text


def host_scaling(profile: Profile, device: str) -> Picture | None:
    """The host's memory bandwidth and arithmetic against threads."""
    panels_data = []
    for prefix, label in (("host.memory", "GB/s"), ("host.fma", "GFLOP/s")):
        rows = profile.of(device, prefix)
        lines = [
            line
            for id_ in dict.fromkeys(m.id for m in rows)
            if (
                line := curve(
                    id_.rsplit(".", 1)[1],
                    [m for m in rows if m.id == id_],
                    lambda m: m.integer("threads") or None,
                )
            ).x
        ]
        if lines:
            panels_data.append((prefix, label, lines))
    # One number of threads makes no curve; the table of ceilings has it.
    if not any(len(line.x) > 1 for _, _, lines in panels_data for line in lines):
        return None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.1, len(panels_data), right=canvas.room(["triad 0000"]))
        for axes, (_, label, lines) in zip(panels, panels_data, strict=True):
            labels = []
            for i, line in enumerate(lines):
                color = plot(axes, line, i, 1e9)
                labels.append(
                    EndLabel(
                        line.y[-1] / 1e9, f"{line.name} {units.number(line.y[-1] / 1e9)}", color
                    )
                )
            axes.set_xscale("log", base=2)
            integer_ticks(axes.xaxis, sorted({x for line in lines for x in line.x}), 7)
            axes.set_ylim(bottom=0)
            canvas.labels(axes, "threads", label)
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "host",
        "Host: memory and arithmetic against threads",
        "A line that goes flat has met a shared limit, mostly the memory controllers; one that "
        "keeps rising still gains from every thread.",
        " ".join(_scaling_reading(prefix, lines) for prefix, _, lines in panels_data),
        draw,
    )


def _scaling_reading(prefix: str, lines: Sequence[Curve]) -> str:
    line = max(lines, key=lambda item: max(item.y))
    best = max(line.y)
    enough = next(x for x, y in zip(line.x, line.y, strict=True) if y >= 0.95 * best)
    what = "Memory" if prefix == "host.memory" else "Arithmetic"
    rate = units.rate(best, "B/s" if prefix == "host.memory" else "FLOP/s")
    text = f"{what} peaks at {rate} ({line.name})"
    if len(line.x) == 1:
        return f"{text} with {line.x[0]:g} thread{'' if line.x[0] == 1 else 's'}."
    plural = "" if enough == 1 else "s"
    if enough == line.x[-1]:
        return (
            f"{text} and still grows at {enough:g} thread{plural}, to "
            f"{units.number(best / line.y[0])} times the rate of {line.x[0]:g}."
        )
    return f"{text}; {enough:g} thread{plural} get 95 % of it."


def sweeps(profile: Profile, device: str, area: str, title: str, what: str) -> Picture | None:
    """Curves of every `area.*` benchmark over its one varying size: caches, latencies."""
    lines: list[tuple[str, Curve]] = []
    for id_ in dict.fromkeys(m.id for m in profile.of(device, area)):
        rows = profile.of(device, id_)
        rows = [m for m in rows if m.id == id_ and _bytes(m)]
        line = curve(id_.removeprefix(area + "."), rows, _bytes)
        if len(line.x) > 1:
            lines.append((rows[0].unit, line))
    if not lines:
        return None
    units_found = list(dict.fromkeys(unit for unit, _ in lines))

    def draw(canvas: Canvas) -> Figure:
        right = canvas.room(line.name for _, line in lines)
        figure, panels = canvas.figure(3.4, len(units_found), right=right)
        for axes, unit in zip(panels, units_found, strict=True):
            scale, label = {"s": (1e-9, "ns"), "B/s": (1e9, "GB/s")}.get(unit, (1.0, unit))
            labels = []
            for i, (_, line) in enumerate((u, c) for u, c in lines if u == unit):
                color = plot(axes, line, i, scale)
                labels.append(EndLabel(line.y[-1] / scale, line.name, color))
            xs = [x for u, line in lines if u == unit for x in line.x]
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            size_ticks(axes.xaxis, min(xs), max(xs), 6)
            low, high = axes.get_ylim()
            decade_ticks(axes.yaxis, low, high)
            canvas.labels(axes, "footprint", label)
            end_labels(axes, labels, canvas.font - 1)
        return figure

    unit, line = lines[0]
    first, last = units.value(line.y[0], unit), units.value(line.y[-1], unit)
    return Picture(
        area,
        title,
        f"Each plateau is one level of {what}; a step marks the size at which a level overflows.",
        f"{line.name.capitalize()}: {first} at {units.size(line.x[0])}, {last} at "
        f"{units.size(line.x[-1])}.",
        draw,
    )
