"""From a file to a profile, or to the one error that says what is wrong with it."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union

from peakline.profile.profile import Profile

SCHEMA = "peakline-profile"
SCHEMA_VERSION = 1
HOST = "host"
# A profile is at most 400 KiB a device; anything far beyond is another kind of file.
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_SAMPLES = 64
DEFAULTS = "measurement_defaults"
# They are a handful of short values; each measurement gets them.
MAX_DEFAULTS_BYTES = 1024
# Times are seconds and rates are per second: nothing comes near this, and products of such numbers
# stay finite.
MAX_MAGNITUDE = 1e30


class ProfileError(ValueError):
    """A profile that cannot be read. Names the file and the field and what would be right."""


def load(path: str | os.PathLike[str]) -> Profile:
    """Reads and checks a profile. Raises ProfileError, which names file and field."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ProfileError(f"{name}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise ProfileError(f"{name!r}: not a file name: {error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ProfileError(f"{name}: larger than 64 MiB, so not a peakline profile")
    return loads(data, name)


def loads(data: bytes | str, name: str = "profile") -> Profile:
    """As `load`, from the file's content; `name` is what messages call it."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        document = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates
        )
    except UnicodeDecodeError as error:
        raise ProfileError(f"{name}: not UTF-8 text: {error.reason}") from error
    except RecursionError as error:
        raise ProfileError(f"{name}: nested too deeply to be a peakline profile") from error
    except ValueError as error:
        raise ProfileError(f"{name}: not valid JSON: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ProfileError(f'{name}: not a peakline profile: "schema" must be "{SCHEMA}"')
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ProfileError(f"{name}: schema_version must be {SCHEMA_VERSION}, not {version!r}")
    if version > SCHEMA_VERSION:
        raise ProfileError(
            f"{name}: schema_version {version} is newer than {SCHEMA_VERSION}, the newest that "
            "this peakline reads: update the peakline package"
        )
    try:
        return _build(Profile, {**_with_defaults(document), "path": name}, "")
    except _FieldError as error:
        raise ProfileError(f"{name}: {error}") from error


class _FieldError(ValueError):
    pass


def _with_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """The document with its `measurement_defaults` in every measurement that does not say else."""
    shared = document.get(DEFAULTS, {})
    if not isinstance(shared, dict) or not isinstance(shared.get("conditions", {}), dict):
        raise _FieldError(f"{DEFAULTS} must be an object, as must be its conditions")
    if len(json.dumps(shared)) > MAX_DEFAULTS_BYTES:
        raise _FieldError(f"{DEFAULTS} is longer than {MAX_DEFAULTS_BYTES} bytes")
    rows = document.get("measurements")
    if not shared or not isinstance(rows, list):
        return document

    def complete(row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        conditions = row.get("conditions", {})
        if isinstance(conditions, dict) and "conditions" in shared:
            conditions = {**shared["conditions"], **conditions}
        return {**shared, **row, "conditions": conditions}

    return {**document, "measurements": [complete(row) for row in rows]}


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} is there twice in one object")
    return result


# Control characters would reach terminals and SVG files, where they do harm or are invalid.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_T = TypeVar("_T")


@functools.cache
def _fields(cls: Any) -> list[tuple[str, Any, bool]]:
    hints = typing.get_type_hints(cls)
    return [
        (
            f.name,
            hints[f.name],
            f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING,
        )
        for f in dataclasses.fields(cls)
    ]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _build(cls: Callable[..., _T], value: Any, path: str) -> _T:
    if not isinstance(value, dict):
        raise _FieldError(f"{path} must be an object, not {_shown(value)}")
    prefix = f"{path}." if path else ""
    arguments = {}
    for name, hint, required in _fields(cls):
        if value.get(name) is None and not required:
            continue
        if name in value:
            arguments[name] = _convert(hint, value[name], prefix + name)
        else:
            raise _FieldError(f"{prefix}{name} is missing")
    try:
        return cls(**arguments)
    except _FieldError:
        raise
    except ValueError as error:
        raise _FieldError(f"{path}: {error}" if path else str(error)) from error


def _convert(hint: Any, value: Any, path: str) -> Any:
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in arguments:
            return None
        remaining = [a for a in arguments if a is not types.NoneType]
        if len(remaining) == 1:
            return _convert(remaining[0], value, path)
        return _convert(str if isinstance(value, str) else int, value, path)
    if origin is Literal:
        if value not in arguments or isinstance(value, bool):
            raise _FieldError(
                f"{path} must be one of {', '.join(map(str, arguments))}, not {_shown(value)}"
            )
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise _FieldError(f"{path} must be an array, not {_shown(value)}")
        return tuple(_convert(arguments[0], v, f"{path}[{i}]") for i, v in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, dict):
            raise _FieldError(f"{path} must be an object, not {_shown(value)}")
        return {
            _text(key, path): _convert(arguments[1], v, f"{path}.{_shown(key)}")
            for key, v in value.items()
        }
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast(type[Any], hint), value, path)
    if hint is str:
        return _text(value, path)
    if hint is bool:
        if not isinstance(value, bool):
            raise _FieldError(f"{path} must be true or false, not {_shown(value)}")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        kind = "an integer" if hint is int else "a number"
        raise _FieldError(f"{path} must be {kind}, not {_shown(value)}")
    if hint is int:
        if not isinstance(value, int) or abs(value) >= 2**63:
            raise _FieldError(f"{path} must be a 64-bit integer, not {_shown(value)}")
        return value
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _FieldError(f"{path} must be a finite number, not {_shown(value)}")
    if number and not 1 / MAX_MAGNITUDE < abs(number) < MAX_MAGNITUDE:
        raise _FieldError(f"{path} is {_shown(value)}, which no quantity in base SI units can be")
    return number


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _FieldError(f"{path} must be text, not {_shown(value)}")
    if _SURROGATE.search(value):
        raise _FieldError(f"{path} holds half a surrogate pair, which is not Unicode text")
    return _UNPRINTABLE.sub("\ufffd", value)
