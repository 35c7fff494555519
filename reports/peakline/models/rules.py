"""Rules of single families: layers with a window or experts, unusual attention and MLPs."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from peakline.models.fields import Fields
from peakline.models.layers import NOTHING, Attention, Family, Inner, Mixture, dense
from peakline.models.transformer import (
    Layer,
    Transformer,
    Weights,
    Window,
    grouped_attention,
    grouped_layer,
    linear,
    mixture,
    mlp,
)

ENCODER = "an encoder: its tokens see each other in both directions, and none is predicted"


def refused(subject: str, reason: str) -> ValueError:
    return ValueError(
        f"{subject} is {reason}; peakline-mfu --flops-per-token takes a count of your own"
    )


# First position of OPT and models derived from it.
POSITIONS_OFFSET = 2


def even(_: Fields) -> Callable[[int], bool]:
    return lambda layer: layer % 2 == 0


def pattern(default: int) -> Callable[[Fields], Callable[[int], bool]]:
    """All layers but every n-th."""

    def rule(fields: Fields) -> Callable[[int], bool]:
        step = fields.number("sliding_window_pattern", default)
        return lambda layer: (layer + 1) % step != 0

    return rule


def has_rope(fields: Fields) -> Callable[[int], bool]:
    """Layers with rotary positions, which have a 1 in no_rope_layers, despite its name."""
    interval, rope = fields.number("no_rope_layer_interval", 4), fields.indices("no_rope_layers")
    return lambda layer: bool(rope[layer] if layer < len(rope) else (layer + 1) % interval)


def without_rope(fields: Fields) -> Callable[[int], bool]:
    rope = has_rope(fields)
    return lambda layer: not rope(layer)


def switched(default: int | None) -> Callable[[Fields], int | None]:
    def window(fields: Fields) -> int | None:
        if not fields.flag(("use_sliding_window", False)):
            return None
        return fields.optional("sliding_window", default)

    return window


def after_first(fields: Fields) -> Callable[[int], bool]:
    first = fields.number("max_window_layers", 28, least=0)
    return lambda layer: layer >= first


def even_before_last(fields: Fields) -> Callable[[int], bool]:
    most = fields.number("max_window_layers", 28, least=0)
    return lambda layer: layer % 2 == 0 and layer < most


def stepped(fields: Fields) -> Callable[[int], bool]:
    step, plain = fields.number("decoder_sparse_step", 1), set(fields.indices("mlp_only_layers"))
    return lambda layer: layer not in plain and (layer + 1) % step == 0


def llama4_sparse(fields: Fields) -> Callable[[int], bool]:
    if fields.has("moe_layers"):
        chosen = set(fields.indices("moe_layers"))
        return lambda layer: layer in chosen
    step = fields.number("interleave_moe_layer_step", 1)
    return lambda layer: (layer + 1) % step == 0


def ernie_sparse(fields: Fields) -> Callable[[int], bool]:
    step, last = fields.number("moe_layer_interval", 1), fields.layers() - 1
    first = fields.number("moe_layer_start_index", 1, least=0)
    end = fields.number("moe_layer_end_index", last, least=-1)
    end = last if end < 0 else end
    return lambda layer: (layer + 1) % step == 0 and first <= layer <= end


def field(name: str) -> Callable[[Fields], int]:
    return lambda fields: fields.number(name, 0, least=0)


def falcon_norms(fields: Fields) -> int:
    if not fields.flag(("parallel_attn", True)):
        return 2
    new = fields.flag(("new_decoder_architecture", False))
    return 2 if fields.number("num_ln_in_parallel_attn", 2 if new else 1) == 2 else 1


def falcon_heads(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Only the new architecture uses num_kv_heads."""
    if values.get("new_decoder_architecture") is True:
        return values
    groups = 1 if values.get("multi_query", True) else values.get("num_attention_heads")
    return {**values, "num_kv_heads": groups}


def bigcode_heads(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**values, "n_kv": 1 if values.get("multi_query", True) else values.get("n_head")}


def bloom_width(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"hidden_size": values.get("n_embed"), **values}


def bloom(fields: Fields, model: Transformer) -> Transformer:
    """A norm follows the embedding."""
    return dataclasses.replace(model, rest=model.rest + Weights(small=2 * model.hidden))


def chatglm_heads(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """ChatGLM2 and later, whose cache has groups of heads."""
    if "ffn_hidden_size" not in values:
        raise ValueError("ffn_hidden_size is missing, which ChatGLM2 and later have")
    shared = values.get("multi_query_attention") is True
    groups = "multi_query_group_num" if shared else "num_attention_heads"
    return {**values, "num_key_value_heads": values.get(groups)}


def halved(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Qwen's width of an MLP, which counts gate and up together."""
    both = values.get("intermediate_size")
    return {**values, "intermediate_size": both // 2 if type(both) is int else both}


MPT_NAMES = {
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "num_key_value_heads": "kv_n_heads",
}


def flat(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """With the fields of MPT's attn_config and DBRX's ffn_config."""
    if values.get("no_bias") is False:
        raise ValueError("no_bias is false, but must be true: biases are not counted")
    parts = [values.get(key) for key in ("attn_config", "ffn_config")]
    inner = [part for part in parts if isinstance(part, Mapping)]
    ratio, width = values.get("expansion_ratio"), values.get("d_model")
    if type(ratio) is int and type(width) is int:
        inner.append({"intermediate_size": ratio * width})
    return {key: value for part in (*inner, values) for key, value in part.items()}


def opt(fields: Fields, model: Transformer) -> Transformer:
    """Allows embeddings narrower than the model."""
    width, narrow = fields.number("hidden_size"), fields.number("word_embed_proj_dim", model.hidden)
    if narrow == width:
        return model
    rest = model.rest + linear(narrow, width) + linear(width, narrow)
    return dataclasses.replace(model, table=fields.number("vocab_size") * narrow, rest=rest)


def opt_norms(fields: Fields) -> int:
    return 2 if fields.flag(("layer_norm_elementwise_affine", True)) else 0


def opt_last_norm(fields: Fields) -> bool:
    removed = fields.flag(("_remove_final_layer_norm", False))
    return fields.flag(("do_layer_norm_before", True)) and not removed and opt_norms(fields) > 0


def no_head_norms(fields: Fields, model: Transformer) -> Transformer:
    if fields.flag(("qk_layernorm", False)):
        raise fields.error("qk_layernorm", "false: norms of each head are not counted")
    return model


def gemma3(fields: Fields, model: Transformer) -> Transformer:
    if fields.get("use_bidirectional_attention") not in (None, False, "vision"):
        raise refused("with use_bidirectional_attention it", ENCODER)
    return model


def mimo_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites hybrid_layer_pattern as layer_types; the file's window excludes the query."""
    prepared = dict(values)
    pattern = values.get("hybrid_layer_pattern")
    if isinstance(pattern, list) and "layer_types" not in values:
        kinds = ("full_attention", "sliding_attention")
        prepared["layer_types"] = [kinds[bool(kind)] for kind in pattern]
    if type(before := values.get("sliding_window_size")) is int:
        prepared["sliding_window"] = before + 1
    return prepared


def mimo(fields: Fields, _: Family) -> Attention:
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


def gemma4_layers(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites per_layer_config (transformers 5.24) in the names of earlier versions."""
    single = values.get("per_layer_config")
    if not isinstance(single, Mapping) or not single:
        return values
    first, *others = single.values()
    if not isinstance(first, Mapping) or any(other != first for other in others):
        raise ValueError("per_layer_config must say the same of all layers that it names")
    names = {"global_head_dim": "head_dim", "num_global_key_value_heads": "num_key_value_heads"}
    said = {name: first[key] for name, key in names.items() if key in first}
    return {**values, **said, "per_layer_config": None}


def gemma4(fields: Fields, _: Family) -> Attention:
    """Layers without a window have fewer, wider heads; their values may be their keys."""
    if fields.number("hidden_size_per_layer_input", 256, least=0):
        raise fields.error("hidden_size_per_layer_input", "0: tables of each layer are not counted")
    if fields.number("num_kv_shared_layers", 0, least=0):
        raise fields.error("num_kv_shared_layers", "0: shared caches are not counted")
    width, heads = fields.number("hidden_size"), fields.number("num_attention_heads")
    bias, same = fields.flag(("attention_bias", False)), fields.flag(("attention_k_eq_v", False))

    def one(size: int, groups: int, tied: bool, window: Window | None) -> Layer:
        weights = linear(width, (heads + groups * (1 if tied else 2)) * size, bias)
        weights += linear(heads * size, width, bias) + Weights(small=2 * size)
        return grouped_layer(weights, heads, groups, size, window)

    size, groups = fields.head_dim(256), fields.kv_heads(4)
    wide = fields.number("global_head_dim", 512)
    few = fields.number("num_global_key_value_heads", groups) if same else groups
    return lambda layer, window: (
        one(size, groups, False, window) if window else one(wide, few, same, None)
    )


def gemma4_inner(fields: Fields, family: Family) -> Inner:
    """An MLP and a parallel mixture, whose router scales each input and expert."""
    plain = dense(fields, family)
    if not fields.flag(("enable_moe_block", False)):
        return plain
    width, count = fields.number("hidden_size"), fields.number("num_experts")
    experts = mixture(
        width, fields.number("moe_intermediate_size"), count, fields.number("top_k_experts")
    )
    weights = plain(0) + experts + Weights(small=width + count)
    return lambda layer: weights


def granite_inner(fields: Fields, family: Family) -> Inner:
    """Shared experts, and a mixture if the file has routed ones."""
    shared = field("shared_intermediate_size")
    if fields.number("num_local_experts", 0, least=0):
        return Mixture(shared=shared)(fields, family)
    weights = mlp(fields.number("hidden_size"), shared(fields))
    return lambda layer: weights


NEMOTRON_KINDS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def nemotron_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites layers_block_type or a pattern of letters as layer_types."""
    kinds, pattern = values.get("layers_block_type"), values.get("hybrid_override_pattern")
    if isinstance(pattern, str) and kinds is None:
        if unknown := set(pattern) - set(NEMOTRON_KINDS):
            raise ValueError(
                f"hybrid_override_pattern has the letter {min(unknown)!r}: known are "
                f"{', '.join(NEMOTRON_KINDS)}"
            )
        kinds = [NEMOTRON_KINDS[letter] for letter in pattern]
    if kinds is None:
        raise ValueError("hybrid_override_pattern is missing, which says what each layer is")
    count = len(kinds) if isinstance(kinds, list) else values.get("num_hidden_layers")
    return {"head_dim": values.get("attention_head_dim"), **values} | {
        "layer_types": kinds,
        "num_hidden_layers": count,
    }


def nemotron_inner(fields: Fields, family: Family) -> Inner:
    """An MLP or experts, in layers of their own; experts may work on a narrower latent vector."""
    kinds = fields.get("layer_types") or []
    plain: Inner = dense(fields, family) if "mlp" in kinds else lambda layer: Weights()
    experts = nemotron_experts(fields) if "moe" in kinds else Weights()
    parts = {"mlp": plain(0), "moe": experts}
    return lambda layer: parts.get(kinds[layer], Weights())


def nemotron_experts(fields: Fields) -> Weights:
    width, count = fields.number("hidden_size"), fields.number("n_routed_experts")
    narrow = fields.optional("moe_latent_size")
    weights = mixture(
        narrow or width,
        fields.number("moe_intermediate_size"),
        count,
        fields.number("num_experts_per_tok"),
        2,
    )
    if narrow:  # the router sees the full width
        weights += linear(width, narrow) + linear(narrow, width)
        weights += Weights(small=(width - narrow) * count)
    shared = fields.number("moe_shared_expert_intermediate_size")
    inner = shared * fields.number("n_shared_experts", 1, least=0)
    return weights + mlp(width, inner, 2, fields.flag(("mlp_bias", False)))


def _parts(fields: Fields, part: str) -> list[Mapping[str, Any]]:
    """One part of each block of a model from an architecture search."""
    blocks = fields.get("block_configs")
    if type(blocks) is not list or len(blocks) != fields.layers():
        raise fields.error("block_configs", "one for each layer")
    parts = []
    for block in blocks:
        one = block.get(part) if isinstance(block, Mapping) else None
        if not isinstance(one, Mapping) or one.get("replace_with_linear") or one.get("sparsify"):
            raise fields.error("block_configs", f"blocks whose {part} is whole or left out")
        parts.append(one)
    return parts


def searched_attention(fields: Fields, _: Family) -> Attention:
    width, heads = fields.number("hidden_size"), fields.number("num_attention_heads")
    size, blocks = fields.head_dim(), _parts(fields, "attention")

    def attention(layer: int, _: Window | None) -> Layer:
        if blocks[layer].get("no_op"):
            return NOTHING
        group = Fields(blocks[layer], "block_configs.attention.").number("n_heads_in_group")
        weights = grouped_attention(width, heads, size, heads // group, False, False)
        return grouped_layer(weights + Weights(small=width), heads, heads // group, size)

    return attention


def searched_inner(fields: Fields, _: Family) -> Inner:
    width, blocks = fields.number("hidden_size"), _parts(fields, "ffn")

    def inner(layer: int) -> Weights:
        block = blocks[layer]
        if block.get("no_op"):
            return Weights()
        factor = block.get("ffn_mult")
        if not isinstance(factor, int | float) or not 0 < factor < 1024:
            raise fields.error("block_configs", "blocks whose ffn.ffn_mult is a number above 0")
        # DeciLM's rounding: two thirds for the gate, up to a multiple of 256.
        return mlp(width, -(-int(2 * factor * width / 3) // 256) * 256) + Weights(small=width)

    return inner
