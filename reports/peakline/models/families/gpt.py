"""GPT-2 and decoders like it: norms with biases, MLPs without a gate."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from peakline.models.families.shared import ALL_BIASES, PLAIN, biases
from peakline.models.fields import MOST_LAYERS, Fields
from peakline.models.layers import Family, Mixture, window_of
from peakline.models.transformer import Transformer
from peakline.models.weights import Weights, linear

# First position of OPT and models derived from it.
_POSITIONS_OFFSET = 2


def _bigcode_heads(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**values, "n_kv": 1 if values.get("multi_query", True) else values.get("n_head")}


def _neo_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites attention_types, [[["global", "local"], 12]], as layer_types."""
    kinds = {"global": "full_attention", "local": "sliding_attention"}
    given, count = values.get("attention_types"), values.get("num_layers")
    listed: list[Any] = []
    try:
        for names, times in given or ():
            if len(listed) + len(names) * times > MOST_LAYERS:
                raise ValueError
            listed += [kinds[name] for name in names] * times
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            'attention_types must have the form [[["global", "local"], 12]]'
        ) from error
    if given is None and type(count) is int and 0 < count <= MOST_LAYERS:
        listed = [tuple(kinds.values())[layer % 2] for layer in range(count)]
    return {**values, "layer_types": listed}


def _bloom_width(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"hidden_size": values.get("n_embed"), **values}


def _bloom(fields: Fields, model: Transformer) -> Transformer:
    """A norm follows the embedding."""
    return dataclasses.replace(model, rest=model.rest + Weights(small=2 * model.hidden))


def _falcon_norms(fields: Fields) -> int:
    if not fields.flag(("parallel_attn", True)):
        return 2
    new = fields.flag(("new_decoder_architecture", False))
    return 2 if fields.number("num_ln_in_parallel_attn", 2 if new else 1) == 2 else 1


def _falcon_heads(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Only the new architecture uses num_kv_heads."""
    if values.get("new_decoder_architecture") is True:
        return values
    groups = 1 if values.get("multi_query", True) else values.get("num_attention_heads")
    return {**values, "num_kv_heads": groups}


_MPT_NAMES = {
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "num_key_value_heads": "kv_n_heads",
}


def _flat(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """With the fields of MPT's attn_config and DBRX's ffn_config."""
    if values.get("no_bias") is False:
        raise ValueError("no_bias is false, but must be true: biases are not counted")
    parts = [values.get(key) for key in ("attn_config", "ffn_config")]
    inner = [part for part in parts if isinstance(part, Mapping)]
    ratio, width = values.get("expansion_ratio"), values.get("d_model")
    if type(ratio) is int and type(width) is int:
        inner.append({"intermediate_size": ratio * width})
    return {key: value for part in (*inner, values) for key, value in part.items()}


def _opt(fields: Fields, model: Transformer) -> Transformer:
    """Allows embeddings narrower than the model."""
    width, narrow = fields.number("hidden_size"), fields.number("word_embed_proj_dim", model.hidden)
    if narrow == width:
        return model
    rest = model.rest + linear(narrow, width) + linear(width, narrow)
    return dataclasses.replace(model, table=fields.number("vocab_size") * narrow, rest=rest)


def _opt_norms(fields: Fields) -> int:
    return 2 if fields.flag(("layer_norm_elementwise_affine", True)) else 0


def _opt_last_norm(fields: Fields) -> bool:
    removed = fields.flag(("_remove_final_layer_norm", False))
    return fields.flag(("do_layer_norm_before", True)) and not removed and _opt_norms(fields) > 0


_GPT: dict[str, Any] = {
    **PLAIN,
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


FAMILIES: Mapping[str, Family] = {
    "bloom": Family(
        **PLAIN,
        **ALL_BIASES,
        mlp_ratio=4,
        tied=True,
        names={"num_hidden_layers": "n_layer", "num_attention_heads": "n_head"},
        prepare=_bloom_width,
        finish=_bloom,
    ),
    "codegen": _GPTJ,
    "dbrx": Family(
        names=_MPT_NAMES,
        prepare=_flat,
        inner=Mixture(count=("moe_num_experts",), inner="ffn_hidden_size", chosen="moe_top_k"),
    ),
    "falcon": Family(
        **PLAIN,
        mlp_ratio=4,
        names={"num_key_value_heads": "num_kv_heads", "intermediate_size": "ffn_hidden_size"},
        tied=True,
        **biases("bias", False, "mlp"),
        norms=_falcon_norms,
        prepare=_falcon_heads,
    ),
    "gpt2": Family(**_GPT, **ALL_BIASES, tied=True, positions=0),
    "gpt_bigcode": Family(**_GPT, **ALL_BIASES, tied=True, positions=0, prepare=_bigcode_heads),
    "gpt_neo": Family(
        **PLAIN,
        mlp_ratio=4,
        names={"num_hidden_layers": "num_layers", "num_attention_heads": "num_heads"},
        tied=True,
        positions=0,
        out_bias=True,
        mlp_bias=True,
        window=lambda fields: fields.optional("window_size", 256),
        prepare=_neo_kinds,
    ),
    "gpt_neox": Family(**PLAIN, **biases("attention_bias", True), mlp_bias=True),
    "gptj": _GPTJ,
    "mpt": Family(gated=False, mlp_ratio=4, tied=True, names=_MPT_NAMES, prepare=_flat),
    "opt": Family(
        gated=False,
        norm_biases=True,
        names={"intermediate_size": "ffn_dim"},
        tied=True,
        **biases("enable_bias", True, "mlp"),
        norms=_opt_norms,
        last_norm=_opt_last_norm,
        positions=_POSITIONS_OFFSET,
        finish=_opt,
    ),
    "persimmon": Family(**PLAIN, **ALL_BIASES, head_norms=("qk_layernorm", True)),
    "phi": Family(
        **PLAIN, **ALL_BIASES, norms=1, head_norms=("qk_layernorm", False), head_bias=True
    ),
    "starcoder2": Family(
        **PLAIN, tied=True, kv_heads=2, **biases("use_bias", True, "mlp"), window=window_of()
    ),
}
