"""Formats, bytes and types of weights from config.json and synthetic safetensors files."""

import json
import os
import tracemalloc

import pytest
from peakline import Formats, checkpoint


def header(tensors):
    """A safetensors file with only a header; nothing else is read."""
    text = json.dumps(tensors).encode()
    return len(text).to_bytes(8, "little") + text


def config(folder, **fields):
    (folder / "config.json").write_text(json.dumps(fields))


def tensor(dtype, begin, end):
    return {"dtype": dtype, "shape": [end - begin], "data_offsets": [begin, end]}


def test_bytes_by_type_over_all_files(tmp_path):
    both = {"a": tensor("BF16", 0, 64), "b": tensor("F8_E4M3", 64, 80), "__metadata__": {"x": "y"}}
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(header(both))
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(header({"c": tensor("BF16", 0, 6)}))
    config(tmp_path, max_position_embeddings=4096)
    found = checkpoint(tmp_path)
    assert found == checkpoint(tmp_path / "config.json")
    assert found.types == {"BF16": 70, "F8_E4M3": 16}
    assert (found.bytes, found.stated, found.longest_context) == (86, True, 4096)
    assert found.formats() == Formats("bf16", stored_bytes=86)
    (tmp_path / "model-00003-of-00003.safetensors").write_bytes(
        header({"d": tensor("F8_E4M3", 0, 90)})
    )
    assert checkpoint(tmp_path).formats() == Formats("fp8", stored_bytes=176)
    # Weights beside a file of another name do not belong to it.
    (tmp_path / "other_config.json").write_text("{}")
    alone = checkpoint(tmp_path / "other_config.json")
    assert (alone.bytes, alone.stated, alone.formats()) == (0, False, Formats())


def test_a_header_as_long_as_a_gzip_file_begins(tmp_path):
    text = json.dumps({"a": tensor("U8", 0, 5)}).encode()
    length = 0x8B1F  # gzip's magic number, as little-endian bytes
    path = tmp_path / "a.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + text.ljust(length))
    config(tmp_path)
    assert checkpoint(tmp_path).types == {"U8": 5}


def packed(layout, ignore, **weights):
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    stated = {"quant_method": "compressed-tensors", "format": layout, "config_groups": groups}
    return {**stated, "ignore": ignore}


EXPERTS_ALONE = ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*"]
FP8_CACHE = {"dynamic": False, "num_bits": 8, "type": "float"}
# quantization_config and formats, as in the files of these models.
FP8_BY_BLOCKS = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
GLM_IGNORES = ["lm_head", "model.layers.9.self_attn*", "model.layers.9.mlp.shared_experts*"]
INT4 = {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}
FP4 = {"num_bits": 4, "type": "float", "group_size": 32}
NVFP4 = {"quant_algo": "NVFP4", "kv_cache_scheme": FP8_CACHE}
STATED = {
    "DeepSeek-V3": (FP8_BY_BLOCKS, Formats("fp8block")),
    "gpt-oss": ({"quant_method": "mxfp4"}, Formats(experts="mxfp4")),
    "Qwen3-32B-FP8": (
        {"quant_algo": "FP8", "kv_cache_scheme": "FP8", "ignore": ["lm_head"]},
        Formats("fp8", "fp8"),
    ),
    "Kimi-K2.5-NVFP4": ({"quant_method": "modelopt", **NVFP4}, Formats("nvfp4", "fp8")),
    "GLM-5.2-NVFP4": ({**NVFP4, "ignore": GLM_IGNORES}, Formats("bf16", "fp8", experts="nvfp4")),
    "Kimi-K2.5": (packed("pack-quantized", EXPERTS_ALONE, **INT4), Formats(experts="int4g32sym")),
    "Kimi-K3": (packed("mxfp4-pack-quantized", EXPERTS_ALONE, **FP4), Formats(experts="mxfp4")),
    "W8A8": (packed("int-quantized", ["lm_head"], num_bits=8, type="int"), Formats("int8")),
    "FP8-dynamic": (
        packed("float-quantized", ["lm_head"], num_bits=8, type="float"),
        Formats("fp8"),
    ),
    "AWQ": ({"quant_method": "awq", "bits": 4, "group_size": 128}, Formats("int4g128")),
}


@pytest.mark.parametrize("name", STATED)
def test_formats_that_files_state(tmp_path, name):
    stated, formats = STATED[name]
    config(tmp_path, quantization_config=stated)
    assert checkpoint(tmp_path).formats() == formats
    config(tmp_path, text_config={"quantization_config": stated})
    assert checkpoint(tmp_path).formats() == formats


def test_hf_quant_config_goes_first(tmp_path):
    # nvidia/Llama-3.1-70B-Instruct-FP8 has no quantization_config.
    stated = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(stated))
    config(tmp_path)
    assert checkpoint(tmp_path).formats() == Formats("fp8", "fp8")
    config(tmp_path, quantization_config={"quant_method": "modelopt"})
    assert checkpoint(tmp_path).formats() == Formats("fp8", "fp8")


def test_bytes_of_int4():
    # A BF16 scale per group, and a 4-bit zero point unless symmetric.
    assert Formats("int4g128").dense_bytes == (128 / 2 + 2 + 0.5) / 128
    assert Formats("int4g32sym").dense_bytes == (32 / 2 + 2) / 32


@pytest.mark.parametrize(
    "stated",
    [
        {"quant_method": "aqlm"},
        {"quant_method": "gptq", "bits": 3, "group_size": 128},
        {"bits": 4},
        packed("pack-quantized", [], num_bits=2, type="int", group_size=32),
        packed("marlin-24", [], num_bits=4, type="float", group_size=16),
        {"quant_method": "compressed-tensors", "config_groups": {"a": {}, "b": {}}},
    ],
)
def test_unknown_quantizations_name_the_option(tmp_path, stated):
    config(tmp_path, quantization_config=stated)
    with pytest.raises(ValueError, match=r"config.json: the quantization .*: name --weights, one"):
        checkpoint(tmp_path).formats()


def test_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"config.json: cannot be read"):
        checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "hf_quant_config.json", "a.safetensors"])
def test_a_pipe_in_a_folder_is_not_awaited(tmp_path, name):
    config(tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=f"{name}: not a regular file"):
        checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("unit", "mebibytes", "said"),
    [(b'"ab",', 90, "header is larger than 32 MiB"), (b"[],", 31, "more than 1048576 objects")],
)
def test_large_headers_are_refused_cheaply(tmp_path, unit, mebibytes, said):
    config(tmp_path)
    text = b'{"a": [' + unit * ((mebibytes << 20) // len(unit)) + b"0]}"
    (tmp_path / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    tracemalloc.start()
    with pytest.raises(ValueError, match=said):
        checkpoint(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 70 << 20
    tracemalloc.stop()
