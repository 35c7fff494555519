"""Draws a declared panel of lines over a parameter."""

from typing import Any

from peakline.pictures.canvas import Axes, Canvas, EndLabel, end_labels, inches
from peakline.pictures.curves import mark_end, plot
from peakline.pictures.scales import draw_ticks, reaching, set_scale
from peakline.pictures.shown import ShownMark, ShownPanel, said, told, written
from peakline.pictures.style import DASHES, LIMIT, MARKERS, MUTED, format_look


def end_texts(shown: ShownPanel) -> list[str]:
    """What stands at the ends of lines and of level marks; empty with a legend."""
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


def draw_lines(canvas: Canvas, axes: Axes, shown: ShownPanel) -> None:
    """Draws a panel of lines with its marks and its legend, or names at the ends."""
    panel = shown.panel
    set_scale(axes, "x", panel.x)
    set_scale(axes, "y", panel.y)
    labels = _draw_series(axes, shown) + _draw_level_marks(axes, shown)
    axes.set_ylim(reaching(panel.y, *axes.get_ylim()))
    _draw_upright_marks(axes, canvas, shown)
    measured = sorted({x / panel.x.per for line in shown.series for x, _ in line.points})
    draw_ticks(axes, "x", panel.x, measured, shown.rows, canvas)
    draw_ticks(axes, "y", panel.y, [], (), canvas)
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
    texts = end_texts(shown)
    labels = []
    for index, line in enumerate(shown.series):
        points = [(x / x_axis.per, y / y_axis.per) for x, y in line.points]
        size = {"markersize": 3} if len(points) > 20 else {}
        titles = [said(line.label, told(y, y_axis), _place(x, shown)) for x, y in line.points]
        look = size | _line_look(shown, index)
        color = plot(axes, points, index, titles, label=line.label, **look)
        if texts and texts[index]:
            x, y = points[-1]
            labels.append(EndLabel(y, texts[index], color, x))
    return labels


def _place(x: float, shown: ShownPanel) -> str:
    """A place on the x axis of lines."""
    named = shown.panel.x.written == "name"
    return shown.rows[int(x)] if named else told(x, shown.panel.x)


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
