"""A plain CSV of name, FLOP, bytes and seconds."""

import csv
import io
from collections.abc import Sequence

from peakline.profile import PeakError, normalize_dtype
from peakline.text import short
from peakline.workload.kernel import UNKNOWN_UNIT, Kernel, WorkloadError, check_count, merge
from peakline.workload.ncu import NCU_COMMAND
from peakline.workload.numbers import RANGE, parse_number

_PLAIN_NAMES = {
    "name": ("name", "kernel", "kernel name"),
    "flop": ("flop", "flops"),
    "bytes": ("bytes", "byte"),
    "seconds": ("seconds", "second", "s", "time", "time_s"),
    "precision": ("precision", "dtype"),
    "launches": ("launches", "calls", "count"),
}
_NUMBERS = ("flop", "bytes", "seconds", "launches")


_NEEDED = ("name", "flop", "bytes", "seconds")


def _columns(header: Sequence[str]) -> dict[str, int | None]:
    head = [cell.strip().lower() for cell in header]
    return {
        key: next((head.index(n) for n in names if n in head), None)
        for key, names in _PLAIN_NAMES.items()
    }


def columns_of_plain(header: Sequence[str]) -> int:
    """The columns of a whole row: further ones may be left out."""
    columns = _columns(header)
    return 1 + max(columns[key] or 0 for key in _NEEDED)


def parse_plain(text: str, name: str) -> list[Kernel]:
    rows = (row for row in csv.reader(io.StringIO(text, None)) if any(cell.strip() for cell in row))
    head = next(rows, [])
    columns = _columns(head)
    lacking = [key for key in _NEEDED if columns[key] is None]
    if lacking:
        raise WorkloadError(
            f"{name}: neither an ncu CSV nor a plain one: its first line lacks the column"
            f"{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}. Collect with {NCU_COMMAND}, "
            "or write name,flop,bytes,seconds (and precision,launches)"
        )
    kernels: list[Kernel] = []
    for line, row in enumerate(rows, start=2):
        check_count(len(kernels), name)
        if len(row) > len(head):
            raise WorkloadError(
                f"{name}: line {line}: has {len(row)} fields, but the header has {len(head)}"
            )
        cells = {
            key: row[column].strip() if column is not None and column < len(row) else ""
            for key, column in columns.items()
        }
        where = f"{name}: line {line}"
        values = {key: _value(cells[key], key, where) for key in _NUMBERS}
        launches, seconds = values["launches"], values["seconds"]
        if launches is not None and (launches < 1 or launches % 1):
            raise WorkloadError(
                f"{where}: launches is {short(cells['launches'])!r}, but must be a whole "
                "number from 1"
            )
        if not seconds:
            raise WorkloadError(f"{where}: seconds must be above 0")
        flop, moved = values["flop"], values["bytes"]
        kernels.append(
            Kernel(
                cells["name"] or f"line {line}",
                int(launches or 1),
                seconds,
                {_unit(cells["precision"], where): flop} if flop is not None else {},
                {"hbm": moved} if moved is not None else {},
                (*(["flops"] if flop is None else []), *(["hbm"] if moved is None else [])),
            )
        )
    if not kernels:
        raise WorkloadError(f"{name}: no kernels below the header")
    return merge(kernels)


def _value(text: str, key: str, where: str) -> float | None:
    try:
        value = parse_number(text)
    except ValueError as error:
        raise WorkloadError(f"{where}: {key} is {short(text)!r}, but must be {RANGE}") from error
    if (value or 0.0) < 0:
        raise WorkloadError(f"{where}: {key} must not be negative")
    return value


def _unit(precision: str, where: str) -> str:
    try:
        return normalize_dtype(precision) if precision else UNKNOWN_UNIT
    except PeakError as error:
        raise WorkloadError(f"{where}: {error}") from error
