"""Pages of the JSON of `peakline fleet --json` and `peakline compare --json`.

Pages show the program's verdicts, and give none of their own.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from peakline.page import comparison_page, fleet_page
from peakline.profile import ProfileError
from peakline.profile.document import parse
from peakline.profile.errors import FieldError
from peakline.profile.untrusted import Limit, opened
from peakline.text import short

# Enough for some 10,000 cards.
_MOST = Limit(128 << 20, "document")
_MOST_OBJECTS = 1 << 22

_OUTCOMES = ("fail", "cannot_judge", "warn", "pass")


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
            raise ProfileError(f"{path}: {error}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in _KNOWN:
        return None
    version, command, name, check, page = _KNOWN[schema]
    if document.get("schema_version") != version:
        raise ProfileError(f"{path}: expected version {version} of {schema}")
    try:
        check(document)
        return name, page(document)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProfileError(
            f"{path}: not what peakline {command} --json prints: {short(repr(error), 200)}"
        ) from error


def _check_fleet(document: Mapping[str, Any]) -> None:
    """Raises for values that contradict each other, as in _check_comparison."""
    _require(document["verdict"] in _OUTCOMES)
    for group in document["groups"]:
        known = {(row["resource"], row["basis"]) for row in group["ceilings"]}
        _require(all(row["median"] > 0 for row in group["ceilings"]))
        for member in group["members"]:
            _require(member["verdict"] in _OUTCOMES)
            for row in member["ceilings"]:
                _require((row["resource"], row["basis"]) in known and row["deviation"] > -1)


def _check_comparison(document: Mapping[str, Any]) -> None:
    _require(document["verdict"] and document["threshold"] >= 0)
    _require(document["base_profiles"] > 0 and document["new_profiles"] > 0)
    for device in document["devices"]:
        for row in device["ceilings"]:
            _require(0 < row["ratio_low"] <= row["ratio"] <= row["ratio_high"] and row["verdict"])
            _require(row["base"]["value"] > 0 and row["new"]["value"] > 0)
        _require(all(row["median_ratio"] > 0 and row["verdict"] for row in device["curves"]))


def _require(condition: object) -> None:
    if not condition:
        raise ValueError("values contradict each other")


# Each schema has a version, a command, a name for its page, a check for contradictions, and a page.
_Check = Callable[[Mapping[str, Any]], None]
_Page = Callable[[Mapping[str, Any]], str]
_KNOWN: dict[str, tuple[int, str, str, _Check, _Page]] = {
    "peakline-fleet": (2, "fleet", "fleet", _check_fleet, fleet_page),
    "peakline-comparison": (2, "compare", "comparison", _check_comparison, comparison_page),
}
