"""Formats, longest context and bytes by type that a folder of published weights states."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline.models.fields import ConfigError, config_path, parsed
from peakline.models.formats import WEIGHT_FORMATS, Formats
from peakline.profile.untrusted import Limit, require_regular

# A header of every tensor of DeepSeek-V3 would take 12 MiB. Parsed, it may take 16 times as much.
_MOST_OF_HEADER = Limit(32 << 20, "header")
_MOST_PARTS = 1 << 20  # objects and lists, which take more
_MOST_BYTES = 1 << 62
# Format by the prevailing type, if no quantization is stated.
_BY_TYPE = {"BF16": "bf16", "F16": "fp16", "F8_E4M3": "fp8"}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The statements of config.json, hf_quant_config.json and the headers of *.safetensors.

    quantization: as stated, else empty. types: bytes of stored weights by safetensors' names
    ("BF16", "F8_E4M3", "U8" for packed FP4), including multi-token prediction and image encoders;
    empty without weights. longest_context: None if not stated.
    """

    path: str
    quantization: Mapping[str, Any]
    types: Mapping[str, int]
    longest_context: int | None

    @property
    def bytes(self) -> int:
        """Bytes of all stored weights; 0 if there are none."""
        return sum(self.types.values())

    @property
    def stated(self) -> bool:
        """Whether the files state the weights' format; BF16 is assumed otherwise."""
        return bool(self.quantization) or self._most in _BY_TYPE

    @property
    def _most(self) -> str:
        return max(self.types, key=lambda kind: self.types[kind], default="")

    def formats(self) -> Formats:
        """Formats of weights and KV cache. Raises ValueError for an unknown quantization."""
        stored = self.bytes or None
        if not self.quantization:
            return Formats(_BY_TYPE.get(self._most, "bf16"), stored_bytes=stored)
        weights = _weights(self.quantization)
        if weights is None:
            method = _method(self.quantization) or "without a method"
            raise ConfigError(
                f"{self.path}: the quantization {method} is not known: name --weights, one of "
                f"{', '.join(WEIGHT_FORMATS)}"
            )
        cache = "fp8" if _is_fp8(self.quantization) else "bf16"
        if _experts_alone(self.quantization):
            return Formats("bf16", cache, experts=weights, stored_bytes=stored)
        return Formats(weights, cache, stored_bytes=stored)


def checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """The statements about weights in a folder or its config.json; only headers of safetensors are
    read.

    hf_quant_config.json (ModelOpt) overrides `quantization_config`. Raises ValueError for
    unreadable or damaged files.
    """
    config = config_path(path)
    values = _document(config)
    text = values.get("text_config")
    inner = text if isinstance(text, Mapping) else {}
    quantization = inner.get("quantization_config") or values.get("quantization_config")
    # The folder belongs only to a file called config.json.
    beside = config.parent if config.name == "config.json" else None
    types: Counter[str] = Counter()
    if beside:
        tool = require_regular(beside / "hf_quant_config.json", ConfigError)
        if tool.exists():
            quantization = _document(tool).get("quantization") or quantization
        for file in sorted(beside.glob("*.safetensors")):
            types.update(_types(file))
    quantization = quantization or {}
    if not isinstance(quantization, Mapping):
        raise ConfigError(f"{config}: quantization_config is no object; name --weights")
    limits = (part.get("max_position_embeddings") for part in (values, inner))
    longest = next((size for size in limits if type(size) is int and size > 0), None)
    return Checkpoint(str(config), quantization, dict(sorted(types.items())), longest)


def _method(stated: Mapping[str, Any]) -> str:
    return str(stated.get("quant_algo") or stated.get("quant_method") or "").lower()


def _weights(stated: Mapping[str, Any]) -> str | None:
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
    """Whether only routed experts are quantized."""
    if _method(stated) == "mxfp4":
        return True
    ignored = stated.get("ignore")
    names = " ".join(map(str, ignored)) if isinstance(ignored, list) else ""
    return "self_attn" in names and "shared_expert" in names


def _is_fp8(stated: Mapping[str, Any]) -> bool:
    scheme = stated.get("kv_cache_quant_algo") or stated.get("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        return scheme.get("num_bits") == 8 and scheme.get("type") == "float"
    return str(scheme).lower() == "fp8"


def _document(path: Path) -> Mapping[str, Any]:
    found = parsed(path)
    if not isinstance(found, Mapping):
        raise ConfigError(f"{path}: must be a JSON object")
    return found


def _types(path: Path) -> Counter[str]:
    require_regular(path, ConfigError)
    try:
        # Not `untrusted.opened`: a header's length may look like gzip's first bytes.
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if _MOST_OF_HEADER.bytes < length <= os.path.getsize(path):
                raise ConfigError(f"{path}: its header is {_MOST_OF_HEADER.too_large()}")
            text = file.read(length) if length <= _MOST_OF_HEADER.bytes else b""
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    if text.count(b"{") + text.count(b"[") > _MOST_PARTS:
        raise ConfigError(f"{path}: its header has more than {_MOST_PARTS} objects and lists")
    try:
        header = json.loads(text) if len(text) == length else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ConfigError(f"{path}: no safetensors file, or cut off in its header")
    types: Counter[str] = Counter()
    for key, tensor in header.items():
        if key == "__metadata__":
            continue
        match tensor:
            case {"dtype": str(kind), "data_offsets": [int(begin), int(end)]} if (
                0 <= begin <= end <= _MOST_BYTES
            ):
                types[kind] += end - begin
            case _:
                raise ConfigError(f"{path}: a tensor has no dtype and data_offsets")
    return types
