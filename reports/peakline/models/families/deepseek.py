"""DeepSeek, and models with its attention or experts."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from peakline.models.decoder_layer import Compressed, Indexer, Layer, Window, grouped_layer
from peakline.models.families.shared import ATTENTION_BIAS, DEEPSEEK, GLM, LATENT, ROUTED
from peakline.models.fields import MOST_LAYERS, Fields
from peakline.models.layers import (
    Attention,
    Family,
    Mixture,
    first_dense,
    latent,
    shared_experts,
    window_of,
)
from peakline.models.transformer import Transformer
from peakline.models.weights import Weights, linear

_COMPRESSION = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}


def _deepseek_v4_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _deepseek_v4(fields: Fields, _: Family) -> Attention:
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


def _deepseek_v4_finish(fields: Fields, model: Transformer) -> Transformer:
    """The streams of the residual are joined before the last norm."""
    streams = fields.number("hc_mult", 4)
    joined = linear(streams * model.hidden, streams) + Weights(small=streams + 1)
    return dataclasses.replace(model, rest=model.rest + joined)


def _minicpm3_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values of heads are by default width / heads."""
    width, heads = values.get("hidden_size"), values.get("num_attention_heads")
    if values.get("v_head_dim") is None and type(width) is int and type(heads) is int and heads:
        return {**values, "v_head_dim": width // heads}
    return values


FAMILIES: Mapping[str, Family] = {
    "deepseek": Family(
        inner=dataclasses.replace(DEEPSEEK, sparse=first_dense(0)), **ATTENTION_BIAS
    ),
    "deepseek_v2": dataclasses.replace(
        LATENT, inner=dataclasses.replace(DEEPSEEK, sparse=first_dense(0))
    ),
    "deepseek_v3": LATENT,
    "deepseek_v32": LATENT,
    "deepseek_v4": Family(
        window=window_of(128),
        attention=_deepseek_v4,
        prepare=_deepseek_v4_kinds,
        inner=Mixture(**ROUTED, shared=shared_experts("n_shared_experts", 1)),
        finish=_deepseek_v4_finish,
    ),
    "dots1": Family(
        head_norms=True,
        **ATTENTION_BIAS,
        inner=dataclasses.replace(
            DEEPSEEK, shared=shared_experts("n_shared_experts"), sparse=first_dense(0)
        ),
    ),
    "glm4_moe": Family(
        kv_heads=8, qkv_bias=("attention_bias", False), head_norms=("use_qk_norm", False), inner=GLM
    ),
    "glm4_moe_lite": Family(attention=latent, inner=GLM, query_rank=768),
    "glm_moe_dsa": Family(attention=latent, inner=DEEPSEEK, query_rank=2048),
    "kimi_k2": LATENT,
    "minicpm3": Family(attention=latent, tied=True, query_rank=768, prepare=_minicpm3_values),
    "sarvam_moe": Family(
        kv_heads=4, qkv_bias=("attention_bias", False), head_norms=("use_qk_norm", True), inner=GLM
    ),
    "solar_open": Family(
        head_dim=128,
        kv_heads=8,
        qkv_bias=("attention_bias", False),
        inner=dataclasses.replace(DEEPSEEK, sparse=first_dense(0)),
    ),
    "youtu": Family(attention=latent, tied=True),
}
