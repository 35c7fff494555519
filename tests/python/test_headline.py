"""Headlines, the table of ceilings, names and printed quantities."""

from __future__ import annotations

from typing import Any

import peakline
import pytest
import synthetic
from conftest import GPU, by_key, loaded
from drawing import texts
from peakline import units
from peakline.headline import ceiling_table, headlines
from peakline.limits import limits
from peakline.names import format_name, plain_label


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("bf16", "BF16"),
        ("fp8_e5m2", "FP8 E5M2"),
        ("fp8_accurate", "FP8 accurate"),
        ("fp16_acc16", "FP16 acc16"),
    ],
)
def test_names_of_formats(name: str, shown: str) -> None:
    assert format_name(name) == shown


def test_labels_come_from_the_profile(profile: peakline.Profile) -> None:
    for resource in profile.resources:
        assert profile.label(resource.name) == resource.label == synthetic.RESOURCES[resource.name]
    assert profile.label("cache.l2_read") == plain_label("cache.l2_read") == "cache l2 read"


def test_one_number_of_main_memory(profile: peakline.Profile) -> None:
    found = limits(profile, GPU)
    assert found is not None
    tile = headlines(profile, GPU)[0]
    assert found.main.value == profile.bandwidth("hbm") == 0.95 * synthetic.HBM
    assert tile.value == units.rate(found.main.value, "B/s")
    assert f"HBM read {found.main.value / 1e9:.0f} GB/s" in texts(by_key(profile)["roofline"])


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
    document["headlines"][0]["missing"] = "skipped: no memory"
    assert headlines(loaded(document), GPU)[0].detail == "skipped: no memory"
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
        "model_burst",
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
