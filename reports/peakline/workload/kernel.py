"""A kernel as a profiler saw it, whatever the file was."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# A FLOP count has this unit where the file does not tell its precision.
UNKNOWN_UNIT = "unknown"


class WorkloadError(ValueError):
    """A file of a profiler that cannot be used. Names it and says what would be right."""


# More than a profiler writes in hours, and few enough for any machine's memory.
_MOST_LAUNCHES = 250_000
_MOST_LINES = 4_000_000


def check_count(launches: int, name: str) -> None:
    """Raises WorkloadError where a file has too many launches to read one more."""
    if launches >= _MOST_LAUNCHES:
        raise _too_many(_MOST_LAUNCHES, "launches", name)


def table_lines(text: str, name: str) -> Iterator[str]:
    """The lines of a CSV, without ncu's messages. Raises WorkloadError where there are too many."""
    for index, line in enumerate(io.StringIO(text, None)):
        if index >= _MOST_LINES:
            raise _too_many(_MOST_LINES, "lines", name)
        if line.strip() and not line.startswith("=="):
            yield line


def _too_many(most: int, what: str, name: str) -> WorkloadError:
    return WorkloadError(
        f"{name}: more than {most} {what}, the most that are read: profile fewer kernels"
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """How a kernel was launched and how many warps ran of it; None where that is not told."""

    blocks: float | None = None
    waves: float | None = None  # blocks over what all SMs hold at once
    sms: float | None = None
    warps_per_sm: float | None = None  # that were resident, on average
    occupancy_percent: float | None = None  # the same, of what an SM holds


@dataclass(frozen=True, slots=True)
class Kernel:
    """All launches of one kernel of which the same is known: sums over them.

    Each kind of work is in one of three states: counted, where `flops` or `bytes` holds it; not
    known, where `unknown` names it; and known to be 0, where it is in neither.
    """

    name: str
    launches: float  # on average in a step, where the kernel is of one
    seconds: float | None  # None: not known
    flops: Mapping[str, float]  # by resource: "tensor.bf16", "cuda_core.fp32", UNKNOWN_UNIT
    # "hbm.read" and "hbm.write" of the device's memory, or "hbm" where only their sum is known;
    # "l2.read", "l2.write".
    bytes: Mapping[str, float]
    # What may have taken its time and was not counted: "tensor.bf16", "cuda_core.fp32", "hbm",
    # "flops"; "tensor" where the tensor pipe was busy with something that has no counter; "shapes"
    # where a trace was recorded without them.
    unknown: tuple[str, ...] = ()
    from_shapes: bool = False  # FLOPs and compulsory bytes, by the shapes of its operands
    # Seconds that each unit of the device, and ncu's summaries of them, would need at their peaks.
    busy: Mapping[str, float] = field(default_factory=dict)
    summaries: Mapping[str, float] = field(default_factory=dict)
    clock_hz: float | None = None  # of the SMs while it ran
    shape: Shape | None = None  # of its longest launch
    load_s: float | None = None  # that the device had been busy without a rest, on average
    device: str = ""  # the model that it ran on
    capability: float | None = None  # of that device, where the file tells it

    def flops_known(self) -> bool:
        """Whether `flops` holds all there are."""
        return all(name == "hbm" for name in self.unknown)


def merge(kernels: Sequence[Kernel]) -> list[Kernel]:
    """One kernel a name and state of knowledge, in order of first appearance.

    Launches, times and counts add up. A launch of which less is known stands apart, so that it does
    not take from what is known of the others.
    """
    groups: dict[object, list[Kernel]] = {}
    for kernel in kernels:
        state = (
            kernel.name,
            kernel.device,
            kernel.capability,
            kernel.seconds is None,
            *(frozenset(x) for x in (kernel.flops, kernel.bytes, kernel.busy, kernel.summaries)),
            kernel.unknown,
            kernel.from_shapes,
            kernel.clock_hz is None,
        )
        groups.setdefault(state, []).append(kernel)
    return [_merged(group) for group in groups.values()]


def _merged(group: Sequence[Kernel]) -> Kernel:
    first = group[0]

    def total(of: Callable[[Kernel], Mapping[str, float]]) -> dict[str, float]:
        return {key: sum(of(k)[key] for k in group) for key in of(first)}

    def mean(of: Callable[[Kernel], float | None]) -> float | None:
        known = [(of(k), k.seconds or 0.0) for k in group]
        weight = sum(s for value, s in known if value is not None)
        return sum(v * s for v, s in known if v is not None) / weight if weight else None

    return Kernel(
        first.name,
        sum(k.launches for k in group),
        None if first.seconds is None else sum(k.seconds or 0.0 for k in group),
        total(lambda k: k.flops),
        total(lambda k: k.bytes),
        first.unknown,
        first.from_shapes,
        total(lambda k: k.busy),
        total(lambda k: k.summaries),
        mean(lambda k: k.clock_hz),
        max(group, key=lambda k: k.seconds or 0.0).shape,
        mean(lambda k: k.load_s),
        first.device,
        first.capability,
    )


def short_name(name: str) -> str:
    """A kernel's name without return type and arguments, as people call it."""
    name = name.strip()
    name = re.sub(r"^(?:void|static|__global__)\s+", "", name)
    depth = 0
    for i, char in enumerate(name):
        if char == "<":
            depth += 1
        elif char == ">":
            depth -= 1
        elif char == "(" and depth == 0 and i > 0 and not name.startswith("(anonymous", i):
            return name[:i].strip()
    return name
