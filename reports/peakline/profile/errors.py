"""Errors of profiles, and their rendering of found values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from peakline.text import OneLine, short

_MOST_OF_PATH = 200  # characters


class ProfileError(OneLine, ValueError):
    """An unreadable profile or population. Names file and field, and valid values."""


class FieldError(OneLine, ValueError):
    """An error at a place in a document."""

    def __init__(self, message: str, path: str = "") -> None:
        self.message = message
        self.path = path
        super().__init__(f"{short(path, _MOST_OF_PATH)}: {message}" if path else message)

    def below(self, key: str | int) -> FieldError:
        """This error, with its path starting at the object or array that has `key`."""
        step = f"[{key}]" if isinstance(key, int) else key
        dot = "." if self.path and not self.path.startswith("[") else ""
        return FieldError(self.message, f"{step}{dot}{self.path}")


def expected(what: str, found: Any, path: str = "") -> FieldError:
    return FieldError(f"expected {what}, found {shown(found)}", path)


def shown(value: Any) -> str:
    """A document's value, shortened for a message."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, str):
        return f'"{short(value)}"'
    return _shown(json.dumps, value)


def shown_argument(value: Any) -> str:
    """An argument as Python writes it, shortened for a message."""
    return _shown(repr, value)


def _shown(write: Callable[[Any], str], value: Any) -> str:
    try:
        return short(write(value))
    except ValueError:  # an integer of thousands of digits
        return "a number that is far too long"
