"""The profile and its queries."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from peakline import units
from peakline.names import basis_name, format_name, is_of_node, level_of, plain_label
from peakline.profile import notebook, schema
from peakline.profile.conclusions import (
    BASES,
    Ceiling,
    Curve,
    Figure,
    Finding,
    Headline,
    MemoryLevel,
    MissingCeiling,
    Resource,
    Roofline,
)
from peakline.profile.facts import Device, Host, Software
from peakline.profile.measurement import Measurement
from peakline.profile.peaks import (
    COMPUTE_FAMILIES,
    Peak,
    PeakError,
    bases_of,
    normalize_dtype,
    work_of,
)
from peakline.profile.population import Population, population
from peakline.text import printable, whole

HOST = "host"
# Device of measurements between GPUs, or of all GPUs at once.
NODE = "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run was asked to measure, and how; by default everything."""

    filter: str = ""
    devices: str = ""  # "0,1", "none"; empty: all GPUs of the machine
    verify: bool = True


# No slots: cached properties need a __dict__.
@dataclass(frozen=True, kw_only=True, repr=False)
class Profile:
    """What one run of `peakline run` measured: facts, measurements, ceilings and conclusions.

    `load` reads one. `peak`, `bandwidth`, `ridge` and `latency` answer most questions; `figures`
    has every figure of a topic, `to_pandas` every measurement.
    """

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
    asked: Asked = Asked()
    # In display order.
    resources: tuple[Resource, ...] = ()
    curves: tuple[Curve, ...] = ()
    memory_map: tuple[MemoryLevel, ...] = ()  # of each device, nearest first
    headlines: tuple[Headline, ...] = ()
    missing_ceilings: tuple[MissingCeiling, ...] = ()
    # The file that was read; not part of the profile.
    path: str = ""

    @property
    def where(self) -> str:
        """The file's path, to begin a message with."""
        return self.path or "the profile"

    def __repr__(self) -> str:
        models = Counter(d.name or d.uuid for d in self.devices) or {self.device_name(HOST): 1}
        devices = ", ".join(f"{n} × {name}" if n > 1 else name for name, n in models.items())
        return printable(
            f"<Profile {Path(self.path).name}: {devices}; {self.mode} run of {self.created}, "
            f"{len(self.measurements)} measurements, {len(self.ceilings)} ceilings>"
        )

    def _repr_html_(self) -> str:
        """A notebook's view: the ceilings by basis."""
        bases = [basis for basis in BASES if any(c.basis == basis for c in self.ceilings)]
        rows = []
        for device in self.measured_devices():
            for resource in self.resources_of(device):
                found = [self.ceiling(device, resource, basis) for basis in bases]
                values = [units.rate(c.value, c.unit) if c else "–" for c in found]
                rows.append([self.device_label(device), self.label(resource), *values])
        return notebook.table(repr(self), ["device", "resource", *bases], rows)

    def to_pandas(self) -> Any:
        """The measurements as a pandas.DataFrame, one per row, with a column for each parameter.
        `low` and `high` bound the 95 % interval of `value`. Raises ImportError without pandas."""
        import pandas

        return pandas.DataFrame(
            [notebook.row(m, self.device_label(m.device)) for m in self.measurements]
        )

    def device_label(self, device: str) -> str:
        """Its name, with the index of one GPU among several: "GPU 1: NVIDIA H200"."""
        gpu = self.gpu(device)
        index = f"GPU {gpu.index}: " if gpu and len(self.devices) > 1 else ""
        return index + self.device_name(device)

    def device_name(self, device: str) -> str:
        """A GPU's model, the CPU's for "host", the number and model of all GPUs for "node"."""
        gpu = self.gpu(device)
        if device == NODE:
            return f"{len(self.devices)} × {self.devices[0].name}" if self.devices else NODE
        return (gpu.name or gpu.uuid) if gpu else (self.host.cpu_model or HOST)

    def measured_devices(self) -> list[str]:
        """The devices with measurements or ceilings: GPUs, the node, the host."""
        measured = {m.device for m in self.measurements} | {c.device for c in self.ceilings}
        return [d for d in [*(d.uuid for d in self.devices), NODE, HOST] if d in measured]

    def levels(self, device: str) -> tuple[MemoryLevel, ...]:
        """The levels of a GPU's memory, nearest first."""
        return tuple(level for level in self.memory_map if level.device == device)

    def gpu(self, device: str) -> Device | None:
        """The GPU with this UUID; None for the host."""
        return next((d for d in self.devices if d.uuid == device), None)

    def of(self, device: str, prefix: str = "") -> list[Measurement]:
        """Sound measurements of a device whose id is `prefix` or starts with it and a dot."""
        return [
            m
            for m in self.measurements
            if m.device == device
            and m.sound
            and (not prefix or m.id == prefix or m.id.startswith(prefix + "."))
        ]

    def ceiling(self, device: str, resource: str, *bases: str) -> Ceiling | None:
        """The highest ceiling on the first available of `bases`."""
        rows = (self._highest.get((device, resource, basis)) for basis in bases)
        return next((row for row in rows if row), None)

    @functools.cached_property
    def _highest(self) -> dict[tuple[str, str, str], Ceiling]:
        """The highest ceiling by device, resource and basis; the first of equal ones."""
        rows = sorted(self.ceilings, key=lambda row: row.value, reverse=True)
        return {(c.device, c.resource, c.basis): c for c in reversed(rows)}

    def ceiling_from(self, device: str, id_: str) -> Ceiling | None:
        """The first ceiling measured by the benchmark with this id."""
        rows = (c for c in self.ceilings if c.device == device)
        return next((c for c in rows if c.measurement.partition("/")[0] == id_), None)

    def resources_of(self, device: str) -> list[str]:
        """The names of a device's resources with ceilings, in display order. A GPU's list excludes
        links between GPUs, which belong to the node."""
        present = dict.fromkeys(
            c.resource
            for c in self.ceilings
            if c.device == device and (device == NODE or not is_of_node(c.resource))
        )
        listed = [r.name for r in self.resources if r.name in present]
        return list(dict.fromkeys([*listed, *present]))

    def label(self, resource: str) -> str:
        """The label of a resource: this version's where it knows the resource, else the file's.

        Where the host link is not PCIe, only the file has its label.
        """
        found = self._resource.get(resource)
        known = schema.labels().get(resource)
        other_link = any(device.integrated or device.c2c for device in self.devices)
        if known and not (found and other_link and level_of(resource) == "pcie"):
            return known
        return found.label if found else plain_label(resource)

    def headline_label(self, headline: Headline) -> str:
        """The label of a headline: its resource's where the file calls both alike; of Tensor Cores
        "BF16 achievable"."""
        if level_of(headline.resource) == "tensor":
            precision = self.precision(headline.resource) or headline.resource.partition(".")[2]
            return f"{format_name(precision)} {basis_name(headline.basis)}"
        found = self._resource.get(headline.resource)
        alike = found is not None and found.label == headline.label
        return self.label(headline.resource) if alike else headline.label

    def precision(self, resource: str) -> str:
        """The precision of a compute resource, else empty."""
        found = self._resource.get(resource)
        return found.precision if found else ""

    @functools.cached_property
    def _resource(self) -> dict[str, Resource]:
        return {r.name: r for r in reversed(self.resources)}

    def curve(self, device: str, topic: str) -> Curve | None:
        return next((c for c in self.curves if (c.device, c.topic) == (device, topic)), None)

    def figures(
        self,
        device: str,
        *,
        topic: str = "",
        id: str = "",
        name: str = "",
        role: str = "",
        **by: int | str,
    ) -> list[Figure]:
        """The figures of a device that match all given criteria, in the profile's order. topic, id,
        name, role: as in the profile. by: parameter values, such as `tokens=16384`."""
        return [
            figure
            for curve in self.curves
            if curve.device == device and topic in ("", curve.topic)
            for figure in curve.figures
            if id in ("", figure.id) and name in ("", figure.name) and role in ("", figure.role)
            if all(figure.by.get(key) == value for key, value in by.items())
        ]

    def roofline(self, device: str) -> Roofline | None:
        return next((r for r in self.rooflines if r.device == device), None)

    def memory_resource(self, device: str, level: str) -> str | None:
        """The resource that stands for the bandwidth of a memory level ("hbm", "pcie"). The
        device's roofline decides, else the level's first resource."""
        roofline = self.roofline(device)
        named = [*(roofline.memory if roofline else ()), *self.resources_of(device)]
        return next((resource for resource in named if level_of(resource) == level), None)

    @functools.cached_property
    def population(self) -> Population:
        """The spread of healthy GPUs of this profile's model, in runs of its mode. Raises as
        `peakline.population`, and PeakError if the GPUs are of several models."""
        return population(self.device_name(self.select_devices()[0]), self.mode)

    def disturbances(self, device: str | int | None = None) -> list[str]:
        """What made figures of these devices too low, as far as findings tell: others that used the
        GPU, heat, errors. device: see `select_devices`."""
        devices = self.select_devices(device)
        return [
            finding.message
            for finding in self.findings
            if finding.device in devices
            and (finding.severity == "error" or finding.code in ("other_process", "thermal_limit"))
        ]

    def select_devices(self, device: str | int | None = None) -> list[str]:
        """The UUIDs (or "host") that `device` means.

        None: every usable GPU, or the host if there is no GPU. An int, or a str of digits, is an
        index; other text is "host", a model's name or words of it ("H200"), or a UUID or its unique
        beginning. Raises PeakError if nothing matches, or if several models do.
        """
        gpus = [d for d in self.devices if not d.unusable]
        choices = ", ".join([*(f"{d.index} ({d.name}, {d.uuid})" for d in gpus), HOST])
        if device is None:
            if not gpus:
                return [HOST]
            if len({d.name for d in gpus}) > 1:
                raise PeakError(
                    f"{self.where} holds different GPU models, whose peaks differ: "
                    f"name the device, one of {choices}"
                )
            return [d.uuid for d in gpus]
        if isinstance(device, str) and device == HOST:
            return [HOST]
        found = _called(gpus, str(device))
        if not found:
            raise PeakError(f"no device {device!r} in {self.where}: use one of {choices}")
        return found

    def peak(self, dtype: str, *, basis: str, device: str | int | None = None) -> Peak:
        """The dense peak of a precision in FLOP/s (OP/s for int8).

        dtype: "bf16", "torch.bfloat16", ...; a bare precision means the Tensor Cores if they
        support it, else the CUDA cores; "cuda_core.fp16" names the unit. `Peak.work` says what ran:
        FMAs for FP32, whose GEMM is "gemm.fp32". basis: "published" (the datasheet's, for MFU),
        "achievable" (sustained under load), "model" (GEMMs of transformer layers), or one of BASES.
        device: see `select_devices`; among several devices of one model the slowest counts, since a
        synchronous job waits for it. Raises PeakError.
        """
        name = normalize_dtype(dtype)
        return self._slowest(
            self.select_devices(device), basis, lambda uuid: self._compute_resource(uuid, name)
        )

    def bandwidth(
        self, memory: str, *, basis: str = "measured", device: str | int | None = None
    ) -> Peak:
        """The bandwidth of a memory level in B/s.

        memory: a level ("hbm", "pcie", "memory"; see `memory_resource`), one pattern ("hbm.copy"),
        "nvlink" for the best pair of the node's GPUs, or one pair ("nvlink.read.0-1"). basis,
        device: as in `peak`; "achievable" is what was measured. Raises PeakError.
        """
        return self._slowest(
            [NODE] if is_of_node(memory) else self.select_devices(device),
            basis,
            lambda uuid: self.memory_resource(uuid, memory) or memory,
        )

    def ridge(
        self,
        dtype: str,
        memory: str = "",
        *,
        basis: str = "achievable",
        device: str | int | None = None,
    ) -> float:
        """The arithmetic intensity in FLOP/byte below which memory limits a kernel: `peak` over
        `bandwidth`.

        dtype, device: as in `peak`. memory: as in `bandwidth`; by default the device's own. basis:
        of the peak, and of the bandwidth if it follows from a specification; otherwise that is
        measured. Raises PeakError.
        """
        peak = self.peak(dtype, basis=basis, device=device)
        of_memory = peak.basis if peak.published else "measured"
        return peak / self.bandwidth(memory or peak.memory, basis=of_memory, device=device)

    def energy(
        self, dtype: str, *, basis: str = "achievable", device: str | int | None = None
    ) -> float:
        """Joules per FLOP under load: the board's power, idle power included, over the rate.

        dtype, basis, device: as in `peak`. Raises PeakError, also where no power was read: a load
        of a second and more has one.
        """
        peak = self.peak(dtype, basis=basis, device=device)
        rows = (
            self.ceiling(uuid, peak.resource, peak.basis) for uuid in self.select_devices(device)
        )
        slowest = next(row for row in rows if row is not None and row.value == peak)
        if slowest.joules_per_operation is None:
            raise PeakError(f"the energy of {peak} is not known: no power was read")
        return slowest.joules_per_operation

    def latency(self, memory: str, *, far: bool = False, device: str | int | None = None) -> float:
        """Seconds of a dependent load from a memory level: "l1", "shared", "l2", "hbm", "host".

        far: from the L2's other partition. device: as in `peak`; of several the slowest counts.
        Raises PeakError.
        """
        found = []
        for uuid in self.select_devices(device):
            rows = {
                row.level: row.far_latency_s if far else row.latency_s for row in self.levels(uuid)
            }
            seconds = rows.get(memory.lower())
            if seconds is None:
                known = [level for level, value in rows.items() if value is not None]
                raise PeakError(
                    f"no {'far ' if far else ''}latency of {memory} of {self.device_name(uuid)} in "
                    f"{self.where}; it has {', '.join(known) or 'none at all'}"
                )
            found.append(seconds)
        return max(found)

    def _compute_resource(self, device: str, name: str) -> str:
        if "." in name:
            return name
        present = self.resources_of(device)
        # Another unit's peak does not stand in for one that could not be had.
        missing = [m.resource for m in self.missing_ceilings if m.device == device]
        for family in COMPUTE_FAMILIES:
            if f"{family}.{name}" in (*present, *missing):
                return f"{family}.{name}"
        offered = sorted(
            {r.partition(".")[2] for r in present if r.partition(".")[0] in COMPUTE_FAMILIES}
        )
        raise PeakError(
            f"{self.device_name(device)} has no {name} peak in {self.where}; "
            f"it has {', '.join(offered) or 'none at all'}"
        )

    def _slowest(
        self, devices: Sequence[str], basis: str, resource_of: Callable[[str], str]
    ) -> Peak:
        bases_of(basis)  # an unknown one is refused before the resource
        return min(self._peak(uuid, basis, resource_of(uuid)) for uuid in devices)

    def _peak(self, device: str, basis: str, resource: str) -> Peak:
        row = self.ceiling(device, resource, *bases_of(basis))
        if row is None:
            # Another unit may have this basis for the precision: list it, too.
            variant = resource.rpartition(".")[2]
            offered = [
                f"{c.resource} {c.basis}"
                for c in self.ceilings
                if c.device == device and c.resource.rpartition(".")[2] == variant
            ]
            raise PeakError(
                f"no {basis} figure for {resource} of {self.device_name(device)} in "
                f"{self.where}; it has {', '.join(offered) or 'none at all'}"
            )
        where = row.measurement or row.note or "the specification"
        origin = Path(self.path).name if self.path else "profile"
        return Peak(
            row.value,
            resource=row.resource,
            basis=row.basis,
            unit=row.unit,
            device=self.device_name(device),
            source=f"{origin} of {self.created}: {where}",
            work=work_of(row.measurement),
        )


def _called(gpus: Sequence[Device], text: str) -> list[str]:
    """The GPUs with an index, a name, a UUID's beginning or a word of one model's name."""
    if (index := whole(text)) is not None:
        return [d.uuid for d in gpus if d.index == index]
    if not text:
        return []
    word = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)
    for found in (
        [d for d in gpus if d.name.lower() == text.lower()],
        [d for d in gpus if d.uuid.startswith(text)],
        [d for d in gpus if word.search(d.name)],
    ):
        if found:
            return [d.uuid for d in found] if len({d.name or d.uuid for d in found}) == 1 else []
    return []


def fleet_peak(
    profiles: Iterable[Profile],
    dtype: str,
    *,
    basis: str,
    device: str | int | None = None,
    allow_mixed: bool = False,
) -> Peak:
    """The peak of the slowest device among several profiles, in FLOP/s: a synchronous job waits for
    it. Raises PeakError if the devices are of different models, unless `allow_mixed`."""
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
