"""The ceilings of a device by basis: a row for each resource."""

from __future__ import annotations

from dataclasses import dataclass

from peakline import units
from peakline.limits.roofline import MEASURED
from peakline.profile import BASES, Ceiling, Profile


def ceiling_label(label: str, basis: str) -> str:
    """The name of a ceiling in the program's verdicts: "BF16 Tensor Cores burst"."""
    return label if basis == "measured" else f"{label} {basis.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class CeilingRow:
    resource: str
    by_basis: dict[str, Ceiling]

    @property
    def best(self) -> Ceiling | None:
        """The highest measured ceiling."""
        return next((self.by_basis[b] for b in MEASURED if b in self.by_basis), None)

    @property
    def limit(self) -> float:
        """The theoretical value, of a link what its packets allow. Raises KeyError without one."""
        return self.by_basis["theoretical"].value * (self.best.packets if self.best else 1.0)

    @property
    def raw(self) -> str:
        """The raw rate of a link whose packets allow less: " (raw 63.0)", else nothing."""
        raw = self.by_basis.get("theoretical")
        if raw is None or self.limit == raw.value:
            return ""
        return f" (raw {units.rate(raw.value, raw.unit).partition(' ')[0]})"

    @property
    def share(self) -> float | None:
        """The best measured over the limit; None where one of them is missing."""
        if self.best is None or "theoretical" not in self.by_basis:
            return None
        return self.best.value / self.limit


def ceiling_table(profile: Profile, device: str) -> tuple[list[str], list[CeilingRow]]:
    """The bases of a device's ceilings, in the order shown, and a row for each resource."""
    rows = []
    for resource in profile.resources_of(device):
        found = {basis: profile.ceiling(device, resource, basis) for basis in BASES}
        rows.append(CeilingRow(resource, {b: row for b, row in found.items() if row}))
    bases = [b for b in BASES if any(b in row.by_basis for row in rows)]
    return bases, rows
