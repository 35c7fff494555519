"""MiMo."""

from collections.abc import Mapping
from typing import Any

from peakline.models.decoder_layer import Layer, Window, grouped_layer
from peakline.models.families.qwen import QWEN
from peakline.models.families.shared import ROUTED
from peakline.models.fields import Fields
from peakline.models.layers import (
    Attention,
    Family,
    Mixture,
    first_dense,
    shared_experts,
    window_of,
)
from peakline.models.weights import Weights, linear


def _mimo_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites hybrid_layer_pattern as layer_types; the file's window excludes the query."""
    prepared = dict(values)
    pattern = values.get("hybrid_layer_pattern")
    if isinstance(pattern, list) and "layer_types" not in values:
        kinds = ("full_attention", "sliding_attention")
        prepared["layer_types"] = [kinds[bool(kind)] for kind in pattern]
    if type(before := values.get("sliding_window_size")) is int:
        prepared["sliding_window"] = before + 1
    return prepared


def _mimo(fields: Fields, _: Family) -> Attention:
    """Layers with a window have their own number of KV heads, and sinks."""
    width, heads = fields.number("hidden_size"), fields.number("num_attention_heads")
    groups, bias = fields.kv_heads(4), fields.flag(("attention_bias", False))
    size, value = fields.head_dim(192), fields.number("v_head_dim", 128)

    def one(groups: int, window: Window | None) -> Layer:
        weights = linear(width, heads * size + groups * (size + value), bias)
        weights += linear(heads * value, width)
        weights += Weights(small=heads if window else 0)
        return grouped_layer(weights, heads, groups, size, window, v_dim=value)

    inside = fields.number("swa_num_key_value_heads", 2 * groups)
    return lambda layer, window: one(inside if window else groups, window)


FAMILIES: Mapping[str, Family] = {
    "mimo": Family(qkv_bias=True, kv_heads=32, **QWEN),
    "mimo_v2_flash": Family(
        window=window_of(129),
        bounded=lambda fields: lambda layer: layer > 0 and (layer + 1) % 6 != 0,
        attention=_mimo,
        inner=Mixture(**ROUTED, shared=shared_experts("n_shared_experts"), sparse=first_dense(1)),
        prepare=_mimo_kinds,
    ),
}
