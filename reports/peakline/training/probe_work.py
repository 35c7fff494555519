"""The work of a probe: GEMMs and memory reads by PyTorch's kernels, timed on the device."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from peakline.training.state import device_uuid

_METHOD = 1  # raised when this work changes: older calibrations are no yardstick then
# Every tensor of a probe is a view of one buffer: larger than any L2, so that reads reach memory,
# with room for the three FP16 matrices of a GEMM that fills every GPU. It is zero, since a GEMM of
# zeros draws too little power to lower the clock, which is read beside it.
_BUFFER_BYTES = 256 << 20
_FREE_BYTES = _BUFFER_BYTES + (64 << 20)  # with what PyTorch rounds up and small outputs
_SIDE = 4096
_GEMM_FLOPS = 2 * _SIDE**3
_SPIN_CYCLES = 1_000_000  # 0.5 ms, which events time to 0.1 %, and to 0.7 % beside a busy host
_PART_S = 0.75e-3  # GEMMs, and reads, of a group: shorter than a time slice of two processes
_SHARE = 0.9  # of a probe's time; the rest is for its memory and the launches after it
_BLOCKS = 10
_DROPPED = 2  # slowest blocks of a measurement, so that a moment's copy in the job is no loss
_LOAD_GEMMS = 50  # about 10 ms of an H100


class Unknown(RuntimeError):
    """Says why a card cannot be measured or judged."""


class Parts(NamedTuple):
    """The groups of a measurement, and the GEMMs and reads of each."""

    groups: int
    gemms: int
    reads: int


class Round(NamedTuple):
    """What a measurement found."""

    clock_hz: float
    gemm_flop_per_cycle: float
    hbm_read_bytes_per_s: float

    def rates(self) -> dict[str, float]:
        return {"gemm": self.gemm_flop_per_cycle, "hbm.read": self.hbm_read_bytes_per_s}


class _Group(NamedTuple):
    """Seconds of an empty kernel, a spin of known cycles, GEMMs and reads."""

    empty: float
    spin: float
    gemm: float
    read: float


class Card:
    """A GPU of PyTorch's."""

    def __init__(self, device: Any) -> None:
        try:
            import torch
        except ImportError as missing:
            raise Unknown("PyTorch is not installed") from missing
        self.torch: Any = torch
        if not torch.cuda.is_available():
            raise Unknown("PyTorch finds no GPU")
        chosen = torch.device("cuda" if device is None else device)
        if chosen.type != "cuda":
            raise Unknown(f"{chosen} is no GPU")
        self.index = torch.cuda.current_device() if chosen.index is None else chosen.index
        self.uuid = device_uuid(self.index)
        if not self.uuid:
            raise Unknown("PyTorch does not say which GPU is in use")

    def conditions(self) -> dict[str, object]:
        """What changes torch's kernels or the card."""
        try:
            driver = Path("/sys/module/nvidia/version").read_text().strip()
        except OSError:  # a sandbox may hide it
            driver = "unknown"
        name = self.torch.cuda.get_device_name(self.index)
        return {
            "card": f"{name} {self.uuid}",
            "torch": str(self.torch.__version__),
            "driver": driver,
            "method_version": _METHOD,
        }

    @contextlib.contextmanager
    def work(self) -> Iterator[Work]:
        """Work in a memory pool of its own, whose memory goes back to the driver."""
        torch, cuda = self.torch, self.torch.cuda
        with cuda.device(self.index), torch.no_grad():
            if cuda.is_current_stream_capturing():
                raise Unknown("the current stream is being captured into a CUDA graph")
            if cuda.mem_get_info()[0] < _FREE_BYTES:
                raise Unknown(f"less than {_FREE_BYTES >> 20} MiB of the card's memory are free")
            # cuBLAS keeps a workspace for each stream, which must not be part of the pool.
            small = torch.zeros((16, 16), dtype=torch.float16, device="cuda")
            torch.mm(small, small)
            before = cuda.memory_reserved()
            pool = cuda.MemPool()
            with cuda.use_mem_pool(pool):
                work = Work(torch)
                try:
                    yield work
                finally:
                    work.free()
            del pool
            work.memory_left = cuda.memory_reserved() - before


class Work:
    """Kernels of torch's on the current stream, timed by events."""

    memory_left = 0

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        buffer = torch.zeros(_BUFFER_BYTES // 2, dtype=torch.float16, device="cuda")
        self._matrices = buffer.view(-1, _SIDE, _SIDE)[:3]
        self._words = buffer.view(torch.float32)
        self._sum = torch.zeros((), dtype=torch.float32, device="cuda")

    def free(self) -> None:
        del self._matrices, self._words, self._sum

    def parts(self, seconds: float) -> Parts:
        """What fits into that time."""
        groups = self._groups(Parts(4 * _BLOCKS, 1, 1))
        gemms, reads = (max(1, round(_PART_S / _middle(groups, n))) for n in ("gemm", "read"))
        parts = Parts(4 * _BLOCKS, gemms, reads)
        timed = self._groups(parts)
        one = sum(_middle(timed, name) for name in _Group._fields) / _SHARE
        if seconds < 2 * _BLOCKS * one:
            raise Unknown(f"{seconds:g} s is too short for this card: {2 * _BLOCKS * one:.2g} s")
        return parts._replace(groups=int(seconds / one))

    def measure(self, parts: Parts) -> Round:
        """Means over consecutive blocks of groups, without the slowest blocks."""
        groups = self._groups(parts)
        edges = [len(groups) * number // _BLOCKS for number in range(_BLOCKS + 1)]
        blocks = [groups[start:end] for start, end in pairwise(edges)]
        gemm = [
            parts.gemms * _GEMM_FLOPS / (_mean(block, "gemm") * _clock(block)) for block in blocks
        ]
        read = [parts.reads * _BUFFER_BYTES / _mean(block, "read") for block in blocks]
        fast = [statistics.fmean(sorted(rates)[_DROPPED:]) for rates in (gemm, read)]
        return Round(_clock(groups), *fast)

    def _groups(self, parts: Parts) -> list[_Group]:
        """The groups that were in the queue before the device came to them, so that no time of the
        host's is in theirs."""
        a, b, product = self._matrices
        marks, in_time = [self._mark()], []
        for _ in range(parts.groups):
            start = marks[-1]
            self._torch.cuda._sleep(1)
            marks.append(self._mark())
            self._torch.cuda._sleep(_SPIN_CYCLES)
            marks.append(self._mark())
            for _ in range(parts.gemms):
                self._torch.mm(a, b, out=product)
            marks.append(self._mark())
            for _ in range(parts.reads):
                self._torch.sum(self._words, 0, out=self._sum)
            marks.append(self._mark())
            in_time.append(not start.query())
        marks[-1].synchronize()
        times = [start.elapsed_time(end) * 1e-3 for start, end in pairwise(marks)]
        size = len(_Group._fields)
        groups = [_Group(*times[n * size : (n + 1) * size]) for n in range(parts.groups)]
        groups = [group for group, early in zip(groups, in_time, strict=True) if early]
        if len(groups) < max(_BLOCKS, parts.groups // 2):
            raise Unknown("the host is too busy to launch kernels in time")
        return groups

    def _mark(self) -> Any:
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def load(self, seconds: float) -> None:
        """GEMMs of random numbers, which draw power as training does; the last ones go on."""
        torch = self._torch
        # A generator of its own leaves the job's random numbers alone.
        generator = torch.Generator("cuda").manual_seed(1)
        a, b = torch.empty((2, _SIDE, _SIDE), dtype=torch.float16, device="cuda").normal_(
            generator=generator
        )
        product = torch.empty_like(a)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            done = self._mark()
            for _ in range(_LOAD_GEMMS):
                torch.mm(a, b, out=product)
            done.synchronize()


def _middle(groups: Sequence[_Group], part: str) -> float:
    seconds: list[float] = [getattr(group, part) for group in groups]
    return statistics.median(seconds)


def _mean(groups: Sequence[_Group], part: str) -> float:
    return statistics.fmean(getattr(group, part) for group in groups)


def _clock(groups: Sequence[_Group]) -> float:
    return statistics.median(_SPIN_CYCLES / (group.spin - group.empty) for group in groups)
