"""The ratios of a device's ceilings with their intervals, by `peakline compare`."""

from collections.abc import Mapping, Sequence
from typing import Any

from peakline import units
from peakline.limits.ceilings import ceiling_label
from peakline.names import plain_label
from peakline.pictures.canvas import Canvas, Figure
from peakline.pictures.curves import plot_marks
from peakline.pictures.picture import Picture
from peakline.pictures.style import FASTER, LIMIT, MUTED, SAVED, SERIES
from peakline.text import short

# Verdicts by severity: printed name, mark, fill and colour. Hollow marks are not verdicts.
VERDICTS: dict[str, tuple[str, str, str, str]] = {
    "slower": ("slower", "v", "full", SAVED),
    "unsteady": ("unsteady", "X", "full", SAVED),
    "faster": ("faster", "^", "full", FASTER),
    "within_model": ("as cards differ", "D", "full", SERIES[4]),
    "inconclusive": ("inconclusive", "o", "none", MUTED),
    "not_judged": ("not judged", "s", "none", MUTED),
    "same": ("equal", "o", "full", SERIES[0]),
}
_MOST_OF_A_NAME = 40  # characters


def verdict_name(verdict: str) -> str:
    """The printed name of a verdict: "as cards differ"."""
    return VERDICTS[verdict][0] if verdict in VERDICTS else verdict.replace("_", " ")


def ceiling_name(row: Mapping[str, Any]) -> str:
    """The printed name of a ceiling. Documents of older programs have no labels."""
    return str(row.get("label") or ceiling_label(plain_label(row["resource"]), row["basis"]))


def tally(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows by verdict: "7 as cards differ, 27 equal"."""
    found = [str(row["verdict"]) for row in rows]
    order = [*VERDICTS, *dict.fromkeys(found)]
    return ", ".join(
        f"{found.count(verdict)} {verdict_name(verdict)}"
        for verdict in dict.fromkeys(order)
        if verdict in found
    )


def ratios(device: Mapping[str, Any], threshold: float) -> Picture | None:
    """The ratios of a device's ceilings in the document; None without any."""
    rows = device["ceilings"]
    if not rows:
        return None
    names = [short(ceiling_name(row), _MOST_OF_A_NAME) for row in rows]
    kinds = [verdict for verdict in VERDICTS if any(row["verdict"] == verdict for row in rows)]
    legend = [verdict_name(verdict) for verdict in kinds]

    def draw(canvas: Canvas) -> Figure:
        texts = [units.change(row["ratio"] - 1) for row in rows]
        figure, axes = canvas.row_panel(names, 0.22, texts, legend)
        axes.axvspan(-threshold * 100, threshold * 100, color=MUTED, alpha=0.12, lw=0)
        axes.axvline(0, **LIMIT)
        for verdict in kinds:
            name, marker, fill, color = VERDICTS[verdict]
            at = [y for y, row in enumerate(rows) if row["verdict"] == verdict]
            for y in at:
                ends = [100 * (rows[y][key] - 1) for key in ("ratio_low", "ratio_high")]
                axes.plot(ends, [y, y], color=color, lw=1.4, label=f"_interval {y}")
            points = [(100 * (rows[y]["ratio"] - 1), y) for y in at]
            said = [f"{names[y]}: {units.change(rows[y]['ratio'] - 1)}, {name}" for y in at]
            look = {"marker": marker, "fillstyle": fill, "color": color, "markersize": 5.5}
            plot_marks(axes, points, 0, said, label=name, **look)
        canvas.legend_above(axes, canvas.columns(legend))
        canvas.labels(axes, "change from base, %")
        return figure

    return Picture(
        "ratios",
        "Ratios: new over base, ceiling by ceiling",
        "Each row is a ceiling, each line the interval of its ratio; right of the dashed line new "
        f"is faster. Changes within the grey band, of {threshold * 100:g} %, do not count. "
        "Verdicts are those of peakline compare, which also knows how cards of the model differ.",
        draw,
        headline=f"{len(rows)} ceilings: {tally(rows)}",
    )
