"""Versions of files, and what makes an earlier one the newest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peakline.profile import schema
from peakline.profile.errors import FieldError, expected, shown

# Makes a file of one version one of the next. The result is checked afterwards, so it may leave
# malformed values alone.
Conversion = Callable[[dict[str, Any]], None]
# By the version that it converts, from the oldest one that is read to the one before the newest.
# Each new version adds one, here and in harness/profile/versions.hpp.
CONVERSIONS: dict[schema.Kind, dict[int, Conversion]] = {"profile": {}, "population": {}}


def update(document: dict[str, Any], kind: schema.Kind) -> None:
    """Converts a file to the newest version. Raises FieldError if its own is not read."""
    newest = schema.document(kind)["properties"]["schema_version"]["const"]
    conversions = CONVERSIONS[kind]
    version: Any = document.get("schema_version")
    # JSON does not distinguish 1 from 1.0.
    if type(version) not in (int, float) or version < 1 or version % 1:
        raise expected(str(newest), version, "schema_version")
    oldest = min(conversions, default=newest)
    if version < oldest:
        revision = schema.document(kind).get("x-earlier-versions-read-by")
        advice = f": revision {revision} reads it" if revision else ""
        raise FieldError(
            f"{shown(version)} is older than the {oldest} that this peakline reads{advice}",
            "schema_version",
        )
    if version > newest:
        raise FieldError(
            f"{shown(version)} is newer than the {newest} that this peakline reads: "
            "update the peakline package",
            "schema_version",
        )
    for made in range(int(version), newest):
        conversions[made](document)
    document["schema_version"] = newest
