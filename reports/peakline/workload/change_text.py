"""Changes between two runs, for a terminal and as a JSON document."""

from collections.abc import Sequence
from typing import Any

from peakline import units
from peakline.workload.change import INTO, Change, Row, Taken, lengths
from peakline.workload.part import Part
from peakline.workload.step_text import wrapped
from peakline.workload.table import Line, Table, printed

_WORTH = 0.005  # of the step before


def signed(seconds: float) -> str:
    """A change of time: "+12.3 µs"."""
    return f"{'+' if seconds > 0 else ''}{units.time(seconds)}"


def share(value: float) -> str:
    """A change as a share: "-12.3 %"."""
    return f"{'+' if value > 0 else ''}{units.percent(value)}"


def headline(change: Change) -> str:
    """The step's change and its largest part, without a full stop."""
    before, after = change.before, change.after
    one = "A step" if after.one == "step" else f"The {after.one}"
    if not change.change_s:
        return f"{one} takes {units.time(after.step_s)}{after.mean} in both runs"
    text = f"{one} takes {units.time(after.step_s)} instead of {units.time(before.step_s)}"
    text += after.mean
    text += f", {share(change.share)}"
    if change.overlap and before.steps + after.steps > 2:
        return f"{text}, within the scatter of the steps"
    same_way = [row for row in change.parts if row.change_s * change.change_s > 0]
    largest = max(same_way, key=lambda row: abs(row.change_s))
    return f"{text}; most of it is {Part(largest.name).label}, {signed(largest.change_s)}"


def spread(change: Change) -> str:
    found = []
    for side, run in (("Before", change.before), ("after", change.after)):
        low, high = lengths(run)
        steps = units.counted(run.steps, run.one)
        span = units.time(low) if run.steps == 1 else f"{units.time(low)} to {units.time(high)}"
        found.append(f"{side}: {steps}, {span}")
    return "; ".join(found) + "."


def tables(change: Change, least: float = 0.0) -> list[Table]:
    """Parts, modules and kernels. least: of modules and kernels, the smallest share to show."""
    least *= change.before.step_s
    parts = [_line(change, row, Part(row.name).label) for row in change.parts]
    whole = Row("", Taken(change.before.step_s), Taken(change.after.step_s))
    modules = [row for row in change.modules if abs(row.change_s) >= least]
    kernels = [row for row in change.kernels if abs(row.change_s) >= least]
    rest = sum(row.change_s for row in change.kernels if abs(row.change_s) < least)
    others = [Line("all others", (None, None, rest, rest / change.before.step_s))] if rest else []
    one = change.after.one
    return [
        _table("parts", f"part of a {one}", [*parts, _line(change, whole, f"the {one}")]),
        _table(
            "modules",
            "module",
            [_line(change, r, "  " * r.name.count(INTO) + r.name.split(INTO)[-1]) for r in modules],
        ),
        _table("kernels", "kernel", [*(_line(change, r, r.name) for r in kernels), *others]),
    ]


def _table(what: str, head: str, lines: Sequence[Line]) -> Table:
    return Table(
        f"change-{what}",
        f"Change of {what}",
        (head, "before", "after", "change", "of the step"),
        (units.time, units.time, signed, share),
        tuple(lines),
        "Times are of a step on average, over all ranks; shares are of the step before.",
    )


def _line(change: Change, row: Row, name: str) -> Line:
    sides = (side.seconds if side else None for side in (row.before, row.after))
    launches = [f"{side.launches:.4g}" if side else "0" for side in (row.before, row.after)]
    note = row.note if row.before and row.after else ""
    if launches[0] != launches[1]:
        note = f"{' to '.join(launches)} launches{f'; {note}' if note else ''}"
    return Line(name, (*sides, row.change_s, row.change_s / change.before.step_s), note)


def lines(change: Change, width: int) -> list[str]:
    """The whole text for a terminal."""
    texts = [f"{headline(change)}.", spread(change), *(found.text for found in change.findings)]
    return [
        *(line for text in texts for line in wrapped(text, width)),
        "",
        *(line for table in tables(change, _WORTH) for line in printed(table, width)),
    ]


def document(change: Change) -> dict[str, Any]:
    """The change in base SI units; times are means per step, and missing values are left out."""
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
