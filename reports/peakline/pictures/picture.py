"""A picture's description, and its ways into a figure, a file or a page."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peakline.pictures.canvas import Canvas
from peakline.pictures.style import CSS_VARIABLES, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class DrawingUnavailable(RuntimeError):
    """matplotlib is not installed."""


def require_matplotlib() -> None:
    """Raises DrawingUnavailable, which says what to install."""
    if importlib.util.find_spec("matplotlib") is None:
        raise DrawingUnavailable("drawing needs matplotlib: pip install matplotlib")


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture of one device: what it is called, what it says, and how to draw it."""

    key: str
    title: str
    how: str  # one sentence on how to read it
    draw: Callable[[Canvas], Figure]
    topics: tuple[str, ...] = ()  # of the profile's curves that it shows
    reading: str = ""  # what it says about this device


def render(picture: Picture, file_format: str, canvas: Canvas | None = None) -> bytes:
    """The picture as a file: "svg", "png" (150 dpi) or "pdf"."""
    with style():
        figure = picture.draw(canvas or Canvas())
        target = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format)
        figure.savefig(target, format=file_format, dpi=150, metadata=metadata)
    return target.getvalue()


def draw(picture: Picture, canvas: Canvas | None = None) -> Figure:
    """The matplotlib figure, for those who want to add to it."""
    with style():
        return picture.draw(canvas or Canvas())


_ID = re.compile(r'(\bid="|url\(#|xlink:href="#)')
_COLOR = re.compile("|".join(CSS_VARIABLES), re.IGNORECASE)


def inline_svg(picture: Picture, canvas: Canvas, prefix: str) -> str:
    """SVG to stand in an HTML page: scales with its column, takes the page's colours and font.

    prefix keeps its ids apart from those of the page's other pictures.
    """
    text = render(picture, "svg", canvas).decode("utf-8")
    text = text[text.index("<svg") :]
    head, _, body = text.partition(">")
    view_box = re.search(r'viewBox="[^"]*"', head)
    assert view_box is not None
    # Drops matplotlib's metadata and its style sheet, whose rules would apply to the whole page.
    body = body[body.index("</defs>") + len("</defs>") :]
    body = _ID.sub(lambda match: match.group(1) + prefix, body)
    body = _COLOR.sub(lambda match: f"var({CSS_VARIABLES[match.group(0).lower()]})", body)
    # The page's own font; matplotlib's metrics of DejaVu Sans leave room for any other.
    body = body.replace("'DejaVu Sans'", "var(--font)")
    return f'<svg {view_box.group(0)} aria-hidden="true" focusable="false">{body}'
