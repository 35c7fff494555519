"""Collective operations between a node's GPUs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, end_labels
from peakline.pictures.curves import (
    Curve,
    all_x,
    ceiling_or_last,
    curve,
    plot_all,
    size_of,
    size_ticks,
)
from peakline.pictures.picture import Picture
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES = {
    "nccl.all_reduce": "all-reduce",
    "nccl.all_gather": "all-gather",
    "nccl.reduce_scatter": "reduce-scatter",
    "nccl.all_to_all": "all-to-all",
    "nccl.broadcast": "broadcast",
    "nccl.send_receive": "send/receive",
}
# Up to here time tells, and from here on bandwidth.
_SMALL, _LARGE = 2 * units.MIB, 256 * units.KIB


def picture(profile: Profile, device: str) -> Picture | None:
    """Time and bus bandwidth of collectives against size."""
    rows = {id_: [m for m in profile.of(device, id_) if m.id == id_] for id_ in _NAMES}
    rates = {
        id_: line
        for id_, of_id in rows.items()
        if len((line := curve(_NAMES[id_], of_id, size_of)).x) > 1
    }
    if not rates:
        return None

    small = [_times(_NAMES[id_], rows[id_]) for id_ in rates]
    large = [_between(line, _LARGE, math.inf) for line in rates.values()]
    texts = [
        f"{line.name} {ceiling_or_last(profile, device, id_, line) / 1e9:.0f}"
        for id_, line in rates.items()
    ]

    def draw(canvas: Canvas) -> Figure:
        font = canvas.font - 1
        figure, panels = canvas.figure(3.6, 2, right=canvas.room(texts, font) + 0.1)
        for axes, lines, names, scale, label in (
            (panels[0], small, [line.name for line in small], 1e-6, "µs per operation"),
            (panels[1], large, texts, 1e9, "GB/s of bus bandwidth"),
        ):
            drawn = [(line, name) for line, name in zip(lines, names, strict=True) if line.x]
            labels = plot_all(axes, [line for line, _ in drawn], [name for _, name in drawn], scale)
            axes.set_xscale("log", base=2)
            axes.set_ylim(bottom=0)
            if xs := all_x(lines):
                size_ticks(axes.xaxis, xs[0], xs[-1], 4)
            canvas.labels(axes, "bytes of the array", label)
            end_labels(axes, labels, font)
        return figure

    return Picture(
        "collectives",
        "Collectives: NCCL over all GPUs of the node",
        "Small operations cost a fixed time, whatever they move. Bus bandwidth is what each GPU "
        "has to send over the time, as nccl-tests counts it: hold it against a link's rate.",
        draw,
        ("collectives",),
    )


def _times(name: str, rows: list[Measurement]) -> Curve:
    points = sorted((size_of(m) or 0.0, m.summary.median_s) for m in rows if m.summary)
    return _between(Curve(name, *zip(*points, strict=True)), 0, _SMALL)


def _between(line: Curve, low: float, high: float) -> Curve:
    """The points of a line from `low` to `high`."""
    points = [(x, y) for x, y in zip(line.x, line.y, strict=True) if low <= x <= high]
    return Curve(line.name, tuple(x for x, _ in points), tuple(y for _, y in points))
