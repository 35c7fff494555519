"""MiniMax."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from peakline.models.decoder_layer import Indexer, Layer, Window
from peakline.models.families.shared import WHOLE_NORMS
from peakline.models.fields import Fields
from peakline.models.layers import Attention, Family, Mixture, first_dense, grouped
from peakline.models.weights import Weights, linear

_M3_NAMES = {
    "index_n_heads": "sparse_num_index_heads",
    "index_head_dim": "sparse_index_dim",
    "index_block_size": "sparse_block_size",
    "index_topk_blocks": "sparse_topk_blocks",
    "index_local_blocks": "sparse_local_block",
}
_M3_KIND = "minimax_m3_sparse"


def _minimax_m3_kinds(values: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _minimax_m3(fields: Fields, family: Family) -> Attention:
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


FAMILIES: Mapping[str, Family] = {
    "minimax_m2": Family(**WHOLE_NORMS, head_dim=128, kv_heads=8, inner=Mixture()),
    "minimax_m3": Family(
        head_dim=128,
        kv_heads=4,
        head_norms=True,
        attention=_minimax_m3,
        prepare=_minimax_m3_kinds,
        inner=Mixture(
            shared=lambda fields: (
                fields.number("n_shared_experts", 1, least=0)
                * fields.number("shared_intermediate_size", 3072)
            ),
            sparse=first_dense(0),
            dense="dense_intermediate_size",
        ),
    ),
}
