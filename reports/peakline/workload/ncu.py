"""Reads Nsight Compute's exports (`--csv --page raw`), and reports by NVIDIA's package."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peakline.text import shell_word, short
from peakline.workload.counters import Counters, is_amount, is_time, is_wanted
from peakline.workload.kernel import (
    Kernel,
    WorkloadError,
    check_count,
    merge,
    short_name,
    table_lines,
)
from peakline.workload.numbers import RANGE, has_decimal_comma, parse_number, unit_scale

NCU_COMMAND = (
    "ncu --set full --clock-control none --cache-control none --csv --page raw "
    "--log-file kernels.csv COMMAND"
)
RAW_PAGE = "ncu --import REPORT.ncu-rep --csv --page raw > kernels.csv"


def parse_ncu(text: str, name: str, cut: Sequence[str] = ()) -> list[Kernel]:
    """The kernels of an export, with their launches merged. cut: cells of the row in which the file
    ends. Raises WorkloadError."""
    return _kernels_of(_launches(text, name, cut), name)


def columns_of_ncu(header: Sequence[str]) -> int:
    """The columns of a whole row: ncu omits trailing ones of the details page."""
    if "Metric Value" in header:
        return 1 + max(header.index(column) for column in _FIXED if column in header)
    return len(header)


def _kernels_of(launches: Iterable[Launch], name: str) -> list[Kernel]:
    """The kernels of launches. Raises WorkloadError if there are none."""
    kernels: list[Kernel] = []
    for launch in launches:
        check_count(len(kernels), name)
        counters = Counters(launch.metrics, launch.capability)
        seconds = counters.seconds
        kernels.append(
            Kernel(
                short_name(launch.kernel),
                1,
                seconds,
                counters.flops,
                counters.bytes,
                counters.unknown,
                busy={name: share * (seconds or 0.0) for name, share in counters.busy.items()},
                summaries={n: share * (seconds or 0.0) for n, share in counters.summaries.items()},
                clock_hz=counters.clock_hz,
                shape=counters.shape,
                device=launch.device,
                capability=launch.capability,
            )
        )
    if not kernels:
        raise WorkloadError(
            f"{name}: an export of ncu without a kernel: collect with {NCU_COMMAND}"
        )
    if all(kernel.seconds is None for kernel in kernels):
        raise WorkloadError(
            f"{name}: no kernel has its duration, gpu__time_duration.sum: collect with "
            f"{NCU_COMMAND}"
        )
    return merge(kernels)


# Columns that each row of the details page has.
_FIXED = ("ID", "Kernel Name", "Metric Value")
_SHOWN_WITHIN = 100_000  # lines to search for a number that shows the locale
_ID = re.compile(r"\d+|\d{1,3}(?:,\d{3})+")
MODEL = "device__attribute_display_name"
NCU_REPORT = b"NVR\0"  # magic bytes
NCU_PACKED = ".ncu-repz"  # the suffix tells newer versions of NVIDIA's package to unpack it


@dataclass(slots=True)
class Launch:
    kernel: str
    capability: float | None  # compute capability
    device: str  # model
    metrics: dict[str, float | None]  # only wanted ones


def _launches(text: str, name: str, cut: Sequence[str]) -> Iterator[Launch]:
    """The launches of an export. Raises WorkloadError."""
    header: list[str] = []
    units: dict[str, str] = {}
    details: dict[tuple[str, str], Launch] = {}
    decimal_comma = _decimal_comma(text, name)
    for row in csv.reader(table_lines(text, name), strict=False):
        if "Kernel Name" in row and "ID" in row:
            _check_header(row, name)
            yield from details.values()
            header, units, details = row, {}, {}
        elif header and (cells := _cells(header, row, name)):
            identity = cells["ID"].strip()
            where = f"{name}: kernel {short(identity)}"
            if not identity and not units:
                units = cells
            elif not _ID.fullmatch(identity):
                raise WorkloadError(
                    f"{name}: a row of {short(cells['Kernel Name'])} has the ID "
                    f"{short(identity)!r} instead of a whole number"
                )
            elif "Metric Name" in cells:
                # --csv with --metrics, but without --page raw, has one metric per row.
                key = (identity, cells.get("Process ID", ""))
                if key not in details:
                    check_count(len(details), name)
                launch = Launch(cells["Kernel Name"], _capability(cells), "", {})
                launch = details.setdefault(key, launch)
                value, unit = (cells.get(f"Metric {part}", "") for part in ("Value", "Unit"))
                launch.metrics |= _wanted(
                    {cells["Metric Name"]: (value, unit)}, where, decimal_comma
                )
                if cells["Metric Name"] == MODEL:
                    launch.device = value.strip()
            else:
                found = {column: (cell, units.get(column, "")) for column, cell in cells.items()}
                metrics = _wanted(found, where, decimal_comma)
                model = cells.get(MODEL, "").strip()
                yield Launch(cells["Kernel Name"], _capability(cells), model, metrics)
    if details and cut:  # rows of the last launch are missing, unless the cut one begins another
        last = list(details)[-1]
        if len(cut) < 2 or cut[0] == last[0]:
            del details[last]
    if details and not any(launch.metrics for launch in details.values()):
        raise WorkloadError(
            f"{name}: ncu's details page, which lacks the counters: export the raw one with "
            f"{RAW_PAGE}"
        )
    yield from details.values()


def _check_header(header: list[str], name: str) -> None:
    """Raises WorkloadError for a duplicate of a column that is read."""
    for column in header:
        known = column in ("ID", "Kernel Name") or is_wanted(column.strip())
        if known and header.count(column) > 1:
            raise WorkloadError(f"{name}: the column {short(column)} appears twice: keep one")


def _cells(header: list[str], row: list[str], name: str) -> dict[str, str]:
    """A row by its columns; empty for an application's own output."""
    if columns_of_ncu(header) <= len(row) <= len(header):
        return dict(zip(header, row, strict=False))
    place = header.index("ID")
    identity = row[place].strip() if len(row) > place else ""
    # An application's output has few commas.
    if _ID.fullmatch(identity) or len(row) > len(header) // 2:
        raise WorkloadError(
            f"{name}: the row of kernel {short(identity) or '?'} has {len(row)} "
            f"columns instead of {len(header)}: the file is damaged"
        )
    return {}


def _decimal_comma(text: str, name: str) -> bool:
    """Whether a number shows that the file's locale has decimal commas."""
    header: list[str] = []
    lines = itertools.islice(table_lines(text, name), _SHOWN_WITHIN)
    for row in csv.reader(lines, strict=False):
        if "Kernel Name" in row and "ID" in row:
            header = row
        elif len(row) == len(header) and any(
            has_decimal_comma(cell)
            for column, cell in zip(header, row, strict=True)
            if column == "Metric Value" or is_wanted(column.strip())
        ):
            return True
    return False


def _wanted(
    cells: Mapping[str, tuple[str, str]], where: str, decimal_comma: bool
) -> dict[str, float | None]:
    return {
        metric.strip(): _number(metric.strip(), value, unit, where, decimal_comma)
        for metric, (value, unit) in cells.items()
        if is_wanted(metric.strip())
    }


def _capability(cells: Mapping[str, str]) -> float | None:
    text = cells.get("CC", "").strip()
    return float(text) if re.fullmatch(r"\d{1,3}\.\d", text) else None


def _number(metric: str, value: str, unit: str, where: str, decimal_comma: bool) -> float | None:
    """A metric in its base unit; None for "n/a". Raises WorkloadError."""
    try:
        number = parse_number(value, decimal_comma)
    except ValueError as error:
        raise WorkloadError(
            f"{where}: {metric} is {short(value)!r}, but must be {RANGE}"
        ) from error
    if number is None or not is_amount(metric):
        return number
    if is_time(metric) and not unit.strip():
        raise WorkloadError(
            f"{where}: {metric} has no unit: the row of units below the column names is missing: "
            f"export with {RAW_PAGE}"
        )
    if number < 0:
        raise WorkloadError(
            f"{where}: {metric} is {short(value)!r}, but a count cannot be negative"
        )
    try:
        return number * unit_scale(unit)
    except ValueError as error:
        raise WorkloadError(
            f"{where}: {metric} has the unknown unit {short(unit)!r}: export with "
            "--print-units base"
        ) from error


def read_ncu_report(path: str | os.PathLike[str]) -> list[Kernel]:
    """The kernels of a report of Nsight Compute. Raises WorkloadError."""
    name = os.fspath(path)
    if importlib.util.find_spec("ncu_report") is None:  # an extra, since it takes 50 MB
        command = RAW_PAGE.replace("REPORT.ncu-rep", shell_word(Path(name).name))
        raise WorkloadError(
            f"{name}: a report of ncu needs NVIDIA's package: pip install 'peakline[ncu]' (or "
            f"ncu-report); or export it with {command}"
        )
    return _kernels_of(_reported(name), name)


def _reported(name: str) -> Iterator[Launch]:
    """The launches in a report, read by a process of its own: NVIDIA's package may abort."""
    command = [sys.executable, "-m", "peakline.workload.ncu_process", name]
    paths = os.pathsep.join(filter(None, sys.path))
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env={**os.environ, "PYTHONPATH": paths},
        ) as process,
    ):
        for line in process.stdout or ():
            if line.endswith(b"\n"):  # else it ended there
                yield Launch(*json.loads(line))
        code = process.wait()
        said.seek(0)
        last = (said.read().decode("utf-8", "replace").splitlines() or [""])[-1]
    if code:
        why = last if code > 0 else signal.strsignal(-code)
        raise WorkloadError(
            f"{name}: not a report of ncu, or a damaged one: {short(why or 'no message', 200)}"
        )
