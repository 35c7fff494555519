"""Pictures of unbroken load: what is drawn, and where."""

import copy

import pytest
from conftest import GPU, by_key, ceiling, document_of, figure_of, loaded, only
from drawing import lines, panel, texts

# The panels have this order, the fastest first.
FORMATS = sorted(
    ("bf16", "fp16", "fp64", "fp8", "int8", "tf32"),
    key=lambda name: -ceiling(f"tensor.{name}", "sustained"),
)


def headings(picture):
    return [axes.get_title(loc="left") for axes in figure_of(picture).axes]


def formats(picture):
    return [heading.partition(":")[0] for heading in headings(picture)]


def row_of(document, id_, load):
    (row,) = (
        m
        for m in document["measurements"]
        if (m["device"], m["id"], m.get("params", {}).get("load")) == (GPU, id_, load)
    )
    return row


def with_soak():
    """A profile with two minutes of load instead of some seconds, in equilibrium after 64 s."""
    document = only(document_of(), "gemm.bf16")
    soak = copy.deepcopy(row_of(document, "gemm.bf16", "sustained"))
    soak["params"]["load"] = "soak"
    soak["launch"]["equilibrium_s"] = 64
    factor = 120 / soak["series"]["time_s"][-1]
    soak["series"]["time_s"] = [factor * t for t in soak["series"]["time_s"]]
    document["measurements"].append(soak)
    return document


def test_sustained_series(document, drawn):
    picture = drawn["sustained"]
    row = row_of(document, "gemm.bf16", "sustained")
    burst, held = (ceiling("tensor.bf16", basis) / 1e12 for basis in ("burst", "sustained"))
    power = row["conditions"]["power_w"]
    heading = f"BF16: {held:.0f} TFLOP/s\n{power:.0f} W, burst {burst:.0f}"
    assert formats(picture) == [name.upper() for name in FORMATS]
    assert heading in headings(picture)
    shown, series = panel(picture, heading), row["series"]
    limit = ceiling("tensor.bf16", "theoretical")
    # The burst rate that the heading names is drawn, since the curve need not reach it.
    level = pytest.approx(burst * 1e14 / limit)
    assert [y for _, y in shown["burst rate, from rest"]] == [level, level]
    assert shown["rate, % of theoretical"] == [
        (pytest.approx(t), pytest.approx(rate / limit * 100))
        for t, rate in zip(series["time_s"], series["rate"], strict=True)
        if rate is not None
    ]
    # What could not be read is left out, not drawn as 0.
    highest = document["devices"][0]["sm_clock_max_hz"]
    assert [y for _, y in shown["clock, % of maximum"]] == pytest.approx(
        [clock / highest * 100 for clock in series["sm_clock_hz"] if clock is not None]
    )
    # Panels compare by one scale, with room for every value.
    (limits,) = {axes.get_ylim() for axes in figure_of(picture).axes}
    ys = [y for points in lines(picture).values() for _, y in points]
    assert limits[0] <= min(ys) <= max(ys) <= limits[1]


def test_sustained_falls_back_to_cuda_cores(document):
    picture = by_key(loaded(only(document, "fma.")))["sustained"]
    assert formats(picture) == ["FP16", "FP32", "FP64"]


def test_series_without_a_burst_or_readings():
    document = with_soak()
    document["measurements"] = [
        m for m in document["measurements"] if m["params"].get("load") != "burst"
    ]
    (heading,) = headings(by_key(loaded(document))["sustained"])
    held = ceiling("tensor.bf16", "sustained") / 1e12
    assert heading.startswith(f"BF16: {held:.0f} TFLOP/s\n") and "burst" not in heading
    for m in document["measurements"]:
        for key in {"sm_clock_hz", "power_w", "temperature_c"} & m.get("series", {}).keys():
            m["series"][key] = [None] * len(m["series"][key])
    found = by_key(loaded(document))
    assert set(lines(found["sustained"])) == {"rate, % of theoretical"}
    assert len(figure_of(found["soak"]).axes) == 1  # the rate alone


def test_soak():
    document = with_soak()
    profile = loaded(document)
    picture = by_key(profile)["soak"]
    row = row_of(document, "gemm.bf16", "soak")
    late = [
        (t, rate, clock)
        for t, rate, clock in zip(
            *(row["series"][key] for key in ("time_s", "rate", "sm_clock_hz")), strict=True
        )
        if t >= 1.0
    ]
    found = lines(picture)
    assert found["TFLOP/s"] == pytest.approx([(t, rate / 1e12) for t, rate, _ in late])
    assert found["temperature, °C"][-1] == pytest.approx((120, row["series"]["temperature_c"][-1]))
    sms = document["devices"][0]["sm_count"]
    assert [y for _, y in found["FLOP per clock and SM"]] == pytest.approx(
        [rate / clock / sms for _, rate, clock in late if clock]
    )
    assert {x for x, _ in found["equilibrium"]} == {64}
    assert "equilibrium, 64 s" in texts(picture)
    # A change of less than 5 % is not blown up to the whole height.
    low, high = figure_of(picture).axes[1].get_ylim()
    assert high - low >= 0.0499 * max(y for _, y in found["FLOP per clock and SM"])
    del row["launch"]["equilibrium_s"]
    assert "equilibrium" not in lines(by_key(loaded(document))["soak"])
