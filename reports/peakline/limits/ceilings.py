"""The ceilings of a device by what they rest on: a row for each resource."""

from __future__ import annotations

from dataclasses import dataclass

from peakline.limits.roofline import MEASURED
from peakline.profile import BASES, Ceiling, Profile


def ceiling_label(label: str, basis: str) -> str:
    """The name of a ceiling in the program's verdicts: "BF16 Tensor Cores burst"."""
    return label if basis == "measured" else f"{label} {basis.replace('_', '-')}"


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
    for resource in profile.resources_of(device):
        found = {basis: profile.ceiling(device, resource, basis) for basis in BASES}
        rows.append(CeilingRow(resource, {b: row for b, row in found.items() if row}))
    bases = [b for b in BASES if any(b in row.by_basis for row in rows)]
    return bases, rows
