"""The profile as a whole, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from peakline.profile.conclusions import BASES, Ceiling, Finding, Roofline
from peakline.profile.facts import Device, Host, Software
from peakline.profile.measurement import Measurement
from peakline.profile.peaks import COMPUTE_FAMILIES, Peak, PeakError, normalize_dtype

HOST = "host"


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

    def measured_devices(self) -> list[str]:
        """The devices to be shown: GPUs, then the host, each only where something was measured."""
        measured = {m.device for m in self.measurements} | {c.device for c in self.ceilings}
        return [d for d in [*(d.uuid for d in self.devices), HOST] if d in measured]

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
        for family in COMPUTE_FAMILIES:
            if f"{family}.{name}" in present:
                return f"{family}.{name}"
        offered = sorted(
            {r.partition(".")[2] for r in present if r.partition(".")[0] in COMPUTE_FAMILIES}
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
