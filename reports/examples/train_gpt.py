"""Trains a small GPT for some steps and logs MFU against a profile's peaks.

    python train_gpt.py --profile node7.json

Two figures are logged side by side, and never under one name: MFU, against the published peak, and
the share of what this very device was measured to do. FLOPs are counted by PaLM's convention
(peakline.transformer_flops). The summary compares tokens/s with the most that the profile allows
for a step of this shape (peakline.train_bound). The data are made-up sequences that count on in
steps of 1 to 8, so that a falling loss shows that the model learns. On a GPU the products run in
BF16 on FP32 weights; needs PyTorch. Without a GPU it trains a toy on the CPU in FP32, against the
host's profile.

With --probe-every, a probe between two steps says whether the GPU is as fast as when it was
calibrated: once, on the idle GPU, by python -c 'import peakline; peakline.probe.calibrate()'.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import needs_torch  # noqa: F401
import peakline
import torch
import torch.nn.functional as functional
from torch import nn


@dataclass(frozen=True)
class Size:
    """The model's shape and the batch of one step."""

    layers: int
    heads: int
    head_dim: int
    vocabulary: int
    sequence: int
    batch: int
    learning_rate: float

    @property
    def hidden(self) -> int:
        """Width of the residual stream."""
        return self.heads * self.head_dim


# About 1.3 G parameters: GEMMs large enough for the matrix units, small enough for one GPU.
# Vocabulary and widths are multiples of 128, which GEMM tiles divide evenly.
GPU_SIZE = Size(
    layers=24, heads=16, head_dim=128, vocabulary=50304, sequence=2048, batch=8, learning_rate=2e-4
)
# Tokens in use. With the whole vocabulary, a few dozen steps learn nothing; the GEMMs over it are
# the same either way.
SYMBOLS = 64
CPU_SIZE = Size(
    layers=2, heads=4, head_dim=16, vocabulary=64, sequence=64, batch=8, learning_rate=3e-3
)
PROFILED = 6  # steps of a trace, the first two for warm-up


class Block(nn.Module):
    """Causal attention and a plain MLP, each behind a layer norm."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.norm1 = nn.LayerNorm(size.hidden)
        self.qkv = nn.Linear(size.hidden, 3 * size.hidden, bias=False)
        self.out = nn.Linear(size.hidden, size.hidden, bias=False)
        self.norm2 = nn.LayerNorm(size.hidden)
        self.up = nn.Linear(size.hidden, 4 * size.hidden, bias=False)
        self.down = nn.Linear(4 * size.hidden, size.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, sequence, hidden), in and out."""
        batch, sequence, hidden = x.shape
        q, k, v = (
            part.view(batch, sequence, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        attention = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, sequence, hidden))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """A decoder-only transformer; its head shares the embedding's weights."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.tokens = nn.Embedding(size.vocabulary, size.hidden)
        self.positions = nn.Embedding(size.sequence, size.hidden)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.hidden)
        self.head = nn.Linear(size.hidden, size.vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        # PyTorch's default of 1 for positions would drown the tokens.
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean cross entropy for targets (batch, sequence)."""
        x = self.tokens(tokens) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def shape_of(size: Size) -> peakline.Transformer:
    """The model's shape, for its bound."""
    return peakline.Transformer.uniform(
        size.layers,
        size.heads,
        size.head_dim,
        4 * size.hidden,
        size.vocabulary,
        mlp_matrices=2,
        tied_embeddings=True,
        positions=size.sequence,
    )


def peaks_of(profile: peakline.Profile, dtype: str, device: str) -> list[peakline.Peak]:
    """The published peak and the profile's measured ones for this precision."""
    found = []
    wanted = None if device == "cuda" else "host"
    for basis in ("datasheet", "theoretical", "burst", "sustained", "measured"):
        if basis == "theoretical" and found:
            continue  # the datasheet's figure takes precedence
        with contextlib.suppress(peakline.PeakError):
            found.append(profile.peak(dtype, basis=basis, device=wanted))
    if not found:
        # Raises, listing what the profile has.
        profile.peak(dtype, basis="datasheet", device=wanted)
    return found


def check_device(profile: peakline.Profile) -> None:
    """Refuses a profile of another GPU model."""
    name = torch.cuda.get_device_name()
    models = {device.name for device in profile.devices}
    if name not in models:
        sys.exit(
            f"this is a {name}, but the profile is of {', '.join(sorted(models)) or 'no GPU'}: "
            "measure this machine with scripts/run"
        )


def counting(size: Size, generator: torch.Generator) -> torch.Tensor:
    """Token sequences (batch, sequence + 1) that count up by a random step."""
    device = generator.device
    start = torch.randint(SYMBOLS, (size.batch, 1), generator=generator, device=device)
    step = torch.randint(1, 9, (size.batch, 1), generator=generator, device=device)
    return (start + step * torch.arange(size.sequence + 1, device=device)) % SYMBOLS


def profiler(steps: int, path: str) -> torch.profiler.profile:
    """Traces the last four steps into a file."""
    return torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=steps - PROFILED, warmup=2, active=PROFILED - 2),
        on_trace_ready=lambda done: done.export_chrome_trace(path),
        record_shapes=True,
    )


def probing(every: int) -> Callable[[int], None]:
    """Prints a probe's verdict after each `every` steps."""

    def after_step(number: int) -> None:
        if number % every == 0:
            verdict = peakline.probe()
            ratios = ", ".join(f"{name} {ratio:.1%}" for name, ratio in verdict.ratios.items())
            print(f"probe after step {number}: {verdict.outcome}: {verdict.reason or ratios}")

    return after_step


def train(
    size: Size,
    steps: int,
    device: str,
    compiled: bool,
    trace: str | None = None,
    after_step: Callable[[int], None] | None = None,
) -> list[tuple[float, float]]:
    """(seconds, loss) of each step, warm-up included. trace: file for a trace of the last steps.
    after_step: called with the number of steps so far, as part of the last one's time."""
    torch.manual_seed(1)
    # FP32 weights: BF16 would round optimizer updates away.
    model = Gpt(size).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=size.learning_rate, fused=device == "cuda")
    step_model = torch.compile(model) if compiled else model
    generator = torch.Generator(device).manual_seed(2)
    tracing = profiler(steps, trace) if trace else None
    if tracing:
        tracing.start()
    done: list[tuple[float, float]] = []
    for number in range(1, steps + 1):
        tokens = counting(size, generator)
        start = time.perf_counter()
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = step_model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        # item() waits for the device, so the clock covers the whole step.
        value = loss.item()
        if after_step:
            after_step(number)
        done.append((time.perf_counter() - start, value))
        if tracing:
            tracing.step()
    if tracing:
        tracing.stop()
    return done


def main() -> int:
    """Trains and prints a table; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile", required=True, help="profile of peakline run, of this machine")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warm-up", type=int, default=10, help="steps left out of the summary")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--trace", metavar="FILE", help="trace the last steps: .json or .json.gz")
    parser.add_argument("--probe-every", type=int, metavar="N", help="probe the GPU each N steps")
    parser.add_argument("--cpu", action="store_true", help="train the toy on the CPU")
    options = parser.parse_args()
    if not 0 <= options.warm_up < options.steps:
        parser.error("--warm-up must be less than --steps")
    if options.probe_every is not None and options.probe_every < 1:
        parser.error("--probe-every must be at least 1")
    if options.trace and options.steps < PROFILED:
        parser.error(f"--trace needs {PROFILED} --steps or more")

    device = "cuda" if torch.cuda.is_available() and not options.cpu else "cpu"
    size, dtype = (GPU_SIZE, "bf16") if device == "cuda" else (CPU_SIZE, "fp32")
    tokens = size.batch * size.sequence
    try:
        profile = peakline.load(options.profile)
        if device == "cuda":
            check_device(profile)
        peaks = peaks_of(profile, dtype, device)
        bound = peakline.train_bound(
            profile,
            shape_of(size),
            tokens,
            sequence=size.sequence,
            dtype=dtype,
            device=None if device == "cuda" else "host",
        )
    except (peakline.ProfileError, peakline.PeakError) as error:
        sys.exit(str(error))

    with torch.device("meta"):
        params = sum(p.numel() for p in Gpt(size).parameters())
    flops_per_token = peakline.transformer_flops(
        params, size.layers, size.heads, size.head_dim, size.sequence
    )
    print(
        f"{params / 1e6:.4g} M parameters, {flops_per_token / 1e9:.3g} GFLOP per token (PaLM), "
        f"{tokens} tokens a step, {dtype} on {peaks[0].device}, torch {torch.__version__}"
    )
    names = [peakline.utilization_name(peak) for peak in peaks]
    print("  ".join([f"{'step':>5}", f"{'loss':>6}", f"{'tokens/s':>9}", *names]))

    def row(label: str, loss: float, seconds: float) -> None:
        shares = [peakline.mfu(flops_per_token * tokens, seconds, peak) for peak in peaks]
        cells = [f"{share * 100:{len(share.name) - 2}.1f} %" for share in shares]
        print("  ".join([f"{label:>5}", f"{loss:6.3f}", f"{tokens / seconds:9.0f}", *cells]))

    probe = probing(options.probe_every) if options.probe_every else None
    steps = train(size, options.steps, device, options.compile, options.trace, probe)
    for i, (seconds, loss) in enumerate(steps):
        if i < 2 or (i + 1) % 10 == 0:
            row(str(i + 1), loss, seconds)
    timed = sorted(seconds for seconds, _ in steps[options.warm_up :])
    middle = timed[len(timed) // 2]
    row("all", steps[-1][1], middle)
    print(f"all: median of {len(timed)} steps after {options.warm_up} of warm-up")
    for peak, name in zip(peaks, names, strict=True):
        print(f"{name}: of {peak / 1e12:.4g} TFLOP/s, {peak.resource}, {peak.source}")
    print(
        f"bound of a step: {bound.tokens_per_s:.0f} tokens/s ({bound.limiter}), of which the "
        f"median step reaches {bound.seconds / middle * 100:.3g} %"
    )
    if bound.estimate_s:
        share = bound.estimate_s / middle * 100
        print(f"under sustained load: {tokens / bound.estimate_s:.0f} tokens/s, {share:.3g} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
