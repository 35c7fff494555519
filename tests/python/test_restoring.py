"""How long a KV cache takes back from the host, by hand."""

import dataclasses
import json

import peakline
import pytest
from conftest import CONFIGS, ONE_GPU, config_of, reference
from made_rates import with_blocks
from peakline import Formats, PeakError, Serving, Transformer, kv_restoring, prefill_bound, units
from peakline.models.served import decoding, restoring, served
from peakline.profile import Curve, Figure
from schemas import checked

KIBI = 1024
# A call takes 4.096 us for 4 KiB and 8.192 us for 256 KiB, a batch 2.048 us for each block up to 64
# KiB, a kernel always the time of its bytes.
PROFILE = with_blocks(
    {
        "loop": {4 * KIBI: 1e9, 256 * KIBI: 32e9},
        "batch": {4 * KIBI: 2e9, 64 * KIBI: 32e9},
        "kernel": {4 * KIBI: 20e9, 64 * KIBI: 20e9},
    }
)
LLAMA = peakline.from_hf_config(CONFIGS / "llama-3-8b.json")
LATENT = peakline.from_hf_config(config_of("deepseek-v3"))
STATES = peakline.from_hf_config(config_of("nemotron-3-nano-30b"))
SMALL = Transformer.uniform(2, 4, 32, 512, 1000, kv_heads=1)
WINDOW = Transformer.uniform(2, 8, 128, 512, 1000, window=256)


@pytest.mark.parametrize(
    ("model", "serving", "way", "block", "blocks", "of_one"),
    [
        # 16 tokens x 2 x 8 heads x 128 x 2 bytes.
        (LLAMA, Serving(context=1024), "batch", 64 * KIBI, 32 * 64, 2.048e-6),
        (LLAMA, Serving(context=8192), "batch", 64 * KIBI, 32 * 512, 2.048e-6),
        # The batch counts for nothing: it is of one sequence.
        (LLAMA, Serving(64, 1024), "batch", 64 * KIBI, 32 * 64, 2.048e-6),
        # Half of the bytes, by format or by heads.
        (
            LLAMA,
            Serving(context=1024, formats=Formats(kv_cache="fp8")),
            *("kernel", 32 * KIBI, 32 * 64, 32 * KIBI / 20e9),
        ),
        (LLAMA, Serving(context=1024, tp=2), "kernel", 32 * KIBI, 32 * 64, 32 * KIBI / 20e9),
        # 576 elements of a latent and its key, which each of two GPUs holds.
        (LATENT, Serving(context=1024), "kernel", 18 * KIBI, 61 * 64, 18 * KIBI / 20e9),
        (LATENT, Serving(context=1024, tp=2), "kernel", 18 * KIBI, 61 * 64, 18 * KIBI / 20e9),
        # Smaller than all that were measured: as long as the smallest.
        (SMALL, Serving(context=1024), "kernel", 2 * KIBI, 2 * 64, 4 * KIBI / 20e9),
        # Only the window, in blocks of 8 heads; larger than 64 KiB would be in proportion.
        (WINDOW, Serving(context=1024), "batch", 64 * KIBI, 2 * 16, 2.048e-6),
    ],
)
def test_seconds_are_blocks_times_one_block(model, serving, way, block, blocks, of_one):
    found = kv_restoring(PROFILE, model, serving)
    assert (found.way, found.block_bytes) == (way, block)
    assert found.bytes == block * blocks
    assert float(found) == pytest.approx(blocks * of_one)
    one = dataclasses.replace(serving, batch=1)
    again = prefill_bound(PROFILE, model, one).seconds
    assert found.least_speedup == pytest.approx(again / found.seconds)


def test_large_blocks_take_time_by_their_bytes():
    """A block of 256 KiB: 4 x 2.048 us in a batch, as by the loop, and 13.1 us by a kernel."""
    model = Transformer.uniform(1, 32, 128, 512, 1000)
    found = kv_restoring(PROFILE, model, Serving(context=160))
    assert (found.block_bytes, found.seconds) == (256 * KIBI, pytest.approx(10 * 8.192e-6))


def test_states_come_back_as_one_block_each():
    found = kv_restoring(PROFILE, STATES, Serving(context=16))
    states = sum(2 * layer.state for layer in STATES.layers)
    cached = sum(16 * 2 * layer.cached for layer in STATES.layers)
    assert found.bytes == states + cached


def test_profiles_without_blocks_say_nothing(llm):
    with pytest.raises(PeakError, match=r"no rates of scattered blocks: .*'\^pcie.blocks'"):
        kv_restoring(reference(ONE_GPU), LLAMA)
    of = served(CONFIGS / "llama-3-8b.json")
    assert decoding(reference(ONE_GPU), of)["kv_restoring"] == []
    arguments = ("--profile", ONE_GPU, "--hf-config", CONFIGS / "llama-3-8b.json")
    assert "back from the host" not in llm.stdout(*arguments)


def test_text_says_time_and_least_speedup():
    of = served(CONFIGS / "llama-3-8b.json")
    document = decoding(PROFILE, of, [1], [1024, 8192])
    rows = document["kv_restoring"]
    assert [(row["context"], row["way"]) for row in rows] == [(1024, "batch"), (8192, "batch")]
    assert checked(document) is document
    least = ", ".join(f"{row['least_speedup']:.3g}" for row in rows)
    assert restoring(document) == (
        "KV cache back from the host over an idle link, in blocks of 64 KiB by one call for all "
        "blocks: 4.19 ms for "
        f"1024 tokens, 33.6 ms for 8192 tokens. Computing it again takes at least {least} times as "
        "long."
    )


def test_the_price_beside_decoding_is_said():
    """Of the way that is taken, to the device."""
    slowdowns = {("kernel", "h2d"): 1.4, ("batch", "d2h"): 1.2, ("batch", "h2d"): 1.06}
    figures = [
        Figure(
            id="pcie.blocks.beside_read",
            name="read_slowdown",
            by={"by": by, "direction": direction},
            value=value,
            unit="1",
        )
        for (by, direction), value in slowdowns.items()
    ]
    curve = Curve(device=PROFILE.devices[0].uuid, topic="scattered blocks", figures=tuple(figures))
    profile = dataclasses.replace(PROFILE, curves=(*PROFILE.curves, curve))
    assert kv_restoring(profile, LLAMA, Serving(context=1024)).read_slowdown == 1.06
    document = decoding(profile, served(CONFIGS / "llama-3-8b.json"), [1], [1024])
    assert checked(document) is document
    assert restoring(document).endswith(
        "long. Reads of device memory take 1.06 times as long meanwhile."
    )


def test_mean_blocks_are_of_their_contexts(tmp_path):
    """States are large blocks beside those of attention, which more tokens outnumber."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(config_of("nemotron-3-nano-30b")))
    document = decoding(PROFILE, served(config), [1], [1024, 32768])
    sizes = {units.size(row["block_bytes"]) for row in document["kv_restoring"]}
    assert len(sizes) == 2
    assert all(size in restoring(document) for size in sizes)
