"""The schemas of documents, and whether a document that a test made follows its own."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import fastjsonschema
except ImportError:  # the users' build needs only pytest
    fastjsonschema = None

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    **{file.stem: file for file in sorted((ROOT / "harness/documents/schemas").glob("*.json"))},
    **{kind: ROOT / f"reports/peakline/{kind}.schema.json" for kind in ("profile", "population")},
}


@functools.cache
def validator(kind: str) -> Callable[[Any], Any]:
    """Raises JsonSchemaValueException for what is no document of the kind."""
    validate: Callable[[Any], Any] = fastjsonschema.compile(json.loads(FILES[kind].read_text()))
    return validate


def checked(document: Any) -> Any:
    """The document, if it follows the schema that it names."""
    if fastjsonschema is not None:
        validator(document["schema"].removeprefix("peakline-"))(document)
    return document
