"""Rate and power by what the operands hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline.names import format_name
from peakline.pictures.canvas import Canvas
from peakline.pictures.curves import amount, plot_marks
from peakline.pictures.matrix.rows import format_of, formats_of, shape_of
from peakline.pictures.picture import Picture
from peakline.pictures.style import LIMIT, precision_color
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(profile: Profile, device: str) -> Picture | None:
    """Rate and power under load by what the operands hold."""
    rows = [m for m in profile.of(device, "gemm") if isinstance(m.params.get("data"), str)]
    kinds = list(dict.fromkeys(str(m.params["data"]) for m in rows))
    by_key = {(format_of(m), str(m.params["data"])): m for m in rows}
    names = [name for name in formats_of(rows) if (name, "normal") in by_key]
    shares = {
        (name, kind): amount(m) / amount(by_key[name, "normal"])
        for (name, kind), m in by_key.items()
        if name in names
    }
    powers = {key: power for key in shares if (power := by_key[key].conditions.power_w)}
    if len(shares) < 2:
        return None
    sides = _sides([by_key[name, "normal"] for name in names])
    gpu = profile.gpu(device)
    limit = gpu.power_limit_w if gpu else None

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
                plot_marks(
                    axes,
                    points,
                    i,
                    color=precision_color(profile, name),
                    markersize=7 if i % 2 else 5,
                    label=format_name(name),
                )
            if mark is not None:
                axes.axvline(mark, zorder=1, **LIMIT)
            canvas.rows(axes, titles)
            axes.margins(x=0.1)
            canvas.legend_above(axes, len(names), 1.5)
            canvas.labels(axes, heading)
        return figure

    return Picture(
        "data",
        "Operand data: what the bits cost",
        f"The same product{sides} under load on different operands; 100 % is normally distributed "
        "data, with which all ceilings are measured. Fewer bits that toggle take less power, and "
        "at the power limit that means a higher clock: rates on zeros or constants flatter the "
        "card.",
        draw,
        ("operand data",),
    )


def _sides(rows: Sequence[Measurement]) -> str:
    shapes = dict.fromkeys(shape for m in rows if (shape := shape_of(m)))
    return f" (M × N × K = {' or '.join(shapes)})" if shapes else ""
