"""The profile: what one run of `peakline run` measured, and the peaks that follow from it.

The dataclasses below are the schema: `load` checks every field of the file against their
annotations and refuses what does not fit. Times are seconds, rates are per second, sizes are bytes,
clocks are Hz; `None` means "not known". A file may leave out what is not known or empty, and puts
what most measurements share in front of them, as `measurement_defaults`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import re
import statistics
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, Union

SCHEMA = "peakline-profile"
SCHEMA_VERSION = 1
HOST = "host"
# A profile is at most 400 KiB a device; anything far beyond is another kind of file.
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_SAMPLES = 64
DEFAULTS = "measurement_defaults"
# They are a handful of short values; each measurement gets them.
MAX_DEFAULTS_BYTES = 1024
# Times are seconds and rates are per second: nothing comes near this, and products of such numbers
# stay finite.
MAX_MAGNITUDE = 1e30

Basis = Literal[
    "theoretical", "datasheet", "instruction", "measured", "burst", "sustained", "model_shaped"
]
BASES: tuple[str, ...] = typing.get_args(Basis)
# Computed from a specification: MFU as published divides by one of these.
PUBLISHED_BASES = ("theoretical", "datasheet")


class ProfileError(ValueError):
    """A profile that cannot be read. Names the file and the field and what would be right."""


class PeakError(LookupError):
    """A peak that the profile does not have, or that was not asked for clearly enough."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


_ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


@dataclass(frozen=True, slots=True)
class NumaNode:
    index: int
    memory_bytes: float | None
    cpus: str


@dataclass(frozen=True, slots=True)
class CpuCache:
    level: int
    bytes: float
    shared_by_cores: int
    count: int


@dataclass(frozen=True, slots=True)
class Host:
    hostname: str
    cpu_model: str
    architecture: str
    sockets: int | None
    cores: int | None
    hardware_threads: int | None
    usable_threads: int | None
    numa_nodes: tuple[NumaNode, ...]
    caches: tuple[CpuCache, ...]
    memory_bytes: float | None
    cpu_clock_max_hz: float | None
    vector_extension: str
    os: str
    kernel: str
    virtualization: str
    cpu_governor: str


@dataclass(frozen=True, slots=True)
class Software:
    driver: str
    cuda_driver_api: str
    cuda_runtime: str
    cuda_compiler: str
    cublaslt: str
    cxx_compiler: str
    build_type: str
    git_revision: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PcieLink:
    generation: int | None
    width: int | None
    max_generation: int | None
    max_width: int | None


@dataclass(frozen=True, slots=True)
class EccCounts:
    corrected: int | None
    uncorrected: int | None


@dataclass(frozen=True, slots=True)
class Health:
    ecc: EccCounts
    remapped_rows_correctable: int | None
    remapped_rows_uncorrectable: int | None
    remap_pending: bool | None
    remap_failed: bool | None
    temperature_c: float | None
    pcie_replays: int | None


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    name: str
    memory_bytes: float | None


@dataclass(frozen=True, slots=True)
class Device:
    uuid: str
    name: str
    index: int
    pci_bus_id: str
    compute_major: int
    compute_minor: int
    sm_count: int | None
    sm_clock_max_hz: float | None
    memory_clock_max_hz: float | None
    memory_bus_bits: int | None
    memory_bytes: float | None
    memory_free_bytes: float | None
    l2_bytes: float | None
    shared_per_sm_bytes: float | None
    ecc_enabled: bool | None
    mig_enabled: bool | None
    power_limit_w: float | None
    power_limit_default_w: float | None
    power_limit_max_w: float | None
    pcie: PcieLink
    pcie_read_under_load: bool
    numa_node: int | None
    processes: tuple[Process, ...]
    before: Health
    after: Health
    xids: tuple[int, ...]
    vbios: str
    unusable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    sm_clock_hz: float | None = None
    sm_clock_source: Literal["kernel", "probe", "nvml"] | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    utilization: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    throttle_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    bytes_read: float = 0.0
    bytes_written: float = 0.0
    flops: float = 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    median_s: float
    ci_low_s: float
    ci_high_s: float
    min_s: float
    max_s: float
    n: int

    def __post_init__(self) -> None:
        if not 0 < self.min_s <= self.ci_low_s <= self.median_s <= self.ci_high_s <= self.max_s:
            raise ValueError("0 < min_s <= ci_low_s <= median_s <= ci_high_s <= max_s must hold")
        if self.n < 1:
            raise ValueError("n must be at least 1")


def summarize(samples_s: Sequence[float]) -> Summary:
    """Median, its 95 % interval from order statistics, and extremes of 1 to 64 samples, in seconds.

    The ranks are those of the sign test, as narrow as possible and symmetric; the median has seven
    digits, as the samples in a file have. Raises ValueError.
    """
    ordered = sorted(samples_s)
    n = len(ordered)
    if not 1 <= n <= MAX_SAMPLES:
        raise ValueError(f"samples_s must hold 1 to {MAX_SAMPLES} samples for a summary, not {n}")

    def covered(low: int) -> float:
        """The probability that samples `low` to n + 1 - `low` enclose the median."""
        return float(sum(math.comb(n, k) for k in range(low, n + 1 - low)) / 2**n)

    low = 1
    while 2 * low + 1 <= n and covered(low + 1) >= 0.95:
        low += 1
    return Summary(
        median_s=float(f"{statistics.median(ordered):.7g}"),
        ci_low_s=ordered[low - 1],
        ci_high_s=ordered[n - low],
        min_s=ordered[0],
        max_s=ordered[-1],
        n=n,
    )


@dataclass(frozen=True, slots=True)
class Series:
    time_s: tuple[float, ...]
    rate: tuple[float | None, ...]
    sm_clock_hz: tuple[float | None, ...]
    power_w: tuple[float | None, ...]
    temperature_c: tuple[float | None, ...]

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, f.name)) for f in dataclasses.fields(self)}
        if len(lengths) != 1:
            raise ValueError("all arrays of a series must have the same length")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    id: str
    params: Mapping[str, int | str] = field(default_factory=dict)
    device: str
    status: Literal["ok", "skipped", "error"]
    reason: str = ""
    work: Work = Work()
    launch: Mapping[str, int | str] = field(default_factory=dict)
    samples_s: tuple[float, ...] = ()
    launches_per_sample: int
    summary: Summary | None = None
    value: float | None = None
    unit: str
    verified: bool | None = None
    flags: tuple[Literal["implausible", "unstable", "throttled"], ...] = ()
    conditions: Conditions = Conditions()
    series: Series | None = None
    duration_s: float = 0.0
    method_version: int

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(
                f"id must be like area.what.variant in lower case, not {self.id[:80]!r}"
            )
        if self.summary is None and self.samples_s:
            object.__setattr__(self, "summary", summarize(self.samples_s))
        if self.status == "ok" and (self.value is None or self.summary is None):
            raise ValueError("a measurement with status ok must have a value and a summary")
        if self.value is not None and self.value < 0:
            raise ValueError("value must not be negative")

    @property
    def name(self) -> str:
        """ "id/name:value/name:value", as `peakline run --filter` sees it."""
        return "/".join([self.id, *(f"{key}:{value}" for key, value in self.params.items())])

    def integer(self, name: str) -> int | None:
        """The integer parameter of that name, None where there is none."""
        value = self.params.get(name)
        return value if isinstance(value, int) else None

    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of `value`, in its unit; None where there is no summary."""
        if self.value is None or self.summary is None:
            return None
        low, high = self.summary.ci_low_s, self.summary.ci_high_s
        if self.unit == "s":
            return low, high
        # value = work / median, so the longest time gives the lowest rate.
        work = self.value * self.summary.median_s
        return work / high, work / low


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    device: str
    resource: str
    basis: Basis
    value: float
    unit: str
    ci_low: float | None = None
    ci_high: float | None = None
    conditions: Conditions = Conditions()
    measurement: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.value <= 0:
            raise ValueError("the value of a ceiling must be above 0")


@dataclass(frozen=True, slots=True)
class RidgePoint:
    compute: str
    memory: str
    compute_basis: Basis
    memory_basis: Basis
    intensity: float


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    measurement: str
    precision: str
    intensity: float
    flops_per_s: float


@dataclass(frozen=True, slots=True)
class Roofline:
    device: str
    memory: tuple[str, ...]
    compute: tuple[str, ...]
    ridge_points: tuple[RidgePoint, ...]
    points: tuple[RooflinePoint, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    severity: Literal["info", "warning", "error"]
    device: str
    message: str
    evidence: Mapping[str, str]


class Peak(float):
    """A limit in FLOP/s (OP/s for integers) or B/s that knows where it comes from.

    It is a plain `float` wherever one is needed. `mfu` reads its basis, so that a figure against a
    measured peak never carries the published figure's name.
    """

    resource: str
    basis: str
    unit: str
    device: str
    source: str

    def __new__(
        cls, value: float, *, resource: str, basis: str, unit: str, device: str, source: str
    ) -> Peak:
        """`device` is the name of the model, `source` tells profile, measurement and note."""
        peak = super().__new__(cls, value)
        peak.resource = resource
        peak.basis = basis
        peak.unit = unit
        peak.device = device
        peak.source = source
        return peak

    @property
    def published(self) -> bool:
        """True where it follows from a specification, False where it was measured."""
        return self.basis in PUBLISHED_BASES

    def __reduce__(self) -> tuple[Any, ...]:
        keywords = {
            name: getattr(self, name) for name in ("resource", "basis", "unit", "device", "source")
        }
        return functools.partial(Peak, **keywords), (float(self),)


# What people write for a precision, and the name a profile uses.
_DTYPE_ALIASES = {
    "bfloat16": "bf16",
    "half": "fp16",
    "float16": "fp16",
    "f16": "fp16",
    "single": "fp32",
    "float": "fp32",
    "float32": "fp32",
    "f32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "f64": "fp64",
    "tensorfloat32": "tf32",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "e4m3": "fp8",
    "e5m2": "fp8",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
}
_DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")
# Where a bare precision is looked for, first hit wins: the matrix units, then the plain cores.
_COMPUTE_FAMILIES = ("tensor", "cuda_core", "cpu")


def normalize_dtype(dtype: str) -> str:
    """The profile's name of a precision: "torch.bfloat16" gives "bf16".

    A resource such as "tensor.bf16" or "cuda_core.fp16" stays as it is. Raises PeakError for an
    unknown precision and for a sparse one.
    """
    text = str(dtype).strip().lower().removeprefix("torch.")
    if "sparse" in text or "2:4" in text:
        raise PeakError(
            f"{dtype!r}: a profile holds dense peaks only, and a sparse one is twice as large on "
            "paper, so MFU against it would be half as large; ask for the dense precision"
        )
    family, _, name = text.rpartition(".")
    name = _DTYPE_ALIASES.get(name, name)
    if name not in _DTYPES or family not in ("", *_COMPUTE_FAMILIES):
        raise PeakError(
            f"unknown precision {dtype!r}: use one of {', '.join(_DTYPES)}, or name the unit too, "
            "as in tensor.fp16 or cuda_core.fp16"
        )
    return f"{family}.{name}" if family else name


@dataclass(frozen=True, slots=True)
class Profile:
    schema: Literal["peakline-profile"]
    schema_version: int
    created: str
    tool: str
    command: tuple[str, ...]
    mode: Literal["quick", "full"]
    complete: bool
    duration_s: float
    host: Host
    software: Software
    devices: tuple[Device, ...]
    measurements: tuple[Measurement, ...]
    ceilings: tuple[Ceiling, ...]
    rooflines: tuple[Roofline, ...]
    findings: tuple[Finding, ...]
    # Where it was read from; not part of the file.
    path: str = ""

    def __post_init__(self) -> None:
        uuids = [device.uuid for device in self.devices]
        if len(set(uuids)) != len(uuids):
            raise ValueError("two devices have the same uuid")
        known = {HOST, *uuids}
        for key in ("measurements", "ceilings", "rooflines"):
            for index, item in enumerate(getattr(self, key)):
                if item.device not in known:
                    raise ValueError(
                        f"{key}[{index}].device is {item.device!r}, which is neither "
                        '"host" nor the uuid of one of devices[]'
                    )

    def device_name(self, device: str) -> str:
        """How a device is called: the GPU's model, or the CPU's for "host"."""
        for candidate in self.devices:
            if candidate.uuid == device:
                return candidate.name or candidate.uuid
        return self.host.cpu_model or "host"

    def sm_count(self, device: str) -> int | None:
        """The number of SMs of a device of `devices`; None for the host and where not known."""
        return next((d.sm_count for d in self.devices if d.uuid == device), None)

    def of(self, device: str, prefix: str = "") -> list[Measurement]:
        """Usable measurements of a device whose id is `prefix` or starts with it and a dot.

        Failed and skipped ones, zero values, and those flagged implausible are left out.
        """
        return [
            m
            for m in self.measurements
            if m.device == device
            and m.status == "ok"
            and m.value
            and "implausible" not in m.flags
            and (not prefix or m.id == prefix or m.id.startswith(prefix + "."))
        ]

    def ceiling(self, device: str, resource: str, *bases: str) -> Ceiling | None:
        """The ceiling of the first of `bases` that there is (highest value of that basis)."""
        for basis in bases:
            rows = [
                c
                for c in self.ceilings
                if c.device == device and c.resource == resource and c.basis == basis
            ]
            if rows:
                return max(rows, key=lambda row: row.value)
        return None

    def resources(self, device: str) -> list[str]:
        """Resources that a device has ceilings for, in the profile's order."""
        return list(dict.fromkeys(c.resource for c in self.ceilings if c.device == device))

    def select_devices(self, device: str | int | None = None) -> list[str]:
        """The uuids (or "host") that `device` means.

        None: every usable GPU, or the host where there is no GPU. An int, or a str of digits, is an
        index; other text is "host", a UUID or its unique beginning, or a model name. Raises
        PeakError where nothing matches, or where None would mix models.
        """
        gpus = [d for d in self.devices if not d.unusable]
        choices = ", ".join([*(f"{d.index} ({d.name}, {d.uuid})" for d in gpus), HOST])
        if device is None:
            if not gpus:
                return [HOST]
            if len({d.name for d in gpus}) > 1:
                raise PeakError(
                    f"{self.path or 'the profile'} holds different GPU models, whose peaks differ: "
                    f"name the device, one of {choices}"
                )
            return [d.uuid for d in gpus]
        if isinstance(device, str) and device == HOST:
            return [HOST]
        text = str(device)
        if text.isdigit():
            found = [d.uuid for d in gpus if d.index == int(text)]
        else:
            found = [d.uuid for d in gpus if text.lower() == d.name.lower()]
            found = found or [d.uuid for d in gpus if text and d.uuid.startswith(text)]
            if len(found) > 1 and len({self.device_name(uuid) for uuid in found}) > 1:
                found = []
        if not found:
            raise PeakError(
                f"no device {device!r} in {self.path or 'the profile'}: use one of {choices}"
            )
        return found

    def peak(self, dtype: str, *, basis: str, device: str | int | None = None) -> Peak:
        """The dense peak of a precision in FLOP/s (OP/s for int8).

        dtype: "bf16", "torch.bfloat16", ...; a bare precision means the tensor cores where they do
        it, else the CUDA cores; "cuda_core.fp16" asks for one of the two. basis: see BASES; MFU as
        published uses "datasheet". device: see `select_devices`; among several devices of one
        model the slowest counts, since a synchronous job waits for it. Raises PeakError.
        """
        name = normalize_dtype(dtype)
        return self._slowest(
            self.select_devices(device), basis, lambda uuid: [self._compute_resource(uuid, name)]
        )

    def bandwidth(
        self, memory: str, *, basis: str = "measured", device: str | int | None = None
    ) -> Peak:
        """The bandwidth of a memory level in B/s.

        memory: a level ("hbm", "pcie", "memory") means its fastest pattern, "hbm.copy" just that
        one. basis and device as in `peak`. Raises PeakError.
        """

        def candidates(uuid: str) -> list[str]:
            return [
                resource
                for resource in self.resources(uuid)
                if resource == memory or resource.startswith(memory + ".")
            ] or [memory]

        return self._slowest(self.select_devices(device), basis, candidates)

    def _compute_resource(self, device: str, name: str) -> str:
        if "." in name:
            return name
        present = self.resources(device)
        for family in _COMPUTE_FAMILIES:
            if f"{family}.{name}" in present:
                return f"{family}.{name}"
        offered = sorted(
            {r.partition(".")[2] for r in present if r.partition(".")[0] in _COMPUTE_FAMILIES}
        )
        raise PeakError(
            f"{self.device_name(device)} has no {name} peak in {self.path or 'the profile'}; "
            f"it has {', '.join(offered) or 'none at all'}"
        )

    def _slowest(
        self, devices: Sequence[str], basis: str, candidates: Callable[[str], list[str]]
    ) -> Peak:
        if basis not in BASES:
            raise PeakError(f"unknown basis {basis!r}: use one of {', '.join(BASES)}")
        return min(self._best(uuid, basis, candidates(uuid)) for uuid in devices)

    def _best(self, device: str, basis: str, resources: Sequence[str]) -> Peak:
        rows = [
            c
            for c in self.ceilings
            if c.device == device and c.resource in resources and c.basis == basis
        ]
        if not rows:
            # The same precision on another unit may have what this one lacks: name it too.
            variants = {resource.rpartition(".")[2] for resource in resources}
            offered = [
                f"{c.resource} {c.basis}"
                for c in self.ceilings
                if c.device == device and c.resource.rpartition(".")[2] in variants
            ]
            raise PeakError(
                f"no {basis} figure for {' or '.join(resources)} of {self.device_name(device)} in "
                f"{self.path or 'the profile'}; it has {', '.join(offered) or 'none at all'}"
            )
        row = max(rows, key=lambda c: c.value)
        where = row.measurement or row.note or "the specification"
        origin = Path(self.path).name if self.path else "profile"
        return Peak(
            row.value,
            resource=row.resource,
            basis=row.basis,
            unit=row.unit,
            device=self.device_name(device),
            source=f"{origin} of {self.created}: {where}",
        )


def fleet_peak(
    profiles: Iterable[Profile],
    dtype: str,
    *,
    basis: str,
    device: str | int | None = None,
    allow_mixed: bool = False,
) -> Peak:
    """The peak of the slowest device among several profiles, in FLOP/s.

    A job that waits for all its devices runs at the pace of the slowest. Raises PeakError where the
    devices are of different models, unless `allow_mixed`.
    """
    peaks = []
    for profile in profiles:
        wanted: list[str | int | None] = [device]
        if device is None and allow_mixed:
            wanted = [d.uuid for d in profile.devices if not d.unusable] or [HOST]
        peaks += [profile.peak(dtype, basis=basis, device=one) for one in wanted]
    if not peaks:
        raise PeakError("a fleet needs at least one profile")
    models = sorted({peak.device for peak in peaks})
    if len(models) > 1 and not allow_mixed:
        raise PeakError(
            f"a mixed fleet ({', '.join(models)}) has no one peak: compute MFU for each model, or "
            "pass allow_mixed=True (--allow-mixed) to take the slowest device's"
        )
    return min(peaks)


def load(path: str | os.PathLike[str]) -> Profile:
    """Reads and checks a profile. Raises ProfileError, which names file and field."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ProfileError(f"{name}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise ProfileError(f"{name!r}: not a file name: {error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ProfileError(f"{name}: larger than 64 MiB, so not a peakline profile")
    return loads(data, name)


def loads(data: bytes | str, name: str = "profile") -> Profile:
    """As `load`, from the file's content; `name` is what messages call it."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        document = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates
        )
    except UnicodeDecodeError as error:
        raise ProfileError(f"{name}: not UTF-8 text: {error.reason}") from error
    except RecursionError as error:
        raise ProfileError(f"{name}: nested too deeply to be a peakline profile") from error
    except ValueError as error:
        raise ProfileError(f"{name}: not valid JSON: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ProfileError(f'{name}: not a peakline profile: "schema" must be "{SCHEMA}"')
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ProfileError(f"{name}: schema_version must be {SCHEMA_VERSION}, not {version!r}")
    if version > SCHEMA_VERSION:
        raise ProfileError(
            f"{name}: schema_version {version} is newer than {SCHEMA_VERSION}, the newest that "
            "this peakline reads: update the peakline package"
        )
    try:
        return _build(Profile, {**_with_defaults(document), "path": name}, "")
    except _FieldError as error:
        raise ProfileError(f"{name}: {error}") from error


class _FieldError(ValueError):
    pass


def _with_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """The document with its `measurement_defaults` in every measurement that does not say else."""
    shared = document.get(DEFAULTS, {})
    if not isinstance(shared, dict) or not isinstance(shared.get("conditions", {}), dict):
        raise _FieldError(f"{DEFAULTS} must be an object, as must be its conditions")
    if len(json.dumps(shared)) > MAX_DEFAULTS_BYTES:
        raise _FieldError(f"{DEFAULTS} is longer than {MAX_DEFAULTS_BYTES} bytes")
    rows = document.get("measurements")
    if not shared or not isinstance(rows, list):
        return document

    def complete(row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        conditions = row.get("conditions", {})
        if isinstance(conditions, dict) and "conditions" in shared:
            conditions = {**shared["conditions"], **conditions}
        return {**shared, **row, "conditions": conditions}

    return {**document, "measurements": [complete(row) for row in rows]}


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} is there twice in one object")
    return result


# Control characters would reach terminals and SVG files, where they do harm or are invalid.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_T = TypeVar("_T")


@functools.cache
def _fields(cls: Any) -> list[tuple[str, Any, bool]]:
    hints = typing.get_type_hints(cls)
    return [
        (
            f.name,
            hints[f.name],
            f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING,
        )
        for f in dataclasses.fields(cls)
    ]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _build(cls: Callable[..., _T], value: Any, path: str) -> _T:
    if not isinstance(value, dict):
        raise _FieldError(f"{path} must be an object, not {_shown(value)}")
    prefix = f"{path}." if path else ""
    arguments = {}
    for name, hint, required in _fields(cls):
        if value.get(name) is None and not required:
            continue
        if name in value:
            arguments[name] = _convert(hint, value[name], prefix + name)
        else:
            raise _FieldError(f"{prefix}{name} is missing")
    try:
        return cls(**arguments)
    except _FieldError:
        raise
    except ValueError as error:
        raise _FieldError(f"{path}: {error}" if path else str(error)) from error


def _convert(hint: Any, value: Any, path: str) -> Any:
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in arguments:
            return None
        remaining = [a for a in arguments if a is not types.NoneType]
        if len(remaining) == 1:
            return _convert(remaining[0], value, path)
        return _convert(str if isinstance(value, str) else int, value, path)
    if origin is Literal:
        if value not in arguments or isinstance(value, bool):
            raise _FieldError(
                f"{path} must be one of {', '.join(map(str, arguments))}, not {_shown(value)}"
            )
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise _FieldError(f"{path} must be an array, not {_shown(value)}")
        return tuple(_convert(arguments[0], v, f"{path}[{i}]") for i, v in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, dict):
            raise _FieldError(f"{path} must be an object, not {_shown(value)}")
        return {
            _text(key, path): _convert(arguments[1], v, f"{path}.{_shown(key)}")
            for key, v in value.items()
        }
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast(type[Any], hint), value, path)
    if hint is str:
        return _text(value, path)
    if hint is bool:
        if not isinstance(value, bool):
            raise _FieldError(f"{path} must be true or false, not {_shown(value)}")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        kind = "an integer" if hint is int else "a number"
        raise _FieldError(f"{path} must be {kind}, not {_shown(value)}")
    if hint is int:
        if not isinstance(value, int) or abs(value) >= 2**63:
            raise _FieldError(f"{path} must be a 64-bit integer, not {_shown(value)}")
        return value
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _FieldError(f"{path} must be a finite number, not {_shown(value)}")
    if number and not 1 / MAX_MAGNITUDE < abs(number) < MAX_MAGNITUDE:
        raise _FieldError(f"{path} is {_shown(value)}, which no quantity in base SI units can be")
    return number


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _FieldError(f"{path} must be text, not {_shown(value)}")
    if _SURROGATE.search(value):
        raise _FieldError(f"{path} holds half a surrogate pair, which is not Unicode text")
    return _UNPRINTABLE.sub("\ufffd", value)
