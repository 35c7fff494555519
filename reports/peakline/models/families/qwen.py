"""Qwen."""

from collections.abc import Mapping
from typing import Any

from peakline.models.families.layouts import after_first, even_before_last, stepped, switched
from peakline.models.families.shared import ATTENTION_BIAS, field
from peakline.models.layers import Family, Mixture, delta, gated


def _halved(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Qwen's width of an MLP, which counts gate and up together."""
    both = values.get("intermediate_size")
    return {**values, "intermediate_size": both // 2 if type(both) is int else both}


QWEN: dict[str, Any] = {"window": switched(4096), "bounded": after_first}
_QWEN3: dict[str, Any] = {**ATTENTION_BIAS, "head_norms": True}
_QWEN_MOE: dict[str, Any] = {
    "count": ("num_experts", "num_local_experts"),
    "inner": "moe_intermediate_size",
    "sparse": stepped,
}
_QWEN_SHARED = Mixture(
    **_QWEN_MOE, shared=field("shared_expert_intermediate_size"), shared_gate=True
)
_QWEN3_MOE: dict[str, Any] = {**_QWEN3, "kv_heads": 4, "window": switched(4096)}
_QWEN_NEXT: dict[str, Any] = {
    **_QWEN3,
    "head_dim": 256,
    "attention": gated,
    "state": delta,
    "stateful": lambda fields: (
        lambda layer: (layer + 1) % fields.number("full_attention_interval", 4) != 0
    ),
}


FAMILIES: Mapping[str, Family] = {
    "qwen": Family(qkv_bias=True, prepare=_halved),
    "qwen2": Family(qkv_bias=True, kv_heads=32, **QWEN),
    "qwen2_moe": Family(
        kv_heads=16,
        qkv_bias=("qkv_bias", True),
        window=switched(4096),
        bounded=even_before_last,
        inner=_QWEN_SHARED,
    ),
    "qwen3": Family(head_dim=128, kv_heads=32, **_QWEN3, **QWEN),
    "qwen3_5_moe_text": Family(kv_heads=2, inner=_QWEN_SHARED, **_QWEN_NEXT),
    "qwen3_5_text": Family(kv_heads=4, **_QWEN_NEXT),
    "qwen3_moe": Family(**_QWEN3_MOE, inner=Mixture(**_QWEN_MOE)),
    "qwen3_next": Family(kv_heads=2, inner=_QWEN_SHARED, **_QWEN_NEXT),
    "qwen3_vl_moe_text": Family(**_QWEN3_MOE, inner=Mixture(**_QWEN_MOE)),
    "qwen3_vl_text": Family(head_dim=128, kv_heads=32, **_QWEN3),
}
