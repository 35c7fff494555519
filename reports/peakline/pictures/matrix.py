"""Pictures of matrix products: a transformer's layer, few rows, alignment, waves, operand data.

The points of a sweep are measured on a warm card, whose clock its power limit sets anew for each.
Where sizes are compared, rates are therefore taken per clock.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.base import (
    CARD,
    GROUND,
    INK,
    MARKERS,
    MUTED,
    SERIES,
    Canvas,
    EndLabel,
    Picture,
    end_labels,
    plain_log_ticks,
)
from peakline.pictures.memory import Curve, amount, curve, integer_ticks, plot
from peakline.pictures.roofline import format_name, resource_color
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DASHED = (0, (4, 3))
# The other dimensions of a product whose one dimension is moved away from this power of two.
ALIGNED_SIZE = 8192


def _format(m: Measurement) -> str:
    return m.id.rpartition(".")[2]


def _formats(rows: Sequence[Measurement]) -> list[str]:
    """The operand formats of `rows`, in the profile's order."""
    return list(dict.fromkeys(_format(m) for m in rows))


def _per_clock(m: Measurement) -> float | None:
    """Operations per clock of the whole device."""
    clock = m.conditions.sm_clock_hz
    return amount(m) / clock if clock else None


def _ceiling(profile: Profile, device: str, name: str, basis: str) -> float | None:
    row = profile.ceiling(device, f"tensor.{name}", basis)
    return row.value if row else None


def _and(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


# --- a transformer's layer ---------------------------------------------------------------------

_PARTS = ("layer", "qkv", "output", "up", "down")
_PART_NAMES = {"qkv": "QKV"}


def _tokens(m: Measurement) -> int | None:
    return m.integer("tokens") or None


def _layer_lines(
    profile: Profile, device: str, rows: Sequence[Measurement], parts: Sequence[str]
) -> dict[tuple[str, str], Curve]:
    """Shares of the format's burst ceiling over tokens, by format and part."""
    lines = {}
    for name in _formats(rows):
        burst = _ceiling(profile, device, name, "burst")
        for part in parts:
            of_part = [m for m in rows if _format(m) == name and m.params.get("part") == part]
            line = curve(
                f"{format_name(name)} layer" if part == "layer" else _PART_NAMES.get(part, part),
                of_part,
                _tokens,
            )
            if burst and line.x:
                lines[name, part] = Curve(line.name, line.x, tuple(y / burst for y in line.y))
    return lines


def model(profile: Profile, device: str) -> Picture | None:
    """The products of a transformer's layer against the number of tokens."""
    rows = profile.of(device, "gemm.model")
    by_hidden = {
        hidden: lines
        for hidden in sorted({m.integer("hidden") or 0 for m in rows} - {0})
        if (
            lines := _layer_lines(
                profile, device, [m for m in rows if m.integer("hidden") == hidden], _PARTS
            )
        )
    }
    drawn = {
        hidden: {key: line for key, line in lines.items() if len(line.x) > 1}
        for hidden, lines in by_hidden.items()
    }
    drawn = {hidden: lines for hidden, lines in drawn.items() if lines}
    if not drawn:
        return None
    main = next(iter(drawn[max(drawn)]))[0]
    burst = _ceiling(profile, device, main, "burst")
    held = _ceiling(profile, device, main, "sustained")
    sustained = held / burst if held and burst else None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.4, len(drawn))
        for axes, (hidden, lines) in zip(panels, drawn.items(), strict=True):
            for i, ((_, part), line) in enumerate(lines.items()):
                strong = part == "layer"
                plot(
                    axes,
                    line,
                    i,
                    0.01,
                    lw=2.4 if strong else 1.0,
                    markersize=4.5 if strong else 3,
                    zorder=3 if strong else 2,
                )
            if sustained:
                axes.axhline(
                    sustained * 100,
                    color=MUTED,
                    linestyle=_DASHED,
                    lw=0.9,
                    zorder=1,
                    label=f"{format_name(main)} sustained",
                )
            axes.set_xscale("log", base=2)
            ticks = sorted({x for line in lines.values() for x in line.x})
            integer_ticks(axes.xaxis, ticks, 4)
            axes.set_ylim(0, max(105.0, *(y * 105 for line in lines.values() for y in line.y)))
            canvas.labels(axes, "tokens", f"% of burst, hidden size {hidden}")
        # Few tokens reach little in any format: the upper left is free, where the lines lie apart
        # from each other less than their labels would.
        legend = panels[0].legend(
            fontsize=canvas.font - 1, loc="upper left", handlelength=2.6, borderaxespad=0.2
        )
        legend.get_frame().set(facecolor=CARD, edgecolor=CARD, alpha=0.9)
        return figure

    return Picture(
        "model",
        "Matrix products of a transformer layer",
        "Each line is one product of a layer over the tokens of a batch, and the strong line the "
        "four in a row; 100 % is the format's burst ceiling, the dashed line its sustained one. "
        "The card is warm here: a long row of products is nearer to sustained than to burst.",
        _model_reading(by_hidden, main),
        draw,
    )


def _model_reading(by_hidden: dict[int, dict[tuple[str, str], Curve]], main: str) -> str:
    hidden = max(h for h, lines in by_hidden.items() if any(name == main for name, _ in lines))
    lines = by_hidden[hidden]
    parts = []
    line = lines.get((main, "layer"))
    if line and len(line.x) > 1:
        half = next(x for x, y in zip(line.x, line.y, strict=True) if y >= max(line.y) / 2)
        parts.append(
            f"A layer of hidden size {hidden} in {format_name(main)} reaches "
            f"{units.percent(line.y[-1])} of burst with {line.x[-1]:g} tokens and "
            f"{units.percent(line.y[0])} with {line.x[0]:g}; "
            f"{half:g} tokens get half of its best."
        )
    others = {name: line for (name, part), line in lines.items() if part == "layer"}
    others.pop(main, None)
    if others:
        # One number of tokens that all have, the largest; the formats compare there.
        common = set.intersection(*(set(line.x) for line in others.values()))
        if common:
            tokens = max(common)
            shares = [
                f"{format_name(name)} {units.percent(line.at(tokens) or 0.0)}"
                for name, line in others.items()
            ]
            parts.append(f"At {tokens:g} tokens, of their own burst: {', '.join(shares)}.")
    if not parts:
        (_, part), line = next(iter(lines.items()))
        parts.append(f"{line.name if part != 'layer' else 'A layer'}: {units.percent(line.y[-1])}.")
    return " ".join(parts)


# --- few rows ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Skinny:
    """Products of few rows in one format, in FLOP/s over M, and what the roofline says of them."""

    name: str
    measured: Curve
    predicted: Curve  # the ridge included; empty where a ceiling is missing
    ridge: float | None  # M from which arithmetic binds


def _skinny(rows: Sequence[Measurement], bandwidth: float | None, burst: float | None) -> _Skinny:
    measured = curve(_format(rows[0]), rows, lambda m: m.integer("m") or None)
    work = {
        float(m.integer("m") or 0): (m.work.flops, m.work.bytes_read + m.work.bytes_written)
        for m in rows
    }
    known = [(m, *work[m]) for m in measured.x if all(work[m])]
    if not bandwidth or not burst or not known:
        return _Skinny(measured.name, measured, Curve(measured.name, (), ()), None)
    points = [(m, min(flops / size * bandwidth, burst)) for m, flops, size in known]
    # FLOP and bytes are linear in M, so between two points the ridge's M follows exactly.
    ridge = None
    excess = [(m, flops * bandwidth - size * burst) for m, flops, size in known]
    for (low, below), (high, above) in itertools.pairwise(excess):
        if below < 0 <= above:
            ridge = low + (high - low) * below / (below - above)
            points.append((ridge, burst))
    points.sort()
    predicted = Curve(measured.name, tuple(p[0] for p in points), tuple(p[1] for p in points))
    return _Skinny(measured.name, measured, predicted, ridge)


def skinny(profile: Profile, device: str) -> Picture | None:
    """Products with few rows, from memory-bound to compute-bound."""
    rows = profile.of(device, "gemm.skinny")
    memory = profile.ceiling(device, "hbm.read", "measured")
    lines = [
        _skinny(
            [m for m in rows if _format(m) == name],
            memory.value if memory else None,
            _ceiling(profile, device, name, "burst"),
        )
        for name in _formats(rows)
    ]
    lines = [line for line in lines if len(line.measured.x) > 1]
    if not lines:
        return None

    def draw(canvas: Canvas) -> Figure:
        font = canvas.font - 1
        texts = [
            f"{format_name(line.name)} {units.number(line.measured.y[-1] / 1e12)}" for line in lines
        ]
        figure, (axes,) = canvas.figure(3.6, right=canvas.room(texts, font))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        labels = []
        ridges = []
        for i, (line, text) in enumerate(zip(lines, texts, strict=True)):
            color = resource_color(f"tensor.{line.name}")
            axes.plot(
                line.predicted.x,
                [y / 1e12 for y in line.predicted.y],
                color=color,
                lw=0.9,
                label=f"{line.name} roofline",
            )
            axes.plot(
                line.measured.x,
                [y / 1e12 for y in line.measured.y],
                color=color,
                linestyle="none",
                marker=MARKERS[i % len(MARKERS)],
                label=line.name,
            )
            if line.ridge:
                height = (line.predicted.at(line.ridge) or 0.0) / 1e12
                ridges.append((height, line.ridge, line.name))
            labels.append(EndLabel(line.measured.y[-1] / 1e12, text, color))
        # The formats' ridges lie above one another: the lowest is named below, the others above.
        for rank, (height, ridge, name) in enumerate(sorted(ridges)):
            below = rank == 0 and len(ridges) > 1
            axes.plot(
                [ridge],
                [height],
                color=INK,
                marker="D",
                fillstyle="none",
                linestyle="none",
                markersize=8,
                label=f"{name} ridge",
            )
            axes.annotate(
                f"{format_name(name)} ridge: M = {ridge:.0f}",
                xy=(ridge, height),
                xytext=(9, -12) if below else (-9, 8),
                textcoords="offset points",
                fontsize=font,
                color=resource_color(f"tensor.{name}"),
                ha="left" if below else "right",
                va="top" if below else "bottom",
                bbox=GROUND,
            )
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * 1.6)
        decades = [10.0**e for e in range(-3, 6) if low <= 10.0**e <= high * 1.6]
        plain_log_ticks(axes.yaxis, decades, [f"{v:g}" for v in decades])
        integer_ticks(axes.xaxis, sorted({x for line in lines for x in line.measured.x}), 7)
        canvas.labels(axes, "M, rows (tokens of a step)", "TFLOP/s")
        end_labels(axes, labels, font)
        return figure

    return Picture(
        "skinny",
        "Few rows: from memory-bound to compute-bound",
        "Marks were measured; the thin line is the roofline, intensity times HBM read up to the "
        "burst ceiling. Left of the ridge a row more is free, since the weights come from memory "
        "anyway: that is where a language model decodes. Marks below the line lose to the library.",
        _skinny_reading(lines),
        draw,
    )


def _xy(line: Curve) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return line.x, line.y


def _skinny_reading(lines: Sequence[_Skinny]) -> str:
    parts = []
    ridges = [f"{format_name(line.name)} at M = {line.ridge:.0f}" for line in lines if line.ridge]
    if ridges:
        parts.append(f"Arithmetic begins to bind {_and(ridges)}.")
    for line in lines:
        shares = {
            m: rate / roof
            for m, rate in zip(*_xy(line.measured), strict=True)
            if (roof := line.predicted.at(m))
        }
        if not shares:
            continue
        first = min(shares)
        worst = min(shares, key=shares.__getitem__)
        text = (
            f"{format_name(line.name)} does {units.rate(line.measured.at(first) or 0.0, 'FLOP/s')} "
            f"with M = {first:g}, {units.percent(shares[first])} of the roofline"
        )
        if worst != first:
            text += f", and is furthest below it at M = {worst:g} with "
            text += units.percent(shares[worst])
        parts.append(text + ".")
    if not parts:
        measured = lines[0].measured
        parts.append(
            f"{format_name(measured.name)} goes from {units.rate(measured.y[0], 'FLOP/s')} to "
            f"{units.rate(measured.y[-1], 'FLOP/s')}."
        )
    return " ".join(parts)


# --- alignment ---------------------------------------------------------------------------------


def _power_of_two(size: int) -> int:
    """The largest power of two that divides a size."""
    return size & -size


@dataclass(frozen=True, slots=True)
class _Aligned:
    """Rates per clock relative to the aligned product: every point, and the median at each power
    of two."""

    name: str
    points: tuple[tuple[int, float], ...]

    @property
    def medians(self) -> dict[int, float]:
        return {
            power: statistics.median(share for p, share in self.points if p == power)
            for power in sorted({p for p, _ in self.points})
        }


def _aligned(rows: Sequence[Measurement], base: float) -> _Aligned:
    points = [
        (_power_of_two(size), rate / base)
        for m in rows
        if (size := m.integer("size")) and size > 0 and (rate := _per_clock(m))
    ]
    return _Aligned(_format(rows[0]), tuple(sorted(points)))


def _vocabulary(profile: Profile, device: str) -> str:
    """What an odd vocabulary costs, in clocks, over one padded to a multiple of 64."""
    clocks = {
        n: m.work.flops / rate
        for m in profile.of(device, "gemm.vocabulary.bf16")
        if (n := m.integer("n")) and (rate := _per_clock(m)) and m.work.flops
    }
    if len(clocks) < 2:
        return ""
    odd = min(clocks, key=_power_of_two)
    padded = max(clocks, key=_power_of_two)
    change = clocks[odd] / clocks[padded] - 1
    return (
        f"A vocabulary of {odd} takes {abs(change) * 100:.0f} % "
        f"{'more' if change >= 0 else 'less'} time at one clock than one padded to {padded}."
    )


def alignment(profile: Profile, device: str) -> Picture | None:
    """What it costs when a dimension is no multiple of a power of two."""
    rows = profile.of(device, "gemm.alignment")
    panels_data: dict[str, list[_Aligned]] = {}
    for dimension in "MNK":
        for name in _formats(rows):
            of_format = [m for m in rows if _format(m) == name]
            base = max(
                (_per_clock(m) or 0.0 for m in of_format if m.integer("size") == ALIGNED_SIZE),
                default=0.0,
            )
            chosen = [m for m in of_format if m.params.get("dimension") == dimension]
            line = _aligned(chosen, base) if base and chosen else None
            if line and len(line.medians) > 1:
                panels_data.setdefault(dimension, []).append(line)
    if not panels_data:
        return None
    powers = sorted({p for lines in panels_data.values() for line in lines for p in line.medians})
    position = {power: i for i, power in enumerate(powers)}
    top = max(y for lines in panels_data.values() for line in lines for _, y in line.points)
    low = min(y for lines in panels_data.values() for line in lines for _, y in line.points)

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.0, len(panels_data), left=0.5, right=0.16)
        for axes, (dimension, lines) in zip(panels, panels_data.items(), strict=True):
            for i, line in enumerate(lines):
                medians = line.medians
                color = resource_color(f"tensor.{line.name}")
                shown = Curve(
                    format_name(line.name),
                    tuple(float(position[p]) for p in medians),
                    tuple(medians.values()),
                )
                plot(axes, shown, i, 0.01, color=color, lw=1.4)
                axes.plot(
                    [position[p] for p, _ in line.points],
                    [y * 100 for _, y in line.points],
                    color=color,
                    linestyle="none",
                    marker=MARKERS[i % len(MARKERS)],
                    markersize=3,
                    fillstyle="none",
                    label=f"{line.name} points",
                )
            # Every other one fits, the aligned size among them.
            axes.set_xticks(
                range(len(powers)),
                [str(p) if (len(powers) - i) % 2 else "" for i, p in enumerate(powers)],
            )
            axes.set_ylim(max(0.0, low * 100 - 12), top * 100 + 4)
            heading = f"{dimension}: % of the aligned rate"
            canvas.labels(axes, f"power of two that divides {dimension}", heading)
        handles, names = panels[0].get_legend_handles_labels()
        lines_only = [(h, n) for h, n in zip(handles, names, strict=True) if "points" not in n]
        panels[0].legend(
            [h for h, _ in lines_only],
            [n for _, n in lines_only],
            fontsize=canvas.font - 1.5,
            frameon=False,
            loc="lower right",
            borderaxespad=0.1,
        )
        return figure

    return Picture(
        "matrix-alignment",
        "Matrix products: what alignment costs",
        f"One dimension is moved a little away from {ALIGNED_SIZE}, the other two stay; to the "
        "right is the largest power of two that divides it. Small marks are single sizes, lines "
        "their median; 100 % is the rate per clock of the aligned product.",
        " ".join(filter(None, [_alignment_reading(panels_data), _vocabulary(profile, device)])),
        draw,
    )


def _alignment_reading(panels_data: dict[str, list[_Aligned]]) -> str:
    worst = [
        (share, power, dimension, line.name)
        for dimension, lines in panels_data.items()
        for line in lines
        for power, share in line.medians.items()
    ]
    share, power, dimension, name = min(worst)
    if share > 0.98:
        return "No dimension loses more than 2 % per clock."
    text = (
        f"Most costs {dimension} in {format_name(name)}: divisible by {power} alone, "
        f"{units.percent(share)} of the aligned rate per clock is left"
    )
    medians = next(line for line in panels_data[dimension] if line.name == name).medians
    enough = next(
        (p for p in medians if all(s >= 0.95 for q, s in medians.items() if q >= p)), None
    )
    return text + (f"; from multiples of {enough} on it is at least 95 %." if enough else ".")


# --- waves -------------------------------------------------------------------------------------


# More verticals than these hide the lines; then every so many waves have one.
MOST_WAVES = 12


@dataclass(frozen=True, slots=True)
class _Cliff:
    """The fall of the rate where one more row of tiles opens a new wave."""

    waves: float  # just past a whole number of them
    before: float
    after: float


def _cliff(fixed: Curve) -> _Cliff | None:
    """The deepest fall over a whole wave."""
    falls = [
        _Cliff(x1, y0, y1)
        for (x0, y0), (x1, y1) in itertools.pairwise(zip(fixed.x, fixed.y, strict=True))
        if x0 <= int(x1) < x1
    ]
    return min(falls, key=lambda f: f.after / f.before, default=None)


def waves(profile: Profile, device: str) -> Picture | None:
    """Rate per clock against how often the tiles fill all SMs."""
    rows = profile.of(device, "gemm.waves")
    sms = profile.sm_count(device)
    if not rows or not sms:
        return None
    # Both kernels are drawn over the fixed one's waves, so that the same M stands at the same x.
    fixed_rows = [m for m in rows if m.params.get("kernel") == "fixed"]
    waves_of: dict[int | None, float] = {}
    for m in fixed_rows:
        tiles = m.launch.get("tiles")
        if isinstance(tiles, int) and tiles > 0:
            waves_of[m.integer("m")] = tiles / sms
    lines = {}
    for kernel, name in (("fixed", "one kernel"), ("best", "best kernel")):
        points = sorted(
            (waves_of[m.integer("m")], rate / sms)
            for m in rows
            if m.params.get("kernel") == kernel
            and m.integer("m") in waves_of
            and (rate := _per_clock(m))
        )
        if len(points) > 1:
            lines[kernel] = Curve(name, tuple(p[0] for p in points), tuple(p[1] for p in points))
    if not lines:
        return None
    name = _format(rows[0])
    last = max(line.x[-1] for line in lines.values())

    def draw(canvas: Canvas) -> Figure:
        texts = [line.name for line in lines.values()]
        figure, (axes,) = canvas.figure(3.2, left=0.7, right=canvas.room(texts, canvas.font - 1))
        step = math.ceil(last / MOST_WAVES)
        for whole in range(step, int(last) + 1, step):
            axes.axvline(whole, color=MUTED, lw=0.6, zorder=1, label=f"_wave {whole}")
        labels = []
        for i, line in enumerate(lines.values()):
            color = plot(axes, line, i, markersize=3, lw=1.4)
            labels.append(EndLabel(line.y[-1], line.name, color))
        axes.set_ylim(0, max(y for line in lines.values() for y in line.y) * 1.08)
        axes.set_xticks(range(0, int(last) + step + 1, step))
        axes.set_xlim(0, last * 1.02)
        canvas.labels(
            axes, f"waves: tiles / {sms} SMs", f"{format_name(name)} FLOP per clock and SM"
        )
        end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "waves",
        "Wave quantization: tiles that do not fill the SMs",
        "M grows, N and K stay; the thin verticals are whole waves, in which every SM has a tile. "
        "Just past one the last wave is nearly empty, yet takes as long as a full one. The best "
        "kernel is chosen anew for each M and stands above the same M. Rates are per clock.",
        _waves_reading(lines),
        draw,
    )


def _waves_reading(lines: dict[str, Curve]) -> str:
    parts = []
    cliff = _cliff(lines["fixed"]) if "fixed" in lines else None
    if cliff:
        change = cliff.after / cliff.before - 1
        parts.append(
            f"With {cliff.waves:.2f} waves one kernel does {cliff.after:.0f} FLOP per clock and SM "
            f"instead of the {cliff.before:.0f} just before ({change * 100:+.0f} %)."
        )
    if len(lines) == 2:
        fixed, best = lines["fixed"], lines["best"]
        gains = {x: y / base for x, y in zip(*_xy(best), strict=True) if (base := fixed.at(x))}
        if gains:
            x = max(gains, key=gains.__getitem__)
            parts.append(
                f"Choosing the kernel for each M gains most at {x:.2f} waves: "
                f"{(gains[x] - 1) * 100:.0f} %."
            )
    if not parts:
        line = next(iter(lines.values()))
        parts.append(f"From {min(line.y):.0f} to {max(line.y):.0f} FLOP per clock and SM.")
    return " ".join(parts)


# --- layouts, a cold cache, accumulation -------------------------------------------------------

_LAYOUTS = ("TN", "NN", "NT", "TT")
# Formats that differ from another one in encoding or accumulation: that one's burst is their 100 %.
_VARIANTS_OF = {"fp8_e5m2": "fp8", "fp8_accurate": "fp8"}


def variants(profile: Profile, device: str) -> Picture | None:
    """Rates per clock, relative to the format's burst: layouts, cleared L2, other FP8 formats."""
    rows = [m for m in profile.of(device, "gemm") if m.id.count(".") == 1]
    bursts = {
        _format(m): rate
        for m in rows
        if m.params.get("load") == "burst" and (rate := _per_clock(m))
    }
    shares: dict[tuple[str, str], float] = {}  # by mark and format
    for m in rows:
        name = _format(m)
        base, rate = bursts.get(_VARIANTS_OF.get(name, name)), _per_clock(m)
        if not base or not rate:
            continue
        if m.params.get("layout") in _LAYOUTS:
            shares[str(m.params["layout"]), name] = rate / base
        elif m.params.get("l2") == "cleared":
            shares["L2 cleared", name] = rate / base
        elif m.params.get("load") == "burst" and name in _VARIANTS_OF:
            shares["burst", name] = rate / base
    marks = [mark for mark in (*_LAYOUTS, "L2 cleared", "burst") if mark in {m for m, _ in shares}]
    if len(shares) < 2:
        return None
    names = [name for name in _formats(rows) if name in {n for _, n in shares}]

    def draw(canvas: Canvas) -> Figure:
        labels = [format_name(name) for name in names]
        columns = 3 if canvas.narrow else len(marks)
        head = 0.14 + 0.2 * math.ceil(len(marks) / columns)
        figure, (axes,) = canvas.figure(
            0.75 + head + 0.27 * len(names),
            left=canvas.room(labels, canvas.font - 0.5),
            right=0.2,
            top=head,
        )
        for i, mark in enumerate(marks):
            points = [
                (shares[mark, name] * 100, y)
                for y, name in enumerate(names)
                if (mark, name) in shares
            ]
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                linestyle="none",
                marker=MARKERS[i],
                color=SERIES[i],
                fillstyle="none",
                markersize=6.5,
                label=mark,
            )
        axes.axvline(100, color=MUTED, linestyle=_DASHED, lw=0.9, zorder=1)
        axes.set_yticks(range(len(names)), labels)
        axes.set_ylim(len(names) - 0.5, -0.5)
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
        canvas.labels(axes, "% of the format's burst, per clock")
        return figure

    return Picture(
        "variants",
        "Matrix products: layouts, a cold cache, other FP8",
        "Each row is a format; 100 % is its burst, the best shape and layout, and for the other "
        "FP8 formats that of FP8. Layouts are named as cuBLASLt does, column-major; with L2 "
        "cleared the operands come from device memory. FP8 accurate does without fast "
        "accumulation.",
        _variants_reading(shares),
        draw,
    )


def _variants_reading(shares: dict[tuple[str, str], float]) -> str:
    parts = []
    layouts = {key: share for key, share in shares.items() if key[0] in _LAYOUTS}
    if layouts:
        layout, name = min(layouts, key=layouts.__getitem__)
        parts.append(
            f"Of all layouts {format_name(name)} in {layout} reaches "
            f"{units.percent(layouts[layout, name])} of burst per clock, the least."
        )
    for mark, what in (("L2 cleared", "With L2 cleared"), ("burst", "Of FP8's burst")):
        found = [
            f"{format_name(name)} {units.percent(share)}"
            for (m, name), share in shares.items()
            if m == mark
        ]
        if found:
            parts.append(f"{what}: {', '.join(found)}.")
    return " ".join(parts)


# --- operand data ------------------------------------------------------------------------------


def data(profile: Profile, device: str) -> Picture | None:
    """Rate and power under load by what the operands hold."""
    rows = [m for m in profile.of(device, "gemm") if isinstance(m.params.get("data"), str)]
    kinds = list(dict.fromkeys(str(m.params["data"]) for m in rows))
    by_key = {(_format(m), str(m.params["data"])): m for m in rows}
    names = [name for name in _formats(rows) if (name, "normal") in by_key]
    shares = {
        (name, kind): amount(m) / amount(by_key[name, "normal"])
        for (name, kind), m in by_key.items()
        if name in names
    }
    powers = {key: power for key in shares if (power := by_key[key].conditions.power_w)}
    if len(shares) < 2:
        return None
    limit = next((d.power_limit_w for d in profile.devices if d.uuid == device), None)

    def draw(canvas: Canvas) -> Figure:
        titles = [kind.replace("_", " ") for kind in kinds]
        figure, panels = canvas.figure(
            1.2 + 0.27 * len(kinds),
            2 if powers else 1,
            left=canvas.room(titles, canvas.font - 0.5),
            right=0.2,
            top=0.42,
        )
        wanted = [
            ({key: share * 100 for key, share in shares.items()}, "rate, % of normal data", 100.0),
            (powers, "power, W; dashed: the limit", limit),
        ]
        for axes, (values, heading, mark) in zip(panels, wanted, strict=False):
            for i, name in enumerate(names):
                points = [
                    (value, kinds.index(kind)) for (n, kind), value in values.items() if n == name
                ]
                axes.plot(
                    [x for x, _ in points],
                    [y for _, y in points],
                    linestyle="none",
                    marker=MARKERS[i % len(MARKERS)],
                    color=resource_color(f"tensor.{name}"),
                    fillstyle="full" if i % 2 == 0 else "none",
                    markersize=7 if i % 2 else 5,
                    label=format_name(name),
                )
            if mark is not None:
                axes.axvline(mark, color=MUTED, linestyle=_DASHED, lw=0.9, zorder=1)
            axes.set_yticks(range(len(kinds)), titles)
            axes.set_ylim(len(kinds) - 0.5, -0.5)
            axes.margins(x=0.1)
            axes.legend(
                fontsize=canvas.font - 1.5,
                frameon=False,
                loc="lower left",
                bbox_to_anchor=(-0.02, 1.0),
                ncols=len(names),
                handletextpad=0.2,
                columnspacing=0.9,
                borderaxespad=0.1,
            )
            canvas.labels(axes, heading)
        return figure

    return Picture(
        "data",
        "Operand data: what the bits cost",
        "The same product under load on different operands; 100 % is normally distributed data, "
        "with which all ceilings are measured. Fewer bits that toggle take less power, and at the "
        "power limit that means a higher clock: rates on zeros or constants promise too much.",
        _data_reading(shares, by_key),
        draw,
    )


def _data_reading(
    shares: dict[tuple[str, str], float], by_key: dict[tuple[str, str], Measurement]
) -> str:
    parts = []
    for name in dict.fromkeys(name for name, _ in shares):
        of_format = {kind: share for (n, kind), share in shares.items() if n == name}
        kind = max(of_format, key=of_format.__getitem__)
        if kind == "normal":
            parts.append(f"{format_name(name)} is fastest with normal data.")
            continue
        text = (
            f"{format_name(name)} is fastest with {kind.replace('_', ' ')}, at "
            f"{units.percent(of_format[kind])} of normal data"
        )
        power, normal = (by_key[name, k].conditions.power_w for k in (kind, "normal"))
        if power and normal:
            text += f" with {power:.0f} instead of {normal:.0f} W"
        parts.append(text + ".")
    return " ".join(parts)
