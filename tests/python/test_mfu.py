"""MFU: values from papers and published checkpoints, and the command."""

import json
import pickle
import re

import peakline
import pytest
from conftest import CONFIGS, ceiling, config_of, document_of, only, scaled
from hypothesis import given
from hypothesis import strategies as st
from peakline import CONVENTIONS, from_hf_config

LLAMA_FILE = CONFIGS / "llama-3-8b.json"
LLAMA3_8B = config_of("llama-3-8b")


@pytest.mark.parametrize(
    ("params", "layers", "heads", "head_dim", "rate", "devices", "peak", "share"),
    [
        # PaLM, table 3 and appendix B: 540B on TPU v4; Megatron-Turing NLG on A100, with attention.
        (540.35e9, 118, 48, 256, 238.3e3, 6144, 275e12, pytest.approx(0.462, abs=5e-4)),
        (530e9, 105, 128, 160, 65.43e3, 2240, 312e12, pytest.approx(0.302, abs=1e-3)),
    ],
)
def test_published_shares(params, layers, heads, head_dim, rate, devices, peak, share):
    flops = peakline.transformer_flops(params, layers, heads, head_dim, sequence=2048)
    assert flops == 6 * params + 12 * layers * heads * head_dim * 2048
    assert peakline.mfu(flops * rate, 1.0, peak, devices=devices) == share


@pytest.mark.parametrize("dtype", ["fp8_row", "fp8_block", "fp8_block_both"])
def test_peaks_of_fp8_with_scales(mfu, write, dtype):
    """Published as FP8, measured by themselves."""
    document = only(document_of())
    rates = {"datasheet": ceiling("tensor.fp8", "datasheet"), "burst": 1.3e15, "sustained": 1e15}
    (like,) = (
        row
        for row in document["ceilings"]
        if (row["resource"], row["basis"]) == ("tensor.fp8", "datasheet")
    )
    document["ceilings"] += [
        like | {"resource": f"tensor.{dtype}", "basis": basis, "value": value}
        for basis, value in rates.items()
    ]
    path = write(document)
    profile = peakline.load(path)
    found = {basis: profile.peak(dtype, basis=basis) for basis in ("published", "achievable")}
    assert found == {"published": profile.peak("fp8", basis="published"), "achievable": 1e15}
    assert found["achievable"].resource == f"tensor.{dtype}"
    asked = ("--profile", path, "--dtype", dtype, "--flops-per-token", "5e10")
    out = mfu.stdout(*asked, "--tokens-per-second", "10000")
    assert f"{5e14 / rates['datasheet'] * 100:.1f} %" in out
    assert "50.0 %" in out
    # A product whose datasheet has FP8.
    assert peakline.peak_flops("NVIDIA L40", dtype) == 362e12


def test_small_case_by_hand():
    # N = 10, L = 2, H = 3, Q = 4, T = 5: 6 N = 60, 12 L H Q T = 1440.
    shape = {"params": 10, "layers": 2, "heads": 3, "head_dim": 4, "sequence": 5}
    assert peakline.transformer_flops(**shape) == 1500
    assert peakline.transformer_flops(**shape, causal=True) == 60 + 720
    assert peakline.transformer_flops(**shape, training=False) == 500
    assert peakline.transformer_flops(**shape, active_params=4) == 24 + 1440
    assert peakline.transformer_flops(**shape, kv_heads=1) == 1500
    assert peakline.hardware_flops(**shape, recompute="none") == 1500
    assert peakline.hardware_flops(**shape, recompute="full") == 2000
    assert peakline.hardware_flops(**shape, recompute="attention") == 1500 + 480


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: peakline.transformer_flops(0, 1, 1, 1, 1), "params must be"),
        (lambda: peakline.transformer_flops(1, 1, 1, 1, float("nan")), "sequence must be"),
        (lambda: peakline.transformer_flops(1, 1, 6, 1, 1, kv_heads=4), "kv_heads must divide"),
        (lambda: peakline.transformer_flops(1, 1, 1, 1, 1, active_params=2), "cannot be more"),
        (lambda: peakline.hardware_flops(1, 1, 1, 1, 1, recompute="some"), "recompute must be"),
        (lambda: peakline.mfu(1, 0, 1), "seconds must be"),
        (lambda: peakline.mfu(1, 1, float("inf")), "peak must be"),
        (lambda: peakline.mfu(-1, 1, 1), "flops must be"),
        (lambda: peakline.mfu(10**5000, 1, 1), "flops must be .* far too long"),
        (lambda: peakline.mfu(1, 1e-320, 1e-300), "seconds must be"),
        (lambda: peakline.transformer_flops(1, 10**5000, 1, 1, 1), "layers must be"),
        (lambda: peakline.attainable(1, 1, 0), "intensity must be"),
        (lambda: peakline.Transformer.uniform(1, 6, 1, 1, 1, kv_heads=4), "kv_heads must divide"),
        (lambda: peakline.Transformer.uniform(1, 1, 1, 1, 1, mlp_matrices=4), "mlp_matrices"),
        (lambda: peakline.Transformer.uniform(1, 1, 1, 1, 1, experts_per_token=2), "exceeds"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


PEAK, BURST, MODEL_SHAPED = (
    ceiling("tensor.bf16", basis) for basis in ("datasheet", "burst", "model_shaped")
)


def test_measured_peaks_carry_another_name(profile):
    datasheet = peakline.mfu(400e12, 1.0, profile.peak("bf16", basis="datasheet"))
    sustained = peakline.mfu(400e12, 1.0, profile.peak("bf16", basis="sustained"))
    assert datasheet.name == "MFU (published)"
    assert sustained.name == "of achievable"
    assert "MFU" not in str(sustained)
    assert sustained > datasheet
    assert str(datasheet) == f"{100 * 400e12 / PEAK:.1f} % MFU (published)"
    hardware = peakline.hfu(400e12, 1.0, profile.peak("bf16", basis="burst"))
    assert hardware.name == "hardware FLOPs, of burst"
    assert peakline.hfu(1.0, 1.0, 2.0).name == "HFU (basis not stated)"
    assert peakline.mfu(1.0, 1.0, 2.0).name == "MFU (basis not stated)"


def test_more_than_published_peak_is_refused(profile):
    peak = profile.peak("bf16", basis="published")
    # As its docstring says.
    assert peakline.mfu(1.015 * peak, 1.0, peak) == pytest.approx(1.015)
    with pytest.raises(ValueError, match=r"MFU of 103 % of the published peak .* is impossible"):
        peakline.mfu(1.03 * peak, 1.0, peak)
    assert peakline.mfu(1.5 * peak, 1.0, profile.peak("bf16", basis="achievable")) > 2
    with pytest.raises(ValueError, match="bandwidth"):
        peakline.mfu(1e12, 1.0, profile.bandwidth("hbm"))


def test_peaks_survive_pickling(profile):
    # Training code sends them between processes.
    peak = profile.peak("bf16", basis="burst")
    again = pickle.loads(pickle.dumps(peak))
    assert (again, again.resource, again.source) == (peak, peak.resource, peak.source)
    share = peakline.mfu(1e12, 1.0, peak)
    assert pickle.loads(pickle.dumps(share)).name == share.name


@given(
    st.tuples(
        st.floats(1e6, 1e13),
        st.integers(1, 200),
        st.integers(1, 128),
        st.integers(1, 512),
        st.integers(1, 10**6),
    )
)
def test_order_of_the_variants(shape):
    full = peakline.transformer_flops(*shape)
    causal = peakline.transformer_flops(*shape, causal=True)
    products = 6 * shape[0]
    assert products < causal < full
    assert full - causal == pytest.approx(causal - products, rel=1e-6)
    attention, whole = (
        peakline.hardware_flops(*shape, recompute=part) for part in ("attention", "full")
    )
    assert full < attention < whole * (1 + 1e-12)


def test_attainable():
    assert peakline.attainable(100.0, 10.0, 5.0) == 50.0
    assert peakline.attainable(100.0, 10.0, 20.0) == 100.0


MODEL = ["--params", "7e9", "--layers", "32", "--heads", "32", "--head-dim", "128"]
MODEL += ["--sequence", "4096"]


def test_command_prints_both_kinds(mfu, ceilings_path):
    arguments = ["--profile", ceilings_path, "--dtype", "bf16", "--tokens-per-second", "10000"]
    arguments += MODEL
    named = ["MFU (published)", "of achievable", "of model"]
    more = ["--recompute", "full", "--intensity", "200"]
    hardware = ["HFU (published)", "hardware FLOPs, of achievable", "hardware FLOPs, of model"]
    for options, names in (
        ([], named),
        (more, [*named, *hardware, "of the roofline (achievable)"]),
        (["--all"], [*named[:1], "of burst", *named[1:2], "of model burst", *named[2:]]),
    ):
        printed = re.findall(r" %  (.+?)  +of \d", mfu.stdout(*arguments, *options))
        assert [name for name in printed if name in names] == names
        assert options == ["--all"] or printed == names
    result = mfu.document(*arguments, "--intensity", ".1e+3")
    shares = {row["name"]: row["share"] for row in result["utilization"]}
    flops = 6 * 7e9 + 12 * 32 * 32 * 128 * 4096
    assert result["flops_per_token"] == flops
    assert shares["MFU (published)"] == pytest.approx(flops * 1e4 / PEAK)
    assert shares["of burst"] == pytest.approx(flops * 1e4 / BURST)
    # 100 FLOP/byte are left of the ridge: memory is the limit.
    read = ceiling("hbm.read", "measured")
    assert result["roofline"]["limit_flops_per_s"] == pytest.approx(100 * read)
    assert result["roofline"]["bound_by"] == "hbm.read"


@pytest.mark.parametrize(
    ("tokens", "intensity", "above"),
    [
        ("100", "50", {}),
        ("11500", "50", {"of the roofline (achievable)": "--intensity"}),
        (
            *("15600", "50"),
            {"of the roofline (achievable)": "--intensity", "of achievable, of model": "--dtype"},
        ),
        # Right of the ridge the limit is the peak: --dtype is wrong, not the intensity.
        ("19000", "1e4", {"of achievable, of model, of the roofline (achievable)": "--dtype"}),
    ],
)
def test_shares_above_100_percent_get_a_remedy(mfu, ceilings_path, tokens, intensity, above):
    arguments = ["--profile", ceilings_path, "--dtype", "bf16", "--intensity", intensity]
    arguments += ["--flops-per-token", "4.8e10", "--tokens-per-second", tokens]
    notes = [line for line in mfu.stdout(*arguments).splitlines() if line.startswith("Above 100 %")]
    assert len(notes) == len(above)
    for note, (names, remedy) in zip(notes, above.items(), strict=True):
        assert note.startswith(f"Above 100 %: {names}. ")
        assert [flag for flag in ("--intensity", "--dtype") if flag in note] == [remedy]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dtype", "fp4", *MODEL], "no fp4 peak"),
        (["--dtype", "bf16-sparse", *MODEL], "dense"),
        ([*MODEL[:-2]], "need --sequence"),
        (["--params", "-7"], "not a number above 0"),
        ([*MODEL, "--intensity", "1e-320"], "argument --intensity: '1e-320'"),
        ([*MODEL, "--tokens-per-second", "1e308"], "--tokens-per-second: '1e308'"),
        ([*MODEL, "--devices", "٢"], "argument --devices: '٢'"),
        (["--flops-per-token", "1e9", "--params", "1e9"], "leave out --params"),
        (["--flops-per-token", "1e9", "--hf-config", "x"], "leave out --hf-config"),
        (["--params", "1e9", "--tokens-per-step", "8"], "--tokens-per-step needs --hf-config"),
        (["--hf-config", "x", "--strategy", "ddp"], "--strategy needs --tokens-per-step"),
        (["--hf-config", "x", "--layers", "2", "--sequence", "1"], "leave out --layers"),
        (["--hf-config", "x"], "--dtype bf16 --hf-config x --sequence 4096"),
        (["--hf-config", "/none", "--sequence", "1"], "/none: cannot be read"),
        ([*MODEL, "--device", "A100"], "no device 'A100'"),
        ([*MODEL, "--active-params", "8e9"], "cannot be more"),
        (["--flops-per-token", "1e12"], "impossible"),
    ],
)
def test_command_refuses(mfu, ceilings_path, arguments, message):
    rest = ["--profile", ceilings_path, "--tokens-per-second", "10000", "--dtype", "bf16"]
    assert message in mfu.refused(*rest, *arguments)


@pytest.mark.parametrize(
    ("intensity", "ends"),
    [
        (40, {"achievable": "hbm.read", "burst": "hbm.read"}),
        (165, {"achievable": "tensor.bf16", "burst": "hbm.read"}),
        (1000, {"achievable": "tensor.bf16", "burst": "tensor.bf16"}),
    ],
)
def test_intensity_alone_says_where_a_kernel_ends(mfu, ceilings_path, profile, intensity, ends):
    arguments = ["--profile", ceilings_path, "--dtype", "bf16", "--intensity", str(intensity)]
    lines = mfu.stdout(*arguments).splitlines()
    read = ceiling("hbm.read", "measured")
    for line, (basis, roof) in zip(lines[1:], ends.items(), strict=False):
        peak = profile.peak("bf16", basis=basis)
        limit = peakline.attainable(peak, read, intensity)
        assert line.split()[:4] == [
            basis,
            *peakline.units.rate(limit, "FLOP/s").split(),
            f"{roof},",
        ]
    ridges = (
        f"{profile.ridge('bf16', basis=basis):.0f} {word}"
        for basis, word in (("achievable", "FLOP/byte achievable"), ("burst", "burst"))
    )
    assert lines[-1] == f"Memory binds below {', '.join(ridges)}."
    assert "--tokens-per-second" in mfu.refused(*arguments[:4])
    assert "--params" in mfu.refused(*arguments, "--params", "7e9")


def test_known_mfu_converts_without_a_rate(mfu, ceilings_path, profile):
    arguments = ["--profile", ceilings_path, "--dtype", "bf16", "--mfu", "45"]
    achieved = 0.45 * profile.peak("bf16", basis="published")
    share = peakline.units.percent(achieved / profile.peak("bf16", basis="achievable"))
    (line,) = mfu.stdout(*arguments).splitlines()
    assert line.startswith("MFU (published) of 45.0 %, of ")
    assert f"{share} of achievable (" in line
    assert "leave out --params" in mfu.refused(*arguments, "--params", "7e9")


def test_causal_attention_may_explain_100_percent(mfu, ceilings_path):
    arguments = ["--profile", ceilings_path, "--dtype", "bf16", "--tokens-per-second", "18000"]
    arguments += MODEL
    assert "--causal, or a --convention that does: 6.6 % fewer" in mfu.stdout(*arguments)
    assert "--causal" not in mfu.stdout(*arguments, "--causal")
    with pytest.raises(ValueError, match="--causal"):
        peakline.mfu(2 * PEAK, 1.0, peakline.reference("h200").peak("bf16", basis="published"))


def test_command_takes_a_fleet(mfu, write):
    document = only(document_of())
    fast = write(document, "fast.json")
    slow = write(scaled(document, 0.9, "tensor."), "slow.json")
    document["devices"][0]["name"] = "Other"
    other = write(document, "other.json")
    rest = ["--dtype", "bf16", "--tokens-per-second", "10000", *MODEL]
    rows = mfu.document("--profile", fast, slow, *rest)["utilization"]
    burst = next(r for r in rows if r["basis"] == "burst")
    assert burst["peak"] == pytest.approx(0.9 * BURST)
    assert "mixed fleet" in mfu.refused("--profile", fast, other, *rest)
    mfu.stdout("--profile", fast, other, *rest, "--allow-mixed")


def test_model_shaped_peaks_are_named(mfu, ceilings_path, profile):
    peak = profile.peak("bf16", basis="model_shaped")
    assert (peak, peak.published) == (MODEL_SHAPED, False)
    share = peakline.mfu(MODEL_SHAPED / 2, 1.0, peak)
    assert str(share) == "50.0 % of model"
    rest = ["--profile", ceilings_path, "--dtype", "bf16"]
    rows = mfu.document(*rest, "--tokens-per-second", "10000", *MODEL)["utilization"]
    row = next(r for r in rows if r["basis"] == "model_shaped")
    assert (row["name"], row["peak"]) == ("of model", float(peak))
    assert "gemm.model.bf16/load:sustained" in row["source"]
    exported = json.loads(mfu.stdout("export", "--for", "json", *rest, "--basis", "model_shaped"))
    assert (exported["basis"], exported["value"]) == ("model_shaped", float(peak))
    assert exported["share_is_called"] == "of model"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a config.json of a model"),
        ("{}", "model_type is null: known are 9"),
        ('{"model_type": "gpt9"}', "families, such as gptj, gpt2, and"),
        ('{"model_type": ["llama"]}', "model_type is an array: known are"),
        ('{"model_type": "deepseek_v3"}', "num_hidden_layers is missing"),
        ('{"model_type": "llama4"}', "text_config is missing"),
        ('{"model_type": "nemotron_h", "hybrid_override_pattern": "MQ"}', "has the letter 'Q'"),
        ({"vocab_size": "many"}, 'vocab_size is "many", but must be a'),
        ({"vocab_size": 1e400}, "vocab_size is Infinity"),
        ({"vocab_size": 10**400}, "a whole number from 1 to"),
        ({"hidden_size": None}, "hidden_size is null"),
        ({"hidden_size": 4097}, "32 heads do not divide a width of 4097"),
        ({"num_hidden_layers": True}, "num_hidden_layers is true"),
        ({"num_hidden_layers": 10**9}, "must be at most 4096"),
        ({"layer_types": ["linear_attention"]}, "layer_types is an array"),
        ({"layer_types": []}, "one for each of the 32 layers"),
        ({"num_key_value_heads": 5}, "config.json: kv_heads must divide"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings is 1, but must be true or false"),
    ],
    ids=str,
)
def test_configs_that_cannot_be_used(mfu, arguments, tmp_path, text, message):
    """text: of the file, or its changes of a good one."""
    path = tmp_path / "config.json"
    path.write_text(text if isinstance(text, str) else json.dumps({**LLAMA3_8B, **text}))
    assert message in mfu.refused(*arguments, "--hf-config", path, "--sequence", "8192")


@pytest.fixture
def arguments(ceilings_path):
    return ["--profile", ceilings_path, "--dtype", "bf16", "--tokens-per-second", "10000"]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_command_by_convention(mfu, arguments, convention):
    shape = [*arguments, "--sequence", "8192", "--convention", convention]
    model = from_hf_config(LLAMA_FILE)
    expected, params = model.flops(8192, convention=convention), model.counted_params(convention)
    assert mfu.stdout(*shape, "--hf-config", LLAMA_FILE).startswith(
        f"model: {expected:.5g} FLOP per token ({convention})\n"
        f"       8,030,261,248 parameters, {params:,} in GEMMs (N)\n"
    )
    result = mfu.document(*shape, "--hf-config", LLAMA_FILE)
    assert (result["convention"], result["flops_per_token"]) == (convention, expected)
    # Half of the attention matrix counts, by convention or option.
    half = 6 * 32 * 32 * 128 * 8192
    causal = mfu.document(*shape, "--hf-config", LLAMA_FILE, "--causal")
    assert causal["flops_per_token"] == expected - half * (convention != "megatron")
    by_hand = ["--params", params, "--layers", 32, "--heads", 32, "--head-dim", 128]
    assert mfu.document(*shape, *by_hand)["flops_per_token"] == expected


def test_one_figure_is_named_to_be_published(mfu, arguments):
    arguments[-1] = "5000"
    shape = ["--hf-config", CONFIGS / "mixtral-8x7b.json", "--sequence", "8192"]
    result = mfu.document(*arguments, *shape, "--recompute", "full")
    rows = {row["name"]: row["share"] for row in result["utilization"]}
    name = "MFU (published)"
    assert result["publish"] == {"name": name, "share": rows[name]}
    assert result["parameters"] == {
        "total": 46_702_792_704,
        "active": 12_879_925_248,
        "matmul": 12_879_925_248 - 32000 * 4096,
    }
    out = mfu.stdout(*arguments, *shape, "--causal")
    assert "46,702,792,704 parameters, 12,879,925,248 of them for a token, 12,748,853,248 in" in out
    assert out.count("To publish: ") == 1
    assert "% MFU (published), by palm's convention, half of the attention matrix, 8192 tok" in out
    out = mfu.stdout(*arguments, "--flops-per-token", "1e9")
    assert out.startswith("model: 1e+09 FLOP per token (as given)\n")
    assert "MFU (published). Shares of measured peaks do not compare" in out


def test_no_published_peak_publishes_nothing(mfu, write, arguments, document):
    document["ceilings"] = [
        row for row in document["ceilings"] if row["basis"] not in ("datasheet", "theoretical")
    ]
    arguments[1] = write(document)
    out = mfu.stdout(*arguments, "--flops-per-token", "1e9")
    assert "Nothing to publish" in out
    assert "MFU (" not in out
    assert mfu.document(*arguments, "--flops-per-token", "1e9")["publish"] is None


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gemma-3-4b", "Not counted: its encoder of images.\n"),
        ("deepseek-v3", "Not counted: its layers of multi-token prediction.\n"),
    ],
)
def test_what_a_count_leaves_out_is_said(mfu, arguments, model, said):
    arguments[-1] = "100"
    shape = ["--sequence", "32768", "--hf-config", CONFIGS / f"{model}.json"]
    assert said in mfu.stdout(*arguments, *shape)


def test_uncounted_windows_are_noted(mfu, arguments):
    arguments[-1] = "100"
    arguments += ["--sequence", "32768", "--hf-config", CONFIGS / "gpt-oss-20b.json"]
    assert "see at most" not in mfu.stdout(*arguments)
    assert mfu.document(*arguments, "--convention", "torchtitan")["notes"] == [
        "By torchtitan's convention every layer counts 32768 tokens, although 12 of 24 see at most "
        "128: palm counts what they see."
    ]


def test_command_recomputes(mfu, arguments):
    arguments += ["--hf-config", LLAMA_FILE, "--sequence", "8192", "--recompute"]
    full = mfu.document(*arguments, "full")
    assert full["hardware_flops_per_token"] == full["flops_per_token"] * 4 / 3
    attention = mfu.document(*arguments, "attention")
    extra = attention["hardware_flops_per_token"] - attention["flops_per_token"]
    assert extra == 4 * 32 * 32 * 128 * 8192


def test_too_many_hardware_flops_are_called_hfu(mfu, arguments):
    arguments[-1] = "18000"
    err = mfu.refused(*arguments, *MODEL, "--recompute", "full")
    assert "HFU of 118 % of the published peak of tensor.bf16 is impossible" in err
