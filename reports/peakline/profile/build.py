"""Turns a checked document into dataclasses, whose annotations say what becomes what."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Union

from peakline.profile.errors import FieldError

_T = TypeVar("_T")


def build(cls: Callable[..., _T], document: dict[str, Any]) -> _T:
    """An object of the document as a `cls`; what is left out has the field's default.

    Keys that `cls` does not know are ignored. Raises FieldError where a field without a default is
    missing.
    """
    arguments = {}
    for name, convert, required in _fields(cls):
        if name in document:
            try:
                arguments[name] = convert(document[name])
            except FieldError as error:
                raise error.below(name) from None
        elif required:
            raise FieldError(f'"{name}" is missing')
    return cls(**arguments)


@functools.cache
def _fields(cls: Any) -> list[tuple[str, Callable[[Any], Any], bool]]:
    hints = typing.get_type_hints(cls)
    missing = dataclasses.MISSING
    return [
        (f.name, _converter(hints[f.name]), f.default is missing and f.default_factory is missing)
        for f in dataclasses.fields(cls)
    ]


def _converter(hint: Any) -> Callable[[Any], Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType) and types.NoneType in arguments:
        (inner,) = (_converter(a) for a in arguments if a is not types.NoneType)
        return lambda value: None if value is None else inner(value)
    if hint == int | str:  # JSON does not tell 1 from 1.0
        return lambda value: value if isinstance(value, str) else int(value)
    if origin is Mapping:
        of_key = _converter(arguments[1])
        return lambda named: {key: of_key(value) for key, value in named.items()}
    if origin is tuple:
        element = _converter(arguments[0])
        return lambda values: _elements(element, values)
    if dataclasses.is_dataclass(hint):
        return functools.partial(build, typing.cast(type[Any], hint))
    return hint if hint in (int, float) else _unchanged


def _elements(element: Callable[[Any], Any], values: list[Any]) -> tuple[Any, ...]:
    index = 0
    try:
        result = []
        for index, value in enumerate(values):  # noqa: B007 (the error names it)
            result.append(element(value))
        return tuple(result)
    except FieldError as error:
        raise error.below(index) from None


def _unchanged(value: Any) -> Any:
    return value
