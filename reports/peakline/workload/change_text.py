"""What changed between two runs, for a terminal and as a JSON document."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from peakline import units
from peakline.workload.change import INTO, Change, Row, Taken, lengths
from peakline.workload.labels import shortened
from peakline.workload.part import Part

_WORTH = 0.005  # of the step before
_NAME = 44  # characters


def signed(seconds: float) -> str:
    """A change of time: "+12.3 µs"."""
    return f"{'+' if seconds > 0 else ''}{units.time(seconds)}"


def share(value: float) -> str:
    """A change as a share: "-12.3 %"."""
    return f"{'+' if value > 0 else ''}{units.percent(value)}"


def headline(change: Change) -> str:
    """How the step changed and what changed most, without its full stop."""
    before, after = change.before, change.after
    one = "A step" if after.one == "step" else f"The {after.one}"
    text = f"{one} takes {units.time(after.step_s)} instead of {units.time(before.step_s)}"
    if not change.change_s:
        return text
    text += f", {share(change.share)}"
    if change.overlap and before.steps + after.steps > 2:
        return f"{text}, within the scatter of the steps"
    same_way = [row for row in change.parts if row.change_s * change.change_s > 0]
    largest = max(same_way, key=lambda row: abs(row.change_s))
    return f"{text}; most of it is {Part(largest.name).label}, {signed(largest.change_s)}"


def spread(change: Change) -> str:
    """How the steps of each run scatter."""
    found = []
    for side, run in (("Before", change.before), ("after", change.after)):
        low, high = lengths(run)
        steps = f"{run.steps} {run.one}{'' if run.steps == 1 else 's'}"
        span = units.time(low) if run.steps == 1 else f"{units.time(low)} to {units.time(high)}"
        found.append(f"{side}: {steps}, {span}")
    return "; ".join(found) + "."


def worth(change: Change, rows: Sequence[Row]) -> tuple[list[Row], float]:
    """The rows whose change matters, and the sum of the other changes."""
    least = _WORTH * change.before.step_s
    shown = [row for row in rows if abs(row.change_s) >= least]
    return shown, sum(row.change_s for row in rows if abs(row.change_s) < least)


def cells(taken: Taken | None) -> tuple[str, str]:
    """The time and launches of one side; dashes where it has none."""
    if taken is None:
        return "–", "–"
    return units.time(taken.seconds), f"{taken.launches:.4g}" if taken.launches else ""


def _table(title: str, rows: Sequence[Row], names: Sequence[str], rest: float = 0.0) -> list[str]:
    """Rows with their names; rest: the change of those that are not among them."""
    if not rows:
        return []
    launches = any(side and side.launches for row in rows for side in (row.before, row.after))
    more = f"{'launches':>15}" if launches else ""
    found = [f"{title:{_NAME}}{'before':>10}{'after':>10}{'change':>11}{more}"]
    for row, name in zip(rows, names, strict=True):
        (old, many), (new, now) = cells(row.before), cells(row.after)
        counts = f"{many if many == now else f'{many} to {now}':>15}" if launches else ""
        found.append(f"{name:{_NAME}}{old:>10}{new:>10}{signed(row.change_s):>11}{counts}")
        if row.note and row.before and row.after:
            found += textwrap.wrap(row.note, 80, initial_indent="  ", subsequent_indent="  ")
    if rest:
        found.append(f"{'all others':{_NAME}}{'':>20}{signed(rest):>11}")
    return [*found, ""]


def lines(change: Change, width: int) -> list[str]:
    """All that a terminal gets of a change."""

    def wrapped(text: str) -> str:
        return textwrap.fill(text, max(width, 40), break_long_words=False)

    whole = Row("", Taken(change.before.step_s), Taken(change.after.step_s))
    labels = [*(Part(row.name).label for row in change.parts), f"the {change.after.one}"]
    kernels, rest = worth(change, change.kernels)
    short = shortened((row.name for row in change.kernels), _NAME - 1)
    modules, _ = worth(change, change.modules)
    indented = [f"{'  ' * row.name.count(INTO)}{row.name.split(INTO)[-1]}" for row in modules]
    return [
        wrapped(f"{headline(change)}."),
        wrapped(spread(change)),
        "",
        *_table(f"part of a {change.after.one}", [*change.parts, whole], labels),
        *_table("module", modules, [name[: _NAME - 1] for name in indented]),
        *_table("kernel", kernels, [short[row.name] for row in kernels], rest),
        *(wrapped(finding.text) for finding in change.findings),
        "",
    ]


def document(change: Change) -> dict[str, Any]:
    """The change in base SI units; times are of a step on average, what a run lacks is left out."""
    sides = {"before": change.before, "after": change.after}
    return {
        "schema": "peakline-change",
        "schema_version": 1,
        "profile": change.before.profile.path,
        "headline": headline(change),
        "change_s": change.change_s,
        "share": change.share,
        "steps_overlap": change.overlap,
        **{
            side: {
                "traces": [rank.timeline.trace.name for rank in run.ranks],
                "step_s": run.step_s,
                "steps": run.steps,
                "shortest_s": lengths(run)[0],
                "longest_s": lengths(run)[1],
                "idle": run.idle,
            }
            for side, run in sides.items()
        },
        "parts": [
            {**_row(row), "label": Part(row.name).label, "idle": Part(row.name).is_idle}
            for row in change.parts
        ],
        "modules": [_row(row) for row in change.modules],
        "kernels": [_row(row) for row in change.kernels],
        "findings": [
            {"code": finding.code, "severity": finding.severity, "text": finding.text}
            for finding in change.findings
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    sides = {"before": row.before, "after": row.after}
    return {
        "name": row.name,
        "change_s": row.change_s,
        **{
            side: {"time_s": taken.seconds}
            | ({"launches": taken.launches} if taken.launches else {})
            for side, taken in sides.items()
            if taken
        },
        **({"note": row.note} if row.note else {}),
        **({} if row.comparable else {"comparable": False}),
    }
