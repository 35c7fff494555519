"""Parameters and FLOPs of decoders, by the conventions in `conventions`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from peakline.models.conventions import rule_of
from peakline.profile.errors import shown_argument
from peakline.profile.schema import is_amount, magnitudes

Recompute = Literal["none", "attention", "full"]


def require_positive(**values: float) -> None:
    """Raises ValueError for values that are not positive numbers of a plausible magnitude."""
    for name, value in values.items():
        if not is_amount(value) or value == 0:
            least, most = magnitudes()
            raise ValueError(
                f"{name} must be a number above 0, not {shown_argument(value)} "
                f"(from {least:g} to {most:g})"
            )


def require_groups(heads: int, kv_heads: int) -> None:
    if kv_heads < 1 or heads % kv_heads:
        raise ValueError(
            f"kv_heads must divide heads ({heads}), since each serves a group of them; {kv_heads} "
            "does not"
        )


@dataclass(frozen=True, slots=True)
class Experts:
    """The routed experts of a layer: a token passes through `chosen` of `count`."""

    count: int
    chosen: int
    one: Weights  # of one expert

    def read_by(self, tokens: int) -> float:
        """The share of the experts that at least one of `tokens` tokens passes through, with
        balanced routing."""
        return 1.0 - (1.0 - self.chosen / self.count) ** tokens


@dataclass(frozen=True, slots=True)
class Weights:
    """Parameters of a part of a model, by their use for a token."""

    # (n, k), outputs and inputs, of each matrix that all tokens use, fused as engines fuse them: Q,
    # K and V; gate and up.
    matrices: tuple[tuple[int, int], ...] = ()
    small: int = 0  # norms, biases, routers, attention sinks; with experts, biases of the chosen
    experts: Experts | None = None

    @property
    def products(self) -> int:
        """Elements of the matrices that a token is multiplied by, with its chosen experts."""
        own = sum(n * k for n, k in self.matrices)
        return own + (self.experts.chosen * self.experts.one.products if self.experts else 0)

    @property
    def idle(self) -> int:
        """Parameters of the experts that a token does not pass through."""
        if self.experts is None:
            return 0
        one = self.experts.one
        return (self.experts.count - self.experts.chosen) * (one.products + one.small)

    @property
    def total(self) -> int:
        return self.products + self.small + self.idle

    def __add__(self, other: Weights) -> Weights:
        """Both parts, of which at most one has experts."""
        if self.experts and other.experts:
            raise ValueError("a layer has one mixture of experts")
        return Weights(
            self.matrices + other.matrices, self.small + other.small, self.experts or other.experts
        )


def linear(inputs: int, outputs: int, bias: bool = False) -> Weights:
    return Weights(((outputs, inputs),), outputs if bias else 0)


def grouped_attention(
    width: int, heads: int, head_dim: int, kv_heads: int, qkv_bias: bool, out_bias: bool
) -> Weights:
    require_groups(heads, kv_heads)
    joined = linear(width, (heads + 2 * kv_heads) * head_dim, qkv_bias)
    return joined + linear(heads * head_dim, width, out_bias)


def mlp(width: int, inner: int, matrices: int = 3, bias: bool = False) -> Weights:
    """An MLP of 3 matrices (gated, SwiGLU) or 2 (plain)."""
    if matrices not in (2, 3):
        raise ValueError(f"mlp_matrices must be 2 (plain) or 3 (gated), not {matrices}")
    return linear(width, (matrices - 1) * inner, bias) + linear(inner, width, bias)


def mixture(
    width: int, inner: int, count: int, chosen: int, matrices: int = 3, bias: bool = False
) -> Weights:
    """A router and `count` MLPs, `chosen` of which a token passes through."""
    if chosen > count:
        raise ValueError(f"experts_per_token ({chosen}) exceeds experts ({count})")
    one, router = mlp(width, inner, matrices, bias), linear(width, count, bias)
    return Weights(small=router.total + chosen * one.small, experts=Experts(count, chosen, one))


@dataclass(frozen=True, slots=True)
class Window:
    """The keys that a token attends to at most, its own included. size: in tokens. chunked: windows
    are adjacent (Llama 4) instead of sliding."""

    size: int
    chunked: bool = False


@dataclass(frozen=True, slots=True)
class Indexer:
    """Chooses the keys of sparse attention (DeepSeek-V3.2): small heads score all of them.

    heads: of queries. dim: elements of a query, and of the one key per token, shared by all heads
    and stored in the cache.
    """

    heads: int
    dim: int


@dataclass(frozen=True, slots=True)
class Compressed:
    """Entries of the cache that stand for `rate` tokens each, read beside a window (DeepSeek-V4).

    dim: elements of an entry. keys: entries that a token reads; None: all. indexer: chooses them.
    """

    rate: int
    dim: int
    keys: int | None = None
    indexer: Indexer | None = None

    @property
    def cached(self) -> int:
        return self.dim + (self.indexer.dim if self.indexer else 0)

    def read(self, context: int) -> int:
        """Entries that a token attends to, after `context` tokens."""
        return min(context // self.rate, self.keys or context)


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer: its weights, and the shape of its attention or state. heads: 0 without attention."""

    weights: Weights
    heads: int
    qk_dim: int  # per head of queries and keys
    v_dim: int  # per head of values
    window: Window | None = None
    # KV heads, by which tensor parallelism can split the cache; 1 for a shared latent (MLA).
    kv_heads: int = field(kw_only=True)
    cached: int = field(kw_only=True)  # elements per token in the KV cache
    # Query and value dims of a head when decoding multiplies with the cached latent directly (MLA):
    # latent + rotary, latent.
    absorbed: tuple[int, int] | None = field(default=None, kw_only=True)
    keys: int | None = field(default=None, kw_only=True)  # chosen by sparse attention
    indexer: Indexer | None = field(default=None, kw_only=True)  # None: another layer's choice
    compressed: Compressed | None = field(default=None, kw_only=True)
    # Elements per token of an earlier layer's cache that it attends to, and then caches none.
    borrowed: int = field(default=0, kw_only=True)
    state: int = field(default=0, kw_only=True)  # elements of a sequence's constant state
    state_flops: int = field(default=0, kw_only=True)  # per token, to update and read the state
    mixing: int = field(default=0, kw_only=True)  # of the matrices: those of attention or state

    @property
    def parts(self) -> dict[str, int]:
        """Elements of the matrices by `formats.LAYER_PARTS`, and of the router."""
        sizes = [n * k for n, k in self.products]
        experts = self.experts
        found = {
            "attention": sum(sizes[: self.mixing]),
            "shared" if experts else "dense": sum(sizes[self.mixing :]),
            "router": experts.count * experts.one.matrices[0][1] if experts else 0,
            "experts": experts.count * experts.one.products if experts else 0,
        }
        return {part: size for part, size in found.items() if size}

    @property
    def products(self) -> tuple[tuple[int, int], ...]:
        """(n, k) of each matrix that all tokens use; excludes routed experts."""
        return self.weights.matrices

    @property
    def experts(self) -> Experts | None:
        """The routed experts; `products` has shared ones."""
        return self.weights.experts

    @property
    def seen(self) -> Window | None:
        """The keys that a token attends to, by window or choice; None: all."""
        if self.keys and (self.window is None or self.keys < self.window.size):
            return Window(self.keys)
        return self.window

    def cache_read(self, context: int) -> int:
        """Elements of the KV cache that one decoded token reads, after `context` tokens. For
        chunked attention it is the maximum, a whole chunk."""
        scanned = self.indexer.dim if self.indexer else 0
        read = context * scanned + self.attended(context) * (self.cached - scanned)
        if entries := self.compressed:
            read += entries.read(context) * entries.dim
            read += context // entries.rate * (entries.cached - entries.dim)
        return read

    def attended(self, context: int) -> int:
        """Tokens that one attends to, after `context` tokens; without compressed entries."""
        return min(context, self.seen.size) if self.seen else context

    def kept(self, context: int) -> int:
        """Elements of the KV cache that `context` tokens take."""
        kept = self.cached * (min(context, self.window.size) if self.window else context)
        if entries := self.compressed:
            kept += context // entries.rate * entries.cached
        return kept

    @property
    def written(self) -> float:
        """Elements of the KV cache that one token adds, in the mean."""
        return self.cached + (
            self.compressed.cached / self.compressed.rate if self.compressed else 0
        )

    def decoding_flops(self, context: int) -> float:
        """FLOPs of attention for one decoded token, after `context` tokens."""
        query, value = self.absorbed or (self.qk_dim, self.v_dim)
        scored = _scoring(self.indexer, context)
        keys = self.attended(context)
        if entries := self.compressed:
            keys += entries.read(context)
            scored += _scoring(entries.indexer, context // entries.rate)
        return 2.0 * self.heads * (query + value) * keys + scored

    def attention_flops(self, sequence: int, causal: bool, windows: bool) -> float:
        """FLOPs of QK^T and of its product with V for one token, forward. windows: count only the
        keys that a token sees or chooses, plus the indexer's work."""
        keys = _mean_keys(sequence, causal, self.seen if windows else None)
        scored = 0.0
        if windows:
            scored = _scoring(self.indexer, _mean_keys(sequence, causal, None))
            if (entries := self.compressed) and (count := sequence // entries.rate):
                chosen = Window(entries.keys) if entries.keys else None
                keys += _mean_keys(count, causal, chosen)
                scored += _scoring(entries.indexer, _mean_keys(count, causal, None))
        return 2.0 * self.heads * (self.qk_dim + self.v_dim) * keys + scored


def grouped_layer(
    weights: Weights,
    heads: int,
    kv_heads: int,
    head_dim: int,
    window: Window | None = None,
    *,
    v_dim: int | None = None,
    mixing: int = 0,
) -> Layer:
    """A layer of (grouped-query) attention. v_dim: per head of values, by default head_dim."""
    value = head_dim if v_dim is None else v_dim
    return Layer(
        weights,
        heads,
        head_dim,
        value,
        window,
        kv_heads=kv_heads,
        cached=kv_heads * (head_dim + value),
        mixing=mixing,
    )


def _scoring(indexer: Indexer | None, keys: float) -> float:
    """FLOPs in which an indexer scores keys for one token."""
    return 2.0 * indexer.heads * indexer.dim * keys if indexer else 0.0


def _mean_keys(sequence: int, causal: bool, window: Window | None) -> float:
    """Mean number of keys per token over a sequence."""
    size = min(sequence, window.size) if window else sequence
    if window and window.chunked:
        whole, rest = divmod(sequence, size)
        keys = (whole * size**2 + rest**2) / sequence
        return keys / 2 if causal else keys
    # The first tokens see less than a whole window.
    return size - size**2 / (2 * sequence) if causal else float(size)


@dataclass(frozen=True, slots=True)
class Params:
    """Counts of a model's parameters, as `Transformer.params` returns them."""

    total: int
    active: int  # used by one token; less than total in a mixture of experts
    embedding: int  # of total: input embedding, positions, and an untied output head
    looked_up: int  # of embedding: only looked up, in no GEMM
    positions: int  # of looked_up: learned positions
    small: int  # of active: norms, biases, routers, attention sinks

    @property
    def matmul_params(self) -> int:
        """N of 6 N: active parameters that are not only looked up."""
        return self.active - self.looked_up


@dataclass(frozen=True, slots=True)
class Transformer:
    """A decoder-only transformer; `uniform` makes one of identical layers."""

    layers: tuple[Layer, ...]
    table: int  # parameters of the input embedding, and of an untied output head
    hidden: int  # width of the residual stream
    tied_embeddings: bool = False
    positions: int = 0  # parameters of learned positions
    rest: Weights = Weights()  # of no layer: the last norm
    left_out: str = ""  # parts of the model that are not counted
    tables: int = 0  # parameters of further embeddings, only looked up (Gemma 3n)
    unused: int = 0  # parameters that tokens of text skip (Llama-3.2-Vision's cross-attention)

    @classmethod
    def uniform(
        cls,
        layers: int,
        heads: int,
        head_dim: int,
        mlp_width: int,
        vocabulary: int,
        *,
        hidden: int | None = None,
        kv_heads: int | None = None,
        mlp_matrices: int = 3,
        experts: int = 1,
        experts_per_token: int = 1,
        tied_embeddings: bool = False,
        positions: int = 0,
        window: int | None = None,
    ) -> Transformer:
        """Makes a transformer of identical layers without biases.

        hidden: width of the residual stream, by default heads x head_dim. kv_heads: heads of K and
        V (grouped-query attention), by default `heads`. mlp_matrices: 3 for a gated MLP (SwiGLU), 2
        for a plain one. experts, experts_per_token: of each MLP, with a router. positions: of a
        learned embedding. window: tokens that one attends to. Raises ValueError for an invalid
        shape.
        """
        width = heads * head_dim if hidden is None else hidden
        groups = heads if kv_heads is None else kv_heads
        require_positive(
            layers=layers,
            heads=heads,
            head_dim=head_dim,
            mlp_width=mlp_width,
            vocabulary=vocabulary,
            hidden=width,
            kv_heads=groups,
            experts=experts,
            experts_per_token=experts_per_token,
        )
        inner = (
            mlp(width, mlp_width, mlp_matrices)
            if experts == experts_per_token == 1
            else mixture(width, mlp_width, experts, experts_per_token, mlp_matrices)
        )
        attention = grouped_attention(width, heads, head_dim, groups, False, False)
        layer = grouped_layer(
            attention + inner + Weights(small=2 * width),
            heads,
            groups,
            head_dim,
            None if window is None else Window(window),
            mixing=len(attention.matrices),
        )
        return cls(
            (layer,) * layers,
            vocabulary * width,
            width,
            tied_embeddings,
            positions * width,
            Weights(small=width),
        )

    def params(self) -> Params:
        parts = [*(layer.weights for layer in self.layers), self.rest]
        embedding = self.table * (1 if self.tied_embeddings else 2) + self.positions + self.tables
        small = sum(part.small for part in parts)
        active = sum(part.products for part in parts) + small + embedding
        return Params(
            total=active + self.unused + sum(part.idle for part in parts),
            active=active,
            embedding=embedding,
            looked_up=self.positions + self.tables + (0 if self.tied_embeddings else self.table),
            positions=self.positions,
            small=small,
        )

    def counted_params(self, convention: str) -> int:
        rule, params = rule_of(convention), self.params()
        counted = params.matmul_params
        if rule.counts_input_embedding:
            counted = params.active - params.positions
        return counted if rule.counts_small else counted - params.small

    def flops(
        self,
        sequence: int,
        *,
        convention: str = "palm",
        causal: bool | None = None,
        training: bool = True,
    ) -> float:
        """Model FLOPs of one token, by a convention of CONVENTIONS.

        sequence: tokens of a sequence. causal: overrides the convention's half or whole attention
        matrix. training: False counts the forward pass alone, a third. Raises ValueError, also if
        layers keep a state and the convention has no count for it.
        """
        attention = self.attention_flops(sequence, convention=convention, causal=causal)
        states = sum(layer.state_flops for layer in self.layers)
        if states and not rule_of(convention).states:
            raise ValueError(
                f"{convention} has no count for layers that keep a state instead of an attention "
                "matrix (state space, linear attention): take the convention megatron, which has"
            )
        forward = 2.0 * self.counted_params(convention) + attention + states
        return 3.0 * forward if training else forward

    def forward_flops(self, sequence: int) -> float:
        """The least FLOPs of a forward pass, for one token in the mean of a sequence.

        For bounds of time, not MFU: GEMMs, half of the attention matrix within windows and chosen
        keys, and states. Raises ValueError.
        """
        require_positive(sequence=sequence)
        params = self.params()
        return 2.0 * (params.matmul_params - params.small) + sum(
            layer.attention_flops(sequence, True, True) + layer.state_flops for layer in self.layers
        )

    def attention_flops(
        self, sequence: int, *, convention: str = "palm", causal: bool | None = None
    ) -> float:
        rule = rule_of(convention)
        require_positive(sequence=sequence)
        half = rule.causal if causal is None else causal
        return sum(layer.attention_flops(sequence, half, rule.windows) for layer in self.layers)


def attention_flops(
    layers: int, heads: int, head_dim: int, sequence: int, causal: bool, kv_heads: int | None
) -> float:
    """FLOPs of QK^T and of its product with V for one token, forward: 4 L H Q T."""
    require_positive(layers=layers, heads=heads, head_dim=head_dim, sequence=sequence)
    if kv_heads is not None:
        require_groups(heads, kv_heads)
    return 4.0 * layers * heads * head_dim * sequence * (0.5 if causal else 1.0)


def recomputed(model: float, attention: float, recompute: str) -> float:
    """FLOPs of the hardware in training, recomputation included.

    model: of the model in training; attention: of the attention matrix, forward. recompute: "none";
    "attention", that matrix once more (selective recomputation, Korthikanti et al. 2022,
    arXiv:2205.05198); "full", the whole forward pass once more. Raises ValueError.
    """
    if recompute == "none":
        return model
    if recompute == "full":
        return model * 4.0 / 3.0
    if recompute == "attention":
        return model + attention
    raise ValueError(f"recompute must be none, attention or full, not {recompute!r}")
