"""A picture declared by the profile: the source of its numbers, and their presentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Values of a benchmark's measurements, or of its figures with one name."""

    id: str
    figure: str = ""
    where: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSeries:
    label: str  # with `each`, {} stands for the parameter's value
    numbers: Numbers
    each: str = ""  # a series for each value of this parameter
    group: int = 0  # without `over`, rows of one group share a colour


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    label: str
    per: float = 1.0  # values are shown as multiples of this
    written: Literal["number", "size", "time", "integer", "name"] = "number"
    scale: Literal["linear", "log2", "log10"] = "linear"
    low: float | None = None  # the axis reaches at least here, in units of `per`
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A line across a panel: at a ceiling, a figure, a number, or where both axes are equal."""

    label: str
    upright: bool = False
    diagonal: bool = False
    resource: str = ""
    basis: str = ""
    figure: Numbers | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPanel:
    kind: Literal["lines", "dots", "bars"]
    x: Axis
    y: Axis
    series: tuple[DeclaredSeries, ...]
    over: str = ""  # the parameter along the x axis of lines, or of the rows
    by: str = ""  # the parameter that distinguishes the marks of a row
    marks: tuple[Mark, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # of parameter values, in order
    naming: Literal["ends", "ends_with_value", "legend"] = "ends"
    heading: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPicture:
    key: str
    subject: str
    how: str
    panels: tuple[DeclaredPanel, ...]
