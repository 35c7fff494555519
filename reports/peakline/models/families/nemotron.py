"""Nemotron."""

from collections.abc import Mapping
from typing import Any

from peakline.models.decoder_layer import Layer, Window, grouped_layer
from peakline.models.families.shared import BIASES
from peakline.models.fields import Fields
from peakline.models.layers import NOTHING, Attention, Family, Inner, dense, mamba2
from peakline.models.weights import Weights, grouped_attention, linear, mixture, mlp

_NEMOTRON_KINDS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def _nemotron_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rewrites layers_block_type or a pattern of letters as layer_types."""
    kinds, pattern = values.get("layers_block_type"), values.get("hybrid_override_pattern")
    if isinstance(pattern, str) and kinds is None:
        if unknown := set(pattern) - set(_NEMOTRON_KINDS):
            raise ValueError(
                f"hybrid_override_pattern has the letter {min(unknown)!r}: known are "
                f"{', '.join(_NEMOTRON_KINDS)}"
            )
        kinds = [_NEMOTRON_KINDS[letter] for letter in pattern]
    if kinds is None:
        raise ValueError("hybrid_override_pattern is missing, which says what each layer is")
    count = len(kinds) if isinstance(kinds, list) else values.get("num_hidden_layers")
    return {"head_dim": values.get("attention_head_dim"), **values} | {
        "layer_types": kinds,
        "num_hidden_layers": count,
    }


def _nemotron_inner(fields: Fields, family: Family) -> Inner:
    """An MLP or experts, in layers of their own; experts may work on a narrower latent vector."""
    kinds = fields.get("layer_types") or []
    plain: Inner = dense(fields, family) if "mlp" in kinds else lambda layer: Weights()
    experts = _nemotron_experts(fields) if "moe" in kinds else Weights()
    parts = {"mlp": plain(0), "moe": experts}
    return lambda layer: parts.get(kinds[layer], Weights())


def _nemotron_experts(fields: Fields) -> Weights:
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


def _searched_attention(fields: Fields, _: Family) -> Attention:
    width, heads = fields.number("hidden_size"), fields.number("num_attention_heads")
    size, blocks = fields.head_dim(), _parts(fields, "attention")

    def attention(layer: int, _: Window | None) -> Layer:
        if blocks[layer].get("no_op"):
            return NOTHING
        group = Fields(blocks[layer], "block_configs.attention.").number("n_heads_in_group")
        weights = grouped_attention(width, heads, size, heads // group, False, False)
        return grouped_layer(weights + Weights(small=width), heads, heads // group, size)

    return attention


def _searched_inner(fields: Fields, _: Family) -> Inner:
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


FAMILIES: Mapping[str, Family] = {
    "nemotron": Family(gated=False, norm_biases=True, **BIASES),
    "nemotron-nas": Family(norms=0, attention=_searched_attention, inner=_searched_inner),
    "nemotron_h": Family(
        mlp_bias=("mlp_bias", False),
        names={
            "mamba_n_heads": "mamba_num_heads",
            "mamba_d_head": "mamba_head_dim",
            "mamba_d_state": "ssm_state_size",
            "mamba_n_groups": "n_groups",
            "mamba_d_conv": "conv_kernel",
            "mamba_conv_bias": "use_conv_bias",
            "mamba_proj_bias": "use_bias",
        },
        gated=False,
        head_dim=128,
        kv_heads=8,
        norms=1,
        alone=True,
        prepare=_nemotron_kinds,
        inner=_nemotron_inner,
        state=mamba2,
    ),
}
