"""The page of a fleet: slow devices, and a strip per ceiling with a mark per device."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from peakline import units
from peakline.limits.ceilings import ceiling_label
from peakline.page.answers import verdict
from peakline.page.html import card, cell, escape, table
from peakline.page.pages import page
from peakline.page.sections import folded_group
from peakline.pictures import with_signs

ENDS = ("lowest", "highest")
# Ranges of a strip, in percent; larger deviations are broken devices.
REACHES = (0.5, 1, 2, 5, 10, 20)
# Outcomes by severity, and their printed names.
WORDS = {"fail": "FAIL", "cannot_judge": "CANNOT JUDGE", "warn": "WARN", "pass": "PASS"}
_DRIFT = "Drift of the stack"
_FLAT = 2.0  # percent; devices within this of their median are uninteresting
_LOOKS = {"fail": "error"}
# Codes of devices that lack a figure or report an error.
_INCOMPLETE = {"health", "missing", "unusable"}


def fleet_page(document: Mapping[str, Any]) -> str:
    """The page of `peakline fleet --json` (schema "peakline-fleet", version 2)."""
    # Those with a failure come first.
    groups = sorted(
        document["groups"],
        key=lambda group: not any(member["verdict"] == "fail" for member in group["members"]),
    )
    title = f"A fleet of {_count(groups)}"
    names = sorted({m["node"] for group in groups for m in group["members"]})
    options = "".join(f'<option value="{escape(name)}">' for name in names)
    outcome = str(document["verdict"])
    body = [
        f"<header><h1>{escape(title)}</h1>"
        f"{verdict(WORDS[outcome], outcome, str(document.get('sentence', '')))}"
        f'<p class="lead">{escape(_profiles(document))}</p>'
        '<p><label>Find a machine: <input type="search" list="nodes" data-find></label> '
        f'<span data-found></span></p><datalist id="nodes">{options}</datalist></header>'
    ]
    entries = []
    # Older documents have none.
    if drift := document.get("drift"):
        entries.append(("drift", _DRIFT, True))
        lines = "".join(f"<li>{escape(each['sentence'])}</li>" for each in drift)
        body.append(card("drift", f"<h2>{_DRIFT}</h2><ul>{lines}</ul>", "drift"))
    for number, group in enumerate(groups):
        entries.append((f"group-{number}", _heading(group), True))
        body.append(_group(group, number))
    return page(title, entries, body, "fleet.js")


def _count(groups: Sequence[Mapping[str, Any]]) -> str:
    # A device measured in several modes is in several groups.
    gpus = {m["uuid"] for g in groups if _kind(g) == "GPU" for m in g["members"]}
    nodes = {m["node"] for g in groups for m in g["members"]}
    devices = f"{units.counted(len(gpus), 'GPU')} in " if gpus else ""
    return devices + units.counted(len(nodes), "machine")


def _profiles(document: Mapping[str, Any]) -> str:
    older = document["superseded"]
    text = f"From {units.counted(document['profiles'], 'profile')}"
    left_out = f"; {units.counted(older, 'older run')} of these devices left out" if older else ""
    return f"{text}{left_out}."


def _kind(group: Mapping[str, Any]) -> str:
    """ "host", "node" or "GPU"."""
    kinds = (m["uuid"] for m in group["members"] if m["uuid"] in ("host", "node"))
    return next(kinds, "GPU")


def label(group: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The name of a ceiling: "BF16 Tensor Cores burst"."""
    return ceiling_label(group["labels"].get(row["resource"], row["resource"]), row["basis"])


def _heading(group: Mapping[str, Any]) -> str:
    members = units.counted(len(group["members"]), _kind(group))
    return with_signs(f"{group['model']}, {group['mode']} runs: {members}")


def _group(group: Mapping[str, Any], number: int) -> str:
    order = list(WORDS)
    # Failed and missing figures first: no strip shows them.
    unsound = sorted(
        (
            m
            for m in group["members"]
            if not m["sound"] or (group["judged"] and m["verdict"] != "pass")
        ),
        key=lambda m: (
            order.index(m["verdict"]),
            not _INCOMPLETE & {r["code"] for r in m["rules"]},
        ),
    )
    parts = [f'<h2 id="group-{number}">{escape(_heading(group))}</h2>']
    if not group["judged"]:
        parts.append("<p>Not judged: hosts that virtual machines share.</p>")
    elif len(group["members"]) == 1:
        known = group["members"][0]["verdict"] != "cannot_judge"
        judged = ": it was compared with healthy ones that peakline knows" if known else ""
        parts.append(f"<p>It has no peers here{judged}.</p>")
    elif not unsound:
        parts.append("<p>None falls behind its peers.</p>")
    if unsound:
        rows = [
            [
                cell(f"{member['node']} {member['device']}"),
                f'<td class="{_LOOKS.get(member["verdict"], "warning")}">'
                f"<b>{WORDS[member['verdict']]}</b></td>",
                cell("; ".join(member["reasons"])),
            ]
            for member in unsound
        ]
        heads = ("device", "verdict", "what is wrong")
        parts.append(card("unsound", table(f"unsound-{number}", heads, rows)))
    parts.append(_strips(group, number))
    return "".join(parts)


def _strips(group: Mapping[str, Any], number: int) -> str:
    """A line per ceiling, and the data that the script draws. Data take less room than marks: eight
    thousand devices have a third of a million."""
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
            # The program states no deviation of what it does not judge.
            deviation = row["value"] / group["ceilings"][column]["median"] - 1
            values[column][index] = round(deviation * 100, 2)  # in hundredths of a percent
            if row["standing"] in ("low", "unsteady"):
                low[column].append(index)
                furthest = min(furthest or (math.inf, 0), (deviation, column))
        # In every strip its name would be all that one sees.
        if furthest:
            named[furthest[1]].append(index)
    strips = []
    shown: list[str] = []
    flat: list[str] = []
    for position, row in enumerate(group["ceilings"]):
        median, reach = row["median"], _reach(row)
        marks = {"values": values[position], "low": low[position], "named": named[position]}
        strips.append({"bands": _bands(values[position], low[position]), "reach": reach, **marks})
        (shown if low[position] or reach > _FLAT else flat).append(
            f'<div class="strip"><span>{escape(label(group, row))}</span>'
            f'<canvas role="img" data-strip="{position}" aria-label="{escape(_said(row))}">'
            f"</canvas><span>{escape(units.rate(median, row['unit']))}"
            f"<small>scale ±{reach:g} %</small>{_worst(group, values[position], low[position])}"
            "</span></div>"
        )
    names = [f"{member['node']} {member['device']}" for member in group["members"]]
    nodes = [member["node"] for member in group["members"]]
    data = json.dumps({"names": names, "nodes": nodes, "strips": strips}, separators=(",", ":"))
    lines = "".join(shown)
    if flat:
        several = len(group["members"]) > 1
        within = f" within {_FLAT:g} % of the median" if several else ""
        lines += folded_group(
            f"flat-{number}",
            f"{units.counted(len(flat), 'ceiling')}{within}",
            "and without an outlier" if several else "without peers",
            "".join(flat),
            opened=not shown and several,
        )
    how = "" if number else f'<p class="how">{_HOW}</p>'  # once a page
    # "<" ends no script where it is written as JSON may write it.
    return (
        f'<section class="card strips" data-picture="strips">{how}{lines}'
        f'<script type="application/json">{data.replace("<", chr(92) + "u003c")}</script></section>'
    )


def _worst(group: Mapping[str, Any], values: Sequence[float | None], low: Sequence[int]) -> str:
    """The outlier that lies furthest below, and how far."""
    found = [(value, index) for index in low if (value := values[index]) is not None]
    if not found:
        return ""
    value, index = min(found)
    member = group["members"][index]
    text = f"{member['node']} {member['device']} {units.change(value / 100)}"
    return f'<small class="worst">{escape(text)}</small>'


_HOW = (
    "A mark is a device, left of the line where it is slower than the median of its peers. Each "
    "strip has its own scale; at the right is the median. Red is an outlier, named where it lies "
    "furthest out; a triangle at the edge lies beyond the scale. Without the outliers, the darker "
    "band holds the middle half of at least five devices, the lighter one nine tenths of at least "
    "twenty."
)

# The fewest devices without outliers for a band, and the share of them on either side of it.
_BANDS = ((20, 0.05), (5, 0.25))


def _bands(values: Sequence[float | None], low: Sequence[int]) -> list[tuple[float, float]]:
    """The bands of a strip, wide ones first: where most devices are that do not fall behind."""
    outliers = set(low)
    sound = sorted(v for i, v in enumerate(values) if v is not None and i not in outliers)

    def quantile(share: float) -> float:
        at, rest = divmod(share * (len(sound) - 1), 1)
        below = sound[int(at)]
        return round(below + rest * (sound[math.ceil(at + rest)] - below), 3)

    return [(quantile(s), quantile(1 - s)) for fewest, s in _BANDS if len(sound) >= fewest]


def _reach(row: Mapping[str, Any]) -> float:
    """The range of a strip in percent to either side; further out are triangles at the edge."""
    furthest = max(abs(row[end] / row["median"] - 1) for end in ENDS)
    return next((reach for reach in REACHES if furthest * 100 <= reach), REACHES[-1])


def _said(row: Mapping[str, Any]) -> str:
    lowest, highest = ((row[key] / row["median"] - 1) * 100 for key in ("lowest", "highest"))
    return (
        f"{row['devices']} devices from {lowest:+.1f} % to {highest:+.1f} % of the median, "
        f"{row['low']} of them outliers below it"
    )
