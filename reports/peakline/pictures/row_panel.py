"""Draws a declared panel of dots or bars in rows."""

from typing import Any

from peakline.pictures.canvas import Axes, Canvas, note
from peakline.pictures.curves import plot_marks
from peakline.pictures.scales import draw_ticks, reaching, set_scale
from peakline.pictures.shown import ShownPanel, said, told, written
from peakline.pictures.style import GRID, GROUND, INK, LIMIT, SERIES, format_look
from peakline.pictures.titles import says

_ROW_HEIGHT, _BAR_HEIGHT, _DOT_HEIGHT = 0.24, 0.17, 0.085

_MORE_ROOM = 1.06  # above the highest value, for its mark


def rows_height(shown: ShownPanel) -> float:
    """The height of a panel of rows below its legend, in inches."""
    height = _BAR_HEIGHT if shown.panel.kind == "bars" else _DOT_HEIGHT
    kinds = len(shown.series) if _told_apart(shown) else 1
    return max(_ROW_HEIGHT, height * kinds) * len(shown.rows) + 0.95


def head_of(canvas: Canvas, shown: ShownPanel) -> tuple[int, float]:
    """Columns and height (inches) of the legend above a panel of rows."""
    names = _legend_names(shown)
    if not names:
        return 0, 0.3 if shown.panel.heading else 0.12
    columns = min(canvas.columns(names), len(names))
    return columns, canvas.head(len(names), columns)


def _legend_names(shown: ShownPanel) -> list[str]:
    if not _told_apart(shown) or len(shown.series) < 2:
        return []
    return [kind.label for kind in shown.series] + [mark.label for mark in shown.marks]


def value_texts(shown: ShownPanel) -> list[str]:
    """What is printed beside the marks of a panel."""
    return [written(value, shown.panel.x) for mark in shown.series for value, _ in mark.points]


def with_values(shown: ShownPanel) -> bool:
    """Whether values are printed: for bars, and for single dots in a row."""
    return shown.panel.kind == "bars" or not _told_apart(shown)


def draw_rows(canvas: Canvas, axes: Axes, shown: ShownPanel) -> None:
    """Draws a panel of rows, its legend and its limits."""
    panel = shown.panel
    set_scale(axes, "x", panel.x)
    draw = _draw_bars if panel.kind == "bars" else _draw_dots
    ground: dict[str, Any] = {"bbox": GROUND} if shown.marks else {}
    for index, mark in enumerate(shown.series):
        points = draw(axes, shown, index)
        if with_values(shown):
            for (value, row), (raw, _) in zip(points, mark.points, strict=True):
                away = (6 if panel.kind == "dots" else 4, 0)
                text = written(raw, panel.x)
                note(axes, text, (value, row), away, fontsize=canvas.font - 1, **ground)
    for limit in shown.marks:
        if limit.value is not None:
            axes.axvline(limit.value / panel.x.per, zorder=1, label=limit.label, **LIMIT)
    canvas.rows(axes, list(shown.rows))
    _reach_rows(axes, shown)
    draw_ticks(axes, "x", panel.x, [], (), canvas)
    if panel.kind == "bars" or _told_apart(shown):
        axes.grid(axis="y", visible=False)
    if panel.kind == "dots" and _told_apart(shown):
        for row in range(1, len(shown.rows)):
            axes.axhline(row - 0.5, color=GRID, lw=0.7, zorder=0, label=f"_above row {row}")
    heading = panel.heading if not _legend_names(shown) else ""
    canvas.labels(axes, panel.x.label, heading)
    if columns := head_of(canvas, shown)[0]:
        canvas.legend_above(axes, columns)


def _told_apart(shown: ShownPanel) -> bool:
    """Whether a row has several kinds of marks, distinguished by colour."""
    return bool(shown.panel.over or shown.panel.by)


def _row_color(shown: ShownPanel, index: int) -> str:
    if shown.panel.over == "format":  # colours are for formats, which are the rows
        return INK
    group = index if _told_apart(shown) else shown.series[index].group
    return SERIES[group % len(SERIES)]


def _draw_bars(axes: Axes, shown: ShownPanel, index: int) -> list[tuple[float, float]]:
    """Draws one kind of bars, in its share of each row's height; returns their ends."""
    height = 0.8 / len(shown.series) if _told_apart(shown) else 0.55
    points = _places(shown, index)
    bars = axes.barh(
        [row for _, row in points],
        [value for value, _ in points],
        height=height * 0.92,
        color=_row_color(shown, index),
        label=shown.series[index].label,
    )
    for bar, text in zip(bars, _row_texts(shown, index), strict=True):
        says(bar, text)
    return points


def _row_texts(shown: ShownPanel, index: int) -> list[str]:
    """What each mark of a kind says."""
    kind = shown.series[index]
    name = kind.label if _told_apart(shown) else ""
    marks = [(shown.rows[int(row)], told(value, shown.panel.x)) for value, row in kind.points]
    return [said(row, name, value) for row, value in marks]


def _places(shown: ShownPanel, index: int) -> list[tuple[float, float]]:
    """The places of one kind of marks, on a level of its own so that equal values stay visible."""
    level = 0.8 / len(shown.series)
    points = []
    for value, row in shown.series[index].points:
        there = [i for i, kind in enumerate(shown.series) if any(r == row for _, r in kind.points)]
        shift = (there.index(index) - (len(there) - 1) / 2) * level if _told_apart(shown) else 0.0
        points.append((value / shown.panel.x.per, row + shift))
    return points


def _draw_dots(axes: Axes, shown: ShownPanel, index: int) -> list[tuple[float, float]]:
    points = _places(shown, index)
    kind = shown.series[index]
    look = {"label": kind.label, "markersize": 5, "color": _row_color(shown, index)}
    look |= format_look(kind.format)
    texts = _row_texts(shown, index)
    plot_marks(axes, points, index if _told_apart(shown) else 0, texts, **look)
    return points


def _reach_rows(axes: Axes, shown: ShownPanel) -> None:
    axis = shown.panel.x
    all_values = [value / axis.per for mark in shown.series for value, _ in mark.points]
    all_values += [mark.value / axis.per for mark in shown.marks if mark.value is not None]
    low, high = min(all_values), max(all_values)
    if axis.scale != "linear":
        low, high = low / 1.6, high * 1.6
    elif shown.panel.kind == "bars":
        low, high = min(0.0, low), high * _MORE_ROOM
    else:
        low, high = low - 0.12 * (high - low), high + 0.06 * (high - low)
    axes.set_xlim(reaching(axis, low, high))
