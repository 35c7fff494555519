"""What the tests read from a drawn picture."""

from __future__ import annotations

import functools
import itertools
import math

import pytest
from conftest import figure_of
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from peakline.pictures import Canvas, Picture
from peakline.pictures.labels import Outline, outline, overlap

CANVASES = [Canvas(), Canvas(narrow=True)]
on_both_canvases = pytest.mark.parametrize("canvas", CANVASES, ids=["wide", "narrow"])


def lines(picture: Picture, canvas: Canvas | None = None) -> dict[str, list[tuple[float, float]]]:
    """The points of every labelled line, by label."""
    found: dict[str, list[tuple[float, float]]] = {}
    for axes in figure_of(picture, canvas).axes:
        for line in axes.get_lines():
            label = str(line.get_label())
            if not label.startswith("_"):
                x, y = (list(map(float, values)) for values in line.get_data())
                found.setdefault(label, []).extend(zip(x, y, strict=True))
    return found


def texts(picture: Picture, canvas: Canvas | None = None) -> list[str]:
    figure = figure_of(picture, canvas)
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    for axes in figure.axes:
        found += [axes.get_title(loc="left"), axes.get_xlabel()]
        found += [label.get_text() for label in axes.get_yticklabels()]
        legend = axes.get_legend()
        if legend is not None:
            found += [text.get_text() for text in legend.get_texts()]
    return [text for text in found if text]


def panel(picture: Picture, title: str) -> dict[str, list[tuple[float, float]]]:
    """The lines of the panel with this heading, by label."""
    (axes,) = [x for x in figure_of(picture).axes if x.get_title(loc="left") == title]
    return {
        str(line.get_label()): list(zip(*map(list, line.get_data()), strict=True))
        for line in axes.get_lines()
    }


@functools.cache
def written(figure: Figure) -> list[tuple[str, Outline]]:
    """Every text of a drawn figure with its outline in pixels."""
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    items: list[Text] = list(figure.texts)
    for axes in figure.axes:
        items += [*axes.texts, axes.xaxis.label, axes.yaxis.label]
        items += [title for title in (axes.title, axes._left_title) if title.get_text()]
        legend = axes.get_legend()
        items += legend.get_texts() if legend else []
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            items += [
                tick.label1
                for tick in axis.get_major_ticks()
                if low <= tick.get_loc() <= high and tick.label1.get_visible()
            ]
    return [(item.get_text(), outline(item)) for item in items if item.get_text().strip()]


def cut(figure: Figure) -> list[str]:
    """The texts that reach beyond the figure's edge."""
    page = figure.bbox
    return [
        text
        for text, corners in written(figure)
        if not all(-1 <= x <= page.x1 + 1 and -1 <= y <= page.y1 + 1 for x, y in corners)
    ]


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other by more than the slack of their line height."""
    return [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(written(figure), 2)
        if overlap(a, b, spare=2.0)
    ]


def crossed(figure: Figure) -> list[tuple[str, str]]:
    """The texts inside panels that lie on a line or a mark, with its label."""
    figure.draw_without_rendering()
    found = []
    for axes in figure.axes:
        point = figure.dpi / 72
        drawn: list[tuple[str, Outline]] = []
        for line in axes.get_lines():
            places = [(float(x), float(y)) for x, y in axes.transData.transform(line.get_xydata())]
            if line.get_linestyle() != "None":
                drawn += [(str(line.get_label()), ends) for ends in itertools.pairwise(places)]
            if line.get_marker() != "None":
                # This is the square inside a round mark.
                half = line.get_markersize() * point / 2 / math.sqrt(2)
                for x, y in places:
                    box = [(x - half, y - half), (x + half, y - half)]
                    box += [(x + half, y + half), (x - half, y + half)]
                    drawn.append((str(line.get_label()), box))
        for text in axes.texts:
            corners = outline(text)
            if all(axes.bbox.contains(*corner) for corner in corners):
                found += [(text.get_text(), label) for label, it in drawn if overlap(corners, it)]
    return found


def outside(figure: Figure) -> list[str]:
    """The labels of lines that have a marked point outside their axes."""
    return [
        str(line.get_label())
        for axes in figure.axes
        for line in axes.get_lines()
        if line.get_marker() != "None"
        and not all(
            axes.bbox.x0 - 1 <= x <= axes.bbox.x1 + 1 and axes.bbox.y0 - 1 <= y <= axes.bbox.y1 + 1
            for x, y in axes.transData.transform(line.get_xydata())
        )
    ]
