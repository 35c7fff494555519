"""The picture of instruction throughput and latency."""

from peakline import units
from peakline.pictures.canvas import Canvas, Figure, note, plain_log_ticks
from peakline.pictures.curves import plot_marks
from peakline.pictures.picture import Picture
from peakline.pictures.style import INK, MUTED, SERIES
from peakline.profile import Profile
from peakline.text import short

_RATE_TICKS = (1, 4, 16, 64, 256)
_LEAST_RATE = 0.5
_MOST_OF_A_NAME = 20  # characters shown


def picture(profile: Profile, device: str) -> Picture | None:
    """Each instruction's throughput per clock and SM, documented rate, and latency in cycles."""
    measured, stated, latency = (
        {str(f.by.get("op")): f.value for f in profile.figures(device, role=f"instruction.{role}")}
        for role in ("results", "documented_results", "cycles")
    )
    ops = list(measured)
    if not ops:
        return None

    def draw(canvas: Canvas) -> Figure:
        latencies = [latency.get(op) for op in ops]
        texts = ["" if cycles is None else f"{cycles:.0f} cycles" for cycles in latencies]
        figure, (axes,) = canvas.figure(
            0.19 * len(ops) + 1.0,
            left=canvas.room([_name(op) for op in ops], canvas.font - 0.5),
            right=canvas.room([*texts, "latency"], canvas.font - 1),
            top=0.5,
        )
        canvas.rows(axes, [_name(op) for op in ops])
        axes.set_xscale("log", base=2)
        axes.set_xlim(_LEAST_RATE, 4 * max(measured.values()))
        plain_log_ticks(axes.xaxis, _RATE_TICKS, [str(tick) for tick in _RATE_TICKS])
        rates, documented = (
            {y: found[op] for y, op in enumerate(ops) if op in found}
            for found in (measured, stated)
        )
        upright = {"marker": "|", "markersize": 11, "markeredgewidth": 2.2, "color": SERIES[1]}
        for known, name, look in (
            (documented, "documented", upright),
            (rates, "measured", {"markersize": 4.5}),
        ):
            if known:
                plot_marks(axes, [(rate, y) for y, rate in known.items()], 0, label=name, **look)
        for y, rate in rates.items():
            at = (max(rate, documented.get(y, 0)), y)
            note(axes, units.number(rate), at, (4, 0), fontsize=canvas.font - 1)
            canvas.beside(axes, y, texts[y], MUTED)
        canvas.beside(axes, -1.1, "latency", INK)
        canvas.labels(axes, "results per clock and SM, log scale")
        canvas.legend_above(axes, 2)
        return figure

    return Picture(
        "instructions",
        "Instructions: throughput per clock, and latency",
        "Dots are measured results per clock and SM, a packed pair being two; the upright mark is "
        "the rate that NVIDIA documents, where it does. At the right, the clocks from an "
        "instruction to one that needs its result.",
        draw,
        ("instructions",),
    )


def _name(op: str) -> str:
    return short(op.replace("_", " "), _MOST_OF_A_NAME)
