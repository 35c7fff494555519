"""The shape of a model from its config.json of Hugging Face.

What a field means, and what holds where it is missing, is as in the classes of `transformers`: the
parameters are those of its ...ForCausalLM, to the last one.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

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
from peakline.profile import shown_path
from peakline.profile.errors import shown
from peakline.profile.inputs import Limit, opened

_MOST_OF_FILE = Limit(1 << 20, "config.json")
# What no field of a model comes near, so that all counts are numbers that a float holds.
_MOST = 1 << 40
_MOST_LAYERS = 1 << 16

# OPT counts its positions from here.
_OPT_OFFSET = 2

_KINDS_OF_ATTENTION = ("full_attention", "sliding_attention", "chunked_attention")


class _Config:
    """A config.json whose fields are checked as they are read."""

    def __init__(self, values: Mapping[str, Any], where: str = "") -> None:
        self.values = values
        self.where = where  # before the names of fields

    def error(self, key: str, wanted: str) -> ValueError:
        found = shown(self.values.get(key))
        return ValueError(f"{self.where}{key} is {found}, but must be {wanted}")

    def number(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number; `default` also stands in for null."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if type(value) is not int or not least <= value <= _MOST:
            raise self.error(key, f"a whole number from {least} to {_MOST}")
        return value

    def optional(self, key: str, default: int | None = None) -> int | None:
        """A whole number, or null; `default` where the field is missing."""
        if self.values.get(key, default) is None:
            return None
        return self.number(key, default)

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if type(value) is not bool:
            raise self.error(key, "true or false")
        return value

    def indices(self, key: str) -> list[int]:
        """A list of whole numbers, empty where it is missing."""
        value = self.values.get(key) or []
        if type(value) is not list or any(type(item) is not int for item in value):
            raise self.error(key, "a list of whole numbers")
        return value

    def layers(self, key: str = "num_hidden_layers") -> int:
        layers = self.number(key)
        if layers > _MOST_LAYERS:
            raise self.error(key, f"at most {_MOST_LAYERS}")
        return layers

    def head_dim(self, width: int, heads: int, default: int | None = None) -> int:
        """The field, else the default, else what the width leaves for each head."""
        if self.values.get("head_dim", default) is not None:
            return self.number("head_dim", default)
        if width % heads:
            raise ValueError(f"{heads} heads do not divide a width of {width}")
        return width // heads

    def windows(
        self, layers: int, window: Window | None, bounded: Callable[[int], bool]
    ) -> list[Window | None]:
        """The window of each layer: as layer_types says, else where `bounded` is true."""
        kinds = self.values.get("layer_types")
        if kinds is None:
            return [window if bounded(i) else None for i in range(layers)]
        if type(kinds) is not list or any(kind not in _KINDS_OF_ATTENTION for kind in kinds):
            raise self.error("layer_types", f"a list of {', '.join(_KINDS_OF_ATTENTION)}")
        if len(kinds) != layers:
            raise self.error("layer_types", f"one for each of the {layers} layers")
        return [None if kind == "full_attention" else window for kind in kinds]


def _decoder(
    config: _Config,
    *,
    tied: bool = False,
    window: int | None = None,
    bounded: Callable[[int], bool] = lambda layer: True,
    chunked: bool = False,
    head_dim: int | None = None,
    qkv_bias: bool = False,
    out_bias: bool = False,
    norms: int = 2,
    head_norms: bool = False,
    sinks: bool = False,
    inner: Callable[[int], Weights] | None = None,
) -> Transformer:
    """Layers of grouped-query attention and gated MLPs, with norms without biases.

    inner: the weights of a layer's MLP, by default a gated one of `intermediate_size`.
    """
    layers, width = config.layers(), config.number("hidden_size")
    heads = config.number("num_attention_heads")
    size = config.head_dim(width, heads, head_dim)
    groups = config.number("num_key_value_heads", heads)
    attention = grouped_attention(width, heads, size, groups, qkv_bias, out_bias)
    attention += Weights(
        small=norms * width + (2 * size if head_norms else 0) + (heads if sinks else 0)
    )
    if inner is None:
        dense = mlp(width, config.number("intermediate_size"), bias=config.flag("mlp_bias", False))
        inner = lambda layer: dense  # noqa: E731
    windows = config.windows(layers, None if window is None else Window(window, chunked), bounded)
    return Transformer(
        tuple(
            grouped_layer(attention + inner(i), heads, groups, size, windows[i])
            for i in range(layers)
        ),
        config.number("vocab_size") * width,
        width,
        config.flag("tie_word_embeddings", tied),
        rest=Weights(small=width),
    )


def _llama(config: _Config) -> Transformer:
    bias = config.flag("attention_bias", False)
    return _decoder(config, qkv_bias=bias, out_bias=bias)


def _mistral(config: _Config) -> Transformer:
    return _decoder(config, window=config.optional("sliding_window", 4096))


def _mixtral(config: _Config) -> Transformer:
    moe = mixture(
        config.number("hidden_size"),
        config.number("intermediate_size"),
        config.number("num_local_experts"),
        config.number("num_experts_per_tok"),
    )
    window = config.optional("sliding_window")
    return _decoder(config, window=window, inner=lambda layer: moe)


def _phi3(config: _Config) -> Transformer:
    return _decoder(config, window=config.optional("sliding_window"))


def _qwen_window(config: _Config) -> int | None:
    if not config.flag("use_sliding_window", False):
        return None
    return config.optional("sliding_window", 4096)


def _qwen_first_window(config: _Config) -> Callable[[int], bool]:
    first = config.number("max_window_layers", 28, least=0)
    return lambda layer: layer >= first


def _qwen2(config: _Config) -> Transformer:
    window, bounded = _qwen_window(config), _qwen_first_window(config)
    return _decoder(config, qkv_bias=True, window=window, bounded=bounded)


def _qwen3(config: _Config) -> Transformer:
    bias = config.flag("attention_bias", False)
    window, bounded = _qwen_window(config), _qwen_first_window(config)
    return _decoder(
        config,
        head_dim=128,
        qkv_bias=bias,
        out_bias=bias,
        head_norms=True,
        window=window,
        bounded=bounded,
    )


def _qwen_mixture(config: _Config, shared: Weights) -> Callable[[int], Weights]:
    """The MLPs of Qwen's mixtures, of which some may be dense."""
    width = config.number("hidden_size")
    dense = mlp(width, config.number("intermediate_size"))
    sparse = shared + mixture(
        width,
        config.number("moe_intermediate_size"),
        config.number("num_experts"),
        config.number("num_experts_per_tok"),
    )
    step, dense_layers = config.number("decoder_sparse_step", 1), config.indices("mlp_only_layers")
    return lambda layer: dense if layer in dense_layers or (layer + 1) % step else sparse


def _qwen2_moe(config: _Config) -> Transformer:
    width = config.number("hidden_size")
    gate = Weights(small=width)  # decides how much the shared expert adds, as a router does
    shared = mlp(width, config.number("shared_expert_intermediate_size")) + gate
    most = config.number("max_window_layers", 28, least=0)
    return _decoder(
        config,
        qkv_bias=config.flag("qkv_bias", True),
        window=_qwen_window(config),
        bounded=lambda layer: layer % 2 == 0 and layer < most,
        inner=_qwen_mixture(config, shared),
    )


def _qwen3_moe(config: _Config) -> Transformer:
    bias = config.flag("attention_bias", False)
    return _decoder(
        config,
        qkv_bias=bias,
        out_bias=bias,
        head_norms=True,
        window=_qwen_window(config),
        inner=_qwen_mixture(config, Weights()),
    )


def _gemma(config: _Config) -> Transformer:
    bias = config.flag("attention_bias", False)
    return _decoder(config, tied=True, head_dim=256, qkv_bias=bias, out_bias=bias)


def _gemma2(config: _Config) -> Transformer:
    bias = config.flag("attention_bias", False)
    return _decoder(
        config,
        tied=True,
        head_dim=256,
        qkv_bias=bias,
        out_bias=bias,
        norms=4,
        window=config.optional("sliding_window", 4096),
        bounded=lambda layer: layer % 2 == 0,
    )


def _gemma3(config: _Config) -> Transformer:
    if config.flag("use_bidirectional_attention", False):
        raise _refused("with use_bidirectional_attention it", _ENCODER)
    bias = config.flag("attention_bias", False)
    pattern = config.number("sliding_window_pattern", 6)
    return _decoder(
        config,
        tied=True,
        head_dim=256,
        qkv_bias=bias,
        out_bias=bias,
        norms=4,
        head_norms=True,
        window=config.optional("sliding_window", 4096),
        bounded=lambda layer: (layer + 1) % pattern != 0,
    )


def _gpt_oss(config: _Config) -> Transformer:
    bias = config.flag("attention_bias", True)
    moe = mixture(
        config.number("hidden_size"),
        config.number("intermediate_size"),
        config.number("num_local_experts"),
        config.number("num_experts_per_tok"),
        bias=True,
    )
    return _decoder(
        config,
        head_dim=64,
        qkv_bias=bias,
        out_bias=bias,
        sinks=True,
        window=config.optional("sliding_window", 128),
        bounded=lambda layer: layer % 2 == 0,
        inner=lambda layer: moe,
    )


def _llama4(config: _Config) -> Transformer:
    width, inner = config.number("hidden_size"), config.number("intermediate_size")
    dense = mlp(width, config.number("intermediate_size_mlp"))
    sparse = mlp(width, inner) + mixture(
        width, inner, config.number("num_local_experts"), config.number("num_experts_per_tok")
    )
    step = config.number("interleave_moe_layer_step", 1)
    chosen = config.values.get("moe_layers")
    sparse_layers = None if chosen is None else config.indices("moe_layers")
    bias = config.flag("attention_bias", False)
    interval, rope = config.number("no_rope_layer_interval", 4), config.indices("no_rope_layers")

    def mlp_of(layer: int) -> Weights:
        if sparse_layers is None:
            return dense if (layer + 1) % step else sparse
        return sparse if layer in sparse_layers else dense

    def has_chunks(layer: int) -> bool:  # those with rotary positions, in spite of the name
        return bool(rope[layer] if layer < len(rope) else (layer + 1) % interval)

    return _decoder(
        config,
        head_dim=128,
        qkv_bias=bias,
        out_bias=bias,
        window=config.optional("attention_chunk_size", 8192),
        bounded=has_chunks,
        chunked=True,
        inner=mlp_of,
    )


def _deepseek_v3(config: _Config) -> Transformer:
    """Latent attention: keys and values are made of one narrow vector, queries of another."""
    layers, width = config.layers(), config.number("hidden_size")
    heads, bias = config.number("num_attention_heads"), config.flag("attention_bias", False)
    rope, value = config.number("qk_rope_head_dim"), config.number("v_head_dim")
    plain, latent = config.number("qk_nope_head_dim"), config.number("kv_lora_rank")
    narrow = config.optional("q_lora_rank", 1536)
    if narrow is None:
        attention = linear(width, heads * (plain + rope)) + linear(width, latent + rope, bias)
    else:
        attention = linear(width, narrow + latent + rope, bias)
        attention += linear(narrow, heads * (plain + rope)) + Weights(small=narrow)
    attention += (
        Weights(small=latent)
        + linear(latent, heads * (plain + value))
        + linear(heads * value, width, bias)
    )
    dense, inner = (
        mlp(width, config.number("intermediate_size")),
        config.number("moe_intermediate_size"),
    )
    sparse = mixture(
        width, inner, config.number("n_routed_experts"), config.number("num_experts_per_tok")
    )
    if shared := config.number("n_shared_experts", 1, least=0):
        sparse += mlp(width, shared * inner)
    first = config.number("first_k_dense_replace", 3, least=0)
    norms = Weights(small=2 * width)
    further = config.number("num_nextn_predict_layers", 0, least=0)
    return Transformer(
        tuple(
            Layer(
                attention + norms + (dense if i < first else sparse),
                heads,
                plain + rope,
                value,
                kv_heads=1,
                cached=latent + rope,
                absorbed=(latent + rope, latent),
            )
            for i in range(layers)
        ),
        config.number("vocab_size") * width,
        width,
        config.flag("tie_word_embeddings", False),
        rest=Weights(small=width),
        left_out="its layers of multi-token prediction" if further else "",
    )


def _plain_layer(
    width: int,
    heads: int,
    size: int,
    inner: int,
    *,
    kv_heads: int | None = None,
    attention_bias: bool = True,
    mlp_bias: bool = True,
    norms: int = 2,
) -> Layer:
    """A layer with a plain MLP and LayerNorms, which have biases."""
    groups = kv_heads or heads
    weights = grouped_attention(width, heads, size, groups, attention_bias, attention_bias)
    weights += mlp(width, inner, 2, mlp_bias) + Weights(small=2 * norms * width)
    return grouped_layer(weights, heads, groups, size)


def _gpt2(config: _Config) -> Transformer:
    width, heads = config.number("n_embd"), config.number("n_head")
    layer = _plain_layer(
        width, heads, config.head_dim(width, heads), config.number("n_inner", 4 * width)
    )
    return Transformer(
        (layer,) * config.layers("n_layer"),
        config.number("vocab_size") * width,
        width,
        config.flag("tie_word_embeddings", True),
        positions=config.number("n_positions") * width,
        rest=Weights(small=2 * width),
    )


def _opt(config: _Config) -> Transformer:
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    bias, affine = (
        config.flag("enable_bias", True),
        config.flag("layer_norm_elementwise_affine", True),
    )
    layer = _plain_layer(
        width,
        heads,
        config.head_dim(width, heads),
        config.number("ffn_dim"),
        attention_bias=bias,
        mlp_bias=bias,
        norms=2 if affine else 0,
    )
    last = config.flag("do_layer_norm_before", True) and not config.flag(
        "_remove_final_layer_norm", False
    )
    rest = Weights(small=2 * width if last and affine else 0)
    narrow = config.number("word_embed_proj_dim", width)
    if narrow != width:
        rest += linear(narrow, width) + linear(width, narrow)
    return Transformer(
        (layer,) * config.layers(),
        config.number("vocab_size") * narrow,
        width,
        config.flag("tie_word_embeddings", True),
        positions=(config.number("max_position_embeddings") + _OPT_OFFSET) * width,
        rest=rest,
    )


def _gpt_neox(config: _Config) -> Transformer:
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    layer = _plain_layer(
        width,
        heads,
        config.head_dim(width, heads),
        config.number("intermediate_size"),
        attention_bias=config.flag("attention_bias", True),
    )
    return Transformer(
        (layer,) * config.layers(),
        config.number("vocab_size") * width,
        width,
        config.flag("tie_word_embeddings", False),
        rest=Weights(small=2 * width),
    )


def _falcon(config: _Config) -> Transformer:
    width, heads = config.number("hidden_size"), config.number("num_attention_heads")
    bias, new = config.flag("bias", False), config.flag("new_decoder_architecture", False)
    parallel = new or config.flag("parallel_attn", True)
    if new:
        groups = config.number("num_kv_heads", heads)
        norms = config.number("num_ln_in_parallel_attn", 2)
    else:
        groups = 1 if config.flag("multi_query", True) else heads
        norms = 1 if parallel else 2
    layer = _plain_layer(
        width,
        heads,
        config.head_dim(width, heads),
        config.number("ffn_hidden_size", 4 * width),
        kv_heads=groups,
        attention_bias=bias,
        mlp_bias=bias,
        norms=norms,
    )
    return Transformer(
        (layer,) * config.layers(),
        config.number("vocab_size") * width,
        width,
        config.flag("tie_word_embeddings", True),
        rest=Weights(small=2 * width),
    )


_FAMILIES: Mapping[str, Callable[[_Config], Transformer]] = {
    "deepseek_v3": _deepseek_v3,
    "falcon": _falcon,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "gpt_oss": _gpt_oss,
    "llama": _llama,
    "llama4_text": _llama4,
    "mistral": _mistral,
    "mixtral": _mixtral,
    "opt": _opt,
    "phi3": _phi3,
    "qwen2": _qwen2,
    "qwen2_moe": _qwen2_moe,
    "qwen3": _qwen3,
    "qwen3_moe": _qwen3_moe,
}

# Models of text and images: what describes the text stands below text_config, with only those
# fields that differ from what its class has.
_WITH_IMAGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "gemma3": (
        "gemma3_text",
        {
            "vocab_size": 262208,
            "hidden_size": 2304,
            "intermediate_size": 9216,
            "num_hidden_layers": 26,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
        },
    ),
    "llama4": (
        "llama4_text",
        {
            "vocab_size": 202048,
            "hidden_size": 5120,
            "intermediate_size": 8192,
            "intermediate_size_mlp": 16384,
            "num_hidden_layers": 48,
            "num_attention_heads": 40,
            "num_key_value_heads": 8,
            "num_local_experts": 16,
            "num_experts_per_tok": 1,
        },
    ),
}

_ENCODER = "an encoder: its tokens see each other in both directions, and none is predicted"
_TWO_STACKS = "an encoder and a decoder: a token of one costs other FLOPs than a token of the other"
_IMAGES = "an encoder of images: it has patches instead of tokens"
_STATES = (
    "a model whose layers keep a state instead of an attention matrix (state space, linear "
    "attention): 12 L H Q T does not hold"
)
_FIELDS_OF_STATES = {"state_size", "mamba_d_state", "ssm_state_size", "lru_width"} | {
    "linear_num_key_heads",
    "linear_attn_config",
    "rescale_every",  # RWKV
}


def _refusal(values: Mapping[str, Any]) -> str | None:
    """Why a model of no known family has no such count, where its fields say so."""
    architectures = values.get("architectures")
    names = [str(name) for name in architectures] if isinstance(architectures, list) else []
    if any(name.endswith(("ForMaskedLM", "EncoderModel")) for name in names):
        return _ENCODER
    if values.get("is_encoder_decoder") is True:
        return _TWO_STACKS
    if values.keys() & _FIELDS_OF_STATES:
        return _STATES
    if "patch_size" in values:
        return _IMAGES
    return _ENCODER if "type_vocab_size" in values else None


def _refused(subject: str, reason: str) -> ValueError:
    return ValueError(
        f"{subject} is {reason}; count the FLOPs of a token another way, and give --flops-per-token"
    )


def from_hf_config(source: str | os.PathLike[str] | Mapping[str, Any]) -> Transformer:
    """The shape that a config.json of Hugging Face describes; `source`: its path or content.

    Raises ValueError for a file that cannot be read, a kind of model that is not known or has no
    such count, and a field that is missing or no number.
    """
    name, values = "the config", source
    if not isinstance(source, Mapping):
        name = shown_path(source)
        with opened(source, _MOST_OF_FILE, ValueError) as file:
            try:
                values = json.load(file)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{name}: not JSON: {error}") from error
    if not isinstance(values, Mapping):
        raise ValueError(f"{name}: not a config.json of a model")
    try:
        return _transformer(values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _transformer(values: Mapping[str, Any]) -> Transformer:
    given = values.get("model_type")
    kind = given if isinstance(given, str) else ""
    if kind in _WITH_IMAGES:
        family, defaults = _WITH_IMAGES[kind]
        text = values.get("text_config")
        if not isinstance(text, Mapping):
            raise ValueError("text_config is missing, which describes the layers")
        model = _FAMILIES[family](_Config({**defaults, **text}, "text_config."))
        return dataclasses.replace(model, left_out="its encoder of images")
    if kind in _FAMILIES:
        return _FAMILIES[kind](_Config(values))
    if reason := _refusal(values):
        raise _refused(shown(given), reason)
    raise ValueError(
        f"model_type is {shown(given)}: known are "
        f"{', '.join(sorted((*_FAMILIES, *_WITH_IMAGES)))}; for another model give --params, "
        "--layers, --heads, --head-dim, or --flops-per-token"
    )
