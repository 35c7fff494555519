"""Reads profiles."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from peakline.profile import files, rules, schema, versions
from peakline.profile.build import build
from peakline.profile.errors import FieldError
from peakline.profile.profile import Profile

SCHEMA = "peakline-profile"


def load(path: str | os.PathLike[str]) -> Profile:
    """Reads and checks a profile, plain or gzipped. Raises ProfileError with file and field."""
    return dataclasses.replace(files.read(path, _profile), path=os.fspath(path))


def loads(data: bytes | str, name: str = "profile") -> Profile:
    """As `load`, from the file's content; messages call it `name`."""
    return dataclasses.replace(files.parsed(data, name, _profile), path=name)


def reference(model: str) -> Profile:
    """The measured reference profile of a GPU ("h200") or of a node of two ("h200-x2"). Raises
    ProfileError, which lists all."""
    return load(files.bundled("", "reference profile", model))


def _profile(document: Any) -> Profile:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise FieldError(f'not a peakline profile: "schema" must be "{SCHEMA}"')
    versions.update(document, "profile")
    schema.check(document, "profile")
    rules.check(document, "profile")
    return build(Profile, document)
