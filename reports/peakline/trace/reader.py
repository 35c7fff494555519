"""A file of a profiler's timeline, of either kind."""

from __future__ import annotations

import io
import os
from pathlib import Path

from peakline.profile import shown_path
from peakline.profile.inputs import Limit, opened
from peakline.trace.kineto import read_kineto
from peakline.trace.model import Trace, TraceError
from peakline.trace.nsight import read_nsight

# Columns of what is read of so much JSON take 1.5 GiB.
_MOST_JSON = Limit(4 << 30, "trace")
_SQLITE = b"SQLite format 3\0"


def read(path: str | os.PathLike[str]) -> Trace:
    """The trace in a file: of torch.profiler, gzipped or not, or an export of Nsight Systems.

    Raises TraceError.
    """
    name = shown_path(path)
    try:
        with opened(path, _MOST_JSON, TraceError) as file:
            head = file.peek()
            if not head.startswith(_SQLITE):
                return read_kineto(io.TextIOWrapper(file, "utf-8-sig"), name)
            if not _is_plain(path):
                raise TraceError(f"{name}: unpack it first: SQLite cannot be read while packed")
    except UnicodeDecodeError as error:
        what = "a report of Nsight Systems" if name.endswith((".nsys-rep", ".qdrep")) else ""
        if what:
            raise TraceError(
                f"{name}: {what}: export it with nsys export --type sqlite {Path(name).name}"
            ) from error
        raise TraceError(
            f"{name}: neither a torch.profiler trace nor an SQLite export of Nsight Systems"
        ) from error
    return read_nsight(path, name)


def _is_plain(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
