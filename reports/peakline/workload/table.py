"""Tables of amounts that a terminal prints and a page shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from peakline.workload.labels import shortened

_NARROWEST = 24  # characters of a name


@dataclass(frozen=True, slots=True)
class Line:
    """A row; its name begins with two spaces for each name that it is within."""

    name: str
    amounts: tuple[float | None, ...]  # None: there is none
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Lines with a name and an amount in each column."""

    key: str  # that pages and tests know it by
    title: str
    heads: tuple[str, ...]  # of the names, then of the amounts
    shown: tuple[Callable[[float], str], ...]  # how each column writes its amounts
    lines: tuple[Line, ...]
    how: str  # one sentence on how to read it


def printed(table: Table, width: int) -> list[str]:
    """The table as lines of text, and an empty one; none without any rows."""
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
