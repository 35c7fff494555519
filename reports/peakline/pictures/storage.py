"""The links from storage to a GPU, and the need."""

import math

from peakline import units
from peakline.peaks.storage import ALL_AT_ONCE, InputNeed, input_bound, input_rates
from peakline.pictures.canvas import Canvas, Figure, engineering_ticks, note
from peakline.pictures.picture import LINKS, Picture
from peakline.pictures.style import INK, LIMIT, SERIES
from peakline.profile import HOST, NODE, Profile

# Above this ratio, short bars look alike; marks on a logarithmic axis replace them.
_MOST_ON_A_LINE = 10.0
_BAR = 0.55  # of a row
_NAMES = {
    "storage": "storage,\nsequential",
    "host memory": "host memory,\nhalf of its copies",
    "the host link": "host link",
    ALL_AT_ONCE: "storage to GPU,\nall at once",
}
_MEASURED_FOR_IT = ("storage", ALL_AT_ONCE)


def picture(profile: Profile, device: str, need: InputNeed | None = None) -> Picture | None:
    """The rate of each link, and the need as a line. None without measurements for it or a need,
    and on a host with GPUs, which have their own."""
    if device == NODE or (device == HOST and profile.devices):
        return None
    rates = input_rates(profile, device)
    if not rates or (need is None and not any(label in rates for label in _MEASURED_FOR_IT)):
        return None
    wanted = need.bytes_per_sample * need.samples_per_s if need else None
    return Picture(
        "input",
        "From storage to the GPU: what each link carries",
        _explanation(rates),
        lambda canvas: _draw(canvas, rates, wanted),
        ("input", "storage"),
        every_device=True,
        group=LINKS,
        headline=_headline(profile, device, rates, need),
    )


def _explanation(rates: dict[str, float]) -> str:
    text = "Each link alone"
    text += ", then all of them at once. " if ALL_AT_ONCE in rates else ". "
    if "host memory" in rates:
        text += "Host memory counts half of what its copies do, since each byte enters it and "
        text += "leaves it again. "
    return (
        text + "Small or random reads of storage may be slower. GPUs share storage and host memory."
    )


def _draw(canvas: Canvas, rates: dict[str, float], wanted: float | None) -> Figure:
    names = [_NAMES[label] for label in rates]
    texts = [units.rate(rate, "B/s") for rate in rates.values()]
    if wanted:
        shares = (units.number(100 * wanted / rate, 2) for rate in rates.values())
        texts = [f"{text}, {share} % needed" for text, share in zip(texts, shares, strict=True)]
    if canvas.narrow:
        texts = [text.replace(", ", ",\n") for text in texts]
    figure, (axes,) = canvas.figure(
        0.42 * len(rates) + 0.86,
        left=canvas.room(part for name in names for part in name.split("\n")),
        right=canvas.room((part for text in texts for part in text.split("\n")), canvas.font - 1),
        top=0.34 if wanted else 0.1,
    )
    shown = [*rates.values(), *([wanted] if wanted else [])]
    # The unit of the labels beside the bars.
    scale, unit = (1e9, "GB/s") if max(shown) >= 1e9 else (1e6, "MB/s")
    low, high = min(shown) / scale, max(shown) / scale
    logarithmic = high > _MOST_ON_A_LINE * low
    for row, (label, rate) in enumerate(rates.items()):
        color = SERIES[1] if label == ALL_AT_ONCE else SERIES[0]
        if logarithmic:
            axes.plot([rate / scale], [row], "o", color=color, markersize=7, label=label)
        else:
            axes.barh(row, rate / scale, height=_BAR, color=color, label=label)
        canvas.beside(axes, row, texts[row])
    canvas.rows(axes, names)
    axes.grid(visible=False, axis="y")
    if logarithmic:
        axes.set_xscale("log")
        first, last = 10.0 ** math.floor(math.log10(low / 1.5)), high * 2
        axes.set_xlim(first, last)
        engineering_ticks(axes.xaxis, first, last, 2 if canvas.narrow else 5)
    else:
        axes.set_xlim(0, high * 1.05)
    if wanted:
        axes.axvline(wanted / scale, label="needed", **{**LIMIT, "color": INK, "lw": 1.3})
        in_left_half = (
            axes.transAxes.inverted().transform(axes.transData.transform((wanted / scale, 0)))[0]
            < 0.5
        )
        text, of = f"needed: {units.rate(wanted, 'B/s')}", ("data", "axes fraction")
        place = {"ha": "left" if in_left_half else "right", "va": "bottom"}
        note(axes, text, (wanted / scale, 1.0), (0, 3), of, fontsize=canvas.font - 1, **place)
    canvas.labels(axes, f"{unit}, log scale" if logarithmic else unit)
    return figure


def _headline(
    profile: Profile, device: str, rates: dict[str, float], need: InputNeed | None
) -> str:
    """The slowest link, and whether it suffices."""
    if need is None:
        alone = {label: rate for label, rate in rates.items() if label != ALL_AT_ONCE}
        slowest = min(alone or rates, key=lambda label: rates[label])
        text = f"{slowest} is the slowest link, {units.rate(rates[slowest], 'B/s')}"
        text = text[:1].upper() + text[1:]
        if slowest != ALL_AT_ONCE and ALL_AT_ONCE in rates:
            text += f"; all at once, {units.rate(rates[ALL_AT_ONCE], 'B/s')} reach the GPU"
        return text
    bound = input_bound(profile, need.bytes_per_sample, need.samples_per_s, device=device)
    where = "" if bound.binding.label == ALL_AT_ONCE else f" ({bound.binding.label})"
    text = f"{bound.words}: {units.rate(bound.bytes_per_s, 'B/s')} are needed, and "
    text += f"{units.rate(bound.binding.rate, 'B/s')} get through{where}"
    if bound.enough is False:
        text += f": {units.number(bound.samples_per_s)} of {units.number(need.samples_per_s)} "
        text += "samples/s"
    elif bound.missing:
        text += f"; not measured: {', '.join(bound.missing)}"
    return text
