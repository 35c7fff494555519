"""Builders of a family's layers: attention, MLPs, mixtures and layers with a state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from peakline.models.decoder_layer import Indexer, Layer, Window, grouped_layer
from peakline.models.fields import Fields, Flag
from peakline.models.transformer import Transformer
from peakline.models.weights import Weights, grouped_attention, linear, mixture, mlp

# A layer, or part of one, without attention.
NOTHING = Layer(Weights(), 0, 0, 0, kv_heads=0, cached=0)

# Attention by layer index and window; weights of an MLP by layer index.
Attention = Callable[[int, Window | None], Layer]
Inner = Callable[[int], Weights]
Rule = Callable[[Fields], Callable[[int], bool]]

_FULL = ("full_attention", "attention", "indexed_attention", "deepseek_sparse_attention")
_BOUNDED = ("sliding_attention", "chunked_attention")
_STATE = ("linear_attention", "mamba")
_ALONE = ("mlp", "moe")  # layers of an MLP alone


def every(_: Fields) -> Callable[[int], bool]:
    return lambda layer: True


def window_of(default: int | None = None) -> Callable[[Fields], int | None]:
    """The file's window; `default` (or none) if missing."""
    return lambda fields: fields.optional("sliding_window", default)


def dense(fields: Fields, family: Family) -> Inner:
    """An MLP that is identical in all layers."""
    width = fields.number("hidden_size")
    ratio = family.mlp_ratio
    inner = fields.number("intermediate_size", ratio * width if ratio else None)
    matrices = 3 if family.gated else 2
    weights = mlp(width, inner, matrices, fields.flag(family.mlp_bias))
    return lambda layer: weights


def grouped(fields: Fields, family: Family) -> Attention:
    width, heads = fields.number("hidden_size"), fields.number("num_attention_heads")
    size, groups = fields.head_dim(family.head_dim), fields.kv_heads(family.kv_heads)
    biases = fields.flag(family.qkv_bias), fields.flag(family.out_bias)
    weights = grouped_attention(width, heads, size, groups, *biases)
    if fields.flag(family.head_norms):
        norms = (heads + groups if family.whole_head_norms else 2) * size
        weights += Weights(small=norms * (2 if family.norm_biases else 1))
    if family.sinks:
        weights += Weights(small=heads)
    return lambda layer, window: grouped_layer(weights, heads, groups, size, window)


def gated(fields: Fields, family: Family) -> Attention:
    """Grouped-query attention with a gate on the output of each query head (Qwen3-Next)."""
    plain = grouped(fields, family)
    one = plain(0, None)
    bias = fields.flag(family.qkv_bias)
    gate = linear(fields.number("hidden_size"), one.heads * one.qk_dim, bias)
    if not fields.flag(("attn_output_gate", True)):
        return plain

    def attention(layer: int, window: Window | None) -> Layer:
        one = plain(layer, window)
        return dataclasses.replace(one, weights=one.weights + gate)

    return attention


def latent(fields: Fields, family: Family) -> Attention:
    """Latent attention (MLA): keys and values come from one narrow vector, queries from another.

    With `index_topk` an indexer chooses the keys (DeepSeek-V3.2), which layers may share (GLM-5.2).
    """
    width, heads = fields.number("hidden_size"), fields.number("num_attention_heads")
    bias = fields.flag(("attention_bias", False))
    rope, value = fields.number("qk_rope_head_dim"), fields.number("v_head_dim")
    plain, narrow_kv = fields.number("qk_nope_head_dim"), fields.number("kv_lora_rank")
    narrow = fields.optional("q_lora_rank", family.query_rank)
    if narrow is None:
        weights = linear(width, heads * (plain + rope)) + linear(width, narrow_kv + rope, bias)
    else:
        weights = linear(width, narrow + narrow_kv + rope, bias)
        weights += linear(narrow, heads * (plain + rope)) + Weights(small=narrow)
    weights += (
        Weights(small=narrow_kv)
        + linear(narrow_kv, heads * (plain + value))
        + linear(heads * value, width, bias)
    )
    keys = fields.optional("index_topk")
    one = Layer(
        weights,
        heads,
        plain + rope,
        value,
        kv_heads=1,
        cached=narrow_kv + rope,
        absorbed=(narrow_kv + rope, narrow_kv),
        keys=keys,
    )
    if keys is None:
        return lambda layer, window: one
    indexer = Indexer(fields.number("index_n_heads"), fields.number("index_head_dim"))
    # Queries from the narrow query, one key with a LayerNorm, and a weight per head.
    extra = linear(narrow or width, indexer.heads * indexer.dim) + linear(width, indexer.dim)
    extra += linear(width, indexer.heads) + Weights(small=2 * indexer.dim)
    scoring = dataclasses.replace(
        one, weights=weights + extra, cached=one.cached + indexer.dim, indexer=indexer
    )
    scores = _scoring_layers(fields)
    return lambda layer, window: scoring if scores(layer) else one


def _scoring_layers(fields: Fields) -> Callable[[int], bool]:
    pattern = fields.get("index_topk_pattern")
    if (kinds := fields.each("indexer_types", ("full", "shared"))) is not None:
        return lambda layer: kinds[layer] == "full"
    if pattern is not None:
        raise fields.error("index_topk_pattern", "null, with indexer_types in its place")
    step, offset = fields.number("index_topk_freq", 1), fields.number("index_skip_topk_offset", 2)
    return lambda layer: max(layer - offset + 1, 0) % step == 0


def first_dense(default: int) -> Rule:
    """Selects mixtures: the layers of a list, else all but the first ones."""

    def rule(fields: Fields) -> Callable[[int], bool]:
        if (kinds := fields.each("mlp_layer_types", ("dense", "sparse"))) is not None:
            return lambda layer: kinds[layer] == "sparse"
        first = fields.number("first_k_dense_replace", default, least=0)
        if type(fields.get("moe_layer_freq")) is list:
            chosen = fields.indices("moe_layer_freq")
            if len(chosen) != fields.layers():
                raise fields.error("moe_layer_freq", "one for each layer")
            return lambda layer: bool(chosen[layer])
        return lambda layer: layer >= first

    return rule


def shared_experts(key: str, default: int = 0) -> Callable[[Fields], int]:
    """Total width of the shared experts, whose number is a field."""
    return lambda fields: (
        fields.number(key, default, least=0) * fields.first("moe_intermediate_size")
    )


@dataclass(frozen=True, slots=True)
class Mixture:
    count: tuple[str, ...] = ("num_local_experts",)
    inner: str = "intermediate_size"
    chosen: str = "num_experts_per_tok"
    shared: Callable[[Fields], int] = lambda fields: 0  # width of shared experts
    shared_gate: bool = False  # a learned weight scales their output
    sparse: Rule = every  # layers that are mixtures; the others have a dense MLP
    dense: str = "intermediate_size"
    bias: bool = False
    router_bias: bool = False  # in addition to `bias`

    def __call__(self, fields: Fields, family: Family) -> Inner:
        width = fields.number("hidden_size")
        matrices = 3 if family.gated else 2
        bias = self.bias or fields.flag(family.mlp_bias)
        count, chosen = fields.first(*self.count), fields.number(self.chosen)
        weights = mixture(width, fields.number(self.inner), count, chosen, matrices, self.bias)
        if shared := self.shared(fields):
            weights += mlp(width, shared, matrices, bias)
            weights += Weights(small=width if self.shared_gate else 0)
        if self.router_bias:
            weights += Weights(small=count)
        sparse = self.sparse(fields)
        if all(map(sparse, range(fields.layers()))):
            return lambda layer: weights
        plain = mlp(width, fields.number(self.dense), matrices, bias)
        return lambda layer: weights if sparse(layer) else plain


def delta(fields: Fields, _: Family) -> Layer:
    """Gated delta rule (Qwen3-Next), with a state of keys x values per value head.

    Counted as in Megatron-LM (gdn_layer_flops of training.py at 001b00c): 4 products of the
    state's size, and the convolution.
    """
    width, kernel = fields.number("hidden_size"), fields.number("linear_conv_kernel_dim")
    heads, value = fields.number("linear_num_value_heads"), fields.number("linear_value_head_dim")
    key = fields.number("linear_key_head_dim")
    keys, values = fields.number("linear_num_key_heads") * key, heads * value
    convolved = 2 * keys + values
    weights = linear(width, convolved + values) + linear(width, 2 * heads)
    weights += linear(values, width) + Weights(small=kernel * convolved + 2 * heads + value)
    return _stateful(
        weights,
        heads * key * value + (kernel - 1) * convolved,
        2 * (4 * heads * key * value + kernel * convolved),
    )


def mamba2(fields: Fields, _: Family) -> Layer:
    """Mamba-2, whose scan counts 7 FLOP per element of the state.

    As in Megatron-LM (mamba_layer_flops of training.py at 001b00c), except for the width: the
    file's instead of twice the model's.
    """
    width, kernel = fields.number("hidden_size"), fields.number("mamba_d_conv")
    heads, states = fields.number("mamba_n_heads"), fields.number("mamba_d_state")
    inner = heads * fields.number("mamba_d_head")
    convolved = inner + 2 * fields.number("mamba_n_groups") * states
    bias = fields.flag(("mamba_proj_bias", False))
    taps = kernel + (1 if fields.flag(("mamba_conv_bias", True)) else 0)
    weights = linear(width, inner + convolved + heads, bias) + linear(inner, width, bias)
    weights += Weights(small=taps * convolved + 3 * heads + inner)
    return _stateful(weights, inner * states + (kernel - 1) * convolved, 7 * inner * states)


def _stateful(weights: Weights, state: int, flops: int) -> Layer:
    return dataclasses.replace(NOTHING, weights=weights, state=state, state_flops=flops)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Properties of a class of `transformers` that its config.json may omit."""

    names: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of fields, by Llama's
    # Values that text_config may omit in a vision-language model.
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    tied: bool = False
    head_dim: int | None = None  # if the file has none; None: width / heads
    kv_heads: int | None = None  # if the file has none; None: all heads
    query_rank: int = 1536  # of latent attention, if the file has none
    qkv_bias: Flag = False
    out_bias: Flag = False
    mlp_bias: Flag = False
    gated: bool = True  # MLPs have three matrices instead of two
    mlp_ratio: int | None = None  # width of an MLP / of the model, if the file has none
    norms: int | Callable[[Fields], int] = 2  # per layer
    norm_biases: bool = False
    last_norm: bool | Callable[[Fields], bool] = True
    head_norms: Flag = False  # of queries and keys
    whole_head_norms: bool = False  # over all heads instead of each
    sinks: bool = False
    window: Callable[[Fields], int | None] = lambda fields: None
    bounded: Rule = every  # layers with the window
    chunked: bool = False
    positions: int | None = None  # learned ones, in addition to the file's number
    head_bias: Flag = False  # of the output head
    attention: Callable[[Fields, Family], Attention] = grouped
    inner: Callable[[Fields, Family], Inner] = dense
    # Rewrites the file in the terms of other families.
    prepare: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    finish: Callable[[Fields, Transformer], Transformer] | None = None
    state: Callable[[Fields, Family], Layer] | None = None
    stateful: Rule = every  # layers with the state, if layer_types is missing
    alone: bool = False  # MLPs are separate layers

    def read(self, values: Mapping[str, Any], where: str = "") -> Transformer:
        """The model of a config.json; `where` precedes field names in errors."""
        prepared = self.prepare(values) if self.prepare else values
        fields = Fields(prepared, where, self.names)
        model = self._model(fields)
        return self.finish(fields, model) if self.finish else model

    def _model(self, fields: Fields) -> Transformer:
        if fields.get("per_layer_config"):
            raise fields.error("per_layer_config", "null: layers of their own are not counted")
        count, width = fields.layers(), fields.number("hidden_size")
        norm = width * (2 if self.norm_biases else 1)
        count_norms = self.norms if isinstance(self.norms, int) else self.norms(fields)
        norms = Weights(small=norm * count_norms)
        mixers, inner = self._mixers(fields, count), self.inner(fields, self)
        last = self.last_norm if isinstance(self.last_norm, bool) else self.last_norm(fields)
        vocabulary = fields.number("vocab_size")
        rest = norm if last else 0
        if fields.flag(self.head_bias):
            rest += vocabulary
        positions = 0
        if self.positions is not None:
            positions = (fields.number("max_position_embeddings") + self.positions) * width
        return Transformer(
            tuple(
                dataclasses.replace(
                    mixer,
                    weights=mixer.weights + inner(i) + norms,
                    mixing=len(mixer.weights.matrices),
                )
                for i, mixer in enumerate(mixers)
            ),
            vocabulary * width,
            width,
            fields.flag(("tie_word_embeddings", self.tied)),
            positions=positions,
            rest=Weights(small=rest),
            left_out=_left_out(fields),
        )

    def _mixers(self, fields: Fields, count: int) -> list[Layer]:
        """Attention or state of each layer, by layer_types, else by the family's rules."""
        states = (*(_STATE if self.state else ()), *(_ALONE if self.alone else ()))
        kinds = fields.each("layer_types", (*_FULL, *_BOUNDED, *states))
        size = self.window(fields)
        window = None if size is None else Window(size, self.chunked)
        if kinds is None:
            bounded, stateful = self.bounded(fields), self.stateful(fields)
            kinds = [
                _STATE[0] if self.state and stateful(i) else _BOUNDED[0] if bounded(i) else _FULL[0]
                for i in range(count)
            ]
        attention = self.attention(fields, self)
        state = self.state(fields, self) if self.state and set(kinds) & set(_STATE) else None

        def mixer(layer: int, kind: str) -> Layer:
            if kind in _ALONE:
                return NOTHING
            if state and kind in _STATE:
                return state
            return attention(layer, None if kind in _FULL else window)

        return [mixer(i, kind) for i, kind in enumerate(kinds)]


def _left_out(fields: Fields) -> str:
    further = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
    if any(fields.number(key, 0, least=0) for key in further):
        return "its layers of multi-token prediction"
    return ""
