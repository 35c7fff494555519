"""Bytes and types of weights from made safetensors files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from peakline import checkpoint


def write(path: Path, tensors: dict[str, Any], cut: int | None = None) -> None:
    """A safetensors file of a header alone, which is all that is read."""
    text = json.dumps(tensors).encode()
    path.write_bytes((len(text).to_bytes(8, "little") + text)[:cut])


def tensor(dtype: str, begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [end - begin], "data_offsets": [begin, end]}


def test_bytes_by_type_over_all_files(tmp_path: Path) -> None:
    both = {"a": tensor("BF16", 0, 64), "b": tensor("F8_E4M3", 64, 80), "__metadata__": {"x": "y"}}
    write(tmp_path / "model-00001-of-00002.safetensors", both)
    write(tmp_path / "model-00002-of-00002.safetensors", {"c": tensor("BF16", 0, 6)})
    found = checkpoint(tmp_path)
    assert found.types == {"BF16": 70, "F8_E4M3": 16}
    assert (found.bytes, found.weights, found.kv_cache) == (86, None, None)


def test_a_header_as_long_as_a_gzip_file_begins(tmp_path: Path) -> None:
    text = json.dumps({"a": tensor("U8", 0, 5)}).encode()
    length = 0x8B1F  # in this order of bytes the mark of gzip
    path = tmp_path / "a.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + text.ljust(length))
    assert checkpoint(tmp_path).types == {"U8": 5}


@pytest.mark.parametrize(
    ("files", "formats"),
    [
        # nvidia/Llama-3.1-70B-Instruct-FP8: no quantization_config.
        (
            {
                "hf_quant_config": {
                    "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}
                }
            },
            ("fp8", "fp8"),
        ),
        ({"config": {"quantization_config": {"quant_method": "mxfp4"}}}, ("mxfp4", None)),
        (
            {"config": {"text_config": {"quantization_config": {"quant_algo": "NVFP4"}}}},
            ("nvfp4", None),
        ),
        (
            {
                "hf_quant_config": {"quantization": {"quant_algo": "NVFP4"}},
                "config": {"quantization_config": {"quant_method": "modelopt"}},
            },
            ("nvfp4", None),
        ),
        ({"config": {"model_type": "llama"}}, (None, None)),
    ],
)
def test_formats(
    tmp_path: Path, files: dict[str, Any], formats: tuple[str | None, str | None]
) -> None:
    write(tmp_path / "a.safetensors", {})
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = checkpoint(tmp_path)
    assert (found.weights, found.kv_cache) == formats


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match="no folder with files"):
            checkpoint(folder)
    path = tmp_path / "a.safetensors"
    whole = {"a": tensor("BF16", 0, 64)}
    for cut in (0, 4, 20):
        write(path, whole, cut)
        with pytest.raises(ValueError, match=r"a.safetensors: no safetensors file, or cut"):
            checkpoint(tmp_path)
    path.write_bytes(b"\xff" * 64)
    with pytest.raises(ValueError, match="no safetensors file"):
        checkpoint(tmp_path)
    for bad in ({"dtype": "BF16"}, 1, tensor("BF16", 9, 3), {**whole["a"], "dtype": 3}):
        write(path, {"a": bad})
        with pytest.raises(ValueError, match="a tensor has no dtype and data_offsets"):
            checkpoint(tmp_path)
    write(path, whole)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config.json: not JSON"):
        checkpoint(tmp_path)
