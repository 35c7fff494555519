"""What differs between documents: what measurements have in common, and the first version of the
schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from peakline.names import plain_label
from peakline.profile.conclusions import Ceiling, Resource
from peakline.profile.errors import FieldError

DEFAULTS = "measurement_defaults"
POINTS = "points"
# Each measurement gets what it has in common with others: a handful of short values.
MAX_SHARED_BYTES = 1024


def upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """A document of schema version 1 as a later one, where what is not known is left out."""
    shared = {"measurements": document.get(DEFAULTS)}
    later: dict[str, Any] = {"resources": [], "curves": [], "headlines": []}
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


def flat(document: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A checked document in which each measurement says all by itself, and where each stood.

    A measurement takes over what it leaves out from what stands beside the `points` that it is one
    of, then from the defaults. A null says that there is none in spite of them.
    """
    shared = _bounded(document.get(DEFAULTS, {}), DEFAULTS)
    rows, places = [], []
    for index, element in enumerate(document["measurements"]):
        place = f"measurements[{index}]"
        if POINTS not in element:
            rows.append(_known(_merged(shared, element)))
            places.append(place)
            continue
        group = {key: value for key, value in element.items() if key != POINTS}
        common = _merged(shared, _bounded(group, place))
        rows += [_known(_merged(common, point)) for point in element[POINTS]]
        places += [f"{place}.{POINTS}[{k}]" for k in range(len(element[POINTS]))]
    return {**document, "measurements": rows}, places


def _bounded(shared: dict[str, Any], place: str) -> dict[str, Any]:
    text = json.dumps(shared, separators=(",", ":"), ensure_ascii=False)
    if len(text.encode()) > MAX_SHARED_BYTES:
        raise FieldError(f"expected at most {MAX_SHARED_BYTES} bytes in common", place)
    return shared


def _merged(shared: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` over `shared`, and its conditions over those."""
    result = {**shared, **row}
    if "conditions" in shared:
        result["conditions"] = {**shared["conditions"], **row.get("conditions", {})}
    return result


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    result = {key: value for key, value in row.items() if value is not None}
    if "conditions" in result:
        result["conditions"] = _known(result["conditions"])
    return result


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
