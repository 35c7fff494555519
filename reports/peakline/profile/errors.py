"""Errors of profiles, and their rendering of found values."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

MOST_SHOWN = 60
MOST_SHOWN_OF_PATH = 4096  # PATH_MAX on Linux


class ProfileError(ValueError):
    """An unreadable profile or population. Names file and field, and valid values."""


class FieldError(ValueError):
    """An error at a place in a document."""

    def __init__(self, message: str, path: str = "") -> None:
        self.message = message
        self.path = path
        super().__init__(f"{shown_text(path, 200)}: {message}" if path else message)

    def below(self, key: str | int) -> FieldError:
        """This error, with its path starting at the object or array that has `key`."""
        step = f"[{key}]" if isinstance(key, int) else key
        dot = "." if self.path and not self.path.startswith("[") else ""
        return FieldError(self.message, f"{step}{dot}{self.path}")


def expected(what: str, found: Any, path: str = "") -> FieldError:
    return FieldError(f"expected {what}, found {shown(found)}", path)


def shown_text(text: str, most: int = MOST_SHOWN) -> str:
    """A text for a message on a terminal: short, and without control characters."""
    return printable(text if len(text) <= most else text[:most] + "...")


def printable(text: str) -> str:
    """A text without control characters, line breaks included."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path for a message on a terminal: without control characters."""
    return shown_text(os.fspath(path), MOST_SHOWN_OF_PATH)


def shown(value: Any) -> str:
    """A document's value, shortened for a message."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, str):
        return f'"{shown_text(value)}"'
    return _shown(json.dumps, value)


def shown_argument(value: Any) -> str:
    """An argument as Python writes it, shortened for a message."""
    return _shown(repr, value)


def _shown(write: Callable[[Any], str], value: Any) -> str:
    try:
        return shown_text(write(value))
    except ValueError:  # an integer of thousands of digits
        return "a number that is far too long"
