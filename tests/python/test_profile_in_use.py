"""A profile at the prompt and in a notebook; devices and peaks by the names that people use."""

from __future__ import annotations

import json
import pickle
import sys
import types
from typing import Any

import peakline
import pytest
import synthetic
from conftest import ROOT


@pytest.fixture(scope="module")
def reference() -> peakline.Profile:
    return peakline.load(ROOT / "reports/reference/nvidia-h200.json")


def test_repr_is_one_line(profile: peakline.Profile, reference: peakline.Profile) -> None:
    text = repr(reference)
    assert text.startswith("<Profile nvidia-h200.json: NVIDIA H200; full run of 2026-11-")
    assert f"{len(reference.measurements)} measurements" in text
    assert len(text) < 150
    golden = repr(peakline.loads((ROOT / "tests/golden/profile.json").read_bytes()))
    assert golden.startswith("<Profile profile: 2 × NVIDIA H200; ")
    assert synthetic.GPU_NAME in repr(profile)


def test_html_shows_the_ceilings(document: dict[str, Any], reference: peakline.Profile) -> None:
    page = reference._repr_html_()
    rows = {(c.device, c.resource) for c in reference.ceilings}
    assert page.count("<tr>") == 1 + len(rows)
    assert "<td>HBM read</td>" in page
    assert "<th>model_shaped</th></tr>" in page
    document["devices"][0]["name"] = "<script>"

    assert "<script>" not in peakline.loads(json.dumps(document))._repr_html_()


def test_measurements_as_a_frame(
    monkeypatch: pytest.MonkeyPatch, reference: peakline.Profile
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=list))
    rows = reference.to_pandas()
    assert len(rows) == len(reference.measurements)
    first = next(row for row in rows if row["id"] == "gemm.bf16" and row["status"] == "ok")
    measurement = next(m for m in reference.measurements if m.id == "gemm.bf16" and m.value)
    assert first["value"] == measurement.value
    assert first["low"] < first["value"] < first["high"]
    assert first["device"] == "NVIDIA H200"
    assert set(measurement.params) <= set(first)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError):
        reference.to_pandas()


@pytest.mark.parametrize("name", ["H200", "h200", "nvidia h200", "NVIDIA", 0, "0"])
def test_a_device_by_a_word_of_its_name(reference: peakline.Profile, name: str | int) -> None:
    uuid = reference.devices[0].uuid
    assert reference.select_devices(name) == [uuid]
    assert reference.select_devices(uuid[: len("GPU-") + 4]) == [uuid]


@pytest.mark.parametrize("name", ["H20", "200", "H100", "", "."])
def test_part_of_a_word_is_no_name(reference: peakline.Profile, name: str) -> None:
    with pytest.raises(peakline.PeakError, match=r"use one of 0 .NVIDIA H200, GPU-"):
        reference.select_devices(name)


def test_a_word_of_two_models_is_not_enough() -> None:
    names = ("NVIDIA H100 PCIe", "NVIDIA H100 NVL")
    profile = peakline.loads(json.dumps(synthetic.profile(2, names=names)))
    assert len(profile.select_devices("PCIe")) == 1
    with pytest.raises(peakline.PeakError, match="no device 'H100'"):
        profile.select_devices("H100")


def test_peaks_say_what_ran(reference: peakline.Profile) -> None:
    bare = reference.peak("fp32", basis="burst")
    assert (bare.resource, bare.work) == ("cuda_core.fp32", "FMAs alone")
    product = reference.peak("gemm.fp32", basis="burst")
    assert (product.resource, product.work) == ("gemm.fp32", "matrix product")
    assert product < bare
    assert reference.peak("bf16", basis="burst").work == "matrix product"
    assert reference.peak("bf16", basis="instruction").work == "matrix instructions alone"
    assert reference.peak("bf16", basis="datasheet").work == ""
    assert pickle.loads(pickle.dumps(product)).work == product.work
    with pytest.raises(peakline.PeakError, match=r"no burst figure for gemm\.bf16"):
        reference.peak("gemm.bf16", basis="burst")
