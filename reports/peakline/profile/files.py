"""Reads files into documents, or raises one error that says what is wrong; writes them whole."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from peakline.profile import document, schema, untrusted
from peakline.profile.errors import FieldError, ProfileError
from peakline.text import short

_T = TypeVar("_T")
_BUNDLED = Path(__file__).parents[1] / "reference_profiles"
_VENDOR = "nvidia-"  # prefix of file names; callers may leave it out


def read(path: str | os.PathLike[str], build: Callable[[Any], _T]) -> _T:
    """The result of `build` on a file's document, which may be gzipped. Raises ProfileError, which
    names the file, also for a FieldError of `build`."""
    with untrusted.opened(path, _limit(), ProfileError) as file:
        return _built(file.read(), os.fspath(path), build)


def parsed(data: bytes | str, name: str, build: Callable[[Any], _T]) -> _T:
    """As `read`, from the file's content; messages call it `name`."""
    content: Any = io.BytesIO(
        data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    )
    source = io.BufferedReader(content)
    with untrusted.bounded(source, name, _limit(), ProfileError) as file:
        return _built(file.read(), name, build)


def _limit() -> untrusted.Limit:
    return untrusted.Limit(schema.limits()["bytes"], "profile")


def _built(data: bytes, name: str, build: Callable[[Any], _T]) -> _T:
    try:
        return build(document.parse(data))
    except FieldError as error:
        raise ProfileError(f"{name}: {error}") from error


def bundled(folder: str, what: str, model: str) -> Path:
    """The package's file of a model ("h200", "NVIDIA H200"). Raises ProfileError, which lists all
    models, if there is none. what: names the kind of file."""
    paths = sorted((_BUNDLED / folder).glob("*.json"), key=lambda path: path.stem)
    files = {path.stem.removeprefix(_VENDOR): path for path in paths}
    path = files.get(model.lower().replace(" ", "-").removeprefix(_VENDOR))
    if path is None:
        raise ProfileError(f"no {what} of {short(model)!r}; there is: {', '.join(files)}")
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Writes or replaces a file: beside its place, then renamed."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".peakline-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp makes files private; files get the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
