"""What bounds kernels on a device: as they are written, and if they were rewritten.

As written, a kernel needs at the least what its busiest unit needs: the profiler's share of each
unit's peak, and its bytes and FLOPs against the measured ceilings. Rewritten, with whatever
instructions, it still moves the same bytes of the device's memory and does the same FLOPs. What is
not known can only raise the least time, so what is known caps what there is to gain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from peakline.limits.bound import Load, Need, Roofs, in_tensor_cores
from peakline.names import level_of
from peakline.profile import PUBLISHED_BASES, Device, Profile
from peakline.workload.busy import are_complete
from peakline.workload.kernel import UNKNOWN_UNIT, Kernel, WorkloadError
from peakline.workload.labels import labels
from peakline.workload.reason import Reason, launch_bound, reason

CACHE = "cache"  # binds what is faster than the device's memory, and small enough for the L2
# Units whose shares differ by less than this are named together.
_TOGETHER = 0.03
# Clocks and ceilings differ from run to run by less than what a share may lie above 1.
_MOST = 1.05
# Below this share of every unit, it is no unit that a kernel waits for.
_HALF = 0.5
# A load that lasts so long is held against what the device sustains: the clocks have settled.
SUSTAINED_FROM_S = 1.0
# Counters and ceilings of these are of one unit, which is named once.
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
    """How near a kernel is to what bounds it."""

    # The busiest first: the profiler's "issue", "dram", "tensor hmma", or where it did not count
    # the unit the ceiling's "hbm.triad", "tensor.bf16".
    units: tuple[str, ...]
    share: float  # of its time that the busiest needs at the least
    gain_s: float  # at most, over all launches
    complete: bool  # False: something was not counted that may be busier
    # ncu's summary that leaves less to gain than the units do; "" where none does.
    capped_by: str = ""
    cap: float = 0.0


@dataclass(frozen=True, slots=True)
class Placement:
    """A kernel under the ceilings of one device."""

    kernel: Kernel
    label: str  # the kernel's name, without template arguments or namespaces where that is unique
    device: str
    load: Load  # which ceilings it is held against, where both were measured
    clock_hz: float | None  # that ceilings which follow the SM clock are scaled to
    as_written: Answer | None = None  # None: nothing is known
    rewritten: Answer | None = None
    # What each unit and ceiling needs of its time, the largest first.
    shares: Mapping[str, float] = field(default_factory=dict)
    # Those of them that rest on a specification, since they were not measured.
    published: frozenset[str] = frozenset()
    reason: Reason | None = None  # why no unit is busy
    impossible: tuple[str, ...] = ()  # what exceeds its ceiling or peak: something is wrong
    # What is not known of it: `Kernel.unknown`, "time", "work"; "ceiling" where the profile has
    # none for `ignored`; "dtype"; "precision" and "operands" where what its shapes ask for
    # is more than the ceiling allows, so that it ran in another one or several of them are one.
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()  # units with FLOPs for which the profile has no ceiling
    flops_per_s: float | None = None  # over all units; None where not all of them are known


def place(
    profile: Profile, kernels: Sequence[Kernel], device: str | int | None = None
) -> list[Placement]:
    """Kernels under the ceilings of a device, most to gain as written first.

    Those of which nothing is known come last, longest first.

    device: as in `Profile.select_devices`; of several it takes the first. Raises PeakError for an
    unknown device, WorkloadError where the profile has no ceilings of it.
    """
    uuid = profile.select_devices(device)[0]
    roofs = Roofs(profile, uuid)
    if roofs.main is None and not roofs.formats():
        raise WorkloadError(
            f"{profile.path or 'the profile'} has no ceilings of {profile.device_name(uuid)}: "
            "measure with peakline run without --filter"
        )
    called = labels(kernel.name for kernel in kernels)
    placed = [_place(profile, uuid, kernel, called[kernel.name]) for kernel in kernels]
    return sorted(placed, key=_order)


def in_one(p: Placement, steps: int) -> Placement:
    """The kernel in one of so many steps, on average; rates and shares stay as they are."""

    def each(sums: Mapping[str, float]) -> dict[str, float]:
        return {name: value / steps for name, value in sums.items()}

    def gained(answer: Answer | None) -> Answer | None:
        return answer and dataclasses.replace(answer, gain_s=answer.gain_s / steps)

    kernel = dataclasses.replace(
        p.kernel,
        launches=p.kernel.launches / steps,
        seconds=p.kernel.seconds and p.kernel.seconds / steps,
        flops=each(p.kernel.flops),
        bytes=each(p.kernel.bytes),
        busy=each(p.kernel.busy),
        summaries=each(p.kernel.summaries),
    )
    return dataclasses.replace(
        p, kernel=kernel, as_written=gained(p.as_written), rewritten=gained(p.rewritten)
    )


def _order(p: Placement) -> tuple[bool, float, float]:
    gain = p.as_written.gain_s if p.as_written else 0.0
    return p.as_written is None, -gain, -(p.kernel.seconds or 0.0)


def _place(profile: Profile, device: str, kernel: Kernel, label: str) -> Placement:
    clock_hz, seconds = kernel.clock_hz, kernel.seconds
    gpu = profile.gpu(device)
    highest_hz = gpu and (gpu.sm_clock_seen_max_hz or gpu.sm_clock_max_hz)
    if clock_hz and highest_hz:
        # A count of cycles over microseconds may come out above what there is.
        clock_hz = min(clock_hz, highest_hz)
    load: Load = "sustained" if (kernel.load_s or 0.0) >= SUSTAINED_FROM_S else "burst"
    roofs = Roofs(profile, device, load, clock_hz)
    needs, missing, ignored = _needs(kernel, roofs)
    if load == "sustained" and _over(needs, seconds):
        # A load that leaves power to spare lets the clocks stay up.
        load, roofs = "burst", Roofs(profile, device, "burst", clock_hz)
        needs, missing, ignored = _needs(kernel, roofs)
    missing = (*kernel.unknown, *missing)
    placed = Placement(kernel, label, device, load, clock_hz, ignored=ignored)
    if not seconds:
        return dataclasses.replace(placed, missing=(*missing, "time"))
    for name in _over(needs, seconds):
        # Its bytes came from the L2, or it ran in TF32: what was assumed says nothing.
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
    impossible = (*_over(needs, seconds), *(u for u, share in shares.items() if share > _MOST))
    shares |= {name: need.seconds / seconds for name, need in needs.items()}
    shares |= {n.resource: n.seconds / seconds for n in _cache_needs(kernel, roofs, seconds)}
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
    """What needs more time than there was."""
    return [name for name, need in needs.items() if seconds and need.seconds > _MOST * seconds]


def _needs(
    kernel: Kernel, roofs: Roofs
) -> tuple[dict[str, Need], tuple[str, ...], tuple[str, ...]]:
    """What bytes and FLOPs need by their ceilings, what is missing of it, and units without one."""
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
            # Any format needs this at the least; where memory needs more in any, it decides.
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
    # A few FLOPs beside others decide nothing; where they are the work, their ceiling is missing.
    if sum(kernel.flops.get(unit, 0.0) for unit in ignored) > sum(kernel.flops.values()) / 2:
        missing += ("ceiling",)
    together = in_tensor_cores(needs)
    if together is not None:
        needs = {name: need for name, need in needs.items() if level_of(name) != "tensor"}
        needs[together.resource] = together
    return needs, missing, ignored


def _fits(kernel: Kernel, gpu: Device | None) -> bool:
    """Whether what shapes tell of a launch's bytes may have come from the L2, or stayed there."""
    moved = max(kernel.bytes.values(), default=0.0) / kernel.launches
    return kernel.from_shapes and gpu is not None and moved <= (gpu.l2_bytes or 0.0)


def _of_one_array(kernel: Kernel, roofs: Roofs, seconds: float) -> Need | None:
    """What memory needs where all operands of a kernel are one array, which shapes do not tell;
    None where that is too much as well."""
    if not kernel.from_shapes or "hbm.write" not in kernel.bytes:
        return None
    written = kernel.bytes["hbm.write"]
    need = roofs.traffic(min(kernel.bytes["hbm.read"], written), written)
    return need if need and not _over({need.resource: need}, seconds) else None


def _cache_needs(kernel: Kernel, roofs: Roofs, seconds: float) -> list[Need]:
    """What the L2 needs, whose directions do not add; only as the kernel is written, since another
    tiling asks less of it. A pattern that beats the measured one shows that it is no bound."""
    rows = {way: roofs.ceiling(f"l2.{way}") for way in ("read", "write")}
    needs = [
        roofs.need(row, kernel.bytes[f"l2.{way}"])
        for way, row in rows.items()
        if row is not None and f"l2.{way}" in kernel.bytes
    ]
    return [need for need in needs if need.seconds <= seconds]


def _rewritten(
    kernel: Kernel, needs: Mapping[str, Need], missing: Sequence[str], roofs: Roofs, seconds: float
) -> Answer | None:
    if not needs:
        return None
    shares = {name: need.seconds / seconds for name, need in needs.items()}
    units = _busiest(shares)
    # Traffic of an unknown mix is held against the fastest pattern.
    counted = not missing and units[0] != roofs.main
    complete = counted and not _tensor_unexplained(kernel, shares, seconds)
    share = min(1.0, max(shares.values()))
    return Answer(units, share, (1 - share) * seconds, complete)


def _tensor_unexplained(kernel: Kernel, shares: Mapping[str, float], seconds: float) -> bool:
    """Whether the tensor cores were busy for longer than all that was counted needs."""
    busy = max((s for unit, s in kernel.busy.items() if unit.startswith("tensor")), default=0.0)
    # On Hopper they run packed half-precision arithmetic too.
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
        (1 - cap) * seconds,
        are_complete(kernel.busy, kernel.summaries),
        name if cap - share > _TOGETHER else "",
        cap,
    )


def _busiest(shares: Mapping[str, float]) -> tuple[str, ...]:
    """The names of the units that need the most.

    A unit may have counters and a ceiling: the larger share decides, and the counter names it.
    """
    by_unit: dict[str, list[str]] = {}
    for name in shares:
        by_unit.setdefault(same_unit(name), []).append(name)
    needed = {unit: max(shares[name] for name in names) for unit, names in by_unit.items()}
    most = max(needed.values(), default=0.0)
    return tuple(
        # A part of a pipe that is as busy as the pipe says more.
        min(by_unit[unit], key=lambda name: ("." in name, -shares[name], -len(name)))
        for unit, share in sorted(needed.items(), key=lambda item: -item[1])
        if share and share >= max(most - _TOGETHER, most / 2)
    )


def same_unit(name: str) -> str:
    """What the counters and ceilings of one unit have in common: "tensor" of "tensor.bf16"."""
    family = level_of(name).partition(" ")[0]
    return _SAME.get(name) or _SAME.get(family) or family


def _why_idle(
    profile: Profile, device: str, kernel: Kernel, answer: Answer | None
) -> Reason | None:
    """Why no unit is busy; what takes less than a launch costs needs no counters to say so."""
    found = launch_bound(profile, device, kernel)
    if found is not None or answer is None:
        return found
    if answer.complete and max(answer.cap, answer.share) < _HALF:
        return reason(profile, device, kernel)
    return None
