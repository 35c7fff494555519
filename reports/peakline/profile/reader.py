"""From a file to a profile, or to the one error that says what is wrong with it."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any

from peakline.profile import document as json_document
from peakline.profile import rules, schema
from peakline.profile.build import build
from peakline.profile.errors import FieldError, ProfileError, expected, shown_path
from peakline.profile.profile import Profile
from peakline.profile.versions import derived_resources, flat, upgrade

SCHEMA = "peakline-profile"
SCHEMA_VERSION = 3
# A profile is at most 500 KiB a device; anything far beyond is another kind of file.
MAX_FILE_BYTES = 32 * 1024 * 1024
_MEASUREMENT = re.compile(r"^measurements\[(\d+)\]")


def load(path: str | os.PathLike[str]) -> Profile:
    """Reads and checks a profile. Raises ProfileError, which names file and field."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _error(name, f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise _error(name, f"not a file name: {error}") from error
    return loads(data, name)


def loads(data: bytes | str, name: str = "profile") -> Profile:
    """As `load`, from the file's content; `name` is what messages call it."""
    try:
        if len(data) > MAX_FILE_BYTES:
            raise FieldError(f"larger than {MAX_FILE_BYTES >> 20} MiB, so not a peakline profile")
        return _profile(json_document.parse(data), name)
    except FieldError as error:
        raise _error(name, str(error)) from error


def _error(name: str, message: str) -> ProfileError:
    return ProfileError(f"{shown_path(name)}: {message}")


def _profile(document: Any, name: str) -> Profile:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise FieldError(f'not a peakline profile: "schema" must be "{SCHEMA}"')
    version: Any = document.get("schema_version")
    # JSON does not tell 1 from 1.0.
    if type(version) not in (int, float) or version < 1 or version % 1:
        raise expected(f"1 to {SCHEMA_VERSION}", version, "schema_version")
    if version > SCHEMA_VERSION:
        raise FieldError(
            f"{version} is newer than {SCHEMA_VERSION}, the newest that this peakline reads: "
            "update the peakline package",
            "schema_version",
        )
    if version == 1:
        document = upgrade(document)
    # What version 2 says, the newest says too.
    schema.check({**document, "schema_version": SCHEMA_VERSION})
    document, places = flat(document)
    try:
        profile = build(Profile, document)
        if version == 1:
            resources = derived_resources(profile.ceilings)
            profile = dataclasses.replace(profile, resources=resources)
        rules.check(profile)
    except FieldError as error:
        raise error.where(_MEASUREMENT, lambda match: places[int(match[1])]) from None
    return dataclasses.replace(profile, path=name)
