"""A layer of a decoder: its weights, and what its attention or state reads, keeps and computes."""

from __future__ import annotations

from dataclasses import dataclass, field

from peakline.models.weights import Experts, Weights


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
