"""The files' JSON Schemas, with validation errors in plain words."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any, Literal

import fastjsonschema
from fastjsonschema import JsonSchemaValueException

from peakline.profile.errors import FieldError, expected, shown_argument

_KINDS = {
    "object": "an object",
    "array": "an array",
    "string": "text",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "null": "null",
}
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "pattern": "text that matches {}",
    "minLength": "text of at least {} characters",
    "maxLength": "text of at most {} characters",
    "minItems": "at least {} elements",
    "maxItems": "at most {} elements",
}


Kind = Literal["profile", "population"]


@functools.cache
def document(kind: Kind) -> dict[str, Any]:
    """The schema of a kind of file, as printed by `peakline schema KIND`."""
    file = resources.files("peakline").joinpath(f"{kind}.schema.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def limits() -> dict[str, int]:
    """Limits of all files: bytes, levels of nesting, keys of an object."""
    found: dict[str, int] = document("profile")["x-limits"]
    return found


def labels() -> dict[str, str]:
    """What this version calls resources, by their names."""
    found: dict[str, str] = document("profile")["x-labels"]
    return found


def magnitudes() -> tuple[float, float]:
    """The bounds of a number other than 0, which keep results of arithmetic within a float."""
    positive = document("profile")["definitions"]["positive"]["anyOf"][0]
    return positive["minimum"], positive["maximum"]


def is_amount(value: Any) -> bool:
    """Whether a value is 0 or within `magnitudes`."""
    least, most = magnitudes()
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and (value == 0 or least <= value <= most)


def require_positive(**values: float) -> None:
    """Raises ValueError for values that are not positive numbers of a plausible magnitude."""
    for name, value in values.items():
        if not is_amount(value) or value == 0:
            least, most = magnitudes()
            raise ValueError(
                f"{name} must be a number above 0, not {shown_argument(value)} "
                f"(from {least:g} to {most:g})"
            )


@functools.cache
def _validator(kind: Kind) -> Callable[[Any], Any]:
    properties = dict(document(kind)["properties"])
    definitions = dict(document(kind)["definitions"])
    # A separate function per row is faster: fastjsonschema copies all variables around each check.
    for key, rows in properties.items():
        if rows.get("type") == "array":
            definitions[key] = rows["items"]
            properties[key] = {**rows, "items": {"$ref": f"#/definitions/{key}"}}
    rewritten = {**document(kind), "properties": properties, "definitions": definitions}
    compiled: Callable[[Any], Any] = fastjsonschema.compile(rewritten, use_default=False)
    return compiled


def check(document: Any, kind: Kind) -> None:
    """Raises FieldError if a document does not follow the schema of its kind."""
    try:
        _validator(kind)(document)
    except JsonSchemaValueException as error:
        path = (error.name or "").removeprefix("data").removeprefix(".")
        rule, found = error.rule or "", error.value
        definition: Any = error.definition or {}
        if rule == "required":
            missing = next(key for key in definition[rule] if key not in found)
            raise FieldError(f'"{missing}" is missing', path) from None
        raise expected(_in_words(rule, definition), found, path) from None


def _in_words(rule: str, definition: Mapping[str, Any]) -> str:
    wanted: Any = definition.get(rule)
    if rule == "type":
        return " or ".join(_KINDS[kind] for kind in ([wanted] if type(wanted) is str else wanted))
    if rule == "const":
        return json.dumps(wanted)
    if rule == "enum":
        return "one of " + ", ".join(map(json.dumps, wanted))
    if rule == "uniqueItems":
        return "no element twice"
    if rule == "anyOf":
        return " or ".join(map(_described, wanted))
    if rule == "pattern" and "examples" in definition:
        return f"a valid value such as {definition['examples'][0]}"
    return _LIMITS.get(rule, "what the schema allows").format(wanted)


def _described(definition: Mapping[str, Any]) -> str:
    if "$ref" in definition:
        # These definitions are the same in every schema.
        return _described(document("profile")["definitions"][definition["$ref"].rpartition("/")[2]])
    if {"minimum", "maximum"} <= definition.keys():
        return f"a number from {definition['minimum']:g} to {definition['maximum']:g}"
    rule = next(r for r in ("const", "enum", "type") if r in definition)
    return _in_words(rule, definition)
