"""Pictures of matrix products: what is drawn, and where."""

import pytest
from conftest import by_key, figure_of, loaded, only
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
