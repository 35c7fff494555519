"""Pictures of unbroken load: what is drawn, and where."""

from __future__ import annotations

from typing import Any

import peakline
import pytest
import synthetic
from conftest import GPU, by_key, figure_of, loaded
from drawing import lines, panel, texts
from peakline.pictures import Picture

pytest.importorskip("matplotlib")


def series_of(profile: peakline.Profile, name: str) -> tuple[peakline.Measurement, Any]:
    row = next(m for m in profile.of(GPU) if m.name == name)
    assert row.series is not None
    return row, row.series


def test_sustained_series(profile: peakline.Profile, drawn: dict[str, Picture]) -> None:
    picture = drawn["sustained"]
    # The fastest first; burst and sustained rate, and the power at the end.
    assert [axes.get_title(loc="left") for axes in figure_of(picture).axes] == [
        "FP8: 1624 → 1386\nTFLOP/s, 700 W",
        "INT8: 1624 → 1386\nTOP/s, 700 W",
        "BF16: 812 → 693\nTFLOP/s, 700 W",
        "FP16: 812 → 693\nTFLOP/s, 700 W",
        "TF32: 406 → 346\nTFLOP/s, 700 W",
    ]
    _, series = series_of(profile, "gemm.bf16/load:sustained")
    shown = panel(picture, "BF16: 812 → 693\nTFLOP/s, 700 W")
    limit = 1.08 * synthetic.TENSOR["bf16"]
    assert shown["rate, % of theoretical"] == [
        (pytest.approx(t), pytest.approx(rate / limit * 100))
        for t, rate in zip(series.time_s, series.rate, strict=True)
    ]
    # What could not be read is left out, not drawn as 0.
    clocks = [c for c in series.sm_clock_hz if c is not None]
    assert [y for _, y in shown["clock, % of maximum"]] == pytest.approx(
        [clock / 1.98e9 * 100 for clock in clocks]
    )
    # Panels compare: one scale for all, with room for every value.
    (limits,) = {axes.get_ylim() for axes in figure_of(picture).axes}
    ys = [y for points in lines(picture).values() for _, y in points]
    assert limits[0] <= min(ys) <= max(ys) <= limits[1]


def test_sustained_names_its_shares_and_claims_no_burst_at_the_start(
    drawn: dict[str, Picture],
) -> None:
    picture = drawn["sustained"]
    (legend,) = filter(None, (axes.get_legend() for axes in figure_of(picture).axes))
    named = ["rate, % of theoretical", "clock, % of maximum"]
    assert [text.get_text() for text in legend.get_texts()] == named
    assert "burst" not in picture.title.lower()
    assert "begins below the burst rate" in picture.how


def test_sustained_shows_milliseconds_and_seconds(drawn: dict[str, Picture]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = figure_of(drawn["sustained"])
    FigureCanvasAgg(figure).draw()
    for axes in figure.axes:
        assert axes.get_xscale() == "log"
        low, high = axes.get_xlim()
        assert low <= 0.01
        assert 5 <= high < 6
        shown = [
            tick.label1.get_text()
            for tick in axes.xaxis.get_major_ticks()
            if low <= tick.get_loc() <= high
        ]
        assert shown == ["10 ms", "0.1 s", "1 s"]


def test_sustained_shows_the_matrix_formats_alone(document: dict[str, Any]) -> None:
    def drawn() -> list[str]:
        axes = figure_of(by_key(loaded(document))["sustained"]).axes
        return [panel.get_title(loc="left").partition(":")[0] for panel in axes]

    # The made-up profile has no ceiling of FP64 Tensor Cores.
    assert drawn() == ["FP8", "INT8", "BF16", "FP16", "TF32"]
    document["measurements"] = [
        m for m in document["measurements"] if not m["id"].startswith("gemm.")
    ]
    assert drawn() == ["FP16", "FP32", "FP64"]  # the CUDA cores'


def test_series_without_a_burst_or_readings(document: dict[str, Any]) -> None:
    document["measurements"] = [
        m for m in document["measurements"] if m["params"].get("load") != "burst"
    ]
    found = by_key(loaded(document))
    headings = [axes.get_title(loc="left") for axes in figure_of(found["sustained"]).axes]
    assert headings[0] == "FP8: 1386\nTFLOP/s, 700 W"
    for m in document["measurements"]:
        if "series" in m:
            for key in ("sm_clock_hz", "power_w", "temperature_c"):
                m["series"][key] = [None] * len(m["series"][key])
    found = by_key(loaded(document))
    assert set(lines(found["sustained"])) == {"rate, % of theoretical"}
    assert len(figure_of(found["soak"]).axes) == 1  # the rate alone


def test_soak(
    profile: peakline.Profile, drawn: dict[str, Picture], document: dict[str, Any]
) -> None:
    picture = drawn["soak"]
    row, series = series_of(profile, "gemm.bf16/load:soak")
    late = [t for t in series.time_s if t >= 1.0]
    found = lines(picture)
    assert [t for t, _ in found["TFLOP/s"]] == late
    assert found["temperature, °C"][-1] == (
        pytest.approx(120.0),
        pytest.approx(series.temperature_c[-1]),
    )
    assert [y for _, y in found["FLOP per clock and SM"]] == pytest.approx(
        [0.7 * 990e12 / 1.41e9 / 132] * len(late)
    )
    assert {x for x, _ in found["equilibrium"]} == {64}
    assert "equilibrium, 64 s" in texts(picture)
    assert row.value is not None
    # A change of less than 5 % is not blown up to the whole height.
    low, high = figure_of(picture).axes[0].get_ylim()
    assert (high - low) / high == pytest.approx(0.05, abs=0.005)
    for m in document["measurements"]:
        m["launch"].pop("equilibrium_s", None)
    restless = by_key(loaded(document))["soak"]
    assert "equilibrium" not in lines(restless)
