"""Times decoding and prefill of Llama-3.1-8B's shape in BF16, to hold against `peakline-llm`.

    python decode_llama.py --json measured.json

Weights and KV cache are random, since their values do not matter for the time. A decode step is one
CUDA graph of plain PyTorch operations: 32 layers and the output head. A batch and context whose KV
cache does not fit are skipped. Needs PyTorch and a GPU with 24 GB; --cpu runs a toy, as a test of
this program alone.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as functional

WARM_UPS = 3
SPARE_BYTES = 2 << 30  # for activations and the allocator's rounding


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


LLAMA = Shape(32, 4096, 32, 8, 128, 14336, 128256)
TOY = Shape(2, 64, 4, 2, 16, 96, 128)


class Model:
    """Layers without training: products, norms, rotary embedding, attention."""

    def __init__(self, shape: Shape, device: str) -> None:
        self.shape, self.device = shape, device
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

    def _random(self, *size: int) -> torch.Tensor:
        values = torch.empty(size, device=self.device, dtype=torch.bfloat16)
        return values.normal_(0, 1 / math.sqrt(size[-1]))

    def cache(self, batch: int, tokens: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        size = (batch, self.shape.kv_heads, tokens, self.shape.head_dim)
        return [(self._random(*size), self._random(*size)) for _ in self.layers]

    def forward(
        self, x: torch.Tensor, cache: list[tuple[torch.Tensor, torch.Tensor]] | None
    ) -> torch.Tensor:
        """Logits of the last token of each row of x, [batch, tokens, hidden]; cache: to decode."""
        angle = torch.ones(self.shape.head_dim, device=x.device, dtype=x.dtype)
        for i, (qkv, output, up, down) in enumerate(self.layers):
            attended = self._attention(self._norm(x) @ qkv.T, angle, cache[i] if cache else None)
            x = x + attended @ output.T
            gate, value = (self._norm(x) @ up.T).chunk(2, dim=-1)
            x = x + (functional.silu(gate) * value) @ down.T
        return self._norm(x[:, -1]) @ self.head.T

    def _norm(self, x: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, (x.shape[-1],))

    def _attention(
        self,
        joined: torch.Tensor,
        angle: torch.Tensor,
        cache: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> torch.Tensor:
        shape, (batch, tokens, _) = self.shape, joined.shape
        sizes = [shape.heads, shape.kv_heads, shape.kv_heads]
        parts = joined.split([n * shape.head_dim for n in sizes], dim=-1)
        q, k, v = (
            part.view(batch, tokens, n, shape.head_dim).transpose(1, 2)
            for part, n in zip(parts, sizes, strict=True)
        )
        q, k = (torch.addcmul(x, x.roll(shape.head_dim // 2, -1), angle) for x in (q, k))
        group = shape.heads // shape.kv_heads
        if cache is None:
            k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
            found = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return found.transpose(1, 2).reshape(batch, tokens, -1)
        keys, values = cache
        keys[:, :, -1:], values[:, :, -1:] = k, v
        # The queries of a group share keys, so they are rows of one product.
        grouped = q.reshape(batch, shape.kv_heads, group, shape.head_dim)
        found = functional.scaled_dot_product_attention(grouped, keys, values)
        return found.reshape(batch, 1, -1)


def seconds_of(step: Callable[[], object], repeats: int, device: str) -> float:
    """The median of single steps."""
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


def decode_seconds(model: Model, batch: int, context: int) -> float:
    x = torch.randn(batch, 1, model.shape.hidden, device=model.device, dtype=torch.bfloat16)
    cache = model.cache(batch, context + 1)
    for _ in range(WARM_UPS):
        model.forward(x, cache)
    if model.device != "cuda":
        return seconds_of(lambda: model.forward(x, cache), 3, model.device)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model.forward(x, cache)
    graph.replay()
    return seconds_of(graph.replay, 50, model.device)


def prefill_seconds(model: Model, tokens: int) -> float:
    x = torch.randn(1, tokens, model.shape.hidden, device=model.device, dtype=torch.bfloat16)
    for _ in range(WARM_UPS):
        model.forward(x, None)
    return seconds_of(lambda: model.forward(x, None), 10, model.device)


def fits(shape: Shape, batch: int, context: int, device: str) -> bool:
    if device != "cuda":
        return True
    torch.cuda.empty_cache()
    return torch.cuda.mem_get_info()[0] > shape.kv_bytes(batch, context + 1) + SPARE_BYTES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the rows here")
    parser.add_argument("--cpu", action="store_true", help="a toy, to test this program")
    options = parser.parse_args()
    if not options.cpu and not torch.cuda.is_available():
        print("decode_llama.py: PyTorch finds no GPU; --cpu runs a toy", file=sys.stderr)
        return 2
    device = "cpu" if options.cpu else "cuda"
    shape, contexts = (TOY, (16, 64)) if options.cpu else (LLAMA, (1024, 8192))
    rows: list[dict[str, object]] = []
    with torch.inference_mode():
        model = Model(shape, device)
        for context in contexts:
            for batch in (1, 8, 64):
                row = {"kind": "decode", "batch": batch, "context": context}
                if fits(shape, batch, context, device):
                    seconds = decode_seconds(model, batch, context)
                    rows.append({**row, "seconds": seconds, "tokens_per_s": batch / seconds})
                else:
                    rows.append({**row, "skipped": "the KV cache does not fit"})
                print(rows[-1], flush=True)
        seconds = prefill_seconds(model, contexts[-1])
        rows.append({"kind": "prefill", "batch": 1, "context": contexts[-1], "seconds": seconds})
        print(rows[-1])
    name = "CPU" if options.cpu else torch.cuda.get_device_name()
    if options.json:
        options.json.write_text(json.dumps({"device": name, "rows": rows}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
