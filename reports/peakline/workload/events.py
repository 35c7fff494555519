"""Streams the events of a trace, which may have hundreds of MiB."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, TextIO

_CHUNK = 1 << 20  # characters
_MOST_OF_VALUE = 16 << 20  # characters of an event, or of another value
_GOES_ON = (*"+-.0123456789Ee", "")  # may continue a number; "" is the buffer's end
_LONGEST = 40  # digits of a number
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")


# Other keys of the document to keep.
_BESIDE = ("deviceProperties", "distributedInfo", "schema", "nodes")


@dataclass
class Damage:
    """What of a trace cannot be read."""

    events: int = 0
    first: str = ""  # and why
    end: str = ""  # where the file is cut off

    def add(self, index: int, why: Exception) -> None:
        self.events += 1
        self.first = self.first or f"traceEvents[{index}]: {why}"


class _Skipped(ValueError):
    """A whole value that is not JSON, with the next one behind it."""


def trace_events(
    file: TextIO, beside: dict[str, Any], most: int, damage: Damage
) -> Iterator[tuple[int, Any]]:
    """The elements of `traceEvents`, or of the document if it is a list, with their index.

    beside: receives other values of the document, by key. most: limits the events. damage: receives
    what is left out. Fractional and long numbers are texts, since a float may not hold all their
    digits. Raises ValueError for a document without a readable event, or with too many.
    """
    text, index = _Json(file), -1
    try:
        for index, event in enumerate(_events(text, beside)):
            if index >= most:
                raise OverflowError(f"more than {most} events, the most that are read")
            if isinstance(event, _Skipped):
                damage.add(index, event)
            else:
                yield index, event
        if text.peek():
            raise text.error("expected its end")
    except ValueError as error:
        if index < 0:
            raise
        damage.end = f"after event {index + 1}: {error}"


def _events(text: _Json, beside: dict[str, Any]) -> Iterator[Any]:
    if text.peek() == "[":
        yield from text.elements()
        return
    found = False
    text.take("{")
    more = text.peek() != "}" or text.take("}") != "}"
    while more:
        key = text.value()
        if not isinstance(key, str):
            raise text.error("expected a name before it")
        text.take(":")
        if key == "traceEvents" and text.peek() == "[":
            found = True
            yield from text.elements()
        else:
            if key in _BESIDE:
                beside[key] = None  # too long to be read, perhaps
            value = text.value()
            if key in beside:
                beside[key] = value
        more = text.take(",}") == ","
    if not found:
        raise ValueError("it has no traceEvents")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST else digits


def _end_of(text: str, place: int) -> int:
    """Where the object or list that begins at a place ends; 0 if it does not."""
    depth = 0
    for match in _BRACKETS.finditer(text, place):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth < 1 or match[0] == '"':  # a text without an end
            return 0 if depth or match[0] == '"' else match.end()
    return 0


class _Json:
    """Reads a JSON document value by value, holding only the current one."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._buffer = ""
        self._place = 0  # in the buffer
        self._before = 0  # characters dropped from the buffer
        decoder = json.JSONDecoder(
            parse_float=str, parse_int=_integer, parse_constant=str, strict=False
        )
        self._decode = decoder.raw_decode

    def error(self, message: str, place: int | None = None) -> ValueError:
        at = self._before + (self._place if place is None else place)
        return ValueError(f"{message.removesuffix(' at')} at character {at}")

    def peek(self) -> str:
        """The next character other than white space; "" at the end."""
        while True:
            match = _SPACE.match(self._buffer, self._place)
            self._place = match.end() if match else self._place
            if self._place < len(self._buffer):
                return self._buffer[self._place]
            if not self._read():
                return ""

    def take(self, wanted: str) -> str:
        """Consumes the next character, which must be a wanted one."""
        char = self.peek()
        if not char or char not in wanted:
            raise self.error(f"expected {' or '.join(wanted)}")
        self._place += 1
        return char

    def elements(self) -> Iterator[Any]:
        """The elements of a list; a _Skipped for one that is not JSON."""
        self.take("[")
        while self.peek() != "]":
            try:
                element = self.value()
            except _Skipped as skipped:
                element = skipped
            yield element
            if self.take(",]") == "]":
                return
        self.take("]")

    def value(self) -> Any:
        self.peek()
        while True:
            wrong = None
            try:
                value, end = self._decode(self._buffer, self._place)
                if self._buffer[end : end + 1] not in _GOES_ON:
                    self._place = end
                    return value
            except JSONDecodeError as error:
                wrong = self.error(error.msg, error.pos)
            except RecursionError as error:
                wrong = self.error(str(error))
            if wrong and (end := _end_of(self._buffer, self._place)):
                self._place = end
                raise _Skipped(wrong)
            if len(self._buffer) - self._place > _MOST_OF_VALUE:
                raise wrong or self.error(f"a value of more than {_MOST_OF_VALUE} characters")
            if not self._read():
                if wrong:
                    raise wrong
                self._place = end
                return value

    def _read(self) -> bool:
        """Reads more, in larger chunks for longer values; False at the end."""
        chunk = self._file.read(max(_CHUNK, len(self._buffer) - self._place))
        if chunk:
            self._buffer = self._buffer[self._place :] + chunk
            self._before += self._place
            self._place = 0
        return bool(chunk)
