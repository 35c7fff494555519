"""Rules between fields, which JSON Schema cannot state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from peakline.profile import schema
from peakline.profile.errors import FieldError, expected


def check(document: dict[str, Any], kind: schema.Kind) -> None:
    """Raises FieldError for the first violation."""
    _check(document, _rules(kind))


class _Rules(NamedTuple):
    """The rules of an object or of each object of an array, and of its members."""

    own: dict[str, Any]
    members: dict[str, _Rules]


@functools.cache
def _rules(kind: schema.Kind) -> _Rules:
    return _found(schema.document(kind))


def _found(definition: dict[str, Any]) -> _Rules:
    definition = definition.get("items", definition)
    members = {key: _found(inner) for key, inner in definition.get("properties", {}).items()}
    return _Rules(
        {key: rule for key, rule in definition.items() if key in _CHECKS},
        {key: rules for key, rules in members.items() if rules.own or rules.members},
    )


def _check(value: Any, rules: _Rules) -> None:
    if isinstance(value, list):
        for index, row in enumerate(value):
            _below(index, row, rules)
        return
    for key, inner in rules.members.items():
        if key in value:
            _below(key, value[key], inner)
    for key, rule in rules.own.items():
        _CHECKS[key](value, rule)


def _below(key: str | int, value: Any, rules: _Rules) -> None:
    try:
        _check(value, rules)
    except FieldError as error:
        raise error.below(key) from None


def _ascending(row: dict[str, Any], lists: list[list[str]]) -> None:
    for keys in lists:
        numbers = [row[key] for key in keys if key in row]
        if numbers != sorted(numbers):
            raise FieldError(f"expected {' <= '.join(keys)}")


def _one_length(row: dict[str, Any], keys: list[str]) -> None:
    length = len(row[keys[0]])
    for key in keys:
        if len(row[key]) != length:
            raise FieldError(
                f"expected {length} values, as in {keys[0]}, found {len(row[key])}", key
            )


def _counts(row: dict[str, Any], rule: dict[str, str]) -> None:
    lists, length = row.get(rule["key"], []), len(row.get(rule["of"], []))
    if lists and (sum(map(sum, lists)) != length or not all(lists)):
        raise FieldError(
            f"expected as many in all as {rule['of']} has, {length}, and some in each", rule["key"]
        )


def _names(document: dict[str, Any], rule: dict[str, Any]) -> None:
    names = set(rule["besides"])
    for path, name in _texts(document, [rule["rows"]], rule["key"]):
        if name in names:
            raise expected("one of its own", name, path)
        names.add(name)
    known = f"{', '.join(rule['besides'])}, or {rule['key']} of one of {rule['rows']}"
    references = [
        *_texts(document, rule["in"], rule["reference"]),
        *(found for found in _texts(document, rule["empty_in"], rule["reference"]) if found[1]),
    ]
    for path, name in references:
        if name not in names:
            raise expected(known, name, path)


def _texts(document: dict[str, Any], lists: list[str], key: str) -> Iterator[tuple[str, str]]:
    """Path and text of a field of each row of several lists."""
    for rows in lists:
        for index, row in enumerate(document.get(rows, [])):
            yield f"{rows}[{index}].{key}", row[key]


def _unique(document: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    for rule in rules:
        seen = set()
        for index, row in enumerate(document.get(rule["rows"], [])):
            texts = tuple(_text(row.get(key, "")) for key in rule["keys"])
            if texts in seen:
                raise FieldError(
                    f"its {', '.join(rule['keys'])} are there twice", f"{rule['rows']}[{index}]"
                )
            seen.add(texts)


def _text(value: Any) -> str:
    """A text that is identical for equal values: 1 and 1.0, false and a missing value."""
    if isinstance(value, dict):
        return "".join(f"/{key}:{_text(inner)}" for key, inner in value.items())
    if isinstance(value, str) or value is False:
        return value or ""
    return str(value) if value % 1 else str(int(value))


_CHECKS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    "x-ascending": _ascending,
    "x-one-length": _one_length,
    "x-counts": _counts,
    "x-names": _names,
    "x-unique": _unique,
}
