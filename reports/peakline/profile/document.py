"""Parses untrusted JSON, and rejects it if it is ambiguous, too deep or too large."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from peakline.profile.errors import FieldError, shown
from peakline.profile.schema import limits

# An object or list takes two bytes of text, but far more memory.
_MOST_OBJECTS = 1 << 20
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(data: bytes | str, objects: int = _MOST_OBJECTS) -> Any:
    """The document in `data`, with at most `objects` objects and lists. Raises FieldError."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        if not text.strip(" \t\r\n"):
            raise FieldError("empty: not a profile")
        if text.startswith("\ufeff"):
            raise FieldError("not valid JSON: it begins with a byte order mark")
        if text.count("{") + text.count("[") > objects:
            raise FieldError(f"more than {objects} objects and lists, the most that are read")
        document = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_keys
        )
    except UnicodeDecodeError as error:
        raise FieldError(f"not UTF-8 text: {error.reason}") from error
    except RecursionError as error:
        raise _too_deep() from error
    except FieldError:
        raise
    except ValueError as error:
        raise FieldError(f"not valid JSON: {error}") from error
    _check(document, 0)
    return document


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise FieldError(f"not a peakline profile: the key {shown(twice)} is there twice")
    return result


def _too_deep() -> FieldError:
    return FieldError(f"nested deeper than {limits()['depth']} levels: not a peakline profile")


def _check(value: Any, depth: int) -> None:
    if isinstance(value, str):
        _check_text(value)
    if not isinstance(value, (dict, list)):
        return
    if depth == limits()["depth"]:
        raise _too_deep()
    if isinstance(value, dict) and len(value) > limits()["keys"]:
        raise FieldError(f"expected at most {limits()['keys']} keys, found {len(value)}")
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        try:
            if isinstance(key, str):
                _check_text(key)
            _check(inner, depth + 1)
        except FieldError as error:
            raise (error if error.message == _too_deep().message else error.below(key)) from None


def _check_text(text: str) -> None:
    if _SURROGATE.search(text):
        raise FieldError("holds half a surrogate pair, which is not Unicode text")
