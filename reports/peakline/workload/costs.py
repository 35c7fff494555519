"""Costs of launches, copies and collectives on a machine, by its profile."""

import functools
from dataclasses import dataclass

from peakline.limits.collectives import interpolated, points
from peakline.profile import Profile
from peakline.workload.model import HostMemory, Message, Way

_WAYS = {Way.TO_DEVICE: "h2d", Way.TO_HOST: "d2h"}
_HOSTS = {HostMemory.PINNED: "pinned", HostMemory.PAGEABLE: "pageable"}
# Assumed without measurement, and reported as such: a launch call, the time from the call to the
# kernel's start, and the time between queued kernels.
_SUBMIT_NS, _LATENCY_NS, _NEXT_NS = 5000, 10_000, 10_000
# Real kernels write data for the next one, so dispatch takes longer than between the empty kernels
# measured; this factor is an assumption.
_OF_EMPTY = 2


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds of a launch, measured or assumed."""

    submit: int  # host time per launch
    latency: int  # maximum from the call to the kernel's start
    queued: int  # maximum between two queued kernels
    node: int | None  # per additional graph node
    assumed: tuple[str, ...]  # descriptions of assumed values


def costs_of(profile: Profile, device: str) -> Costs:
    def measured(id_: str) -> int | None:
        found = (m.value for m in profile.of(device, id_) if m.id == id_ and m.unit == "s")
        value = next(found, None)
        return round(value * 1e9) if value else None

    submit, trip = measured("launch.submit"), measured("launch.round_trip")
    empty, next_ = measured("launch.empty_kernel"), measured("launch.back_to_back")
    nodes = profile.figures(device, id="launch.graph", name="per_item")
    # The round trip includes the kernel's start and end, and the notification of the host.
    latency = max(trip - (empty or 0), submit or 0) if trip else None
    assumed = (
        (submit, _SUBMIT_NS, "for a launch call"),
        (latency, _LATENCY_NS, "from the call to the kernel's start"),
        (next_, _NEXT_NS, "between queued kernels"),
    )
    return Costs(
        submit or _SUBMIT_NS,
        latency or _LATENCY_NS,
        _OF_EMPTY * next_ if next_ else _NEXT_NS,
        round(nodes[0].value * 1e9) if nodes else None,
        tuple(f"{ns // 1000} µs {what}" for known, ns, what in assumed if not known),
    )


class Links:
    """Times of copies and collectives at the measured rates."""

    def __init__(self, profile: Profile, device: str) -> None:
        self._profile, self._device = profile, device
        self._copies = functools.cache(self._copy_curve)
        self._collectives = functools.cache(functools.partial(points, profile))
        self._rates = functools.cache(self._rate)

    def copy(self, way: Way, host: HostMemory, nbytes: int) -> int | None:
        """Nanoseconds of a copy; None if profile or trace lack the information."""
        if way not in _WAYS or host not in _HOSTS or nbytes <= 0:
            return None
        curve = self._copies(f"pcie.{_WAYS[way]}.{_HOSTS[host]}")
        return round(interpolated(curve, nbytes) * 1e9) if curve else None

    def _copy_curve(self, id_: str) -> dict[int, float]:
        return {
            size: size / m.value
            for m in self._profile.of(self._device, id_)
            if m.id == id_ and m.unit == "B/s" and m.value and (size := m.integer("bytes"))
        }

    def collective(self, message: Message) -> int | None:
        """Nanoseconds of a collective; None for an unknown size or without measurements.

        Without a curve for as many ranks: the bytes that each rank has to send, at the best rate of
        any curve.
        """
        operation, ranks = message.operation, message.ranks
        if not operation or not message.bytes:
            return None
        curve = self._collectives(f"nccl.{operation}", ranks)
        if curve:
            return round(interpolated(curve, message.bytes) * 1e9)
        rate = self._rates(operation) if ranks > 1 else 0.0
        return round(1e9 * _sent(operation, ranks, True) * message.bytes / rate) if rate else None

    def _rate(self, operation: str) -> float:
        """The highest measured rate at which a rank sends; 0 without a curve."""
        found = (
            _sent(operation, ranks, False) * size / m.summary.median_s
            for m in self._profile.measurements
            if m.id == f"nccl.{operation}" and m.sound and m.summary
            if (size := m.integer("bytes")) and (ranks := m.integer("ranks") or 0) > 1
        )
        return max(found, default=0.0)


def _sent(operation: str, ranks: int, least: bool) -> float:
    """The share of the array that each rank sends or receives, whichever is more. least: assume
    reduction in the switches if an all-reduce is then faster than in a ring."""
    if operation in ("broadcast", "send_receive"):
        return 1.0
    if operation != "all_reduce":
        return (ranks - 1) / ranks
    ring = 2 * (ranks - 1) / ranks
    return min(ring, (ranks + 1) / ranks) if least else ring
