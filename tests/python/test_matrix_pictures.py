"""Pictures of matrix products: what is drawn, and where."""

from __future__ import annotations

from typing import Any

import peakline
import pytest
import synthetic
from conftest import GPU, by_key, figure_of, loaded
from drawing import lines, panel, panel_by_xlabel, texts
from peakline.pictures import Picture

pytest.importorskip("matplotlib")


def values_of(
    profile: peakline.Profile, id_: str, key: str, **params: int | str
) -> dict[float, float]:
    return {
        float(m.params[key]): float(m.value or 0)
        for m in profile.of(GPU, id_)
        if params.items() <= dict(m.params).items()
    }


def test_model_shares_of_burst(profile: peakline.Profile, drawn: dict[str, Picture]) -> None:
    picture = drawn["model"]
    for hidden in (4096, 8192):
        found = panel(picture, f"% of burst, hidden size {hidden}")
        names = {"qkv": "QKV", "layer": "BF16 layer"}
        for part in ("qkv", "output", "up", "down", "layer"):
            rates = values_of(profile, "gemm.model.bf16", "tokens", hidden=hidden, part=part)
            burst = 0.82 * synthetic.TENSOR["bf16"] / 100
            assert dict(found[names.get(part, part)]) == pytest.approx(
                {tokens: rate / burst for tokens, rate in rates.items()}
            )
        fp8 = values_of(profile, "gemm.model.fp8", "tokens", hidden=hidden, part="layer")
        assert found["FP8 layer"][-1][1] == pytest.approx(
            fp8[16384] / (0.82 * synthetic.TENSOR["fp8"]) * 100
        )
        assert [y for _, y in found["BF16 sustained"]] == pytest.approx([70 / 82 * 100] * 2)
    # Formats with one number of tokens make no line.
    assert not {"TF32 layer", "INT8 layer"} & set(lines(picture))


def test_model_layer_is_the_strongest_line(drawn: dict[str, Picture]) -> None:
    for axes in figure_of(drawn["model"]).axes:
        assert axes.get_xscale() == "log"
        widths = {str(line.get_label()): line.get_linewidth() for line in axes.get_lines()}
        layers = [widths.pop("BF16 layer"), widths.pop("FP8 layer")]
        assert min(layers) > 2 * max(widths.values())


def test_skinny_prediction_and_ridge(profile: peakline.Profile, drawn: dict[str, Picture]) -> None:
    picture = drawn["skinny"]
    found = lines(picture)
    bandwidth = 0.95 * synthetic.HBM
    for name, operand in (("bf16", 2), ("fp8", 1)):
        measured = values_of(profile, f"gemm.skinny.{name}", "m")
        assert dict(found[name]) == pytest.approx({m: v / 1e12 for m, v in measured.items()})
        burst = 0.82 * synthetic.TENSOR[name]
        side = 8192
        predicted = dict(found[f"{name} roofline"])
        for m in measured:
            size = operand * (m * side + side * side) + 2 * m * side
            roof = min(2 * m * side * side / size * bandwidth, burst)
            assert predicted[m] == pytest.approx(roof / 1e12)
        # 2 M S S bandwidth = burst (operand (M S + S S) + 2 M S), solved for M.
        ridge = operand * burst * side / (2 * side * bandwidth - burst * (operand + 2))
        ((x, y),) = found[f"{name} ridge"]
        assert x == pytest.approx(ridge)
        assert y == pytest.approx(burst / 1e12)
        assert f"{name.upper()} ridge: M = {ridge:.0f}" in texts(picture)
    (axes,) = figure_of(picture).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


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
    assert "idle SMs alone" not in found
    waves = next(c for c in document["curves"] if c["topic"] == "waves" and c["device"] == GPU)
    waves["values"] = {"ideal_share_m_1536": 1, "ideal_share_m_1664": 143 / 264}
    with_ideal = lines(by_key(loaded(document))["waves"])
    assert dict(with_ideal["idle SMs alone"]) == pytest.approx(
        {1.0: max(fixed.values()), 13 * 11 / 132: max(fixed.values()) * 143 / 264}
    )


def test_data_are_compared_with_normal(drawn: dict[str, Picture]) -> None:
    picture = drawn["data"]
    kinds = list(synthetic.DATA)
    rate = panel_by_xlabel(picture, "rate, % of normal data")
    power = panel_by_xlabel(picture, "power, W; dashed: the limit")
    for kind, (watts, gain) in synthetic.DATA.items():
        assert {y: x for x, y in rate["BF16"]}[kinds.index(kind)] == pytest.approx(
            gain * 100, rel=0.005
        )
        assert {y: x for x, y in power["FP8"]}[kinds.index(kind)] == watts
    assert "low bits cleared" in texts(picture)


def test_many_waves_have_few_verticals(document: dict[str, Any]) -> None:
    for m in document["measurements"]:
        if "tile_m" in m["launch"]:
            m["launch"]["n"] *= 10**9
    (axes,) = figure_of(by_key(loaded(document))["waves"]).axes
    verticals = [line for line in axes.get_lines() if "wave" in str(line.get_label())]
    assert 6 <= len(verticals) <= 12


def test_variants_are_shares_of_burst_per_clock(drawn: dict[str, Picture]) -> None:
    picture = drawn["variants"]
    (axes,) = figure_of(picture).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    # Each with the M × N × K of its best product.
    assert labels[1] == "BF16  4096 × 16384 × 4096"
    rows = [label.partition("  ")[0] for label in labels]
    assert rows[:2] == ["TF32", "BF16"]
    assert rows[-2:] == ["FP8 E5M2", "FP8 accurate"]
    found = lines(picture)
    for layout, share in synthetic.LAYOUTS.items():
        shown = {y: x for x, y in found[layout]}
        assert shown[rows.index("BF16")] == pytest.approx(share * 100)
        assert (rows.index("FP8") in shown) == (layout == "TN")
    assert {y: x for x, y in found["L2 cleared"]}[rows.index("FP8")] == pytest.approx(94)
    assert {y: x for x, y in found["burst"]} == pytest.approx(
        {rows.index("FP8 E5M2"): 97.0, rows.index("FP8 accurate"): 70.0}
    )


def test_sweeps_without_clock_or_ceiling_do_not_fail(document: dict[str, Any]) -> None:
    for m in document["measurements"]:
        m["conditions"].pop("sm_clock_hz", None)
    found = set(by_key(loaded(document)))
    assert not {"matrix-alignment", "waves"} & found
    document["ceilings"] = []
    for picture in by_key(loaded(document)).values():
        figure_of(picture)
