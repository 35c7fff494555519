"""Formats, bytes and types of weights from config.json and synthetic safetensors files."""

import dataclasses
import json
import os
import tracemalloc

import pytest
from conftest import ONE_GPU, config_of, reference
from peakline import Checkpoint, Formats, Serving, checkpoint, decode_bound, from_hf_config
from peakline.models.inference import weights_stored


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


def packed(layout, ignore, inputs=None, **weights):
    groups = {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": inputs}}
    stated = {"quant_method": "compressed-tensors", "format": layout, "config_groups": groups}
    return {**stated, "ignore": ignore}


_DENSE = "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"
EXPERTS_ALONE = ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", _DENSE]
FP8_CACHE = {"dynamic": False, "num_bits": 8, "type": "float"}
# quantization_config and formats, as in the files of these models.
FP8_BY_BLOCKS = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
GLM_IGNORES = ["lm_head", "model.layers.9.self_attn*", "model.layers.9.mlp.shared_experts*"]
INT4 = {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}
FP4 = {"num_bits": 4, "type": "float", "group_size": 32}
FP8 = {"num_bits": 8, "type": "float"}
BY_TOKEN = {**FP8, "dynamic": True, "strategy": "token"}
NVFP4 = {"quant_algo": "NVFP4", "kv_cache_scheme": FP8_CACHE}
STATED = {
    "DeepSeek-V3": (FP8_BY_BLOCKS, Formats("fp8block")),
    "gpt-oss": ({"quant_method": "mxfp4"}, Formats(experts="mxfp4")),
    "Qwen3-32B-FP8": (
        {"quant_algo": "FP8", "kv_cache_scheme": "FP8", "ignore": ["lm_head"]},
        Formats("fp8", "fp8"),
    ),
    "Kimi-K2.5-NVFP4": ({"quant_method": "modelopt", **NVFP4}, Formats("nvfp4", "fp8")),
    "GLM-5.2-NVFP4": (
        {**NVFP4, "ignore": GLM_IGNORES},
        Formats("bf16", "fp8", experts="nvfp4", dense="nvfp4"),
    ),
    "Kimi-K2.5": (packed("pack-quantized", EXPERTS_ALONE, **INT4), Formats(experts="int4g32sym")),
    "Kimi-K3": (packed("mxfp4-pack-quantized", EXPERTS_ALONE, **FP4), Formats(experts="mxfp4")),
    "W8A8": (packed("int-quantized", ["lm_head"], num_bits=8, type="int"), Formats("int8")),
    "FP8": (packed("float-quantized", ["lm_head"], **FP8, strategy="tensor"), Formats("fp8")),
    "FP8-dynamic": (
        packed("float-quantized", ["lm_head"], BY_TOKEN, **FP8, strategy="channel"),
        Formats("fp8row"),
    ),
    "FP8-static": (
        packed("float-quantized", ["lm_head"], {"strategy": "tensor"}, **FP8, strategy="channel"),
        Formats("fp8"),
    ),
    "FP8-block": (
        packed("float-quantized", ["lm_head"], {"strategy": "group"}, **FP8, strategy="block"),
        Formats("fp8block"),
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


def sized(name, stated, **fields):
    """Bytes of all weights in GB and formats of a model with these statements."""
    values = {**config_of(name), **fields}
    model = from_hf_config(values)
    formats = Checkpoint("config.json", stated, {}, None).formats(model)
    return round(weights_stored(model, formats) / 1e9, 2), formats


EACH = range(48)
ATTENTION = ["lm_head", *(f"model.layers.{i}.self_attn*" for i in EACH)]
ALGORITHM = {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16}
LINEAR = {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Linear"]}
FP8_WEIGHTS = {"weights": {"num_bits": 8, "type": "float"}}
QWEN_EXPERTS = Formats("bf16", "fp8", experts="nvfp4")


@pytest.mark.parametrize(
    ("stated", "gigabytes", "formats"),
    [
        ({**ALGORITHM, "exclude_modules": ATTENTION}, 19.39, QWEN_EXPERTS),
        ({**ALGORITHM, "quant_method": "modelopt", "ignore": ATTENTION}, 19.39, QWEN_EXPERTS),
        ({**ALGORITHM, "ignore": ["re:.*self_attn.*"]}, 19.39, QWEN_EXPERTS),
        ({**ALGORITHM, "modules_to_not_convert": ["self_attn"]}, 19.39, QWEN_EXPERTS),
        ({**ALGORITHM, "ignore": ["*.self_attn.*"]}, 19.39, QWEN_EXPERTS),
        # Encoders' layers have the same names.
        ({**ALGORITHM, "ignore": ["vision_tower.layers.*.self_attn*"]}, 18.09, None),
        # Modules of a layer, one by one; and only some layers.
        (
            {
                **ALGORITHM,
                "ignore": [
                    f"model.layers.{i}.self_attn.{name}_proj" for i in (0, 1) for name in "qkvo"
                ],
            },
            18.14,
            Formats(
                "nvfp4",
                "fp8",
                layers=((0, "attention", "bf16", 1.0), (1, "attention", "bf16", 1.0)),
            ),
        ),
        (
            {
                "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {
                    name: {"quant_algo": how, "group_size": 16}
                    for i in EACH
                    for name, how in (
                        (f"model.layers.{i}.self_attn", "FP8"),
                        (f"model.layers.{i}.mlp.experts", "NVFP4"),
                    )
                },
            },
            18.48,
            Formats("fp8", experts="nvfp4"),
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "nvfp4-pack-quantized",
                "config_groups": {
                    "group_0": {**FP8_WEIGHTS, "targets": ["re:.*self_attn.*"]},
                    "group_1": LINEAR,
                },
                "ignore": ["lm_head"],
            },
            18.48,
            Formats("fp8", experts="nvfp4"),
        ),
        # compressed-tensors quantizes an output head that it does not ignore.
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {**FP8_WEIGHTS, "targets": ["Linear"]}},
                "ignore": [],
            },
            30.86,
            Formats("fp8", head="fp8"),
        ),
        (
            {
                "quant_method": "gptq",
                "bits": 4,
                "group_size": 128,
                "dynamic": {r"-:.*\.self_attn\..*": {}},
            },
            18.14,
            Formats("bf16", experts="int4g128"),
        ),
    ],
)
def test_formats_of_modules_by_name(stated, gigabytes, formats):
    found, made = sized("qwen3-30b-a3b", stated)
    assert found == gigabytes
    assert formats is None or made == formats


def test_a_dense_model_with_plain_attention():
    # nvidia/Gemma-4-31B-IT-NVFP4 is stated like this.
    stated = {**ALGORITHM, "exclude_modules": ["lm_head", "model.layers.*.self_attn*"]}
    _, made = sized("llama-3-8b", stated)
    assert made == Formats("bf16", "fp8", dense="nvfp4")
    assert str(made) == "bf16 with nvfp4 MLPs"
    assert made.precision == "nvfp4"


def test_experts_in_a_type_of_their_own(tmp_path):
    # deepseek-ai/DeepSeek-V4-Flash is stated like this.
    fields = {"model_type": "deepseek_v4", "expert_dtype": "fp4", "hidden_size": 4096}
    fields["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    config(tmp_path, **fields)
    made = checkpoint(tmp_path).formats(from_hf_config(tmp_path))
    assert made == Formats("fp8block", experts="mxfp4")


def test_a_bound_reads_modules_in_their_formats():
    stated = {**ALGORITHM, "exclude_modules": ATTENTION}
    _, formats = sized("qwen3-30b-a3b", stated)
    model = from_hf_config(config_of("qwen3-30b-a3b"))
    step = decode_bound(reference(ONE_GPU), model, Serving(formats=formats))
    assert step.weight_bytes / 1e9 == pytest.approx(3.479, abs=5e-4)
    assert step.tokens_per_s <= 1335


def test_headers_decide_about_modules(tmp_path):
    config(tmp_path, **config_of("qwen3-30b-a3b"), quantization_config=ALGORITHM)
    names = {"self_attn.q_proj.weight": "BF16", "mlp.experts.0.up_proj.weight": "U8"}
    names |= {"mlp.experts.0.up_proj.weight_scale": "F8_E4M3"}
    tensors = {
        f"model.layers.{i}.{name}": tensor(dtype, 0, 64)
        for i in EACH
        for name, dtype in names.items()
    }
    (tmp_path / "a.safetensors").write_bytes(header(tensors))
    model = from_hf_config(tmp_path)
    found = checkpoint(tmp_path).formats(model)
    assert dataclasses.replace(found, stored_bytes=None) == QWEN_EXPERTS
    config(tmp_path, **config_of("qwen3-30b-a3b"))
    with pytest.raises(ValueError, match=r"layer 0's experts, stored as U8, is not stated"):
        checkpoint(tmp_path).formats(model)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"ignore": ["model.layers.3.self_attn.o_proj"]}, r"at layers\.3\.self_attn\.o_proj"),
        ({"exclude_modules": ["re:(.*)*x"]}, "is too complex"),
        ({"exclude_modules": ["re:("]}, "no regular expression"),
        ({"exclude_modules": ["*a*a*a*a*a*a*a*a"]}, "is too complex"),
        ({"exclude_modules": [f"*{i}x" for i in range(9999)]}, "are too many"),
        (
            {"quantized_layers": {"model.layers.0.mlp": {"quant_algo": "W9"}}},
            "of model.layers.0.mlp",
        ),
        (
            {"quant_algo": "", "quant_method": "gptq", "dynamic": {"+:.*down.*": {"bits": 2}}},
            "is not known",
        ),
    ],
)
def test_unclear_modules_are_refused_by_name(stated, said):
    with pytest.raises(ValueError, match=rf"config.json: .*{said}.*name --weights"):
        sized("qwen3-30b-a3b", {**ALGORITHM, **stated})
