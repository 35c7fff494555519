"""Bounds of decoding and prefill lie above all published figures."""

import csv
import dataclasses
import json
import math
import re

import peakline
import pytest
from conftest import CONFIGS, DATA, ONE_GPU, ROOT, TWO_GPUS, ceiling, config_of, reference
from made_rates import with_ceilings, with_groups
from peakline import (
    Formats,
    PeakError,
    Serving,
    Transformer,
    decode_bound,
    from_hf_config,
    prefill_bound,
)
from peakline.limits.collectives import ALL_REDUCES
from peakline.models.inference import all_reduces
from peakline.models.served import decoding, served

ROWS = list(csv.DictReader((DATA / "inference_truth.csv").open()))
# (source, model, weights, batch) of engines that come near the bound on one GPU, and so reveal a
# bound that is too loose.
TIGHT = {
    ("gpt-fast", "Llama-2-7B", "bf16", "1"),
    ("torchao", "Llama-2-7B", "bf16", "1"),
    ("torchao", "Llama-3.1-8B", "bf16", "1"),
    ("lmdeploy", "Llama-2-7B", "bf16", "16"),
    ("TRT-LLM", "Llama-2-7B", "fp8", "48"),
    ("TRT-LLM", "Llama-2-7B", "fp8", "112"),
}


def llama(layers, heads, kv_heads, mlp, vocabulary):
    return Transformer.uniform(layers, heads, 128, mlp, vocabulary, kv_heads=kv_heads)


MODELS = {
    "Llama-2-7B": llama(32, 32, 32, 11008, 32000),
    "Llama-2-13B": llama(40, 40, 40, 13824, 32000),
    "Llama-2-70B": llama(80, 64, 8, 28672, 32000),
    "Llama-3.1-8B": llama(32, 32, 8, 14336, 128256),
    "Llama-3.1-70B": llama(80, 64, 8, 28672, 128256),
    "Llama-3.1-405B": llama(126, 128, 8, 53248, 128256),
    "Qwen2.5-14B": llama(48, 40, 8, 13824, 152064),
    "Mixtral-8x7B": Transformer.uniform(
        32, 32, 128, 14336, 32000, kv_heads=8, experts=8, experts_per_token=2
    ),
    "Qwen3-30B-A3B": Transformer.uniform(
        48, 32, 128, 768, 151936, hidden=2048, kv_heads=4, experts=128, experts_per_token=8
    ),
    "Qwen3-1.7B": Transformer.uniform(
        28, 16, 128, 6144, 151936, hidden=2048, kv_heads=8, tied_embeddings=True
    ),
    "DeepSeek-R1": peakline.from_hf_config(config_of("deepseek-v3")),
}
LLAMA_8B = MODELS["Llama-3.1-8B"]


def specified(memory, bandwidth, rates, l2):
    """A profile of a GPU with these ceilings."""
    base = reference(ONE_GPU)
    gpu = dataclasses.replace(base.devices[0], memory_bytes=int(memory), l2_bytes=l2)
    values = {"hbm.read": bandwidth, **rates}
    rows = [
        dataclasses.replace(row, value=values[row.resource], basis="datasheet")
        for row in {c.resource: c for c in base.ceilings if c.device == gpu.uuid}.values()
        if row.resource in values
    ]
    return dataclasses.replace(base, devices=(gpu,), ceilings=tuple(rows))


MEBI = 1 << 20
DEVICES = {
    "A100 80GB": specified(80 * 1024**3, 2039e9, {"tensor.bf16": 312e12}, 40 * MEBI),
    # Bandwidth and BF16 from reports/reference/populations. Quick runs leave out FP8 instructions:
    # from the H200, which has the same SMs.
    "H100 SXM": specified(
        80 * 1024**3, 3215e9, {"tensor.bf16": 937e12, "tensor.fp8": 1765e12}, 50 * MEBI
    ),
    "H200": reference(ONE_GPU),
}


def formats_of(row):
    weights = "fp8block" if "blocks" in row["weights"] else row["weights"]
    return Formats(weights, row["kv"], row["head"], compute=row["compute"])


def bound_of(row, model, formats):
    """The bound in the row's unit; first tokens per second for a time to first token."""
    profile = DEVICES[row["device"]]
    shared = {"tp": int(row["gpus"]), "formats": formats}
    prompt, output = int(row["context_or_input"]), int(row["output"] or 0)
    batch = int(row["batch"] or 0)
    if row["kind"] == "decode":
        step = decode_bound(profile, model, Serving(batch, prompt, **shared))
        return step.tokens_per_s
    if row["kind"] == "ttft":
        return 1 / prefill_bound(profile, model, Serving(batch, prompt, **shared)).seconds
    middle = prompt + output // 2
    if not batch:
        at = decode_bound(profile, model, Serving(context=middle, **shared))
        assert at.largest_batch
        batch = at.largest_batch
    step = decode_bound(profile, model, Serving(batch, middle, **shared))
    first = prefill_bound(profile, model, Serving(batch, prompt, **shared))
    if row["kind"] == "static":
        # Bytes and FLOPs grow linearly with the context, so the middle step is the mean.
        return batch * output / (first.seconds + output * step.seconds)
    memory, tensor = (
        [part.needs[name] for part in (step, first)] for name in ("hbm.read", tensor_of(step))
    )
    compute = output * tensor[0] + tensor[1]
    return batch * output / max(compute, output * memory[0])


def tensor_of(step):
    return next(name for name in step.needs if name.startswith("tensor"))


def share(row, model, formats):
    published = float(row["published"])
    achieved = 1e3 / published if row["kind"] == "ttft" else published
    return achieved / bound_of(row, model, formats)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']}-{row['source'][:24]}")
def test_published_figures_lie_below_the_bound(row):
    found = share(row, MODELS[row["model"]], formats_of(row))
    least = 0.6 if is_tight(row) else 0.1
    assert least < found < 1


def is_tight(row):
    source = re.split("[ /]", row["source"])[0]
    return (source, row["model"], row["weights"], row["batch"]) in TIGHT


def test_all_rows_are_there():
    assert len(ROWS) == 50
    assert sum(map(is_tight, ROWS)) == len(TIGHT)


def above(change):
    return sum(share(row, *change(row)) > 1 for row in ROWS)


def test_wrong_formulas_exceed_the_bound():
    def as_bf16(row):
        return MODELS[row["model"]], Formats(compute=row["compute"])

    def as_mha(row):
        def changed(layer):
            cached = layer.heads * (layer.qk_dim + layer.v_dim)
            return dataclasses.replace(layer, kv_heads=layer.heads, cached=cached)

        model = MODELS[row["model"]]
        layers = tuple(layer if layer.absorbed else changed(layer) for layer in model.layers)
        return dataclasses.replace(model, layers=layers), formats_of(row)

    # Quantized models, and all long contexts of grouped-query attention.
    assert above(as_bf16) >= 12
    assert above(as_mha) >= 8


def test_llama_in_bf16():
    step = decode_bound(reference(ONE_GPU), LLAMA_8B)
    weights = 2 * (LLAMA_8B.params().matmul_params - LLAMA_8B.params().small)
    kv_cache = 1025 * 32 * 2 * 8 * 128 * 2
    l2 = reference(ONE_GPU).devices[0].l2_bytes
    assert (step.weight_bytes, step.kv_bytes, step.cached_bytes) == (weights, kv_cache, l2)
    assert step.limiter == "hbm.read"
    assert step.tokens_per_s == pytest.approx(306, abs=1)
    assert step.fits
    assert step.one_choice_s == step.seconds
    assert peakline.mbu(step, step.tokens_per_s / 2, 1, 4.8e12) == pytest.approx(0.48, abs=0.02)


def test_largest_batch_fits_exactly():
    profile = reference(ONE_GPU)
    most = decode_bound(profile, LLAMA_8B, Serving(context=8192)).largest_batch
    assert most
    assert decode_bound(profile, LLAMA_8B, Serving(most, 8192)).fits
    assert not decode_bound(profile, LLAMA_8B, Serving(most + 1, 8192)).fits


def test_batches_at_which_memory_no_longer_binds():
    profile = reference(ONE_GPU)
    turns = peakline.turning_batches(profile, LLAMA_8B)
    assert turns.kv_cache == pytest.approx(112, abs=1)
    assert turns.step is None
    assert turns.products == pytest.approx(922.6366e12 / 4617.112e9)
    step = peakline.turning_batches(profile, LLAMA_8B, Serving(context=16)).step
    bounds = [decode_bound(profile, LLAMA_8B, Serving(n, 16)).limiter for n in (step - 1, step)]
    assert bounds == ["hbm.read", "tensor.bf16"]


def test_batches_read_their_chosen_experts():
    profile, model = reference(ONE_GPU), MODELS["Mixtral-8x7B"]
    one, many = (decode_bound(profile, model, Serving(batch)) for batch in (1, 64))
    assert many.weight_bytes / one.weight_bytes == pytest.approx(3.6, abs=0.1)
    assert many.one_choice_s < many.seconds
    assert "balanced" in " ".join(many.notes)


def test_tensor_parallelism_splits_and_sends():
    one = decode_bound(reference(TWO_GPUS), LLAMA_8B)
    two = decode_bound(reference(TWO_GPUS), LLAMA_8B, Serving(tp=2))
    assert two.weight_bytes == one.weight_bytes / 2
    assert two.needs["nvlink"] == pytest.approx(2 * 32 * 4096 * 2 / 396e9, rel=0.01)
    alone = decode_bound(reference(ONE_GPU), LLAMA_8B, Serving(tp=2))
    assert "nvlink" not in alone.needs
    assert "left out" in alone.notes[0]


def test_a_layer_of_one_part_has_one_all_reduce():
    """Nemotron-H has 118 layers of a mixer or an MLP, Llama 32 of both."""
    hybrid = from_hf_config(CONFIGS / "nemotron-h-56b.json")
    assert (all_reduces(hybrid), all_reduces(LLAMA_8B)) == (len(hybrid.layers), 64)


def test_two_gpus_use_links_and_all_reduce_curve():
    profile, batch = reference(TWO_GPUS), 64
    serving = Serving(batch, tp=2)
    nbytes = batch * LLAMA_8B.hidden * 2  # of one BF16 all-reduce
    bound = decode_bound(profile, LLAMA_8B, serving)
    # Each of two GPUs sends every array once, at the measured rate of the faster direction.
    rate = max(profile.bandwidth(f"nvlink.read.{pair}") for pair in ("0-1", "1-0"))
    assert rate == profile.bandwidth("nvlink") < profile.bandwidth("nvlink", basis="theoretical")
    assert bound.needs["nvlink"] == pytest.approx(64 * nbytes / rate)
    curve = {
        m.integer("bytes"): m.summary.median_s
        for m in profile.measurements
        if m.id == "nccl.all_reduce" and m.summary
    }
    below, above = max(b for b in curve if b <= nbytes), min(b for b in curve if b >= nbytes)
    one = peakline.collective_time(profile, "all_reduce", nbytes)
    assert curve[below] <= one <= curve[above]
    estimate = peakline.decode_kernels(profile, LLAMA_8B, serving)
    assert estimate.reducing_s == pytest.approx(64 * one)
    assert estimate.reducing_s > bound.needs["nvlink"]
    parts = (estimate.products_s, estimate.attention_s, estimate.launching_s, estimate.reducing_s)
    assert estimate.seconds == pytest.approx(sum(parts))
    assert peakline.decode_kernels(profile, LLAMA_8B).reducing_s == 0


H100S = ROOT / "reports/reference/cards/nvidia-h100-80gb-hbm3/tu-full1.json.gz"
MEASURED = json.loads((DATA / "h100_llama.json").read_text())


@pytest.mark.parametrize(
    "row",
    [row for row in MEASURED["rows"] if row["kind"] == "decode"],
    ids=lambda row: "tp{tp} b{batch} {context} {compiled}".format(**row),
)
def test_decoding_that_was_measured(row):
    """CUDA graphs of PyTorch's kernels on other cards of the model: below the bound, and near the
    estimate if small operations are fused."""
    serving = Serving(row["batch"], row["context"], tp=row["tp"])
    profile = peakline.load(H100S)
    step = decode_bound(profile, LLAMA_8B, serving)
    assert 0.45 < row["tokens_per_s"] / step.tokens_per_s < 0.8
    estimate = peakline.decode_kernels(profile, LLAMA_8B, serving)
    near = 0.08 if row["compiled"] else 0.2
    assert row["tokens_per_s"] == pytest.approx(estimate.tokens_per_s, rel=near)
    if row["compiled"]:
        assert row["ms"]["products"] * 1e-3 == pytest.approx(estimate.products_s, rel=0.06)


def test_a_prefill_that_was_measured():
    (row,) = (row for row in MEASURED["rows"] if row["kind"] == "prefill")
    bound = prefill_bound(peakline.load(H100S), LLAMA_8B, Serving(context=row["context"]))
    assert 0.5 < bound.seconds / row["seconds"] < 0.7


@pytest.mark.parametrize("name", ["fp8row", "fp8block"])
def test_scales_cost_time_in_large_batches(name):
    """Above the largest measured M a GEMM's time is in proportion to its FLOPs over their rate."""
    serving = Serving(1 << 16, formats=Formats(name))
    fp8, bf16 = ceiling("tensor.fp8", "burst"), ceiling("tensor.bf16", "burst")
    plain = reference(ONE_GPU)
    slow = with_ceilings({f"tensor.fp8_{name.removeprefix('fp8')}": {"burst": fp8 / 2}})
    head = 4096 * 128256
    layers = 32 * (4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14336)
    wanted = (2 * layers / fp8 + head / bf16) / (layers / fp8 + head / bf16)
    one, other = (peakline.decode_kernels(profile, LLAMA_8B, serving) for profile in (plain, slow))
    assert other.products_s / one.products_s == pytest.approx(wanted)
    # A single sequence reads weights, whatever the rate; bounds keep the instruction's.
    small = Serving(formats=Formats(name))
    one, other = (peakline.decode_kernels(profile, LLAMA_8B, small) for profile in (plain, slow))
    assert other == one
    one, other = (decode_bound(profile, LLAMA_8B, serving) for profile in (plain, slow))
    assert other == one
    assert "tensor.fp8" in one.needs


GROUPED = {16: (2e-3, 1e-3, 0.5e-3), 256: (4e-3, 0.5e-3, 1e-3)}  # 2 and 4 times the least time


@pytest.mark.parametrize(
    ("batch", "tokens", "slower"),
    [
        (1, 1.0, 2.0),
        (64, 64 / (16 * (1 - (1 - 1 / 16) ** 64)), 2.0),
        (1024, 64.0, 3.0),
        (8192, 512.0, 4.0),
    ],
)
def test_experts_are_as_slow_as_grouped_products(batch, tokens, slower):
    """48 layers of 128 experts, 8 a token, with 3 matrices of 2048 x 768; 64 tokens of an expert
    lie in the middle of the logarithms of 16 and 256."""
    model, profile = MODELS["Qwen3-30B-A3B"], with_groups(GROUPED)
    found = peakline.decode_kernels(profile, model, Serving(batch))
    chosen = batch * 8 / tokens  # experts with a token
    one = 3 * 2048 * 768
    reading = 2 * one * chosen / ceiling("hbm.read", "measured")
    computing = 2 * one * batch * 8 / ceiling("tensor.bf16", "burst")
    least = peakline.decode_kernels(with_groups({16: (1e-3, 1e-3, 1e-3)}), model, Serving(batch))
    of_layers = 48 * max(reading, computing)
    fixed = least.experts_s - of_layers  # of 2 GEMMs a layer, whatever their size
    assert 0 <= fixed < 48 * 2 * 1e-5
    assert found.experts_s == pytest.approx(fixed + slower * of_layers)
    others = least.products_s - least.experts_s
    assert found.products_s - found.experts_s == pytest.approx(others)


def test_experts_without_grouped_products_are_dense():
    """All tokens of a batch over all experts: the M of one expert, not of the batch."""
    model = MODELS["Qwen3-30B-A3B"]
    one, many = (peakline.decode_kernels(reference(ONE_GPU), model, Serving(b)) for b in (1, 512))
    assert one.experts_s == many.experts_s == 0
    assert peakline.decode_kernels(with_groups(GROUPED), LLAMA_8B).experts_s == 0
    said = "Library kernels lose as much in routed experts as the measured BF16 GEMMs"
    of = served(CONFIGS / "qwen3-30b-a3b.json")
    for profile, count in ((reference(ONE_GPU), 0), (with_groups(GROUPED), 1)):
        notes = decoding(profile, of)["notes"]
        assert sum(note.startswith(said) for note in notes) == count
    # 512 tokens of 8 experts each are 32 rows of an expert, which reading its weights still limits.
    weights = decode_bound(reference(ONE_GPU), model, Serving(512)).weight_bytes
    assert many.products_s < 1.5 * weights / ceiling("hbm.read", "measured")


def test_estimate_exceeds_bound_of_measured_ranks():
    profile = reference(TWO_GPUS)
    for batch in (1, 8, 64, 512):
        slower = peakline.decode_kernels(profile, LLAMA_8B, Serving(batch, tp=2))
        assert slower.seconds > decode_bound(profile, LLAMA_8B, Serving(batch, tp=2)).seconds
    with pytest.raises(PeakError, match="all-reduce between 4 GPUs"):
        peakline.decode_kernels(profile, LLAMA_8B, Serving(tp=4))
    others = [m for m in profile.measurements if m.id != ALL_REDUCES["one-shot"]]
    lacking = dataclasses.replace(profile, measurements=tuple(others))
    with pytest.raises(PeakError, match="all-reduce by one-shot between 2 GPUs"):
        peakline.decode_kernels(lacking, LLAMA_8B, Serving(tp=2, all_reduce="one-shot"))
    with pytest.raises(ValueError, match="must be one of nccl, nccl-graph"):
        Serving(all_reduce="ring")


def test_estimate_takes_the_all_reduce_that_is_named():
    """Each way is renamed from NCCL's curve, at half of its times."""
    profile = reference(TWO_GPUS)
    halved = [
        dataclasses.replace(
            m,
            id=ALL_REDUCES["two-shot"],
            summary=dataclasses.replace(m.summary, median_s=m.summary.median_s / 2),
        )
        for m in profile.measurements
        if m.id == "nccl.all_reduce" and m.summary
    ]
    others = [m for m in profile.measurements if m.id != ALL_REDUCES["two-shot"]]
    both = dataclasses.replace(profile, measurements=(*others, *halved))
    nccl, two = (
        peakline.decode_kernels(both, LLAMA_8B, Serving(tp=2, all_reduce=name))
        for name in ("nccl", "two-shot")
    )
    assert two.reducing_s == nccl.reducing_s / 2
    assert nccl.seconds - two.seconds == pytest.approx(two.reducing_s)


def test_products_without_a_rate_make_no_estimate():
    """A time that does not grow with the bytes would be a division by zero."""
    rows = [
        dataclasses.replace(m, summary=dataclasses.replace(m.summary, median_s=1e-5))
        if m.id == "gemm.model.bf16" and m.params.get("tokens") == 1
        else m
        for m in reference(ONE_GPU).measurements
    ]
    flat = dataclasses.replace(reference(ONE_GPU), measurements=tuple(rows))
    with pytest.raises(PeakError, match="no longer with more bytes"):
        peakline.decode_kernels(flat, LLAMA_8B)


@pytest.mark.parametrize("resource", ["hbm.read", "tensor.bf16"])
def test_bound_notes_unmeasured_rates(resource):
    profile = reference(ONE_GPU)
    published = [
        row
        for row in profile.ceilings
        if row.resource != resource or row.basis in ("theoretical", "datasheet")
    ]
    lacking = dataclasses.replace(profile, ceilings=tuple(published))
    note = f"{resource} was not measured: the bound takes its theoretical rate."
    assert note in decode_bound(lacking, LLAMA_8B).notes
    assert not decode_bound(profile, LLAMA_8B).notes


def test_prefill_is_bound_by_the_tensor_cores():
    first = prefill_bound(reference(ONE_GPU), LLAMA_8B, Serving(context=8192))
    assert first.limiter == "tensor.bf16"
    head, layers = 2 * LLAMA_8B.table, LLAMA_8B.params().matmul_params
    products = layers - LLAMA_8B.params().small - LLAMA_8B.table
    attention = 4 * 32 * 32 * 128 * 8192 / 2
    assert first.flop == pytest.approx(8192 * (2 * products + attention) + head, rel=1e-3)


def test_prefill_of_layers_that_borrow_a_cache():
    """Only the last token passes through them (Gemma 3n)."""
    model = peakline.from_hf_config({"model_type": "gemma3n", "text_config": {}})
    serving = Serving(context=8192)
    own = [layer for layer in model.layers if not layer.borrowed]
    passed = dataclasses.replace(model, layers=tuple(own))
    whole, part = (prefill_bound(reference(ONE_GPU), x, serving).flop for x in (model, passed))
    borrowing = [layer for layer in model.layers if layer.borrowed]
    last = sum(2 * x.weights.products + x.decoding_flops(8192) for x in borrowing)
    assert whole - part == pytest.approx(last)
    step = decode_bound(reference(ONE_GPU), model, serving)
    assert step.weight_bytes == 2 * (model.params().matmul_params - model.params().small)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"batch": 0}, "batch is 0"),
        ({"batch": True}, "batch is True"),
        ({"context": -1}, "context is -1"),
        ({"context": math.nan}, "context is nan"),
        ({"tp": 5}, "must divide the 32 heads"),
    ],
)
def test_numbers_that_make_no_sense(given, wanted):
    with pytest.raises(ValueError, match=wanted):
        decode_bound(reference(ONE_GPU), LLAMA_8B, Serving(**given))


CONFIG = config_of("llama-3-8b") | {"max_position_embeddings": 4096}


@pytest.fixture
def config(tmp_path):
    """Writes the model's config.json with these fields; gives the options that name it."""

    def write_config(**fields):
        (tmp_path / "config.json").write_text(json.dumps({**CONFIG, **fields}))
        return ["--profile", ONE_GPU, "--hf-config", tmp_path]

    return write_config


def test_the_command_answers_in_one_line(llm, config):
    rate = ("--batch", "1", "--context", "1k", "--tokens-per-second")
    answer = llm.stdout(*config(), *rate, "190").splitlines()[-1]
    assert "at most 306 tokens/s (HBM read)" in answer
    assert answer.endswith("your 190 are 62.1 % of the bound")
    out = llm.stdout(*config(), *rate, "400")
    above = next(line for line in out.splitlines() if line.startswith("Above 100 %"))
    for cause in ("format of weights", "speculative decoding", "prefix cache", "experts"):
        assert cause in above
    large = llm.stdout(*config(), "--batch", "4096", "--context", "1k")
    assert large.splitlines()[-1].endswith(", but it does not fit in memory")
    short = llm.stdout(*config(), "--batch", "1", "--context", "4k")
    assert "The model's longest context" not in short
    assert (
        "At context 1024 weights are most of the traffic up to batch 112, the KV cache above. "
        "Dense GEMMs turn compute-bound at batch 200, the whole step never."
    ) in llm.stdout(*config())
    found = llm.document(*config())
    assert len(found["decode"]) == 9
    assert "The model's longest context is 4096 tokens." in found["notes"]


def test_bounds_say_that_others_used_the_gpu(llm, mfu, config):
    """The demo's slow card, which another process used."""
    slow = ("--profile", ROOT / "reports/demo/slow-card.json.gz")
    said = "Other processes used the device during the run"
    out = llm.stdout(*config(), *slow)
    assert out.splitlines()[-1].count("tokens/s (HBM read), by a disturbed measurement") == 1
    assert said in out
    rate = ("--tokens-per-second", "9000", "--flops-per-token", "5e10", "--dtype", "bf16")
    assert said in mfu.stdout(*slow, *rate)
    assert "disturbed" not in llm.stdout(*config())


def test_command_reads_checkpoint_formats(llm, config, tmp_path):
    fields = {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
    out = llm.stdout(*config(**fields, quantization_config={"quant_method": "mxfp4"}))
    assert " bf16 with mxfp4 experts, batch 1" in out.splitlines()[-1]
    stated = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(stated))
    formats = llm.document(*config())["formats"]
    assert (formats["weights"], formats["kv_cache"]) == ("nvfp4", "fp8")
    assert {part for part, name in formats.items() if name is None} >= {"attention", "dense"}
    assert formats["layers"] == []
    (tmp_path / "hf_quant_config.json").write_text("[")
    assert "hf_quant_config.json" in llm.refused(*config())


def test_the_command_says_how_experts_are_chosen(llm, config):
    fields = {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
    out = llm.stdout(*config(**fields), "--batch", "8", "--context", "1k")
    assert out.count("Routed experts are taken as balanced.") == 1
    assert "If all 8 tokens chose the same experts: at most " in out


def test_stored_weights_take_their_files_bytes(llm, config, tmp_path):
    def stored(nbytes, *arguments):
        header = {"a": {"dtype": "BF16", "shape": [nbytes // 2], "data_offsets": [0, nbytes]}}
        text = json.dumps(header).encode()
        (tmp_path / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
        return llm.document(*config(), *arguments)

    cache = 1024 * 32 * 2 * 8 * 128 * 2  # of the first row, one sequence of 1024 tokens
    exact = stored(16_060_522_496)
    assert exact["decode"][0]["memory_bytes"] == 16_060_522_496 + cache
    assert not [note for note in exact["notes"] if "No quantization" in note or "files" in note]
    # A step's reads follow from the shape.
    other = stored(8_000_000_000)
    assert other["decode"][0]["bytes"] == exact["decode"][0]["bytes"]
    assert other["decode"][0]["memory_bytes"] == 8_000_000_000 + cache
    mismatch = "The files hold 8.0 GB, but the shape in bf16 makes 16.1 GB: check --weights."
    assert mismatch in other["notes"]
    # Explicit formats override the stored ones.
    given = stored(8_000_000_000, "--weights", "bf16")
    assert given["decode"][0]["memory_bytes"] > 16e9


def test_the_command_draws_each_context(llm, config, tmp_path):
    llm.stdout(*config(), "--context", "1k,8k", "-o", tmp_path / "out")
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == ["decode-1024.png", "decode-8192.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    (tmp_path / "file").touch()
    llm.refused(*config(), "-o", tmp_path / "file")


NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4"}


@pytest.mark.parametrize(
    ("arguments", "fields", "wanted"),
    [
        (("--tp", "3"), {}, "tp is 3, but must divide the 32 heads"),
        ((), {"quantization_config": {"quant_method": "aqlm"}}, "name --weights"),
        ((), {"quantization_config": 7}, "name --weights"),
        (
            (),
            {"quantization_config": {**NVFP4, "ignore": ["model.layers.3.self_attn.o_proj"]}},
            "differs within a part, at layers.3.self_attn.o_proj: name --weights",
        ),
        (
            (),
            {"quantization_config": {"quantized_layers": {"model.layers.0.mlp": {}}}},
            "the quantization of model.layers.0.mlp is not known: name --weights",
        ),
        (
            (),
            {"quantization_config": NVFP4, "expert_dtype": "int3"},
            'expert_dtype "int3" is not known: name --weights',
        ),
        (
            (),
            {"quantization_config": {"quant_method": "x" * 5000}},
            f"quantization {'x' * 60}... is",
        ),
        (("--weights", "int5"), {}, "not a known format"),
        (("--batch", "0"), {}, "--batch"),
        (("--batch", "1,-8"), {}, "--batch"),
        (("--context", "0"), {}, "--context"),
        (("--context", "8q"), {}, "--context"),
        (("--tp", "0"), {}, "--tp"),
        (("--all-reduce", "one-shot"), {}, "--all-reduce needs --tp of 2 or more"),
        (("--tokens-per-second", "5"), {}, "--tokens-per-second"),
    ],
)
def test_unusable_input_is_refused_in_one_line(llm, config, arguments, fields, wanted):
    assert wanted in llm.refused(*config(**fields), *arguments)
