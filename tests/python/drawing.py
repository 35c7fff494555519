"""What the tests read from a drawn picture."""

from __future__ import annotations

from conftest import figure_of
from peakline.pictures import Canvas, Picture


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


def panel_by_xlabel(picture: Picture, label: str) -> dict[str, list[tuple[float, float]]]:
    (axes,) = [x for x in figure_of(picture).axes if x.get_xlabel() == label]
    return {
        str(line.get_label()): list(zip(*map(list, line.get_data()), strict=True))
        for line in axes.get_lines()
    }
