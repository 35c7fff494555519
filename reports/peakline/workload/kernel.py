"""A kernel as recorded by any profiler."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from peakline.text import OneLine

# The unit of FLOPs whose precision the file does not state.
UNKNOWN_UNIT = "unknown"


class WorkloadError(OneLine, ValueError):
    """An unusable profiler file. Names the file, and what would be valid."""


# How to record what a trace lacks, by the tool that recorded it.
RECORDING = {
    "torch.profiler": {
        "steps": "call profiler.step() after each step",
        "calls": "record with activities=[CPU, CUDA]",
        "kernels": "record with activities=[CPU, CUDA] and record_shapes=True",
        "shapes": "Shapes were not recorded, so the bound of kernels is not known: record with "
        "torch.profiler.profile(record_shapes=True).",
    },
    "nsys": {
        "steps": "push an NVTX range called step around each step",
        "calls": "record with nsys profile --trace=cuda,nvtx",
        "kernels": "record with nsys profile --trace=cuda,nvtx --cuda-graph-trace=node",
        "shapes": "Nsight Systems records no shapes, so the bound of kernels is not known: ncu "
        "counts the work of each kernel, and traces of torch.profiler have shapes.",
    },
}

# More than a profiler writes in hours, and few enough for any memory.
_MOST_LAUNCHES = 250_000
_MOST_LINES = 4_000_000


def check_count(launches: int, name: str) -> None:
    """Raises WorkloadError if a file has more than the most launches."""
    if launches >= _MOST_LAUNCHES:
        raise _too_many(_MOST_LAUNCHES, "launches", name)


def table_lines(text: str, name: str) -> Iterator[str]:
    """The lines of a CSV, without ncu's messages. Raises WorkloadError if there are too many."""
    for index, line in enumerate(io.StringIO(text, None)):
        if index >= _MOST_LINES:
            raise _too_many(_MOST_LINES, "lines", name)
        if line.strip() and not line.startswith("=="):
            yield line


def whole_rows(text: str, needed: int, begin: str = "") -> tuple[str, list[str]]:
    """A CSV without the row in which the file ends, and that row's cells; none if it ends with one.

    needed: columns of a whole row. begin: of each row; other lines are an application's output.
    """
    start = text.rfind("\n") + 1
    last = text[start:]
    if not last.strip() or not last.startswith(begin):
        return text, []
    cells = next(csv.reader([last]))
    whole = last.count('"') % 2 == 0 and len(cells) >= needed
    return (text, []) if whole else (text[:start], cells)


def _too_many(most: int, what: str, name: str) -> WorkloadError:
    return WorkloadError(
        f"{name}: more than {most} {what}, the most that are read: profile fewer kernels"
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """A kernel's launch shape and resident warps; None if unknown."""

    blocks: float | None = None
    waves: float | None = None  # blocks / blocks that all SMs hold at once
    sms: float | None = None
    warps_per_sm: float | None = None  # mean resident warps
    occupancy_percent: float | None = None  # mean resident warps, of an SM's maximum


@dataclass(frozen=True, slots=True)
class Kernel:
    """Sums over a kernel's launches for which the same counts are known. A kind of work is counted
    if `flops` or `bytes` has it, unknown if `unknown` names it, and otherwise 0."""

    name: str
    launches: float  # on average in a step, where the kernel is of one
    seconds: float | None  # None: not known
    flops: Mapping[str, float]  # by resource: "tensor.bf16", "cuda_core.fp32", UNKNOWN_UNIT
    # "hbm.read" and "hbm.write", or "hbm" for their sum; "l2.read", "l2.write".
    bytes: Mapping[str, float]
    # Uncounted work: "tensor.bf16", "cuda_core.fp32", "hbm", "flops"; "tensor" for activity of the
    # tensor pipe without a counter; "shapes" if a trace lacks them, "nsys" if its tool does.
    unknown: tuple[str, ...] = ()
    from_shapes: bool = False  # FLOPs and compulsory bytes follow from operand shapes
    # Seconds that each unit, and ncu's summaries of units, would need at their peak.
    busy: Mapping[str, float] = field(default_factory=dict)
    summaries: Mapping[str, float] = field(default_factory=dict)
    clock_hz: float | None = None  # SM clock during the kernel
    shape: Shape | None = None  # of its longest launch
    load_s: float | None = None  # mean time that the device had been busy without a rest
    device: str = ""  # model
    capability: float | None = None  # compute capability, if stated
    clipped: bool = False  # of launches cut short: the seconds are an upper limit
    notes: tuple[str, ...] = ()  # doubts about the file
    # The ceiling of GEMMs with the scales that its operator has, "tensor.fp8_block": the limit as
    # written. Its FLOPs are the instruction's, "tensor.fp8".
    scaled: str = ""

    def flops_known(self) -> bool:
        """Whether `flops` is complete."""
        return all(name == "hbm" for name in self.unknown)

    def in_one(self, steps: int) -> Kernel:
        """The mean over so many steps."""
        sums: dict[str, Any] = {
            name: {key: value / steps for key, value in getattr(self, name).items()}
            for name in ("flops", "bytes", "busy", "summaries")
        }
        seconds = self.seconds and self.seconds / steps
        return dataclasses.replace(self, launches=self.launches / steps, seconds=seconds, **sums)


def merge(kernels: Sequence[Kernel]) -> list[Kernel]:
    """One kernel per name and set of known counts, in order of first appearance.

    Launches, times and counts add up. Launches with fewer known counts stay separate, so that the
    others' counts remain known.
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
            kernel.scaled,
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
        any(k.clipped for k in group),
        first.notes,
        first.scaled,
    )


# DeepGEMM in FP8, which scales both matrices in blocks of 1 x 128, or the second in 128 x 128.
_DEEP_GEMM = re.compile(r"deep_gemm::\w*fp8_gemm_(?:\w*(1d1d))?")


def scaled_by_name(name: str) -> str:
    """`Kernel.scaled` of a kernel whose name tells it, else empty."""
    match = _DEEP_GEMM.search(name)
    return f"tensor.fp8_block{'_both' if match[1] else ''}" if match else ""


def short_name(name: str) -> str:
    """A kernel's name without return type and arguments."""
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
