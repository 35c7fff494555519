"""Traces with lost events or impossible times: what is reported, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ONE_GPU, reference
from made_traces import Made, export
from peakline.workload.analysis import Analysis, analyze
from peakline.workload.kernel import WorkloadError
from peakline.workload.part import Part
from peakline.workload.read import parse_kernels, read_kernels

CALLED = 1e12  # a plausible start of a clock, in µs


def analyzed(made: Made, path: Path) -> Analysis:
    return analyze(reference(ONE_GPU), [made.write(path / "t.json")])


def regular(count: int, skew: float = 0.0) -> Made:
    """Kernels of 50 µs, one every 100 µs, each launched 20 µs before it starts."""
    made = Made()
    for number in range(count):
        start = CALLED + 100 * number
        made.kernel(start - skew, start - skew + 50, start - 20)
    return made


def codes(found: Analysis) -> dict[str, tuple[int, int]]:
    return {f.code: (f.count, f.of) for f in found.findings if f.severity == "warning"}


def test_a_whole_trace_has_no_warning(tmp_path: Path) -> None:
    assert codes(analyzed(regular(20), tmp_path)) == {}


def test_launches_without_kernels_are_counted(tmp_path: Path) -> None:
    made = regular(20)
    kernels = [event for event in made.events if event["cat"] == "kernel"]
    for event in kernels[::2]:
        made.events.remove(event)
    found = analyzed(made, tmp_path)
    assert codes(found) == {"launches_without_kernels": (10, 20)}
    assert "so idle time is an upper limit" in " ".join(found.notes)


@pytest.mark.parametrize("border", ["begin and end", "begin", "none"])
def test_launches_of_a_captured_stream_have_no_kernels(tmp_path: Path, border: str) -> None:
    made = regular(4)
    if "begin" in border:
        made.call("cudaStreamBeginCapture", CALLED + 1000, CALLED + 1001, correlation=5000)
    for number in range(40):
        at = CALLED + 1010 + 10 * number
        made.call("cudaLaunchKernel", at, at + 2, correlation=5001 + number)
    if "end" in border:
        made.call("cudaStreamEndCapture", CALLED + 1900, CALLED + 1901, correlation=6000)
    lost = {} if "begin" in border else {"launches_without_kernels": (40, 44)}
    assert codes(analyzed(made, tmp_path)) == lost


def test_kernels_without_launches_are_counted(tmp_path: Path) -> None:
    made = regular(20)
    calls = [event for event in made.events if event["cat"] == "cuda_runtime"]
    for event in calls[:3] + calls[10:15]:
        made.events.remove(event)
    found = analyzed(made, tmp_path)
    # Launches before the recording are not lost ones.
    assert codes(found) == {"kernels_without_launches": (5, 20)}
    assert any("3 of 20 kernels were launched before" in note for note in found.notes)


@pytest.mark.parametrize("times", [(-(2**63), 2**63 - 1), (5, 2**63 - 1), (-5, 900)])
def test_times_out_of_range_are_left_out(tmp_path: Path, times: tuple[int, int]) -> None:
    spans = [(1000 * number, 1000 * number + 500) for number in range(4)]
    kernels = [(*span, 0, 7, 5, 7 << 24, 0, 0, 0) for span in (*spans, times)]
    path = tmp_path / "t.sqlite"
    export(path, {"CUPTI_ACTIVITY_KIND_KERNEL": kernels})
    found = analyze(reference(ONE_GPU), [path])
    assert codes(found)["invalid_times"] == (1, 5)
    assert found.step_s == pytest.approx(3500e-9)


@pytest.mark.parametrize("times", [(0, 0), (CALLED + 210, 3.6e9)])
def test_times_that_cannot_be_are_left_out(tmp_path: Path, times: tuple[float, float]) -> None:
    made = regular(20)
    made.call("cudaDeviceSynchronize", CALLED + 1960, CALLED + 1970)
    wrong = [event for event in made.events if event["cat"] == "kernel"][2]
    wrong["ts"], wrong["dur"] = times
    found = analyzed(made, tmp_path)
    assert codes(found)["invalid_times"] == (1, 20)
    assert found.nanoseconds == 1_950_000
    assert found.idle == pytest.approx(1 - 19 * 50 / 1950)


def test_a_long_kernel_is_believed(tmp_path: Path) -> None:
    made = Made()
    made.kernel(CALLED, CALLED + 9e6, CALLED - 5)
    found = analyzed(made, tmp_path)
    assert (codes(found), found.nanoseconds) == ({}, 9_000_000_000)


def test_no_trace_of_invalid_times_alone(tmp_path: Path) -> None:
    made = Made()
    made.kernel(0, 0, None)
    with pytest.raises(WorkloadError, match=r"nothing in it takes any time"):
        analyzed(made, tmp_path)


def test_gaps_have_no_cause_where_clocks_differ(tmp_path: Path) -> None:
    found = analyzed(regular(20, skew=2000), tmp_path)
    assert codes(found) == {"clocks_differ": (20, 20)}
    assert "by up to 1.98 ms: the clocks of host and GPU differ" in " ".join(found.notes)
    assert {part for part in found.parts if part.is_idle} == {Part.NOT_RECORDED}


@pytest.mark.parametrize("sign", ["call", "model", "warp"])
def test_another_vendor_is_refused(tmp_path: Path, sign: str) -> None:
    made = regular(2)
    device: dict[str, Any] = {"id": 0, "name": ""}
    if sign == "call":
        made.call("hipLaunchKernel", CALLED, CALLED + 2)
    device |= {"model": {"name": "AMD Instinct MI300X"}, "warp": {"warpSize": 64}}.get(sign, {})
    path = made.write(tmp_path / "t.json", deviceProperties=[device])
    for read in (lambda: analyze(reference(ONE_GPU), [path]), lambda: read_kernels(path)):
        with pytest.raises(WorkloadError, match="with AMD's ROCm"):
            read()


def test_another_compute_capability_is_told(tmp_path: Path) -> None:
    device = {"id": 0, "name": "NVIDIA H200", "computeMajor": 12, "computeMinor": 0}
    path = regular(2).write(tmp_path / "t.json", deviceProperties=[device])
    found = analyze(reference(ONE_GPU), [path])
    assert codes(found) == {"other_device": (0, 0)}
    assert "of compute capability 12.0, and the profile is of NVIDIA H200 (9.0)" in found.notes[0]


def product(made: Made, identity: int, start: float, side: int) -> None:
    """A GEMM on the launching thread, as PyTorch 1.8 to 2.0 write it."""
    args = {"External id": identity, "Input Dims": [[side, side]] * 2}
    args["Input type"] = ["c10::BFloat16"] * 2
    made.event("cpu_op", "aten::mm", start, start + 30, args=args)


def test_an_operator_is_not_met_by_a_correlation_of_the_same_number() -> None:
    """Up to PyTorch 2.0, a kernel's External id is its correlation id."""
    made = Made()
    for number, side in enumerate((512, 64)):
        product(made, 1002 - number, CALLED + 1000 * number, side)
        start = CALLED + 1000 * number + 10
        correlation = made.kernel(start + 100, start + 200, start, f"gemm_{side}")
        made.events[-1]["args"]["External id"] = correlation
    found = parse_kernels(json.dumps(made.events))
    assert [k.flops for k in found] == [{"tensor.bf16": 2.0 * 512**3}, {"tensor.bf16": 2.0 * 64**3}]


def test_categories_and_arguments_of_older_versions() -> None:
    """PyTorch 1.8 writes Operator, Kernel and "external id"; arguments may have any type."""
    made = Made()
    product(made, 7, CALLED, 512)
    made.kernel(CALLED + 100, CALLED + 200, CALLED + 10, "gemm", **{"external id": 7})
    for event, category in zip(made.events, ("Operator", "Runtime", "Kernel"), strict=True):
        event["cat"] = category
    made.events.append({**made.events[-1], "args": ["a list"], "ts": CALLED + 300})
    product_, other = parse_kernels(json.dumps(made.events))
    assert (product_.flops, other.flops) == ({"tensor.bf16": 2.0 * 512**3}, {})


def test_what_nsight_systems_warned_of_is_quoted(tmp_path: Path) -> None:
    warned = [(2, "Not all CUDA events might have been collected."), (1, "Number of events: 6.")]
    kernels = [(1000, 2000, 0, 7, 1, 0, 1, 1, None)]
    rows: dict[str, list[tuple[Any, ...]]] = {
        "StringIds": [(1, "k")],
        "CUPTI_ACTIVITY_KIND_KERNEL": kernels,
        "DIAGNOSTIC_EVENT": warned,
    }
    found = analyze(reference(ONE_GPU), [export(tmp_path / "a.sqlite", rows)])
    (text,) = [f.text for f in found.findings if f.code == "profiler_warned"]
    assert "“Not all CUDA events might have been collected.”" in text and "Number" not in text
    rows["CUPTI_ACTIVITY_KIND_KERNEL"] = []
    with pytest.raises(WorkloadError, match=r"nothing that ran on a GPU: .*Not all CUDA events"):
        analyze(reference(ONE_GPU), [export(tmp_path / "b.sqlite", rows)])


def test_unified_memory_is_named(tmp_path: Path) -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {
        "StringIds": [(1, "k")],
        "CUPTI_ACTIVITY_KIND_KERNEL": [(1000, 9000, 0, 7, 1, 0, 1, 1, None)],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [
            (1000 + 100 * i, 1050 + 100 * i, 0, 0, 0, 0, 65536, 11 + i % 2, 3, 3) for i in range(6)
        ],
    }
    found = analyze(reference(ONE_GPU), [export(tmp_path / "a.sqlite", rows)])
    assert codes(found) == {"unified_memory": (6, 7)}
    assert "6 migrations of pages move 384 KiB in 300 ns" in " ".join(found.notes)


def test_parts_of_a_copy_of_seconds_that_a_step_cuts(tmp_path: Path) -> None:
    made = Made()
    made.steps(0, 5e6, 9e6)
    for at in (100, 5_000_100, 9_000_100):
        made.kernel(at, at + 100, at - 50)
    made.copy(800_000, 6_800_000, 799_000, 40_000_000_000, "Memcpy HtoD (Pageable -> Device)")
    (rank,) = analyzed(made, tmp_path).ranks
    for step, parts in zip(rank.steps, rank.each, strict=True):
        assert min(parts.values()) >= 0 and sum(parts.values()) == step.length
