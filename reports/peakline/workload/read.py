"""Reads profilers' files, whose content decides the kind."""

import codecs
import csv
import dataclasses
import io
import itertools
import os
import re
from pathlib import Path

from peakline.profile.untrusted import Limit, opened, require_regular
from peakline.workload.bounds import kernels_of
from peakline.workload.integrity import doubt
from peakline.workload.kernel import Kernel, WorkloadError, table_lines, whole_rows
from peakline.workload.kineto import read_kineto
from peakline.workload.model import Trace, TraceFinding
from peakline.workload.ncu import (
    NCU_COMMAND,
    NCU_PACKED,
    NCU_REPORT,
    RAW_PAGE,
    columns_of_ncu,
    parse_ncu,
    read_ncu_report,
)
from peakline.workload.nsight import NSYS_SUFFIXES, read_nsight, read_nsys_report
from peakline.workload.numbers import checked
from peakline.workload.plain import columns_of_plain, parse_plain
from peakline.workload.timeline import timelines

# A CSV line is one launch or metric; larger files exceed what a table can show.
MAX_CSV_BYTES = 64 << 20
# The columns of 4 GiB of JSON take 1.5 GiB.
MAX_TRACE_BYTES = 4 << 30
_SQLITE = b"SQLite format 3\0"
_ZSTD = b"\x28\xb5\x2f\xfd"  # of packed reports of ncu
# Heading of the page that ncu prints without --csv.
_PRINTED = re.compile(r"^ *Section: \S", re.MULTILINE)


def read(path: str | os.PathLike[str]) -> Trace | list[Kernel]:
    """A profiler's recording in a file, plain or gzipped.

    A trace of torch.profiler and a report of Nsight Systems or its SQLite export give a Trace; a
    report of Nsight Compute, its export and a plain CSV give kernels. Raises WorkloadError.
    """
    name = os.fspath(path)
    try:
        with opened(path, _limit, WorkloadError) as file:
            head = file.peek()
            if _is_json(head):
                file.raw.whole = False
                trace = read_kineto(io.TextIOWrapper(file, "utf-8-sig", "replace"), name)
                if why := file.raw.broken:
                    text = f"The file is a broken gzip file: {why.rstrip('.')}."
                    trace.findings.append(TraceFinding("broken_gzip", "warning", text))
                return doubt(trace)
            packed = str(path).endswith(NCU_PACKED)
            known = packed or head.startswith((_SQLITE, NCU_REPORT))
            if not known and not str(path).endswith(NSYS_SUFFIXES):
                file.raw.whole = False
                data, broken = file.read(), file.raw.broken
                if broken and not (file.raw.cut and data.strip()):
                    raise WorkloadError(f"{name}: a broken gzip file: {broken}")
                text = codecs.getincrementaldecoder("utf-8-sig")().decode(data, not broken)
                return _kernels_of_table(text, name, broken)
            require_regular(Path(path), WorkloadError)  # the tools read it again
            with open(path, "rb") as plain:
                if plain.read(len(NCU_REPORT)) != head[: len(NCU_REPORT)]:
                    raise WorkloadError(f"{name}: unpack it first: it cannot be read while packed")
            limit = _limit(head)
            if known and os.path.getsize(path) > limit.bytes:
                raise WorkloadError(f"{name}: {limit.too_large()}")
    except UnicodeDecodeError as error:
        what = "not UTF-8 text, so neither a CSV nor a trace"
        raise WorkloadError(f"{name}: {what}") from error
    if packed or head.startswith(NCU_REPORT):
        return read_ncu_report(path)
    return doubt(read_nsight(path, name) if head.startswith(_SQLITE) else read_nsys_report(path))


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """As `read`, for files with a timeline. Raises WorkloadError."""
    found = read(path)
    if isinstance(found, Trace):
        return found
    raise WorkloadError(
        f"{os.fspath(path)}: neither a torch.profiler trace nor a report of Nsight "
        "Systems, but a table of kernels: use --kernels"
    )


def read_kernels(path: str | os.PathLike[str]) -> list[Kernel]:
    """The kernels of any readable file. Raises WorkloadError."""
    return _kernels(read(path), os.fspath(path))


def _is_json(head: bytes) -> bool:
    """Whether this begins a JSON trace; ncu's printed page may begin with a bracket, too."""
    begins = head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")
    return begins and not _PRINTED.search(head.decode("utf-8", "replace"))


def _limit(head: bytes) -> Limit:
    if _is_json(head) or head.startswith((_SQLITE, NCU_REPORT, _ZSTD)):
        return Limit(MAX_TRACE_BYTES, "trace")
    return Limit(MAX_CSV_BYTES, "CSV of kernels")


def _kernels(found: Trace | list[Kernel], name: str) -> list[Kernel]:
    """Raises WorkloadError for a sum that is out of range."""
    if isinstance(found, Trace):
        notes = tuple(f.text for f in found.findings if f.severity == "warning")
        found = [
            dataclasses.replace(kernel, notes=notes)
            for kernel in kernels_of(timelines(found), name)
        ]
    for kernel in found:
        for total in (kernel.seconds or 0.0, *kernel.flops.values(), *kernel.bytes.values()):
            try:
                checked(total)
            except ValueError as error:
                raise WorkloadError(f"{name}: kernel {kernel.name[:80]!r}: {error}") from error
    return found


def _kernels_of_table(text: str, name: str, broken: str = "") -> list[Kernel]:
    """broken: why the rest of a gzip file cannot be read."""
    if _PRINTED.search(text):
        raise WorkloadError(f"{name}: what ncu prints, not a CSV: export with {RAW_PAGE}")
    if "ERR_NVGPUCTRPERM" in text:
        raise WorkloadError(
            f"{name}: ncu was not allowed to read the counters (ERR_NVGPUCTRPERM): run it as root, "
            "or ask for NVreg_RestrictProfilingToAdminUsers=0, or give a plain CSV of "
            "name,flop,bytes,seconds"
        )
    if not text.strip():
        raise WorkloadError(f"{name}: an empty file: collect kernels with {NCU_COMMAND}")
    head = _head(text, name)
    of_ncu = "Kernel Name" in head
    for separator, called in ((";", "semicolons"), ("\t", "tabs")):
        if head.count(separator) > head.count(","):
            # The spreadsheet may have changed numbers, too: "1,234" can be 1234 or 1.234.
            remedy = f"export anew with {RAW_PAGE}" if of_ncu else "write commas"
            raise WorkloadError(
                f"{name}: its columns stand between {called} instead of commas, as a spreadsheet "
                f"saves them: {remedy}"
            )
    if not of_ncu and re.search("^==[A-Z]+==", text, re.MULTILINE):
        raise WorkloadError(
            f"{name}: ncu's messages, but no profiled kernel: collect with {NCU_COMMAND}"
        )
    header = next(csv.reader([head]), [])
    needed = columns_of_ncu(header) if of_ncu else columns_of_plain(header)
    try:
        text, cut = whole_rows(text, needed, '"' if of_ncu and head.startswith('"') else "")
        rows = text[text.find(head) + len(head) :].split("\n")
        if cut and len(rows) <= (2 if of_ncu and needed == len(header) else 1):  # one is of units
            raise WorkloadError(f"{name}: cut off within its first row: copy or export it again")
        kernels = parse_ncu(text, name, cut) if of_ncu else parse_plain(text, name)
    except csv.Error as error:
        raise WorkloadError(f"{name}: not a CSV of kernels: {error}") from error
    if not cut and not broken:
        return kernels
    lines = 1 + text.count("\n")
    notes = [f"The file is a broken gzip file: {broken.rstrip('.')}."] if broken else []
    if cut:
        notes.append(f"The file is cut off within line {lines}, which is left out.")
    return [dataclasses.replace(kernel, notes=tuple(notes)) for kernel in kernels]


def _head(text: str, name: str) -> str:
    """The header: ncu's, else the first line."""
    lines = table_lines(text, name)
    first = next(lines, "")
    return next((line for line in itertools.chain([first], lines) if "Kernel Name" in line), first)
