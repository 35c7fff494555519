"""From a file to what it holds, or to the one error that says what is wrong with it."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from peakline.profile import document, schema
from peakline.profile.errors import FieldError, ProfileError, shown_path, shown_text

_T = TypeVar("_T")
_BUNDLED = Path(__file__).parents[1] / "reference_profiles"
_VENDOR = "nvidia-"  # of the files' names; callers may leave it out
_GZIP = b"\x1f\x8b"


def read(path: str | os.PathLike[str], build: Callable[[Any], _T]) -> _T:
    """What `build` makes of the document in a file, also of a gzipped one.

    Raises ProfileError, which names the file, also for a FieldError of `build`.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(schema.limits()["bytes"] + 1)
    except OSError as error:
        raise _error(name, f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise _error(name, f"not a file name: {error}") from error
    return parsed(data, name, build)


def parsed(data: bytes | str, name: str, build: Callable[[Any], _T]) -> _T:
    """As `read`, from the file's content; `name` is what messages call it."""
    try:
        _check_size(data)
        if isinstance(data, bytes) and data.startswith(_GZIP):
            data = _unzipped(data)
        return build(document.parse(data))
    except FieldError as error:
        raise _error(name, str(error)) from error


def bundled(folder: str, what: str, model: str) -> Path:
    """The file of a model ("h200", "NVIDIA H200") that is part of the package.

    Raises ProfileError, naming all, where there is no such `what`.
    """
    paths = sorted((_BUNDLED / folder).glob("*.json"), key=lambda path: path.stem)
    files = {path.stem.removeprefix(_VENDOR): path for path in paths}
    path = files.get(model.lower().replace(" ", "-").removeprefix(_VENDOR))
    if path is None:
        raise ProfileError(f"no {what} of {shown_text(model)!r}; there is: {', '.join(files)}")
    return path


def _unzipped(data: bytes) -> bytes:
    try:
        # It reads no more than that, since a small file may unpack to gigabytes.
        with gzip.open(io.BytesIO(data)) as file:
            text = file.read(schema.limits()["bytes"] + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FieldError("a broken gzip file") from error
    _check_size(text)
    return text


def _check_size(data: bytes | str) -> None:
    most = schema.limits()["bytes"]
    if len(data) > most:
        raise FieldError(f"larger than {most >> 20} MiB, so not a peakline profile")


def _error(name: str, message: str) -> ProfileError:
    return ProfileError(f"{shown_path(name)}: {message}")
