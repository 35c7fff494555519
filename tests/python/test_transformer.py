"""Shapes of models from config.json, compared with published ones."""

import csv
import dataclasses
import json

import pytest
from conftest import CONFIGS, NO_TOOLS
from conftest import config_of as config
from peakline import Indexer, Layer, Transformer, Weights, Window, from_hf_config
from peakline.models.families import FAMILIES
from peakline.models.weights import mixture

LLAMA3_8B = config("llama-3-8b")


# By model, parameters of Hugging Face's class, and what its project says; see data/README.md.
with (CONFIGS.parent / "parameters.csv").open(encoding="utf-8") as file:
    MODELS = {row["model"]: row for row in csv.DictReader(file)}
# Names of the classes of transformers, where these are others or there is none.
CLASSES = {"internlm2": "", "kimi_k2": "deepseek_v3", "mimo": "qwen2", "nemotron-nas": ""}
# Defaults of transformers' classes (5.24), with parameters counted on PyTorch's meta device.
DEFAULTS = json.loads((CONFIGS.parent / "class_defaults.json").read_text())
# Likewise with other values than the defaults.
FLAGS = json.loads((CONFIGS.parent / "class_flags.json").read_text())


@pytest.mark.parametrize("name", MODELS)
def test_parameters_of_known_models(name):
    transformer, row = from_hf_config(CONFIGS / f"{name}.json"), MODELS[name]
    assert transformer == from_hf_config(config(name))
    params, total = transformer.params(), int(row["total"])
    assert (params.total, params.active) == (total, int(row["active"] or total))
    assert total / 1e9 == pytest.approx(float(row["published_e9"]), rel=0.005)
    if active := row["published_active_e9"]:
        assert params.active / 1e9 == pytest.approx(float(active), rel=0.02)


def test_text_config_takes_class_defaults():
    scout = from_hf_config({"model_type": "llama4", "text_config": {}})
    assert scout == from_hf_config(config("llama-4-scout"))


QWEN2_VL = {
    **{key: value for key, value in config("qwen2-7b").items() if key != "architectures"},
    "model_type": "qwen2_vl",
    "vision_config": {"depth": 32, "embed_dim": 1280, "model_type": "qwen2_vl"},
}
AUDIO = {"intermediate_size": 11008, "model_type": "qwen2", "vocab_size": 156032}
PHI4 = {"hidden_size": 3072, "intermediate_size": 8192, "num_attention_heads": 24}
PHI4 |= {"num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 200064}
PHI4 |= {"model_type": "phi4mm", "tie_word_embeddings": True, "vision_lora": {}, "speech_lora": {}}
LLAMA_FIELDS = {**LLAMA3_8B, "architectures": ["LlamaForCausalLM"]}


@pytest.mark.parametrize(
    ("values", "total", "left_out"),
    [
        # Qwen2-VL and Qwen2.5-VL: the text part at the top level beside vision_config.
        (QWEN2_VL, 7615616512, "its encoder of images"),
        ({**QWEN2_VL, "model_type": "qwen2_5_vl"}, 7615616512, "its encoder of images"),
        # Qwen2-Audio: what text_config omits has the defaults of Qwen2Config.
        (
            {"model_type": "qwen2_audio", "audio_config": {}, "text_config": AUDIO},
            7754878976,
            "its encoder of sound",
        ),
        # LLaVA-1.5, InternVL, DeepSeek-VL2, Qwen2.5-Omni.
        (
            {"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}},
            6738939904,
            "its encoder of images",
        ),
        (
            {"model_type": "internvl_chat", "vision_config": {}, "llm_config": LLAMA_FIELDS},
            8030261248,
            "its encoder of images",
        ),
        (
            {"model_type": "deepseek_vl_v2", "language_config": config("moonlight-16b-a3b")},
            15960108544,
            "its encoder of images",
        ),
        (
            {
                "model_type": "qwen2_5_omni",
                "thinker_config": {
                    "text_config": {**config("qwen2-7b"), "model_type": "qwen2_5_omni_text"}
                },
            },
            7615616512,
            "its encoder of images",
        ),
        # LLaVA-1.5 in its own format, NVILA.
        (
            {**LLAMA3_8B, "model_type": "llava_llama", "mm_vision_tower": "clip"},
            8030261248,
            "its encoder of images",
        ),
        (
            {"model_type": "llava_llama", "llm_cfg": config("qwen2-7b"), "vision_tower_cfg": {}},
            7615616512,
            "its encoder of images",
        ),
        (
            {**PHI4, "embd_layer": {}, "img_processor": None, "audio_processor": {}},
            3836021760,
            "its encoder of images and sound and its adapters (LoRA)",
        ),
        # Llama-3.2-11B-Vision.
        (
            {"model_type": "mllama", "text_config": {}, "vision_config": {}},
            9775192080,
            "its encoder of images and its 8 layers of cross-attention, which text alone skips",
        ),
        (
            {"model_type": "gemma3n", "text_config": {}, "vision_config": {}, "audio_config": {}},
            6835235568,
            "its encoder of images and sound and the products with zeros that its sparse MLPs "
            "could skip",
        ),
    ],
    ids=lambda case: case["model_type"] if isinstance(case, dict) else "",
)
def test_text_parts_of_other_models(values, total, left_out):
    model = from_hf_config(values)
    assert (model.params().total, model.left_out) == (total, left_out)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"_class_name": "FluxTransformer2DModel", "_diffusers_version": "0.30.0"},
            r"a part of a diffusion pipeline \(_class_name FluxTransformer2DModel\), no language",
        ),
        ({"_class_name": "UNet2DConditionModel", "patch_size": 1}, "a part of a diffusion"),
        (
            {"_class_name": "FluxPipeline", "_diffusers_version": "0.30.0"},
            r"^the config: a diffusion pipeline \(_class_name FluxPipeline\), no language model",
        ),
        ({"model_type": "deepseek_v3"}, "num_hidden_layers is missing, which must be a whole"),
        (
            {"model_type": "x", "llm_config": {"model_type": "internlm2"}},
            r"llm_config\.num_hidden_layers is missing",
        ),
    ],
)
def test_what_is_missing_or_no_language_model(values, said):
    with pytest.raises(ValueError, match=said):
        from_hf_config(values)


def test_a_folder_of_a_diffusion_pipeline(tmp_path):
    (tmp_path / "model_index.json").write_text('{"_class_name": "FluxPipeline"}')
    with pytest.raises(ValueError, match=r"model_index.json: .*_class_name FluxPipeline"):
        from_hf_config(tmp_path)


def test_internlm_7b_by_hand():
    fields = {"bias": True, "hidden_size": 4096, "intermediate_size": 11008, "vocab_size": 103168}
    fields |= {"num_attention_heads": 32, "num_hidden_layers": 32, "tie_word_embeddings": False}
    attention = 4 * (4096 * 4096 + 4096)  # Q, K, V and output, each with a bias
    layer = attention + 3 * 4096 * 11008 + 2 * 4096
    total = from_hf_config({"model_type": "internlm", **fields}).params().total
    assert total == 2 * 103168 * 4096 + 32 * layer + 4096
    assert total / 1e9 == pytest.approx(7.3, abs=0.05)


def test_text_skips_layers_of_cross_attention():
    vision = from_hf_config({"model_type": "mllama", "text_config": {}})
    plain = from_hf_config({**LLAMA3_8B, "num_hidden_layers": 32})
    assert vision.params().active == plain.params().active + 8 * 4096  # of 8 special tokens
    assert vision.flops(8192) == plain.flops(8192)
    assert [i for i, layer in enumerate(vision.layers) if not layer.heads] == [*range(3, 40, 5)]
    with pytest.raises(ValueError, match=r"cross_attention_layers .*of the model's layers"):
        from_hf_config({"model_type": "mllama", "text_config": {"cross_attention_layers": [40]}})


def test_layers_that_borrow_a_cache():
    model = from_hf_config({"model_type": "gemma3n", "text_config": {}})
    assert [i for i, layer in enumerate(model.layers) if layer.borrowed] == [*range(20, 35)]
    # 2 x 2 heads x 256; every fifth layer has no window.
    assert [layer.kept(8192) for layer in model.layers[18:21]] == [512 * 1024, 8192 * 1024, 0]
    assert model.layers[-1].borrowed == 1024
    own = model.layers[19].weights.products - model.layers[20].weights.products
    assert own == 2 * 2 * 256 * 2048  # K and V
    assert model.tables == 262144 * 35 * 256


PUBLISHED = {kind: fields for kind, fields, _ in FLAGS if kind in ("deepseek_v4", "minimax_m3")}


def test_compressed_attention_as_published():
    """At 1 Mi tokens DeepSeek-V4-Pro has 27 % of the FLOPs and 10 % of the cache of V3.2 (its model
    card), with a cache of fewer bytes per element."""
    pro = from_hf_config({"model_type": "deepseek_v4", **PUBLISHED["deepseek_v4"]})
    before = from_hf_config(config("deepseek-v3.2"))
    tokens = 1 << 20
    kept, flops = (
        [sum(of(layer) for layer in model.layers) for model in (pro, before)]
        for of in (lambda x: x.kept(tokens), lambda x: x.decoding_flops(tokens))
    )
    assert kept[0] / kept[1] == pytest.approx(0.10, abs=0.02)
    whole = [
        2 * model.params().matmul_params + own
        for model, own in zip((pro, before), flops, strict=True)
    ]
    assert whole[0] / whole[1] == pytest.approx(0.27, abs=0.01)
    # A window of 128, then 1024 of all entries of 4 tokens with an index of 128, or all of 128.
    heavy, sparse = pro.layers[1:3]
    assert heavy.cache_read(tokens) == 512 * (128 + tokens // 128)
    assert sparse.cache_read(tokens) == 512 * (128 + 1024) + 128 * tokens // 4
    assert heavy.decoding_flops(tokens) == 2 * 128 * 1024 * (128 + tokens // 128)
    scored = 2 * 64 * 128 * tokens // 4
    assert sparse.decoding_flops(tokens) == 2 * 128 * 1024 * (128 + 1024) + scored
    assert sparse.written == 512 + (512 + 128) / 4
    # The mean over a sequence whose chosen entries are all there is.
    mean = 128 - 128**2 / 4096 + 2048 / 4 / 2
    index = 2 * 64 * 128 * 2048 / 4 / 2
    assert sparse.attention_flops(2048, True, True) == 2 * 128 * 1024 * mean + index


def test_attention_to_chosen_blocks():
    layers = from_hf_config({"model_type": "minimax_m3", **PUBLISHED["minimax_m3"]}).layers
    assert [layer.keys for layer in layers] == [None] * 3 + [15 * 128 + 1] * 57
    assert layers[3].cache_read(32768) == (15 * 128 + 1) * 2 * 4 * 128 + 32768 * 128
    assert layers[0].cache_read(32768) == 32768 * 2 * 4 * 128


def test_windows_with_heads_of_their_own():
    fields = next(fields for kind, fields, _ in FLAGS if kind == "step3p5")
    layers = from_hf_config({"model_type": "step3p5", **fields}).layers
    assert [(layer.heads, layer.window) for layer in layers[:2]] == [(64, None), (96, Window(512))]
    other = {**fields["attention_other_setting"], "head_dim": 64}
    for changes, said in (
        ({"attention_other_setting": None}, "attention_other_setting is missing, which has"),
        ({"attention_other_setting": other}, "must differ in num_attention_heads alone"),
    ):
        with pytest.raises(ValueError, match=said):
            from_hf_config({"model_type": "step3p7", **fields, **changes})


SPARSE = "compressed_sparse_attention"


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("deepseek_v4", {"compress_ratios": [8] * 43}, "compress_ratios must be 0, 4, 128"),
        ("deepseek_v4", {"compress_ratios": [4]}, "compress_ratios must have one for each layer"),
        ("deepseek_v4", {"layer_types": ["full_attention"] * 43}, "layer_types must be a list of"),
        ("deepseek_v4", {"o_groups": 7}, "o_groups is 7, but must be a divisor of 32768"),
        ("deepseek_v4", {"compress_rates": {SPARSE: 10**400}}, f"compress_rates.{SPARSE} is 10"),
        ("gemma3n_text", {"intermediate_size": [10**400] * 35}, "a list of whole numbers up to"),
        ("gemma3n_text", {"intermediate_size": [1]}, "a width for each of the 35 layers"),
        ("gemma3n_text", {"num_kv_shared_layers": 35}, "must be less than the 35 layers"),
        ("gpt_neo", {"attention_types": [[["x"], 24]]}, "attention_types must have the form"),
        ("gpt_neo", {"attention_types": [[["local"], 1 << 60]]}, "attention_types must have"),
        ("minimax_m3", {"attention_output_gate": True}, "a gate is not counted"),
        ("minimax_m3", {"sparse_attention_config": {"sparse_init_block": 1}}, "no sparse_init"),
        (
            "minimax_m3",
            {
                "sparse_attention_config": {
                    "sparse_attention_freq": [1],
                    "sparse_disable_index_value": [0],
                }
            },
            "sparse_disable_index_value must be sparse_attention_freq",
        ),
    ],
)
def test_what_a_family_does_not_count(kind, changes, said):
    fields = DEFAULTS.get(kind, {"fields": PUBLISHED.get(kind)})["fields"]
    with pytest.raises(ValueError, match=said):
        from_hf_config({"model_type": kind, **fields, **changes})


def test_a_config_of_several_mebibytes(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA3_8B, "id2label": {str(i): "x" * 50 for i in range(60000)}}))
    assert from_hf_config(path) == from_hf_config(LLAMA3_8B)


def test_all_configs_are_tested():
    assert {path.stem for path in CONFIGS.iterdir()} == set(MODELS)
    texts = [values.get("text_config", values) for values in map(config, MODELS)]
    untested = set(FAMILIES) - {text["model_type"] for text in texts} - set(DEFAULTS)
    # The defaults of these classes make no valid model.
    assert untested <= {kind for kind, _, _ in FLAGS}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_defaults_of_classes(kind):
    row = DEFAULTS[kind]
    model = from_hf_config({"model_type": kind, **row["fields"]})
    assert model.params().total == row["total"]


@pytest.mark.parametrize("kind", DEFAULTS)
def test_defaults_are_those_of_transformers(kind):
    torch = pytest.importorskip("torch", reason=NO_TOOLS)
    transformers = pytest.importorskip("transformers", reason=NO_TOOLS)
    shape = transformers.AutoConfig.for_model(kind)
    with torch.device("meta"):
        theirs = transformers.AutoModelForCausalLM.from_config(shape)
    total = sum(p.numel() for p in theirs.parameters())
    written = json.loads(shape.to_json_string(use_diff=False))
    assert from_hf_config(written).params().total == total == DEFAULTS[kind]["total"]


def test_families_by_the_class_of_the_file():
    kimi = {**config("kimi-k2"), "model_type": "kimi_k9"}
    assert from_hf_config(kimi) == from_hf_config(config("kimi-k2"))
    assert (
        from_hf_config({"model_type": "kimi_k25", "text_config": kimi}).params().total
        == 1026408209408
    )
    renamed = {**config("deepseek-v3.2"), "model_type": "deepseek_v3"}
    assert from_hf_config(renamed) == from_hf_config(config("deepseek-v3.2"))
    other = {**LLAMA3_8B, "model_type": "mine", "architectures": ["MineForCausalLM"]}
    with pytest.raises(ValueError, match='"mine": known are'):
        from_hf_config(other)


def test_layers_of_their_own():
    gemma = config("gemma-4-26b-a4b")
    text = gemma["text_config"]
    wide = {"head_dim": 512, "num_key_value_heads": 2}
    own = {key: value for key, value in text.items() if "global" not in key}
    own["per_layer_config"] = {"05": wide, "11": wide}
    assert from_hf_config({**gemma, "text_config": own}) == from_hf_config(gemma)
    own["per_layer_config"] = {"05": wide, "11": {}}
    with pytest.raises(ValueError, match="per_layer_config must say the same"):
        from_hf_config({**gemma, "text_config": own})
    with pytest.raises(ValueError, match="per_layer_config is an object, but must be null"):
        from_hf_config({**LLAMA3_8B, "per_layer_config": {"0": {"hidden_size": 8}}})


@pytest.mark.parametrize(("kind", "flags", "total"), FLAGS)
def test_flags_of_classes(kind, flags, total):
    fields = {**DEFAULTS.get(kind, {"fields": {}})["fields"], **flags}
    assert from_hf_config({"model_type": kind, **fields}).params().total == total


def test_missing_kv_heads_are_as_in_the_class():
    mistral = {k: v for k, v in config("mistral-7b-v0.1").items() if k != "num_key_value_heads"}
    assert from_hf_config(mistral).layers[0].kv_heads == 8
    assert from_hf_config({**mistral, "num_key_value_heads": None}).layers[0].kv_heads == 32


def test_sparse_attention_of_known_models():
    # DeepSeek-V3.2: 64 heads of 128 score all keys and choose 2048 (arXiv:2512.02556).
    model = from_hf_config(config("deepseek-v3.2"))
    tokens = 131072
    scored = 2 * 64 * 128 * tokens
    assert model.attention_flops(tokens) == 61 * (2 * 128 * (192 + 128) * 2048 + scored)
    assert model.layers[0].cache_read(tokens) == 2048 * 576 + tokens * 128
    # Other conventions count the whole matrix, and no indexer.
    whole = from_hf_config(config("deepseek-v3")).attention_flops(tokens)
    assert model.attention_flops(tokens, convention="torchtitan") == whole
    # GLM-5.2: layers 0 to 2 and every fourth from 6 on have their own indexer.
    layers = from_hf_config(config("glm-5.2")).layers
    own = [0, 1, 2, *range(6, 78, 4)]
    assert [i for i, layer in enumerate(layers) if layer.indexer] == own
    assert {layer.keys for layer in layers} == {2048}


def test_layers_with_a_state():
    values = config("nemotron-3-nano-30b")
    with pytest.raises(ValueError, match="hybrid_override_pattern is missing"):
        from_hf_config({k: v for k, v in values.items() if k != "hybrid_override_pattern"})
    nano = from_hf_config(values)
    states = [layer for layer in nano.layers if layer.state]
    assert len(states) == 23
    assert states[0].state == 64 * 64 * 128 + 3 * (64 * 64 + 2 * 8 * 128)
    for convention in ("palm", "torchtitan", "nanogpt"):
        with pytest.raises(ValueError, match=f"{convention} has no count for layers that"):
            nano.flops(8192, convention=convention)
    # All layers of Granite-4.0-Micro attend.
    micro = {"model_type": "granitemoehybrid", "layer_types": ["attention"] * 40}
    micro |= {"hidden_size": 2560, "num_hidden_layers": 40, "num_attention_heads": 40}
    micro |= {"num_key_value_heads": 8, "num_local_experts": 0, "shared_intermediate_size": 8192}
    micro |= {"tie_word_embeddings": True, "vocab_size": 100352}
    found = from_hf_config(micro)
    assert found.flops(4096) > 6 * 3.4e9
    assert not any(layer.state for layer in found.layers)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_equal_transformers(name):
    torch = pytest.importorskip("torch", reason=NO_TOOLS)
    transformers = pytest.importorskip("transformers", reason=NO_TOOLS)
    values = config(name)
    tied = {k: v for k, v in values.items() if k == "tie_word_embeddings"}
    values = {**values.get("text_config", values), **tied}
    kind = values.pop("model_type")
    if not (kind := CLASSES.get(kind, kind)):
        pytest.skip("no such class")
    if kind.startswith("qwen3_vl"):  # as a text-only model
        kind = {"qwen3_vl_text": "qwen3", "qwen3_vl_moe_text": "qwen3_moe"}[kind]
    shape = transformers.AutoConfig.for_model(kind, **values)
    with torch.device("meta"):
        theirs = transformers.AutoModelForCausalLM.from_config(shape)
    ours = from_hf_config(config(name))
    assert sum(p.numel() for p in theirs.parameters()) == ours.params().total
    if kinds := getattr(shape, "layer_types", None):
        assert [kind in ("sliding_attention", "chunked_attention") for kind in kinds] == [
            layer.window is not None for layer in ours.layers
        ]


def attended(sequence, window, chunked):
    """Keys that the queries of a sequence may see, counted one by one."""
    if chunked:
        return sum(i % window + 1 for i in range(sequence))
    return sum(min(i + 1, window) for i in range(sequence))


@pytest.mark.parametrize("chunked", [False, True], ids=["sliding", "chunked"])
@pytest.mark.parametrize(("sequence", "window"), [(4096, 128), (5000, 1024), (512, 512), (70, 900)])
def test_windows_by_counting_keys(sequence, window, chunked):
    one = Layer(Weights(), 3, 10, 6, Window(window, chunked), kv_heads=3, cached=48)
    model = Transformer((one,), 0, 30, True)
    flops = model.attention_flops(sequence, causal=True)
    # Conventions count half of a square: the diagonal is half a key of each query.
    exact = 2 * 3 * (10 + 6) * (attended(sequence, window, chunked) / sequence)
    assert flops == pytest.approx(exact, abs=2 * 3 * (10 + 6) * 0.5)
    assert model.attention_flops(sequence, convention="torchtitan") == 2 * 3 * 16 * sequence


# By model: elements per token in the KV cache of all layers, elements that decoding reads after
# 8192 tokens, (n, k) of the first layer's matrices, and of one routed expert.
SHAPES = {
    # 2 x 8 heads x 128 a layer: 128 KiB of BF16 a token over all layers.
    "llama-3-8b": (
        *(32 * 2048, 8192 * 32 * 2048),
        [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)],
        None,
    ),
    # arXiv:2412.19437, 2.1.1: 512 + 64 a layer; dense MLPs first.
    "deepseek-v3": (
        *(61 * 576, 8192 * 61 * 576),
        [(2112, 7168), (24576, 1536), (32768, 512), (7168, 16384), (36864, 7168), (7168, 18432)],
        [(4096, 7168), (7168, 2048)],
    ),
    # Every second layer reads only 128 tokens.
    "gpt-oss-20b": (
        *(24 * 1024, (12 * 128 + 12 * 8192) * 1024),
        [(5120, 2880), (2880, 4096)],
        [(5760, 2880), (2880, 2880)],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_layers_know_what_decoding_needs(name):
    cached, read, first, expert = SHAPES[name]
    model = from_hf_config(config(name))
    assert sum(layer.cached for layer in model.layers) == cached
    assert sum(layer.cache_read(8192) for layer in model.layers) == read
    assert list(model.layers[0].products) == first
    experts = model.layers[-1].experts
    assert (experts and list(experts.one.matrices)) == expert
    assert model.table == model.hidden * config(name)["vocab_size"]
    for layer in model.layers:
        assert layer.cached == (
            layer.kv_heads * (layer.qk_dim + layer.v_dim)
            if layer.absorbed is None
            else layer.absorbed[0]
        )
        assert layer.weights.products == sum(n * k for n, k in layer.products) + (
            layer.experts.chosen * layer.experts.one.products if layer.experts else 0
        )


def test_sparse_attention_by_its_indexer():
    one = Layer(
        Weights(), 3, 10, 6, kv_heads=1, cached=20, keys=100, indexer=Indexer(heads=4, dim=5)
    )
    # Chosen tokens without the indexer's key, and that key of all tokens.
    assert one.cache_read(1000) == 100 * 15 + 1000 * 5
    assert one.cache_read(50) == 50 * 20
    chosen = 2 * 3 * 16 * (100 - 100**2 / 2000)
    assert one.attention_flops(1000, True, True) == chosen + 2 * 4 * 5 * 500
    assert one.attention_flops(1000, True, False) == 2 * 3 * 16 * 500
    # A layer that shares another's choice scores nothing.
    shared = dataclasses.replace(one, indexer=None, cached=15)
    assert shared.cache_read(1000) == 100 * 15
    assert shared.attention_flops(1000, True, True) == chosen


def test_a_layer_has_one_mixture():
    one = mixture(8, 8, 4, 2)
    assert one.total == 4 * 3 * 64 + 8 * 4
    with pytest.raises(ValueError, match="one mixture"):
        one + one


@pytest.mark.parametrize(
    ("name", "attention"),
    [
        # Every second layer of Gemma 2 and gpt-oss, five of six of Gemma 3, three of four of
        # Llama 4.
        ("gemma-2-9b", 4 * 16 * 256 * (21 * 4096 + 21 * 32768)),
        ("gpt-oss-120b", 4 * 64 * 64 * (18 * 128 + 18 * 32768)),
        ("gemma-3-27b", 4 * 32 * 128 * (52 * 1024 + 10 * 32768)),
        ("llama-4-scout", 4 * 40 * 128 * (36 * 8192 + 12 * 32768)),
        ("phi-3-mini-4k", 4 * 32 * 96 * 32 * 2047),
        ("qwen2-7b", 4 * 28 * 128 * 28 * 32768),
        ("deepseek-v3", 2 * 128 * (192 + 128) * 61 * 32768),
    ],
)
def test_windows_of_known_models(name, attention):
    assert from_hf_config(config(name)).attention_flops(32768) == attention


@pytest.mark.parametrize(
    ("name", "changes", "windows"),
    [
        # layer_types overrides the family's rule.
        (
            "gemma-2-9b",
            {"layer_types": ["full_attention"] * 41 + ["sliding_attention"]},
            [None] * 41 + [Window(4096)],
        ),
        # Qwen2's first layers have no window.
        (
            "qwen2-7b",
            {"use_sliding_window": True, "sliding_window": 512, "max_window_layers": 20},
            [None] * 20 + [Window(512)] * 8,
        ),
    ],
)
def test_layers_with_a_window(name, changes, windows):
    model = from_hf_config({**config(name), **changes})
    assert [layer.window for layer in model.layers] == windows


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        # Fields of published configs: mamba-2.8b, Jamba, Falcon-H1, RWKV, LFM2, MiniMax-Text,
        # xLSTM, bert-base, distilbert, T5, ViT, EmbeddingGemma.
        ({"model_type": "mamba", "state_size": 16}, "keep a state of a kind that is not counted"),
        ({"model_type": "jamba", "mamba_d_state": 16}, "keep a state"),
        ({"model_type": "falcon_h1", "mamba_d_state": 256}, "keep a state"),
        ({"model_type": "rwkv", "rescale_every": 6}, "keep a state"),
        ({"model_type": "lfm2", "conv_L_cache": 3, "layer_types": ["conv"]}, "keep a state"),
        ({"model_type": "minimax", "layer_types": ["linear_attention"]}, "keep a state"),
        ({"model_type": "xlstm", "qk_dim_factor": 0.5}, "keep a state"),
        ({"model_type": "bert", "type_vocab_size": 2}, "an encoder, but bounds are for"),
        ({"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"]}, "an encoder,"),
        ({"model_type": "t5", "architectures": ["T5EncoderModel"]}, "an encoder,"),
        ({"model_type": "t5", "is_encoder_decoder": True}, "an encoder and a decoder"),
        ({"model_type": "vit", "patch_size": 16}, "an encoder of images"),
        ({"model_type": "mine", "compress_ratios": [0, 4]}, r"keys \(compress_ratios\), not"),
        ({"model_type": "mine", "sparse_attention_config": {}}, r"keys \(sparse_attention_config"),
        # Kimi-K3.
        (
            {"model_type": "kimi_k3", "text_config": {"attn_res_block_size": 12}},
            "a model with attn_res_block_size, whose work is not published",
        ),
        (
            {"model_type": "clip", "text_config": {}, "vision_config": {}},
            "an encoder of texts and one of images or sound, but bounds are for decoders",
        ),
        (
            {"model_type": "x", "text_config": {"model_type": "siglip_text_model"}},
            "an encoder of texts and one of images or sound",
        ),
        ({"model_type": "clip_text_model"}, "an encoder, but bounds are for decoders"),
        ({"model_type": "siglip_vision_model", "patch_size": 14}, "an encoder of images, but bou"),
        ({"model_type": "hubert", "feat_extract_norm": "group"}, "an encoder of sound, but bounds"),
        (
            {"model_type": "musicgen", "text_encoder": {}, "decoder": {}},
            "an encoder and a decoder, but bounds are for a decoder alone",
        ),
        ({"model_type": "llada", "architectures": ["LLaDAModelLM"]}, "a diffusion language model"),
        ({"model_type": "mine", "layer_types": ["a", "b"]}, "no known family whose layers differ"),
        ({**config("gemma-3-1b"), "use_bidirectional_attention": True}, "an encoder,"),
    ],
)
def test_uncountable_models_are_refused(values, reason):
    with pytest.raises(ValueError, match=f"{reason}.*--flops-per-token") as refused:
        from_hf_config(values)
    assert "--heads" not in str(refused.value)
