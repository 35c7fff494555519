"""Draws panels that a profile declares: lines over a parameter, dots or bars in rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peakline import units
from peakline.pictures.canvas import (
    FEWEST_TICKS,
    Axes,
    Canvas,
    EndLabel,
    Figure,
    end_labels,
    inches,
    note,
    plain_log_ticks,
    round_values,
    text_width,
)
from peakline.pictures.curves import integer_ticks, mark_end, plot, plot_marks, size_ticks
from peakline.pictures.style import (
    DASHES,
    GRID,
    GROUND,
    INK,
    LIMIT,
    MARKERS,
    MUTED,
    SERIES,
    format_look,
)
from peakline.pictures.titles import says
from peakline.profile.declared import Axis, DeclaredPanel


@dataclass(frozen=True, slots=True)
class Shown:
    """A line or a kind of mark: its name, sorted points or rows, its colour's index, and the
    format that it is of."""

    label: str
    points: tuple[tuple[float, float], ...]
    group: int = 0
    format: str = ""


@dataclass(frozen=True, slots=True)
class ShownMark:
    label: str
    value: float | None  # None: the diagonal
    upright: bool


@dataclass(frozen=True, slots=True)
class ShownPanel:
    """A panel with its numbers. rows: names of rows, or of places along the x axis."""

    panel: DeclaredPanel
    series: tuple[Shown, ...]
    marks: tuple[ShownMark, ...]
    rows: tuple[str, ...] = ()


_LINES_HEIGHT, _LEFT = 3.4, 0.62
_ROW_HEIGHT, _BAR_HEIGHT, _DOT_HEIGHT = 0.24, 0.17, 0.085
_MORE_ROOM = 1.06  # above the highest value, for its mark


def draw_panels(canvas: Canvas, panels: Sequence[ShownPanel]) -> Figure:
    rows = [panel for panel in panels if panel.panel.kind != "lines"]
    room = canvas.room((name for panel in rows for name in panel.rows), canvas.font - 0.5)
    texts = [text for panel in rows if _with_values(panel) for text in _value_texts(panel)]
    beside = canvas.room(texts, canvas.font - 1) if texts else 0.25
    lefts, rights, heads, heights = [], [], [], []
    for shown in panels:
        lines = shown.panel.kind == "lines"
        head = 0.34 if lines else _head(canvas, shown)[1]
        lefts.append(_LEFT if lines else room)
        ends = canvas.room(_end_texts(shown), canvas.font - 1) + 0.1 if _end_texts(shown) else 0.2
        rights.append(ends if lines else beside)
        heads.append(head)
        heights.append(_LINES_HEIGHT if lines else _rows_height(shown) + head)
    # Panels of one kind that stand below each other line up.
    alike = canvas.narrow and len(rows) in (0, len(panels))
    figure, all_axes = canvas.figure(
        max(heights),
        len(panels),
        left=max(lefts) if alike else lefts,
        right=max(rights) if alike else rights,
        top=max(heads),
    )
    for axes, shown in zip(all_axes, panels, strict=True):
        (_draw_line_panel if shown.panel.kind == "lines" else _draw_row_panel)(canvas, axes, shown)
    return figure


def written(value: float, axis: Axis) -> str:
    """A value in its axis' format."""
    if axis.written == "size":
        return units.size(value)
    if axis.written == "time":
        return units.time(value)
    return units.number(value / axis.per)


# --- Lines


def _end_texts(shown: ShownPanel) -> list[str]:
    if shown.panel.naming == "legend":
        return []
    texts = [line.label for line in shown.series]
    if shown.panel.naming == "ends_with_value":
        texts = [
            f"{line.label} {written(line.points[-1][1], shown.panel.y)}" if line.label else ""
            for line in shown.series
        ]
    return texts + [_mark_text(mark, shown) for mark in shown.marks if not mark.upright]


def _mark_text(mark: ShownMark, shown: ShownPanel) -> str:
    axis = shown.panel.x if mark.upright else shown.panel.y
    if mark.value is None or not (mark.upright or shown.panel.naming == "ends_with_value"):
        return mark.label
    if mark.upright and axis.written == "integer":
        return f"{mark.label}\n{axis.label.partition(',')[0]} = {written(mark.value, axis)}"
    return f"{mark.label}{chr(10) if mark.upright else ' '}{written(mark.value, axis)}"


def _draw_line_panel(canvas: Canvas, axes: Axes, shown: ShownPanel) -> None:
    panel = shown.panel
    _set_scale(axes, "x", panel.x)
    _set_scale(axes, "y", panel.y)
    labels = _draw_series(axes, shown) + _draw_level_marks(axes, shown)
    axes.set_ylim(_reaching(panel.y, *axes.get_ylim()))
    _draw_upright_marks(axes, canvas, shown)
    measured = sorted({x / panel.x.per for line in shown.series for x, _ in line.points})
    _ticks(axes, "x", panel.x, measured, shown.rows, canvas)
    _ticks(axes, "y", panel.y, [], (), canvas)
    canvas.labels(axes, panel.x.label, panel.heading or panel.y.label)
    if panel.naming == "legend":
        lying = [mark.label for mark in shown.marks if not mark.upright]
        names = [line.label for line in shown.series] + lying
        canvas.legend_of(axes, names, handlelength=2.8)
    elif labels:
        end_labels(axes, labels, canvas.font - 1)


def _draw_series(axes: Axes, shown: ShownPanel) -> list[EndLabel]:
    """Draws a panel's lines; returns labels for their ends."""
    x_axis, y_axis = shown.panel.x, shown.panel.y
    texts = _end_texts(shown)
    labels = []
    for index, line in enumerate(shown.series):
        points = [(x / x_axis.per, y / y_axis.per) for x, y in line.points]
        size = {"markersize": 3} if len(points) > 20 else {}
        said = [_said(line.label, _told(y, y_axis), _place(x, shown)) for x, y in line.points]
        look = size | _line_look(shown, index)
        color = plot(axes, points, index, said, label=line.label, **look)
        if texts and texts[index]:
            x, y = points[-1]
            labels.append(EndLabel(y, texts[index], color, x))
    return labels


def _told(value: float, axis: Axis) -> str:
    """A value with its unit or name: "715 TFLOP/s", "footprint 64 MiB"."""
    text, (name, _, _) = written(value, axis), axis.label.partition(",")
    if axis.written == "number":
        return f"{text} {axis.label}"
    if axis.written == "integer":
        return f"{name} {value:g}" if value.is_integer() else f"{text} {axis.label}"
    return f"{name} {text}"


def _place(x: float, shown: ShownPanel) -> str:
    """A place on the x axis of lines."""
    named = shown.panel.x.written == "name"
    return shown.rows[int(x)] if named else _told(x, shown.panel.x)


def _said(*texts: str) -> str:
    first, *others = filter(None, texts)
    return f"{first}: {', '.join(others)}"


def _line_look(shown: ShownPanel, index: int) -> dict[str, Any]:
    """The look of a format's line; of several, only the first is solid and has its mark."""
    name = shown.series[index].format
    before = [line.format for line in shown.series[:index]].count(name) if name else 0
    look = format_look(name)
    if look:
        look["linestyle"] = DASHES[before % len(DASHES)]
    if before:
        look |= {"marker": MARKERS[-before % len(MARKERS)], "fillstyle": "none", "lw": 1.2}
    return look


def _draw_level_marks(axes: Axes, shown: ShownPanel) -> list[EndLabel]:
    """Draws horizontal marks and the diagonal; returns labels for their ends."""
    x_axis, y_axis = shown.panel.x, shown.panel.y
    labels = []
    for mark in shown.marks:
        if mark.upright:
            continue
        end = mark.value
        if end is None:
            xs = [x for line in shown.series for x, _ in line.points]
            ends, end = (min(xs), max(xs)), max(xs)
            diagonal = [x / x_axis.per for x in ends], [x / y_axis.per for x in ends]
            axes.plot(*diagonal, label=mark.label, **LIMIT)
        else:
            axes.axhline(end / y_axis.per, label=mark.label, **LIMIT)
        labels.append(EndLabel(end / y_axis.per, _mark_text(mark, shown), MUTED))
    return labels


def _draw_upright_marks(axes: Axes, canvas: Canvas, shown: ShownPanel) -> None:
    """Draws vertical marks, with names above the lines."""
    marks = sorted(
        (mark.value, _mark_text(mark, shown))
        for mark in shown.marks
        if mark.upright and mark.value is not None
    )
    if not marks:
        return
    # Room for the names above everything that is drawn.
    lines = max(text.count("\n") + 1 for _, text in marks)
    room = (1.3 * lines * (canvas.font - 1) + 4) / 72 / inches(axes)[1]
    more = room / (1 - room)
    low, high = axes.get_ylim()
    log = axes.get_yscale() == "log"
    axes.set_ylim(low, high * (high / low) ** more if log else high + more * (high - low))
    for place, (value, text) in enumerate(marks):
        last = place == len(marks) - 1 and place > 0
        side = "left" if last else "right"
        mark_end(axes, canvas, text, value / shown.panel.x.per, side)


def _set_scale(axes: Axes, which: str, axis: Axis) -> None:
    setter: Any = axes.set_xscale if which == "x" else axes.set_yscale
    if axis.scale != "linear":
        setter("log", base=2 if axis.scale == "log2" else 10)


def _reaching(axis: Axis, low: float, high: float) -> tuple[float, float]:
    """Limits of an axis that reach as far as it is declared to."""
    if axis.low is not None:
        low = min(low, axis.low) if axis.scale != "linear" else axis.low
    return low, high if axis.high is None else max(high, axis.high)


_APART = 5  # points between two labels of an axis


def _ticks(
    axes: Axes,
    which: str,
    axis: Axis,
    measured: Sequence[float],
    categories: Sequence[str],
    canvas: Canvas,
) -> None:
    of: Any = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    at_most = 4 if canvas.narrow else 6
    if which == "x" and axis.written == "size":
        widest = text_width("128 KiB", canvas.font - 0.5) + _APART
        at_most = max(FEWEST_TICKS, min(at_most, int(72 * inches(axes)[0] / widest)))
    if axis.written == "name":
        of.set_ticks(range(len(categories)), labels=list(categories))
    elif axis.scale == "linear":
        if axis.written == "time":
            values = [v for v in of.get_majorticklocs() if low <= v <= high]
            of.set_ticks(values, labels=[_time_tick(v) for v in values])
    elif axis.written == "size":
        sizes = [(x, units.size(x)) for x in measured]
        if sizes and len(sizes) <= at_most and _fitting(axes, canvas, sizes) == sizes:
            plain_log_ticks(of, list(measured), [text for _, text in sizes])
        else:
            size_ticks(of, *((measured[0], measured[-1]) if measured else (low, high)), at_most)
    elif axis.written == "integer" and axis.scale == "log2":
        shown = list(measured) or [2.0**e for e in range(-8, 40) if low <= 2.0**e <= high]
        powers = [x for x in shown if x > 0 and math.log2(x).is_integer()]
        integer_ticks(of, powers or shown, at_most + 2)
    else:
        values = round_values(low, high, at_most)
        write = _time_tick if axis.written == "time" else "{:g}".format
        plain_log_ticks(of, values, [write(v) for v in values])
    if which == "x":
        _thin(axes, canvas)


def _time_tick(seconds: float) -> str:
    """A time without trailing zeros: "10 ns"."""
    if seconds == 0:
        return "0"
    scale, unit = units.time_unit(seconds)
    return f"{float(units.number(seconds / scale)):g} {unit}"


def _fitting(
    axes: Axes, canvas: Canvas, ticks: Sequence[tuple[float, str]]
) -> list[tuple[float, str]]:
    """The ticks of the x axis whose labels do not meet the one before."""
    at, room = axes.transData + axes.transAxes.inverted(), 72 * inches(axes)[0]
    chosen, end = [], -math.inf
    for place, text in ticks:
        x = room * float(at.transform((place, 0.0))[0])
        half = text_width(text, canvas.font - 0.5) / 2
        if x - half >= end + _APART:
            chosen.append((place, text))
            end = x + half
    return chosen


def _thin(axes: Axes, canvas: Canvas) -> None:
    """Drops labels of the x axis, at equal distances if three are left, until the rest fit."""
    room = 72 * inches(axes)[0]
    low, high = sorted(axes.get_xlim())
    ticks = [
        (place, text.get_text())
        for place, text in zip(axes.get_xticks(), axes.get_xticklabels(), strict=False)
        if low <= place <= high and text.get_text()
    ]
    widest = max((text_width(text, canvas.font - 0.5) for _, text in ticks), default=0.0) + _APART
    step = 1
    while len(ticks[::step]) > 1 and len(ticks[::step]) * widest > room:
        step += 1
    chosen = ticks[::step]
    if len(chosen) < FEWEST_TICKS:
        chosen = ticks
    chosen = _fitting(axes, canvas, chosen)
    if chosen == ticks:
        return
    axes.set_xticks([place for place, _ in chosen], [text for _, text in chosen])
    axes.minorticks_off()


# --- Rows


def _rows_height(shown: ShownPanel) -> float:
    height = _BAR_HEIGHT if shown.panel.kind == "bars" else _DOT_HEIGHT
    kinds = len(shown.series) if _told_apart(shown) else 1
    return max(_ROW_HEIGHT, height * kinds) * len(shown.rows) + 0.95


def _head(canvas: Canvas, shown: ShownPanel) -> tuple[int, float]:
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


def _value_texts(shown: ShownPanel) -> list[str]:
    return [written(value, shown.panel.x) for mark in shown.series for value, _ in mark.points]


def _with_values(shown: ShownPanel) -> bool:
    """Whether values are printed: for bars, and for single dots in a row."""
    return shown.panel.kind == "bars" or not _told_apart(shown)


def _draw_row_panel(canvas: Canvas, axes: Axes, shown: ShownPanel) -> None:
    panel = shown.panel
    _set_scale(axes, "x", panel.x)
    draw = _draw_bars if panel.kind == "bars" else _draw_dots
    ground: dict[str, Any] = {"bbox": GROUND} if shown.marks else {}
    for index, mark in enumerate(shown.series):
        points = draw(axes, shown, index)
        if _with_values(shown):
            for (value, row), (raw, _) in zip(points, mark.points, strict=True):
                away = (6 if panel.kind == "dots" else 4, 0)
                text = written(raw, panel.x)
                note(axes, text, (value, row), away, fontsize=canvas.font - 1, **ground)
    for limit in shown.marks:
        if limit.value is not None:
            axes.axvline(limit.value / panel.x.per, zorder=1, label=limit.label, **LIMIT)
    canvas.rows(axes, list(shown.rows))
    _reach_rows(axes, shown)
    _ticks(axes, "x", panel.x, [], (), canvas)
    if panel.kind == "bars" or _told_apart(shown):
        axes.grid(axis="y", visible=False)
    if panel.kind == "dots" and _told_apart(shown):
        for row in range(1, len(shown.rows)):
            axes.axhline(row - 0.5, color=GRID, lw=0.7, zorder=0, label=f"_above row {row}")
    heading = panel.heading if not _legend_names(shown) else ""
    canvas.labels(axes, panel.x.label, heading)
    if columns := _head(canvas, shown)[0]:
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
    told = [(shown.rows[int(row)], _told(value, shown.panel.x)) for value, row in kind.points]
    return [_said(row, name, value) for row, value in told]


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
    axes.set_xlim(_reaching(axis, low, high))
