"""A file of kernels of any of the three kinds."""

from __future__ import annotations

import codecs
import csv
import dataclasses
import io
import itertools
import os
import re

from peakline.kernels.kernel import Kernel, KernelsError, table_lines
from peakline.kernels.ncu import NCU_COMMAND, RAW_PAGE, parse_ncu
from peakline.kernels.numbers import checked
from peakline.kernels.plain import parse_plain
from peakline.kernels.trace import parse_trace
from peakline.profile import printable, shown_path
from peakline.profile.inputs import Limit, opened

# A line of a CSV is one launch or metric, an event of a trace one of many around a launch: what is
# larger holds more than a table of kernels can show.
MAX_CSV_BYTES = 64 << 20
MAX_TRACE_BYTES = 512 << 20
# The page that ncu prints without --csv has such headings.
_PRINTED = re.compile(r"^ *Section: \S", re.MULTILINE)


def read(path: str | os.PathLike[str]) -> list[Kernel]:
    """The kernels of a file of any of the three kinds, gzipped or not. Raises KernelsError."""
    name = shown_path(path)
    try:
        with opened(path, _limit, KernelsError) as file:
            if _is_trace(file.peek()):
                return _checked(parse_trace(io.TextIOWrapper(file, "utf-8-sig"), name), name)
            text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if name.endswith(".ncu-rep"):
            raise KernelsError(f"{name}: a report of ncu: export it with {RAW_PAGE}") from error
        raise KernelsError(f"{name}: not UTF-8 text, so neither a CSV nor a trace") from error
    return parse(text, name)


def _is_trace(head: bytes) -> bool:
    return head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")


def _limit(head: bytes) -> Limit:
    if _is_trace(head):
        return Limit(MAX_TRACE_BYTES, "trace")
    return Limit(MAX_CSV_BYTES, "CSV of kernels")


def parse(text: str, name: str = "kernels") -> list[Kernel]:
    """As `read`, from the file's content."""
    try:
        kernels = _parsed(text, name)
    except csv.Error as error:
        raise KernelsError(f"{name}: not a CSV of kernels: {error}") from error
    return _checked(kernels, name)


def _checked(kernels: list[Kernel], name: str) -> list[Kernel]:
    """With names that a terminal may get. Raises KernelsError for a sum that is out of range."""
    kernels = [dataclasses.replace(kernel, name=printable(kernel.name)) for kernel in kernels]
    for kernel in kernels:
        for total in (kernel.seconds or 0.0, *kernel.flops.values(), *kernel.bytes.values()):
            try:
                checked(total)
            except ValueError as error:
                raise KernelsError(f"{name}: kernel {kernel.name[:80]!r}: {error}") from error
    return kernels


def _parsed(text: str, name: str) -> list[Kernel]:
    if _PRINTED.search(text):
        raise KernelsError(f"{name}: what ncu prints, not a CSV: export with {RAW_PAGE}")
    if text.lstrip()[:1] in ("{", "["):
        return parse_trace(io.StringIO(text), name)
    if "ERR_NVGPUCTRPERM" in text:
        raise KernelsError(
            f"{name}: ncu was not allowed to read the counters (ERR_NVGPUCTRPERM): run it as root, "
            "or ask for NVreg_RestrictProfilingToAdminUsers=0, or give a plain CSV of "
            "name,flop,bytes,seconds"
        )
    if not text.strip():
        raise KernelsError(f"{name}: an empty file: collect kernels with {NCU_COMMAND}")
    head = _head(text, name)
    of_ncu = "Kernel Name" in head
    for separator, called in ((";", "semicolons"), ("\t", "tabs")):
        if head.count(separator) > head.count(","):
            # Its numbers may have changed too: "1,234" can be 1234 or 1.234.
            remedy = f"export anew with {RAW_PAGE}" if of_ncu else "write commas"
            raise KernelsError(
                f"{name}: its columns stand between {called} instead of commas, as a spreadsheet "
                f"saves them: {remedy}"
            )
    if of_ncu:
        return parse_ncu(text, name)
    if re.search("^==[A-Z]+==", text, re.MULTILINE):
        raise KernelsError(
            f"{name}: ncu's messages, but no profiled kernel: collect with {NCU_COMMAND}"
        )
    return parse_plain(text, name)


def _head(text: str, name: str) -> str:
    """The line of the columns' names: the one of ncu's table, else the first."""
    lines = table_lines(text, name)
    first = next(lines, "")
    return next((line for line in itertools.chain([first], lines) if "Kernel Name" in line), first)
