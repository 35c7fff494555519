"""The datasheets' table as Python has it, and the peak of the GPU at hand."""

import json

import peakline
import pytest
from conftest import ROOT, ceiling
from peakline.peaks.mfu import utilization_name

FIELDS = "name,uuid,pci.device_id,pci.sub_device_id,mig.mode.current"
H200 = "NVIDIA H200, GPU-1, 0x233510DE, 0x18BE10DE, Disabled"
L40S = "NVIDIA L40S, GPU-2, 0x26B910DE, 0x185110DE, [N/A]"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Makes nvidia-smi list such GPUs."""
    monkeypatch.delenv("PEAKLINE_PROFILE", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def set_up(*lines):
        program = tmp_path / "nvidia-smi"
        listed = "\n".join(lines)
        program.write_text(
            f'#!/bin/sh\n[ "$1" = "--query-gpu={FIELDS}" ] || exit 2\ncat <<END\n{listed}\nEND\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return set_up


def test_every_field_of_the_table_is_read():
    document = json.loads((ROOT / "harness/hardware/datasheets.json").read_text(encoding="utf-8"))
    table = peakline.products()
    assert len(table) == len(document["products"]) >= 35
    for product, row in zip(table, document["products"], strict=True):
        assert [f.value for f in product.figures] == [v[0] for v in row.get("figures", {}).values()]
        assert all(f.unit in ("FLOP/s", "OP/s", "B/s") for f in product.figures)
        assert bool(product.figures) == bool(product.documents)
    cited = {d for p in table for d in (*p.documents, *p.compared_with)}
    cited |= {s.document for p in table for d in p.disputed for s in d.statements}
    assert {d.url for d in cited} == {d["url"] for d in document["documents"].values()}


def test_profile_beats_population_and_datasheet(machine):
    machine(H200)
    usual = peakline.peak_flops("auto", "bf16")
    known = peakline.population("NVIDIA H200", "full").figure("tensor.bf16", "burst")
    assert (usual, usual.basis, usual.resource) == (known.median, "burst", "tensor.bf16")
    assert "population of NVIDIA H200, full runs" in usual.source
    assert utilization_name(usual) == "of burst"
    profile = peakline.reference("h200")
    measured = peakline.peak_flops("auto", "torch.bfloat16", profile=profile)
    assert measured == profile.peak("bf16", basis="burst")
    assert "nvidia-h200.json" in measured.source


def test_unknown_population_falls_to_datasheet(machine):
    machine(L40S)
    peak = peakline.peak_flops("auto", "bf16")
    assert (peak, peak.basis, peak.device) == (362.05e12, "datasheet", "NVIDIA L40S")
    assert peak.source.startswith("L40S at 2490 MHz; NVIDIA L40S datasheet, 2023: https://")
    assert utilization_name(peak) == "MFU (published)"
    # Not that of the L40, an A100 or a sparse one.
    assert peakline.peak_flops("NVIDIA L40", "bf16") == 181.05e12


def test_the_environment_names_a_profile(machine, monkeypatch, tmp_path):
    machine(H200)
    path = ROOT / "reports/reference/nvidia-h200.json"
    monkeypatch.setenv("PEAKLINE_PROFILE", str(path))
    peak = peakline.peak_flops("auto", "bf16")
    assert peak == peakline.load(path).peak("bf16", basis="burst")
    # One of another model is passed over, and one that cannot be read is not.
    machine(L40S)
    assert peakline.peak_flops("auto", "bf16").basis == "datasheet"
    monkeypatch.setenv("PEAKLINE_PROFILE", str(tmp_path / "none.json"))
    with pytest.raises(peakline.ProfileError, match=r"none\.json"):
        peakline.peak_flops("auto", "bf16")


def test_a_basis_is_what_was_asked_for(machine, profile):
    machine(H200)
    assert peakline.peak_flops("auto", "bf16", basis="datasheet") == 989.4e12
    with pytest.raises(peakline.PeakError, match="states no achievable figures"):
        peakline.peak_flops("NVIDIA L40S", "bf16", basis="sustained")
    with pytest.raises(peakline.PeakError, match="unknown basis 'best'"):
        peakline.peak_flops("auto", "bf16", basis="best")
    found = peakline.peak_flops("auto", "bf16", basis="sustained", profile=profile)
    assert found == ceiling("tensor.bf16", "sustained")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["NVIDIA H20-3e, GPU-1, 0x232C10DE, 0x206310DE, Disabled"], "no document states it of H2"),
        (["NVIDIA H300, GPU-1, 0x999910DE, 0x000110DE, Disabled"], "no product of"),
        (["NVIDIA A40-48Q, GPU-1, 0x223510DE, 0x14D510DE, [N/A]"], "no product of"),
        (["NVIDIA GB300, GPU-1, [N/A], [N/A], Disabled"], "no product of .*, or several"),
        ([H200.replace("Disabled", "Enabled")], "a MIG slice has no datasheet"),
        ([H200, L40S], "this machine has NVIDIA H200, NVIDIA L40S"),
        ([], "this machine has none"),
    ],
)
def test_nothing_is_guessed(machine, lines, message):
    machine(*lines)
    with pytest.raises(peakline.PeakError, match=message):
        peakline.peak_flops("auto", "bf16")


def test_a_slice_that_the_process_sees_has_none(machine, monkeypatch):
    machine(H200)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-41b35014")
    with pytest.raises(peakline.PeakError, match="a MIG slice has no population"):
        peakline.peak_flops("auto", "bf16")


def test_disputed_figures_are_none():
    with pytest.raises(peakline.PeakError, match="documents contradict each other"):
        peakline.peak_flops("GB300", "bf16")
    with pytest.raises(peakline.PeakError, match="H100 SXM, H100 PCIe, H100 NVL"):
        peakline.peak_flops("H100", "bf16")
    with pytest.raises(peakline.PeakError, match="'NVIDIA GB300' are several products"):
        peakline.peak_flops("NVIDIA GB300", "bf16")
    assert peakline.peak_flops("H20", "bf16") == 148e12
    assert peakline.peak_flops("B300", "fp4") == 13500e12


def test_missing_nvidia_smi_asks_for_the_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(peakline.PeakError, match='name it, as in peak_flops\\("NVIDIA H200"'):
        peakline.peak_flops()


def test_half_rate_is_in_the_figures():
    assert peakline.peak_flops("GeForce RTX 4090", "fp16") == 165.2e12
    assert peakline.peak_flops("nvidia geforce rtx 4090", "int8") == 660.6e12
