"""A file of kernels of any of the three kinds."""

from __future__ import annotations

import codecs
import csv
import os

from peakline.kernels.kernel import Kernel, KernelsError
from peakline.kernels.ncu import parse_ncu
from peakline.kernels.numbers import checked
from peakline.kernels.plain import parse_plain
from peakline.kernels.trace import parse_trace
from peakline.profile import shown_path

# A line of a CSV is one launch or metric, an event of a trace one of many around a launch: what is
# larger holds more than a table of kernels can show.
MAX_CSV_BYTES = 64 << 20
MAX_TRACE_BYTES = 512 << 20


def read(path: str | os.PathLike[str]) -> list[Kernel]:
    """The kernels of a file of any of the three kinds. Raises KernelsError."""
    name = shown_path(path)
    kind, most = "CSV", MAX_CSV_BYTES
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
            if data.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"["):
                kind, most = "trace", MAX_TRACE_BYTES
                data += file.read(most + 1 - len(data))
        if len(data) > most:
            raise KernelsError(
                f"{name}: larger than {most >> 20} MiB, the most that is read of a {kind}: "
                "profile fewer kernels"
            )
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise KernelsError(f"{name}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise KernelsError(f"{name}: not UTF-8 text, so neither a CSV nor a trace") from error
    return parse(text, name)


def parse(text: str, name: str = "kernels") -> list[Kernel]:
    """As `read`, from the file's content."""
    try:
        kernels = _parsed(text, name)
    except csv.Error as error:
        raise KernelsError(f"{name}: not a CSV of kernels: {error}") from error
    for kernel in kernels:
        for total in (kernel.seconds, *kernel.flops.values(), *kernel.bytes.values()):
            try:
                checked(total)
            except ValueError as error:
                raise KernelsError(f"{name}: kernel {kernel.name[:80]!r}: {error}") from error
    return kernels


def _parsed(text: str, name: str) -> list[Kernel]:
    if text.lstrip()[:1] in ("{", "["):
        return parse_trace(text, name)
    if "Kernel Name" in text and "__" in text:
        return parse_ncu(text, name)
    if "ERR_NVGPUCTRPERM" in text:
        raise KernelsError(
            f"{name}: ncu was not allowed to read the counters (ERR_NVGPUCTRPERM): run it as root, "
            "or ask for NVreg_RestrictProfilingToAdminUsers=0, or give a plain CSV of "
            "name,flop,bytes,seconds"
        )
    return parse_plain(text, name)
