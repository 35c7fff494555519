"""What `peakline fleet --json` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peakline.profile import ProfileError, shown_path
from peakline.profile.document import parse
from peakline.profile.errors import FieldError
from peakline.profile.inputs import Limit, opened

SCHEMA, VERSION = "peakline-fleet", 1


# Some 10,000 cards.
_MOST = Limit(128 << 20, "fleet")
_MOST_OBJECTS = 1 << 22


def read_fleet(path: str | Path) -> dict[str, Any] | None:
    """The document in a file; None where it is another one, such as a profile.

    Raises ProfileError where it cannot be read, is of another version, or its parts are not what
    they should be.
    """
    with opened(path, _MOST, ProfileError) as file:
        if SCHEMA.encode() not in file.peek():  # its first key; a profile may be large
            return None
        try:
            document = parse(file.read(), _MOST_OBJECTS)
        except FieldError as error:
            raise ProfileError(f"{shown_path(path)}: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        return None
    if document.get("schema_version") != VERSION:
        raise ProfileError(f"{path}: expected version {VERSION} of {SCHEMA}")
    try:
        for group in document["groups"]:
            known = {(row["resource"], row["basis"]) for row in group["ceilings"]}
            for row in group["ceilings"]:
                if not row["median"] > 0:
                    raise ValueError
            for member in group["members"]:
                for row in member["ceilings"]:
                    if (row["resource"], row["basis"]) not in known or not row["deviation"] > -1:
                        raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ProfileError(f"{path}: not what peakline fleet --json prints") from None
    return document
