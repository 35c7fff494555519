"""Pictures of matrix products: what is drawn, and where."""

import math

import pytest
from conftest import TWO_GPUS, by_key, figure_of, loaded, only, reference
from drawing import lines


@pytest.fixture
def products(document):
    """The measurements of these pictures alone."""
    return only(document, "gemm.waves", "gemm.alignment")


def test_without_its_figures_there_is_no_ideal(products):
    for row in products["curves"]:
        row["figures"] = []
    assert "idle SMs alone" not in lines(by_key(loaded(products))["waves"])


def test_many_waves_have_few_verticals(products):
    for m in products["measurements"]:
        if "tile_m" in m["launch"]:
            m["launch"]["n"] *= 10**9
    (axes,) = figure_of(by_key(loaded(products))["waves"]).axes
    verticals = [line for line in axes.get_lines() if "wave" in str(line.get_label())]
    assert 6 <= len(verticals) <= 12


def test_rates_per_clock_need_clocks(products):
    assert {"matrix-alignment", "waves"} <= set(by_key(loaded(products)))
    for m in products["measurements"]:
        m["conditions"].pop("sm_clock_hz", None)
    assert not {"matrix-alignment", "waves"} & set(by_key(loaded(products)))


def test_gemm_sizes_state_shares_and_where_90_lies():
    profile = reference(TWO_GPUS)
    first, _ = profile.devices
    said = by_key(profile, first.uuid)["sizes"].headline
    shares = {
        f.by["n"]: f.value
        for f in profile.figures(first.uuid, name="share_per_clock", id="gemm.size.bf16")
    }
    numbers = ", ".join(f"{math.floor(shares[n] * 100)}" for n in (1024, 2048, 4096, 8192))
    assert said.startswith(f"Share of burst at N = 1024, 2048, 4096, 8192: BF16 {numbers} %; FP8 ")
    below = max(n for n, share in shares.items() if share < 0.9)
    above = min(n for n in shares if n > below)
    assert f"90 %: BF16 between {below} and {above}, FP8 between" in said
