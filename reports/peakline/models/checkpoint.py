"""What a folder of published weights holds: bytes by type, from the headers of safetensors."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline.models.fields import parsed
from peakline.profile import shown_path

# As the format allows at most.
_MOST_OF_HEADER = 100_000_000


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Weights as they are stored, multi-token prediction and encoders of images included.

    types: bytes by the names of safetensors ("BF16", "F8_E4M3", "U8" for packed FP4). weights,
    kv_cache: formats that the folder says it is quantized to, in lower case ("fp8", "nvfp4",
    "mxfp4"); None where it says none.
    """

    types: Mapping[str, int]
    weights: str | None = None
    kv_cache: str | None = None

    @property
    def bytes(self) -> int:
        """Of all weights."""
        return sum(self.types.values())


def checkpoint(folder: str | os.PathLike[str]) -> Checkpoint:
    """The weights of a folder with *.safetensors, of which only headers are read.

    Formats are those of hf_quant_config.json (ModelOpt), else of `quantization_config` in
    config.json. Raises ValueError for a folder without weights and for files that are damaged.
    """
    files = sorted(Path(folder).glob("*.safetensors"))
    if not files:
        raise ValueError(f"{shown_path(folder)}: no folder with files *.safetensors")
    types: Counter[str] = Counter()
    for file in files:
        types.update(_types(file))
    weights, kv_cache = _formats(Path(folder))
    return Checkpoint(dict(sorted(types.items())), weights, kv_cache)


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


def _formats(folder: Path) -> tuple[str | None, str | None]:
    """Formats of weights and of the KV cache."""
    tool = _document(folder / "hf_quant_config.json").get("quantization")
    config = _document(folder / "config.json")
    text = config.get("text_config")
    inner = text.get("quantization_config") if isinstance(text, Mapping) else None
    for said in (tool, config.get("quantization_config"), inner):
        if isinstance(said, Mapping):
            weights = said.get("quant_algo") or said.get("quant_method")
            return _lower(weights), _lower(said.get("kv_cache_quant_algo"))
    return None, None


def _document(path: Path) -> Mapping[str, Any]:
    """A JSON object, empty where there is no such file."""
    if not path.exists():
        return {}
    found = parsed(path)
    if not isinstance(found, Mapping):
        raise ValueError(f"{shown_path(path)}: no JSON object")
    return found


def _lower(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) else None
