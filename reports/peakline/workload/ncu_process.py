"""Prints the launches in a report of Nsight Compute, by NVIDIA's package: a line of JSON each.

A process of its own, since the package ends the process at some damaged reports.
"""

import dataclasses
import json
import math
import os
import sys
from collections.abc import Iterator
from typing import Any

from peakline.workload.counters import is_amount, is_wanted
from peakline.workload.ncu import MODEL, Launch
from peakline.workload.numbers import checked, unit_scale

_CAPABILITY = "device__attribute_compute_capability_"
_TEXT = 2  # highest kind of metric that is text


def main(path: str) -> None:
    results = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # the package may print
    try:
        import ncu_report

        for launch in _reported(ncu_report.load_report(path)):
            print(json.dumps(dataclasses.astuple(launch)), file=results)
        results.close()
    except (RuntimeError, OSError, LookupError, AttributeError, TypeError, ValueError) as error:
        sys.exit(str(error))


def _reported(report: Any) -> Iterator[Launch]:
    for number in range(report.num_ranges()):
        part = report.range_by_idx(number)
        for place in range(part.num_actions()):
            action = part.action_by_idx(place)
            names = action.metric_names()
            metrics = {n: _value(action.metric_by_name(n), n) for n in names if is_wanted(n)}
            major, minor = (
                action.metric_by_name(_CAPABILITY + which).as_uint64()
                if _CAPABILITY + which in names
                else None
                for which in ("major", "minor")
            )
            capability = None if major is None or minor is None else major + minor / 10
            model = action.metric_by_name(MODEL).as_string() if MODEL in names else ""
            called = action.name(action.NameBase_DEMANGLED)
            if not called:
                raise ValueError("a kernel without a name")
            yield Launch(called, capability, model or "", metrics)


def _value(metric: Any, name: str) -> float | None:
    """A metric in its base unit; None if the report has no number."""
    if not metric.has_value() or metric.kind() <= _TEXT:
        return None
    value = float(metric.as_double())
    if not math.isfinite(value):
        return None
    try:
        scaled = checked(value * unit_scale(metric.unit()) if is_amount(name) else value)
    except ValueError as error:
        raise ValueError(f"{name} is {value:g} {metric.unit()}") from error
    if scaled < 0 and is_amount(name):
        raise ValueError(f"{name} is {value:g}, but a count cannot be negative")
    return scaled


if __name__ == "__main__":
    main(sys.argv[1])
