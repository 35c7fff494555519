"""Gemma."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from peakline.models.decoder_layer import Layer, Window, grouped_layer
from peakline.models.families.layouts import even, pattern
from peakline.models.families.shared import ATTENTION_BIAS, ENCODER, of_layers, refused, shape
from peakline.models.fields import Fields
from peakline.models.layers import Attention, Family, Inner, dense, grouped, window_of
from peakline.models.transformer import Transformer
from peakline.models.weights import Weights, linear, mixture, mlp


def _gemma3(fields: Fields, model: Transformer) -> Transformer:
    if fields.get("use_bidirectional_attention") not in (None, False, "vision"):
        raise refused("with use_bidirectional_attention it", ENCODER)
    return model


def _gemma4_layers(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites per_layer_config in the names of earlier versions."""
    if not (stated := of_layers(values)):
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


def _gemma4(fields: Fields, _: Family) -> Attention:
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


def _gemma4_inner(fields: Fields, family: Family) -> Inner:
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


def _gemma4_finish(fields: Fields, model: Transformer) -> Transformer:
    return _with_inputs(fields, _gemma3(fields, model))


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


def _gemma3n(fields: Fields, family: Family) -> Attention:
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


def _gemma3n_inner(fields: Fields, _: Family) -> Inner:
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


def _gemma3n_finish(fields: Fields, model: Transformer) -> Transformer:
    """With the projections of AltUp's streams."""
    found, rest = _with_inputs(fields, model), Weights()
    for _ in range(2 * (fields.number("altup_num_inputs", 4) - 1)):
        rest += linear(model.hidden, model.hidden)
    zeros = fields.get("activation_sparsity_pattern")
    sparse = any(zeros) if isinstance(zeros, list) else zeros is None and fields.layers() > 10
    left = "the products with zeros that its sparse MLPs could skip" if sparse else ""
    return dataclasses.replace(found, rest=found.rest + rest, left_out=left)


FAMILIES: Mapping[str, Family] = {
    "gemma": Family(tied=True, head_dim=256, kv_heads=16, **ATTENTION_BIAS),
    "gemma2": Family(
        tied=True,
        head_dim=256,
        kv_heads=4,
        norms=4,
        window=window_of(4096),
        bounded=even,
        **ATTENTION_BIAS,
    ),
    "gemma3_text": Family(
        defaults=shape(262208, 2304, 9216, 26, 8, 4),
        tied=True,
        head_dim=256,
        kv_heads=4,
        norms=4,
        head_norms=True,
        window=window_of(4096),
        bounded=pattern(6),
        finish=_gemma3,
        **ATTENTION_BIAS,
    ),
    "gemma3n_text": Family(
        tied=True,
        head_dim=256,
        kv_heads=2,
        norms=4,
        head_norms=True,
        window=window_of(512),
        bounded=pattern(5),
        attention=_gemma3n,
        inner=_gemma3n_inner,
        finish=_gemma3n_finish,
        **ATTENTION_BIAS,
    ),
    "gemma4_text": Family(
        tied=True,
        norms=lambda fields: 7 if fields.flag(("enable_moe_block", False)) else 4,
        window=window_of(512),
        bounded=pattern(6),
        attention=_gemma4,
        prepare=_gemma4_layers,
        inner=_gemma4_inner,
        finish=_gemma4_finish,
    ),
    "vaultgemma": Family(
        tied=True, head_dim=256, kv_heads=4, window=window_of(4096), bounded=even, **ATTENTION_BIAS
    ),
}
