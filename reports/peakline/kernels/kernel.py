"""A kernel as a profiler saw it, whatever the file was."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# A FLOP count has this unit where the file does not tell its precision.
UNKNOWN_UNIT = "unknown"


class KernelsError(ValueError):
    """A kernels file that cannot be used. Names the file and says what would be right."""


# More than a profiler writes in hours, and few enough for any machine's memory.
_MOST_LAUNCHES = 250_000
_MOST_LINES = 4_000_000


def check_count(launches: int, name: str) -> None:
    """Raises KernelsError where a file has too many launches to read one more."""
    if launches >= _MOST_LAUNCHES:
        raise _too_many(_MOST_LAUNCHES, "launches", name)


def table_lines(text: str, name: str) -> Iterator[str]:
    """The lines of a CSV, without ncu's messages. Raises KernelsError where there are too many."""
    for index, line in enumerate(io.StringIO(text, None)):
        if index >= _MOST_LINES:
            raise _too_many(_MOST_LINES, "lines", name)
        if line.strip() and not line.startswith("=="):
            yield line


def _too_many(most: int, what: str, name: str) -> KernelsError:
    return KernelsError(
        f"{name}: more than {most} {what}, the most that are read: profile fewer kernels"
    )


@dataclass(frozen=True, slots=True)
class Kernel:
    """All launches of one kernel of which the same is known: sums over them.

    Each kind of work is in one of three states: counted, where `flops` or `bytes` holds it; not
    known, where `unknown` names it; and known to be 0, where it is in neither.
    """

    name: str
    launches: int
    seconds: float | None  # None: not known
    flops: Mapping[str, float]  # by resource: "tensor.bf16", "cuda_core.fp32", UNKNOWN_UNIT
    bytes: Mapping[str, float]  # by memory level: "hbm", "l2", "l1"
    # What may have taken its time and was not counted: "tensor.bf16", "cuda_core.fp32", "hbm",
    # "flops"; "tensor" where the tensor pipe was busy with something that has no counter.
    unknown: tuple[str, ...] = ()
    from_shapes: bool = False  # FLOPs and compulsory bytes, by the shapes of its operands
    tensor_seconds: float = 0.0  # that the tensor pipe was busy; 0 where that is not told

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
            kernel.seconds is None,
            frozenset(kernel.flops),
            frozenset(kernel.bytes),
            kernel.unknown,
            kernel.from_shapes,
        )
        groups.setdefault(state, []).append(kernel)
    return [
        Kernel(
            group[0].name,
            sum(k.launches for k in group),
            None if group[0].seconds is None else sum(k.seconds or 0.0 for k in group),
            {key: sum(k.flops[key] for k in group) for key in group[0].flops},
            {key: sum(k.bytes[key] for k in group) for key in group[0].bytes},
            group[0].unknown,
            group[0].from_shapes,
            sum(k.tensor_seconds for k in group),
        )
        for group in groups.values()
    ]


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
