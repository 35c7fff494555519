"""Times decoding and prefill of Llama-3.1-8B's shape in BF16, to hold against `peakline-llm`.

    python decode_llama.py --json measured.json
    torchrun --nproc-per-node 2 decode_llama.py --json measured.json  # tensor parallel

Weights and KV cache are random, since their values do not matter for the time. A decode step is one
CUDA graph of plain PyTorch operations: 32 layers and the output head; --compile fuses the small
ones. --all-reduce runs PyTorch's all-reduces over symmetric memory instead of NCCL's. The time of
a row is also split by kind of kernel. --energy reads the board's energy counter around seconds of
steps. A batch and context whose KV cache does not fit are skipped. Needs PyTorch and a GPU with
24 GB; --cpu runs a toy, as a test of this program alone.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import needs_torch  # noqa: F401
import torch
import torch.distributed as distributed
import torch.distributed._symmetric_memory as symmetric_memory
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

WARM_UPS = 3
PROFILED = 3  # steps
ENERGY_SECONDS = 4.0  # an H100 reads its power a quarter of the time only
SPARE_BYTES = 2 << 30  # for activations and the allocator's rounding
# PyTorch prefers cuDNN's attention, which gives each KV head of a sequence to one SM; flash
# attention splits the cache of a sequence over all SMs.
DECODING = [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
# Kinds of kernels by name; the first match counts.
KINDS = {
    "all_reduces": re.compile("nccl|all_reduce", re.I),
    "attention": re.compile("flash|sdpa|fmha|attention", re.I),
    "products": re.compile("nvjet|gemm|gemv|cutlass|splitk", re.I),
}
Cache = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Shape:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int
    vocabulary: int

    def kv_bytes(self, batch: int, tokens: int) -> int:
        return 2 * 2 * self.layers * batch * tokens * self.kv_heads * self.head_dim

    def split(self, ranks: int) -> Shape:
        """A rank's part under tensor parallelism."""
        shared = ("heads", "kv_heads", "inner", "vocabulary")
        return dataclasses.replace(self, **{name: getattr(self, name) // ranks for name in shared})


LLAMA = Shape(32, 4096, 32, 8, 128, 14336, 128256)
TOY = Shape(2, 64, 4, 2, 16, 96, 128)


class AllReduce:
    """Sums a tensor over all ranks, in place.

    by: "nccl", or "one-shot" or "two-shot", PyTorch's kernels over symmetric memory, for tensors of
    up to `most` elements; larger ones go to NCCL.
    """

    def __init__(self, by: str, most: int) -> None:
        self.by = by
        if by == "nccl":
            return
        self.group = distributed.group.WORLD.group_name
        self.shared = symmetric_memory.empty(most, device="cuda", dtype=torch.bfloat16)
        symmetric_memory.rendezvous(self.shared, self.group)

    def __call__(self, part: torch.Tensor) -> None:
        if self.by == "nccl" or part.numel() > self.shared.numel():
            distributed.all_reduce(part)
            return
        shared = self.shared[: part.numel()]
        shared.copy_(part.flatten())
        ops = torch.ops.symm_mem
        if self.by == "one-shot":
            part.copy_(ops.one_shot_all_reduce(shared, "sum", self.group).view_as(part))
        else:
            ops.two_shot_all_reduce_(shared, "sum", self.group)
            part.copy_(shared.view_as(part))


class Model:
    """Inference layers: GEMMs, norms, rotary embedding, attention."""

    def __init__(
        self, shape: Shape, device: str, all_reduce: AllReduce | None = None, fuse: bool = False
    ) -> None:
        self.shape, self.device, self.all_reduce = shape, device, all_reduce
        joined = (shape.heads + 2 * shape.kv_heads) * shape.head_dim
        wide = shape.heads * shape.head_dim
        self.layers = [
            (
                self._random(joined, shape.hidden),
                self._random(shape.hidden, wide),
                self._random(2 * shape.inner, shape.hidden),
                self._random(shape.hidden, shape.inner),
            )
            for _ in range(shape.layers)
        ]
        self.head = self._random(shape.vocabulary, shape.hidden)
        self.angle = torch.ones(shape.head_dim, device=device, dtype=torch.bfloat16)
        self._attend, self._expand = self._attention, self._mlp
        if fuse:
            self._attend = torch.compile(self._attention, dynamic=False)
            self._expand = torch.compile(self._mlp, dynamic=False)

    def _random(self, *size: int) -> torch.Tensor:
        values = torch.empty(size, device=self.device, dtype=torch.bfloat16)
        return values.normal_(0, 1 / math.sqrt(size[-1]))

    def cache(self, batch: int, tokens: int) -> list[Cache]:
        size = (batch, self.shape.kv_heads, tokens, self.shape.head_dim)
        return [(self._random(*size), self._random(*size)) for _ in self.layers]

    def forward(self, x: torch.Tensor, cache: list[Cache] | None) -> torch.Tensor:
        """Logits of the last token of each row of x, [batch, tokens, hidden]. cache: for decoding.
        With several ranks, each has the logits of its part of the vocabulary."""
        change = torch.zeros_like(x)
        for i, (qkv, output, up, down) in enumerate(self.layers):
            x, change = self._attend(x, change, qkv, output, cache[i] if cache else None)
            self._reduce(change)
            x, change = self._expand(x, change, up, down)
            self._reduce(change)
        return self._norm((x + change)[:, -1]) @ self.head.T

    def _reduce(self, part: torch.Tensor) -> None:
        if self.all_reduce:
            self.all_reduce(part)

    def _norm(self, x: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, (x.shape[-1],))

    def _by_head(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, heads, tokens, head_dim]"""
        return x.view(*x.shape[:2], -1, self.shape.head_dim).transpose(1, 2)

    def _turned(self, x: torch.Tensor) -> torch.Tensor:
        """The work of rotary embedding; the angles do not matter."""
        return torch.addcmul(x, x.roll(self.shape.head_dim // 2, -1), self.angle)

    def _mlp(
        self, x: torch.Tensor, change: torch.Tensor, up: torch.Tensor, down: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """x with the previous part's change, and this part's change."""
        x = x + change
        gate, value = (self._norm(x) @ up.T).chunk(2, dim=-1)
        return x, (functional.silu(gate) * value) @ down.T

    def _attention(
        self,
        x: torch.Tensor,
        change: torch.Tensor,
        qkv: torch.Tensor,
        output: torch.Tensor,
        cache: Cache | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As `_mlp`."""
        x = x + change
        shape, (batch, tokens, _) = self.shape, x.shape
        sizes = [n * shape.head_dim for n in (shape.heads, shape.kv_heads, shape.kv_heads)]
        q, k, v = (self._norm(x) @ qkv.T).split(sizes, dim=-1)
        q, k = self._turned(self._by_head(q)), self._turned(self._by_head(k))
        v = self._by_head(v)
        group = shape.heads // shape.kv_heads
        if cache is None:
            k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
            found = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x, found.transpose(1, 2).reshape(batch, tokens, -1) @ output.T
        keys, values = cache
        keys[:, :, -1:], values[:, :, -1:] = k, v
        # The queries of a group share keys, and are rows of one GEMM.
        grouped = q.reshape(batch, shape.kv_heads, group, shape.head_dim)
        found = functional.scaled_dot_product_attention(grouped, keys, values)
        return x, found.reshape(batch, 1, -1) @ output.T


def seconds_of(step: Callable[[], object], repeats: int, device: str) -> float:
    """The median time of single steps."""
    times = []
    for _ in range(repeats):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def decode_step(model: Model, batch: int, context: int) -> Callable[[], object]:
    """A repeatable step: on a GPU, the replay of a graph."""
    x = torch.randn(batch, 1, model.shape.hidden, device=model.device, dtype=torch.bfloat16)
    cache = model.cache(batch, context + 1)

    def eager() -> None:
        with sdpa_kernel(DECODING):
            model.forward(x, cache)

    for _ in range(WARM_UPS):
        eager()
    if model.device != "cuda":
        return eager
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # NCCL's own thread must not end the capture.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        eager()

    def step(_: object = eager) -> None:  # keeps what the graph reads
        graph.replay()

    step()
    return step


def prefill_seconds(model: Model, tokens: int) -> float:
    x = torch.randn(1, tokens, model.shape.hidden, device=model.device, dtype=torch.bfloat16)
    for _ in range(WARM_UPS):
        model.forward(x, None)
    return seconds_of(lambda: model.forward(x, None), 10, model.device)


def split(step: Callable[[], object]) -> dict[str, Any]:
    """Milliseconds of a step by kind of kernel, and its number of kernels."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(PROFILED):
            step()
        torch.cuda.synchronize()
    times: dict[str, list[float]] = {kind: [] for kind in (*KINDS, "other")}
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            kind = next((kind for kind, name in KINDS.items() if name.search(event.name)), "other")
            times[kind].append(event.time_range.elapsed_us() * 1e-3 / PROFILED)
    # All-reduces have one size; the first also waits for the last profiler to start.
    reduces = sorted(times["all_reduces"])
    times["all_reduces"] = len(reduces) * reduces[len(reduces) // 2 : len(reduces) // 2 + 1]
    return {
        "kernels": round(sum(map(len, times.values())) / PROFILED),
        "ms": {kind: round(sum(values), 4) for kind, values in times.items()},
    }


class Energy:
    """The energy counter of this rank's board."""

    def __init__(self) -> None:
        self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        uuid = f"GPU-{torch.cuda.get_device_properties().uuid}".encode()
        if self._nvml.nvmlInit_v2() or self._nvml.nvmlDeviceGetHandleByUUID(
            uuid, ctypes.byref(self._device)
        ):
            raise OSError("NVML does not find the GPU")

    def joules(self) -> float:
        millijoules = ctypes.c_ulonglong()
        if self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._device, ctypes.byref(millijoules)):
            raise OSError("the GPU has no energy counter")
        return millijoules.value * 1e-3

    def of_steps(self, step: Callable[[], object], seconds: float) -> tuple[float, int]:
        """Joules and the number of steps between two steps of the counter, `seconds` apart."""
        first: tuple[float, float, int] | None = None
        steps, before = 0, self.joules()
        while True:
            step()
            torch.cuda.synchronize()
            steps += 1
            now = self.joules()
            if now == before:
                continue
            before = now
            if first is None:
                first = (time.perf_counter(), now, steps)
            elif time.perf_counter() - first[0] >= seconds:
                return now - first[1], steps - first[2]


def fits(shape: Shape, batch: int, context: int, device: str) -> bool:
    if device != "cuda":
        return True
    torch.cuda.empty_cache()
    return torch.cuda.mem_get_info()[0] > shape.kv_bytes(batch, context + 1) + SPARE_BYTES


def decode_row(
    model: Model, batch: int, context: int, energy: Energy | None = None
) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": "decode", "batch": batch, "context": context}
    if not fits(model.shape, batch, context, model.device):
        return row | {"skipped": "the KV cache does not fit"}
    step = decode_step(model, batch, context)
    seconds = seconds_of(step, 50 if model.device == "cuda" else 3, model.device)
    row |= {"seconds": seconds, "tokens_per_s": batch / seconds}
    if energy:
        energy.of_steps(step, 1)  # settles
        joules, steps = energy.of_steps(step, ENERGY_SECONDS)
        row["joules_per_token"] = joules / steps / batch
    return row | split(step) if model.device == "cuda" else row


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the rows here")
    parser.add_argument("--batch", type=numbers, default=[1, 8, 64], metavar="B,...")
    parser.add_argument("--context", type=numbers, metavar="C,...", help="default: 1024,8192")
    parser.add_argument(
        "--all-reduce",
        choices=["nccl", "one-shot", "two-shot"],
        default="nccl",
        help="between ranks, as in peakline-llm",
    )
    parser.add_argument("--compile", action="store_true", help="fuse small operations")
    parser.add_argument("--energy", action="store_true", help="and the joules of a token")
    parser.add_argument("--cpu", action="store_true", help="a toy, to test this program")
    options = parser.parse_args()
    if not options.cpu and not torch.cuda.is_available():
        print("decode_llama.py: PyTorch finds no GPU; --cpu runs a toy", file=sys.stderr)
        return 2
    device = "cpu" if options.cpu else "cuda"
    ranks, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_RANK", "0"))
    if ranks > 1:
        if not options.cpu:
            torch.cuda.set_device(rank)
        distributed.init_process_group("gloo" if options.cpu else "nccl")
    shape = TOY if options.cpu else LLAMA
    contexts = options.context or ([16, 64] if options.cpu else [1024, 8192])
    name = "CPU" if options.cpu else torch.cuda.get_device_name()
    rows: list[dict[str, Any]] = []

    def add(row: dict[str, Any]) -> None:
        rows.append(row)
        if rank:
            return
        print(row, flush=True)
        if options.json:
            result = {
                "device": name,
                "tp": ranks,
                "all_reduce": options.all_reduce if ranks > 1 else None,
                "compiled": options.compile,
                "rows": rows,
            }
            options.json.write_text(json.dumps(result, indent=2) + "\n")

    with torch.no_grad():
        energy = Energy() if options.energy and not options.cpu else None
        most = max(options.batch) * shape.hidden
        all_reduce = AllReduce(options.all_reduce, most) if ranks > 1 else None
        model = Model(shape.split(ranks), device, all_reduce, options.compile)
        for context in contexts:
            for batch in options.batch:
                add(decode_row(model, batch, context, energy))
        seconds = prefill_seconds(model, contexts[-1])
        add({"kind": "prefill", "batch": 1, "context": contexts[-1], "seconds": seconds})
    if ranks > 1:
        distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
