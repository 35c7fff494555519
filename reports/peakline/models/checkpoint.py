"""What a folder of published weights states: formats, the longest context, bytes by type."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline.models.fields import config_path, parsed
from peakline.models.formats import WEIGHT_FORMATS, Formats
from peakline.profile import shown_path

# As the format of safetensors allows at most.
_MOST_OF_HEADER = 100_000_000
# Formats by the type of most bytes, where no quantization is stated.
_BY_TYPE = {"BF16": "bf16", "F16": "fp16", "F8_E4M3": "fp8"}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What config.json, hf_quant_config.json and the headers of *.safetensors state.

    quantization: as stated, empty where it is not. types: bytes of stored weights by the names of
    safetensors ("BF16", "F8_E4M3", "U8" for packed FP4), multi-token prediction and encoders of
    images included; empty for a config.json without weights. longest_context: None where it is not
    stated.
    """

    path: str
    quantization: Mapping[str, Any]
    types: Mapping[str, int]
    longest_context: int | None

    @property
    def bytes(self) -> int:
        """Of all stored weights; 0 where there are none."""
        return sum(self.types.values())

    @property
    def stated(self) -> bool:
        """Whether the files state the format of weights; else it is taken to be BF16."""
        return bool(self.quantization) or self._most in _BY_TYPE

    @property
    def _most(self) -> str:
        """The type of most bytes."""
        return max(self.types, key=lambda kind: self.types[kind], default="")

    def formats(self) -> Formats:
        """Formats of weights and KV cache.

        Raises ValueError, which names --weights, for a quantization that is not known.
        """
        stored = self.bytes or None
        if not self.quantization:
            return Formats(_BY_TYPE.get(self._most, "bf16"), stored_bytes=stored)
        weights = _weights(self.quantization)
        if weights is None:
            method = _method(self.quantization) or "without a method"
            raise ValueError(
                f"{self.path}: the quantization {method} is not known: name --weights, one of "
                f"{', '.join(WEIGHT_FORMATS)}"
            )
        cache = "fp8" if _is_fp8(self.quantization) else "bf16"
        if _experts_alone(self.quantization):
            return Formats("bf16", cache, experts=weights, stored_bytes=stored)
        return Formats(weights, cache, stored_bytes=stored)


def checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """What a folder or its config.json states of weights; of safetensors only headers are read.

    hf_quant_config.json (ModelOpt) goes before `quantization_config`. Raises ValueError for files
    that cannot be read or are damaged.
    """
    config = config_path(path)
    values = _document(config)
    text = values.get("text_config")
    inner = text if isinstance(text, Mapping) else {}
    quantization = inner.get("quantization_config") or values.get("quantization_config")
    # Of a file by another name its folder says nothing.
    beside = config.parent if config.name == "config.json" else None
    types: Counter[str] = Counter()
    if beside:
        tool = beside / "hf_quant_config.json"
        if tool.is_file():
            quantization = _document(tool).get("quantization") or quantization
        for file in sorted(beside.glob("*.safetensors")):
            types.update(_types(file))
    quantization = quantization or {}
    if not isinstance(quantization, Mapping):
        raise ValueError(f"{shown_path(config)}: quantization_config is no object; name --weights")
    limits = (part.get("max_position_embeddings") for part in (values, inner))
    longest = next((size for size in limits if type(size) is int and size > 0), None)
    return Checkpoint(shown_path(config), quantization, dict(sorted(types.items())), longest)


def _method(stated: Mapping[str, Any]) -> str:
    return str(stated.get("quant_algo") or stated.get("quant_method") or "").lower()


def _weights(stated: Mapping[str, Any]) -> str | None:
    """The format of quantized weights; None where it is not known."""
    method, size = _method(stated), stated.get("group_size")
    if method == "fp8":
        return "fp8block" if stated.get("weight_block_size") else "fp8"
    if method in ("nvfp4", "mxfp4"):
        return method
    if method in ("awq", "gptq") and stated.get("bits") == 4 and type(size) is int and size > 0:
        return f"int4g{size}"
    groups = stated.get("config_groups")
    if method == "compressed-tensors" and isinstance(groups, Mapping) and len(groups) == 1:
        (group,) = groups.values()
        if isinstance(group, Mapping) and isinstance(group.get("weights"), Mapping):
            return _packed(group["weights"], stated.get("format"))
    return None


def _packed(weights: Mapping[str, Any], layout: object) -> str | None:
    """The format of a group of compressed-tensors."""
    size = weights.get("group_size")
    match weights.get("num_bits"), weights.get("type"):
        case 8, "float" if not size:
            return "fp8"
        case 8, "int" if not size:
            return "int8"
        case 4, "float":
            return {"mxfp4-pack-quantized": "mxfp4", "nvfp4-pack-quantized": "nvfp4"}.get(
                str(layout)
            )
        case 4, "int" if type(size) is int and size > 0:
            return f"int4g{size}{'sym' if weights.get('symmetric') is True else ''}"
    return None


def _experts_alone(stated: Mapping[str, Any]) -> bool:
    """Whether attention and the experts that every token passes through stay as they were."""
    if _method(stated) == "mxfp4":
        return True
    ignored = stated.get("ignore")
    names = " ".join(map(str, ignored)) if isinstance(ignored, list) else ""
    return "self_attn" in names and "shared_expert" in names


def _is_fp8(stated: Mapping[str, Any]) -> bool:
    """Whether the KV cache is stated to be FP8."""
    scheme = stated.get("kv_cache_quant_algo") or stated.get("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        return scheme.get("num_bits") == 8 and scheme.get("type") == "float"
    return str(scheme).lower() == "fp8"


def _document(path: Path) -> Mapping[str, Any]:
    """A JSON object."""
    found = parsed(path)
    if not isinstance(found, Mapping):
        raise ValueError(f"{shown_path(path)}: must be a JSON object")
    return found


def _types(path: Path) -> Counter[str]:
    """Bytes by type of one file."""
    name = shown_path(path)
    try:
        # Not as other inputs are opened: a header's length may begin like a gzip file.
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            text = file.read(length) if length <= _MOST_OF_HEADER else b""
    except OSError as error:
        raise ValueError(f"{name}: cannot be read: {error.strerror or error}") from error
    try:
        header = json.loads(text) if len(text) == length else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ValueError(f"{name}: no safetensors file, or cut off in its header")
    types: Counter[str] = Counter()
    for key, tensor in header.items():
        if key == "__metadata__":
            continue
        kind, size = _stored(tensor)
        if kind is None:
            raise ValueError(f"{name}: a tensor has no dtype and data_offsets")
        types[kind] += size
    return types


def _stored(tensor: Any) -> tuple[str | None, int]:
    """Type and bytes of an entry of a header; no type where it is none."""
    match tensor:
        case {"dtype": str(kind), "data_offsets": [int(begin), int(end)]} if 0 <= begin <= end:
            return kind, end - begin
    return None, 0
