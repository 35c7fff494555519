"""The shape of a model from Hugging Face's config.json."""

import dataclasses
import difflib
import os
from collections.abc import Mapping
from typing import Any

from peakline.models.families import FAMILIES
from peakline.models.fields import ConfigError, config_path, parsed
from peakline.models.rules import ENCODER, refused
from peakline.models.transformer import Transformer
from peakline.profile.errors import shown

# Suggested if no family's name is similar.
_COMMON = ("llama", "qwen3", "deepseek_v3")

_TWO_STACKS = "an encoder and a decoder: a token of one costs other FLOPs than a token of the other"
_IMAGES = "an encoder of images: it has patches instead of tokens"
_STATES = (
    "a model whose layers keep a state of a kind that is not counted, as Mamba-2 (Nemotron-H, "
    "Granite) and the gated delta rule (Qwen) are"
)
_COMPRESSED = "a model whose attention reads compressed keys, whose cost is not counted"
_BLOCKS = "a model that chooses blocks of keys, whose cost is not counted"
# Step-3.5's attention_other_setting: 96 heads in layers with a window, else 64.
_OTHER_HEADS = (
    "a model whose layers with a window have heads of their own, which this file does not state"
)
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
    architectures = values.get("architectures")
    names = [str(name) for name in architectures] if isinstance(architectures, list) else []
    if any(name.endswith(("ForMaskedLM", "EncoderModel")) for name in names):
        return ENCODER
    if values.get("is_encoder_decoder") is True:
        return _TWO_STACKS
    kinds = values.get("layer_types")
    different = set(map(str, kinds)) if isinstance(kinds, list) else set()
    if values.keys() & _FIELDS_OF_STATES or different & _KINDS_OF_STATES:
        return _STATES
    if "compress_ratios" in values:
        return _COMPRESSED
    if "sparse_attention_config" in values:
        return _BLOCKS
    kind = values.get("model_type")
    if isinstance(kind, str) and kind.startswith("step3p"):
        return _OTHER_HEADS
    if len(different) > 1:
        return "a model of no known family whose layers differ, by layer_types"
    if "patch_size" in values:
        return _IMAGES
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
    if (family := _family(values)) is not None:
        return FAMILIES[family].read(values)
    text = values.get("text_config")
    if isinstance(text, Mapping):
        # Vision-language models state there what differs from the text class's defaults.
        text = {"model_type": f"{given}_text", **text}
        if (family := _family(text)) is not None:
            whole = {**FAMILIES[family].defaults, **text}
            if isinstance(tied := values.get("tie_word_embeddings"), bool):
                whole["tie_word_embeddings"] = tied
            model = FAMILIES[family].read(whole, "text_config.")
            heard = values.get("vision_config") is None and values.get("audio_config")
            encoder = "sound" if heard else "images"
            left_out = " and ".join(filter(None, (f"its encoder of {encoder}", model.left_out)))
            return dataclasses.replace(model, left_out=left_out)
    elif f"{given}_text" in FAMILIES:
        raise ValueError("text_config is missing, which describes the layers")
    described = text if isinstance(text, Mapping) else values
    if reason := _refusal(described):
        raise refused(shown(given), reason)
    close = difflib.get_close_matches(given, FAMILIES) if isinstance(given, str) else []
    raise ValueError(
        f"model_type is {shown(given)}: known are {len(FAMILIES)} families, such as "
        f"{', '.join(close or _COMMON)}, and models of images whose text_config is one of them; "
        "peakline-mfu takes another model by --flops-per-token, and one whose layers are alike by "
        "--params, --layers, --heads, --head-dim"
    )


def _family(values: Mapping[str, Any]) -> str | None:
    """The family by model_type, else by the first class of `architectures`."""
    kind, names = values.get("model_type"), values.get("architectures")
    if isinstance(kind, str) and kind in FAMILIES:
        return kind
    first = names[0] if isinstance(names, list) and names else None
    if not isinstance(first, str) or not first.endswith("ForCausalLM"):
        return None
    plain = first.removesuffix("ForCausalLM").lower()
    return next((family for family in FAMILIES if family.replace("_", "") == plain), None)
