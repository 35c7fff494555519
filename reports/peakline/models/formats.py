"""The formats of weights and KV cache: bytes of an element, and what computes with them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline.profile import shown_path
from peakline.profile.inputs import Limit, opened

_MOST_OF_FILE = Limit(1 << 20, "configuration")


@dataclass(frozen=True, slots=True)
class _Format:
    nbytes: float  # of an element, scales included
    computes: str  # the precision of its products


# Weight-only formats compute in BF16. Scales: FP8 has one for 128 x 128 weights (4 bytes) where
# checkpoints have blocks; MXFP4 one byte for 32, NVFP4 one byte for 16.
_WEIGHTS: Mapping[str, _Format] = {
    "bf16": _Format(2.0, "bf16"),
    "fp16": _Format(2.0, "fp16"),
    "fp8": _Format(1.0, "fp8"),
    "fp8block": _Format(1.0 + 4 / 128**2, "fp8"),
    "int8": _Format(1.0, "bf16"),
    "mxfp4": _Format(0.5 + 1 / 32, "bf16"),
    "nvfp4": _Format(0.5 + 1 / 16, "nvfp4"),
}
_CACHE = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0}
# INT4 has a BF16 scale and a zero of 4 bits for each group.
_INT4 = re.compile(r"int4g([1-9][0-9]{0,4})")
WEIGHT_FORMATS = (*_WEIGHTS, "int4g128", "int4g32")
CACHE_FORMATS = tuple(_CACHE)


def _weights(name: str) -> _Format:
    group = _INT4.fullmatch(name)
    if group:
        return _Format(0.5 + 2.5 / int(group[1]), "bf16")
    if name not in _WEIGHTS:
        raise ValueError(
            f"weights {name!r}: not a known format; --weights takes {', '.join(WEIGHT_FORMATS)}"
        )
    return _WEIGHTS[name]


@dataclass(frozen=True, slots=True)
class Formats:
    """Formats of a model's parts, by the names of WEIGHT_FORMATS and CACHE_FORMATS.

    experts: of routed ones, by default as `weights`. head: of the output head, BF16 in most
    quantized models. compute: the precision of products, by default that of `weights`.
    """

    weights: str = "bf16"
    kv_cache: str = "bf16"
    head: str = "bf16"
    experts: str | None = None
    compute: str | None = None

    def __post_init__(self) -> None:
        for name in (self.weights, self.head, self.experts or self.weights):
            _weights(name)
        if self.kv_cache not in _CACHE:
            raise ValueError(
                f"KV cache {self.kv_cache!r}: --kv-cache takes {', '.join(CACHE_FORMATS)}"
            )

    @property
    def dense_bytes(self) -> float:
        return _weights(self.weights).nbytes

    @property
    def expert_bytes(self) -> float:
        return _weights(self.experts or self.weights).nbytes

    @property
    def head_bytes(self) -> float:
        return _weights(self.head).nbytes

    @property
    def kv_bytes(self) -> float:
        return _CACHE[self.kv_cache]

    @property
    def precision(self) -> str:
        return self.compute or _weights(self.experts or self.weights).computes


def stored_formats(folder: Path) -> Formats:
    """The formats that a checkpoint's config.json and hf_quant_config.json state.

    folder: or the config.json itself. Raises ValueError, which names --weights, for a quantization
    that is not known.
    """
    path = folder / "config.json" if folder.is_dir() else folder
    values = _document(path)
    text = values.get("text_config")
    both = {**values, **text} if isinstance(text, dict) else values
    stated = both.get("quantization_config") or values.get("quantization_config")
    beside = path.with_name("hf_quant_config.json")
    if not stated and beside.is_file():
        stated = _document(beside).get("quantization")
    if not stated:
        return Formats()
    if not isinstance(stated, dict):
        raise ValueError(f"{path}: quantization_config is no object; name --weights")
    return _quantized(stated, path)


def context_limit(folder: Path) -> int | None:
    """The longest context that a config.json states; None where it states none."""
    path = folder / "config.json" if folder.is_dir() else folder
    values = _document(path)
    text = values.get("text_config")
    for part in (values, text if isinstance(text, dict) else {}):
        found = part.get("max_position_embeddings")
        if type(found) is int and found > 0:
            return found
    return None


def _document(path: Path) -> Mapping[str, Any]:
    """A JSON object. Raises ValueError, which names the file."""
    with opened(path, _MOST_OF_FILE, ValueError) as file:
        try:
            found = json.loads(file.read())
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{shown_path(path)}: not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{shown_path(path)}: must be a JSON object")
    return found


def _quantized(stated: Mapping[str, Any], path: Path) -> Formats:
    method = str(stated.get("quant_algo") or stated.get("quant_method") or "").lower()
    cache = stated.get("kv_cache_quant_algo") or stated.get("kv_cache_scheme") or ""
    kv_cache = "fp8" if str(cache).lower() == "fp8" else "bf16"
    if method == "fp8":
        weights = "fp8block" if stated.get("weight_block_size") else "fp8"
        return Formats(weights, kv_cache)
    if method == "nvfp4":
        return Formats("nvfp4", kv_cache)
    if method == "mxfp4":  # of routed experts alone
        return Formats("bf16", kv_cache, experts="mxfp4")
    if method in ("awq", "gptq") and stated.get("bits") == 4:
        size = stated.get("group_size")
        if type(size) is int and size > 0:
            return Formats(f"int4g{size}", kv_cache)
    raise ValueError(
        f"{path}: the quantization {method or 'without a method'} is not known: name --weights, "
        f"one of {', '.join(WEIGHT_FORMATS)}"
    )
