"""The least time of a training step, by hand and on the command line."""

import dataclasses

import peakline
import pytest
from conftest import CONFIGS, TWO_GPUS
from made_rates import with_ceilings
from peakline import from_hf_config, train_bound, units
from peakline.profile.conclusions import Curve, Figure

NODE = TWO_GPUS
LLAMA = CONFIGS / "llama-3-8b.json"
PARAMS = 8_030_261_248
TOKENS, SEQUENCE = 524_288, 8192


@pytest.fixture(scope="module")
def node():
    return peakline.load(NODE)


@pytest.fixture(scope="module")
def llama():
    return from_hf_config(LLAMA)


def test_forward_flops_by_hand(llama):
    # Projections, gated MLP and head; half of the attention matrix.
    layer = 4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14336
    products = 2 * (32 * layer + 4096 * 128256)
    assert llama.forward_flops(SEQUENCE) == products + 4 * 32 * 4096 * SEQUENCE / 2
    # Windows and states count, too.
    mistral = LLAMA.with_name("mistral-7b-v0.1.json")
    short, long = (from_hf_config(mistral).forward_flops(n) for n in (65536, 131072))
    assert long / short == pytest.approx(1, abs=0.01)
    assert from_hf_config(LLAMA.with_name("nemotron-3-nano-30b.json")).forward_flops(4096) > 6e9


def test_a_long_step_is_bound_by_its_products(node, llama):
    found = train_bound(node, llama, TOKENS, sequence=SEQUENCE)
    best = max(float(node.peak("bf16", basis=basis)) for basis in ("instruction", "burst"))
    flops = 3 * llama.forward_flops(SEQUENCE) * TOKENS
    assert (found.seconds, found.limiter) == (flops / best, "tensor.bf16")
    assert float(found) == found.seconds
    assert found.tokens_per_s == TOKENS / found.seconds
    sustained = flops / node.peak("bf16", basis="sustained")
    assert found.estimate_s == sustained > found.seconds
    # 34 bytes a parameter: 28 of the optimizer, 6 of weights and gradients.
    assert found.needs["hbm"] == 34 * PARAMS / node.bandwidth("hbm")
    assert found.missing == ()


def test_scales_slow_the_estimate_but_not_the_bound(llama):
    """FP8 with scales of blocks at 1e15 FLOP/s under load; the bound is that of the instruction."""
    profile = with_ceilings({"tensor.fp8_block": {"burst": 1.2e15, "sustained": 1e15}})
    plain = train_bound(profile, llama, TOKENS, sequence=SEQUENCE, dtype="fp8")
    found = train_bound(profile, llama, TOKENS, sequence=SEQUENCE, dtype="fp8_block")
    assert (found.seconds, found.needs) == (plain.seconds, plain.needs)
    assert found.estimate_s == 3 * llama.forward_flops(SEQUENCE) * TOKENS / 1e15
    # Nothing was measured under load with scales of rows.
    assert (
        train_bound(profile, llama, TOKENS, sequence=SEQUENCE, dtype="fp8_row").estimate_s is None
    )


def test_a_short_step_is_bound_by_what_moves(node, llama):
    few = train_bound(node, llama, 2048, 2, sequence=SEQUENCE)
    assert few.limiter == "hbm"
    # A ring over two GPUs sends all gradients once: 2 x 2 bytes x 1 / 2.
    assert few.needs["links"] == 2 * PARAMS / 450e9
    parts = train_bound(node, llama, 2048, 2, "fsdp", sequence=SEQUENCE)
    assert parts.needs["links"] == pytest.approx(3 * PARAMS / 450e9)
    assert parts.needs["hbm"] == (28 / 2 + 6) * PARAMS / node.bandwidth("hbm")
    assert few.needs["tensor.bf16"] == parts.needs["tensor.bf16"]
    # Nothing is known of links to other nodes.
    far = train_bound(node, llama, 2048, 16, sequence=SEQUENCE)
    assert (far.missing, "links" in far.needs) == (("links",), False)


def test_estimate_pays_for_computing_and_sending_at_once(node, llama):
    load, slower = 1.2, 2.0
    price = Curve(
        device="node",
        topic="beside collectives",
        figures=tuple(
            Figure(
                id="beside.gemm",
                name=name,
                value=value,
                unit="1",
                by={"collective": "all_reduce", "ctas": "auto"},
            )
            for name, value in (("load", load), ("collective", slower))
        ),
    )
    others = [curve for curve in node.curves if curve.topic != price.topic]
    measured = dataclasses.replace(node, curves=(*others, price))
    found = train_bound(measured, llama, TOKENS, 2, sequence=SEQUENCE)
    node = dataclasses.replace(node, curves=tuple(others))
    without = train_bound(node, llama, TOKENS, 2, sequence=SEQUENCE)
    assert (found.seconds, without.overlap_s) == (without.seconds, 0)
    # Products lose a sixth of the time in which gradients are sent.
    assert found.overlap_s == pytest.approx(found.needs["links"] * slower * (1 - 1 / load))
    assert found.estimate_s == without.estimate_s + found.overlap_s
    # So few tokens that sending takes longer: it slows down only while products run.
    few = train_bound(measured, llama, 16, 2, sequence=SEQUENCE)
    assert few.needs["links"] > few.needs["tensor.bf16"] * load / slower
    assert few.estimate_s >= few.needs["hbm"]


def test_mixture_trains_chosen_and_stores_all(node):
    mixtral = from_hf_config(LLAMA.with_name("mixtral-8x7b.json"))
    found = train_bound(node, mixtral, TOKENS, sequence=4096)
    assert found.needs["hbm"] == 34 * 46_702_792_704 / node.bandwidth("hbm")
    assert mixtral.forward_flops(4096) < 2 * 13e9 + 4 * 32 * 4096 * 4096


def test_the_host_reads_its_own_memory(node, llama):
    found = train_bound(node, llama, 2048, sequence=SEQUENCE, dtype="fp32", device="host")
    assert found.limiter == "cpu.fp32"
    assert found.needs["memory"] == 34 * PARAMS / node.bandwidth("memory", device="host")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((1, 2, "zero"), {}, ValueError, "strategy must be ddp or fsdp, not 'zero'"),
        ((0,), {}, ValueError, "tokens must be"),
        ((1,), {"sequence": 0}, ValueError, "sequence must be"),
        ((1,), {"dtype": "mxfp4"}, peakline.PeakError, "measured mxfp4 peak"),
    ],
)
def test_what_cannot_be_bounded(node, llama, arguments, options, error, message):
    with pytest.raises(error, match=message):
        train_bound(node, llama, *arguments, **{"sequence": 1, **options})


def test_command(mfu, node, llama):
    arguments = ["--profile", NODE, "--dtype", "bf16", "--tokens-per-second", "16000"]
    arguments += ["--devices", "2", "--hf-config", LLAMA, "--sequence", SEQUENCE]
    assert "what this machine allows" not in mfu.stdout(*arguments)
    step = ["--tokens-per-step", TOKENS, "--strategy", "fsdp"]
    expected = train_bound(node, llama, TOKENS, 2, "fsdp", sequence=SEQUENCE)
    assert (
        f"This run is at {1600000 / expected.tokens_per_s:.1f} % of what this machine allows for "
        f"its shape: {units.number(expected.tokens_per_s)} tokens/s, bound by tensor.bf16.\n"
    ) in mfu.stdout(*arguments, *step)
    result = mfu.document(*arguments, *step)["train_bound"]
    assert result["seconds"] == expected.seconds
    assert result["share"] == 16000 / expected.tokens_per_s
