"""Pictures of unbroken load: what is drawn, and where."""

import copy

from conftest import GPU, by_key, ceiling, document_of, figure_of, loaded, only
from drawing import lines


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
    del row_of(document, "gemm.bf16", "soak")["launch"]["equilibrium_s"]
    assert "equilibrium" not in lines(by_key(loaded(document))["soak"])
