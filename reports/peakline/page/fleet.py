"""The page of a fleet: one strip a ceiling, a mark a device, each to be found by its name."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from peakline import units
from peakline.page.document import page
from peakline.page.html import cell, escape, table

ENDS = ("lowest", "highest")
# Reaches are in percent. Further out is broken, however far.
REACHES = (2, 4, 10, 20)
BASES = {"measured": "", "model_burst": " model-burst", "model_shaped": " model-shaped"}


def fleet_page(document: Mapping[str, Any]) -> str:
    """The page of what `peakline fleet --json` printed (schema "peakline-fleet", version 2)."""
    groups = document["groups"]
    title = f"A fleet of {_count(groups)}"
    names = sorted({m["node"] for group in groups for m in group["members"]})
    options = "".join(f'<option value="{escape(name)}">' for name in names)
    body = [
        f"<header><h1>{escape(title)}</h1>"
        f'<p class="lead">{escape(_profiles(document))} A mark is a device; it lies where its '
        "figure does, left of the line if it is lower than the median of its peers. Red is an "
        "outlier, named where it lies furthest out; what lies further out than the scale is at its "
        "edge. The darker band holds the middle half of the devices, the lighter one nine tenths. "
        "The figure at the right is the median.</p>"
        '<p><label>Find a machine: <input type="search" list="nodes" data-find></label> '
        f'<span data-found></span></p><datalist id="nodes">{options}</datalist></header>'
    ]
    for number, group in enumerate(groups):
        body.append(_group(group, number))
    return page(f"peakline: {title}", "".join(body), "fleet.js")


def _count(groups: Sequence[Mapping[str, Any]]) -> str:
    # A device that was measured in several modes is in several groups.
    gpus = {m["uuid"] for g in groups if _kind(g) == "GPUs" for m in g["members"]}
    nodes = {m["node"] for g in groups for m in g["members"]}
    devices = f"{_of(len(gpus), 'GPU')} in " if gpus else ""
    return devices + _of(len(nodes), "machine")


def _of(count: int, what: str) -> str:
    """ "1 GPU", "2 GPUs"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _profiles(document: Mapping[str, Any]) -> str:
    older = document["superseded"]
    text = f"From {_of(document['profiles'], 'profile')}"
    left_out = f"; {_of(older, 'older run')} of these devices left out" if older else ""
    return f"{text}{left_out}."


def _kind(group: Mapping[str, Any]) -> str:
    kinds = {"host": "hosts", "node": "nodes"}
    return next((kinds[m["uuid"]] for m in group["members"] if m["uuid"] in kinds), "GPUs")


def label(group: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The name of a ceiling: "BF16 Tensor Cores burst"."""
    name = group["labels"].get(row["resource"], row["resource"])
    return f"{name}{BASES.get(row['basis'], ' ' + row['basis'])}"


def _group(group: Mapping[str, Any], number: int) -> str:
    # Failed and missing figures come first: no strip shows them.
    unsound = sorted(
        (member for member in group["members"] if not member["sound"]),
        key=lambda member: not _incomplete(member),
    )
    heading = f"{group['model']}, {group['mode']} runs: {len(group['members'])} {_kind(group)}"
    parts = [f"<h2>{escape(heading)}</h2>"]
    if not group["judged"]:
        parts.append("<p>Not judged: hosts that virtual machines share.</p>")
    elif not unsound:
        parts.append("<p>None falls behind its peers.</p>")
    if unsound:
        rows = [
            [cell(f"{member['node']} {member['device']}"), cell("; ".join(member["reasons"]))]
            for member in unsound
        ]
        heads = ("Device", "What is wrong")
        parts.append(f'<section class="card">{table(f"unsound-{number}", heads, rows)}</section>')
    parts.append(f'<section class="card strips" data-picture="strips">{_strips(group)}</section>')
    return "".join(parts)


def _incomplete(member: Mapping[str, Any]) -> bool:
    """Whether a device lacks a figure that others have, or reports an error."""
    return any(rule["code"] in ("health", "missing", "unusable") for rule in member["rules"])


def _strips(group: Mapping[str, Any]) -> str:
    """A line a ceiling, and what the script draws in it.

    The data, not the marks, are in the page: eight thousand devices have a third of a million.
    """
    columns = {
        (row["resource"], row["basis"]): position for position, row in enumerate(group["ceilings"])
    }
    values: list[list[float | None]] = [[None] * len(group["members"]) for _ in columns]
    low: list[list[int]] = [[] for _ in columns]
    named: list[list[int]] = [[] for _ in columns]
    for index, member in enumerate(group["members"]):
        furthest: tuple[float, int] | None = None
        for row in member["ceilings"]:
            column = columns[row["resource"], row["basis"]]
            values[column][index] = round(row["deviation"] * 100, 2)  # in hundredths of a percent
            if row["standing"] in ("low", "unsteady"):
                low[column].append(index)
                furthest = min(furthest or (math.inf, 0), (row["deviation"], column))
        # In every strip its name would be all that one sees.
        if furthest:
            named[furthest[1]].append(index)
    reach = _reach(group)
    ticks = "".join(f"<span>{_percent(reach * step / 2)}</span>" for step in range(-2, 3))
    lines = [f'<div class="strip"><span></span><div class="ticks">{ticks}</div><span></span></div>']
    strips = []
    for position, row in enumerate(group["ceilings"]):
        median = row["median"]
        share = [round((row[key] / median - 1) * 100, 3) for key in ("p5", "p25", "p75", "p95")]
        marks = {"values": values[position], "low": low[position], "named": named[position]}
        strips.append({"band": share, **marks})
        lines.append(
            f'<div class="strip"><span>{escape(label(group, row))}</span>'
            f'<canvas role="img" aria-label="{escape(_said(row))}"></canvas>'
            f"<span>{escape(units.rate(median, row['unit']))}</span></div>"
        )
    names = [f"{member['node']} {member['device']}" for member in group["members"]]
    nodes = [member["node"] for member in group["members"]]
    data = json.dumps(
        {"names": names, "nodes": nodes, "reach": reach, "strips": strips}, separators=(",", ":")
    )
    # "<" ends no script where it is written as JSON may write it.
    return (
        "".join(lines)
        + f'<script type="application/json">{data.replace("<", chr(92) + "u003c")}</script>'
    )


def _reach(group: Mapping[str, Any]) -> int:
    """The range of the strips in percent to either side; marks further out stand at the edge."""
    furthest = max(
        (abs(row[end] / row["median"] - 1) for row in group["ceilings"] for end in ENDS), default=0
    )
    return next((reach for reach in REACHES if furthest * 100 <= reach), REACHES[-1])


def _percent(value: float) -> str:
    return "median" if value == 0 else f"{value:+g} %".replace("-", "−")


def _said(row: Mapping[str, Any]) -> str:
    lowest, highest = ((row[key] / row["median"] - 1) * 100 for key in ("lowest", "highest"))
    return (
        f"{row['devices']} devices from {lowest:+.1f} % to {highest:+.1f} % of the median, "
        f"{row['low']} of them outliers below it"
    )
