"""What bounds kernels on a device: slopes and roofs from its ceilings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from peakline.names import level_of
from peakline.profile import Ceiling, Profile

# The best that was measured, as far as there is one; sustained is drawn beside it.
MEASURED = ("burst", "measured", "instruction", "sustained")


@dataclass(frozen=True, slots=True)
class Limit:
    """One slope or roof with the bases there are."""

    resource: str
    label: str
    precision: str  # of a roof
    best: Ceiling  # the highest measured
    sustained: Ceiling | None  # where it is another figure than `best`
    theoretical: Ceiling | None

    @property
    def value(self) -> float:
        """The best measured, in B/s or FLOP/s."""
        return self.best.value


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds kernels on one device."""

    main: Limit  # the slope of the memory that kernels' data usually come from
    slopes: tuple[Limit, ...]  # one per memory level, fastest first
    roofs: tuple[Limit, ...]  # one per precision and unit, highest first


def limits(profile: Profile, device: str) -> Limits | None:
    """Slopes and roofs of a device; None without at least one of each."""
    roofline = profile.roofline(device)
    if roofline is None:
        return None
    slopes: dict[str, Limit] = {}
    for limit in _measured(profile, device, roofline.memory):
        if limit.best.unit == "B/s":
            slopes.setdefault(level_of(limit.resource), limit)
    roofs = [
        limit
        for limit in _measured(profile, device, roofline.compute)
        if limit.best.unit in ("FLOP/s", "OP/s")
    ]
    if not slopes or not roofs:
        return None
    return Limits(
        next(iter(slopes.values())),
        tuple(sorted(slopes.values(), key=lambda s: -s.value)),
        tuple(sorted(roofs, key=lambda r: -r.value)),
    )


def _measured(profile: Profile, device: str, resources: Sequence[str]) -> Iterator[Limit]:
    for resource in resources:
        best = profile.ceiling(device, resource, *MEASURED)
        if best is None:
            continue
        sustained = profile.ceiling(device, resource, "sustained")
        yield Limit(
            resource,
            profile.label(resource),
            profile.precision(resource),
            best,
            sustained if sustained is not best else None,
            profile.ceiling(device, resource, "theoretical"),
        )
