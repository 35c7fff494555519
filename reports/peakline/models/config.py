"""The shape of a model from Hugging Face's config.json."""

import dataclasses
import difflib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from peakline.models.families import FAMILIES
from peakline.models.families.shared import ENCODER, refused
from peakline.models.fields import ConfigError, config_path, parsed, text_of
from peakline.models.transformer import Transformer
from peakline.profile.errors import short, shown

# Suggested if no family's name is similar.
_COMMON = ("llama", "qwen3", "deepseek_v3")

_TWO_STACKS = (
    "an encoder and a decoder, but bounds are for a decoder alone: a token of one costs other "
    "FLOPs than a token of the other"
)
_MASKED = (
    "a diffusion language model, but bounds are for decoders: a pass predicts all masked tokens "
    "instead of the next one"
)
_IMAGES = "an encoder of images, but bounds are for decoders: it has patches instead of tokens"
_SOUND = "an encoder of sound, but bounds are for decoders: it has frames instead of tokens"
_PAIR = (
    "an encoder of texts and one of images or sound, but bounds are for decoders: no token is "
    "predicted"
)
_STATES = (
    "a model whose layers keep a state of a kind that is not counted, as Mamba-2 (Nemotron-H, "
    "Granite) and the gated delta rule (Qwen) are"
)
# Fields that add work, of which neither transformers nor the maker says how much (Kimi-K3).
_UNKNOWN = ("attn_res_block_size", "mla_use_output_gate", "routed_expert_hidden_size")
# Fields of attention that reads less than all keys, as DeepSeek-V4's and MiniMax-M3's.
_SPARSE = ("compress_ratios", "sparse_attention_config")
# Classes of other names that have the layers of a family.
_ALIASES = {
    "Yi": "llama",
    "baichuan": "llama",
    "deepseek_vl_v2": "deepseek_v2",
    "glm4v_moe_text": "glm4_moe",
    "glm4v_text": "glm4",
    "llava_llama": "llama",
    "llava_mistral": "mistral",
    "llava_qwen": "qwen2",
    "minimax_m3_vl_text": "minimax_m3",
    "mllama_text": "mllama_text_model",
    "phi3_v": "phi3",
    "phi4_multimodal": "phi3",
    "phi4mm": "phi3",
    "qwen2_5_omni_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen3_omni_moe_text": "qwen3_vl_moe_text",
    "step3p7": "step3p5",
    "step3p7_text": "step3p5",
}
# Configurations of encoders beside that of a language model.
_ENCODERS = {
    **dict.fromkeys(("vision_config", "img_processor", "embd_layer"), "images"),
    **dict.fromkeys(("mm_vision_tower", "vision_tower_cfg"), "images"),  # LLaVA, VILA
    **dict.fromkeys(("audio_config", "audio_processor"), "sound"),
}
_PAIRS = ("align", "altclip", "chinese_clip", "clap", "clip", "siglip", "siglip2")
_FIELDS_OF_STATES = {"state_size", "mamba_d_state", "ssm_state_size", "lru_width"} | {
    "linear_num_key_heads",
    "linear_attn_config",
    "conv_L_cache",  # LFM2
    "qk_dim_factor",  # xLSTM
    "rescale_every",  # RWKV
}
_KINDS_OF_STATES = {"linear_attention", "mamba", "conv"}  # of layer_types


def _refusal(values: Mapping[str, Any]) -> str | None:
    """Why a model of an unknown family cannot be counted, if its fields tell."""
    kind = str(values.get("model_type")).lower()
    architectures = values.get("architectures")
    names = [str(name) for name in architectures] if isinstance(architectures, list) else []
    if kind.endswith("_text_model") or any(
        name.endswith(("ForMaskedLM", "EncoderModel")) for name in names
    ):
        return ENCODER
    if kind in ("llada", "llada_moe", "dream"):
        return _MASKED
    stacks = values.get("is_encoder_decoder") is True or "encoder_layers" in values
    if stacks or isinstance(values.get("decoder"), Mapping):
        return _TWO_STACKS
    if unknown := [key for key in _UNKNOWN if values.get(key)]:
        return f"a model with {', '.join(unknown)}, whose work is not published"
    kinds = values.get("layer_types")
    different = set(map(str, kinds)) if isinstance(kinds, list) else set()
    if values.keys() & _FIELDS_OF_STATES or different & _KINDS_OF_STATES:
        return _STATES
    if sparse := next((key for key in _SPARSE if key in values), None):
        return f"a model whose attention reads chosen or compressed keys ({sparse}), not counted"
    if len(different) > 1:
        return "a model of no known family whose layers differ, by layer_types"
    if "patch_size" in values:
        return _IMAGES
    if "feat_extract_norm" in values:  # wav2vec 2, HuBERT
        return _SOUND
    return ENCODER if "type_vocab_size" in values else None


def from_hf_config(source: str | os.PathLike[str] | Mapping[str, Any]) -> Transformer:
    """The shape that Hugging Face's config.json describes.

    source: its path, its folder, or its content. Raises ValueError for an unreadable file, an
    unknown or uncountable kind of model, and a field that is missing or not a number.
    """
    name, values = "the config", source
    if not isinstance(source, Mapping):
        path = config_path(source)
        name, values = str(path), parsed(path)
    if not isinstance(values, Mapping):
        raise ConfigError(f"{name}: not a config.json of a model")
    try:
        return _transformer(values)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error


def _transformer(values: Mapping[str, Any]) -> Transformer:
    given = values.get("model_type")
    if isinstance(name := values.get("_class_name"), str):
        whole = "" if "_diffusers_version" in values and "Pipeline" in name else "a part of "
        raise ValueError(
            f"{whole}a diffusion pipeline (_class_name {short(name)}), no language model"
        )
    where, text = text_of(values)
    if where:
        # Vision-language models state there what differs from the text class's defaults.
        text = {"model_type": f"{given}_text", **text}
        if isinstance(tied := values.get("tie_word_embeddings"), bool):
            text.setdefault("tie_word_embeddings", tied)
        if (family := _family(text)) is not None:
            return _part(FAMILIES[family].read(_filled(family, text, part=True), where), values)
    if (family := _family(values)) is not None:
        model = FAMILIES[family].read(_filled(family, values))
        return _part(model, values) if values.keys() & _ENCODERS.keys() else model
    if not where and f"{given}_text" in FAMILIES:
        raise ValueError("text_config is missing, which describes the layers")
    paired = given in _PAIRS or str(text.get("model_type")).endswith("_text_model")
    if reason := _PAIR if paired else _refusal(text or values):
        raise refused(shown(given), reason)
    close = difflib.get_close_matches(given, FAMILIES) if isinstance(given, str) else []
    raise ValueError(
        f"model_type is {shown(given)}: known are {len(FAMILIES)} families, such as "
        f"{', '.join(close or _COMMON)}, and models of images whose text_config is one of them; "
        "peakline-mfu takes another model by --flops-per-token, and one whose layers are alike by "
        "--params, --layers, --heads, --head-dim"
    )


def _part(model: Transformer, values: Mapping[str, Any]) -> Transformer:
    """The language model of one that sees or hears."""
    kinds = [title for key, title in _ENCODERS.items() if values.get(key) is not None]
    encoder = f"its encoder of {' and '.join(dict.fromkeys(kinds)) or 'images'}"
    adapters = "its adapters (LoRA)" if "vision_lora" in values else ""
    parts = (encoder, adapters, model.left_out)
    return dataclasses.replace(model, left_out=" and ".join(filter(None, parts)))


@cache
def _defaults() -> Mapping[str, Mapping[str, int]]:
    """Of the config classes of transformers 5.24: sizes that their files may omit."""
    found: dict[str, dict[str, int]] = json.loads(
        Path(__file__).with_name("defaults.json").read_text("utf-8")
    )
    return found


def _filled(family: str, values: Mapping[str, Any], part: bool = False) -> Mapping[str, Any]:
    """With the defaults of the class, unless a whole file states no size at all."""
    if not part and not values.keys() & _defaults().get(family, {}).keys():
        return values
    return {**_defaults().get(family, {}), **FAMILIES[family].defaults, **values}


def _family(values: Mapping[str, Any]) -> str | None:
    """The family by model_type, else by the first class of `architectures`."""
    kind, names = values.get("model_type"), values.get("architectures")
    if isinstance(kind, str) and (kind := _ALIASES.get(kind, kind)) in FAMILIES:
        return kind
    first = names[0] if isinstance(names, list) and names else None
    if not isinstance(first, str) or not first.endswith("ForCausalLM"):
        return None
    plain = first.removesuffix("ForCausalLM").lower()
    return next((family for family in FAMILIES if family.replace("_", "") == plain), None)
