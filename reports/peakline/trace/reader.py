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
_MOST = Limit(4 << 30, "trace")
_SQLITE = b"SQLite format 3\0"


def read(path: str | os.PathLike[str]) -> Trace:
    """The trace in a file: of torch.profiler, gzipped or not, or an export of Nsight Systems.

    Raises TraceError.
    """
    name = shown_path(path)
    try:
        with opened(path, _MOST, TraceError) as file:
            head = file.peek()
            if not head.startswith(_SQLITE):
                return read_kineto(io.TextIOWrapper(file, "utf-8-sig"), name)
            if not _is_plain(path):
                raise TraceError(f"{name}: unpack it first: SQLite cannot be read while packed")
            if os.path.getsize(path) > _MOST.bytes:
                raise TraceError(f"{name}: {_MOST.too_large()}")
    except UnicodeDecodeError as error:
        if name.endswith((".nsys-rep", ".qdrep")):
            raise TraceError(
                f"{name}: a report of Nsight Systems: export it with nsys export --type sqlite "
                f"{Path(name).name}"
            ) from error
        raise TraceError(
            f"{name}: neither a torch.profiler trace nor an SQLite export of Nsight Systems"
        ) from error
    return read_nsight(path, name)


def _is_plain(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
