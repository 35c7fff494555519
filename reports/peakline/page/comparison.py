"""The page of a comparison: what `peakline compare` says, in pictures and tables."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from peakline import units
from peakline.page.document import page
from peakline.page.html import card, cell, escape, figure, folded, table
from peakline.page.provenance import count
from peakline.page.sections import contents, picture
from peakline.pictures.comparison import ceiling_name, ratios, tally, verdict_name

# The document's own verdict, of everything.
_OVERALL = {
    "slower": "Slower",
    "unsteady": "Unsteady",
    "different": "Different",
    "cannot_judge": "Cannot judge",
    "faster": "Faster",
    "same": "The same",
}

_SEVERITY = {"fail": "error"}  # of a reason by its outcome; what cannot be judged is no error


def comparison_page(document: Mapping[str, Any]) -> str:
    """The page of what `peakline compare --json` printed (schema "peakline-comparison", version
    2)."""
    numbers = itertools.count(1)
    verdict = _OVERALL.get(document["verdict"], str(document["verdict"]))
    sides = [count(document[f"{side}_profiles"], "profile") for side in ("base", "new")]
    body = [
        f"<header><h1>Compared: {escape(verdict.lower())}</h1>"
        f'<p class="lead">base: {sides[0]}, new: {sides[1]}; changes below '
        f"{document['threshold'] * 100:g} % do not count. Ratios are new over base: above 1, new "
        f"is faster.</p>{_reasons(document)}</header>"
    ]
    entries = []
    for number, device in enumerate(document["devices"]):
        entries.append((f"device-{number}", str(device["base"]), True))
        body += _device(device, document["threshold"], number, numbers)
    return page(f"peakline: compared, {verdict.lower()}", "".join([contents(entries), *body]))


def _reasons(document: Mapping[str, Any]) -> str:
    """Losses, missing and failed figures, and those that only one side has."""
    rows = [
        (
            escape(reason["name"]),
            escape(f"{str(reason['code']).replace('_', ' ')}: {reason['text']}"),
            "info" if reason["allowed"] else _SEVERITY.get(reason["outcome"], "warning"),
        )
        for reason in document["gate"]["reasons"]
    ]
    for side in ("base", "new"):
        rows += [(escape(name), f"only in {side}", "info") for name in document[f"only_{side}"]]
    items = "".join(f'<li class="{kind}"><b>{name}</b> {text}</li>' for name, text, kind in rows)
    return f'<div class="findings"><ul>{items}</ul></div>' if items else ""


def _device(
    device: Mapping[str, Any], threshold: float, number: int, numbers: Iterator[int]
) -> Iterator[str]:
    base, new = device["base"], device["new"]
    heading = base if base == new else f"{base} against {new}"
    yield f'<h2 id="device-{number}">{escape(heading)}</h2>'
    if not device["same_model"]:
        yield "<p>Two models: their ratios are facts about them, not verdicts.</p>"
    elif device["shared_host"]:
        yield "<p>Not judged: a virtual machine's neighbours use its CPUs and memory too.</p>"
    drawn = ratios(device, threshold)
    if drawn:
        yield picture(drawn, numbers, f"at-ratios-{number}")
        yield _ceilings(device, f"ceilings-{number}")
    yield from _curves(device, f"curves-{number}")
    yield from _differences(device, f"differences-{number}")


def _ratio(value: float | None) -> str:
    return figure(value, "{:.3f}".format)


def _ceilings(device: Mapping[str, Any], identity: str) -> str:
    heads = ["ceiling", "base", "new", "ratio", "from", "to", "verdict", "why"]
    rows = [
        [
            cell(ceiling_name(row)),
            *(
                figure(row[side]["value"], functools.partial(units.rate, unit=row["unit"]))
                for side in ("base", "new")
            ),
            _ratio(row["ratio"]),
            _ratio(row["ratio_low"]),
            _ratio(row["ratio_high"]),
            cell(verdict_name(row["verdict"])),
            cell(row.get("why") or ""),
        ]
        for row in device["ceilings"]
    ]
    return card("ceiling-table", f"<h3>Ceilings in figures</h3>{table(identity, heads, rows)}")


def _curves(device: Mapping[str, Any], identity: str) -> Iterator[str]:
    if not device["curves"]:
        return
    heads = ["curve", "median ratio", "from", "to", "verdict", "where it parts"]
    rows = [
        [
            cell(row["id"]),
            _ratio(row["median_ratio"]),
            _ratio(row.get("ratio_low")),
            _ratio(row.get("ratio_high")),
            cell(verdict_name(row["verdict"])),
            cell(f"{part['from']} to {part['to']}" if (part := row.get("parts")) else ""),
        ]
        for row in device["curves"]
    ]
    summary = f"{count(len(rows), 'curve')}: {tally(device['curves'])}"
    yield card("curves", folded(summary, table(identity, heads, rows)))


def _differences(device: Mapping[str, Any], identity: str) -> Iterator[str]:
    rows = [
        [cell(row["what"]), cell(row["base"]), cell(row["new"])] for row in device["differences"]
    ]
    for side in ("base", "new"):
        rows += [
            [cell("measured"), *(cell(name if side == of else "–") for of in ("base", "new"))]
            for name in device[f"only_{side}"]
        ]
    if rows:
        heads = ["what differs", "base", "new"]
        yield card("differences", f"<h3>What else differs</h3>{table(identity, heads, rows)}")
