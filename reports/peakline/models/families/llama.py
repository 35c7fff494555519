"""Llama, Mistral, and models with their layers."""

import dataclasses
from collections.abc import Callable, Mapping

from peakline.models.families.layouts import has_rope, switched, without_rope
from peakline.models.families.shared import ATTENTION_BIAS, BIASES, PLAIN, biases, shape
from peakline.models.fields import Fields
from peakline.models.layers import NOTHING, Family, Mixture, window_of
from peakline.models.transformer import Transformer


def _llama4_sparse(fields: Fields) -> Callable[[int], bool]:
    if fields.has("moe_layers"):
        chosen = set(fields.indices("moe_layers"))
        return lambda layer: layer in chosen
    step = fields.number("interleave_moe_layer_step", 1)
    return lambda layer: (layer + 1) % step == 0


def _mllama(fields: Fields, model: Transformer) -> Transformer:
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


FAMILIES: Mapping[str, Family] = {
    "arcee": Family(gated=False, **BIASES),
    "cwm": Family(
        head_dim=128,
        kv_heads=8,
        window=window_of(8192),
        bounded=lambda fields: lambda layer: layer % 4 != 0,
        mlp_bias=("mlp_bias", False),
    ),
    "helium": Family(
        head_dim=128, kv_heads=20, qkv_bias=("attention_bias", False), mlp_bias=("mlp_bias", False)
    ),
    "iquestcoder": Family(kv_heads=8, **BIASES),
    "internlm": Family(**biases("bias", True)),
    "internlm2": Family(**biases("bias", True)),
    "internlm3": Family(kv_heads=2, **BIASES),
    "jais2": Family(**PLAIN, **biases("attention_bias", True), mlp_bias=("mlp_bias", True)),
    "llama": Family(defaults=shape(32000, 4096, 11008, 32, 32), **BIASES),
    "llama4_text": Family(
        defaults={
            **shape(202048, 5120, 8192, 48, 40, 8, intermediate_size_mlp=16384),
            "num_local_experts": 16,
            "num_experts_per_tok": 1,
        },
        head_dim=128,
        window=lambda fields: fields.optional("attention_chunk_size", 8192),
        bounded=has_rope,
        chunked=True,
        inner=Mixture(
            shared=lambda fields: fields.number("intermediate_size"),
            sparse=_llama4_sparse,
            dense="intermediate_size_mlp",
        ),
        **ATTENTION_BIAS,
    ),
    "minicpm": Family(tied=True),
    "ministral": Family(kv_heads=8, window=window_of(4096)),
    "ministral3": Family(head_dim=128, kv_heads=8, window=window_of()),
    "mistral": Family(
        defaults=shape(32000, 4096, 14336, 32, 32), kv_heads=8, window=window_of(4096)
    ),
    "mixtral": Family(kv_heads=8, window=window_of(), inner=Mixture()),
    "mllama_text_model": Family(kv_heads=8, finish=_mllama),
    "seed_oss": Family(
        head_dim=128,
        kv_heads=8,
        qkv_bias=("attention_bias", True),
        out_bias=("attention_out_bias", False),
        mlp_bias=("mlp_bias", False),
    ),
    "smollm3": Family(tied=True, kv_heads=4, window=switched(None), bounded=without_rope, **BIASES),
}
