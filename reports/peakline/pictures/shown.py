"""The numbers of a declared panel, as its picture shows and tells them."""

from dataclasses import dataclass

from peakline import units
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


def written(value: float, axis: Axis) -> str:
    """A value in its axis' format."""
    if axis.written == "size":
        return units.size(value)
    if axis.written == "time":
        return units.time(value)
    return units.number(value / axis.per)


def told(value: float, axis: Axis) -> str:
    """A value with its unit or name: "715 TFLOP/s", "footprint 64 MiB"."""
    text, (name, _, _) = written(value, axis), axis.label.partition(",")
    if axis.written == "number":
        return f"{text} {axis.label}"
    if axis.written == "integer":
        return f"{name} {value:g}" if value.is_integer() else f"{text} {axis.label}"
    return f"{name} {text}"


def said(*texts: str) -> str:
    """A title of a mark: "BF16: 715 TFLOP/s, footprint 64 MiB"."""
    first, *others = filter(None, texts)
    return f"{first}: {', '.join(others)}"
