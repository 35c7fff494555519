"""Bounds of a language model on a device: decoding, prefill, and MBU.

A bound is the largest of three overlapping needs: bytes over the measured bandwidth of the device's
memory, FLOPs over the highest measured Tensor Core rate, all-reduces over the payload rate of the
links. No program that makes one token per forward pass is faster. Not counted: activations,
sampling, the host, imbalance of experts, speculation.
"""

import dataclasses
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peakline.limits.bound import Need, Roofs
from peakline.limits.ceilings import MEASURED
from peakline.limits.collectives import ALL_REDUCES
from peakline.models.decoder_layer import Layer
from peakline.models.formats import Formats
from peakline.models.transformer import Transformer
from peakline.profile import HOST, PUBLISHED_BASES, Ceiling, PeakError, Profile
from peakline.profile.peaks import instruction_of
from peakline.profile.schema import require_positive

_ACTIVATION_BYTES = 2  # BF16, sent by all-reduces
STATE_BYTES = 2
LINKS = "nvlink"
_LARGEST_BATCH = 1 << 16  # in a search
_ALL = 1 << 40  # so many tokens choose every expert
_BF16 = Formats()


@dataclass(frozen=True, slots=True)
class Serving:
    """How a model is served: `batch` sequences of `context` tokens at once.

    tp: GPUs that share each layer (tensor parallelism). formats: of weights and KV cache. device:
    as in `Profile.select_devices`; of several the first counts. all_reduce: what the estimate of
    kernels takes for the all-reduces, a key of `ALL_REDUCES`. Raises ValueError for invalid values.
    """

    batch: int = 1
    context: int = 1024
    tp: int = 1
    formats: Formats = _BF16
    device: str | int | None = None
    all_reduce: str = "nccl"

    def __post_init__(self) -> None:
        if self.all_reduce not in ALL_REDUCES:
            raise ValueError(
                f"all_reduce is {self.all_reduce!r}, but must be one of {', '.join(ALL_REDUCES)}"
            )
        for name in ("batch", "context", "tp"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is {value!r}, but must be a whole number from 1")


_ONE = Serving()


@dataclass(frozen=True, slots=True)
class TokenBound:
    """The least time of a decode step or a prefill, on `tp` GPUs together."""

    seconds: float
    tokens_per_s: float  # over all sequences; for a prefill, tokens read
    limiter: str  # the slowest resource: "hbm.read", "tensor.bf16", "nvlink"
    needs: Mapping[str, float]  # seconds that each resource needs, the limiter first
    weight_bytes: float  # read by one GPU, cached ones included
    kv_bytes: float  # of the KV cache, read and written by one GPU
    cached_bytes: float  # of both, kept in the L2 from step to step
    flop: float  # of one GPU
    memory_bytes: float  # of weights and KV cache on one GPU
    fits: bool | None  # in the GPU's memory; None if its size is unknown
    largest_batch: int | None  # that fits beside the weights; None as above
    # The bound if all tokens chose the same experts; `seconds` without routed experts.
    one_choice_s: float
    notes: tuple[str, ...]  # what the bound assumes or leaves out

    def __float__(self) -> float:
        return self.seconds

    @property
    def bytes(self) -> float:
        """Bytes that one GPU reads from and writes to its memory."""
        return self.weight_bytes + self.kv_bytes - self.cached_bytes


def decode_bound(profile: Profile, model: Transformer, serving: Serving = _ONE) -> TokenBound:
    """The least time in which each sequence gets one more token.

    Routing is assumed balanced: with E experts, k per token, a batch of B reads E (1 - (1 -
    k/E)^B). Raises ValueError if the GPUs cannot share the heads, PeakError if the profile lacks a
    figure.
    """
    work, batch = Work(profile, model, serving), serving.batch
    flop = sum(work.layer_flop(layer) for layer in model.layers)
    flop += 2.0 * (model.table + model.rest.products)
    reads = [work.share(layer) * work.kv_step(layer) for layer in model.layers]
    return work.result(flop * batch, batch * sum(reads), tokens=batch)


def prefill_bound(profile: Profile, model: Transformer, serving: Serving = _ONE) -> TokenBound:
    """The least time to read prompts of `context` tokens: time to first token.

    Attention counts half of the matrix. The output head, and layers that borrow the cache of
    earlier ones, count for the last token only. Errors as in `decode_bound`.
    """
    work = Work(profile, model, serving)
    batch, context = serving.batch, serving.context
    tokens = batch * context
    per_token = sum(
        2.0 * layer.weights.products
        + layer.attention_flops(context, causal=True, windows=True)
        + layer.state_flops
        for layer in model.layers
        if not layer.borrowed
    )
    last = sum(work.layer_flop(layer) for layer in model.layers if layer.borrowed)
    written = [
        work.share(layer) * layer.written * context * serving.formats.kv_bytes
        for layer in model.layers
    ]
    return work.result(
        (per_token + 2.0 * model.rest.products) * tokens + (last + 2.0 * model.table) * batch,
        batch * sum(written),
        tokens=tokens,
    )


def mbu(step: TokenBound, tokens_per_s: float, batch: int, bandwidth: float) -> float:
    """Model bandwidth utilization: bytes of weights and KV cache x steps/s / bandwidth.

    step: of `decode_bound`. tokens_per_s: achieved, over all sequences. bandwidth: of one GPU, in
    B/s; state its kind, published or measured. Raises ValueError.
    """
    require_positive(tokens_per_s=tokens_per_s, batch=batch, bandwidth=bandwidth)
    return (step.weight_bytes + step.kv_bytes) * tokens_per_s / batch / bandwidth


@dataclass(frozen=True, slots=True)
class Turns:
    """The batches above which reading weights no longer limits decoding."""

    products: float  # dense GEMMs: their FLOPs take as long as their weights
    experts: float | None  # GEMMs of routed experts
    kv_cache: float | None  # the KV cache exceeds the weights; None without one
    step: int | None  # memory no longer limits the whole step; None if it always does


def turning_batches(profile: Profile, model: Transformer, serving: Serving = _ONE) -> Turns:
    """The batches above which reading weights is not the limit; ignores `serving.batch`."""
    work = Work(profile, model, dataclasses.replace(serving, batch=1))
    rate = work.tensor.value / work.memory.value
    mixture = next((layer.experts for layer in model.layers if layer.experts), None)

    def leaves_memory(batch: int) -> bool:
        step = decode_bound(profile, model, dataclasses.replace(serving, batch=batch))
        return step.limiter != work.memory.resource

    def nbytes(experts: bool) -> float:
        """Mean of an element, by parts."""
        counts = [
            count
            for layer in model.layers
            for part, count in layer.parts.items()
            if (part == "experts") is experts
        ]
        return sum(one[experts] for one in work.layer_bytes) / max(1, sum(counts))

    kv_cache = sum(work.kv_step(layer) for layer in model.layers)
    first = 1 + bisect_left(range(1, _LARGEST_BATCH + 1), True, key=leaves_memory)
    return Turns(
        rate * nbytes(experts=False) / 2,
        rate * nbytes(experts=True) / 2 * mixture.count / mixture.chosen if mixture else None,
        serving.tp * work.weights_read(_ALL) / kv_cache if kv_cache else None,
        first if first <= _LARGEST_BATCH else None,
    )


class Work:
    """The work of a model on a profile's GPU, and the ceilings that it meets."""

    def __init__(self, profile: Profile, model: Transformer, serving: Serving) -> None:
        require_divided(model, serving.tp)
        self.profile, self.model, self.formats = profile, model, serving.formats
        self.batch, self.context, self.tp = serving.batch, serving.context, serving.tp
        self.device = profile.select_devices(serving.device)[0]
        if self.device == HOST:
            why = "the profile has none" if not profile.devices else "the host was chosen"
            raise PeakError(f"{profile.where}: a model is bounded on a GPU, and {why}")
        self.gpu, self.roofs = profile.gpu(self.device), Roofs(profile, self.device)
        self.layer_bytes = _bytes_of_layers(model, serving.formats)
        self.memory = self._highest(f"{self.roofs.main}.read", "bandwidth")
        self.tensor = self._tensor()

    def share(self, layer: Layer) -> float:
        """A GPU's part of a layer's KV cache: split by heads, or by sequences if cheaper."""
        if not layer.kv_heads:
            return 1.0 / self.tp
        by_sequence = math.ceil(self.batch / self.tp) / self.batch
        return min(1.0 / min(self.tp, layer.kv_heads), by_sequence)

    def kv_step(self, layer: Layer) -> float:
        """Bytes of cache and state that one token reads and writes."""
        elements = layer.cache_read(self.context) + layer.written if layer.heads else 0
        return elements * self.formats.kv_bytes + layer.state * STATE_BYTES

    def gemm_rate(self, precision: str) -> float:
        """FLOP/s of large GEMMs, measured from rest; without a measurement those of the precision
        without scales, else of BF16, else the highest known rate."""
        names = [f"tensor.{name}" for name in (precision, instruction_of(precision), "bf16")]
        rows = (self.profile.ceiling(self.device, name, *MEASURED) for name in names)
        return (next((row for row in rows if row), None) or self.tensor).value

    def layer_flop(self, layer: Layer) -> float:
        """FLOPs of one decoded token in a layer."""
        flop = 2.0 * layer.weights.products + layer.state_flops
        return flop + (layer.decoding_flops(self.context) if layer.heads else 0.0)

    def weights_read(self, together: int) -> float:
        """Bytes of weights that a GPU reads for `together` tokens with independent experts."""
        total = self.model.table * self.formats.head_bytes
        total += self.model.rest.products * _BF16.head_bytes
        for layer, (dense, experts) in zip(self.model.layers, self.layer_bytes, strict=True):
            total += dense
            if one := layer.experts:
                total += experts * one.read_by(together)
        return total / self.tp

    def stored(self) -> float:
        """Bytes of all weights on a GPU, with the input table."""
        used = self.formats
        return (used.stored_bytes or weights_stored(self.model, used)) / self.tp

    def kept_per_sequence(self) -> float:
        """Bytes of a sequence's KV cache and state, over all GPUs."""
        elements = sum(layer.kept(self.context) for layer in self.model.layers)
        states = sum(layer.state for layer in self.model.layers)
        return elements * self.formats.kv_bytes + states * STATE_BYTES

    def result(self, flop: float, kv_bytes: float, *, tokens: int) -> TokenBound:
        """The bound of `tokens` in one pass, with the FLOPs of all GPUs and the KV bytes of one."""
        weights = self.weights_read(tokens)
        # The L2's content at the end of a step need not be read again in the next.
        saved = min(float((self.gpu and self.gpu.l2_bytes) or 0), weights)
        needs = [
            self.roofs.need(self.memory, weights + kv_bytes - saved),
            self.roofs.need(self.tensor, flop / self.tp),
        ]
        links = self._links(tokens)
        notes = [
            f"{row.resource} was not measured: the bound takes its {row.basis} rate."
            for row in (self.memory, self.tensor)
            if row.basis in PUBLISHED_BASES
        ]
        if links:
            needs.append(links)
        elif self.tp > 1:
            notes.append("All-reduces are left out: the profile has no bandwidth between GPUs.")
        needs.sort(key=lambda need: -need.seconds)
        chosen = max(self.weights_read(1) + kv_bytes - saved, 0.0) / self.memory.value
        if any(layer.experts for layer in self.model.layers):
            notes.append("Routed experts are taken as balanced.")
        others = [need.seconds for need in needs if need.resource != self.memory.resource]
        stored, kept = self.stored(), self.kept_per_sequence()
        return TokenBound(
            seconds=needs[0].seconds,
            tokens_per_s=tokens / needs[0].seconds,
            limiter=needs[0].resource,
            needs={need.resource: need.seconds for need in needs},
            weight_bytes=weights,
            kv_bytes=kv_bytes,
            cached_bytes=saved,
            flop=flop / self.tp,
            memory_bytes=stored + self.batch * kept / self.tp,
            **self._room(stored, kept),
            one_choice_s=max(chosen, *others),
            notes=tuple(notes),
        )

    def _room(self, stored: float, kept: float) -> dict[str, Any]:
        memory = self.gpu and self.gpu.memory_bytes
        if not memory:
            return {"fits": None, "largest_batch": None}
        free = memory - stored
        largest = max(0, int(free * self.tp / kept)) if kept else None
        return {"fits": stored + self.batch * kept / self.tp <= memory, "largest_batch": largest}

    def _links(self, rows: int) -> Need | None:
        """The need of all-reduces; None for one GPU or unmeasured links."""
        if self.tp == 1:
            return None
        found = [
            row
            for row in self.profile.ceilings
            if row.resource.startswith(f"{LINKS}.read.") and row.basis in MEASURED
        ]
        if not found:
            return None
        row = max(found, key=lambda row: row.value)
        n = self.tp
        # Sent share of the array: 2 (n - 1) / n in a ring, (n + 1) / n if the switch reduces.
        sent = all_reduced_bytes(self.model, rows) * min(2 * (n - 1), n + 1) / n
        return Need(LINKS, sent / row.value, row.basis, row.value, row.unit)

    def _tensor(self) -> Ceiling:
        """The highest ceiling of the precision; BF16 if the device lacks the format."""
        wanted = self.formats.precision
        names = [f"tensor.{wanted}"]
        if self.formats.compute is None:
            names.append("tensor.bf16")
        present = self.profile.resources_of(self.device)
        name = next((name for name in names if name in present), names[0])
        return self._highest(name, "rate")

    def _highest(self, resource: str, what: str) -> Ceiling:
        """The highest measured ceiling of a resource, else a published one."""
        for bases in (MEASURED, PUBLISHED_BASES):
            rows = [self.profile.ceiling(self.device, resource, basis) for basis in bases]
            found = [row for row in rows if row]
            if found:
                return max(found, key=lambda row: row.value)
        raise PeakError(
            f"{self.profile.where} has no {what} {resource} of "
            f"{self.profile.device_name(self.device)}"
        )


def require_divided(model: Transformer, tp: int) -> None:
    """Raises ValueError unless the GPUs can share the attention heads equally."""
    for heads in sorted({layer.heads for layer in model.layers if layer.heads}):
        if heads % tp:
            raise ValueError(f"tp is {tp}, but must divide the {heads} heads of attention")


def weights_stored(model: Transformer, formats: Formats) -> float:
    """Bytes of all weights in these formats, with the input table."""
    counted = sum(sum(layer.parts.values()) for layer in model.layers)
    head = 0 if model.tied_embeddings else model.table
    small = model.params().total - counted - head - model.table
    return (
        sum(map(sum, _bytes_of_layers(model, formats)))
        + head * formats.head_bytes
        + model.table * formats.embedding_bytes
        + small * _BF16.head_bytes
    )


def _bytes_of_layers(model: Transformer, formats: Formats) -> list[tuple[float, float]]:
    """Bytes of each layer's matrices: those of all tokens, and those of all routed experts."""
    size, found = formats.sizes(), []
    for index, layer in enumerate(model.layers):
        parts = {part: count * size(index, part) for part, count in layer.parts.items()}
        experts = parts.pop("experts", 0.0)
        found.append((sum(parts.values()), experts))
    return found


def all_reduces(model: Transformer) -> int:
    """All-reduces of a forward pass under tensor parallelism: after the mixer and after the MLP of
    each layer that has them."""
    return sum(
        ("attention" in layer.parts) + bool(layer.parts.keys() - {"attention"})
        for layer in model.layers
    )


def all_reduced_bytes(model: Transformer, rows: int) -> float:
    """Bytes of all arrays that tensor parallelism reduces for `rows` tokens."""
    return float(all_reduces(model) * rows * model.hidden * _ACTIVATION_BYTES)
