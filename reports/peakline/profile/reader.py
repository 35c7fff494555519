"""Turns a file into a profile, or into the one error that says what is wrong with it."""

from __future__ import annotations

import dataclasses
import gzip
import io
import os
import zlib
from typing import Any

from peakline.profile import document as json_document
from peakline.profile import rules, schema
from peakline.profile.build import build
from peakline.profile.errors import FieldError, ProfileError, expected, shown, shown_path
from peakline.profile.profile import Profile

SCHEMA = "peakline-profile"
_GZIP = b"\x1f\x8b"


def load(path: str | os.PathLike[str]) -> Profile:
    """Reads and checks a profile, also a gzipped one. Raises ProfileError.

    The error names file and field.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(schema.limits()["bytes"] + 1)
    except OSError as error:
        raise _error(name, f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise _error(name, f"not a file name: {error}") from error
    return loads(data, name)


def loads(data: bytes | str, name: str = "profile") -> Profile:
    """As `load`, from the file's content; `name` is what messages call it."""
    try:
        _check_size(data)
        if isinstance(data, bytes) and data.startswith(_GZIP):
            data = _unzipped(data)
        return _profile(json_document.parse(data), name)
    except FieldError as error:
        raise _error(name, str(error)) from error


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


def _profile(document: Any, name: str) -> Profile:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise FieldError(f'not a peakline profile: "schema" must be "{SCHEMA}"')
    _check_version(document.get("schema_version"))
    schema.check(document)
    rules.check(document)
    profile = build(Profile, document)
    return dataclasses.replace(profile, path=name)


def _check_version(version: Any) -> None:
    newest = schema.document()["properties"]["schema_version"]["const"]
    # JSON does not tell 1 from 1.0.
    if type(version) not in (int, float) or version < 1 or version % 1:
        raise expected(str(newest), version, "schema_version")
    if version < newest:
        revision = schema.document()["x-earlier-versions-read-by"]
        raise FieldError(
            f"{shown(version)} is older than the {newest} that this peakline reads: "
            f"revision {revision} reads it",
            "schema_version",
        )
    if version > newest:
        raise FieldError(
            f"{shown(version)} is newer than the {newest} that this peakline reads: "
            "update the peakline package",
            "schema_version",
        )
