"""The ceilings of a device by basis: a row for each resource."""

from __future__ import annotations

from dataclasses import dataclass

from peakline.limits.roofline import MEASURED
from peakline.profile import BASES, Ceiling, Profile


def basis_name(basis: str) -> str:
    """The printed name of a basis: "model-shaped"."""
    return basis.replace("_", "-")


def ceiling_label(label: str, basis: str) -> str:
    """The printed name of a ceiling: "BF16 Tensor Cores burst"."""
    return label if basis == "measured" else f"{label} {basis_name(basis)}"


@dataclass(frozen=True, slots=True)
class CeilingRow:
    resource: str
    by_basis: dict[str, Ceiling]

    @property
    def best(self) -> Ceiling | None:
        """The highest measured ceiling."""
        return next((self.by_basis[b] for b in MEASURED if b in self.by_basis), None)

    @property
    def share(self) -> float | None:
        """Best measured / theoretical; None if either is missing."""
        limit = self.by_basis.get("theoretical")
        return self.best.value / limit.value if self.best and limit else None


def ceiling_table(profile: Profile, device: str) -> tuple[list[str], list[CeilingRow]]:
    """The bases of a device's ceilings, in the order shown, and a row for each resource."""
    rows = []
    for resource in profile.resources_of(device):
        found = {basis: profile.ceiling(device, resource, basis) for basis in BASES}
        rows.append(CeilingRow(resource, {b: row for b, row in found.items() if row}))
    bases = [b for b in BASES if any(b in row.by_basis for row in rows)]
    return bases, rows
