"""Reads the JSON of `peakline fleet --json` and `peakline compare --json`.

Pages show the program's verdicts, and give none of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from peakline.profile import ProfileError, shown_path
from peakline.profile.document import parse
from peakline.profile.errors import FieldError
from peakline.profile.untrusted import Limit, opened

# The program's verdicts on a device or a fleet.
OUTCOMES = ("fail", "cannot_judge", "warn", "pass")
FLEET, COMPARISON = "peakline-fleet", "peakline-comparison"

# Enough for some 10,000 cards.
_MOST = Limit(128 << 20, "document")
_MOST_OBJECTS = 1 << 22


def read_document(path: str | Path) -> dict[str, Any] | None:
    """The document in a file; None if its schema is another one, such as a profile's. Raises
    ProfileError if it is unreadable, of another version, or malformed."""
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
    version, command, check = _KNOWN[schema]
    if document.get("schema_version") != version:
        raise ProfileError(f"{shown_path(path)}: expected version {version} of {schema}")
    try:
        check(document)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ProfileError(
            f"{shown_path(path)}: not what peakline {command} --json prints"
        ) from None
    return dict(document)


def _check_fleet(document: Mapping[str, Any]) -> None:
    _require(document["verdict"] in OUTCOMES)
    for group in document["groups"]:
        known = {(row["resource"], row["basis"]) for row in group["ceilings"]}
        for row in group["ceilings"]:
            _require(row["median"] > 0)
        for member in group["members"]:
            _require(member["verdict"] in OUTCOMES)
            for rule in member["rules"]:
                _require(rule["code"] and rule["name"])
            for row in member["ceilings"]:
                _require((row["resource"], row["basis"]) in known and row["deviation"] > -1)


def _check_comparison(document: Mapping[str, Any]) -> None:
    _require(document["verdict"] and document["threshold"] >= 0)
    _require(document["base_profiles"] > 0 and document["new_profiles"] > 0)
    for reason in document["gate"]["reasons"]:
        _require(reason["name"] and reason["code"] and isinstance(reason["text"], str))
        _require(isinstance(reason["allowed"], bool) and reason["outcome"])
    for device in document["devices"]:
        _require(device["base"] and device["new"])
        for row in device["ceilings"]:
            _require(0 < row["ratio_low"] <= row["ratio"] <= row["ratio_high"] and row["verdict"])
            _require(row["base"]["value"] > 0 and row["new"]["value"] > 0)
        for row in device["curves"]:
            _require(row["id"] and row["median_ratio"] > 0 and row["verdict"])


def _require(condition: object) -> None:
    if not condition:
        raise ValueError


# By schema: version, command, and a check that raises for malformed parts.
_KNOWN: dict[str, tuple[int, str, Callable[[Mapping[str, Any]], None]]] = {
    FLEET: (2, "fleet", _check_fleet),
    COMPARISON: (2, "compare", _check_comparison),
}
