"""Families with few members."""

from collections.abc import Callable, Mapping
from typing import Any

from peakline.models.families.layouts import even, pattern
from peakline.models.families.shared import (
    ATTENTION_BIAS,
    BIASES,
    WHOLE_NORMS,
    biases,
    field,
    renamed,
)
from peakline.models.fields import Fields
from peakline.models.layers import (
    Family,
    Inner,
    Mixture,
    first_dense,
    mamba2,
    shared_experts,
    window_of,
)
from peakline.models.transformer import Transformer
from peakline.models.weights import mlp


def _chatglm_heads(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """ChatGLM2 and later, whose cache has groups of heads."""
    if "ffn_hidden_size" not in values:
        raise ValueError("ffn_hidden_size is missing, which ChatGLM2 and later have")
    shared = values.get("multi_query_attention") is True
    groups = "multi_query_group_num" if shared else "num_attention_heads"
    return {**values, "num_key_value_heads": values.get(groups)}


def _ernie_sparse(fields: Fields) -> Callable[[int], bool]:
    step, last = fields.number("moe_layer_interval", 1), fields.layers() - 1
    first = fields.number("moe_layer_start_index", 1, least=0)
    end = fields.number("moe_layer_end_index", last, least=-1)
    end = last if end < 0 else end
    return lambda layer: (layer + 1) % step == 0 and first <= layer <= end


def _granite_inner(fields: Fields, family: Family) -> Inner:
    """Shared experts, and a mixture if the file has routed ones."""
    shared = field("shared_intermediate_size")
    if fields.number("num_local_experts", 0, least=0):
        return Mixture(shared=shared)(fields, family)
    weights = mlp(fields.number("hidden_size"), shared(fields))
    return lambda layer: weights


def _no_head_norms(fields: Fields, model: Transformer) -> Transformer:
    if fields.flag(("qk_layernorm", False)):
        raise fields.error("qk_layernorm", "false: norms of each head are not counted")
    return model


FAMILIES: Mapping[str, Family] = {
    "cohere": Family(
        tied=True,
        norms=1,
        head_norms=("use_qk_norm", False),
        whole_head_norms=True,
        **ATTENTION_BIAS,
    ),
    "cohere2": Family(
        tied=True,
        norms=1,
        head_dim=128,
        window=window_of(4096),
        bounded=pattern(4),
        **ATTENTION_BIAS,
    ),
    "chatglm": Family(
        names={
            "num_hidden_layers": "num_layers",
            "intermediate_size": "ffn_hidden_size",
            "vocab_size": "padded_vocab_size",
            "head_dim": "kv_channels",
        },
        qkv_bias=("add_qkv_bias", False),
        out_bias=("add_bias_linear", False),
        mlp_bias=("add_bias_linear", False),
        prepare=_chatglm_heads,
    ),
    "ernie4_5": Family(tied=True, head_dim=128, **biases("use_bias", False, "mlp")),
    "ernie4_5_moe": Family(
        tied=True,
        kv_heads=4,
        **biases("use_bias", False, "mlp", "head"),
        inner=Mixture(
            count=("moe_num_experts",),
            inner="moe_intermediate_size",
            chosen="moe_k",
            shared=shared_experts("moe_num_shared_experts", 2),
            sparse=_ernie_sparse,
            router_bias=True,
        ),
    ),
    "exaone": Family(prepare=renamed(num_hidden_layers="num_layers"), **BIASES),
    "exaone4": Family(
        head_norms=True, window=window_of(4096), bounded=pattern(4), **ATTENTION_BIAS
    ),
    "flex_olmo": Family(**WHOLE_NORMS, **ATTENTION_BIAS, inner=Mixture(count=("num_experts",))),
    "glm": Family(head_dim=128, kv_heads=2, qkv_bias=("attention_bias", True)),
    "glm4": Family(head_dim=128, kv_heads=2, qkv_bias=("attention_bias", True), norms=4),
    "gpt_oss": Family(
        head_dim=64,
        kv_heads=8,
        **biases("attention_bias", True),
        sinks=True,
        window=window_of(128),
        bounded=even,
        inner=Mixture(bias=True),
    ),
    "granite": Family(**BIASES),
    "granitemoe": Family(**ATTENTION_BIAS, inner=_granite_inner),
    "granitemoehybrid": Family(**ATTENTION_BIAS, inner=_granite_inner, state=mamba2),
    "granitemoeshared": Family(**ATTENTION_BIAS, inner=_granite_inner),
    "hunyuan_v1_dense": Family(head_norms=True, **ATTENTION_BIAS),
    "hy_v3": Family(
        head_dim=128,
        kv_heads=8,
        head_norms=True,
        inner=Mixture(
            count=("num_experts",),
            inner="moe_intermediate_size",
            shared=shared_experts("num_shared_experts", 1),
            sparse=first_dense(1),
        ),
        **BIASES,
    ),
    "olmo": Family(norms=0, last_norm=False, **ATTENTION_BIAS),
    "olmo2": Family(**WHOLE_NORMS, **ATTENTION_BIAS),
    "olmo3": Family(**WHOLE_NORMS, **ATTENTION_BIAS, window=window_of(4096), bounded=pattern(4)),
    "olmoe": Family(**WHOLE_NORMS, **ATTENTION_BIAS, inner=Mixture(count=("num_experts",))),
    "phi3": Family(window=window_of()),
    "phimoe": Family(
        kv_heads=8,
        norm_biases=True,
        head_bias=("lm_head_bias", False),
        window=window_of(),
        inner=Mixture(),
        **ATTENTION_BIAS,
    ),
    "stablelm": Family(
        norm_biases=True,
        qkv_bias=("use_qkv_bias", False),
        norms=lambda fields: 1 if fields.flag(("use_parallel_residual", False)) else 2,
        finish=_no_head_norms,
    ),
}
