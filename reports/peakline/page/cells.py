"""Tables of typed cells, as `peakline show --json` has them; a cell becomes text as the program
prints it (tests/formats.json)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from peakline import units

NO_VALUE = "–"
# Outcomes that mark a figure, with their words and looks.
MARKED = {"fail": ("FAIL", "error"), "warn": ("WARN", "warning")}


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in its unit, or a text."""

    format: str = "text"
    text: str = ""
    value: float | None = None
    unit: str = ""
    mark: str = ""
    clock_hz: float | None = None
    suffix: str = ""
    missing: str = ""  # why there is no value


@dataclass(frozen=True, slots=True)
class Column:
    key: str
    head: str = ""
    is_text: bool = False
    bare: bool = False  # numbers without the unit
    attached: bool = False  # continues the column before it


@dataclass(frozen=True, slots=True)
class Row:
    """Cells by their columns' keys; without cells, a heading."""

    label: str
    cells: Mapping[str, Cell]
    remark: str = ""
    key: str = ""  # of a figure: "hbm.read/measured"
    outcome: str = ""  # of its rules, if they do not pass


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def value(amount: float | None, unit: str) -> Cell:
    return Cell("value", value=amount, unit=unit)


def _half_width(share: float) -> str:
    return f"±{units.percent(share)}" if share >= 0.0005 else "< 0.1 %"


def _fine_share(share: float) -> str:
    return f"{share * 100:.{2 if share < 0.1 else 0}f} %"  # tens of percent need no decimals


# By the number alone.
_FORMATS: Mapping[str, Callable[[float], str]] = {
    "share": units.percent,
    "change": units.change,
    "fine_share": _fine_share,
    "half_width": _half_width,
    "ratio": lambda number: f"{number:.3f}",
    "exact": lambda number: f"{number:g}",
}
_MARKED = {"computed": "({})", "at_least": "at least {}", "about": "about {}"}


def text_of(cell: Cell, column: Column) -> str:
    """A cell's text. Raises KeyError for a format of another version."""
    if cell.mark == "varies":
        return cell.mark
    if cell.format == "text":
        return cell.text
    if cell.value is None:
        return NO_VALUE
    text = _number(cell, cell.value, column) + cell.suffix
    if cell.clock_hz is not None:
        text += f" @{cell.clock_hz / 1e6:.0f}"
    return _MARKED.get(cell.mark, "{}").format(text)


def _number(cell: Cell, number: float, column: Column) -> str:
    if cell.format == "value":
        about = cell.mark == "about"
        if column.bare:
            return units.bare(number, cell.unit, rough=about)
        return (units.rough_rate if about else units.value)(number, cell.unit)
    if cell.format == "share" and column.bare:
        return f"{number * 100:.1f}"
    return _FORMATS[cell.format](number)


def read_table(document: Mapping[str, Any]) -> Table:
    """A table of the document. Raises KeyError, TypeError, AttributeError or ValueError if it is
    invalid."""
    columns = tuple(
        Column(
            str(column["key"]),
            str(column["head"]),
            *(column.get(name) is True for name in ("is_text", "bare", "attached")),
        )
        for column in document["columns"]
    )
    return Table(
        str(document["title"]),
        columns,
        tuple(map(_row, document["rows"])),
        tuple(map(str, document["notes"])),
    )


def _row(row: Mapping[str, Any]) -> Row:
    if "heading" in row:
        return Row(str(row["heading"]), {})
    cells = {str(key): read_cell(cell) for key, cell in row["cells"].items()}
    return Row(str(row["label"]), cells, str(row.get("remark", "")), str(row.get("key", "")))


def read_cell(cell: Mapping[str, Any]) -> Cell:
    def number(name: str) -> float | None:
        found = cell.get(name)
        return None if found is None else float(found)

    read = Cell(
        str(cell.get("format", "text")),
        str(cell.get("text", "")),
        number("value"),
        mark=str(cell.get("mark", "")),
        clock_hz=number("clock_hz"),
        **{name: str(cell.get(name, "")) for name in ("unit", "suffix", "missing")},
    )
    if read.format not in ("text", "value", *_FORMATS):
        raise ValueError(f"a format of another version: {read.format}")
    return read
