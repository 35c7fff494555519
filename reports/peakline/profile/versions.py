"""What differs between documents: defaults of measurements, and the first version of the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from peakline.names import plain_label
from peakline.profile.conclusions import Ceiling, Resource
from peakline.profile.errors import FieldError

DEFAULTS = "measurement_defaults"
# They are a handful of short values; each measurement gets them.
MAX_DEFAULTS_BYTES = 1024


def upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """A document of schema version 1 as one of version 2, where what is not known is left out."""
    shared = {"measurements": document.get(DEFAULTS)}
    later = {"schema_version": 2, "resources": [], "curves": [], "headlines": []}
    return {**_without_nulls(document, shared), **later}


def _without_nulls(value: Any, shared: Any) -> Any:
    """Without members that are null, except where `shared` has a value that the null overrides."""
    if isinstance(value, list):
        return [_without_nulls(inner, shared) for inner in value]
    if not isinstance(value, dict):
        return value
    known = shared if isinstance(shared, dict) else {}
    return {
        key: _without_nulls(inner, known.get(key))
        for key, inner in value.items()
        if inner is not None or key in known
    }


def with_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """A checked document with its defaults in every measurement that does not say else."""
    shared = document.get(DEFAULTS, {})
    text = json.dumps(shared, separators=(",", ":"), ensure_ascii=False)
    if len(text.encode()) > MAX_DEFAULTS_BYTES:
        raise FieldError(f"expected at most {MAX_DEFAULTS_BYTES} bytes", DEFAULTS)
    rows = [_merged(shared, row) for row in document["measurements"]]
    return {**document, "measurements": rows}


def _merged(shared: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` over `shared`; a null says that there is none in spite of the default."""
    result = {**shared, **row}
    if isinstance(shared.get("conditions"), dict):
        result["conditions"] = _merged(shared["conditions"], row.get("conditions") or {})
    return {key: value for key, value in result.items() if value is not None}


def derived_resources(ceilings: Sequence[Ceiling]) -> tuple[Resource, ...]:
    """The resources of a version 1 file, which does not list them, in the order of its ceilings."""
    return tuple(
        Resource(
            name=name,
            label=plain_label(name),
            unit=unit,
            kind="memory" if unit == "B/s" else "compute",
            precision="" if unit == "B/s" else name.rpartition(".")[2],
        )
        for name, unit in {c.resource: c.unit for c in ceilings}.items()
    )
