"""A profile at the prompt and in a notebook; devices and peaks by the names that people use."""

import pickle
import sys
import types

import peakline
import pytest
from conftest import GOLDEN, GPU, TWO_GPUS, document_of, loaded, only
from peakline.page.screen import headlines


def test_repr_is_one_line(profile):
    text = repr(profile)
    assert text.startswith("<Profile nvidia-h200.json: NVIDIA H200; full run of 2026-11-")
    assert f"{len(profile.measurements)} measurements" in text
    assert len(text) < 150
    golden = repr(peakline.loads(GOLDEN.read_bytes()))
    assert golden.startswith("<Profile profile: 2 × NVIDIA H200; ")


def test_html_shows_the_ceilings(profile):
    page = profile._repr_html_()
    rows = {(c.device, c.resource) for c in profile.ceilings}
    assert page.count("<tr>") == 1 + len(rows)
    assert "<td>HBM read</td>" in page
    assert "<th>model_shaped</th></tr>" in page


def test_labels_of_older_files_are_renewed(document):
    older = {"pcie.h2d": "PCIe to device", "tensor.bf16": "BF16 matrix units"}
    for row in [*document["resources"], *document["headlines"]]:
        name = row.get("resource") or row["name"]
        row["label"] = older.get(name, row["label"])
    document["resources"].append(
        {"name": "tensor.fp2", "label": "FP2 units", "unit": "FLOP/s", "kind": "compute"}
    )
    profile = loaded(document)
    assert profile.label("pcie.h2d") == "PCIe H2D"
    assert profile.label("tensor.bf16") == "BF16 Tensor Cores"
    assert profile.label("tensor.fp2") == "FP2 units"
    # A GPU that shares the host's memory has no PCIe.
    document["devices"][0]["integrated"] = True
    assert loaded(document).label("pcie.h2d") == "PCIe to device"
    assert loaded(document).label("tensor.bf16") == "BF16 Tensor Cores"
    shown = [row.label for row in headlines(profile, GPU).rows]
    assert "PCIe H2D" in shown
    assert "PCIe to device" not in shown


def test_measurements_as_a_frame(monkeypatch, profile):
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=list))
    rows = profile.to_pandas()
    assert len(rows) == len(profile.measurements)
    first = next(row for row in rows if row["id"] == "gemm.bf16" and row["status"] == "ok")
    measurement = next(m for m in profile.measurements if m.id == "gemm.bf16" and m.value)
    assert first["value"] == measurement.value
    assert first["low"] < first["value"] < first["high"]
    assert first["device"] == "NVIDIA H200"
    assert set(measurement.params) <= set(first)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError):
        profile.to_pandas()


@pytest.mark.parametrize("name", ["H200", "h200", "nvidia h200", "NVIDIA", 0, "0"])
def test_a_device_by_a_word_of_its_name(profile, name):
    uuid = profile.devices[0].uuid
    assert profile.select_devices(name) == [uuid]
    assert profile.select_devices(uuid[: len("GPU-") + 4]) == [uuid]


@pytest.mark.parametrize("name", ["H20", "200", "H100", "", "."])
def test_part_of_a_word_is_no_name(profile, name):
    with pytest.raises(peakline.PeakError, match=r"use one of 0 .NVIDIA H200, GPU-"):
        profile.select_devices(name)


def test_a_word_of_two_models_is_not_enough():
    document = only(document_of(TWO_GPUS))
    for device, name in zip(document["devices"], ("PCIe", "NVL"), strict=True):
        device["name"] = f"NVIDIA H100 {name}"
    profile = loaded(document)
    assert len(profile.select_devices("PCIe")) == 1
    with pytest.raises(peakline.PeakError, match="no device 'H100'"):
        profile.select_devices("H100")


def test_peaks_say_what_ran(profile):
    bare = profile.peak("fp32", basis="burst")
    assert (bare.resource, bare.work) == ("cuda_core.fp32", "FMAs alone")
    product = profile.peak("gemm.fp32", basis="burst")
    assert (product.resource, product.work) == ("gemm.fp32", "GEMM")
    assert product < bare
    assert profile.peak("bf16", basis="burst").work == "GEMM"
    assert profile.peak("bf16", basis="instruction").work == "matrix instructions alone"
    assert profile.peak("bf16", basis="datasheet").work == ""
    assert pickle.loads(pickle.dumps(product)).work == product.work
    with pytest.raises(peakline.PeakError, match=r"no burst figure for gemm\.bf16"):
        profile.peak("gemm.bf16", basis="burst")
