"""A kernel as a profiler saw it, whatever the file was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The unit of a FLOP count whose precision the file does not tell.
UNKNOWN_UNIT = "unknown"


class KernelsError(ValueError):
    """A kernels file that cannot be used. Names the file and says what would be right."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """All launches of one kernel: sums over them."""

    name: str
    launches: int
    seconds: float
    flops: Mapping[str, float]  # by resource: "tensor.bf16", "cuda_core.fp32", UNKNOWN_UNIT
    bytes: Mapping[str, float]  # by memory level: "hbm", "l2", "l1"


def merge(kernels: Sequence[Kernel]) -> list[Kernel]:
    """One kernel a name, in order of first appearance; launches, times and counts add up.

    A count that one launch lacks is unknown for the sum, so it is dropped.
    """
    groups: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.name, []).append(kernel)
    return [
        Kernel(
            name,
            sum(k.launches for k in group),
            sum(k.seconds for k in group),
            _sum_common([k.flops for k in group]),
            _sum_common([k.bytes for k in group]),
        )
        for name, group in groups.items()
    ]


def _sum_common(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {
        key: sum(part[key] for part in parts) for key in parts[0] if all(key in p for p in parts)
    }


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
