"""Rules of single families: layers with a window or experts, unusual attention and MLPs."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from peakline.models.fields import MOST_LAYERS, Fields
from peakline.models.layers import NOTHING, Attention, Family, Inner, Mixture, dense, grouped
from peakline.models.transformer import (
    Compressed,
    Indexer,
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

ENCODER = (
    "an encoder, but bounds are for decoders: its tokens see each other in both directions, and "
    "none is predicted"
)


def refused(subject: str, reason: str) -> ValueError:
    return ValueError(
        f"{subject} is {reason}; peakline-mfu --flops-per-token takes a count of your own"
    )


# First position of OPT and models derived from it.
POSITIONS_OFFSET = 2


def even(_: Fields) -> Callable[[int], bool]:
    return lambda layer: layer % 2 == 0


def never(_: Fields) -> Callable[[int], bool]:
    return lambda layer: False


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


def renamed(**names: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Fields that a file may state by an older name, which then counts."""

    def prepare(values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**values, **{new: values[old] for new, old in names.items() if old in values}}

    return prepare


def neo_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
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


def minicpm3_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values of heads are by default width / heads."""
    width, heads = values.get("hidden_size"), values.get("num_attention_heads")
    if values.get("v_head_dim") is None and type(width) is int and type(heads) is int and heads:
        return {**values, "v_head_dim": width // heads}
    return values


def mllama(fields: Fields, model: Transformer) -> Transformer:
    """Layers of cross-attention to images, which text alone skips; their index stays."""
    crossing = fields.indices("cross_attention_layers") or list(range(3, 40, 5))
    if wrong := [layer for layer in crossing if not 0 <= layer < len(model.layers)]:
        raise fields.error("cross_attention_layers", f"of the model's layers, unlike {wrong[0]}")
    crossed = set(crossing)
    weights = sum(model.layers[layer].weights.total for layer in crossed)
    norms_and_gates = 2 * fields.head_dim() + 2
    return dataclasses.replace(
        model,
        layers=tuple(
            NOTHING if index in crossed else layer for index, layer in enumerate(model.layers)
        ),
        tables=8 * model.hidden,  # of special tokens, which the output head lacks
        unused=weights + len(crossed) * norms_and_gates,
        left_out=f"its {len(crossed)} layers of cross-attention, which text alone skips",
    )


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


def _of_layers(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What per_layer_config (transformers 5.24) says of all layers that it names."""
    single = values.get("per_layer_config")
    if not isinstance(single, Mapping) or not single:
        return {}
    first, *others = single.values()
    if not isinstance(first, Mapping) or any(other != first for other in others):
        raise ValueError("per_layer_config must say the same of all layers that it names")
    return first


def gemma4_layers(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites per_layer_config in the names of earlier versions."""
    if not (stated := _of_layers(values)):
        return values
    names = {"global_head_dim": "head_dim", "num_global_key_value_heads": "num_key_value_heads"}
    said = {name: stated[key] for name, key in names.items() if key in stated}
    return {**values, **said, "per_layer_config": None}


def _first_borrowing(fields: Fields, default: int) -> int:
    """The first of the last layers, which attend to the caches of earlier ones."""
    count, last = fields.layers(), fields.number("num_kv_shared_layers", default, least=0)
    if last >= count:
        raise fields.error("num_kv_shared_layers", f"less than the {count} layers")
    return count - last


def _borrowing(weights: Weights, one: Layer) -> Layer:
    """A layer without keys and values of its own, of the shape of one with them."""
    return dataclasses.replace(one, weights=weights, cached=0, borrowed=one.cached)


def gemma4(fields: Fields, _: Family) -> Attention:
    """Layers without a window have fewer, wider heads; their values may be their keys."""
    width, heads = fields.number("hidden_size"), fields.number("num_attention_heads")
    bias, same = fields.flag(("attention_bias", False)), fields.flag(("attention_k_eq_v", False))
    borrowing = _first_borrowing(fields, 0)

    def one(layer: int, size: int, groups: int, tied: bool, window: Window | None) -> Layer:
        out = linear(heads * size, width, bias)
        weights = linear(width, (heads + groups * (1 if tied else 2)) * size, bias) + out
        found = grouped_layer(weights + Weights(small=2 * size), heads, groups, size, window)
        if layer < borrowing:
            return found
        query = linear(width, heads * size, bias) + out + Weights(small=size)
        return _borrowing(query, found)

    size, groups = fields.head_dim(256), fields.kv_heads(4)
    wide = fields.number("global_head_dim", 512)
    few = fields.number("num_global_key_value_heads", groups) if same else groups
    return lambda layer, window: (
        one(layer, size, groups, False, window) if window else one(layer, wide, few, same, None)
    )


def gemma4_inner(fields: Fields, family: Family) -> Inner:
    """An MLP, and a parallel mixture whose router scales each input and expert, or an input of each
    layer's own; MLPs of layers that borrow a cache may be twice as wide."""
    plain, width = dense(fields, family)(0), fields.number("hidden_size")
    borrowing, wide = _first_borrowing(fields, 0), plain
    if fields.flag(("use_double_wide_mlp", False)):
        wide = mlp(width, 2 * fields.number("intermediate_size"))
    further = _layer_input(fields)
    if fields.flag(("enable_moe_block", False)):
        count = fields.number("num_experts")
        further += mixture(
            width, fields.number("moe_intermediate_size"), count, fields.number("top_k_experts")
        )
        further += Weights(small=width + count)
    plain, wide = plain + further, wide + further
    return lambda layer: plain if layer < borrowing else wide


def _layer_input(fields: Fields) -> Weights:
    """Of a layer that gets an embedding of its own for each token."""
    width, own = fields.number("hidden_size"), fields.number(*_OWN_INPUT, least=0)
    return linear(width, own) + linear(own, width) + Weights(small=width) if own else Weights()


_OWN_INPUT = ("hidden_size_per_layer_input", 256)


def gemma4_finish(fields: Fields, model: Transformer) -> Transformer:
    return _with_inputs(fields, gemma3(fields, model))


def _with_inputs(fields: Fields, model: Transformer) -> Transformer:
    """With the table of each layer's own embeddings, and their projection."""
    if not (own := fields.number(*_OWN_INPUT, least=0)):
        return model
    inputs = own * fields.layers()
    return dataclasses.replace(
        model,
        tables=fields.number("vocab_size_per_layer_input", 262144) * inputs,
        rest=model.rest + linear(model.hidden, inputs) + Weights(small=own),
    )


def gemma3n(fields: Fields, family: Family) -> Attention:
    plain, borrowing = grouped(fields, family), _first_borrowing(fields, 15)
    width, bias = fields.number("hidden_size"), fields.flag(family.qkv_bias)

    def attention(layer: int, window: Window | None) -> Layer:
        one = plain(layer, window)
        if layer < borrowing:
            return one
        inside = one.heads * one.qk_dim
        query = linear(width, inside, bias) + linear(inside, width, bias)
        return _borrowing(query + Weights(small=one.qk_dim), one)

    return attention


def gemma3n_inner(fields: Fields, _: Family) -> Inner:
    """MLPs of each layer's width, learned residuals (LAuReL), and streams of AltUp."""
    width, count = fields.number("hidden_size"), fields.layers()
    inner = fields.get("intermediate_size")
    sizes = fields.indices("intermediate_size") if isinstance(inner, list) else []
    if isinstance(inner, list) and (len(sizes) != count or min(sizes, default=0) < 1):
        raise fields.error("intermediate_size", f"a width for each of the {count} layers")
    streams, rank = fields.number("altup_num_inputs", 4), fields.number("laurel_rank", 64)
    every = _layer_input(fields) + linear(width, rank) + linear(rank, width)
    every += Weights(small=width * (streams + 3) + streams**2 * (streams + 1))
    plain = 0 if sizes else fields.number("intermediate_size")
    return lambda layer: mlp(width, sizes[layer] if sizes else plain) + every


def gemma3n_finish(fields: Fields, model: Transformer) -> Transformer:
    """With the projections of AltUp's streams."""
    found, rest = _with_inputs(fields, model), Weights()
    for _ in range(2 * (fields.number("altup_num_inputs", 4) - 1)):
        rest += linear(model.hidden, model.hidden)
    zeros = fields.get("activation_sparsity_pattern")
    sparse = any(zeros) if isinstance(zeros, list) else zeros is None and fields.layers() > 10
    left = "the products with zeros that its sparse MLPs could skip" if sparse else ""
    return dataclasses.replace(found, rest=found.rest + rest, left_out=left)


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


_COMPRESSION = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}


def deepseek_v4_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites layer_types as compress_ratios, 0 without compression, and gives all the window."""
    count, rates, kinds = (
        values.get(key) for key in ("num_hidden_layers", "compress_rates", "layer_types")
    )
    if type(count) is not int or not 0 < count <= MOST_LAYERS:
        return values
    known = {**_COMPRESSION, **(rates if isinstance(rates, Mapping) else {})}
    sparse, heavy = _COMPRESSION
    for key in _COMPRESSION:
        Fields(known, "compress_rates.").number(key)
    ratios = values.get("compress_ratios")
    if kinds is not None or ratios is None:
        first = [heavy] * 2 + [sparse if layer % 2 else heavy for layer in range(count)]
        chosen = first[:count] if kinds is None else kinds
        if not isinstance(chosen, list) or any(x not in (*known, _SLIDING) for x in chosen):
            raise ValueError(f"layer_types must be a list of {_SLIDING}, {sparse}, {heavy}")
        ratios = [known.get(kind, 0) for kind in chosen]
    if not isinstance(ratios, list) or len(ratios) < count:  # those of predicted tokens follow
        raise ValueError("compress_ratios must have one for each layer")
    wanted = (0, known[sparse], known[heavy])
    if any(type(ratio) is not int or ratio not in wanted for ratio in ratios):
        raise ValueError(f"compress_ratios must be {', '.join(map(str, wanted))}")
    changed = {"compress_ratios": ratios[:count], "layer_types": [_SLIDING] * count}
    return {**values, **changed, "compress_rates": known}


_SLIDING = "sliding_attention"


def deepseek_v4(fields: Fields, _: Family) -> Attention:
    """One head of keys, which are the values, in a window and in compressed entries beside it."""
    width, heads = fields.number("hidden_size"), fields.number("num_attention_heads")
    size, narrow = fields.head_dim(512), fields.number("q_lora_rank", 1024)
    groups, rank = fields.number("o_groups", 8), fields.number("o_lora_rank", 1024)
    if heads * size % groups:
        raise fields.error("o_groups", f"a divisor of {heads * size}")
    weights = linear(width, narrow + size) + linear(narrow, heads * size)
    weights += linear(heads * size // groups, groups * rank) + linear(groups * rank, width)
    weights += Weights(small=narrow + size + heads)
    streams = fields.number("hc_mult", 4)
    mixes = (2 + streams) * streams
    for _part in range(2):  # hyper-connections of attention and MLP
        weights += linear(streams * width, mixes) + Weights(small=mixes + 3)
    indexer = Indexer(fields.number("index_n_heads", 64), fields.number("index_head_dim", 128))
    ratios, rates = fields.indices("compress_ratios"), fields.get("compress_rates")
    sparse = rates["compressed_sparse_attention"]

    def compressor(dim: int, rate: int) -> Weights:
        return linear(width, 2 * dim) + Weights(small=rate * dim)

    def attention(layer: int, window: Window | None) -> Layer:
        one = grouped_layer(weights, heads, 1, size, window, v_dim=0)
        one = dataclasses.replace(one, v_dim=size)
        if not (rate := ratios[layer]):
            return one
        if rate != sparse:
            more = compressor(size, rate) + Weights(small=size)
            return dataclasses.replace(
                one, weights=weights + more, compressed=Compressed(rate, size)
            )
        # Two overlapping series, and an indexer with a compressor of its own.
        more = compressor(2 * size, rate) + compressor(2 * indexer.dim, rate)
        more += linear(narrow, indexer.heads * indexer.dim) + linear(width, indexer.heads)
        more += Weights(small=size + indexer.dim)
        chosen = Compressed(rate, size, fields.number("index_topk", 512), indexer)
        return dataclasses.replace(one, weights=weights + more, compressed=chosen)

    return attention


def deepseek_v4_finish(fields: Fields, model: Transformer) -> Transformer:
    """The streams of the residual are joined before the last norm."""
    streams = fields.number("hc_mult", 4)
    joined = linear(streams * model.hidden, streams) + Weights(small=streams + 1)
    return dataclasses.replace(model, rest=model.rest + joined)


_M3_NAMES = {
    "index_n_heads": "sparse_num_index_heads",
    "index_head_dim": "sparse_index_dim",
    "index_block_size": "sparse_block_size",
    "index_topk_blocks": "sparse_topk_blocks",
    "index_local_blocks": "sparse_local_block",
}
_M3_KIND = "minimax_m3_sparse"


def minimax_m3_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites sparse_attention_config in the names of transformers' class."""
    found, stated = dict(values), values.get("sparse_attention_config")
    if isinstance(stated, Mapping):
        found |= {name: stated[key] for name, key in _M3_NAMES.items() if key in stated}
        chosen, extra = stated.get("sparse_attention_freq"), stated.get("sparse_init_block")
        off = stated.get("sparse_disable_index_value")
        if extra or stated.get("use_sparse_attention") is False:
            raise ValueError(
                "sparse_attention_config must have use_sparse_attention and no sparse_init_block"
            )
        if isinstance(chosen, list):
            if off is not None and off != chosen:
                raise ValueError("sparse_disable_index_value must be sparse_attention_freq")
            found.setdefault("layer_types", [_M3_KIND if x else "full_attention" for x in chosen])
    kinds = found.pop("layer_types", None)
    sparse = [kind == _M3_KIND for kind in kinds] if isinstance(kinds, list) else []
    return {**found, "sparse_layers": [i for i, chosen in enumerate(sparse) if chosen]}


def minimax_m3(fields: Fields, family: Family) -> Attention:
    """Each group of heads chooses blocks of keys by an indexer's scores of all keys."""
    if fields.flag(("attention_output_gate", False)):
        raise fields.error("attention_output_gate", "false: a gate is not counted")
    plain, chosen = grouped(fields, family), set(fields.indices("sparse_layers"))
    width = fields.number("hidden_size")
    indexer = Indexer(fields.number("index_n_heads", 4), fields.number("index_head_dim", 128))
    blocks, size = fields.number("index_topk_blocks", 16), fields.number("index_block_size", 128)
    extra = linear(width, (indexer.heads + 1) * indexer.dim) + Weights(small=2 * indexer.dim)

    def attention(layer: int, window: Window | None) -> Layer:
        one = plain(layer, window)
        if layer not in chosen:
            return one
        return dataclasses.replace(
            one,
            weights=one.weights + extra,
            cached=one.cached + indexer.dim,
            indexer=indexer,
            keys=(blocks - 1) * size + 1,  # of the token's own block, itself at least
        )

    return attention


_STEP_NAMES = {
    "num_key_value_heads": "num_attention_groups",
    "n_routed_experts": "moe_num_experts",
    "num_experts_per_tok": "moe_top_k",
}


def step_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
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
    heads = _of_layers(values).get("num_attention_heads")
    if isinstance(others, Mapping):
        heads = others.get("num_attention_heads")
        for theirs, ours in (("num_attention_groups", "num_key_value_heads"), ("head_dim",) * 2):
            if others.get(theirs, found.get(ours)) != found.get(ours):
                raise ValueError("attention_other_setting must differ in num_attention_heads alone")
    if heads is not None:
        found["num_sliding_attention_heads"] = heads
    return {**found, "per_layer_config": None}


def step(fields: Fields, _: Family) -> Attention:
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
