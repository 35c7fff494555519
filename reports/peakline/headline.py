"""The few numbers that matter most about a device, and its ceilings by basis: pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from peakline import units
from peakline.limits import MEASURED
from peakline.profile import BASES, Ceiling, Headline, Profile

NO_VALUE = "–"


@dataclass(frozen=True, slots=True)
class Tile:
    """One number with what it is and what to hold it against."""

    what: str
    value: str
    detail: str


def headlines(profile: Profile, device: str) -> list[Tile]:
    """The figures of a device, "–" for what was not measured; none where nothing was."""
    tiles = [_tile(profile, row) for row in profile.headlines if row.device == device]
    return tiles if any(tile.value != NO_VALUE for tile in tiles) else []


def _tile(profile: Profile, headline: Headline) -> Tile:
    row = profile.ceiling(headline.device, headline.resource, headline.basis)
    if row is None:
        return Tile(headline.label, NO_VALUE, headline.missing or "not measured in this run")
    reference = headline.reference_basis and profile.ceiling(
        headline.device, headline.resource, headline.reference_basis
    )
    detail = basis_name(headline.basis)
    if reference:
        share = units.percent(row.value / reference.value)
        limit = units.rate(reference.value, reference.unit)
        detail = f"{share} of {basis_name(reference.basis)} {limit}"
    return Tile(headline.label, units.rate(row.value, row.unit), detail)


def basis_name(basis: str) -> str:
    """How a basis is written: "model-shaped"."""
    return basis.replace("_", "-")


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
