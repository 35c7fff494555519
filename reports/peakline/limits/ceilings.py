"""The ceilings of a device by basis, and the slopes and roofs that they make."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from peakline import units
from peakline.names import basis_name
from peakline.profile import BASES, Ceiling, Profile


def ceiling_label(label: str, basis: str) -> str:
    """The name of a ceiling in the program's verdicts: "BF16 Tensor Cores burst"."""
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
    def limit(self) -> float:
        """The theoretical value, of a link what its packets allow. Raises KeyError without one."""
        return self.by_basis["theoretical"].value * (self.best.packets if self.best else 1.0)

    @property
    def raw(self) -> str:
        """The raw rate of a link whose packets allow less: " (raw 63.0)", else nothing."""
        raw = self.by_basis.get("theoretical")
        if raw is None or self.limit == raw.value:
            return ""
        return f" (raw {units.rate_number(raw.value, raw.unit)})"

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


# Bases of the best measured ceiling, in order of preference; achievable is drawn beside it.
MEASURED = ("burst", "measured", "instruction", "sustained")


@dataclass(frozen=True, slots=True)
class RooflineLimit:
    resource: str
    label: str
    precision: str  # of a roof
    best: Ceiling  # the highest measured
    sustained: Ceiling | None  # if it differs from `best`
    theoretical: Ceiling | None

    @property
    def value(self) -> float:
        """The best measured ceiling, in B/s or FLOP/s."""
        return self.best.value


@dataclass(frozen=True, slots=True)
class Limits:
    main: RooflineLimit  # slope of the memory that usually holds kernels' data
    slopes: tuple[RooflineLimit, ...]  # one per memory level, fastest first
    roofs: tuple[RooflineLimit, ...]  # one per precision and unit, highest first


def limits(profile: Profile, device: str) -> Limits | None:
    """Slopes and roofs of a device; None unless it has at least one of each."""
    roofline = profile.roofline(device)
    if roofline is None:
        return None
    slopes = [x for x in _measured(profile, device, roofline.memory) if x.best.unit == "B/s"]
    roofs = [
        limit
        for limit in _measured(profile, device, roofline.compute)
        if limit.best.unit in ("FLOP/s", "OP/s")
    ]
    if not slopes or not roofs:
        return None
    # The profile's roofline has one slope per memory level, the main one first.
    return Limits(
        slopes[0],
        tuple(sorted(slopes, key=lambda s: -s.value)),
        tuple(sorted(roofs, key=lambda r: -r.value)),
    )


def _measured(profile: Profile, device: str, resources: Sequence[str]) -> Iterator[RooflineLimit]:
    for resource in resources:
        best = profile.ceiling(device, resource, *MEASURED)
        if best is None:
            continue
        sustained = profile.ceiling(device, resource, "sustained")
        yield RooflineLimit(
            resource,
            profile.label(resource),
            profile.precision(resource),
            best,
            sustained if sustained is not best else None,
            profile.ceiling(device, resource, "theoretical"),
        )
