"""The profile's JSON Schema, and its verdict in words."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import fastjsonschema
from fastjsonschema import JsonSchemaValueException

from peakline.profile.errors import FieldError, expected

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


@functools.cache
def document() -> dict[str, Any]:
    """The schema, as `peakline schema` prints it."""
    text = resources.files("peakline").joinpath("profile.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def limits() -> dict[str, int]:
    """What a file that is no profile goes beyond: bytes, levels of nesting, keys of an object."""
    found: dict[str, int] = document()["x-limits"]
    return found


def magnitudes() -> tuple[float, float]:
    """The bounds of a number that is not 0: what is computed from a few is still a float."""
    positive = document()["definitions"]["positive"]["anyOf"][0]
    return positive["minimum"], positive["maximum"]


@functools.cache
def _validator() -> Callable[[Any], Any]:
    properties, definitions = dict(document()["properties"]), dict(document()["definitions"])
    # A function of its own checks a row fast: each check copies all variables around it.
    for key, rows in properties.items():
        if rows.get("type") == "array":
            definitions[key] = rows["items"]
            properties[key] = {**rows, "items": {"$ref": f"#/definitions/{key}"}}
    rewritten = {**document(), "properties": properties, "definitions": definitions}
    compiled: Callable[[Any], Any] = fastjsonschema.compile(rewritten, use_default=False)
    return compiled


def check(profile: Any) -> None:
    """Raises FieldError where a profile's document does not follow the schema."""
    try:
        _validator()(profile)
    except JsonSchemaValueException as error:
        path = (error.name or "").removeprefix("data").removeprefix(".")
        rule, found = error.rule or "", error.value
        definition: Any = error.definition or {}
        if rule == "required":
            missing = next(key for key in definition[rule] if key not in found)
            raise FieldError(f'"{missing}" is missing', path) from None
        raise expected(_in_words(rule, definition), found, path) from None


def _in_words(rule: str, definition: Mapping[str, Any]) -> str:
    """What a rule of a definition asks for."""
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
    return _LIMITS.get(rule, "what the schema allows").format(wanted)


def _described(definition: Mapping[str, Any]) -> str:
    """What a choice of several asks for."""
    if "$ref" in definition:
        return _described(document()["definitions"][definition["$ref"].rpartition("/")[2]])
    if {"minimum", "maximum"} <= definition.keys():
        return f"a number from {definition['minimum']:g} to {definition['maximum']:g}"
    rule = next(r for r in ("const", "enum", "type") if r in definition)
    return _in_words(rule, definition)
