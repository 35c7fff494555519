"""MFU: values from papers and published checkpoints, and the command."""

import functools
import json
import pickle
import re

import peakline
import pytest
from conftest import ceiling, document_of, only, outcome, scaled
from hypothesis import given
from hypothesis import strategies as st
from peakline.commands.mfu import main


def test_palm_540b():
    # PaLM, table 3 and appendix B: 238.3 k tokens/s on 6144 TPU v4 of 275 TFLOP/s, MFU 46.2 %.
    flops = peakline.transformer_flops(540.35e9, layers=118, heads=48, head_dim=256, sequence=2048)
    assert flops == 6 * 540.35e9 + 12 * 118 * 48 * 256 * 2048
    assert peakline.mfu(flops * 238.3e3, 1.0, 275e12, devices=6144) == pytest.approx(
        0.462, abs=0.0005
    )


def test_megatron_turing_530b():
    # PaLM, appendix B: 65.43 k tokens/s on 2240 A100 of 312 TFLOP/s: 30.2 % with attention.
    flops = peakline.transformer_flops(530e9, layers=105, heads=128, head_dim=160, sequence=2048)
    share = peakline.mfu(flops * 65.43e3, 1.0, 312e12, devices=2240)
    assert share == pytest.approx(0.302, abs=0.001)


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
        (lambda: peakline.mfu(10**400, 1, 1), "flops must be"),
        (lambda: peakline.mfu(10**5000, 1, 1), "flops must be .* far too long"),
        (lambda: peakline.mfu(1, 10**400, 1), "seconds must be"),
        (lambda: peakline.mfu(1, 1e-320, 1e-300), "seconds must be"),
        (lambda: peakline.mfu(1, 1, 1, devices=10**400), "devices must be"),
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
    assert datasheet.name == "MFU (datasheet)"
    assert sustained.name == "of achievable (sustained)"
    assert "MFU" not in str(sustained)
    assert sustained > datasheet
    assert str(datasheet) == f"{100 * 400e12 / PEAK:.1f} % MFU (datasheet)"
    hardware = peakline.hfu(400e12, 1.0, profile.peak("bf16", basis="burst"))
    assert hardware.name == "hardware FLOPs, of achievable (burst)"
    assert peakline.hfu(1.0, 1.0, 2.0).name == "HFU (basis not stated)"
    assert peakline.mfu(1.0, 1.0, 2.0).name == "MFU (basis not stated)"


def test_more_than_the_published_peak_is_impossible(profile):
    with pytest.raises(ValueError, match="impossible"):
        peakline.mfu(1100e12, 1.0, profile.peak("bf16", basis="datasheet"))
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
    st.floats(1e6, 1e13),
    st.integers(1, 200),
    st.integers(1, 128),
    st.integers(1, 512),
    st.integers(1, 10**6),
)
def test_order_of_the_variants(params, layers, heads, head_dim, sequence):
    shape = (params, layers, heads, head_dim, sequence)
    full = peakline.transformer_flops(*shape)
    causal = peakline.transformer_flops(*shape, causal=True)
    assert 6 * params < causal < full
    assert full - causal == pytest.approx(causal - 6 * params, rel=1e-6)
    assert full < peakline.hardware_flops(*shape, recompute="attention")
    assert peakline.hardware_flops(*shape, recompute="attention") < peakline.hardware_flops(
        *shape, recompute="full"
    ) * (1 + 1e-12)


def test_attainable():
    assert peakline.attainable(100.0, 10.0, 5.0) == 50.0
    assert peakline.attainable(100.0, 10.0, 20.0) == 100.0


MODEL = ["--params", "7e9", "--layers", "32", "--heads", "32", "--head-dim", "128"]
MODEL += ["--sequence", "4096"]


run = functools.partial(outcome, main)


def test_command_prints_both_kinds(capsys, ceilings_path):
    arguments = ["--profile", ceilings_path, "--dtype", "bf16", "--tokens-per-second", "10000"]
    arguments += MODEL
    named = ["MFU (published)", "of achievable", "of model"]
    more = ["--recompute", "full", "--intensity", "200"]
    hardware = ["HFU (published)", "hardware FLOPs, of achievable", "hardware FLOPs, of model"]
    for options, names in (
        ([], named),
        (more, [*named, *hardware, "of the roofline (burst)"]),
        (["--all"], [*named[:1], "of burst", *named[1:2], "of model burst", *named[2:]]),
    ):
        code, out, _ = run(capsys, *arguments, *options)
        assert code == 0
        printed = re.findall(r" %  (.+?)  +of \d", out)
        assert [name for name in printed if name in names] == names
        assert options == ["--all"] or printed == names
    code, out, _ = run(capsys, *arguments, "--intensity", ".1e+3", "--json")
    result = json.loads(out)
    shares = {row["name"]: row["share"] for row in result["utilization"]}
    flops = 6 * 7e9 + 12 * 32 * 32 * 128 * 4096
    assert result["flops_per_token"] == flops
    assert shares["MFU (datasheet)"] == pytest.approx(flops * 1e4 / PEAK)
    assert shares["of achievable (burst)"] == pytest.approx(flops * 1e4 / BURST)
    # 100 FLOP/byte are left of the ridge: memory is the limit.
    read = ceiling("hbm.read", "measured")
    assert result["roofline"]["limit_flops_per_s"] == pytest.approx(100 * read)
    assert result["roofline"]["bound_by"] == "hbm.read"


@pytest.mark.parametrize(
    ("tokens", "intensity", "above"),
    [
        ("100", "50", {}),
        ("11500", "50", {"of the roofline (burst)": "--intensity"}),
        (
            "15600",
            "50",
            {"of the roofline (burst)": "--intensity", "of achievable, of model": "--dtype"},
        ),
        # Right of the ridge the limit is the peak: --dtype is wrong, not the intensity.
        ("19000", "1e4", {"of achievable, of model, of the roofline (burst)": "--dtype"}),
    ],
)
def test_what_lies_above_100_percent_is_named_with_its_remedy(
    capsys, ceilings_path, tokens, intensity, above
):
    arguments = ["--profile", ceilings_path, "--dtype", "bf16", "--intensity", intensity]
    arguments += ["--flops-per-token", "4.8e10", "--tokens-per-second", tokens]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    notes = [line for line in out.splitlines() if line.startswith("Above 100 %: ")]
    assert len(notes) == len(above)
    for note, (names, remedy) in zip(notes, above.items(), strict=True):
        assert note.startswith(f"Above 100 %: {names}. ")
        assert [flag for flag in ("--intensity", "--dtype") if flag in note] == [remedy]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dtype", "fp4", *MODEL], "no fp4 peak"),
        (["--dtype", "bf16-sparse", *MODEL], "dense"),
        (["--dtype", "bf16", *MODEL[:-2]], "need --sequence"),
        (["--dtype", "bf16", "--params", "-7"], "not a number above 0"),
        (["--dtype", "bf16", *MODEL, "--intensity", "1e-320"], "argument --intensity: '1e-320'"),
        (
            ["--dtype", "bf16", *MODEL, "--tokens-per-second", "1e308"],
            "--tokens-per-second: '1e308'",
        ),
        (["--dtype", "bf16", *MODEL, "--devices", "٢"], "argument --devices: '٢'"),
        (["--dtype", "bf16", *MODEL, "--devices", "1_0"], "argument --devices: '1_0'"),
        (["--dtype", "bf16", *MODEL, "--devices", " 1"], "argument --devices: ' 1'"),
        (["--dtype", "bf16", "--flops-per-token", "1e9", "--params", "1e9"], "leave out --params"),
        (["--dtype", "bf16", *MODEL, "--device", "A100"], "no device 'A100'"),
        (["--dtype", "bf16", *MODEL, "--active-params", "8e9"], "cannot be more"),
        (["--dtype", "bf16", "--flops-per-token", "1e12"], "impossible"),
    ],
)
def test_command_refuses(capsys, ceilings_path, arguments, message):
    rest = ["--profile", ceilings_path, "--tokens-per-second", "10000"]
    code, out, err = run(capsys, *rest, *arguments)
    assert code == 2
    assert out == ""
    assert message in err


def test_command_takes_a_fleet(capsys, write):
    document = only(document_of())
    fast = str(write(document, "fast.json"))
    slow = str(write(scaled(document, 0.9, "tensor."), "slow.json"))
    document["devices"][0]["name"] = "Other"
    other = str(write(document, "other.json"))
    rest = ["--dtype", "bf16", "--tokens-per-second", "10000", *MODEL]
    code, out, _ = run(capsys, "--profile", fast, slow, *rest, "--json")
    assert code == 0
    burst = next(r for r in json.loads(out)["utilization"] if r["basis"] == "burst")
    assert burst["peak"] == pytest.approx(0.9 * BURST)
    code, _, err = run(capsys, "--profile", fast, other, *rest)
    assert code == 2
    assert "mixed fleet" in err
    assert run(capsys, "--profile", fast, other, *rest, "--allow-mixed")[0] == 0


def test_model_shaped_peaks_are_named(capsys, ceilings_path, profile):
    peak = profile.peak("bf16", basis="model_shaped")
    assert (peak, peak.published) == (MODEL_SHAPED, False)
    share = peakline.mfu(MODEL_SHAPED / 2, 1.0, peak)
    assert str(share) == "50.0 % of achievable (model-shaped)"
    rest = ["--profile", ceilings_path, "--dtype", "bf16"]
    out = run(capsys, *rest, "--tokens-per-second", "10000", *MODEL, "--json")[1]
    rows = json.loads(out)["utilization"]
    row = next(r for r in rows if r["basis"] == "model_shaped")
    assert row["name"] == "of achievable (model-shaped)"
    assert row["peak"] == float(peak)
    assert "gemm.model.bf16/load:sustained" in row["source"]
    code, out, _ = run(capsys, "export", "--for", "json", *rest, "--basis", "model_shaped")
    exported = json.loads(out)
    assert (code, exported["basis"], exported["value"]) == (0, "model_shaped", float(peak))
    assert exported["share_is_called"] == "of achievable (model-shaped)"
