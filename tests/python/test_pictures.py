"""Pictures by content: what is drawn, where, and what the sentences beside them say."""

from __future__ import annotations

import itertools
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import peakline
import pytest
import synthetic
from conftest import GPU, by_key, figure_of, loaded, synthetic_text
from hypothesis import given
from hypothesis import strategies as st
from peakline import units
from peakline.headline import ceiling_table, headlines
from peakline.kernels import Mark
from peakline.names import resource_name
from peakline.pictures import Canvas, Picture, inline_svg, pictures, render
from peakline.pictures.canvas import spread
from peakline.pictures.compare import ceilings_side_by_side, overlay
from peakline.pictures.roofline import picture as roofline_picture
from peakline.pictures.style import CARD, CSS_VARIABLES, INK, MUTED, SERIES
from peakline.report import EVERY_DEVICE, build

pytest.importorskip("matplotlib")

CANVASES = [Canvas(), Canvas(narrow=True)]
EXPECTED = [
    "roofline",
    "ceilings",
    "sustained",
    "soak",
    "model",
    "skinny",
    "matrix-alignment",
    "waves",
    "variants",
    "data",
    "hbm",
    "pcie",
    "launch",
    "alignment",
    "divergence",
]


def lines(picture: Picture, canvas: Canvas | None = None) -> dict[str, list[tuple[float, float]]]:
    """The points of every labelled line, by label."""
    found: dict[str, list[tuple[float, float]]] = {}
    for axes in figure_of(picture, canvas).axes:
        for line in axes.get_lines():
            label = str(line.get_label())
            if not label.startswith("_"):
                x, y = (list(map(float, values)) for values in line.get_data())
                found.setdefault(label, []).extend(zip(x, y, strict=True))
    return found


def texts(picture: Picture, canvas: Canvas | None = None) -> list[str]:
    figure = figure_of(picture, canvas)
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    for axes in figure.axes:
        found += [axes.get_title(loc="left"), axes.get_xlabel()]
        found += [label.get_text() for label in axes.get_yticklabels()]
        legend = axes.get_legend()
        if legend is not None:
            found += [text.get_text() for text in legend.get_texts()]
    return [text for text in found if text]


def test_which_pictures_there_are(profile: peakline.Profile, drawn: dict[str, Picture]) -> None:
    assert list(drawn) == EXPECTED
    assert list(by_key(profile, "host")) == ["roofline", "host"]


@pytest.mark.parametrize(
    ("removed", "key"),
    [
        ("hbm", "hbm"),
        ("pcie", "pcie"),
        ("launch", "launch"),
        ("divergence", "divergence"),
        ("alignment", "alignment"),
        ("gemm.model", "model"),
        ("gemm.skinny", "skinny"),
        ("gemm.alignment", "matrix-alignment"),
        ("gemm.waves", "waves"),
        ("gemm.bf16/load:soak", "soak"),
    ],
)
def test_partial_profiles(document: dict[str, Any], removed: str, key: str) -> None:
    profile = loaded(document)
    kept = [
        row
        for row, m in zip(document["measurements"], profile.measurements, strict=True)
        if not m.name.startswith(removed)
    ]
    document["measurements"] = kept
    found = set(by_key(loaded(document)))
    assert found == set(EXPECTED) - {key}


def test_empty_profiles_draw_nothing(document: dict[str, Any]) -> None:
    for key in ("measurements", "ceilings", "rooflines", "findings"):
        document[key] = []
    profile = loaded(document)
    assert pictures(profile, GPU) == []
    assert "<h1>" in build([profile])["report.html"].decode()


# --- roofline ----------------------------------------------------------------------------------


@pytest.mark.parametrize("canvas", CANVASES, ids=["wide", "narrow"])
def test_roofline_lines(
    profile: peakline.Profile, drawn: dict[str, Picture], canvas: Canvas
) -> None:
    found = lines(drawn["roofline"], canvas)
    slope = 0.95 * synthetic.HBM
    for x, y in found["hbm.read"]:
        assert y == pytest.approx(x * slope)
    for resource, limit in synthetic.TENSOR.items():
        roof = found[f"tensor.{resource}"]
        assert [y for _, y in roof] == pytest.approx([0.82 * limit] * 2)
        # The roof starts at its ridge point.
        assert min(x for x, _ in roof) == pytest.approx(0.82 * limit / slope)
        assert [y for _, y in found[f"tensor.{resource} sustained"]] == pytest.approx(
            [0.7 * limit] * 2
        )
        assert [y for _, y in found[f"tensor.{resource} theoretical"]] == pytest.approx(
            [1.08 * limit] * 2
        )
    ridges = found["ridge points hbm.read"]
    heights = [0.82 * t for t in synthetic.TENSOR.values()]
    heights += [0.98 * c for c in synthetic.CUDA_CORE.values()]
    assert sorted(y for _, y in ridges) == pytest.approx(sorted(heights))
    assert sorted(x for x, _ in ridges) == pytest.approx(sorted(y / slope for y in heights))
    points = {
        p.intensity: p.flops_per_s
        for r in profile.rooflines
        for p in r.points
        if r.device == GPU and p.precision == "fp32"
    }
    assert dict(found["sweep fp32"]) == points


def test_roofline_styles(drawn: dict[str, Picture]) -> None:
    (axes,) = figure_of(drawn["roofline"]).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    for line in axes.get_lines():
        label = str(line.get_label())
        dashed = line.is_dashed()
        if label.endswith("theoretical"):
            assert dashed, label
        elif label.startswith(("tensor", "cuda_core", "hbm")):
            assert not dashed, label
    widths = {str(line.get_label()): line.get_linewidth() for line in axes.get_lines()}
    assert widths["tensor.bf16"] > widths["tensor.bf16 sustained"]
    # One band for the interval of each slope and roof.
    assert len(axes.collections) == 2 + len(synthetic.TENSOR) + len(synthetic.CUDA_CORE)


def test_roofline_labels_and_reading(drawn: dict[str, Picture]) -> None:
    picture = drawn["roofline"]
    shown = texts(picture)
    assert "BF16 Tensor Cores 812 | 693" in shown
    assert "HBM read 4560 GB/s" in shown
    assert "178" in shown
    assert "356 FLOP for each byte" in picture.reading
    assert "between 96.0 % and 97.0 %" in picture.reading
    assert "85.4 % of burst" in picture.reading


def test_reading_follows_the_device(document: dict[str, Any]) -> None:
    slow = peakline.loads(json.dumps(synthetic.profile(1, scale=0.5)))
    fast = loaded(document)
    for key in EXPECTED:
        if key in ("pcie", "launch", "alignment", "divergence"):
            continue  # these do not depend on the scale
        if key in ("model", "matrix-alignment", "variants", "data"):
            continue  # shares, in which the scale cancels
        assert by_key(slow)[key].reading != by_key(fast)[key].reading, key
    assert "2280 GB/s" in by_key(slow)["roofline"].reading


def test_kernels_are_marked(profile: peakline.Profile) -> None:
    mark = Mark(7, "my kernel", 3.0, 1e13)
    picture = roofline_picture(profile, GPU, [mark])
    assert picture is not None
    assert lines(picture)["kernel my kernel"] == [(3.0, 1e13)]
    assert "7" in texts(picture)
    # A kernel far outside the usual frame widens it.
    far = roofline_picture(profile, GPU, [Mark(1, "tiny", 1e-4, 1e6)])
    assert far is not None
    (axes,) = figure_of(far).axes
    assert axes.get_xlim()[0] < 1e-4
    assert axes.get_ylim()[0] < 1e6


# --- the others --------------------------------------------------------------------------------


def test_pcie_curves(profile: peakline.Profile, drawn: dict[str, Picture]) -> None:
    picture = drawn["pcie"]
    found = lines(picture)
    rows = [m for m in profile.of(GPU) if m.id == "pcie.h2d.pinned"]
    assert dict(found["to device, pinned"]) == {m.params["bytes"]: m.value for m in rows}
    assert set(found) == {
        "to device, pinned",
        "to host, pinned",
        "to device, pageable",
        "to host, pageable",
        "both ways, pinned",
        "link",
    }
    assert "55.0 GB/s to the device and 54.0 GB/s back, 87.3 % and 85.7 % of" in picture.reading
    assert "5.0 times slower" in picture.reading
    assert "reach half the rate" in picture.reading


def test_sizes_far_apart_do_not_tell_where_copies_reach_half_the_rate(
    document: dict[str, Any],
) -> None:
    document["measurements"] = [
        m
        for m in document["measurements"]
        if not m["id"].startswith("pcie") or m["params"].get("bytes") in (4096, 2**28)
    ]
    reading = by_key(loaded(document))["pcie"].reading
    assert "A small copy takes" in reading
    assert "half" not in reading


def test_parameters_that_make_no_sense_are_left_out(document: dict[str, Any]) -> None:
    for sign in (-1, 0):
        changed = json.loads(json.dumps(document))
        for m in changed["measurements"]:
            m["params"] = {k: sign * v if isinstance(v, int) else v for k, v in m["params"].items()}
        for picture in by_key(loaded(changed)).values():
            figure_of(picture)


def test_hbm_patterns(drawn: dict[str, Picture]) -> None:
    picture = drawn["hbm"]
    found = lines(picture)
    # Patterns compare at the largest footprint, not at the one where the cache helps.
    assert found["16 bytes"][0][0] == pytest.approx(0.95 * synthetic.HBM / 1e9)
    assert dict(found["read"])[2.0**28] == pytest.approx(0.95 * 1.02 * synthetic.HBM / 1e9)
    assert "write, reaches 4632 GB/s, 96.5 %" in picture.reading
    assert "Memcpy is the slowest" in picture.reading
    assert "Width matters most to " in picture.reading
    assert {"read", "write", "copy", "triad", "memcpy", "memset"} <= set(texts(picture))


def test_launch_costs(drawn: dict[str, Picture]) -> None:
    picture = drawn["launch"]
    figure = figure_of(picture)
    widths = sorted(patch.get_width() for patch in figure.axes[0].patches)
    assert widths == pytest.approx([1.1, 1.9, 2.2, 7.4])
    graph = dict(lines(picture)["graph"])
    assert graph[1024] == pytest.approx((5 + 1.3 * 1024) / 1024)
    assert "7.40 µs" in picture.reading
    assert "1.7 times less" in picture.reading


def test_divergence_is_relative_to_one_path(drawn: dict[str, Picture]) -> None:
    picture = drawn["divergence"]
    found = lines(picture)
    assert found["inside a warp"][0] == (1.0, 1.0)
    assert found["inside a warp"][-1] == (32.0, pytest.approx(32**0.97))
    assert found["between warps"][-1] == (32.0, pytest.approx(1.0))
    assert "costs nothing" in picture.reading


def test_alignment_is_relative_to_aligned(drawn: dict[str, Picture]) -> None:
    picture = drawn["alignment"]
    figure = figure_of(picture)
    offset, stride = figure.axes
    (four, *_) = [line for line in offset.get_lines() if line.get_label() == "4 bytes"]
    assert four.get_ydata()[0] == pytest.approx(100)
    assert min(four.get_ydata()) == pytest.approx(90)
    (sixteen, *_) = [line for line in stride.get_lines() if line.get_label() == "16 bytes"]
    assert sixteen.get_ydata()[-1] == pytest.approx(50)
    assert "leaves 90.0 %" in picture.reading


def series_of(profile: peakline.Profile, name: str) -> tuple[peakline.Measurement, Any]:
    row = next(m for m in profile.of(GPU) if m.name == name)
    assert row.series is not None
    return row, row.series


def panel(picture: Picture, title: str) -> dict[str, list[tuple[float, float]]]:
    """The lines of the panel with this heading, by label."""
    (axes,) = [x for x in figure_of(picture).axes if x.get_title(loc="left") == title]
    return {
        str(line.get_label()): list(zip(*map(list, line.get_data()), strict=True))
        for line in axes.get_lines()
    }


def test_sustained_series(profile: peakline.Profile, drawn: dict[str, Picture]) -> None:
    picture = drawn["sustained"]
    assert [axes.get_title(loc="left") for axes in figure_of(picture).axes] == [
        "rate, % of burst; right: TFLOP/s held",
        "rate per clock, % of what the units allow",
        "SM clock, MHz",
        "power, W",
        "temperature, °C",
    ]
    row, series = series_of(profile, "gemm.bf16/load:sustained")
    rates = panel(picture, "rate, % of burst; right: TFLOP/s held")
    burst = 0.82 * synthetic.TENSOR["bf16"]
    assert rates["BF16"] == [
        (pytest.approx(t), pytest.approx(rate / burst * 100))
        for t, rate in zip(series.time_s, series.rate, strict=True)
    ]
    # Theoretical is 1.08 times what the tests call the limit, at the highest clock of 1980 MHz.
    units_allow = 1.08 * synthetic.TENSOR["bf16"] / 1.98e9
    per_clock = panel(picture, "rate per clock, % of what the units allow")["BF16"]
    expected = 0.7 * synthetic.TENSOR["bf16"] / 1.41e9 / units_allow * 100
    assert [y for _, y in per_clock] == pytest.approx([expected] * len(series.time_s))
    # What could not be read is left out, not drawn as 0.
    power = panel(picture, "power, W")["BF16"]
    assert len(power) == len(series.time_s) - 1
    assert min(y for _, y in power) > 0
    assert "sw power cap" in picture.reading
    assert row.value is not None
    assert f"holds {units.rate(row.value, 'FLOP/s')} in the last third" in picture.reading
    assert f"{row.value / 1.41e9 / 132:.0f} FLOP per clock and SM" in picture.reading
    # 693 TFLOP/s at 700 W.
    assert "BF16 990" in picture.reading
    assert "INT8 1980" in picture.reading


def test_sustained_shows_the_way_from_burst(drawn: dict[str, Picture]) -> None:
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
        assert shown == ["10 ms", "100 ms", "1 s"]


def test_sustained_shows_the_matrix_formats_alone(document: dict[str, Any]) -> None:
    def drawn() -> list[str]:
        picture = by_key(loaded(document))["sustained"]
        return list(panel(picture, "rate, % of burst; right: TFLOP/s held"))

    assert drawn() == ["FP8", "INT8", "BF16", "FP16", "TF32", "FP64"]
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
    assert headings[0] == "rate per clock, % of what the units allow"
    for m in document["measurements"]:
        if m["series"]:
            for key in ("sm_clock_hz", "power_w", "temperature_c"):
                m["series"][key] = [None] * len(m["series"][key])
    found = by_key(loaded(document))
    assert "sustained" not in found
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
    assert f"holds {units.rate(row.value, 'FLOP/s')} at the end of 120 s" in picture.reading
    assert "after 64 s, at 71 °C" in picture.reading
    # A change of less than 5 % is not blown up to the whole height.
    low, high = figure_of(picture).axes[0].get_ylim()
    assert (high - low) / high == pytest.approx(0.05, abs=0.005)
    for m in document["measurements"]:
        m["launch"].pop("equilibrium_s", None)
    restless = by_key(loaded(document))["soak"]
    assert "equilibrium" not in lines(restless)
    assert "no thermal equilibrium" in restless.reading
    assert "°C" not in restless.reading


# --- matrix products ---------------------------------------------------------------------------


def change(document: dict[str, Any], name: str, factor: float) -> None:
    """Multiplies the rate of the measurements whose name begins so."""
    changed = 0
    for m in document["measurements"]:
        params = "/".join(f"{k}:{v}" for k, v in m["params"].items())
        if f"{m['id']}/{params}".startswith(name):
            m["value"] *= factor
            m["summary"] = {k: v if k == "n" else v / factor for k, v in m["summary"].items()}
            changed += 1
    assert changed


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
    # Formats with one number of tokens make no line; they stand in the reading.
    assert not {"TF32 layer", "INT8 layer"} & set(lines(picture))
    for text in ("TF32 90.", "FP16 90.", "FP8 90.", "INT8 90.", "with 16384 tokens"):
        assert text in picture.reading, text


def test_model_layer_is_the_strongest_line(drawn: dict[str, Picture]) -> None:
    for axes in figure_of(drawn["model"]).axes:
        assert axes.get_xscale() == "log"
        widths = {str(line.get_label()): line.get_linewidth() for line in axes.get_lines()}
        layers = [widths.pop("BF16 layer"), widths.pop("FP8 layer")]
        assert min(layers) > 2 * max(widths.values())


def test_model_follows_a_slow_format(document: dict[str, Any]) -> None:
    change(document, "gemm.model.int8/hidden:8192", 0.5)
    reading = by_key(loaded(document))["model"].reading
    assert "INT8 45." in reading
    assert "FP8 90." in reading


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
        assert f"{name.upper()} at M = {ridge:.0f}" in picture.reading
    (axes,) = figure_of(picture).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_skinny_names_the_worst(document: dict[str, Any]) -> None:
    change(document, "gemm.skinny.fp8/m:64", 0.5)
    reading = by_key(loaded(document))["skinny"].reading
    assert "FP8 does" in reading
    assert "furthest below it at M = 64 with 4" in reading
    document["ceilings"] = [c for c in document["ceilings"] if c["resource"] != "hbm.read"]
    bare = by_key(loaded(document))["skinny"]
    assert "ridge" not in bare.reading
    assert set(lines(bare)) == {"bf16", "fp8", "bf16 roofline", "fp8 roofline"}
    assert lines(bare)["bf16 roofline"] == []


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
        single = [x for x in axes.get_lines() if x.get_label() == "bf16 points"]
        assert len(single[0].get_xdata()) == 13
    assert "Most costs K in BF16: divisible by 1 alone, 56." in picture.reading
    assert "multiples of 32 on" in picture.reading


def test_vocabulary_costs_time(profile: peakline.Profile, document: dict[str, Any]) -> None:
    def reading() -> str:
        return by_key(loaded(document))["matrix-alignment"].reading

    assert "A vocabulary of 50257 takes 100 % more time at one clock" in reading()
    assert "padded to 50304" in reading()
    # Half the clock and half the rate is no loss of alignment.
    change(document, "gemm.vocabulary.bf16/n:50257", 0.5)
    for m in document["measurements"]:
        if m["params"].get("n") == 50257:
            m["conditions"]["sm_clock_hz"] /= 2
    assert "50257 takes 100 % more" in reading()
    change(document, "gemm.vocabulary.bf16/n:50257", 0.8)
    assert "50257 takes 150 % more" in reading()


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
    drop = fixed[13 * 11 / 132] / fixed[1.0] - 1
    assert f"({drop * 100:+.0f} %)" in picture.reading
    assert picture.reading.startswith("With 1.08 waves")
    change(document, "gemm.waves.bf16/m:3200/kernel:fixed", 0.3)
    assert by_key(loaded(document))["waves"].reading.startswith("With 2.08")
    # A slow size in the middle of a wave is no cliff.
    change(document, "gemm.waves.bf16/m:2560/kernel:fixed", 0.1)
    assert by_key(loaded(document))["waves"].reading.startswith("With 2.08")


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
    assert "BF16 is fastest with zeros, at 120.0 % of normal data with 420 instead" in (
        picture.reading
    )


def test_many_waves_have_few_verticals(document: dict[str, Any]) -> None:
    for m in document["measurements"]:
        if "tiles" in m["launch"]:
            m["launch"]["tiles"] *= 10**9
    (axes,) = figure_of(by_key(loaded(document))["waves"]).axes
    verticals = [line for line in axes.get_lines() if "wave" in str(line.get_label())]
    assert 6 <= len(verticals) <= 12


def test_variants_are_shares_of_burst_per_clock(drawn: dict[str, Picture]) -> None:
    picture = drawn["variants"]
    (axes,) = figure_of(picture).axes
    rows = [label.get_text() for label in axes.get_yticklabels()]
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
    assert "in TT reaches 90.0 % of burst" in picture.reading
    assert "FP8 accurate 70.0 %" in picture.reading


def panel_by_xlabel(picture: Picture, label: str) -> dict[str, list[tuple[float, float]]]:
    (axes,) = [x for x in figure_of(picture).axes if x.get_xlabel() == label]
    return {
        str(line.get_label()): list(zip(*map(list, line.get_data()), strict=True))
        for line in axes.get_lines()
    }


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        ("tensor.bf16", "BF16 Tensor Cores"),
        ("tensor.fp8_e5m2", "FP8 E5M2 Tensor Cores"),
        ("tensor.fp8_accurate", "FP8 accurate Tensor Cores"),
        ("gemm.fp32", "FP32 matrix product"),
        ("pcie.h2d", "PCIe to device"),
    ],
)
def test_names_of_resources(resource: str, name: str) -> None:
    assert resource_name(resource) == name


def test_sweeps_without_clock_or_ceiling_do_not_fail(document: dict[str, Any]) -> None:
    for m in document["measurements"]:
        m["conditions"]["sm_clock_hz"] = None
    found = set(by_key(loaded(document)))
    assert not {"matrix-alignment", "waves"} & found
    document["ceilings"] = []
    for picture in by_key(loaded(document)).values():
        figure_of(picture)


def test_ceilings_are_shares(drawn: dict[str, Picture]) -> None:
    picture = drawn["ceilings"]
    figure = figure_of(picture)
    values = {
        round(float(line.get_xdata()[0]), 3)
        for line in figure.axes[0].get_lines()
        if len(line.get_xdata()) == 1
    }
    assert round(82 / 1.08, 3) in values
    assert 95.0 in values
    assert round(74 / 1.08, 3) in values
    assert "model-shaped" in texts(picture)
    assert "FP64 CUDA cores with 98.0 %" in picture.reading


def test_one_thread_count_makes_no_curve(document: dict[str, Any]) -> None:
    document["measurements"] = [
        m for m in document["measurements"] if m["params"].get("threads", 32) == 32
    ]
    assert "host" not in by_key(loaded(document), "host")


def test_host_scaling(profile: peakline.Profile) -> None:
    picture = by_key(profile, "host")["host"]
    assert dict(lines(picture)["read"])[16.0] == pytest.approx(210.0)
    assert "16 threads get 95 % of it" in picture.reading


@pytest.mark.parametrize("area", ["cache", "latency"])
def test_later_sweeps_are_drawn_when_present(document: dict[str, Any], area: str) -> None:
    unit, low = ("B/s", 2e13) if area == "cache" else ("s", 3e-8)
    for power in range(14, 31, 2):
        document["measurements"].append(
            synthetic.measurement(GPU, f"{area}.read", {"bytes": 2**power}, low / power, unit)
        )
    picture = by_key(loaded(document))[area]
    assert len(lines(picture)["read"]) == 9
    assert "16 KiB" in picture.reading


def test_overlay_of_profiles() -> None:
    items = [
        (name, peakline.loads(json.dumps(synthetic.profile(1, scale=scale))), GPU)
        for name, scale in (("a", 1.0), ("b", 0.8))
    ]
    picture = overlay(items)
    assert picture is not None
    found = lines(picture)
    assert [y for _, y in found["a tensor.bf16"]] == pytest.approx([0.82 * 990e12] * 2)
    assert [y for _, y in found["b tensor.bf16"]] == pytest.approx([0.8 * 0.82 * 990e12] * 2)
    assert "a leads" in picture.reading
    assert "1.25 times b" in picture.reading
    side = ceilings_side_by_side(items)
    assert side is not None
    shares = {round(x) for x, _ in lines(side)["b"]}
    assert shares == {80, 100}  # the link is not scaled
    assert overlay(items[:1]) is None
    assert ceilings_side_by_side(items[:1]) is None


# --- what all have in common -------------------------------------------------------------------


@pytest.mark.parametrize("canvas", CANVASES, ids=["wide", "narrow"])
def test_nothing_is_cut_off(
    profile: peakline.Profile, drawn: dict[str, Picture], canvas: Canvas
) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for picture in [*drawn.values(), *pictures(profile, "host")]:
        figure = figure_of(picture, canvas)
        target = FigureCanvasAgg(figure)
        target.draw()
        renderer = target.get_renderer()
        page = figure.bbox
        items = [t for axes in figure.axes for t in axes.texts if t.get_text()]
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                items += [
                    tick.label1
                    for tick in axis.get_major_ticks()
                    if tick.label1.get_text() and low <= tick.get_loc() <= high
                ]
        for axes in figure.axes:
            legend = axes.get_legend()
            items += legend.get_texts() if legend else []
        for item in items:
            box = item.get_window_extent(renderer)
            assert box.x0 >= page.x0 - 1, (picture.key, item.get_text())
            assert box.x1 <= page.x1 + 1, (picture.key, item.get_text())
            assert box.y0 >= page.y0 - 1, (picture.key, item.get_text())
            assert box.y1 <= page.y1 + 1, (picture.key, item.get_text())


def test_end_labels_do_not_overlap(drawn: dict[str, Picture]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = figure_of(drawn["roofline"])
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [
        text.get_window_extent(renderer)
        for text in figure.axes[0].texts
        if re.search(r"[Cc]ores [\d.]+", text.get_text())
    ]
    assert len(boxes) == len(synthetic.TENSOR) + len(synthetic.CUDA_CORE)
    boxes.sort(key=lambda box: box.y0)
    for lower, upper in itertools.pairwise(boxes):
        assert upper.y0 >= lower.y1 - 1


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(0.5, 20))
def test_spread(positions: list[float], gap: float) -> None:
    placed = spread(positions, gap, 0.0, 100.0)
    assert len(placed) == len(positions)
    assert all(-1e-6 <= p <= 100 + 1e-6 for p in placed)
    room = gap if gap * (len(positions) - 1) <= 100 else 100 / max(1, len(positions) - 1)
    ordered = sorted(placed)
    assert all(b - a >= room * (1 - 1e-9) - 1e-6 for a, b in itertools.pairwise(ordered))
    ranks = sorted(range(len(positions)), key=lambda i: positions[i])
    assert all(placed[a] <= placed[b] + 1e-6 for a, b in itertools.pairwise(ranks))
    if positions and all(b - a >= gap for a, b in itertools.pairwise(sorted(positions))):
        assert placed == pytest.approx(positions)


def luminance(color: str) -> float:
    """Relative luminance of an sRGB colour (WCAG 2)."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_have_contrast_in_both_themes() -> None:
    from importlib import resources

    style = resources.files("peakline.page").joinpath("page.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"(--[a-z0-9]+): (#[0-9a-f]{6})", part))
        for part in style.split("@media screen", 1)
    )
    for color in (*SERIES, INK, MUTED):
        assert light[CSS_VARIABLES[color]] == color
    for theme in (light, dark):
        for name in (
            "--ink",
            "--muted",
            "--error",
            "--warning",
            "--info",
            *(f"--s{i + 1}" for i in range(len(SERIES))),
        ):
            assert contrast(theme[name], theme["--card"]) >= 4.5, name
    assert light["--card"] == CARD


def simulate(color: str, kind: str) -> tuple[float, float, float]:
    """A colour as seen with a colour blindness (Machado, Oliveira, Fernandes 2009, severity 1)."""
    matrices = {
        "protan": (
            (0.152286, 1.052583, -0.204868),
            (0.114503, 0.786281, 0.099216),
            (-0.003882, -0.048116, 1.051998),
        ),
        "deutan": (
            (0.367322, 0.860646, -0.227968),
            (0.280085, 0.672501, 0.047413),
            (-0.011820, 0.042940, 0.968881),
        ),
        "tritan": (
            (1.255528, -0.076749, -0.178779),
            (-0.078411, 0.930809, 0.147602),
            (0.004733, 0.691367, 0.303900),
        ),
    }
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    seen = [sum(m * c for m, c in zip(row, linear, strict=True)) for row in matrices[kind]]
    return tuple(max(0.0, s) ** (1 / 2.2) for s in seen)  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["protan", "deutan", "tritan"])
def test_first_colours_differ_with_colour_blindness(kind: str) -> None:
    # Three lines are the most that most pictures tell apart by colour; marker and dash differ too.
    seen = [simulate(color, kind) for color in SERIES[:3]]
    for i, one in enumerate(seen):
        for other in seen[i + 1 :]:
            assert math.dist(one, other) > 0.12


def test_svg_is_safe_and_takes_the_pages_colours(drawn: dict[str, Picture]) -> None:
    for picture in drawn.values():
        text = inline_svg(picture, Canvas(), "p1-")
        ElementTree.fromstring(text.replace("<svg ", '<svg xmlns:xlink="x" ', 1))
        assert "<script" not in text
        assert "<style" not in text
        assert not re.search(r"(href|src)=\"(?!#)", text)
        for color in CSS_VARIABLES:
            assert color not in text
        identities = re.findall(r'\bid="([^"]*)"', text)
        assert all(identity.startswith("p1-") for identity in identities)
        for target in re.findall(r'(?:url\(#|xlink:href="#)([^)"]*)', text):
            assert target in identities


@pytest.mark.parametrize("name", ["$x^$", "<b>&\"'", "a\nb", "é€µ", "{}%s\\", "x" * 300])
def test_any_name_can_be_drawn(document: dict[str, Any], name: str) -> None:
    document["devices"][0]["name"] = name
    for finding in document["findings"]:
        finding["message"] = name
    profile = loaded(document)
    marked = roofline_picture(profile, GPU, [Mark(1, name, 1.0, 1e12)])
    assert marked is not None
    for form in ("png", "svg", "pdf"):
        assert len(render(marked, form)) > 1000
    ElementTree.fromstring(render(marked, "svg"))


def test_files_are_the_same_every_time(drawn: dict[str, Picture]) -> None:
    picture = drawn["roofline"]
    for form in ("svg", "png", "pdf"):
        assert render(picture, form) == render(picture, form)


def test_further_devices_of_one_model_get_the_pictures_in_which_they_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("peakline.report.render", lambda *_: b"")  # the names alone matter here
    profile = peakline.loads(synthetic_text(2))
    names = build([profile], ["svg"])
    assert {n for n in names if n.startswith("gpu0-")} == {f"gpu0-{k}.svg" for k in EXPECTED}
    assert {n for n in names if n.startswith("gpu1-")} == {f"gpu1-{k}.svg" for k in EVERY_DEVICE}
    mixed = loaded(synthetic.profile(2, names=("A", "B")))
    names = build([mixed], ["svg"])
    assert {n for n in names if n.startswith("gpu1-")} == {f"gpu1-{k}.svg" for k in EXPECTED}


def test_headlines(profile: peakline.Profile, document: dict[str, Any]) -> None:
    assert [(h.what, h.value, h.detail) for h in headlines(profile, GPU)] == [
        ("HBM read", "4560 GB/s", "95.0 % of theoretical 4800 GB/s"),
        ("PCIe to device", "55.0 GB/s", "87.3 % of theoretical 63.0 GB/s"),
        ("FP32 CUDA cores", "65.6 TFLOP/s", "98.0 % of theoretical 66.9 TFLOP/s"),
        ("BF16 burst", "812 TFLOP/s", "82.0 % of datasheet 990 TFLOP/s"),
        ("BF16 sustained", "693 TFLOP/s", "70.0 % of datasheet 990 TFLOP/s"),
    ]
    assert [(h.what, h.value) for h in headlines(profile, "host")] == [
        ("memory read", "210 GB/s"),
        ("memory copy", "180 GB/s"),
        ("memory triad", "190 GB/s"),
        ("FP64", "1.44 TFLOP/s"),
        ("FP32", "2.88 TFLOP/s"),
    ]
    document["ceilings"] = [
        c for c in document["ceilings"] if (c["resource"], c["basis"]) != ("hbm.read", "measured")
    ]
    missing = headlines(loaded(document), GPU)[0]
    assert (missing.value, missing.detail) == ("–", "not measured in this run")
    document["ceilings"] = []
    assert headlines(loaded(document), GPU) == []


def test_ceiling_table(profile: peakline.Profile) -> None:
    bases, rows = ceiling_table(profile, GPU)
    assert bases == [
        "theoretical",
        "datasheet",
        "instruction",
        "measured",
        "burst",
        "sustained",
        "model_shaped",
    ]
    row = next(r for r in rows if r.resource == "tensor.bf16")
    assert row.best is not None
    assert row.best.basis == "burst"
    assert row.share == pytest.approx(0.82 / 1.08)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (units.rate(4583e9, "B/s"), "4583 GB/s"),
        (units.rate(54.36e9, "B/s"), "54.4 GB/s"),
        (units.rate(805.04e12, "FLOP/s"), "805 TFLOP/s"),
        (units.rate(2.5e6, "B/s"), "2.50 MB/s"),
        (units.rate(93e9, "FLOP/s"), "93.0 GFLOP/s"),
        (units.time(1.234e-5), "12.3 µs"),
        (units.time(3e-8), "30.0 ns"),
        (units.time(2.0), "2.00 s"),
        (units.size(4096), "4 KiB"),
        (units.size(1.5 * 2**30), "1.50 GiB"),
        (units.size(100), "100 B"),
        (units.percent(0.9527), "95.3 %"),
        (units.clock(1.98e9), "1980 MHz"),
        (units.intensity(14630), "14.6 k"),
        (units.value(0.001, "s"), "1.00 ms"),
        (units.number(0), "0"),
        (units.number(1e-9), "1.00e-09"),
    ],
)
def test_printed_quantities(text: str, expected: str) -> None:
    assert text == expected
