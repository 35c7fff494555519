"""The five numbers that matter most about a device, and its ceilings by basis: pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from peakline import units
from peakline.limits import MEASURED
from peakline.profile import HOST, Ceiling, Profile


@dataclass(frozen=True, slots=True)
class Headline:
    """One number with what it is and what to hold it against."""

    what: str
    value: str
    detail: str


# The same five, under the same names, as at the top of `peakline show`.
_GPU = (
    ("HBM read", "hbm.read", "measured"),
    ("PCIe to device", "pcie.h2d", "measured"),
    ("FP32 CUDA cores", "cuda_core.fp32", "burst"),
    ("BF16 burst", "tensor.bf16", "burst"),
    ("BF16 sustained", "tensor.bf16", "sustained"),
)
_HOST = (
    ("memory read", "memory.read", "measured"),
    ("memory copy", "memory.copy", "measured"),
    ("memory triad", "memory.triad", "measured"),
    ("FP64", "cpu.fp64", "measured"),
    ("FP32", "cpu.fp32", "measured"),
)


def _share(profile: Profile, device: str, row: Ceiling) -> str:
    # Matrix rates are quoted against the datasheet, whose clock is below the maximum.
    bases = ("datasheet", "theoretical") if row.resource.startswith("tensor.") else ("theoretical",)
    for basis in bases:
        limit = profile.ceiling(device, row.resource, basis)
        if limit is not None:
            percent = units.percent(row.value / limit.value)
            return f"{percent} of {basis} {units.rate(limit.value, limit.unit)}"
    return "measured"


def headlines(profile: Profile, device: str) -> list[Headline]:
    """The five figures of a device, "–" for what was not measured; none where nothing was."""
    present = profile.resources(device)
    by_fp16 = "tensor.bf16" not in present and "tensor.fp16" in present
    found = []
    for label, resource, basis in _HOST if device == HOST else _GPU:
        what = label
        if resource == "tensor.bf16" and by_fp16:
            what, resource = label.replace("BF16", "FP16"), "tensor.fp16"
        row = profile.ceiling(device, resource, basis)
        if row is None:
            found.append(Headline(what, "–", "not measured in this run"))
        else:
            value = units.rate(row.value, row.unit)
            found.append(Headline(what, value, _share(profile, device, row)))
    return found if any(headline.value != "–" for headline in found) else []


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
