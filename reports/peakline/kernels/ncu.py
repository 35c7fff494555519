"""Exports of Nsight Compute: `ncu --csv --page raw`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping

from peakline.kernels.counters import Counters, is_amount, is_time, is_wanted
from peakline.kernels.kernel import Kernel, KernelsError, merge, short_name
from peakline.kernels.numbers import RANGE, parse_number, unit_scale
from peakline.profile import shown_text

NCU_COMMAND = (
    "ncu --set full --clock-control none --cache-control none --csv --page raw "
    "--log-file kernels.csv COMMAND"
)
RAW_PAGE = "ncu --import REPORT.ncu-rep --csv --page raw > kernels.csv"


def parse_ncu(text: str, name: str) -> list[Kernel]:
    kernels = []
    for kernel, capability, metrics in _launches(text, name):
        counters = Counters(metrics, capability)
        kernels.append(
            Kernel(
                short_name(kernel),
                1,
                counters.seconds,
                counters.flops,
                counters.bytes,
                counters.unknown,
                tensor_seconds=counters.tensor_seconds,
            )
        )
    if not kernels:
        raise KernelsError(f"{name}: an ncu export without a kernel: collect with {NCU_COMMAND}")
    if all(kernel.seconds is None for kernel in kernels):
        raise KernelsError(
            f"{name}: no kernel has its duration, gpu__time_duration.sum: collect with "
            f"{NCU_COMMAND}"
        )
    return merge(kernels)


_ID = re.compile(r"\d+|\d{1,3}(?:,\d{3})+")
_Launch = tuple[str, float | None, dict[str, float | None]]


def _launches(text: str, name: str) -> Iterator[_Launch]:
    """Each launch's kernel, its device's compute capability, and its wanted metrics."""
    # Applications print between ncu's own lines; neither belongs to the table.
    lines = [line for line in io.StringIO(text, None) if line.strip() and not line.startswith("==")]
    header: list[str] | None = None
    units: dict[str, str] = {}
    details: dict[tuple[str, str], _Launch] = {}
    for row in csv.reader(lines, strict=False):
        if "Kernel Name" in row and "ID" in row:
            yield from details.values()
            header, units, details = row, {}, {}
            for column in header:
                known = column in ("ID", "Kernel Name") or is_wanted(column.strip())
                if known and header.count(column) > 1:
                    raise KernelsError(f"{name}: the column {column} appears twice: keep one")
            continue
        if header is None:
            continue
        identity = row[header.index("ID")].strip() if len(row) > header.index("ID") else ""
        # ncu leaves columns out at the end of a row of the details page.
        needed = header.index("Metric Value") + 1 if "Metric Value" in header else len(header)
        launch_id = _ID.fullmatch(identity)
        if len(row) < needed or len(row) > len(header):
            # What an application prints has few commas.
            if launch_id or len(row) > len(header) // 2:
                raise KernelsError(
                    f"{name}: the row of kernel {shown_text(identity) or '?'} has {len(row)} "
                    f"columns instead of {len(header)}: the file is truncated"
                )
            continue
        cells = dict(zip(header, row, strict=False))
        if not identity and not units:
            units = cells
        elif not launch_id:
            raise KernelsError(
                f"{name}: a row of {shown_text(cells['Kernel Name'])} has the ID "
                f"{shown_text(identity)!r} instead of a whole number"
            )
        elif "Metric Name" in cells:
            # A row a metric: what --csv gives of --metrics without --page raw.
            key = (identity, cells.get("Process ID", ""))
            launch: _Launch = (cells["Kernel Name"], _capability(cells), {})
            *_, metrics = details.setdefault(key, launch)
            metric = cells["Metric Name"].strip()
            value, unit = cells.get("Metric Value", ""), cells.get("Metric Unit", "")
            if is_wanted(metric):
                metrics[metric] = _number(metric, value, unit, f"{name}: kernel {identity}")
        else:
            yield (
                cells["Kernel Name"],
                _capability(cells),
                {
                    column.strip(): _number(
                        column.strip(), value, units.get(column, ""), f"{name}: kernel {identity}"
                    )
                    for column, value in cells.items()
                    if is_wanted(column.strip())
                },
            )
    if details and not any(metrics for *_, metrics in details.values()):
        raise KernelsError(
            f"{name}: ncu's details page, which lacks the counters: export the raw one with "
            f"{RAW_PAGE}"
        )
    yield from details.values()


def _capability(cells: Mapping[str, str]) -> float | None:
    text = cells.get("CC", "").strip()
    return float(text) if re.fullmatch(r"\d{1,3}\.\d", text) else None


def _number(metric: str, value: str, unit: str, where: str) -> float | None:
    try:
        number = parse_number(value)
    except ValueError as error:
        raise KernelsError(f"{where}: {metric} is {value!r}, but must be {RANGE}") from error
    if number is None or not is_amount(metric):
        return number
    if is_time(metric) and not unit.strip():
        raise KernelsError(
            f"{where}: {metric} has no unit: the row of units below the column names is missing: "
            f"export with {RAW_PAGE}"
        )
    if number < 0:
        raise KernelsError(f"{where}: {metric} is {value!r}, but a count cannot be negative")
    try:
        return number * unit_scale(unit)
    except ValueError as error:
        raise KernelsError(
            f"{where}: {metric} has the unknown unit {unit!r}: export with --print-units base"
        ) from error
