"""The least time of a training step, from what a machine was measured to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from peakline.models.transformer import Transformer, require_positive
from peakline.profile import PeakError, Profile

Strategy = Literal["ddp", "fsdp"]

# The best that was measured bounds a step; programs reach the other under unbroken load.
_BEST = ("instruction", "burst", "measured", "sustained")
_SUSTAINED = "sustained"
# Bytes a parameter: weights and gradients in 16 bits, read by both passes and written once.
_PASSES = 6
# Adam reads and writes the master copy and both moments in 32 bits, and reads the gradient in 32.
_OPTIMIZER = 28
_GRADIENT = 2  # bytes a parameter that collectives carry, as weights
# Passes of all parameters over a GPU's links, times (n - 1) / n: an all-reduce is two, FSDP has two
# all-gathers of weights and a reduce-scatter of gradients.
_CROSSINGS = {"ddp": 2, "fsdp": 3}

LINKS = "links"


@dataclass(frozen=True, slots=True)
class TrainBound:
    """The least time of a training step, as if computing, memory and links overlapped wholly."""

    seconds: float
    limiter: str  # the resource that takes so long: "tensor.bf16", "hbm", LINKS
    needs: Mapping[str, float]  # seconds that each resource needs, the limiter first
    missing: tuple[str, ...]  # resources whose rate is not known, which bound nothing here
    tokens_per_s: float  # of all GPUs at that time
    # As `seconds`, at the rate of products under sustained load; None where that was not measured.
    estimate_s: float | None

    def __float__(self) -> float:
        return self.seconds


def train_bound(
    profile: Profile,
    model: Transformer,
    tokens: float,
    gpus: int = 1,
    strategy: Strategy = "ddp",
    *,
    sequence: int,
    dtype: str = "bf16",
    device: str | int | None = None,
) -> TrainBound:
    """The least time of a training step with Adam in mixed precision.

    tokens: of a step, over all GPUs; sequence: tokens of one. strategy: "ddp", weights and
    optimizer on every GPU; "fsdp", a part of them on each. A step is three forward passes without
    recomputation, and attention to the keys that a token sees. Links carry gradients (and weights,
    with "fsdp") at the payload rate of their specification, with no reduction inside a switch;
    their rate is not known for more GPUs than the profile has. Of several devices the slowest
    counts. Raises PeakError for what the profile does not have, ValueError for values that make no
    sense.
    """
    require_positive(tokens=tokens, gpus=gpus, sequence=sequence)
    if strategy not in get_args(Strategy):
        raise ValueError(f"strategy must be ddp or fsdp, not {strategy!r}")
    flops = 3.0 * model.forward_flops(sequence) * tokens / gpus
    peaks = {
        basis: profile.peak(dtype, basis=basis, device=device)
        for basis in _BEST
        if _has(profile, dtype, basis, device)
    }
    if not peaks:
        raise PeakError(f"no measured {dtype} peak in {profile.path or 'the profile'}")
    best, count = max(peaks.values()), model.params().total
    shard = gpus if strategy == "fsdp" else 1
    moved = count * (_OPTIMIZER / shard + _PASSES)
    memory = "memory" if best.resource.startswith("cpu.") else "hbm"
    needs = {best.resource: flops / best, memory: moved / profile.bandwidth(memory, device=device)}
    missing: tuple[str, ...] = ()
    if gpus > 1:
        rate = _payload_rate(profile, gpus)
        crossing = _GRADIENT * count * _CROSSINGS[strategy] * (gpus - 1) / gpus
        if rate is None:
            missing = (LINKS,)
        else:
            needs[LINKS] = crossing / rate
    needs = dict(sorted(needs.items(), key=lambda need: -need[1]))
    limiter, seconds = next(iter(needs.items()))
    estimate = None
    if _SUSTAINED in peaks:
        estimate = max({**needs, best.resource: flops / peaks[_SUSTAINED]}.values())
    return TrainBound(seconds, limiter, needs, missing, tokens / seconds, estimate)


def _has(profile: Profile, dtype: str, basis: str, device: str | int | None) -> bool:
    try:
        profile.peak(dtype, basis=basis, device=device)
    except PeakError:
        return False
    return True


def _payload_rate(profile: Profile, gpus: int) -> float | None:
    """B/s that a GPU's links to the others of its node carry one way, by their specification."""
    if gpus > len(profile.devices):
        return None
    try:
        return float(profile.bandwidth("nccl.all_reduce.busbw", basis="theoretical"))
    except PeakError:
        return None
