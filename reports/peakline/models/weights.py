"""Parameters of the parts of a layer, by their use for a token."""

from __future__ import annotations

from dataclasses import dataclass


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
