"""Tables of amounts, for terminals and pages."""

from collections.abc import Callable
from dataclasses import dataclass

from peakline.workload.kernel_names import shortened

_NARROWEST = 24  # characters of a name


@dataclass(frozen=True, slots=True)
class Line:
    """A row; its name has two leading spaces per level of nesting."""

    name: str
    amounts: tuple[float | None, ...]  # None: no value
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    key: str  # for pages and tests
    title: str
    heads: tuple[str, ...]  # of the names' column, then of the amounts'
    shown: tuple[Callable[[float], str], ...]  # formatters of the columns
    lines: tuple[Line, ...]
    how: str  # one sentence on reading it


def printed(table: Table, width: int) -> list[str]:
    """The table as text with a trailing empty line; nothing without rows."""
    rows = [
        [show(amount) if amount is not None else "–" for show, amount in
         zip(table.shown, line.amounts, strict=True)]
        for line in table.lines
    ]  # fmt: skip
    if not rows:
        return []
    widths = [2 + max(map(len, column)) for column in zip(table.heads[1:], *rows, strict=True)]
    room = max(_NARROWEST, width - sum(widths))
    names = shortened((line.name for line in table.lines), room)
    found = [
        f"{name:{room}}"
        + "".join(f"{text:>{wide}}" for text, wide in zip(row, widths, strict=True))
        for name, row in zip(
            [table.heads[0], *(names[line.name] for line in table.lines)],
            [table.heads[1:], *rows],
            strict=True,
        )
    ]
    return [*found, ""]
