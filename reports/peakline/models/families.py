"""The families of models whose config.json can be read, one row each.

Fields and defaults are those of the classes of `transformers`; parameters equal those of its
...ForCausalLM exactly.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from peakline.models import rules
from peakline.models.layers import (
    Family,
    Mixture,
    delta,
    first_dense,
    gated,
    latent,
    mamba2,
    shared_experts,
    window_of,
)


def _biases(field: str, default: bool = False, *parts: str) -> dict[str, Any]:
    """Biases of attention and of these parts, if this field of the file says so."""
    return {f"{part}_bias": (field, default) for part in ("qkv", "out", *parts)}


def _shape(*sizes: int, **others: int) -> dict[str, int]:
    """Vocabulary, width, MLP's width, layers, heads, and heads of keys of a default model."""
    return {**dict(zip(_SHAPE, sizes, strict=False)), **others}


_SHAPE = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"),
    *("num_attention_heads", "num_key_value_heads"),
)
_ATTENTION_BIAS = _biases("attention_bias")
_BIASES: dict[str, Any] = {**_ATTENTION_BIAS, "mlp_bias": ("mlp_bias", False)}
_ALL_BIASES: dict[str, Any] = {"qkv_bias": True, "out_bias": True, "mlp_bias": True}
_QWEN: dict[str, Any] = {"window": rules.switched(4096), "bounded": rules.after_first}
_QWEN3: dict[str, Any] = {**_ATTENTION_BIAS, "head_norms": True}
_WHOLE_NORMS: dict[str, Any] = {"head_norms": True, "whole_head_norms": True}
_PLAIN: dict[str, Any] = {"gated": False, "norm_biases": True}
_GPT: dict[str, Any] = {
    **_PLAIN,
    "mlp_ratio": 4,
    "names": {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "num_key_value_heads": "n_kv",
        "intermediate_size": "n_inner",
        "max_position_embeddings": "n_positions",
    },
}
_GPTJ = Family(**_GPT, mlp_bias=True, norms=1, head_bias=True)

_ROUTED: dict[str, Any] = {"count": ("n_routed_experts",), "inner": "moe_intermediate_size"}
_DEEPSEEK = Mixture(**_ROUTED, shared=shared_experts("n_shared_experts", 1), sparse=first_dense(3))
_GLM = dataclasses.replace(_DEEPSEEK, sparse=first_dense(1))
_QWEN_MOE: dict[str, Any] = {
    "count": ("num_experts", "num_local_experts"),
    "inner": "moe_intermediate_size",
    "sparse": rules.stepped,
}
_QWEN_SHARED = Mixture(
    **_QWEN_MOE, shared=rules.field("shared_expert_intermediate_size"), shared_gate=True
)
_QWEN3_MOE: dict[str, Any] = {**_QWEN3, "kv_heads": 4, "window": rules.switched(4096)}
_QWEN_NEXT: dict[str, Any] = {
    **_QWEN3,
    "head_dim": 256,
    "attention": gated,
    "state": delta,
    "stateful": lambda fields: (
        lambda layer: (layer + 1) % fields.number("full_attention_interval", 4) != 0
    ),
}
_LATENT = Family(attention=latent, inner=_DEEPSEEK)

FAMILIES: Mapping[str, Family] = {
    "arcee": Family(gated=False, **_BIASES),
    "cohere": Family(
        tied=True,
        norms=1,
        head_norms=("use_qk_norm", False),
        whole_head_norms=True,
        **_ATTENTION_BIAS,
    ),
    "cohere2": Family(
        tied=True,
        norms=1,
        head_dim=128,
        window=window_of(4096),
        bounded=rules.pattern(4),
        **_ATTENTION_BIAS,
    ),
    "cwm": Family(
        head_dim=128,
        kv_heads=8,
        window=window_of(8192),
        bounded=lambda fields: lambda layer: layer % 4 != 0,
        mlp_bias=("mlp_bias", False),
    ),
    "bloom": Family(
        **_PLAIN,
        **_ALL_BIASES,
        mlp_ratio=4,
        tied=True,
        names={"num_hidden_layers": "n_layer", "num_attention_heads": "n_head"},
        prepare=rules.bloom_width,
        finish=rules.bloom,
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
        prepare=rules.chatglm_heads,
    ),
    "codegen": _GPTJ,
    "dbrx": Family(
        names=rules.MPT_NAMES,
        prepare=rules.flat,
        inner=Mixture(count=("moe_num_experts",), inner="ffn_hidden_size", chosen="moe_top_k"),
    ),
    "deepseek": Family(
        inner=dataclasses.replace(_DEEPSEEK, sparse=first_dense(0)), **_ATTENTION_BIAS
    ),
    "deepseek_v2": dataclasses.replace(
        _LATENT, inner=dataclasses.replace(_DEEPSEEK, sparse=first_dense(0))
    ),
    "deepseek_v3": _LATENT,
    "deepseek_v32": _LATENT,
    "deepseek_v4": Family(
        window=window_of(128),
        attention=rules.deepseek_v4,
        prepare=rules.deepseek_v4_kinds,
        inner=Mixture(**_ROUTED, shared=shared_experts("n_shared_experts", 1)),
        finish=rules.deepseek_v4_finish,
    ),
    "dots1": Family(
        head_norms=True,
        **_ATTENTION_BIAS,
        inner=dataclasses.replace(
            _DEEPSEEK, shared=shared_experts("n_shared_experts"), sparse=first_dense(0)
        ),
    ),
    "ernie4_5": Family(tied=True, head_dim=128, **_biases("use_bias", False, "mlp")),
    "ernie4_5_moe": Family(
        tied=True,
        kv_heads=4,
        **_biases("use_bias", False, "mlp", "head"),
        inner=Mixture(
            count=("moe_num_experts",),
            inner="moe_intermediate_size",
            chosen="moe_k",
            shared=shared_experts("moe_num_shared_experts", 2),
            sparse=rules.ernie_sparse,
            router_bias=True,
        ),
    ),
    "exaone": Family(prepare=rules.renamed(num_hidden_layers="num_layers"), **_BIASES),
    "exaone4": Family(
        head_norms=True, window=window_of(4096), bounded=rules.pattern(4), **_ATTENTION_BIAS
    ),
    "falcon": Family(
        **_PLAIN,
        mlp_ratio=4,
        names={"num_key_value_heads": "num_kv_heads", "intermediate_size": "ffn_hidden_size"},
        tied=True,
        **_biases("bias", False, "mlp"),
        norms=rules.falcon_norms,
        prepare=rules.falcon_heads,
    ),
    "flex_olmo": Family(**_WHOLE_NORMS, **_ATTENTION_BIAS, inner=Mixture(count=("num_experts",))),
    "gemma": Family(tied=True, head_dim=256, kv_heads=16, **_ATTENTION_BIAS),
    "gemma2": Family(
        tied=True,
        head_dim=256,
        kv_heads=4,
        norms=4,
        window=window_of(4096),
        bounded=rules.even,
        **_ATTENTION_BIAS,
    ),
    "gemma3_text": Family(
        defaults=_shape(262208, 2304, 9216, 26, 8, 4),
        tied=True,
        head_dim=256,
        kv_heads=4,
        norms=4,
        head_norms=True,
        window=window_of(4096),
        bounded=rules.pattern(6),
        finish=rules.gemma3,
        **_ATTENTION_BIAS,
    ),
    "gemma3n_text": Family(
        tied=True,
        head_dim=256,
        kv_heads=2,
        norms=4,
        head_norms=True,
        window=window_of(512),
        bounded=rules.pattern(5),
        attention=rules.gemma3n,
        inner=rules.gemma3n_inner,
        finish=rules.gemma3n_finish,
        **_ATTENTION_BIAS,
    ),
    "gemma4_text": Family(
        tied=True,
        norms=lambda fields: 7 if fields.flag(("enable_moe_block", False)) else 4,
        window=window_of(512),
        bounded=rules.pattern(6),
        attention=rules.gemma4,
        prepare=rules.gemma4_layers,
        inner=rules.gemma4_inner,
        finish=rules.gemma4_finish,
    ),
    "glm": Family(head_dim=128, kv_heads=2, qkv_bias=("attention_bias", True)),
    "glm4": Family(head_dim=128, kv_heads=2, qkv_bias=("attention_bias", True), norms=4),
    "glm4_moe": Family(
        kv_heads=8,
        qkv_bias=("attention_bias", False),
        head_norms=("use_qk_norm", False),
        inner=_GLM,
    ),
    "glm4_moe_lite": Family(attention=latent, inner=_GLM, query_rank=768),
    "glm_moe_dsa": Family(attention=latent, inner=_DEEPSEEK, query_rank=2048),
    "gpt2": Family(**_GPT, **_ALL_BIASES, tied=True, positions=0),
    "gpt_bigcode": Family(
        **_GPT, **_ALL_BIASES, tied=True, positions=0, prepare=rules.bigcode_heads
    ),
    "gpt_neo": Family(
        **_PLAIN,
        mlp_ratio=4,
        names={"num_hidden_layers": "num_layers", "num_attention_heads": "num_heads"},
        tied=True,
        positions=0,
        out_bias=True,
        mlp_bias=True,
        window=lambda fields: fields.optional("window_size", 256),
        prepare=rules.neo_kinds,
    ),
    "gpt_neox": Family(**_PLAIN, **_biases("attention_bias", True), mlp_bias=True),
    "gpt_oss": Family(
        head_dim=64,
        kv_heads=8,
        **_biases("attention_bias", True),
        sinks=True,
        window=window_of(128),
        bounded=rules.even,
        inner=Mixture(bias=True),
    ),
    "gptj": _GPTJ,
    "granite": Family(**_BIASES),
    "granitemoe": Family(**_ATTENTION_BIAS, inner=rules.granite_inner),
    "granitemoehybrid": Family(**_ATTENTION_BIAS, inner=rules.granite_inner, state=mamba2),
    "granitemoeshared": Family(**_ATTENTION_BIAS, inner=rules.granite_inner),
    "helium": Family(
        head_dim=128, kv_heads=20, qkv_bias=("attention_bias", False), mlp_bias=("mlp_bias", False)
    ),
    "hunyuan_v1_dense": Family(head_norms=True, **_ATTENTION_BIAS),
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
        **_BIASES,
    ),
    "iquestcoder": Family(kv_heads=8, **_BIASES),
    "internlm": Family(**_biases("bias", True)),
    "internlm2": Family(**_biases("bias", True)),
    "internlm3": Family(kv_heads=2, **_BIASES),
    "jais2": Family(**_PLAIN, **_biases("attention_bias", True), mlp_bias=("mlp_bias", True)),
    "kimi_k2": _LATENT,
    "llama": Family(defaults=_shape(32000, 4096, 11008, 32, 32), **_BIASES),
    "llama4_text": Family(
        defaults={
            **_shape(202048, 5120, 8192, 48, 40, 8, intermediate_size_mlp=16384),
            "num_local_experts": 16,
            "num_experts_per_tok": 1,
        },
        head_dim=128,
        window=lambda fields: fields.optional("attention_chunk_size", 8192),
        bounded=rules.has_rope,
        chunked=True,
        inner=Mixture(
            shared=lambda fields: fields.number("intermediate_size"),
            sparse=rules.llama4_sparse,
            dense="intermediate_size_mlp",
        ),
        **_ATTENTION_BIAS,
    ),
    "mimo": Family(qkv_bias=True, kv_heads=32, **_QWEN),
    "mimo_v2_flash": Family(
        window=window_of(129),
        bounded=lambda fields: lambda layer: layer > 0 and (layer + 1) % 6 != 0,
        attention=rules.mimo,
        inner=Mixture(**_ROUTED, shared=shared_experts("n_shared_experts"), sparse=first_dense(1)),
        prepare=rules.mimo_kinds,
    ),
    "minicpm": Family(tied=True),
    "minicpm3": Family(attention=latent, tied=True, query_rank=768, prepare=rules.minicpm3_values),
    "minimax_m2": Family(**_WHOLE_NORMS, head_dim=128, kv_heads=8, inner=Mixture()),
    "minimax_m3": Family(
        head_dim=128,
        kv_heads=4,
        head_norms=True,
        attention=rules.minimax_m3,
        prepare=rules.minimax_m3_kinds,
        inner=Mixture(
            shared=lambda fields: (
                fields.number("n_shared_experts", 1, least=0)
                * fields.number("shared_intermediate_size", 3072)
            ),
            sparse=first_dense(0),
            dense="dense_intermediate_size",
        ),
    ),
    "ministral": Family(kv_heads=8, window=window_of(4096)),
    "ministral3": Family(head_dim=128, kv_heads=8, window=window_of()),
    "mistral": Family(
        defaults=_shape(32000, 4096, 14336, 32, 32), kv_heads=8, window=window_of(4096)
    ),
    "mixtral": Family(kv_heads=8, window=window_of(), inner=Mixture()),
    "mllama_text_model": Family(kv_heads=8, finish=rules.mllama),
    "mpt": Family(gated=False, mlp_ratio=4, tied=True, names=rules.MPT_NAMES, prepare=rules.flat),
    "nemotron": Family(gated=False, norm_biases=True, **_BIASES),
    "nemotron-nas": Family(norms=0, attention=rules.searched_attention, inner=rules.searched_inner),
    "nemotron_h": Family(
        mlp_bias=("mlp_bias", False),
        names={
            "mamba_n_heads": "mamba_num_heads",
            "mamba_d_head": "mamba_head_dim",
            "mamba_d_state": "ssm_state_size",
            "mamba_n_groups": "n_groups",
            "mamba_d_conv": "conv_kernel",
            "mamba_conv_bias": "use_conv_bias",
            "mamba_proj_bias": "use_bias",
        },
        gated=False,
        head_dim=128,
        kv_heads=8,
        norms=1,
        alone=True,
        prepare=rules.nemotron_kinds,
        inner=rules.nemotron_inner,
        state=mamba2,
    ),
    "olmo": Family(norms=0, last_norm=False, **_ATTENTION_BIAS),
    "olmo2": Family(**_WHOLE_NORMS, **_ATTENTION_BIAS),
    "olmo3": Family(
        **_WHOLE_NORMS, **_ATTENTION_BIAS, window=window_of(4096), bounded=rules.pattern(4)
    ),
    "olmoe": Family(**_WHOLE_NORMS, **_ATTENTION_BIAS, inner=Mixture(count=("num_experts",))),
    "opt": Family(
        gated=False,
        norm_biases=True,
        names={"intermediate_size": "ffn_dim"},
        tied=True,
        **_biases("enable_bias", True, "mlp"),
        norms=rules.opt_norms,
        last_norm=rules.opt_last_norm,
        positions=rules.POSITIONS_OFFSET,
        finish=rules.opt,
    ),
    "persimmon": Family(**_PLAIN, **_ALL_BIASES, head_norms=("qk_layernorm", True)),
    "phi": Family(
        **_PLAIN, **_ALL_BIASES, norms=1, head_norms=("qk_layernorm", False), head_bias=True
    ),
    "phi3": Family(window=window_of()),
    "phimoe": Family(
        kv_heads=8,
        norm_biases=True,
        head_bias=("lm_head_bias", False),
        window=window_of(),
        inner=Mixture(),
        **_ATTENTION_BIAS,
    ),
    "qwen": Family(qkv_bias=True, prepare=rules.halved),
    "qwen2": Family(qkv_bias=True, kv_heads=32, **_QWEN),
    "qwen2_moe": Family(
        kv_heads=16,
        qkv_bias=("qkv_bias", True),
        window=rules.switched(4096),
        bounded=rules.even_before_last,
        inner=_QWEN_SHARED,
    ),
    "qwen3": Family(head_dim=128, kv_heads=32, **_QWEN3, **_QWEN),
    "qwen3_5_moe_text": Family(kv_heads=2, inner=_QWEN_SHARED, **_QWEN_NEXT),
    "qwen3_5_text": Family(kv_heads=4, **_QWEN_NEXT),
    "qwen3_moe": Family(**_QWEN3_MOE, inner=Mixture(**_QWEN_MOE)),
    "qwen3_next": Family(kv_heads=2, inner=_QWEN_SHARED, **_QWEN_NEXT),
    "qwen3_vl_moe_text": Family(**_QWEN3_MOE, inner=Mixture(**_QWEN_MOE)),
    "qwen3_vl_text": Family(head_dim=128, kv_heads=32, **_QWEN3),
    "sarvam_moe": Family(
        kv_heads=4, qkv_bias=("attention_bias", False), head_norms=("use_qk_norm", True), inner=_GLM
    ),
    "seed_oss": Family(
        head_dim=128,
        kv_heads=8,
        qkv_bias=("attention_bias", True),
        out_bias=("attention_out_bias", False),
        mlp_bias=("mlp_bias", False),
    ),
    "smollm3": Family(
        tied=True, kv_heads=4, window=rules.switched(None), bounded=rules.without_rope, **_BIASES
    ),
    "solar_open": Family(
        head_dim=128,
        kv_heads=8,
        qkv_bias=("attention_bias", False),
        inner=dataclasses.replace(_DEEPSEEK, sparse=first_dense(0)),
    ),
    "stablelm": Family(
        norm_biases=True,
        qkv_bias=("use_qkv_bias", False),
        norms=lambda fields: 1 if fields.flag(("use_parallel_residual", False)) else 2,
        finish=rules.no_head_norms,
    ),
    "starcoder2": Family(
        **_PLAIN, tied=True, kv_heads=2, **_biases("use_bias", True, "mlp"), window=window_of()
    ),
    "step3p5": Family(
        kv_heads=8,
        head_dim=128,
        window=window_of(),
        bounded=rules.never,
        attention=rules.step,
        prepare=rules.step_kinds,
        inner=Mixture(**_ROUTED, shared=rules.field("share_expert_dim"), sparse=first_dense(3)),
    ),
    "vaultgemma": Family(
        tied=True,
        head_dim=256,
        kv_heads=4,
        window=window_of(4096),
        bounded=rules.even,
        **_ATTENTION_BIAS,
    ),
    "youtu": Family(attention=latent, tied=True),
}
