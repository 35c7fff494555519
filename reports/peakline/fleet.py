"""What `peakline fleet --json` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from peakline.profile import ProfileError

SCHEMA, VERSION = "peakline-fleet", 1


def read_fleet(path: str | Path) -> dict[str, Any] | None:
    """The document in a file; None where it is another one, such as a profile, or unreadable.

    Raises ProfileError where it is of another version, or its parts are not what they should be.
    """
    try:
        document = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
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
