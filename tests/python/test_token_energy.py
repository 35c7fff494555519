"""The estimated energy of a token, by hand."""

import peakline
import pytest
from conftest import CONFIGS, ONE_GPU, reference
from made_rates import with_energy
from peakline import PeakError, Serving, decode_bound, decode_kernels
from peakline.commands.llm import _lines
from peakline.models.energy import decode_energy
from peakline.models.served import answer, decoding, served
from schemas import checked

PROFILE = with_energy(100, 100e-12, 700)
CONFIG = CONFIGS / "llama-3-8b.json"
LLAMA = peakline.from_hf_config(CONFIG)


@pytest.mark.parametrize("serving", [Serving(), Serving(64, 8192)])
def test_joules_are_bytes_flops_and_idle_power(serving):
    found = decode_energy(PROFILE, LLAMA, serving)
    step = decode_bound(PROFILE, LLAMA, serving)
    seconds = decode_kernels(PROFILE, LLAMA, serving).seconds
    per_flop = (700 - 100) / PROFILE.peak("bf16", basis="achievable")
    assert found.memory == pytest.approx(step.bytes * 100e-12 / serving.batch)
    assert found.computing == pytest.approx(step.flop * per_flop / serving.batch)
    assert found.idle == pytest.approx(100 * seconds / serving.batch)
    assert found.joules == pytest.approx(found.memory + found.computing + found.idle)
    assert found.seconds == seconds


def test_profiles_without_energy_say_what_measures_it(llm):
    with pytest.raises(PeakError, match=r"no energy\.idle: peakline run --energy"):
        decode_energy(reference(ONE_GPU), LLAMA)
    document = decoding(reference(ONE_GPU), served(CONFIG), [1], [1024])
    assert document["decode"][0]["joules_per_token"] is None
    assert not any("J/token" in line for line in _lines(document, str))
    asked = ("--batch", "1", "--context", "1024", "--joules-per-token", "3")
    assert "run --energy" in llm.refused("--profile", ONE_GPU, "--hf-config", CONFIG, *asked)


@pytest.mark.parametrize(("per_byte", "loaded_w"), [(-1e-12, 700), (0, 700), (100e-12, 90)])
def test_loads_below_the_idle_board_give_no_estimate(per_byte, loaded_w):
    profile = with_energy(100, per_byte, loaded_w)
    with pytest.raises(PeakError, match="drew no more than idle"):
        decode_energy(profile, LLAMA)
    assert decoding(profile, served(CONFIG), [1], [1024])["decode"][0]["joules_per_token"] is None


@pytest.mark.parametrize("idle_w", [0, -5])
def test_an_idle_board_draws_power(idle_w):
    with pytest.raises(PeakError, match=rf"energy\.idle has a power of {idle_w} W"):
        decode_energy(with_energy(idle_w, 100e-12, 700), LLAMA)


def test_the_reason_that_forbids_an_estimate_is_said():
    with pytest.raises(PeakError, match="drew no more than idle"):
        decoding(with_energy(100, 0, 700), served(CONFIG), [1], [1024], joules=3)


def test_given_joules_are_held_against_the_estimate():
    document = checked(decoding(PROFILE, served(CONFIG), [1, 8], [1024], joules=3))
    first, second = (row["joules_per_token"] for row in document["decode"])
    assert document["energy"] == {"joules_per_token": 3, "estimate_of_it": first / 3}
    rows = [line.split() for line in _lines(document, str)[3:5]]
    assert [row[4] for row in rows] == [f"{first:.2f}", f"{second:.3f}"]
    assert answer(document, str).endswith(
        f"; of your 3 J per token, {first / 3:.1%} are estimated".replace("%", " %")
    )


def test_one_batch_is_needed_for_joules(llm):
    said = llm.refused("--profile", ONE_GPU, "--hf-config", CONFIG, "--joules-per-token", "3")
    assert "--joules-per-token needs one --batch and one --context" in said
