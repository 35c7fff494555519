"""Sustained load over seconds, and soak over minutes."""

import math
from collections.abc import Iterable, Mapping, Sequence

from peakline import units
from peakline.names import format_name
from peakline.pictures.canvas import Canvas, Figure, note, plain_log_ticks
from peakline.pictures.curves import amount, format_of, shape_of
from peakline.pictures.picture import COMPUTE, Picture
from peakline.pictures.style import DASHES, GROUND, LIMIT, MUTED, SERIES, format_color
from peakline.profile import Ceiling, Measurement, Profile, Series

# More lines are indistinguishable.
MAX_SERIES = 6
# Start of the time axis: the first points of a series are this far apart.
FIRST_POINT_S = 0.01
# The clock has settled by then, as the picture of sustained load shows.
BURST_OVER_S = 1.0


# (times, values)
_Points = tuple[list[float], list[float]]


def _points(series: Series, values: Iterable[float | None], from_s: float = 0.0) -> _Points:
    """Times above 0, from `from_s` on, and their known values."""
    known = [
        (t, v)
        for t, v in zip(series.time_s, values, strict=False)
        if v is not None and t > 0 and t >= from_s
    ]
    return [t for t, _ in known], [v for _, v in known]


def _scaled(values: Iterable[float | None], scale: float) -> list[float | None]:
    return [None if v is None else v / scale for v in values]


def _per_clock(series: Series) -> list[float | None]:
    """Operations per clock of the whole device."""
    return [
        rate / clock if rate and clock else None
        for rate, clock in zip(series.rate, series.sm_clock_hz, strict=True)
    ]


def _with_series(profile: Profile, device: str) -> list[Measurement]:
    return [
        m
        for m in profile.of(device)
        if m.series is not None and len(m.series.time_s) > 1 and m.unit in ("FLOP/s", "OP/s")
    ]


def sustained(profile: Profile, device: str) -> Picture | None:
    """Rate and clock over a sustained load, a panel per format."""
    rows = [m for m in _with_series(profile, device) if m.params.get("load") != "soak"]
    # Prefer sources of achievable ceilings: layers of models are GEMMs of the same formats. Show
    # the matrix units alone if there are any: the CUDA cores' formats have the same names.
    sources = {c.measurement for c in profile.ceilings if c.basis == "sustained"}
    rows = [m for m in rows if m.name in sources] or rows
    rows = [m for m in rows if m.id.startswith("gemm.")] or rows
    rows = sorted(rows, key=lambda m: -amount(m))[:MAX_SERIES]
    gpu = profile.gpu(device)
    highest = gpu.sm_clock_max_hz if gpu else None
    panels = [_shares(profile, device, m, highest) for m in rows]
    drawn = [(m, shares) for m, shares in zip(rows, panels, strict=True) if shares]
    if not drawn:
        return None
    bursts = {
        m.id: (amount(m), amount(m) / limit.value * 100)
        for m in profile.of(device)
        if m.params.get("load") == "burst" and (limit := _theory(profile, device, m))
    }

    return Picture(
        "sustained",
        "Sustained load: rate and clock without a break",
        "Each panel is one format, time on a log scale; above it the achievable rate, which is the "
        "mean over whole swings, and the power; below it M × N × K. The thin dashed line is the "
        "burst rate: it was measured at another time, from rest, and a line that begins below it "
        "was still held down by what ran before. The rate is a share of the theoretical one, the "
        "clock one of its maximum: where the two fall together, the clock alone decides, and the "
        "power limit or heat decides the clock; the distance between them is what the GEMM "
        "loses at any clock.",
        lambda canvas: _draw_sustained(canvas, drawn, bursts),
        ("sustained load",),
        every_device=True,
        group=COMPUTE,
    )


# Lines of a panel, in percent over seconds.
_RATE, _CLOCK = "rate, % of theoretical", "clock, % of maximum"
_Shares = dict[str, _Points]
# The legend's share of a panel's height.
_LEGEND_SHARE = 0.4


def _shares(profile: Profile, device: str, m: Measurement, highest: float | None) -> _Shares:
    """The rate as a share of the theoretical one, the clock as a share of the highest."""
    limit = _theory(profile, device, m)
    assert m.series is not None
    rates = _scaled(m.series.rate, limit.value / 100) if limit else []
    clocks = _scaled(m.series.sm_clock_hz, highest / 100) if highest else []
    found = {_RATE: _points(m.series, rates), _CLOCK: _points(m.series, clocks)}
    return {name: points for name, points in found.items() if points[0]}


def _theory(profile: Profile, device: str, m: Measurement) -> Ceiling | None:
    own = profile.ceiling_from(device, m.id)
    return profile.ceiling(device, own.resource, "theoretical") if own else None


def _draw_sustained(
    canvas: Canvas,
    drawn: Sequence[tuple[Measurement, _Shares]],
    bursts: Mapping[str, tuple[float, float]],
) -> Figure:
    """bursts: rate and its share of the theoretical one in percent, by id."""
    figure, panels = canvas.figure(
        2.25, len(drawn), left=0.45, right=0.15, top=0.46, columns=3, narrow_columns=2
    )
    values = [y for _, shares in drawn for _, ys in shares.values() for y in ys]
    values += [share for m, shares in drawn if _RATE in shares for _, share in _one(bursts, m)]
    # The legend goes below the lines of the panel with the highest ones.
    lowest = [min(y for _, ys in shares.values() for y in ys) for _, shares in drawn]
    high = math.ceil(max(values) / 5) * 5
    room = (max(lowest) - _LEGEND_SHARE * high) / (1 - _LEGEND_SHARE)
    low = math.floor(min(*values, room) / 5) * 5
    last = max(xs[-1] for _, shares in drawn for xs, _ in shares.values())
    for axes, (m, shares) in zip(panels, drawn, strict=True):
        color = format_color(format_of(m))
        styles = {
            _RATE: {"color": color, "lw": 1.8},
            _CLOCK: {"color": MUTED, "lw": 1.2, "linestyle": DASHES[1]},
        }
        for name, (times, shown) in shares.items():
            axes.plot(times, shown, label=name, **styles[name])
        for _, share in _one(bursts, m) if _RATE in shares else ():
            axes.axhline(share, label="burst rate, from rest", **{**LIMIT, "color": color})
        axes.set_xscale("log")
        axes.set_xlim(FIRST_POINT_S * 0.9, max(last, FIRST_POINT_S) * 1.05)
        ticks = {0.01: "10 ms", 0.1: "0.1 s", 1.0: "1 s", 10.0: "10 s"}
        plain_log_ticks(axes.xaxis, list(ticks), list(ticks.values()))
        # Panels share an axis, so that they compare.
        axes.set_ylim(low, high)
        canvas.labels(axes, shape_of(m), _heading(m, _one(bursts, m)))
        axes.xaxis.label.set_fontsize(canvas.font - 1)
    axes = panels[lowest.index(max(lowest))]
    handles, names = axes.get_legend_handles_labels()
    axes.legend(
        handles,
        [name.partition(",")[0] if canvas.narrow else name for name in names],
        fontsize=canvas.font - 1,
        loc="lower right",
        borderaxespad=0,
        handlelength=1.4,
        handletextpad=0.4,
    )
    return figure


def _one(
    bursts: Mapping[str, tuple[float, float]], m: Measurement
) -> Sequence[tuple[float, float]]:
    """The burst rate of a measurement's format with its share, if measured."""
    return [bursts[m.id]] if m.id in bursts else []


def _heading(m: Measurement, burst: Sequence[tuple[float, float]]) -> str:
    """ "BF16: 716 TFLOP/s", and below it "690 W, burst 858"."""
    power = [f"{m.conditions.power_w:.0f} W"] if m.conditions.power_w else []
    rest = [f"burst {units.rate_number(rate, m.unit)}" for rate, _ in burst]
    below = ", ".join([*power, *rest])
    return f"{format_name(format_of(m))}: {units.rate(amount(m), m.unit)}\n{below}"


def soak(profile: Profile, device: str) -> Picture | None:
    """Minutes of sustained load, with the time at which the temperature settled."""
    m = next((m for m in _with_series(profile, device) if m.params.get("load") == "soak"), None)
    if m is None or m.series is None or m.series.time_s[-1] <= BURST_OVER_S:
        return None
    last = m.series.time_s[-1]
    gpu = profile.gpu(device)
    sms = gpu.sm_count if gpu else None
    panels = {
        "TFLOP/s": _scaled(m.series.rate, 1e12),
        "FLOP per clock and SM": _scaled(_per_clock(m.series), sms) if sms else [],
        "SM clock, MHz": _scaled(m.series.sm_clock_hz, 1e6),
        "power, W": m.series.power_w,
        "temperature, °C": m.series.temperature_c,
    }
    points = {name: _points(m.series, values, BURST_OVER_S) for name, values in panels.items()}
    wanted = {name: found for name, found in points.items() if found[0]}
    if not wanted:
        return None
    equilibrium = m.launch.get("equilibrium_s")
    rest = equilibrium if isinstance(equilibrium, int) else None

    return Picture(
        "soak",
        "Soak: minutes of sustained load",
        "The first second is left out, in which the clock settles. The dashed line marks where the "
        "temperature settled; a rate that falls while it rises is what a run of a few seconds "
        "cannot show.",
        lambda canvas: _draw_soak(canvas, wanted, last, rest),
        ("soak",),
        every_device=True,
        group=COMPUTE,
    )


def _draw_soak(
    canvas: Canvas, wanted: Mapping[str, _Points], last: float, rest: int | None
) -> Figure:
    figure, panels = canvas.figure(2.0, len(wanted), right=0.22, columns=2)
    for axes, (name, (times, values)) in zip(panels, wanted.items(), strict=True):
        axes.plot(times, values, color=SERIES[0], lw=1.4, label=name)
        # A steady quantity should look level, not like noise.
        low, high = min(values), max(values)
        spare = max(0.12 * (high - low), (0.05 * high - (high - low)) / 2) or 1.0
        axes.set_ylim(low - spare, high + spare)
        axes.set_xlim(0, last)
        if rest is not None:
            axes.axvline(rest, label="equilibrium", **LIMIT)
        canvas.labels(axes, "s since the start of the load", name)
    if rest is not None:
        late = rest > last / 2
        text, of = f"equilibrium, {rest} s", ("data", "axes fraction")
        away, side = (-4 if late else 4, 0), "right" if late else "left"
        style = {"fontsize": canvas.font - 1, "color": MUTED, "va": "baseline", "bbox": GROUND}
        note(panels[0], text, (rest, 0.06), away, of, ha=side, **style)
    return figure
