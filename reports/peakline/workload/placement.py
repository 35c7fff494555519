"""The limits of kernels on a device: as written, and if rewritten.

As written, a kernel needs at least the time of its busiest unit: by the profiler's shares of peaks,
and by its bytes and FLOPs at the measured ceilings. Rewritten with any instructions, it still moves
the same bytes of device memory and does the same FLOPs. Unknown work can only raise the least time,
so known work caps the gain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from peakline.limits.bound import Load, Need, Roofs, in_tensor_cores
from peakline.names import level_of
from peakline.profile import PUBLISHED_BASES, Device, Profile
from peakline.profile.peaks import instruction_of
from peakline.workload.busy import are_complete
from peakline.workload.kernel import UNKNOWN_UNIT, Kernel, WorkloadError, scaled_by_name
from peakline.workload.kernel_names import labels
from peakline.workload.reason import Reason, launch_bound, reason

CACHE = "cache"  # limits kernels faster than device memory whose data fit in the L2
# Units with a smaller difference of shares are named together.
_TOGETHER = 0.03
# A share may exceed 1 by this factor, more than the variation of clocks and ceilings between runs.
_MOST = 1.05
# Below this share of every unit, a kernel waits for something else.
_ROUNDING = 0.001  # of shares
_HALF = 0.5
# Clocks have settled after this time, so achievable ceilings apply.
SUSTAINED_FROM_S = 1.0
# The unit of counters and ceilings, where their names differ.
_SAME = {
    "hbm": "memory",
    "memory": "memory",
    "dram": "memory",
    "cuda_core.fp32": "fma",
    "cuda_core.fp64": "fp64",
    "cuda_core.fp16": "half",
    "fp16": "half",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A kernel's distance from its limit."""

    # Busiest first: the profiler's "issue", "dram", "tensor hmma", or for an uncounted unit the
    # ceiling's "hbm.triad", "tensor.bf16".
    units: tuple[str, ...]
    share: float  # of the kernel's time that the busiest unit needs at least
    complete: bool  # False: something uncounted may be busier
    # ncu's summary, if it leaves less to gain than the units.
    capped_by: str = ""
    cap: float = 0.0

    @property
    def gain(self) -> float:
        """The share of the kernel's time that can be saved at most."""
        return 1 - max(self.share, self.cap)


@dataclass(frozen=True, slots=True)
class Placement:
    """A kernel compared with the ceilings of one device."""

    kernel: Kernel
    label: str  # name without template arguments or namespaces, if that is unique
    device: str
    load: Load  # kind of ceilings, if both were measured
    clock_hz: float | None  # that SM-clocked ceilings are scaled to
    as_written: Answer | None = None  # None: unknown
    rewritten: Answer | None = None
    # Share of the time that each unit and ceiling needs, largest first.
    shares: Mapping[str, float] = field(default_factory=dict)
    # Names in `shares` that rest on a specification instead of a measurement.
    published: frozenset[str] = frozenset()
    reason: Reason | None = None  # why no unit is busy
    impossible: tuple[str, ...] = ()  # exceed their ceiling or peak: something is wrong
    # Unknown: `Kernel.unknown`, "time", "work", "dtype"; "ceiling" if the profile has none for
    # `ignored`; "precision" or "operands" if the work by shapes exceeds the ceiling, so that it ran
    # in another precision, or operands are the same array.
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()  # units with FLOPs, but without a ceiling in the profile
    flops_per_s: float | None = None  # over all units; None unless all are known

    @property
    def rate_unit(self) -> str:
        """The unit of `flops_per_s`, by most of its work: integers are operations, not FLOPs."""
        flops = self.kernel.flops
        most = max(flops, key=lambda name: flops[name], default="")
        return "OP/s" if most == "tensor.int8" else "FLOP/s"

    def gain_s(self, answer: Answer) -> float:
        """The seconds that can be saved at most, over all launches, by one of its answers."""
        return answer.gain * (self.kernel.seconds or 0.0)

    def in_one(self, steps: int) -> Placement:
        """The kernel in one of so many steps, on average."""
        return dataclasses.replace(self, kernel=self.kernel.in_one(steps))


def place(
    profile: Profile, kernels: Sequence[Kernel], device: str | int | None = None
) -> list[Placement]:
    """As `place_each`; sorted by gain as written, then unknown ones, longest first."""

    def order(p: Placement) -> tuple[bool, float, float]:
        gain_s = p.gain_s(p.as_written) if p.as_written else 0.0
        return p.as_written is None, -gain_s, -(p.kernel.seconds or 0.0)

    return sorted(place_each(profile, kernels, device), key=order)


def place_each(
    profile: Profile, kernels: Sequence[Kernel], device: str | int | None = None
) -> list[Placement]:
    """Compares kernels with the ceilings of a device.

    device: as in `Profile.select_devices`; of several it takes the first. Raises PeakError for an
    unknown device, WorkloadError if the profile has no ceilings of it.
    """
    uuid = profile.select_devices(device)[0]
    roofs = Roofs(profile, uuid)
    if roofs.main is None and not roofs.formats():
        raise WorkloadError(
            f"{profile.where} has no ceilings of {profile.device_name(uuid)}: "
            "measure with peakline run without --filter"
        )
    called = labels(kernel.name for kernel in kernels)
    return [_place(profile, uuid, kernel, called[kernel.name]) for kernel in kernels]


def _place(profile: Profile, device: str, kernel: Kernel, label: str) -> Placement:
    clock_hz, seconds = kernel.clock_hz, kernel.seconds
    gpu = profile.gpu(device)
    highest_hz = gpu and (gpu.sm_clock_seen_max_hz or gpu.sm_clock_max_hz)
    if clock_hz and highest_hz:
        # Rounding of cycles / microseconds may exceed the highest clock.
        clock_hz = min(clock_hz, highest_hz)
    load: Load = "sustained" if (kernel.load_s or 0.0) >= SUSTAINED_FROM_S else "burst"
    roofs = Roofs(profile, device, load, clock_hz)
    needs, missing, ignored = _needs(kernel, roofs)
    if load == "sustained" and _over(needs, seconds):
        # A light load leaves power for burst clocks.
        load, roofs = "burst", Roofs(profile, device, "burst", clock_hz)
        needs, missing, ignored = _needs(kernel, roofs)
    missing = (*kernel.unknown, *missing)
    placed = Placement(kernel, label, device, load, clock_hz, ignored=ignored)
    if not seconds:
        return dataclasses.replace(placed, missing=(*missing, "time"))
    for name in _over(needs, seconds):
        # Explains the excess: bytes came from the L2, operands are one array, or it ran in TF32.
        if level_of(name) == roofs.main and _fits(kernel, gpu):
            needs[CACHE] = dataclasses.replace(needs.pop(name), resource=CACHE, seconds=seconds)
        elif level_of(name) == roofs.main and (once := _of_one_array(kernel, roofs, seconds)):
            missing += ("operands",)
            del needs[name]
            needs[once.resource] = once
        elif name == "cuda_core.fp32" and kernel.from_shapes:
            missing += ("precision",)
            del needs[name]
    shares = {name: busy / seconds for name, busy in kernel.busy.items()}
    # A part of the tensor pipe that is as busy as the whole is more specific.
    parts = [share for unit, share in shares.items() if unit.startswith("tensor ")]
    if max(parts, default=-1.0) > shares.get("tensor", 0.0) - _ROUNDING:
        shares.pop("tensor", None)
    impossible = (*_over(needs, seconds), *(u for u, share in shares.items() if share > _MOST))
    shares |= {name: need.seconds / seconds for name, need in needs.items()}
    shares |= {n.resource: n.seconds / seconds for n in _needs_as_written(kernel, roofs, seconds)}
    flops_known = kernel.flops_known() and "tensor" not in missing
    placed = dataclasses.replace(
        placed,
        shares=dict(sorted(shares.items(), key=lambda item: -item[1])),
        published=frozenset(n for n, need in needs.items() if need.basis in PUBLISHED_BASES),
        impossible=impossible,
        missing=tuple(dict.fromkeys(missing)),
        flops_per_s=sum(kernel.flops.values()) / seconds if flops_known else None,
    )
    if impossible:
        return placed
    as_written = _as_written(kernel, placed.shares, seconds)
    return dataclasses.replace(
        placed,
        as_written=as_written,
        rewritten=_rewritten(kernel, needs, missing, roofs, seconds),
        reason=_why_idle(profile, device, kernel, as_written),
        missing=placed.missing if as_written or missing else ("work",),
    )


def _over(needs: Mapping[str, Need], seconds: float | None) -> list[str]:
    """The needs that exceed the time."""
    return [name for name, need in needs.items() if seconds and need.seconds > _MOST * seconds]


def _needs(
    kernel: Kernel, roofs: Roofs
) -> tuple[dict[str, Need], tuple[str, ...], tuple[str, ...]]:
    """The needs of bytes and FLOPs, missing information, and units without a ceiling."""
    needs: dict[str, Need] = {}
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    read, written = (kernel.bytes.get(f"hbm.{way}") for way in ("read", "write"))
    if read is not None and written is not None:
        moved, need = read + written, roofs.traffic(read, written)
    else:
        moved = kernel.bytes.get("hbm", 0.0)
        need = roofs.traffic_of_any_mix(moved)
    if moved and need is not None:
        needs[need.resource] = need
    elif moved:
        missing, ignored = ("ceiling",), ("hbm",)
    memory_s = max((need.seconds for need in needs.values()), default=0.0)
    for unit, count in kernel.flops.items():
        if not count:
            continue
        if unit == UNKNOWN_UNIT:
            # The fastest format gives the least need; the precision matters only if the slowest
            # needs more than memory.
            formats = sorted(roofs.formats(), key=roofs.value)
            if formats:
                need = roofs.need(formats[-1], count)
                needs[UNKNOWN_UNIT] = need
            if not formats or roofs.need(formats[0], count).seconds > memory_s:
                missing += ("dtype",)
            continue
        row = roofs.compute(unit)
        if row is None:
            ignored += (unit,)
        else:
            needs[row.resource] = roofs.need(row, count)
    # FLOPs without a ceiling matter only if they are most of the work.
    if sum(kernel.flops.get(unit, 0.0) for unit in ignored) > sum(kernel.flops.values()) / 2:
        missing += ("ceiling",)
    together = in_tensor_cores(needs)
    if together is not None:
        needs = {name: need for name, need in needs.items() if level_of(name) != "tensor"}
        needs[together.resource] = together
    return needs, missing, ignored


def _fits(kernel: Kernel, gpu: Device | None) -> bool:
    """Whether a launch's bytes, by shapes, fit in the L2."""
    moved = max(kernel.bytes.values(), default=0.0) / kernel.launches
    return kernel.from_shapes and gpu is not None and moved <= (gpu.l2_bytes or 0.0)


def _of_one_array(kernel: Kernel, roofs: Roofs, seconds: float) -> Need | None:
    """The need of memory if all operands are one array; None if that is still too much."""
    if not kernel.from_shapes or "hbm.write" not in kernel.bytes:
        return None
    written = kernel.bytes["hbm.write"]
    need = roofs.traffic(min(kernel.bytes["hbm.read"], written), written)
    return need if need and not _over({need.resource: need}, seconds) else None


def _needs_as_written(kernel: Kernel, roofs: Roofs, seconds: float) -> list[Need]:
    """The needs of the L2, by direction, and of GEMMs with such scales. They apply only as written,
    since another tiling or other scales need less; a kernel that beats the measured pattern is not
    limited by it."""
    amounts = {f"l2.{way}": kernel.bytes.get(f"l2.{way}") for way in ("read", "write")}
    scaled = scaled_by_name(kernel.name) or kernel.scaled
    amounts[scaled] = kernel.flops.get(instruction_of(scaled))
    needs = [
        roofs.need(row, amount)
        for name, amount in amounts.items()
        if amount is not None and (row := roofs.ceiling(name)) is not None
        if row.basis not in PUBLISHED_BASES
    ]
    return [need for need in needs if need.seconds <= seconds]


def _rewritten(
    kernel: Kernel, needs: Mapping[str, Need], missing: Sequence[str], roofs: Roofs, seconds: float
) -> Answer | None:
    if not needs:
        return None
    shares = {name: need.seconds / seconds for name, need in needs.items()}
    units = _busiest(shares)
    # Traffic of an unknown mix is compared with the fastest pattern.
    counted = not missing and units[0] != roofs.main
    complete = counted and not _tensor_unexplained(kernel, shares, seconds)
    share = min(1.0, max(shares.values()))
    return Answer(units, share, complete)


def _tensor_unexplained(kernel: Kernel, shares: Mapping[str, float], seconds: float) -> bool:
    """Whether the Tensor Cores were busy for longer than the counted work explains."""
    busy = max((s for unit, s in kernel.busy.items() if unit.startswith("tensor")), default=0.0)
    # Hopper's also run packed half-precision arithmetic.
    counted = sum(
        share for name, share in shares.items() if name.startswith(("tensor.", "cuda_core.fp16"))
    )
    return busy / seconds - counted > max(shares.values())


def _as_written(kernel: Kernel, shares: Mapping[str, float], seconds: float) -> Answer | None:
    if not shares and not kernel.summaries:
        return None
    share = min(1.0, max(shares.values(), default=0.0))
    name, cap = max(
        ((name, busy / seconds) for name, busy in kernel.summaries.items()),
        key=lambda item: item[1],
        default=("", 0.0),
    )
    cap = min(1.0, max(share, cap))
    return Answer(
        _busiest(shares),
        share,
        are_complete(kernel.busy, kernel.summaries),
        name if cap - share > _TOGETHER else "",
        cap,
    )


def _busiest(shares: Mapping[str, float]) -> tuple[str, ...]:
    """The busiest units. For a unit with counters and a ceiling, the larger share decides, and the
    counter gives the name."""
    by_unit: dict[str, list[str]] = {}
    for name in shares:
        by_unit.setdefault(same_unit(name), []).append(name)
    needed = {unit: max(shares[name] for name in names) for unit, names in by_unit.items()}
    most = max(needed.values(), default=0.0)
    return tuple(
        # A part that is as busy as its pipe is more specific.
        min(by_unit[unit], key=lambda name: ("." in name, -shares[name], -len(name)))
        for unit, share in sorted(needed.items(), key=lambda item: -item[1])
        if share and share >= max(most - _TOGETHER, most / 2)
    )


def same_unit(name: str) -> str:
    """The common name of a unit's counters and ceilings: "tensor" for "tensor.bf16"."""
    family = level_of(name).partition(" ")[0]
    return _SAME.get(name) or _SAME.get(family) or family


def _why_idle(
    profile: Profile, device: str, kernel: Kernel, answer: Answer | None
) -> Reason | None:
    """Why no unit is busy; kernels shorter than a launch need no counters for that."""
    found = launch_bound(profile, device, kernel)
    if found is not None or answer is None:
        return found
    if answer.complete and max(answer.cap, answer.share) < _HALF:
        return reason(profile, device, kernel)
    return None
