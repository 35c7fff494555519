"""Kernels from a profiler on a measured roofline.

Reads an Nsight Compute CSV (`ncu --csv`, page raw or details), a plain CSV of name, FLOP, bytes and
seconds, or a `torch.profiler` trace, and places each kernel under the ceilings of a profile:

    least time = max over memory levels of bytes / bandwidth, over units of FLOP / peak
    share of the roof = least time / measured time

An FMA counts as 2 FLOP. A precision whose counter is missing is left out, never taken as 0.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from peakline import units
from peakline.pictures.roofline import Limits, Mark, level_of, limits, resource_name
from peakline.profile import HOST, Profile

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

# The unit of a FLOP count whose precision the file does not tell.
UNKNOWN_UNIT = "unknown"


class KernelsError(ValueError):
    """A kernels file that cannot be used. Names the file and says what would be right."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """All launches of one kernel: sums over them."""

    name: str
    launches: int
    seconds: float
    flops: Mapping[str, float]  # by resource: "tensor.bf16", "cuda_core.fp32", UNKNOWN_UNIT
    bytes: Mapping[str, float]  # by memory level: "hbm", "l2", "l1"


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """A kernel seen from one memory level."""

    resource: str  # the slope: "hbm.read"
    intensity: float | None  # FLOP/byte; None for a kernel that moves no bytes there
    bandwidth: float  # B/s
    share: float  # of the slope


@dataclass(frozen=True, slots=True)
class Placement:
    """A kernel under the roofs of one device."""

    kernel: Kernel
    label: str  # the kernel's name without namespaces and template arguments, where that is unique
    device: str
    flops_per_s: float  # over all units
    levels: tuple[LevelPoint, ...]  # main memory first
    shares: Mapping[str, float]  # of each roof and slope that it runs under, the binding one first
    bound_by: str | None  # the resource that takes the longest; None where nothing is known
    share: float | None  # least time / measured time
    gain_s: float | None  # what is lost against the roof, over all launches
    ignored: tuple[str, ...]  # units with FLOPs for which the profile has no ceiling


def read(path: str | os.PathLike[str]) -> list[Kernel]:
    """The kernels of a file of any of the three kinds. Raises KernelsError."""
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except OSError as error:
        raise KernelsError(f"{name}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise KernelsError(f"{name}: not UTF-8 text, so neither a CSV nor a trace") from error
    return parse(text, name)


def parse(text: str, name: str = "kernels") -> list[Kernel]:
    """As `read`, from the file's content."""
    if text.lstrip()[:1] in ("{", "["):
        return _parse_trace(text, name)
    if "Kernel Name" in text and "__" in text:
        return _parse_ncu(text, name)
    if "ERR_NVGPUCTRPERM" in text:
        raise KernelsError(
            f"{name}: ncu was not allowed to read the counters (ERR_NVGPUCTRPERM): run it as root, "
            "or ask for NVreg_RestrictProfilingToAdminUsers=0, or give a plain CSV of "
            "name,flop,bytes,seconds"
        )
    return _parse_plain(text, name)


def _merge(kernels: Sequence[Kernel]) -> list[Kernel]:
    """One kernel a name, in order of first appearance; launches, times and counts add up.

    A count that one launch lacks is unknown for the sum, so it is dropped.
    """
    groups: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.name, []).append(kernel)
    return [
        Kernel(
            name,
            sum(k.launches for k in group),
            sum(k.seconds for k in group),
            _sum_common([k.flops for k in group]),
            _sum_common([k.bytes for k in group]),
        )
        for name, group in groups.items()
    ]


def _sum_common(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {
        key: sum(part[key] for part in parts) for key in parts[0] if all(key in p for p in parts)
    }


# --- numbers and units -------------------------------------------------------------------------

_PREFIXES = {
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
}
_ATOMS = {
    "",
    "s",
    "sec",
    "second",
    "seconds",
    "hz",
    "Hz",
    "B",
    "byte",
    "bytes",
    "inst",
    "op",
    "ops",
    "cycle",
    "cycles",
    "sector",
    "flop",
    "FLOP",
}
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[,.\u2019']\d{3}){2,}|[-+]?\d{1,3}(?:[,\u2019']\d{3})+")


def parse_number(text: str) -> float | None:
    """A number with or without thousands separators; None for "n/a" and the like.

    "1,234" is 1234 and "1,5" is 1.5: a comma groups thousands only where three digits follow it.
    Raises ValueError for anything else.
    """
    text = re.sub(r"[\s\u00a0\u202f]", "", text.split("(", 1)[0].strip())
    if text.lower() in ("", "n/a", "na", "nan", "-nan", "inf", "-inf", "-", "none", "nodata"):
        return None
    if "," in text and "." in text:
        decimal = max(text.rfind(","), text.rfind("."))
        head = re.sub(r"[.,]", "", text[:decimal])
        text = f"{head}.{text[decimal + 1 :]}"
    elif _GROUPED.fullmatch(text):
        text = re.sub(r"[,.\u2019']", "", text)
    else:
        text = text.replace(",", ".")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def unit_scale(unit: str) -> float:
    """The factor from a unit as ncu writes it to its base unit: "Gbyte/second" is 1e9, "us" 1e-6.

    Raises ValueError for an unknown unit.
    """
    numerator, _, denominator = unit.strip().partition("/")
    scale = _atom_scale(numerator.strip())
    return scale / _atom_scale(denominator.strip()) if denominator else scale


def _atom_scale(atom: str) -> float:
    if atom in _ATOMS:
        return 1.0
    prefix, rest = atom[:1], atom[1:]
    if prefix in _PREFIXES and rest in _ATOMS and rest:
        return _PREFIXES[prefix]
    raise ValueError(atom)


# --- Nsight Compute ----------------------------------------------------------------------------

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


def _parse_ncu(text: str, name: str) -> list[Kernel]:
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
        kernels.append(Kernel(_short(launch.kernel), 1, seconds, flops, moved))
    return _merge(kernels)


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
                name,
            )
            continue
        launch = _Launch(cells["Kernel Name"])
        for column, value in cells.items():
            _put(launch, column, value, scales.get(column, ""), name)
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
        raise KernelsError(f"{name}: {metric} is {value!r}, which is no number") from error
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


def _short(name: str) -> str:
    """A kernel's name without return type and arguments, as people call it."""
    name = name.strip()
    name = re.sub(r"^(?:void|static|__global__)\s+", "", name)
    depth = 0
    for i, char in enumerate(name):
        if char == "<":
            depth += 1
        elif char == ">":
            depth -= 1
        elif char == "(" and depth == 0 and i > 0 and not name.startswith("(anonymous", i):
            return name[:i].strip()
    return name


# --- plain CSV ---------------------------------------------------------------------------------

_PLAIN_NAMES = {
    "name": ("name", "kernel", "kernel name"),
    "flop": ("flop", "flops"),
    "bytes": ("bytes", "byte"),
    "seconds": ("seconds", "second", "s", "time", "time_s"),
    "precision": ("precision", "dtype"),
    "launches": ("launches", "calls", "count"),
}


def _parse_plain(text: str, name: str) -> list[Kernel]:
    rows = [row for row in csv.reader(text.splitlines()) if any(cell.strip() for cell in row)]
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    columns = {
        key: next((head.index(n) for n in names if n in head), None)
        for key, names in _PLAIN_NAMES.items()
    }
    lacking = [k for k in ("name", "flop", "bytes", "seconds") if columns[k] is None]
    if lacking:
        raise KernelsError(
            f"{name}: neither an ncu CSV nor a plain one: its first line lacks the column"
            f"{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}. A plain CSV starts with "
            "name,flop,bytes,seconds (and optionally precision,launches); for ncu use\n"
            f"  {NCU_COMMAND}"
        )
    kernels = []
    for line, row in enumerate(rows[1:], start=2):
        cells = {
            key: row[column].strip() if column is not None and column < len(row) else ""
            for key, column in columns.items()
        }
        values: dict[str, float | None] = {}
        for key in ("flop", "bytes", "seconds", "launches"):
            try:
                values[key] = parse_number(cells[key])
            except ValueError as error:
                raise KernelsError(
                    f"{name}: line {line}: {key} is {cells[key]!r}, which is no number"
                ) from error
            if (values[key] or 0.0) < 0:
                raise KernelsError(f"{name}: line {line}: {key} must not be negative")
        seconds = values["seconds"]
        if not seconds:
            raise KernelsError(f"{name}: line {line}: seconds must be above 0")
        flop, moved = values["flop"], values["bytes"]
        kernels.append(
            Kernel(
                cells["name"] or f"line {line}",
                int(values["launches"] or 1),
                seconds,
                {_unit(cells["precision"], name, line): flop} if flop is not None else {},
                {"hbm": moved} if moved is not None else {},
            )
        )
    if not kernels:
        raise KernelsError(f"{name}: no kernels below the header")
    return _merge(kernels)


def _unit(precision: str, name: str, line: int) -> str:
    from peakline.profile import PeakError, normalize_dtype

    if not precision:
        return UNKNOWN_UNIT
    try:
        return normalize_dtype(precision)
    except PeakError as error:
        raise KernelsError(f"{name}: line {line}: {error}") from error


# --- torch.profiler ----------------------------------------------------------------------------

_TORCH_TYPES = {
    "c10::bfloat16": "tensor.bf16",
    "c10::half": "tensor.fp16",
    "c10::float8_e4m3fn": "tensor.fp8",
    "c10::float8_e5m2": "tensor.fp8",
    "float": "cuda_core.fp32",
    "double": "tensor.fp64",
}
_TF32_KERNEL = re.compile("tf32|s1688|s16816gemm_f32")


def _parse_trace(text: str, name: str) -> list[Kernel]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KernelsError(f"{name}: not a torch.profiler trace: {error}") from error
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise KernelsError(f"{name}: not a torch.profiler trace: it has no traceEvents")
    events = [e for e in events if isinstance(e, dict) and isinstance(e.get("args"), dict)]
    operators = {
        e["args"]["External id"]: e
        for e in events
        if e.get("cat") == "cpu_op" and isinstance(e["args"].get("External id"), int)
    }
    launches = [
        e for e in events if str(e.get("cat")).lower() == "kernel" and _positive(e.get("dur"))
    ]
    if not launches:
        raise KernelsError(
            f"{name}: the trace holds no GPU kernel: record with activities=[CPU, CUDA] and "
            "record_shapes=True"
        )
    # Of several kernels of one operator the longest gets its FLOPs: they are counted once.
    longest: dict[Any, dict[str, Any]] = {}
    for event in launches:
        identity = event["args"].get("External id")
        if isinstance(identity, int) and event["dur"] > longest.get(identity, {"dur": 0})["dur"]:
            longest[identity] = event
    kernels = []
    for event in launches:
        arguments = event["args"]
        identity = arguments.get("External id")
        operator = operators.get(identity) if longest.get(identity) is event else None
        flops = _positive(arguments.get("kernel_flop")) or _positive(arguments.get("flops"))
        if not flops and operator is not None:
            flops = _operator_flops(operator)
        moved = _positive(arguments.get("kernel_num_gb"))
        unit = _torch_unit(operator, str(event.get("name", "")))
        kernels.append(
            Kernel(
                _short(str(event.get("name", "kernel"))),
                1,
                float(event["dur"]) * 1e-6,
                {unit: flops} if flops else {},
                {"hbm": moved * 1e9} if moved else {},
            )
        )
    kernels = _merge(kernels)
    if not any(kernel.flops for kernel in kernels):
        raise KernelsError(
            f"{name}: no kernel of the trace has FLOPs: record with record_shapes=True, or use ncu"
        )
    return [kernel for kernel in kernels if kernel.flops or kernel.bytes]


def _positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if math.isfinite(value) and value > 0 else 0.0


def _operator_flops(operator: Mapping[str, Any]) -> float:
    """FLOPs that the trace states, else 2 M N K of a matrix product from its input shapes."""
    arguments = operator["args"]
    stated = _positive(arguments.get("flops"))
    if stated:
        return stated
    first = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}.get(
        str(operator.get("name"))
    )
    shapes = arguments.get("Input Dims")
    if first is None or not isinstance(shapes, list) or len(shapes) < first + 2:
        return 0.0
    left, right = shapes[first], shapes[first + 1]
    try:
        return float(2 * math.prod(left) * right[-1])
    except (TypeError, IndexError):
        return 0.0


def _torch_unit(operator: Mapping[str, Any] | None, kernel: str) -> str:
    types = operator["args"].get("Input type") if operator is not None else None
    if not isinstance(types, list) or not types:
        return UNKNOWN_UNIT
    unit = _TORCH_TYPES.get(str(types[0]).lower(), UNKNOWN_UNIT)
    if unit == "cuda_core.fp32" and _TF32_KERNEL.search(kernel):
        return "tensor.tf32"
    return unit


# --- placing -----------------------------------------------------------------------------------


def place(
    profile: Profile, kernels: Sequence[Kernel], device: str | int | None = None
) -> list[Placement]:
    """Kernels under the measured roofs of a device, most to gain first.

    device: as in `Profile.select_devices`; of several it takes the first. Raises PeakError for an
    unknown device, KernelsError where the profile has no roofline for it.
    """
    uuid = profile.select_devices(device)[0]
    found = limits(profile, uuid)
    if found is None:
        raise KernelsError(
            f"{profile.path or 'the profile'} has no roofline of {profile.device_name(uuid)}: "
            "measure with peakline run without --filter"
        )
    briefs = [_brief(kernel.name) for kernel in kernels]
    placed = [
        _place(kernel, brief if briefs.count(brief) == 1 else kernel.name, found, uuid)
        for kernel, brief in zip(kernels, briefs, strict=True)
    ]
    return sorted(placed, key=lambda p: -(p.gain_s if p.gain_s is not None else -1.0))


def _roof(found: Limits, unit: str) -> tuple[str, float] | None:
    """The roof a count of this unit runs under; an unknown unit gets the highest."""
    for roof in found.roofs:
        if unit in (UNKNOWN_UNIT, roof.resource, roof.resource.partition(".")[2]):
            return roof.resource, roof.best.value
    return None


def _brief(name: str) -> str:
    name = name.replace("<unnamed>::", "").replace("(anonymous namespace)::", "")
    return name.partition("<")[0].rpartition("::")[2] or name


def _place(kernel: Kernel, label: str, found: Limits, device: str) -> Placement:
    flops = sum(kernel.flops.values())
    times: list[tuple[float, str]] = []
    levels = []
    for slope in found.slopes:
        level = level_of(slope.resource)
        moved = kernel.bytes.get("hbm" if level == "memory" and device == HOST else level)
        if moved is None or level == "pcie":
            continue
        bandwidth = moved / kernel.seconds
        levels.append(
            LevelPoint(
                slope.resource,
                flops / moved if moved > 0 else None,
                bandwidth,
                bandwidth / slope.best.value,
            )
        )
        times.append((moved / slope.best.value, slope.resource))
    levels.sort(key=lambda point: level_of(point.resource) not in ("hbm", "memory"))
    ignored = []
    for unit, count in kernel.flops.items():
        roof = _roof(found, unit)
        if roof is not None:
            times.append((count / roof[1], roof[0]))
        elif count > 0:
            ignored.append(unit)
    times.sort(reverse=True)
    least, bound = times[0] if times else (0.0, "")
    known = least > 0
    return Placement(
        kernel,
        label,
        device,
        flops / kernel.seconds,
        tuple(levels),
        {resource: needed / kernel.seconds for needed, resource in times if needed > 0},
        bound if known else None,
        least / kernel.seconds if known else None,
        max(0.0, kernel.seconds - least) if known else None,
        tuple(ignored),
    )


def marks(placements: Sequence[Placement]) -> list[Mark]:
    """Points for the roofline: one for each memory level of each kernel that counts FLOPs.

    Their numbers are the kernels' ranks in `placements`, from 1.
    """
    return [
        Mark(number, p.label, point.intensity, p.flops_per_s)
        for number, p in enumerate(placements, start=1)
        for point in p.levels
        if point.intensity and p.flops_per_s > 0
    ]


def advice(placements: Sequence[Placement]) -> str:
    """In a sentence or two, where there is most to gain."""
    known = [p for p in placements if p.share is not None and p.gain_s is not None]
    if not known:
        return (
            "None of these kernels could be placed: the profile has no ceiling for what they use."
        )
    total = sum(p.kernel.seconds for p in placements)
    first = known[0]
    assert first.share is not None
    assert first.gain_s is not None
    assert first.bound_by is not None
    gain = sum(p.gain_s for p in known if p.gain_s is not None)
    text = (
        f"{first.label} has the most to gain: it reaches {units.percent(first.share)} of "
        f"what {resource_name(first.bound_by)} allows, and {units.time(first.gain_s)} of the "
        f"{units.time(total)} in all could go. Every kernel on its roof would save "
        f"{units.percent(gain / total)} of the time."
    )
    above = [p.label for p in known if p.share is not None and p.share > 1.05]
    if above:
        text += (
            f" Above the roof: {', '.join(above)}; such a kernel was counted otherwise than the "
            "ceiling, or ran at another clock."
        )
    unknown = [p.label for p in placements if UNKNOWN_UNIT in p.kernel.flops]
    if unknown:
        names = ", ".join(unknown)
        text += f" The precision of {names} is not told: the highest roof stands for it."
    ignored = sorted({unit for p in placements for unit in p.ignored})
    if ignored:
        names = ", ".join(resource_name(unit) for unit in ignored)
        text += f" FLOPs of {names} are not held against a roof: the profile has none for them."
    return text


def table(placements: Sequence[Placement]) -> str:
    """The placements as text, most to gain first."""
    lines = [
        f"{'#':>3}  {'kernel':40}  {'launches':>8}  {'time':>9}  {'FLOP/s':>13}  {'FLOP/byte':>9}  "
        f"{'of roof':>8}  {'to gain':>9}  bound by"
    ]
    for number, p in enumerate(placements, start=1):
        level = p.levels[0] if p.levels else None
        name = p.label if len(p.label) <= 40 else p.label[:39] + "…"
        lines.append(
            f"{number:3}  {name:40}  {p.kernel.launches:8}  {units.time(p.kernel.seconds):>9}  "
            f"{units.rate(p.flops_per_s, 'FLOP/s') if p.flops_per_s else '–':>13}  "
            f"{units.intensity(level.intensity) if level and level.intensity else '–':>9}  "
            f"{units.percent(p.share) if p.share is not None else '–':>8}  "
            f"{units.time(p.gain_s) if p.gain_s is not None else '–':>9}  "
            f"{resource_name(p.bound_by) if p.bound_by else '–'}"
        )
    return "\n".join(lines)
