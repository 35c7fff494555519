"""The five numbers that matter most about a device, and its ceilings by basis: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peakline import units
from peakline.pictures.roofline import MEASURED, resource_name
from peakline.profile import HOST, Ceiling, Profile

COUNT = 5


@dataclass(frozen=True, slots=True)
class Headline:
    """One number with what it is and what to hold it against."""

    what: str
    value: str
    detail: str


def _share(profile: Profile, device: str, row: Ceiling) -> str:
    for basis in ("datasheet", "theoretical"):
        limit = profile.ceiling(device, row.resource, basis)
        if limit is not None:
            return f"{units.percent(row.value / limit.value)} of {basis}"
    return f"{row.basis.replace('_', '-')}"


def _ceiling(profile: Profile, device: str, resources: Sequence[str]) -> Ceiling | None:
    rows = [
        row
        for resource in resources
        if (row := profile.ceiling(device, resource, *MEASURED)) is not None
    ]
    return max(rows, key=lambda row: row.value) if rows else None


def _rate(profile: Profile, device: str, what: str, resources: Sequence[str]) -> list[Headline]:
    row = _ceiling(profile, device, resources)
    if row is None:
        return []
    detail = _share(profile, device, row)
    held = profile.ceiling(device, row.resource, "sustained")
    if held is not None and held is not row:
        detail += f"; sustained {units.rate(held.value, held.unit)}"
    if len(resources) > 1 and row.unit == "B/s":
        detail += f"; {resource_name(row.resource)}"
    return [Headline(what, units.rate(row.value, row.unit), detail)]


def _time(profile: Profile, device: str, id_: str, what: str, detail: str) -> list[Headline]:
    rows = [m for m in profile.of(device, id_) if m.id == id_ and m.value and m.unit == "s"]
    if not rows:
        return []
    best = min(m.value for m in rows if m.value)
    return [Headline(what, units.time(best), detail)]


def _ridge(profile: Profile, device: str) -> list[Headline]:
    for roofline in profile.rooflines:
        if roofline.device == device and roofline.ridge_points:
            point = roofline.ridge_points[0]
            return [
                Headline(
                    "Ridge point",
                    f"{units.intensity(point.intensity)} FLOP/byte",
                    f"{resource_name(point.compute)} over {resource_name(point.memory)}",
                )
            ]
    return []


def headlines(profile: Profile, device: str) -> list[Headline]:
    """At most five, the most telling that the profile has for this device."""
    present = profile.resources(device)

    def family(name: str) -> list[str]:
        return [r for r in present if r == name or r.startswith(name + ".")]

    if device == HOST:
        found = [
            *_rate(profile, device, "Host memory", family("memory")),
            *_rate(profile, device, "FP32 on the CPU", ["cpu.fp32"]),
            *_rate(profile, device, "FP64 on the CPU", ["cpu.fp64"]),
            *_ridge(profile, device),
            *_rate(profile, device, "Memory copy (read + written)", ["memory.copy"]),
        ]
    else:
        matrix = next(
            (r for r in ("tensor.bf16", "tensor.fp16", "tensor.tf32") if r in present), None
        )
        found = [
            *_rate(profile, device, "Device memory", family("hbm")),
            *(
                _rate(profile, device, f"{resource_name(matrix)} cores, dense", [matrix])
                if matrix
                else []
            ),
            *_rate(profile, device, "FP32 on the CUDA cores", ["cuda_core.fp32"]),
            *_rate(profile, device, "Host to device, pinned", ["pcie.h2d"]),
            *_time(profile, device, "launch.round_trip", "Launch and wait", "one empty kernel"),
            *_ridge(profile, device),
            *_rate(profile, device, "FP64 on the CUDA cores", ["cuda_core.fp64"]),
            *_rate(profile, device, "Device to host, pinned", ["pcie.d2h"]),
        ]
    return found[:COUNT]


BASIS_COLUMNS = (
    ("theoretical", "theoretical"),
    ("datasheet", "datasheet"),
    ("instruction", "instruction"),
    ("measured", "measured"),
    ("burst", "burst"),
    ("sustained", "sustained"),
    ("model_shaped", "model-shaped"),
)


@dataclass(frozen=True, slots=True)
class CeilingRow:
    """One resource with its ceilings by basis."""

    resource: str
    by_basis: dict[str, Ceiling]

    @property
    def best(self) -> Ceiling | None:
        """The highest measured one."""
        return next((self.by_basis[b] for b in MEASURED if b in self.by_basis), None)

    @property
    def share(self) -> float | None:
        """The best measured over the theoretical one; None where one of them is missing."""
        limit = self.by_basis.get("theoretical")
        return self.best.value / limit.value if self.best and limit else None


def ceiling_table(profile: Profile, device: str) -> tuple[list[str], list[CeilingRow]]:
    """The bases that a device has ceilings of, in the order shown, and a row for each resource."""
    rows = []
    for resource in profile.resources(device):
        found = {
            basis: row
            for basis, _ in BASIS_COLUMNS
            if (row := profile.ceiling(device, resource, basis)) is not None
        }
        rows.append(CeilingRow(resource, found))
    bases = [b for b, _ in BASIS_COLUMNS if any(b in row.by_basis for row in rows)]
    return bases, rows
