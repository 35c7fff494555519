"""Slopes and roofs of a device, from its ceilings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from peakline.profile import Ceiling, Profile

# Bases of the best measured ceiling, in order of preference; sustained is drawn beside it.
MEASURED = ("burst", "measured", "instruction", "sustained")


@dataclass(frozen=True, slots=True)
class Limit:
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
    main: Limit  # slope of the memory that usually holds kernels' data
    slopes: tuple[Limit, ...]  # one per memory level, fastest first
    roofs: tuple[Limit, ...]  # one per precision and unit, highest first


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
