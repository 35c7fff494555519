"""Draws panels that a profile declares beside each other."""

from collections.abc import Sequence

from peakline.pictures.canvas import Canvas, Figure
from peakline.pictures.line_panel import draw_lines, end_texts
from peakline.pictures.row_panel import draw_rows, head_of, rows_height, value_texts, with_values
from peakline.pictures.shown import ShownPanel

_LINES_HEIGHT, _LEFT = 3.4, 0.62


def draw_panels(canvas: Canvas, panels: Sequence[ShownPanel]) -> Figure:
    """Draws panels beside each other, or below each other where it is narrow."""
    rows = [panel for panel in panels if panel.panel.kind != "lines"]
    room = canvas.room((name for panel in rows for name in panel.rows), canvas.font - 0.5)
    texts = [text for panel in rows if with_values(panel) for text in value_texts(panel)]
    beside = canvas.room(texts, canvas.font - 1) if texts else 0.25
    lefts, rights, heads, heights = [], [], [], []
    for shown in panels:
        lines = shown.panel.kind == "lines"
        head = 0.34 if lines else head_of(canvas, shown)[1]
        lefts.append(_LEFT if lines else room)
        ends = canvas.room(end_texts(shown), canvas.font - 1) + 0.1 if end_texts(shown) else 0.2
        rights.append(ends if lines else beside)
        heads.append(head)
        heights.append(_LINES_HEIGHT if lines else rows_height(shown) + head)
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
        (draw_lines if shown.panel.kind == "lines" else draw_rows)(canvas, axes, shown)
    return figure
