"""Settings that several families share."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from peakline.models.fields import Fields
from peakline.models.layers import Family, Mixture, first_dense, latent, shared_experts

ENCODER = (
    "an encoder, but bounds are for decoders: its tokens see each other in both directions, and "
    "none is predicted"
)


def refused(subject: str, reason: str) -> ValueError:
    return ValueError(
        f"{subject} is {reason}; peakline-mfu --flops-per-token takes a count of your own"
    )


def field(name: str) -> Callable[[Fields], int]:
    return lambda fields: fields.number(name, 0, least=0)


def renamed(**names: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Fields that a file may state by an older name, which then counts."""

    def prepare(values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**values, **{new: values[old] for new, old in names.items() if old in values}}

    return prepare


def of_layers(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What per_layer_config (transformers 5.24) says of all layers that it names."""
    single = values.get("per_layer_config")
    if not isinstance(single, Mapping) or not single:
        return {}
    first, *others = single.values()
    if not isinstance(first, Mapping) or any(other != first for other in others):
        raise ValueError("per_layer_config must say the same of all layers that it names")
    return first


def biases(field: str, default: bool = False, *parts: str) -> dict[str, Any]:
    """Biases of attention and of these parts, if this field of the file says so."""
    return {f"{part}_bias": (field, default) for part in ("qkv", "out", *parts)}


def shape(*sizes: int, **others: int) -> dict[str, int]:
    """Vocabulary, width, MLP's width, layers, heads, and heads of keys of a default model."""
    return {**dict(zip(_SHAPE, sizes, strict=False)), **others}


_SHAPE = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"),
    *("num_attention_heads", "num_key_value_heads"),
)
ATTENTION_BIAS = biases("attention_bias")
BIASES: dict[str, Any] = {**ATTENTION_BIAS, "mlp_bias": ("mlp_bias", False)}
ALL_BIASES: dict[str, Any] = {"qkv_bias": True, "out_bias": True, "mlp_bias": True}
WHOLE_NORMS: dict[str, Any] = {"head_norms": True, "whole_head_norms": True}
PLAIN: dict[str, Any] = {"gated": False, "norm_biases": True}
ROUTED: dict[str, Any] = {"count": ("n_routed_experts",), "inner": "moe_intermediate_size"}
DEEPSEEK = Mixture(**ROUTED, shared=shared_experts("n_shared_experts", 1), sparse=first_dense(3))
GLM = dataclasses.replace(DEEPSEEK, sparse=first_dense(1))
LATENT = Family(attention=latent, inner=DEEPSEEK)
