"""Pages of the JSON of `peakline fleet --json` and `peakline compare --json`.

Pages show the program's verdicts, and give none of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from peakline.page import comparison_page, fleet_page
from peakline.profile import ProfileError, printable, shown_path
from peakline.profile.document import parse
from peakline.profile.errors import FieldError
from peakline.profile.untrusted import Limit, opened

# Enough for some 10,000 cards.
_MOST = Limit(128 << 20, "document")
_MOST_OBJECTS = 1 << 22

# By schema: version, command, name of the page, and what makes it.
_KNOWN: dict[str, tuple[int, str, str, Callable[[Mapping[str, Any]], str]]] = {
    "peakline-fleet": (2, "fleet", "fleet", fleet_page),
    "peakline-comparison": (2, "compare", "comparison", comparison_page),
}


def page_of(path: str | Path) -> tuple[str, str] | None:
    """The name and the page of the document in a file; None if its schema is another one, such as a
    profile's. Raises ProfileError if it is unreadable, of another version, or malformed."""
    with opened(path, _MOST, ProfileError) as file:
        first = file.peek()  # has the first key; a profile may be large
        if not any(schema.encode() in first for schema in _KNOWN):
            return None
        try:
            document = parse(file.read(), _MOST_OBJECTS)
        except FieldError as error:
            raise ProfileError(f"{shown_path(path)}: {error}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in _KNOWN:
        return None
    version, command, name, page = _KNOWN[schema]
    if document.get("schema_version") != version:
        raise ProfileError(f"{shown_path(path)}: expected version {version} of {schema}")
    try:
        return name, page(document)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProfileError(
            f"{shown_path(path)}: not what peakline {command} --json prints: "
            f"{printable(repr(error)):.200}"
        ) from error
