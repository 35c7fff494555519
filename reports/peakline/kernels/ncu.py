"""Exports of Nsight Compute: `ncu --csv`, page raw or details."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from peakline.kernels.kernel import Kernel, KernelsError, merge, short_name
from peakline.kernels.numbers import RANGE, parse_number, unit_scale

_CORE_COUNTERS = ",".join(
    f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum"
    for letter in "dfh"
    for op in ("add", "mul", "fma")
)
_TENSOR_COUNTERS = ",".join(
    f"sm__ops_path_tensor_src_{source}.sum"
    for source in ("bf16_dst_fp32", "fp16", "tf32_dst_fp32", "fp8", "fp64", "int8")
)
NCU_COMMAND = (
    "ncu --metrics gpu__time_duration.sum,dram__bytes.sum,lts__t_bytes.sum,l1tex__t_bytes.sum,"
    f"{_CORE_COUNTERS},{_TENSOR_COUNTERS} --clock-control none --cache-control none "
    "--csv --page raw --print-units base --log-file kernels.csv COMMAND"
)


_CORE = re.compile(
    r"(?P<derived>derived__)?(?P<prefix>smsp|sm)__sass_thread_inst_executed_op_"
    r"(?P<letter>[dfh])(?P<op>add|mul|fma)_pred_on(?P<weighted>_x\d)?"
    r"(?P<form>\.sum(?:\.per_cycle_elapsed|\.per_second)?)?"
)
_TENSOR = re.compile(
    r"sm__ops_path_tensor_(?P<op>op_[a-z0-9]+_)?src_(?P<source>[a-z0-9]+)"
    r"(?:_dst_(?P<target>[a-z0-9]+))?(?P<sparsity>_sparsity_o(?:n|ff))?"
    r"(?P<form>\.sum(?:\.per_cycle_elapsed|\.per_second)?)"
)
_LETTERS = {"d": "fp64", "f": "fp32", "h": "fp16"}
_BYTES = {"hbm": "dram__bytes", "l2": "lts__t_bytes", "l1": "l1tex__t_bytes"}
_TIME = "gpu__time_duration"
_FORMS = (".sum", ".sum.per_second", ".sum.per_cycle_elapsed")


@dataclass(slots=True)
class _Launch:
    """One launch in an ncu export: metric values in base units."""

    kernel: str
    metrics: dict[str, float] = field(default_factory=dict)

    def duration(self) -> float | None:
        for suffix in (".sum", ".avg", ".max"):
            if _TIME + suffix in self.metrics:
                return self.metrics[_TIME + suffix]
        return None

    def total(self, form: str, value: float) -> float | None:
        """A counter of the given form as a sum over the launch."""
        seconds = self.duration()
        if form == ".sum":
            return value
        if seconds is None:
            return None
        if form == ".sum.per_second":
            return value * seconds
        for prefix in ("smsp", "sm", "gpc"):
            rate = self.metrics.get(f"{prefix}__cycles_elapsed.avg.per_second")
            if rate is not None:
                return value * rate * seconds
        return None


def parse_ncu(text: str, name: str) -> list[Kernel]:
    launches = list(_ncu_launches(text, name))
    if not launches:
        raise KernelsError(
            f"{name}: an ncu export without a kernel: was anything profiled? Collect with\n"
            f"  {NCU_COMMAND}"
        )
    kernels = []
    for launch in launches:
        seconds = launch.duration()
        if seconds is None or seconds <= 0:
            raise _missing(name, launch.kernel, "its duration, gpu__time_duration.sum")
        flops = {**_core_flops(launch), **_tensor_flops(launch)}
        moved = _moved_bytes(launch)
        if not flops:
            raise _missing(name, launch.kernel, "FLOP counters")
        if not moved:
            raise _missing(name, launch.kernel, "byte counters, dram__bytes.sum")
        kernels.append(Kernel(short_name(launch.kernel), 1, seconds, flops, moved))
    return merge(kernels)


def _missing(name: str, kernel: str, what: str) -> KernelsError:
    return KernelsError(
        f"{name}: kernel {kernel[:80]!r} lacks {what}. Collect what is needed with\n  {NCU_COMMAND}"
    )


def _ncu_launches(text: str, name: str) -> Iterator[_Launch]:
    # Applications print between ncu's own lines; neither belongs to the table.
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("==")]
    header: list[str] | None = None
    scales: dict[str, str] = {}
    details: dict[tuple[str, str], _Launch] = {}
    for row in csv.reader(lines, strict=False):
        if "Kernel Name" in row and "ID" in row:
            yield from details.values()
            header, scales, details = row, {}, {}
            continue
        if header is None:
            continue
        identity = row[header.index("ID")].strip() if len(row) > header.index("ID") else ""
        if len(row) != len(header):
            if identity.isdigit():
                raise KernelsError(
                    f"{name}: the row of kernel {identity} has {len(row)} columns instead of "
                    f"{len(header)}: the file is truncated"
                )
            continue
        cells = dict(zip(header, row, strict=True))
        if not identity:
            scales = cells
            continue
        if not identity.isdigit():
            continue
        if "Metric Name" in cells:
            launch = details.setdefault(
                (identity, cells.get("Process ID", "")), _Launch(cells["Kernel Name"])
            )
            _put(
                launch,
                cells["Metric Name"],
                cells.get("Metric Value", ""),
                cells.get("Metric Unit", ""),
                f"{name}: kernel {identity}",
            )
            continue
        launch = _Launch(cells["Kernel Name"])
        for column, value in cells.items():
            _put(launch, column, value, scales.get(column, ""), f"{name}: kernel {identity}")
        yield launch
    yield from details.values()


def _wanted(metric: str) -> bool:
    return (
        metric.startswith((_TIME, *_BYTES.values(), "dram__bytes_"))
        or "__cycles_elapsed.avg.per_second" in metric
        or _CORE.fullmatch(metric) is not None
        or _TENSOR.fullmatch(metric) is not None
    )


def _put(launch: _Launch, metric: str, value: str, unit: str, name: str) -> None:
    metric = metric.strip()
    if not _wanted(metric):
        return
    try:
        number = parse_number(value)
    except ValueError as error:
        raise KernelsError(f"{name}: {metric} is {value!r}, but must be {RANGE}") from error
    if number is None:
        return
    if number < 0:
        raise KernelsError(f"{name}: {metric} is {value!r}, but a count cannot be negative")
    try:
        scale = unit_scale(unit)
    except ValueError as error:
        raise KernelsError(
            f"{name}: {metric} has the unknown unit {unit!r}: export with --print-units base"
        ) from error
    launch.metrics[metric] = number * scale


def _moved_bytes(launch: _Launch) -> dict[str, float]:
    result = {}
    for level, counter in _BYTES.items():
        for form in _FORMS:
            value = launch.metrics.get(counter + form)
            if value is None and level == "hbm":
                parts = [
                    launch.metrics.get(f"dram__bytes_{way}{form}") for way in ("read", "write")
                ]
                if all(part is not None for part in parts):
                    value = sum(part for part in parts if part is not None)
            total = launch.total(form, value) if value is not None else None
            if total is not None:
                result[level] = total
                break
    return result


def _core_flops(launch: _Launch) -> dict[str, float]:
    # (letter, prefix, form) -> op -> FLOP; add, mul and fma must all be there for a sum to count.
    sums: dict[tuple[str, str, str], dict[str, float]] = {}
    for metric, value in launch.metrics.items():
        match = _CORE.fullmatch(metric)
        if match is None:
            continue
        derived, form = match["derived"], match["form"]
        if derived and match["prefix"] == "sm":
            continue  # the peak rate of the section's chart, no count
        if form is None:
            if not derived:
                continue
            form = ".sum.per_cycle_elapsed"
        weight = 2.0 if match["op"] == "fma" and not match["weighted"] else 1.0
        total = launch.total(form, value * weight)
        if total is not None:
            ops = sums.setdefault((match["letter"], match["prefix"], form), {})
            # The derived, weighted counter replaces the plain one of the same operation.
            if match["weighted"] or match["op"] not in ops:
                ops[match["op"]] = total
    result = {}
    for letter, precision in _LETTERS.items():
        for prefix in ("smsp", "sm"):
            for form in _FORMS:
                ops = sums.get((letter, prefix, form), {})
                if len(ops) == 3 and f"cuda_core.{precision}" not in result:
                    result[f"cuda_core.{precision}"] = sum(ops.values())
    return result


def _tensor_flops(launch: _Launch) -> dict[str, float]:
    # The counters form a tree: src > src_dst > op_src_dst_sparsity. The highest level that is there
    # holds what is below it, so levels are never added up.
    found: dict[str, dict[tuple[int, int], float]] = {}
    for metric, value in launch.metrics.items():
        match = _TENSOR.fullmatch(metric)
        if match is None or (match["sparsity"] and not match["op"] and _has_parent(launch, match)):
            continue
        total = launch.total(match["form"], value)
        if total is None:
            continue
        depth = (2 if match["op"] else 0) + (1 if match["target"] else 0)
        depth = depth * 2 + (1 if match["sparsity"] else 0)
        levels = found.setdefault(match["source"], {})
        key = (depth, _FORMS.index(match["form"]))
        levels[key] = levels.get(key, 0.0) + total
    return {f"tensor.{source}": levels[min(levels)] for source, levels in found.items()}


def _has_parent(launch: _Launch, match: re.Match[str]) -> bool:
    return match.string.replace(match["sparsity"], "") in launch.metrics
