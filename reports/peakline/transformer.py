"""Parameters and FLOPs of transformers, by the conventions that projects publish figures in.

All count 2 FLOP for an FMA and three forward passes for a training step, and differ in what N holds
and in how much of the attention matrix counts: FLOPs per token = 6 N + 12 L H Q T, with L layers, H
heads, Q dimensions of a head and T tokens of a sequence.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from peakline.profile import shown_path

Recompute = Literal["none", "attention", "full"]


def require_positive(**values: float) -> None:
    """Raises ValueError for what is no number above 0."""
    for name, value in values.items():
        if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a number above 0, not {value!r}")


@dataclass(frozen=True, slots=True)
class Params:
    """Parameter counts of a transformer."""

    total: int
    active: int  # what one token passes through; fewer than total in a mixture of experts
    embedding: int  # of total: input embedding, positions, and output head where it is not tied
    looked_up: int  # of embedding: what is only looked up, and takes part in no product
    positions: int  # of looked_up: learned positions
    small: int  # of active: weights of norms and routers

    @property
    def matmul_params(self) -> int:
        """N of 6 N: the active parameters without those that are only looked up."""
        return self.active - self.looked_up


@dataclass(frozen=True, slots=True)
class Convention:
    """What a project counts as a model's FLOPs."""

    text: str
    counts_input_embedding: bool = False
    counts_norms: bool = True  # and routers
    causal: bool = False  # half of the attention matrix


CONVENTIONS: Mapping[str, Convention] = {
    "palm": Convention(
        "6 N + 12 L H Q T, N without an untied input embedding, which is no product "
        "(arXiv:2204.02311, appendix B; PaLM ties its own)"
    ),
    "torchtitan": Convention("6 N + 12 L H Q T, N without the input embedding"),
    "megatron": Convention(
        "6 N + 6 L H Q T, N the weights of products alone: half of the attention matrix, as "
        "Megatron-LM's num_floating_point_operations",
        counts_norms=False,
        causal=True,
    ),
    "nanogpt": Convention(
        "6 N + 12 L H Q T, N all parameters but those of positions", counts_input_embedding=True
    ),
}


@dataclass(frozen=True, slots=True)
class Transformer:
    """The shape of a decoder-only transformer without biases.

    hidden: width of the residual stream, by default heads x head_dim. kv_heads: heads of K and V
    (grouped-query attention), by default `heads`. mlp_matrices: 3 for a gated MLP (SwiGLU), 2 for a
    plain one. experts, experts_per_token: of each layer's MLP, with a router of hidden x experts.
    positions: of a learned embedding. Raises ValueError for a shape that makes no sense.
    """

    layers: int
    heads: int
    head_dim: int
    mlp_width: int
    vocabulary: int
    hidden: int | None = None
    kv_heads: int | None = None
    mlp_matrices: int = 3
    experts: int = 1
    experts_per_token: int = 1
    tied_embeddings: bool = False
    positions: int = 0

    def __post_init__(self) -> None:
        groups = self.heads if self.kv_heads is None else self.kv_heads
        require_positive(
            layers=self.layers,
            heads=self.heads,
            head_dim=self.head_dim,
            mlp_width=self.mlp_width,
            vocabulary=self.vocabulary,
            hidden=self.width,
            kv_heads=groups,
            experts=self.experts,
            experts_per_token=self.experts_per_token,
        )
        if self.heads % groups:
            raise ValueError(f"kv_heads must divide heads ({self.heads}), not {groups}")
        if self.mlp_matrices not in (2, 3):
            raise ValueError(
                f"mlp_matrices must be 2 (plain) or 3 (gated), not {self.mlp_matrices}"
            )
        if self.experts_per_token > self.experts:
            raise ValueError(
                f"experts_per_token ({self.experts_per_token}) exceeds experts ({self.experts})"
            )

    @property
    def width(self) -> int:
        """The width of the residual stream."""
        return self.heads * self.head_dim if self.hidden is None else self.hidden

    def params(self) -> Params:
        """How many parameters it has."""
        width = self.width
        groups = self.heads if self.kv_heads is None else self.kv_heads
        attention = 2 * width * self.heads * self.head_dim + 2 * width * groups * self.head_dim
        expert = self.mlp_matrices * width * self.mlp_width
        router = width * self.experts if self.experts > 1 else 0
        small = self.layers * (router + 2 * width) + width
        table, positions = self.vocabulary * width, self.positions * width
        embedding = table * (1 if self.tied_embeddings else 2) + positions
        shared = self.layers * attention + small + embedding
        return Params(
            total=shared + self.layers * self.experts * expert,
            active=shared + self.layers * self.experts_per_token * expert,
            embedding=embedding,
            looked_up=positions + (0 if self.tied_embeddings else table),
            positions=positions,
            small=small,
        )

    def counted_params(self, convention: str) -> int:
        """N, as a convention counts it."""
        rule, params = _rule(convention), self.params()
        counted = params.matmul_params
        if rule.counts_input_embedding:
            counted = params.active - params.positions
        return counted if rule.counts_norms else counted - params.small

    def flops(
        self,
        sequence: int,
        *,
        convention: str = "palm",
        causal: bool | None = None,
        training: bool = True,
    ) -> float:
        """Model FLOPs of one token, by a convention of CONVENTIONS.

        sequence: tokens of a sequence. causal: half or all of the attention matrix, whatever the
        convention says. training: False counts the forward pass alone, a third. Raises ValueError.
        """
        attention = self.attention_flops(sequence, convention=convention, causal=causal)
        forward = 2.0 * self.counted_params(convention) + attention
        return 3.0 * forward if training else forward

    def attention_flops(
        self, sequence: int, *, convention: str = "palm", causal: bool | None = None
    ) -> float:
        """FLOPs of the attention matrix for one token, forward."""
        half = _rule(convention).causal if causal is None else causal
        return attention_flops(
            self.layers, self.heads, self.head_dim, sequence, half, self.kv_heads
        )


def _rule(convention: str) -> Convention:
    if convention not in CONVENTIONS:
        raise ValueError(f"unknown convention {convention!r}: use one of {', '.join(CONVENTIONS)}")
    return CONVENTIONS[convention]


def attention_flops(
    layers: int, heads: int, head_dim: int, sequence: int, causal: bool, kv_heads: int | None
) -> float:
    """FLOPs of QK^T and of its product with V for one token, forward: 4 L H Q T."""
    require_positive(layers=layers, heads=heads, head_dim=head_dim, sequence=sequence)
    if kv_heads is not None and (kv_heads < 1 or heads % kv_heads):
        raise ValueError(
            f"kv_heads must divide heads ({heads}), since each serves a group of them; {kv_heads} "
            "does not"
        )
    return 4.0 * layers * heads * head_dim * sequence * (0.5 if causal else 1.0)


def transformer_params(
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
) -> Params:
    """Parameters of a decoder-only transformer: `Transformer.params`."""
    return Transformer(
        layers,
        heads,
        head_dim,
        mlp_width,
        vocabulary,
        hidden,
        kv_heads,
        mlp_matrices,
        experts,
        experts_per_token,
        tied_embeddings,
        positions,
    ).params()


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


# A model_type of Hugging Face tells whether embeddings are tied where the file does not say.
_HF_TIED = {
    "gpt2": True,
    "llama": False,
    "mistral": False,
    "mixtral": False,
    "qwen2": False,
    "qwen3": False,
    "qwen3_moe": False,
}


def from_hf_config(source: str | os.PathLike[str] | Mapping[str, Any]) -> Transformer:
    """The shape that a config.json of Hugging Face describes; `source`: its path or content.

    Biases and the norms of queries and keys are left out. Raises ValueError for a file that cannot
    be read, a kind of model that is not known, and a field that is missing or no number.
    """
    name, config = "the config", source
    if not isinstance(source, Mapping):
        name = shown_path(source)
        try:
            with open(source, encoding="utf-8") as file:
                config = json.load(file)
        except OSError as error:
            raise ValueError(f"{name}: cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}: not JSON: {error}") from error
    if not isinstance(config, Mapping):
        raise ValueError(f"{name}: not a config.json of a model")
    kind = config.get("model_type")
    if kind not in _HF_TIED:
        raise ValueError(
            f"{name}: model_type is {kind!r}: known are {', '.join(_HF_TIED)}; for another model "
            "give --params, --layers, --heads, --head-dim"
        )

    def number(key: str, default: int | None = None) -> int:
        value = config.get(key)
        if value is None and default is not None:
            return default
        if type(value) is not int or value < 1:
            raise ValueError(f"{name}: {key} is {value!r}, but must be a whole number above 0")
        return value

    tied = config.get("tie_word_embeddings", _HF_TIED[kind])
    if type(tied) is not bool:
        raise ValueError(f"{name}: tie_word_embeddings is {tied!r}, but must be true or false")
    if kind == "gpt2":
        width, heads = number("n_embd"), number("n_head")
        return Transformer(
            number("n_layer"),
            heads,
            width // heads,
            number("n_inner", 4 * width),
            number("vocab_size"),
            hidden=width,
            mlp_matrices=2,
            tied_embeddings=tied,
            positions=number("n_positions"),
        )
    width, heads = number("hidden_size"), number("num_attention_heads")
    experts = {"mixtral": "num_local_experts", "qwen3_moe": "num_experts"}.get(kind)
    return Transformer(
        number("num_hidden_layers"),
        heads,
        number("head_dim", width // heads),
        number("moe_intermediate_size" if kind == "qwen3_moe" else "intermediate_size"),
        number("vocab_size"),
        hidden=width,
        kv_heads=number("num_key_value_heads", heads),
        experts=number(experts) if experts else 1,
        experts_per_token=number("num_experts_per_tok") if experts else 1,
        tied_embeddings=tied,
    )
