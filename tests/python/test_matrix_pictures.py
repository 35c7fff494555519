"""Pictures of matrix products: what is drawn, and where."""

from __future__ import annotations

from typing import Any

import peakline
import pytest
import synthetic
from conftest import GPU, by_key, figure_of, loaded
from drawing import lines
from peakline.pictures import Picture

pytest.importorskip("matplotlib")


def test_matrix_alignment_is_per_clock(drawn: dict[str, Picture]) -> None:
    picture = drawn["matrix-alignment"]
    figure = figure_of(picture)
    assert [axes.get_title(loc="left")[0] for axes in figure.axes] == ["M", "N", "K"]
    powers = [1, 2, 4, 8, 16, 32, 64, 128, 8192]
    for axes, dimension in zip(figure.axes, "MNK", strict=True):
        for name in ("bf16", "fp8", "int8"):
            (line,) = [x for x in axes.get_lines() if x.get_label() == name.upper()]
            places = {powers[int(x)]: y for x, y in zip(*line.get_data(), strict=True)}
            assert set(places) == set(powers if name == "bf16" else powers[4:])
            for power, y in places.items():
                # The clocks differ by 10 %: rates that are not per clock would be that far off.
                share = synthetic.alignment_share(name, dimension, power)
                assert y == pytest.approx(share * 100, rel=0.02), (dimension, name, power)
        single = [x for x in axes.get_lines() if x.get_label() == "_bf16 points"]
        assert len(single[0].get_xdata()) == 13


def test_waves_show_the_cliff(
    profile: peakline.Profile, drawn: dict[str, Picture], document: dict[str, Any]
) -> None:
    picture = drawn["waves"]
    found = lines(picture)
    for kernel, name in (("fixed", "one kernel"), ("best", "best kernel")):
        rows = [m for m in profile.of(GPU, "gemm.waves") if m.params["kernel"] == kernel]
        expected = {
            int(m.launch["tiles"]) / 132: float(m.value or 0) / synthetic.WARM_CLOCK / 132
            for m in rows
        }
        assert len(expected) == 14
        assert dict(found[name]) == pytest.approx(expected)
    (axes,) = figure_of(picture).axes
    verticals = [
        line.get_xdata()[0] for line in axes.get_lines() if "wave" in str(line.get_label())
    ]
    assert verticals == [1, 2, 3]
    fixed = dict(found["one kernel"])
    assert fixed[13 * 11 / 132] < 0.6 * fixed[1.0]
    top = max(fixed.values())
    assert dict(found["idle SMs alone"]) == pytest.approx(
        {m // 128 * 11 / 132: top * synthetic.waves_share(m // 128 * 11) for m in synthetic.WAVES_M}
    )
    for row in document["curves"]:
        row["figures"] = []
    assert "idle SMs alone" not in lines(by_key(loaded(document))["waves"])


def test_many_waves_have_few_verticals(document: dict[str, Any]) -> None:
    for m in document["measurements"]:
        if "tile_m" in m["launch"]:
            m["launch"]["n"] *= 10**9
    (axes,) = figure_of(by_key(loaded(document))["waves"]).axes
    verticals = [line for line in axes.get_lines() if "wave" in str(line.get_label())]
    assert 6 <= len(verticals) <= 12


def test_rates_per_clock_need_clocks(document: dict[str, Any]) -> None:
    for m in document["measurements"]:
        m["conditions"].pop("sm_clock_hz", None)
    assert not {"matrix-alignment", "waves"} & set(by_key(loaded(document)))
