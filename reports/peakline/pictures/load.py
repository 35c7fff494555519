"""Unbroken load: from burst to sustained, and minutes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peakline import units
from peakline.names import format_name
from peakline.pictures.canvas import Canvas, EndLabel, end_labels, plain_log_ticks
from peakline.pictures.curves import amount
from peakline.pictures.matrix.rows import format_of
from peakline.pictures.picture import Picture
from peakline.pictures.style import DASHES, GROUND, LIMIT, MUTED, SERIES, precision_color
from peakline.profile import Measurement, Profile, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# More lines than these no one tells apart.
MAX_SERIES = 6
# Where the time axis begins: the first points of a series are this far apart.
FIRST_POINT_S = 0.01
# The fall from burst is over by then, which the picture of sustained load shows.
BURST_OVER_S = 1.0


@dataclass(frozen=True, slots=True)
class _Panel:
    """One quantity of a series: how it is called, and its values."""

    label: str
    values: Callable[[Measurement, Series], Iterable[float | None]]

    def points(self, m: Measurement, from_s: float = 0.0) -> tuple[list[float], list[float]]:
        """Times above 0, from `from_s` on, and values; what is not known is left out."""
        assert m.series is not None
        known = [
            (t, v)
            for t, v in zip(m.series.time_s, self.values(m, m.series), strict=True)
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


_TELEMETRY = (
    _Panel("SM clock, MHz", lambda _, series: _scaled(series.sm_clock_hz, 1e6)),
    _Panel("power, W", lambda _, series: series.power_w),
    _Panel("temperature, °C", lambda _, series: series.temperature_c),
)


def _present(
    panels: Iterable[_Panel], rows: Sequence[Measurement], from_s: float = 0.0
) -> list[_Panel]:
    """The panels that at least one of `rows` has values for, from `from_s` on."""
    return [panel for panel in panels if any(panel.points(m, from_s)[0] for m in rows)]


def _with_series(profile: Profile, device: str) -> list[Measurement]:
    return [
        m
        for m in profile.of(device)
        if m.series is not None and len(m.series.time_s) > 1 and m.unit in ("FLOP/s", "OP/s")
    ]


def sustained(profile: Profile, device: str) -> Picture | None:
    """Rate, clock, power and temperature over an unbroken load, from the first burst on."""
    rows = [m for m in _with_series(profile, device) if m.params.get("load") != "soak"]
    # What sustained ceilings come from; layers of models are products of the same formats. Of the
    # matrix units where there are any: those of the CUDA cores have the same names.
    sources = {c.measurement for c in profile.ceilings if c.basis == "sustained"}
    rows = [m for m in rows if m.name in sources] or rows
    rows = [m for m in rows if m.id.startswith("gemm.")] or rows
    if not rows:
        return None
    rows = sorted(rows, key=lambda m: -amount(m))[:MAX_SERIES]
    bursts = {m.id: amount(m) for m in profile.of(device) if m.params.get("load") == "burst"}
    gpu = profile.gpu(device)
    highest = gpu.sm_clock_max_hz if gpu else None
    # Operations per clock that the units allow: the theoretical ceiling holds at the highest clock.
    limits = {
        m.id: limit.value / highest
        for m in rows
        if highest
        and (own := profile.ceiling_from(device, m.id))
        and (limit := profile.ceiling(device, own.resource, "theoretical"))
    }

    def percent(values: Sequence[float | None], of: float | None) -> list[float | None]:
        return _scaled(values, of / 100) if of else [None] * len(values)

    def of_burst(m: Measurement, series: Series) -> list[float | None]:
        return percent(series.rate, bursts.get(m.id))

    def of_units(m: Measurement, series: Series) -> list[float | None]:
        return percent(_per_clock(series), limits.get(m.id))

    wanted = _present(
        [
            _Panel("rate, % of burst; right: TFLOP/s held", of_burst),
            _Panel("rate per clock, % of what the units allow", of_units),
            *_TELEMETRY,
        ],
        rows,
    )
    if not wanted:
        return None

    return Picture(
        "sustained",
        "From burst to sustained",
        "The same load without a break, time on a log scale. Where rate and clock fall together "
        "while power stays flat, the power limit decides; where they fall as temperature rises, "
        "heat does. A rate per clock that stays level means that nothing but the clock changed. "
        "INT8 counts integer operations.",
        lambda canvas: _draw_sustained(canvas, profile, rows, wanted),
    )


def _draw_sustained(
    canvas: Canvas, profile: Profile, rows: Sequence[Measurement], wanted: Sequence[_Panel]
) -> Figure:
    names = [format_name(format_of(m)) for m in rows]
    held = [units.number(amount(m) / 1e12) for m in rows]
    right = canvas.room(map("{} {}".format, names, held), canvas.font - 1)
    figure, panels = canvas.figure(2.3, len(wanted), right=right, columns=2)
    last = max(m.series.time_s[-1] for m in rows if m.series)
    for axes, panel in zip(panels, wanted, strict=True):
        labels = []
        for i, (m, name) in enumerate(zip(rows, names, strict=True)):
            times, values = panel.points(m)
            if not times:
                continue
            color = precision_color(profile, format_of(m))
            dashes = DASHES[i % len(DASHES)]
            axes.plot(times, values, color=color, linestyle=dashes, lw=1.4, label=name)
            labels.append(EndLabel(values[-1], f"{name} {held[i]}", color))
        axes.set_xscale("log")
        axes.set_xlim(FIRST_POINT_S * 0.9, max(last, FIRST_POINT_S) * 1.05)
        ticks = {0.01: "10 ms", 0.1: "100 ms", 1.0: "1 s", 10.0: "10 s"}
        plain_log_ticks(axes.xaxis, list(ticks), list(ticks.values()))
        axes.margins(y=0.12)
        canvas.labels(axes, "since the start of the load", panel.label)
        # The others share colours and dashes with the first, and their lines lie close.
        if axes is panels[0]:
            end_labels(axes, labels, canvas.font - 1)
    return figure


def soak(profile: Profile, device: str) -> Picture | None:
    """Minutes of unbroken load, with the time at which the temperature came to rest."""
    m = next((m for m in _with_series(profile, device) if m.params.get("load") == "soak"), None)
    if m is None or m.series is None or m.series.time_s[-1] <= BURST_OVER_S:
        return None
    last = m.series.time_s[-1]
    gpu = profile.gpu(device)
    sms = gpu.sm_count if gpu else None
    wanted = _present(
        [
            _Panel("TFLOP/s", lambda _, series: _scaled(series.rate, 1e12)),
            _Panel(
                "FLOP per clock and SM",
                lambda _, series: _scaled(_per_clock(series), sms)
                if sms
                else [None] * len(series.rate),
            ),
            *_TELEMETRY,
        ],
        [m],
        BURST_OVER_S,
    )
    if not wanted:
        return None
    equilibrium = m.launch.get("equilibrium_s")
    rest = equilibrium if isinstance(equilibrium, int) else None

    return Picture(
        "soak",
        "Soak: minutes of unbroken load",
        "From the first second on, after the fall from burst. The dashed line marks where the "
        "temperature settled; a rate that falls while it rises is what a run of a few seconds "
        "cannot show.",
        lambda canvas: _draw_soak(canvas, m, wanted, last, rest),
        ("soak",),
    )


def _draw_soak(
    canvas: Canvas, m: Measurement, wanted: Sequence[_Panel], last: float, rest: int | None
) -> Figure:
    figure, panels = canvas.figure(2.0, len(wanted), right=0.22, columns=2)
    for axes, panel in zip(panels, wanted, strict=True):
        times, values = panel.points(m, BURST_OVER_S)
        axes.plot(times, values, color=SERIES[0], lw=1.4, label=panel.label)
        # What does not change should look level, not like noise.
        low, high = min(values), max(values)
        spare = max(0.12 * (high - low), (0.05 * high - (high - low)) / 2) or 1.0
        axes.set_ylim(low - spare, high + spare)
        axes.set_xlim(0, last)
        if rest is not None:
            axes.axvline(rest, label="equilibrium", **LIMIT)
        canvas.labels(axes, "s since the start of the load", panel.label)
    if rest is not None:
        late = rest > last / 2
        panels[0].annotate(
            f"equilibrium, {rest} s",
            xy=(rest, 0.06),
            xytext=(-4 if late else 4, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize=canvas.font - 1,
            color=MUTED,
            ha="right" if late else "left",
            bbox=GROUND,
        )
    return figure
