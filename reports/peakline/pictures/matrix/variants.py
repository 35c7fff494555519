"""Layouts, a cold cache, other FP8 formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from peakline import units
from peakline.names import format_name
from peakline.pictures.canvas import Canvas
from peakline.pictures.curves import plot_marks
from peakline.pictures.matrix.rows import format_of, formats_of, per_clock, shape_of
from peakline.pictures.picture import Picture
from peakline.pictures.style import LIMIT, precision_of
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LAYOUTS = ("TN", "NN", "NT", "TT")


def picture(profile: Profile, device: str) -> Picture | None:
    """Rates per clock, relative to the format's burst: layouts, cleared L2, other FP8 formats."""
    rows = [m for m in profile.of(device, "gemm") if m.id.count(".") == 1]
    bursts = {
        format_of(m): rate
        for m in rows
        if m.params.get("load") == "burst" and (rate := per_clock(m))
    }
    shares: dict[tuple[str, str], float] = {}  # by mark and format
    for m in rows:
        name = format_of(m)
        # The burst of FP8 is 100 % for its other encodings and accumulations.
        precision = precision_of(profile, name)
        base, rate = bursts.get(precision), per_clock(m)
        if not base or not rate:
            continue
        if m.params.get("layout") in _LAYOUTS:
            shares[str(m.params["layout"]), name] = rate / base
        elif m.params.get("l2") == "cleared":
            shares["L2 cleared", name] = rate / base
        elif m.params.get("load") == "burst" and precision != name:
            shares["burst", name] = rate / base
    marks = [mark for mark in (*_LAYOUTS, "L2 cleared", "burst") if mark in {m for m, _ in shares}]
    if len(shares) < 2:
        return None
    names = [name for name in formats_of(rows) if name in {n for _, n in shares}]

    sides = {format_of(m): shape_of(m) for m in rows if m.params.get("load") == "burst"}

    def draw(canvas: Canvas) -> Figure:
        labels = [format_name(name) for name in names]
        if not canvas.narrow:
            labels = [
                f"{label}  {sides.get(name, '')}" for label, name in zip(labels, names, strict=True)
            ]
        columns = 3 if canvas.narrow else len(marks)
        head = canvas.head(len(marks), columns)
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
            plot_marks(axes, points, i, fillstyle="none", markersize=6.5, label=mark)
        axes.axvline(100, zorder=1, **LIMIT)
        canvas.rows(axes, labels)
        canvas.legend_above(axes, columns)
        canvas.labels(axes, "% of the format's burst, per clock")
        return figure

    return Picture(
        "variants",
        "Layouts and FP8: matrix products by variant, and with a cold cache",
        "Each row is a format and the M × N × K of its best product; 100 % is its burst, the best "
        "shape and layout, and for the other FP8 formats that of FP8. Layouts are named as "
        "cuBLASLt does, column-major; with L2 cleared the operands come from device memory. FP8 "
        "accurate does not use fast accumulation.",
        draw,
        ("layouts", "cleared L2"),
        headline=_headline(shares),
    )


def _headline(shares: Mapping[tuple[str, str], float]) -> str:
    """The least of all marks but the other formats' bursts."""
    variants = {key: share for key, share in shares.items() if key[0] != "burst"}
    if not variants:
        return ""
    mark, name = min(variants, key=variants.__getitem__)
    where = "With a cold L2 cache" if mark == "L2 cleared" else f"In layout {mark}"
    return (
        f"{where} {format_name(name)} products keep {units.percent(variants[mark, name])} of "
        "their burst rate per clock"
    )
