"""The least time of a training step, by measured ceilings."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from peakline.models.transformer import Transformer
from peakline.profile import NODE, PeakError, Profile, normalize_dtype
from peakline.profile.peaks import instruction_of, known_peaks
from peakline.profile.schema import require_positive

Strategy = Literal["ddp", "fsdp"]

# The best measured peak bounds a step; the achievable one is realistic under sustained load.
_BEST = ("instruction", "burst", "measured", "sustained")
_SUSTAINED = "sustained"
# Bytes per parameter: 16-bit weights and gradients, read by both passes and written once.
_PASSES = 6
# Adam reads and writes the 32-bit master copy and both moments, and reads the 32-bit gradient.
_OPTIMIZER = 28
_GRADIENT = 2  # bytes per parameter in collectives
# Transfers of all parameters over a GPU's links, times (n - 1) / n: 2 for an all-reduce; FSDP has
# two all-gathers of weights and a reduce-scatter of gradients.
_CROSSINGS = {"ddp": 2, "fsdp": 3}
# The collective that moves most of them.
_COLLECTIVES = {"ddp": "all_reduce", "fsdp": "all_gather"}

LINKS = "links"


@dataclass(frozen=True, slots=True)
class TrainBound:
    """The least time of a training step if compute, memory and links overlap completely."""

    seconds: float
    limiter: str  # the slowest resource: "tensor.bf16", "hbm", LINKS
    needs: Mapping[str, float]  # seconds that each resource needs, the limiter first
    missing: tuple[str, ...]  # resources without a known rate, which are left out
    tokens_per_s: float  # of all GPUs at that time
    # `seconds` at the achievable GEMM rate, and at the price that GEMMs and collectives at the same
    # time were measured to have; None without that rate.
    estimate_s: float | None
    overlap_s: float  # the part of `estimate_s` that is this price; 0 if it was not measured

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

    tokens: of a step, over all GPUs. sequence: tokens of one sequence. strategy: "ddp" replicates
    weights and optimizer, "fsdp" shards them. A step is three forward passes without recomputation,
    with attention to the keys that a token sees. Links carry gradients (and weights, with "fsdp")
    at their specified payload rate, without reduction in a switch; the rate is unknown for more
    GPUs than the profile has. dtype: with scales ("fp8_block") the bound is that of the instruction
    (FP8), the estimate that of such GEMMs. Of several devices the slowest counts. Raises PeakError
    if the profile lacks a figure, ValueError for invalid values.
    """
    require_positive(tokens=tokens, gpus=gpus, sequence=sequence)
    if strategy not in get_args(Strategy):
        raise ValueError(f"strategy must be ddp or fsdp, not {strategy!r}")
    flops = 3.0 * model.forward_flops(sequence) * tokens / gpus
    plain = instruction_of(normalize_dtype(dtype))
    try:
        peaks = known_peaks(_BEST, lambda b: profile.peak(plain, basis=b, device=device))
    except PeakError as error:
        raise PeakError(f"no measured {plain} peak in {profile.where}") from error
    best, count = max(peaks.values()), model.params().total
    shard = gpus if strategy == "fsdp" else 1
    moved = count * (_OPTIMIZER / shard + _PASSES)
    memory = best.memory
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
    estimate, price, sustained = None, 0.0, None
    with contextlib.suppress(PeakError):
        sustained = profile.peak(dtype, basis=_SUSTAINED, device=device)
    if sustained:
        computing = flops / sustained
        estimate = max({**needs, best.resource: computing}.values())
        if LINKS in needs:
            both = _at_once(profile, _COLLECTIVES[strategy], computing, needs[LINKS])
            price = max(0.0, both - estimate)
            estimate += price
    return TrainBound(seconds, limiter, needs, missing, tokens / seconds, estimate, price)


def _at_once(profile: Profile, collective: str, computing: float, sending: float) -> float:
    """Seconds of GEMMs and a collective that begin at the same time, from the seconds that each
    takes alone and the factors by which they slow each other down (`beside.gemm`); what is left
    when the other ends runs alone. 0 if that was not measured."""
    slower = [
        row.value
        for name in ("load", "collective")
        for row in profile.figures(
            NODE, id="beside.gemm", name=name, collective=collective, ctas="auto"
        )
    ]
    if len(slower) != 2:
        return 0.0
    together = min(computing * slower[0], sending * slower[1])
    left = max(computing - together / slower[0], sending - together / slower[1])
    return together + left


def _payload_rate(profile: Profile, gpus: int) -> float | None:
    """Specified B/s of a GPU's links to the others of its node, one way."""
    if gpus > len(profile.devices):
        return None
    try:
        return float(profile.bandwidth("nccl.all_reduce.busbw", basis="theoretical"))
    except PeakError:
        return None
