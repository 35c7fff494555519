"""Reports of NVIDIA's tools in their own formats, which their own programs and packages read."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peakline.profile import printable, shown_path
from peakline.workload.counters import is_amount, is_wanted
from peakline.workload.kernel import Kernel, WorkloadError
from peakline.workload.model import Trace
from peakline.workload.ncu import MODEL, RAW_PAGE, Launch, kernels_of
from peakline.workload.nsight import read_nsight
from peakline.workload.numbers import unit_scale

NCU_REPORT = b"NVR\0"  # the first bytes of one
NSYS_SUFFIXES = (".nsys-rep", ".qdrep")
_CAPABILITY = "device__attribute_compute_capability_"
_TEXT = 2  # kind of a metric
_MOST_S = 1800  # of an export


def read_ncu_report(path: str | os.PathLike[str]) -> list[Kernel]:
    """The kernels of a report of Nsight Compute. Raises WorkloadError."""
    name = shown_path(path)
    try:
        import ncu_report  # brings 50 MB, so it is an extra
    except ImportError as error:
        raise WorkloadError(
            f"{name}: a report of ncu needs NVIDIA's package: pip install 'peakline[ncu]' (or "
            f"ncu-report); or export it with {RAW_PAGE.replace('REPORT.ncu-rep', Path(name).name)}"
        ) from error
    try:
        return kernels_of(_launches(ncu_report.load_report(os.fspath(path))), name)
    except (RuntimeError, OSError, LookupError) as error:
        raise WorkloadError(f"{name}: not a report of ncu: {printable(str(error))}") from error


def _launches(report: Any) -> Iterator[Launch]:
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
            yield Launch(called, capability, model or "", metrics)


def _value(metric: Any, name: str) -> float | None:
    """A metric in its base unit; None where the report has no number for it."""
    if not metric.has_value() or metric.kind() <= _TEXT:
        return None
    value = float(metric.as_double())
    if not math.isfinite(value):
        return None
    try:
        return value * unit_scale(metric.unit()) if is_amount(name) else value
    except ValueError as error:
        raise LookupError(f"{name} has the unit {metric.unit()!r}") from error


def read_nsys_report(path: str | os.PathLike[str]) -> Trace:
    """The trace in a report of Nsight Systems, by `nsys export`. Raises WorkloadError."""
    name, given = shown_path(path), os.path.abspath(path)
    with tempfile.TemporaryDirectory(prefix="peakline-") as folder:
        target = os.path.join(folder, "report.sqlite")
        command = ["nsys", "export", "--type", "sqlite", "--output", target, given]
        if shutil.which("nsys") is None:
            raise WorkloadError(
                f"{name}: a report of Nsight Systems, and nsys, which reads it, is not on PATH: "
                f"export it with nsys export --type sqlite {Path(name).name}"
            )
        try:
            done = subprocess.run(command, capture_output=True, timeout=_MOST_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WorkloadError(f"{name}: nsys export: {error}") from error
        if done.returncode or not os.path.exists(target):
            said = printable((done.stderr or done.stdout).decode("utf-8", "replace").strip())
            raise WorkloadError(f"{name}: nsys export failed: {said[-300:] or 'no message'}")
        return read_nsight(target, name)
