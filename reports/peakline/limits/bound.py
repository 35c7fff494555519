"""The least time that work takes on a device, by its measured ceilings.

    least time = max over units of FLOP / peak, over memories of bytes / bandwidth, launches x cost

Users of one unit add up: the Tensor Cores' formats, reads and writes of the device memory's bus.
The directions of a cache are independent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from peakline.limits.ceilings import MEASURED
from peakline.names import level_of
from peakline.profile import PUBLISHED_BASES, Ceiling, PeakError, Profile, normalize_dtype
from peakline.profile.errors import shown_argument
from peakline.profile.peaks import COMPUTE_FAMILIES
from peakline.profile.schema import is_amount

Load = Literal["burst", "sustained"]
# Share of reads by pattern; traffic is compared with the nearest, since a bus that turns around is
# slower than one that only reads or writes.
_PATTERNS = {"read": 1.0, "triad": 2 / 3, "copy": 0.5, "write": 0.0}
_MAIN_LEVELS = ("hbm", "memory")
_SM_CLOCKED = (*COMPUTE_FAMILIES, "gemm", "l1", "shared")
LAUNCH = "launch"
_LAUNCH_IDS = ("launch.back_to_back", "launch.empty_kernel")


@dataclass(frozen=True, slots=True)
class Need:
    resource: str  # of its ceiling: "tensor.bf16", "hbm.triad"; or LAUNCH
    seconds: float
    basis: str  # of that ceiling
    ceiling: float
    unit: str  # of the ceiling: "FLOP/s", "OP/s", "B/s", "launches/s"
    theoretical: float | None = None  # the theoretical ceiling
    theoretical_s: float | None = None  # the least time by theoretical ceilings


class Roofs:
    """The ceilings of one device, for one kind of load and at one clock.

    load: decides between two measured ceilings. clock_hz: the SM clock of the work; ceilings that
    follow the SM clock are scaled to it, None leaves them as measured. A resource that was not
    measured has its theoretical ceiling, if the specification is known.
    """

    def __init__(
        self, profile: Profile, device: str, load: Load = "burst", clock_hz: float | None = None
    ) -> None:
        self._profile, self._device, self._clock_hz = profile, device, clock_hz
        self.where, self.name = profile.where, profile.device_name(device)
        measured = MEASURED if load == "burst" else ("sustained", *MEASURED)
        self._bases = (*measured, *PUBLISHED_BASES)
        roofline = profile.roofline(device)
        levels = [level_of(name) for name in (*(roofline.memory if roofline else ()),)]
        levels += [level_of(name) for name in profile.resources_of(device)]
        self.main = next((level for level in levels if level in _MAIN_LEVELS), None)

    def ceiling(self, resource: str) -> Ceiling | None:
        return self._profile.ceiling(self._device, resource, *self._bases)

    def value(self, row: Ceiling) -> float:
        """A ceiling at the clock of these roofs."""
        clock = row.conditions.sm_clock_hz
        if self._clock_hz and clock and level_of(row.resource) in _SM_CLOCKED:
            return row.value * self._clock_hz / clock
        return row.value

    def compute(self, unit: str) -> Ceiling | None:
        """The ceiling of a unit ("tensor.bf16"), or of the first unit with a precision ("bf16")."""
        names = [unit] if "." in unit else [f"{family}.{unit}" for family in COMPUTE_FAMILIES]
        return next((row for name in names if (row := self.ceiling(name))), None)

    def formats(self) -> list[Ceiling]:
        names = self._profile.resources_of(self._device)
        rows = [self.ceiling(n) for n in names if level_of(n) in COMPUTE_FAMILIES]
        return [row for row in rows if row and row.unit == "FLOP/s"]

    def memory(self, key: str) -> Ceiling | None:
        row = self.ceiling(self._profile.memory_resource(self._device, key) or key)
        return row if row and row.unit == "B/s" else None

    def memories(self) -> list[str]:
        return [n for n in self._profile.resources_of(self._device) if self.memory(n)]

    def traffic(self, read: float, written: float) -> Need | None:
        """The least time of reads and writes of the device's memory, in bytes."""
        share = read / (read + written) if read + written else 1.0
        found = self._patterns()
        if not found:
            return None
        _, row = min(found, key=lambda pattern: abs(_PATTERNS[pattern[0]] - share))
        return self.need(row, read + written)

    def traffic_of_any_mix(self, total: float) -> Need | None:
        """The least time of traffic of an unknown mix: that of the fastest pattern."""
        rows = [row for _, row in self._patterns()]
        if not rows or self.main is None:
            return None
        return self.need(max(rows, key=lambda row: row.value), total, self.main)

    def _patterns(self) -> list[tuple[str, Ceiling]]:
        found = [(name, self.ceiling(f"{self.main}.{name}")) for name in _PATTERNS]
        rows = [(name, row) for name, row in found if row is not None]
        # A specification has one figure for all patterns; measured ones take precedence.
        measured = [(name, row) for name, row in rows if row.basis not in PUBLISHED_BASES]
        return measured or rows

    def need(self, row: Ceiling, amount: float, called: str = "") -> Need:
        """The least time of an amount of FLOPs or bytes under a ceiling. called: the resource's
        name, if it differs from the ceiling's."""
        limit = self._profile.ceiling(self._device, row.resource, "theoretical")
        return Need(
            called or row.resource,
            amount / self.value(row),
            row.basis,
            self.value(row),
            row.unit,
            limit.value if limit else None,
            amount / limit.value if limit else None,
        )

    def launches(self, count: float) -> Need | None:
        """The time of consecutive launches; None if it was not measured."""
        for id_ in _LAUNCH_IDS:
            for m in self._profile.of(self._device, id_):
                if m.value and m.unit == "s":
                    return Need(LAUNCH, count * m.value, "measured", 1 / m.value, "launches/s")
        return None


def in_tensor_cores(needs: Mapping[str, Need]) -> Need | None:
    """The sum of the Tensor Cores' formats, named by the one that takes the longest."""
    found = [need for name, need in needs.items() if level_of(name) == "tensor"]
    if not found:
        return None
    first = max(found, key=lambda need: need.seconds)
    limits = [need.theoretical_s for need in found]
    return Need(
        first.resource,
        sum(need.seconds for need in found),
        first.basis,
        first.ceiling,
        first.unit,
        first.theoretical,
        sum(s for s in limits if s is not None) if None not in limits else None,
    )


@dataclass(frozen=True, slots=True)
class Bound:
    """The least time of some work on a device, as `bound` computes it, and what limits it."""

    seconds: float  # by the measured ceilings
    limiter: str  # the resource that needs it: "tensor.bf16", "hbm.triad", "launch"
    basis: str  # of its ceiling: "burst", "sustained", "measured"; "theoretical" if not measured
    unit: str  # of the next two: "FLOP/s", "OP/s", "B/s", "launches/s"
    measured: float | None  # the limiter's ceiling; None if only the specification has one
    theoretical: float | None  # None if the specification is not known
    theoretical_seconds: float | None  # the least time by the theoretical ceilings alone
    needs: Mapping[str, float]  # seconds that each resource needs, the limiter first

    def __float__(self) -> float:
        return self.seconds


def bound(
    profile: Profile,
    *,
    flop: Mapping[str, float] | None = None,
    bytes: Mapping[str, float] | None = None,
    launches: int = 0,
    device: str | int | None = None,
    load: Load = "burst",
) -> Bound:
    """The least time of some work on a device, and what limits it.

    flop: FLOPs by precision as `Profile.peak` takes it: "bf16", "cuda_core.fp16". bytes: by memory
    level. Traffic of the device's memory is "hbm.read" and "hbm.write", compared with the rate
    measured for their mix, or "hbm" if the mix is unknown; other keys are single resources of the
    profile: "l2.read", "shared.write", "pcie". launches: kernels that run one after the other.
    device: as in `Profile.select_devices`; of several it takes the first. load: "burst" for work
    from rest, "sustained" if the device has been busy for a second or more.

    Raises PeakError if the profile lacks a figure, ValueError for an invalid number or `load`; both
    name the argument.
    """
    if load not in ("burst", "sustained"):
        raise ValueError(f"load is {load!r}, but must be 'burst' or 'sustained'")
    uuid = profile.select_devices(device)[0]
    roofs = Roofs(profile, uuid, load)
    flops, moved = _amounts("flop", flop), _amounts("bytes", bytes)
    if not (isinstance(launches, int) and is_amount(launches)):
        raise ValueError(
            f"launches is {shown_argument(launches)}, but must be a whole number from 0"
        )
    needs = [*_compute_needs(roofs, flops), *_memory_needs(roofs, moved)]
    if launches:
        launching = roofs.launches(launches)
        if launching is None:
            raise PeakError(
                f"launches: {roofs.where} has no launch cost of {roofs.name}: measure with "
                "peakline run --filter '^launch'"
            )
        needs.append(launching)
    needs.sort(key=lambda need: -need.seconds)
    if not needs:
        raise ValueError("flop, bytes and launches are all empty: there is no work to bound")
    first = needs[0]
    limits = [need.theoretical_s for need in needs if need.resource != LAUNCH]
    return Bound(
        first.seconds,
        first.resource,
        first.basis,
        first.unit,
        None if first.basis in PUBLISHED_BASES else first.ceiling,
        first.theoretical,
        max((s for s in limits if s is not None), default=None) if None not in limits else None,
        {need.resource: need.seconds for need in needs},
    )


def _amounts(name: str, given: Mapping[str, float] | None) -> dict[str, float]:
    """The amounts above 0 of an argument. Raises ValueError, which names the field."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        example = '{"bf16": 1e12}' if name == "flop" else '{"hbm": 1e9}'
        raise ValueError(f"{name} is {given!r}, but must be amounts by name: {example}")
    found = {}
    for key, value in given.items():
        if not is_amount(value):
            raise ValueError(
                f"{name}[{key!r}] is {shown_argument(value)}, but must be a number from 0"
            )
        found[str(key)] = float(value)
    return {key: value for key, value in found.items() if value}


def _compute_needs(roofs: Roofs, flops: Mapping[str, float]) -> Iterator[Need]:
    needs: dict[str, Need] = {}
    for key, amount in flops.items():
        try:
            unit = normalize_dtype(key)
        except PeakError as error:
            raise PeakError(f"flop[{key!r}]: {error}") from error
        row = roofs.compute(unit)
        if row is None:
            offered = dict.fromkeys(row.resource for row in roofs.formats())
            raise PeakError(
                f"flop[{key!r}]: {roofs.where} has no {unit} peak of {roofs.name}; it has "
                f"{', '.join(offered) or 'none at all'}"
            )
        if row.resource in needs:
            raise PeakError(f"flop[{key!r}]: {row.resource} is named twice")
        needs[row.resource] = roofs.need(row, amount)
    together = in_tensor_cores(needs)
    if together:
        yield together
    yield from (need for name, need in needs.items() if level_of(name) != "tensor")


def _memory_needs(roofs: Roofs, moved: Mapping[str, float]) -> Iterator[Need]:
    main = roofs.main
    bus = {key: n for key, n in moved.items() if level_of(key) == main}
    for key in bus:
        if key not in (main, f"{main}.read", f"{main}.write"):
            raise PeakError(f"bytes[{key!r}]: use {main}, or {main}.read and {main}.write")
    if main in bus and len(bus) > 1:
        raise PeakError(f"bytes[{main!r}]: it is named beside its read and write: use one of both")
    if bus:
        read, written = (bus.get(f"{main}.{way}", 0.0) for way in ("read", "write"))
        any_mix = roofs.traffic_of_any_mix(sum(bus.values()))
        need = any_mix if main in bus else roofs.traffic(read, written)
        if need is None:
            raise PeakError(f"bytes[{next(iter(bus))!r}]: {roofs.where} has no bandwidth of {main}")
        yield need
    for key, amount in moved.items():
        if key in bus:
            continue
        row = roofs.memory(key)
        if row is None:
            names = roofs.memories()
            offered = dict.fromkeys([*map(level_of, names), *names])
            raise PeakError(
                f"bytes[{key!r}]: {roofs.where} has no such memory of {roofs.name}; it has "
                f"{', '.join(offered) or 'none at all'}"
            )
        yield roofs.need(row, amount)
