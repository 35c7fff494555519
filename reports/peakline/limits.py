"""What bounds kernels on a device: slopes and roofs from its ceilings."""

from __future__ import annotations

from dataclasses import dataclass

from peakline.names import level_of
from peakline.profile import Ceiling, Profile

# The best that was measured, as far as there is one; sustained is drawn beside it.
MEASURED = ("burst", "measured", "instruction", "sustained")


@dataclass(frozen=True, slots=True)
class Limit:
    """One slope or roof with the bases there are."""

    resource: str
    best: Ceiling  # the highest measured
    sustained: Ceiling | None  # where it is another figure than `best`
    theoretical: Ceiling | None


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds kernels on one device."""

    slopes: tuple[Limit, ...]  # one per memory level, fastest first
    roofs: tuple[Limit, ...]  # one per precision and unit, highest first

    def attainable(self, intensity: float) -> float:
        """FLOP/s under the fastest slope and the highest roof at `intensity` FLOP/byte."""
        return min(self.roofs[0].best.value, self.slopes[0].best.value * intensity)


def _limit(profile: Profile, device: str, resource: str) -> Limit | None:
    best = profile.ceiling(device, resource, *MEASURED)
    if best is None:
        return None
    sustained = profile.ceiling(device, resource, "sustained")
    return Limit(
        resource,
        best,
        sustained if sustained is not best else None,
        profile.ceiling(device, resource, "theoretical"),
    )


def limits(profile: Profile, device: str) -> Limits | None:
    """Slopes and roofs of a device; None without at least one of each."""
    roofline = next((r for r in profile.rooflines if r.device == device), None)
    if roofline is None:
        return None
    slopes: dict[str, Limit] = {}
    for resource in roofline.memory:
        limit = _limit(profile, device, resource)
        if limit is None or limit.best.unit != "B/s":
            continue
        level = level_of(resource)
        if level not in slopes or slopes[level].best.value < limit.best.value:
            slopes[level] = limit
    roofs = [
        limit
        for resource in roofline.compute
        if (limit := _limit(profile, device, resource)) is not None
        and limit.best.unit in ("FLOP/s", "OP/s")
    ]
    if not slopes or not roofs:
        return None
    return Limits(
        tuple(sorted(slopes.values(), key=lambda s: -s.best.value)),
        tuple(sorted(roofs, key=lambda r: -r.best.value)),
    )


def main_slope(found: Limits) -> Limit:
    """The slope that kernels' data usually come from: HBM, else the host's memory."""
    for level in ("hbm", "memory"):
        for slope in found.slopes:
            if level_of(slope.resource) == level:
                return slope
    return found.slopes[0]


def plain_roof(found: Limits, precision: str) -> Limit | None:
    """The roof that a sweep of FMAs in this precision runs under: the plain cores', not tensor."""
    for family in ("cuda_core", "cpu"):
        for roof in found.roofs:
            if roof.resource == f"{family}.{precision}":
                return roof
    return None
