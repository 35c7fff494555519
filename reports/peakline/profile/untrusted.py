"""Opens untrusted files: unpacks gzip and limits the size."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GZIP = b"\x1f\x8b"
_HEAD = 1 << 16
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True)
class Limit:
    """The most bytes, unpacked, that are read of a kind of file."""

    bytes: int
    kind: str

    def too_large(self) -> str:
        return f"larger than {self.bytes >> 20} MiB, the most that is read of a {self.kind}"


class _TooLarge(Exception):
    pass


class _Bounded(io.RawIOBase):
    """A stream that fails after `left` bytes, since a few packed bytes may unpack to gigabytes.

    whole: whether a broken gzip file fails, too, rather than end where it is `broken`.
    """

    def __init__(self, file: io.BufferedIOBase) -> None:
        self.left = _HEAD
        self.whole = True
        self.broken = ""
        self.cut = False  # broken only by where it ends, so that all before that is as it was
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            count = self._file.readinto1(buffer)  # a longer read loses what precedes an error
        except _BROKEN as reason:
            if self.whole:
                raise
            self.broken, self.cut, count = str(reason), isinstance(reason, EOFError), 0
        self.left -= count
        if self.left < 0:
            raise _TooLarge
        return count


def require_regular(path: Path, error: type[ValueError]) -> Path:
    """The path, unless it is a pipe or a device: for files that a folder has, or that are read
    twice. Raises `error`; a missing file is left to its reader."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise error(f"{path}: not a regular file")
    return path


@contextlib.contextmanager
def opened(
    path: str | os.PathLike[str], limit: Limit | Callable[[bytes], Limit], error: type[ValueError]
) -> Iterator[io.BufferedReader[Any]]:
    """Opens a file for reading, unpacked.

    limit: a Limit, or a function that chooses one by the file's first bytes. Raises `error`, which
    names the file, here and while reading: if it cannot be read, is a broken gzip file, or exceeds
    the limit.
    """
    name = os.fspath(path)
    try:
        file = open(path, "rb")  # noqa: SIM115 (the next function closes it)
    except OSError as reason:
        raise error(f"{name}: cannot be read: {reason.strerror or reason}") from reason
    except ValueError as reason:  # a NUL in the name
        raise error(f"{name}: not a file name: {reason}") from reason
    with file, bounded(file, name, limit, error) as content:
        yield content


@contextlib.contextmanager
def bounded(
    file: io.BufferedReader[Any],
    name: str,
    limit: Limit | Callable[[bytes], Limit],
    error: type[ValueError],
) -> Iterator[io.BufferedReader[Any]]:
    """As `opened`, for an open file; messages call it `name`."""
    most = limit if isinstance(limit, Limit) else Limit(0, "file")
    try:
        packed = file.peek(len(_GZIP)).startswith(_GZIP)
        raw = _Bounded(gzip.GzipFile(fileobj=file) if packed else file)
        content = io.BufferedReader(raw, _HEAD)
        head = content.peek()
        if not isinstance(limit, Limit):
            most = limit(head)
        raw.left = most.bytes - len(head)
        if raw.left < 0:
            raise _TooLarge
        yield content
    except _TooLarge:
        raise error(f"{name}: {most.too_large()}") from None
    except _BROKEN as reason:
        raise error(f"{name}: a broken gzip file: {reason}") from reason
    except OSError as reason:
        raise error(f"{name}: cannot be read: {reason.strerror or reason}") from reason
