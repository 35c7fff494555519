"""The least time of a training step, by measured ceilings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from peakline.models.transformer import Transformer, require_positive
from peakline.profile import PeakError, Profile
from peakline.profile.peaks import known_peaks

Strategy = Literal["ddp", "fsdp"]

# The best measured peak bounds a step; the sustained one is realistic under continuous load.
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

LINKS = "links"


@dataclass(frozen=True, slots=True)
class TrainBound:
    """The least time of a training step if compute, memory and links overlap completely."""

    seconds: float
    limiter: str  # the slowest resource: "tensor.bf16", "hbm", LINKS
    needs: Mapping[str, float]  # seconds that each resource needs, the limiter first
    missing: tuple[str, ...]  # resources without a known rate, which are left out
    tokens_per_s: float  # of all GPUs at that time
    # `seconds` at the sustained GEMM rate; None if that was not measured.
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

    tokens: of a step, over all GPUs. sequence: tokens of one sequence. strategy: "ddp" replicates
    weights and optimizer, "fsdp" shards them. A step is three forward passes without recomputation,
    with attention to the keys that a token sees. Links carry gradients (and weights, with "fsdp")
    at their specified payload rate, without reduction in a switch; the rate is unknown for more
    GPUs than the profile has. Of several devices the slowest counts. Raises PeakError if the
    profile lacks a figure, ValueError for invalid values.
    """
    require_positive(tokens=tokens, gpus=gpus, sequence=sequence)
    if strategy not in get_args(Strategy):
        raise ValueError(f"strategy must be ddp or fsdp, not {strategy!r}")
    flops = 3.0 * model.forward_flops(sequence) * tokens / gpus
    try:
        peaks = known_peaks(_BEST, lambda b: profile.peak(dtype, basis=b, device=device))
    except PeakError as error:
        raise PeakError(f"no measured {dtype} peak in {profile.where}") from error
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
    estimate = None
    if _SUSTAINED in peaks:
        estimate = max({**needs, best.resource: flops / peaks[_SUSTAINED]}.values())
    return TrainBound(seconds, limiter, needs, missing, tokens / seconds, estimate)


def _payload_rate(profile: Profile, gpus: int) -> float | None:
    """Specified B/s of a GPU's links to the others of its node, one way."""
    if gpus > len(profile.devices):
        return None
    try:
        return float(profile.bandwidth("nccl.all_reduce.busbw", basis="theoretical"))
    except PeakError:
        return None
