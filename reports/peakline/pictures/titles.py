"""What marks, bars and lines say on hovering and on keyboard focus: name, value and unit."""

import re
import typing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from peakline import units
from peakline.text import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
else:  # describing a picture needs no matplotlib
    Artist = Axes = Figure = Line2D = Any

_PREFIX = "says-"
_ROWS: WeakKeyDictionary[Axes, Sequence[str]] = WeakKeyDictionary()


def says(artist: Artist, *texts: str) -> None:
    """Gives an artist its text, or each mark of a line its own."""
    artist.set_gid(_PREFIX + "\n".join(map(printable, texts)))


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Tells the names of a panel's rows, at 0, 1, 2 ..."""
    _ROWS[axes] = [" ".join(name.split()) for name in names]


def complete(figure: Figure) -> None:
    """Gives a text to every mark, bar and named line that has none, by its label and its axes."""
    for axes in figure.axes:
        for line in axes.get_lines():
            if line.get_gid() is None and (texts := _of_line(axes, line)):
                says(line, *texts)
        for bars in axes.containers:
            for bar in bars.patches if hasattr(bars, "patches") else ():
                if bar.get_gid() is None:
                    at = (bar.get_width(), bar.get_y() + bar.get_height() / 2)
                    says(bar, _of_point(axes, str(bars.get_label()), *at))


def _of_line(axes: Axes, line: Line2D) -> list[str]:
    label, data = str(line.get_label()), typing.cast(Any, line.get_xydata()).tolist()
    if line.get_marker() != "None":
        return [_of_point(axes, label, *at) for at in data]
    if label.startswith("_") or not data:
        return []
    for which, place in (("y", 1), ("x", 0)):
        values = {point[place] for point in data}
        if len(values) == 1 and (which == "x" or axes not in _ROWS):
            return [f"{label}: {_told(values.pop(), _unit(axes, which))}"]
    panel = " ".join(axes.get_title(loc="left").split())
    return [f"{panel}: {label}" if panel else label]


def _of_point(axes: Axes, label: str, x: float, y: float) -> str:
    name = "" if label.startswith(("_child", "_container")) else label.lstrip("_")
    rows, value = _ROWS.get(axes), _told(x, _unit(axes, "x"))
    if rows is not None and 0 <= round(y) < len(rows):
        return f"{', '.join(filter(None, (rows[round(y)], name)))}: {value}"
    return f"{name}: {_told(y, _unit(axes, 'y'))}, at {value}".removeprefix(": ")


def _unit(axes: Axes, which: str) -> str:
    text = axes.get_xlabel() if which == "x" else axes.get_title(loc="left") or axes.get_ylabel()
    return text.removesuffix(", log scale")


def _told(value: float, unit: str) -> str:
    number = f"{value:g}" if value == round(value) else units.number(value)
    return f"{number} {unit}".rstrip()


_SAYING = re.compile(rf'<g id="{_PREFIX}([^"]*)">')
_MARK = re.compile(r"<use [^>]*/>")
_OPEN = '<g tabindex="0" role="img"><title>'


def in_svg(svg: str) -> str:
    """The drawing with the texts as titles of elements that take the focus."""
    first, *others = _SAYING.split(svg)
    parts = [first]
    for text, rest in zip(others[::2], others[1::2], strict=True):
        texts = text.split("\n")
        own, border, more = rest.partition("<g id=")
        if len(texts) == 1:
            parts.append(f"{_OPEN}{texts[0]}</title>")
        elif len(marks := _MARK.split(own)) == len(texts) + 1:
            for said, mark in zip(texts, _MARK.findall(own), strict=True):
                marks[0] += f"{_OPEN}{said}</title>{mark}</g>{marks.pop(1)}"
            parts.append("<g>")
            own = marks[0]
        parts += [own, border, more]
    return "".join(parts)
