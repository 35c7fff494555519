"""The profile's JSON Schema, and its verdict in words."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from importlib import resources
from typing import Any

import fastjsonschema
from fastjsonschema import JsonSchemaValueException

from peakline.profile.errors import FieldError, expected, shown_text

_KINDS = {
    "object": "an object",
    "array": "an array",
    "string": "text",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "null": "null",
}


@functools.cache
def _validator() -> Callable[[Any], Any]:
    text = resources.files("peakline").joinpath("profile.schema.json").read_text(encoding="utf-8")
    compiled: Callable[[Any], Any] = fastjsonschema.compile(json.loads(text), use_default=False)
    return compiled


def check(document: Any) -> None:
    """Raises FieldError where the document does not follow the schema."""
    try:
        _validator()(document)
    except JsonSchemaValueException as error:
        raise _in_words(error) from None


def _in_words(error: JsonSchemaValueException) -> FieldError:
    path = (error.name or "").removeprefix("data").removeprefix(".")
    rule, definition, found = error.rule, error.rule_definition, error.value
    if rule == "required":
        missing = next(key for key in definition if key not in found)
        return FieldError(f'"{missing}" is missing', path)
    if rule == "type":
        kinds = [definition] if isinstance(definition, str) else definition
        what = " or ".join(_KINDS[kind] for kind in kinds)
    elif rule == "enum":
        what = "one of " + ", ".join(json.dumps(value) for value in definition)
    else:
        limits = {
            "const": json.dumps(definition),
            "minimum": f"at least {definition}",
            "maximum": f"at most {definition}",
            "exclusiveMinimum": f"more than {definition}",
            "exclusiveMaximum": f"less than {definition}",
            "pattern": f"text that matches {definition}",
            "minLength": "text that is not empty"
            if definition == 1
            else f"{definition} characters",
            "maxLength": f"at most {definition} characters",
            "minItems": f"at least {definition} elements",
            "maxItems": f"at most {definition} elements",
            "uniqueItems": "no element twice",
            "additionalProperties": "none but the known keys",
        }
        if rule not in limits:
            return FieldError(shown_text(error.message.removeprefix("data"), 200).lstrip("."))
        what = limits[rule]
    return expected(what, found, path)
