"""Step."""

from collections.abc import Mapping
from typing import Any

from peakline.models.decoder_layer import Layer, Window, grouped_layer
from peakline.models.families.layouts import never
from peakline.models.families.shared import ROUTED, field, of_layers, renamed
from peakline.models.fields import MOST_LAYERS, Fields
from peakline.models.layers import Attention, Family, Mixture, first_dense, window_of
from peakline.models.weights import Weights, grouped_attention, linear

_STEP_NAMES = {
    "num_key_value_heads": "num_attention_groups",
    "n_routed_experts": "moe_num_experts",
    "num_experts_per_tok": "moe_top_k",
}


def _step_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites the names of the published files in those of transformers' class."""
    found = dict(renamed(**_STEP_NAMES)(renamed(n_routed_experts="num_experts")(values)))
    listed, others = values.get("moe_layers_enum"), values.get("attention_other_setting")
    count = values.get("num_hidden_layers")
    if type(count) is not int or not 0 < count <= MOST_LAYERS:
        return values
    for key in ("layer_types", "mlp_layer_types"):
        if isinstance(values.get(key), list):  # those of predicted tokens follow
            found[key] = values[key][:count]
    if isinstance(listed, str):
        sparse = set(listed.replace(" ", "").split(","))
        found["mlp_layer_types"] = [
            "sparse" if str(layer) in sparse else "dense" for layer in range(count)
        ]
    heads = of_layers(values).get("num_attention_heads")
    if isinstance(others, Mapping):
        heads = others.get("num_attention_heads")
        for theirs, ours in (("num_attention_groups", "num_key_value_heads"), ("head_dim",) * 2):
            if others.get(theirs, found.get(ours)) != found.get(ours):
                raise ValueError("attention_other_setting must differ in num_attention_heads alone")
    if heads is not None:
        found["num_sliding_attention_heads"] = heads
    return {**found, "per_layer_config": None}


def _step(fields: Fields, _: Family) -> Attention:
    """Layers with a window have more heads; each head's output has a gate."""
    width, size, groups = fields.number("hidden_size"), fields.head_dim(128), fields.kv_heads(8)

    def one(heads: int, window: Window | None) -> Layer:
        weights = grouped_attention(width, heads, size, groups, False, False)
        weights += linear(width, heads) + Weights(small=2 * size)
        return grouped_layer(weights, heads, groups, size, window)

    def attention(layer: int, window: Window | None) -> Layer:
        if window is None:
            return one(fields.number("num_attention_heads"), None)
        if not fields.has("num_sliding_attention_heads"):
            raise ValueError(
                "attention_other_setting is missing, which has the heads of layers with a window"
            )
        return one(fields.number("num_sliding_attention_heads"), window)

    return attention


FAMILIES: Mapping[str, Family] = {
    "step3p5": Family(
        kv_heads=8,
        head_dim=128,
        window=window_of(),
        bounded=never,
        attention=_step,
        prepare=_step_kinds,
        inner=Mixture(**ROUTED, shared=field("share_expert_dim"), sparse=first_dense(3)),
    )
}
