"""Parameters and FLOPs of decoders, by the conventions in `conventions`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from peakline.models.conventions import rule_of
from peakline.models.decoder_layer import Layer, Window, grouped_layer
from peakline.models.weights import Weights, grouped_attention, mixture, mlp, require_groups
from peakline.profile.schema import require_positive

Recompute = Literal["none", "attention", "full"]


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
    rest: Weights = field(default_factory=Weights)  # of no layer: the last norm
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
