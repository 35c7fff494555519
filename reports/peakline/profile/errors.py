"""The one error of a profile that cannot be read, and how it shows what it found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

MOST_SHOWN = 60
MOST_SHOWN_OF_PATH = 4096  # as long as a path can be on Linux


class ProfileError(ValueError):
    """A profile or a population that cannot be read.

    Names the file and the field and what would be right.
    """


class FieldError(ValueError):
    """An error in a document, and its place."""

    def __init__(self, message: str, path: str = "") -> None:
        self.message = message
        self.path = path
        super().__init__(f"{shown_text(path, 200)}: {message}" if path else message)

    def below(self, key: str | int) -> FieldError:
        """This error with the path from the object or array that holds it under `key`."""
        step = f"[{key}]" if isinstance(key, int) else key
        dot = "." if self.path and not self.path.startswith("[") else ""
        return FieldError(self.message, f"{step}{dot}{self.path}")


def expected(what: str, found: Any, path: str = "") -> FieldError:
    """An error that says what would be right."""
    return FieldError(f"expected {what}, found {shown(found)}", path)


def shown_text(text: str, most: int = MOST_SHOWN) -> str:
    """A text as a message may carry it to a terminal: short, and without control characters."""
    return printable(text if len(text) <= most else text[:most] + "...")


def printable(text: str) -> str:
    """A text without control characters, line breaks included."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as a terminal may get it: without control characters."""
    return shown_text(os.fspath(path), MOST_SHOWN_OF_PATH)


def shown(value: Any) -> str:
    """A value of a document, short."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, str):
        return f'"{shown_text(value)}"'
    return _shown(json.dumps, value)


def shown_argument(value: Any) -> str:
    """An argument of a function, short, as Python writes it."""
    return _shown(repr, value)


def _shown(write: Callable[[Any], str], value: Any) -> str:
    try:
        return shown_text(write(value))
    except ValueError:  # an integer of thousands of digits
        return "a number that is far too long"
