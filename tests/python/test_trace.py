"""The parts of a step: each rule on a trace with known truth, and exact sums."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import peakline
import pytest
from conftest import GPU, ONE_GPU, TWO_GPUS, reference
from hypothesis import given, settings
from hypothesis import strategies as st
from made_traces import Made, export
from peakline.limits.collectives import points
from peakline.workload.advice import advice
from peakline.workload.analysis import Analysis, analyze
from peakline.workload.costs import Links, costs_of
from peakline.workload.kernel import WorkloadError
from peakline.workload.model import Did, Kind, Message, did
from peakline.workload.owners import divide
from peakline.workload.part import Part
from peakline.workload.placement import Placement, place
from peakline.workload.read import read, read_kernels
from peakline.workload.text import headline, microseconds, spread, table

COSTS = costs_of(reference(ONE_GPU), GPU)
LATENCY = COSTS.latency
QUEUED = COSTS.queued
Analyzed = Callable[..., Analysis]


@pytest.fixture
def analyzed(tmp_path: Path) -> Analyzed:
    """Analyzes a synthetic trace with the profile of one GPU."""

    def analysis(made: Made, wanted: str = "") -> Analysis:
        found = analyze(reference(ONE_GPU), [made.write(tmp_path / "made.json")], None, wanted)
        assert sum(found.parts.values()) == found.nanoseconds
        return found

    return analysis


def idle(analysis: Analysis) -> dict[Part, int]:
    return {part: time for part, time in analysis.parts.items() if part.is_idle}


# --- Who owns an instant -------------------------------------------------------------------------

ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30), st.sampled_from(list(Kind))), max_size=12
)


@settings(deadline=None)
@given(ROWS, st.integers(0, 50), st.integers(1, 60))
def test_each_instant_has_one_owner(
    rows: list[tuple[int, int, Kind]], low: int, length: int
) -> None:
    """Compared with a count of every nanosecond."""
    rows = sorted(rows)
    starts, lengths, kinds = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    ends = starts + lengths
    found = divide(starts, ends, kinds, (low, low + length))
    shares = np.zeros(len(rows))
    nobody = 0
    for instant in range(low, low + length):
        running = [i for i in range(len(rows)) if starts[i] <= instant < ends[i]]
        first = min((kinds[i] for i in running), default=None)
        owners = [i for i in running if kinds[i] == first]
        nobody += not owners
        for owner in owners:
            shares[owner] += 1 / len(owners)
    gaps = list(zip(*(column.tolist() for column in found.gaps), strict=True))
    assert int(found.nanoseconds.sum()) + nobody == length
    assert sum(end - start for start, end, _ in gaps) == nobody
    # Rounding costs at most one nanosecond per stretch of the same kernels.
    assert np.all(np.abs(found.nanoseconds - shares) <= 2 * len(rows) + 1)
    for (_, end, _), (start, _, _) in itertools.pairwise(gaps):
        assert end < start
    for _, end, ender in gaps:
        assert ender == -1 if end == low + length else starts[ender] == end


def test_kernels_at_once_share_equally() -> None:
    starts, ends = np.array([0, 0, 40]), np.array([100, 101, 60])
    found = divide(starts, ends, np.array([0, 0, 0]), (0, 101))
    # 40 ns shared by two, 20 by three, 40 by two, 1 by one.
    assert found.nanoseconds.tolist() == [20 + 7 + 20, 20 + 7 + 20 + 1, 6]
    assert not len(found.gaps.starts)


def test_compute_goes_before_collectives_and_these_before_copies() -> None:
    kinds = np.array([Kind.COPY, Kind.COLLECTIVE, Kind.COMPUTE])
    found = divide(np.array([0, 10, 20]), np.array([100, 50, 30]), kinds, (0, 110))
    assert found.nanoseconds.tolist() == [10 + 50, 10 + 20, 10]
    assert [column.tolist() for column in found.gaps] == [[100], [110], [-1]]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 400),
            st.integers(0, 90),
            st.sampled_from(["kernel", "ncclDevKernel_AllReduce_Sum_bf16", "copy"]),
            st.integers(0, 60) | st.none(),  # from launch to start
            st.integers(0, 2),  # stream
        ),
        min_size=1,
        max_size=25,
    ),
    st.lists(st.integers(0, 400), max_size=5, unique=True),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 80), st.integers(0, 4)), max_size=6),
)
def test_parts_add_up_to_the_steps(
    tmp_path_factory: pytest.TempPathFactory,
    activities: list[tuple[int, int, str, int | None, int]],
    marks: list[int],
    others: list[tuple[int, int, int]],
) -> None:
    made = Made()
    for start, length, name, before, stream in activities:
        called = None if before is None else max(0, start - before) + 0.125
        if name == "copy":
            made.copy(start, start + length + 0.377, called, 4096, stream=stream)
        else:
            made.kernel(start, start + length + 0.377, called, name, stream=stream)
    for start, length, kind in others:
        calls = ("cudaStreamSynchronize", "cudaMalloc", "cudaStreamWaitEvent")
        if kind < 3:
            made.call(calls[kind], start, start + length)
        else:
            category, name = ("overhead", "x") if kind == 3 else ("user_annotation", "load_data")
            made.event(category, name, start, start + length)
    if marks:
        made.steps(*sorted(marks))
    path = made.write(tmp_path_factory.getbasetemp() / "random.json")
    found = analyze(reference(ONE_GPU), [path])
    assert sum(found.parts.values()) == found.nanoseconds > 0
    assert all(time > 0 for time in found.parts.values())
    for rank in found.ranks:
        for step, parts in zip(rank.steps, rank.each, strict=True):
            assert sum(parts.values()) == step.length
    shown = microseconds(found.parts, found.steps)
    assert sum(shown.values()) == round(found.nanoseconds / found.steps / 1000)
    assert table(found).splitlines()[-1].split()[2] == f"{sum(shown.values()) / 1000:.3f}"


# --- Steps ---------------------------------------------------------------------------------------


def test_a_step_runs_to_the_first_activity_of_the_next(analyzed: Analyzed) -> None:
    made = Made()
    made.steps(0, 100, 200)
    # The host is ahead: the device runs a step's work after that step's range.
    for number in range(3):
        for kernel in range(2):
            start = 50 + 200 * number + 100 * kernel
            made.kernel(start, start + 100, 100 * number + 10 + 20 * kernel)
    found = analyzed(made)
    (rank,) = found.ranks
    assert [(step.name, step.start, step.end) for step in rank.steps] == [
        ("ProfilerStep#0", 50_000, 250_000),
        ("ProfilerStep#1", 250_000, 450_000),
    ]
    assert idle(found) == {}


def test_ranges_by_name(analyzed: Analyzed) -> None:
    made = Made()
    for number in range(3):
        made.event("user_annotation", f"decode {number}", 100 * number, 100 * number + 90)
        made.kernel(100 * number + 20, 100 * number + 40, 100 * number + 10)
    assert analyzed(made).ranks[0].by == ""
    found = analyzed(made, "decode")
    assert [step.length for step in found.ranks[0].steps] == [100_000, 100_000]
    assert found.ranks[0].by == "decode"
    assert spread(found) == "2 steps, by the ranges decode: 100 µs to 100 µs."
    with pytest.raises(WorkloadError, match="no range 'prefill'; it has decode"):
        analyzed(made, "prefill")
    # A single range ends with its last activity; a range without launches is not a step.
    made.event("user_annotation", "eval", 0, 90)
    made.event("user_annotation", "log", 400, 490)
    assert [step.length for step in analyzed(made, "eval").ranks[0].steps] == [20_000]
    with pytest.raises(WorkloadError, match="no range 'log' launches work on device 0"):
        analyzed(made, "log")


def test_without_steps_it_is_the_whole_trace_and_says_so(analyzed: Analyzed) -> None:
    made = Made()
    made.kernel(10, 20, 5)
    made.kernel(30, 45, 23)
    found = analyzed(made)
    assert found.nanoseconds == 35_000
    assert any("No steps are marked, so this is the whole trace" in note for note in found.notes)
    assert headline(found) == (
        "The trace takes 35.0 µs; the lower bound of kernels that take 71.4 % is not known; the "
        "most to save is launching kernels, at most 9.32 µs (26.6 %)"
    )
    lines = table(found).splitlines()
    assert (lines[0].split()[:4], lines[-1][:9]) == (["part", "of", "a", "trace"], "the trace")
    assert lines[0].endswith("of trace")


# --- Gaps ----------------------------------------------------------------------------------------


def gap_of(analyzed: Analyzed, made: Made) -> dict[Part, int]:
    """The causes of the gap after a kernel that ends at 100 µs."""
    made.kernel(0, 100, 0.0, "before")
    return idle(analyzed(made))


READ = "Memcpy DtoH (Device -> Pageable)"
NEXT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
LAUNCH, LATE, PYTHON, SYNCHRONIZATION = Part.LAUNCH, Part.LATE, Part.PYTHON, Part.SYNCHRONIZATION
UNEXPLAINED = {PYTHON: 2_895_000, LAUNCH: 5_000}
# What happens beside the kernel before, and the causes in nanoseconds.
GAPS: dict[str, tuple[Callable[[Made], object], dict[Part, int]]] = {
    "a launch after another": (lambda m: m.kernel(111, 120, 105), {LAUNCH: 11_000}),
    "launch latency up to the measured one": (
        lambda m: m.kernel(150, 160, 105),
        {LAUNCH: 5_000 + LATENCY, LATE: 45_000 - LATENCY},
    ),
    "a launch call that lasts": (
        lambda m: m.kernel(150, 160, 105, lasts=43),
        {LAUNCH: 48_000, LATE: 2_000},
    ),
    # As `.item()` does.
    "a copy to the host that the host waits for": (
        lambda m: (
            m.copy(100, 102, 20, 4, READ),
            m.call("cudaStreamSynchronize", 23, 112),
            m.kernel(130, 140, 126),
        ),
        {SYNCHRONIZATION: 24_000, LAUNCH: 4_000},
    ),
    "a copy that its call waits for": (
        lambda m: (m.copy(100, 102, 20, 4, READ, lasts=90), m.kernel(130, 140, 126)),
        {SYNCHRONIZATION: 24_000, LAUNCH: 4_000},
    ),
    "a synchronization long before a launch": (
        lambda m: (m.call("cudaDeviceSynchronize", 50, 104), m.kernel(1000, 1010, 994)),
        {SYNCHRONIZATION: 4_000, PYTHON: 890_000, LAUNCH: 6_000},
    ),
    # Backward kernels are launched by a thread that waits for the one that runs forward.
    "what the thread that launched before did": (
        lambda m: (
            m.call("cudaStreamSynchronize", 50, 120, thread=1),
            m.kernel(140, 150, 135, thread=2),
        ),
        {SYNCHRONIZATION: 35_000, LAUNCH: 5_000},
    ),
    **{
        call: (
            lambda m, call=call: (m.call(call, 90, 190), m.kernel(202, 220, 200)),
            {Part.ALLOCATION: 100_000, LAUNCH: 2_000},
        )
        for call in ("cudaMalloc", "cudaFree", "cudaHostAlloc", "cuMemCreate")
    },
    "nothing": (lambda m: m.kernel(3000, 3010, 2995), UNEXPLAINED),
    **{
        name: (
            lambda m, name=name: (
                m.event("user_annotation", name, 0, 5000),
                m.kernel(3000, 3010, 2995),
            ),
            UNEXPLAINED,
        )
        for name in (
            "data parallel forward",
            "input projection",
            "FSDP::pre_forward inputs",
            "fetch kv cache",
            "train on data",
        )
    },
    "a thread that loads beside": (
        lambda m: (
            m.event("user_annotation", "load_batch", 0, 5000, tid=99),
            m.kernel(3000, 3010, 2995),
        ),
        UNEXPLAINED,
    ),
    "a data loader": (
        lambda m: (m.event("user_annotation", NEXT, 90, 5000), m.copy(5025, 5030, 5020, 4096)),
        {Part.LOADER: 4_920_000, LAUNCH: 5_000},
    ),
    "dispatch of what was queued": (lambda m: m.kernel(103, 110, 20), {LAUNCH: 3_000}),
    "what was queued and is late": (
        lambda m: m.kernel(150, 160, 20),
        {LAUNCH: QUEUED, LATE: 50_000 - QUEUED},
    ),
    "what was queued behind another stream": (
        lambda m: (m.call("cudaStreamWaitEvent", 15, 16), m.kernel(150, 160, 20)),
        {LAUNCH: QUEUED, Part.STREAMS: 50_000 - QUEUED},
    ),
    "the profiler's own work": (
        lambda m: (
            m.event("overhead", "Activity Buffer Request", 95, 2095, pid=-1),
            m.kernel(2105, 2110, 2101),
        ),
        {Part.PROFILER: 1_995_000, LAUNCH: 10_000},
    ),
    "loading code, which is none of the profiler's": (
        lambda m: (
            m.event("overhead", "Runtime Triggered Module Loading", 102, 2090, pid=-1),
            m.kernel(2105, 2110, 101, lasts=2000),
        ),
        {LAUNCH: 2_001_000, LATE: 4_000},
    ),
}


@pytest.mark.parametrize("name", GAPS)
def test_causes_of_a_gap(analyzed: Analyzed, name: str) -> None:
    happens, causes = GAPS[name]
    made = Made()
    happens(made)
    assert gap_of(analyzed, made) == causes


def test_a_short_copy_from_pinned_memory_is_not_waited_for(analyzed: Analyzed) -> None:
    made = Made()
    made.kernel(0, 50, 0.0)
    made.copy(60, 61, 55, 4096, lasts=8)
    made.kernel(72, 80, 70.5)
    assert Part.SYNCHRONIZATION not in idle(analyzed(made))


@pytest.mark.parametrize("called", [99.999, 100])
def test_what_is_launched_as_a_gap_begins_is_not_late(analyzed: Analyzed, called: float) -> None:
    made = Made()
    made.kernel(called + LATENCY / 1e3, 150, called)
    assert set(gap_of(analyzed, made)) == {Part.LAUNCH}


def test_nodes_of_a_graph_share_its_launch(analyzed: Analyzed) -> None:
    made = Made()
    graph = made.kernel(100, 102, 90, call="cudaGraphLaunch")
    for node in range(1, 100):
        made.kernel(100 + 3 * node, 102 + 3 * node, correlation=graph)
    found = analyzed(made)
    assert idle(found) == {Part.LAUNCH: 99_000}
    assert found.ranks[0].nodes == 99
    (said,) = [one for one in advice(found) if one.code == Part.LAUNCH]
    assert "nodes of CUDA graphs have 99 gaps of 1.00 µs between them" in said.text
    assert said.topic == "fusion"


def test_without_calls_no_cause_is_made_up(analyzed: Analyzed) -> None:
    made = Made()
    made.kernel(0, 100)
    made.kernel(300, 400)
    found = analyzed(made)
    assert idle(found) == {Part.NOT_RECORDED: 200_000}
    assert any("Calls of the host were not recorded" in note for note in found.notes)


FIRST, SECOND = 1 << 24, 2 << 24  # processes of one export
NAMES = [(1, "kernel"), (2, "cudaLaunchKernel_v7000"), (3, "cudaStreamSynchronize_v3020")]


def test_correlations_join_within_a_process(tmp_path: Path) -> None:
    """Two processes of one export have launches with the same correlation id."""
    first, second = FIRST, SECOND
    path = export(
        tmp_path / "two.sqlite",
        {
            "StringIds": NAMES,
            "TARGET_INFO_CUDA_DEVICE": [(0, 0, 1, "GPU-a"), (0, 0, 2, "GPU-a")],
            "CUPTI_ACTIVITY_KIND_KERNEL": [
                (0, 100_000, 0, 7, 5, first, 1, 1, None),
                (120_000, 130_000, 0, 7, 9, second, 1, 1, None),
            ],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [
                (50_000, 52_000, first | 3, 9, 2),  # a launch of the first process
                (115_000, 117_000, second | 4, 9, 2),
            ],
        },
    )
    found = analyze(reference(ONE_GPU), [path])
    assert idle(found) == {Part.LAUNCH: 20_000}


def test_processes_of_an_export_are_apart(tmp_path: Path) -> None:
    """Waiting, loading and profiling in one process do not explain gaps of another's device."""
    python = {Part.PYTHON: 2_895_000, Part.LAUNCH: 5_000}
    thread, other = FIRST | 3, SECOND | 4
    for number, more in enumerate(
        (
            {},
            {
                "CUPTI_ACTIVITY_KIND_RUNTIME": [
                    (200_000, 2_990_000, other, 7, 3),
                    (2_991_000, 2_992_000, other, 8, 2),
                ]
            },
            {"NVTX_EVENTS": [(0, 2_990_000, 59, "load_batch", None, other)]},
            {"PROFILER_OVERHEAD": [(200_000, 2_990_000, other, 1)]},
        )
    ):
        rows = {
            "StringIds": NAMES,
            "CUPTI_ACTIVITY_KIND_KERNEL": [
                (0, 100_000, 0, 7, 1, FIRST, 1, 1, None),
                (3_000_000, 3_100_000, 0, 7, 2, FIRST, 1, 1, None),
                (0, 3_100_000, 1, 7, 1, SECOND, 1, 1, None),
            ],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [
                (0, 1000, thread, 1, 2),
                (2_995_000, 2_997_000, thread, 2, 2),
                (0, 1000, other, 1, 2),
            ],
        }
        for table_, values in more.items():
            rows[table_] = [*rows.get(table_, []), *values]
        found = analyze(reference(ONE_GPU), [export(tmp_path / f"{number}.sqlite", rows)])
        assert idle(found) == python


def test_gpus_of_an_export_are_told_apart(tmp_path: Path) -> None:
    """Each process sees only one GPU, as device 0."""
    rows = {
        "StringIds": NAMES,
        "CUPTI_ACTIVITY_KIND_KERNEL": [
            (0, 100_000, 0, 7, 1, FIRST, 1, 1, None),
            (100_000, 200_000, 0, 7, 1, SECOND, 1, 1, None),
        ],
        "TARGET_INFO_GPU": [(0, "NVIDIA T4"), (2, "NVIDIA H200"), (3, "NVIDIA H200")],
    }
    with pytest.raises(WorkloadError, match="2 processes call a device 0"):
        analyze(reference(ONE_GPU), [export(tmp_path / "unknown.sqlite", rows)])
    rows["TARGET_INFO_CUDA_DEVICE"] = [(2, 0, 1, "GPU-a"), (3, 0, 2, "GPU-b")]
    found = analyze(reference(ONE_GPU), [export(tmp_path / "two.sqlite", rows)])
    assert [rank.timeline.device for rank in found.ranks] == [2, 3]
    assert [rank.idle for rank in found.ranks] == [0, 0]
    assert not any("Warning" in note for note in found.notes)
    assert any("are about rank 0 alone: " in note for note in found.notes)


# --- What activities own against their bounds ----------------------------------------------------


def test_a_product_at_its_bound_and_beyond(analyzed: Analyzed) -> None:
    made = Made()
    made.product(7, 8192, 8192, 8192)
    made.kernel(0, 2000, 0.0, "gemm", **{"External id": 7})
    found = analyzed(made)
    peak = reference(ONE_GPU).peak("bf16", basis="burst")
    bound = 2 * 8192**3 / peak
    assert found.parts[Part.KERNELS] == pytest.approx(bound * 1e9, abs=2)
    assert found.parts[Part.KERNELS_BEYOND] == 2_000_000 - found.parts[Part.KERNELS]


def test_a_bound_above_the_owned_time_is_clipped_and_counted(analyzed: Analyzed) -> None:
    made = Made()
    made.product(7, 8192, 8192, 8192)
    made.kernel(0, 1800, 0.0, "gemm", **{"External id": 7})
    made.kernel(0, 1800, 0.0, "other", stream=9)
    found = analyzed(made)
    assert found.parts == {Part.KERNELS: 900_000, Part.KERNELS_UNKNOWN: 900_000}
    assert found.ranks[0].clipped == 1
    assert any("faster than their lower bound: 1." in note for note in found.notes)


def test_copies_at_the_rate_of_their_memory(analyzed: Analyzed) -> None:
    profile = reference(ONE_GPU)
    size = 1 << 26
    for memory, id_ in (("Pinned", "pcie.h2d.pinned"), ("Pageable", "pcie.h2d.pageable")):
        made = Made()
        made.copy(0, 60_000, 0.0, size, f"Memcpy HtoD ({memory} -> Device)")
        found = analyzed(made)
        (point,) = [m for m in profile.of(GPU, id_) if m.integer("bytes") == size and m.id == id_]
        assert found.parts[Part.COPIES] == pytest.approx(size / point.value * 1e9, rel=1e-6)
        pinned = [one for one in advice(found) if "pinned memory needs" in one.text]
        assert len(pinned) == (memory == "Pageable")
    made = Made()
    made.copy(0, 60_000, 0.0, size, "Memcpy PtoP (Device -> Device)")
    assert set(analyzed(made).parts) == {Part.COPIES_UNKNOWN}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "Memcpy HtoD (Pinned -> Device)",
            "copies to the device take 2.00 ms that nothing hides: p",
        ),
        ("Memcpy DtoH (Device -> Pinned)", "other copies take 2.00 ms that nothing hides: put"),
    ],
)
def test_copies_that_nothing_hides(analyzed: Analyzed, name: str, said: str) -> None:
    made = Made()
    made.kernel(0, 1000, 0.0)
    made.copy(1000, 3000, 900, 1 << 26, name)
    (one,) = advice(analyzed(made))
    assert one.text.startswith(said)


def test_a_copy_behind_a_kernel_takes_nothing(analyzed: Analyzed) -> None:
    made = Made()
    made.kernel(0, 5000, 0.0)
    made.copy(1000, 4000, 1, 1 << 26, stream=9)
    assert analyzed(made).parts == {Part.KERNELS_UNKNOWN: 5_000_000}


def test_copies_within_the_memory_are_work_of_the_memory(analyzed: Analyzed) -> None:
    made = Made()
    made.copy(0, 100, 0.0, 1 << 26, "Memcpy DtoD (Device -> Device)")
    made.activity(
        "gpu_memset", "Memset (Device)", 100, 200, 1, "cudaMemsetAsync", 1, 1, bytes=1 << 26
    )
    found = analyzed(made)
    read = reference(ONE_GPU).ceiling(GPU, "hbm.copy", "measured")
    write = reference(ONE_GPU).ceiling(GPU, "hbm.write", "measured")
    assert read and write
    need = 2 * (1 << 26) / read.value + (1 << 26) / write.value
    assert found.parts[Part.KERNELS] == pytest.approx(need * 1e9, abs=3)


def test_an_unaligned_product_is_told_so(analyzed: Analyzed) -> None:
    made = Made()
    made.product(7, 8192, 8191, 8192)
    made.kernel(0, 9000, 0.0, "gemm", **{"External id": 7})
    (first, *_) = advice(analyzed(made))
    assert first.code == Part.KERNELS_BEYOND
    assert "K = 8191 is no multiple of 8 elements" in first.text
    assert first.topic == "product sides"


def test_a_skinny_product_is_told_so(analyzed: Analyzed) -> None:
    made = Made()
    made.product(7, 16, 8192, 8192)
    made.kernel(0, 90, 0.0, "gemm", **{"External id": 7})
    (first, *_) = advice(analyzed(made))
    assert "(16 x 8192 x 8192) takes" in first.text
    assert "M = 16 is small, and such a product reaches its full rate from M = " in first.text
    assert first.topic == "skinny products"
    # Few columns are not a small batch, which could cheaply be made larger.
    made = Made()
    made.product(7, 8192, 8192, 16)
    made.kernel(0, 90, 0.0, "gemm", **{"External id": 7})
    assert not any("is small" in one.text for one in advice(analyzed(made)))


def test_the_sides_are_those_of_the_product_that_is_slow(analyzed: Analyzed) -> None:
    """One kernel runs a slow aligned GEMM, and a fast unaligned one."""
    made = Made()
    made.product(1, 8192, 8192, 8192)
    made.kernel(0, 6000, 0.0, "gemm", **{"External id": 1})
    made.product(2, 4096, 4095, 4096)
    made.kernel(6000, 6250, 1, "gemm", **{"External id": 2})
    found = analyzed(made)
    (one,) = [one for one in advice(found) if one.code == Part.KERNELS_BEYOND]
    assert "(8192 x 8192 x 8192)" in one.text
    assert "K = 4095" not in one.text
    least = 2 * 8192**3 / reference(ONE_GPU).peak("bf16", basis="burst")
    assert one.saving_s == pytest.approx(6e-3 - least, rel=0.01)


def test_both_readers_have_the_same_kernels(analyzed: Analyzed, tmp_path: Path) -> None:
    """A generated kernel with stated work, a GEMM, and one that two kernels share."""
    made = Made()
    made.kernel(0, 1000, 0.0, "triton_poi_fused_add_0", kernel_num_gb=2.0, kernel_flop=1.5e9)
    made.kernel(1000, 1500, 1, "triton_red_1", kernel_num_gb=0.25)
    made.product(1, 8192, 8192, 8192)
    for start in (1500, 3000):
        made.kernel(start, start + 1500, 2, "gemm", **{"External id": 1})
    made.kernel(4500, 4600, 3, "other", kernel_flop="unknown")
    by_trace = analyzed(made).ranks[0].bounds.table
    by_kernels = place(reference(ONE_GPU), read_kernels(tmp_path / "made.json"))

    def said(placements: Iterable[Placement]) -> list[tuple[Any, ...]]:
        return sorted(
            (p.kernel.name, dict(p.kernel.flops), dict(p.kernel.bytes), p.shares)
            for p in placements
        )

    assert [row[0] for row in said(by_trace)] == [
        "gemm", "other", "triton_poi_fused_add_0", "triton_red_1",
    ]  # fmt: skip
    for ours, theirs in zip(said(by_trace), said(by_kernels), strict=True):
        assert ours[0] == theirs[0]
        for mine, other in zip(ours[1:], theirs[1:], strict=True):
            assert mine == pytest.approx(other)


def test_elementwise_kernels_in_a_row_could_be_one(analyzed: Analyzed) -> None:
    made = Made()
    shape = [16384, 8192]
    for number, name in enumerate(["aten::add", "aten::gelu", "aten::mul", "aten::relu"]):
        made.operator(name, number + 1, [shape] * (2 if name in ("aten::add", "aten::mul") else 1))
        made.kernel(
            200 * number, 200 * number + 200, 0.0, f"e{number}", **{"External id": number + 1}
        )
    (first, *_) = [one for one in advice(analyzed(made)) if one.topic == "fusion"]
    # Ten array passes, where four would do: three operands and a result.
    assert "4 elementwise kernels one after the other (e0, e1, e2, e3)" in first.text
    assert (
        "move 2.50 GiB; if each reads what the one before it wrote, one kernel would move 1 GiB"
        in first.text
    )
    assert first.saving_s == pytest.approx(800e-6 * 0.6)


def test_operators_in_place_are_not_fused(analyzed: Analyzed) -> None:
    """In-place operators may use unrelated arrays, like an optimizer's."""
    made = Made()
    for number in range(12):
        made.operator("aten::mul_", number + 1, [[16384, 8192]])
        made.kernel(200 * number, 200 * number + 200, 0.0, "mul_", **{"External id": number + 1})
    assert not [one for one in advice(analyzed(made)) if one.topic == "fusion"]


def test_kernels_of_one_name_are_named_once(analyzed: Analyzed) -> None:
    made = Made()
    for number in range(12):
        made.operator("aten::gelu", number + 1, [[16384, 8192]])
        made.kernel(
            200 * number, 200 * number + 200, 0.0, f"e{number % 6}", **{"External id": number + 1}
        )
    (one,) = [one for one in advice(analyzed(made)) if one.topic == "fusion"]
    assert "12 elementwise kernels one after the other (e0, e1, e2, e3, 2 more)" in one.text


def test_advice_needs_a_number_that_carries_it(analyzed: Analyzed) -> None:
    made = Made()
    made.kernel(0, 10_000, 0.0)
    made.call("cudaStreamSynchronize", 9_000, 10_050)
    made.kernel(10_100, 20_000, 10_095)
    assert advice(analyzed(made)) == []


# --- Ranks ---------------------------------------------------------------------------------------


def rank_file(
    path: Path,
    rank: int,
    starts: list[float],
    ends: list[float],
    size: int,
    busy: float = 0.0,  # how long a kernel hides each collective
    **changes: Any,  # of a collective's arguments
) -> Path:
    made = Made()
    for start, end in zip(starts, ends, strict=True):
        made.kernel(start - 100, start + busy, start - 150)
        message = {
            "Collective name": "allreduce",
            "In msg nelems": size,
            "Out msg nelems": size,
            "dtype": "BFloat16",
            "Group size": 2,
            "Process Group Name": "0",
            **changes,
        }
        kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
        made.kernel(start, end, start - 140, kernel, stream=9, **message)
    return made.write(path, distributedInfo={"rank": rank})


def test_collectives_of_ranks_wait_for_the_last(tmp_path: Path) -> None:
    profile = reference(TWO_GPUS)
    size = 1 << 26
    # The second rank's clock is offset, and the rank is 300 µs late.
    first = rank_file(tmp_path / "0.json", 0, [1000, 3000], [2000, 4000], size // 2)
    second = rank_file(tmp_path / "1.json", 1, [51_300, 53_300], [52_000, 54_000], size // 2)
    found = analyze(profile, [first, second])
    transfer = peakline.collective_time(profile, "all_reduce", size) * 1e9
    assert transfer < 700_000
    assert found.parts[Part.COLLECTIVES_WAITING] == 2 * 300_000
    assert found.parts[Part.COLLECTIVES] == pytest.approx(4 * transfer, abs=4)
    assert found.parts[Part.COLLECTIVES_BEYOND] == pytest.approx(4 * (700_000 - transfer), abs=4)
    # The cause (a late host on the second rank) is reported, not the first one's waiting.
    assert all(one.code != Part.COLLECTIVES_WAITING for one in advice(found))
    (late,) = [one for one in advice(found) if one.code == Part.PYTHON]
    assert (late.rank, late.saving_s) == (1, pytest.approx(1150e-6))
    alone = analyze(profile, [first])
    assert Part.COLLECTIVES_WAITING not in alone.parts
    assert alone.parts[Part.COLLECTIVES_BEYOND] > 2 * 300_000


def test_what_a_kernel_hides_of_a_collective_is_the_waiting(tmp_path: Path) -> None:
    """A kernel hides the first rank's waiting; the visible parts are the transfer."""
    first = rank_file(tmp_path / "0.json", 0, [1000], [2500], 1 << 25, busy=1000)
    second = rank_file(tmp_path / "1.json", 1, [1800], [2500], 1 << 25, busy=200)
    found = analyze(reference(TWO_GPUS), [first, second])
    assert Part.COLLECTIVES_WAITING not in found.parts
    assert not any("rank" in one.text for one in advice(found))
    # 300 µs of the waiting are exposed.
    first = rank_file(tmp_path / "0.json", 0, [1000], [2500], 1 << 25, busy=500)
    found = analyze(reference(TWO_GPUS), [first, second])
    assert found.parts[Part.COLLECTIVES_WAITING] == 300_000


def test_who_is_waited_for_is_in_the_group(tmp_path: Path) -> None:
    """Not a rank with hidden waiting, nor ranks of a group in which nobody waits."""
    paths = []
    for rank, start, busy in ((0, 1000, 1000), (1, 1000, 0), (2, 1800, 200)):
        path = tmp_path / f"{rank}.json"
        group = {"Process Group Name": "a", "Group size": 3}
        paths.append(rank_file(path, rank, [start], [2500], 1 << 25, busy, **group))
    for rank in (3, 4):
        path = tmp_path / f"{rank}.json"
        group = {"Process Group Name": "b"}
        paths.append(rank_file(path, rank, [1000], [1500], 1 << 25, **group))
    found = analyze(reference(TWO_GPUS), paths)
    assert found.parts[Part.COLLECTIVES_WAITING] == 800_000
    (one,) = [one for one in advice(found) if one.code == Part.COLLECTIVES_WAITING]
    assert one.text.startswith("rank 1 waits for rank 2, ")


@pytest.mark.parametrize(
    ("lengths", "said", "saving_us"),
    [
        ([150, 600, 75], "whose kernels take 1.50 x as long for the same work: a slow GPU", 275),
        ([100, 400, 450], "whose kernel c takes 450 µs a step instead of 50.0 µs", 400),
        ([100, 400, 52], "look at what that one does longer", 0),
    ],
)
def test_a_slow_gpu_is_told_from_a_slow_kernel(
    tmp_path: Path, lengths: list[float], said: str, saving_us: float
) -> None:
    """Three kernels are as long or longer on the second rank, then both ranks meet."""
    paths = []
    for rank, of_rank in enumerate(([100, 400, 50], lengths)):
        made, at = Made(), 10.0
        for number, length in enumerate(of_rank):
            made.kernel(at, at + length, float(number), "abc"[number], lasts=0.5)
            at += length
        message = {"Collective name": "allreduce", "In msg nelems": 1 << 20, "dtype": "BFloat16"}
        message |= {"Group size": 2, "Process Group Name": "0"}
        end = 1000 if rank == 0 else at + 20
        collective = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
        made.kernel(at, end, 4.0, collective, lasts=0.5, **message)
        paths.append(made.write(tmp_path / f"{rank}.json", distributedInfo={"rank": rank}))
    found = analyze(reference(TWO_GPUS), paths)
    (one,) = [one for one in advice(found) if one.code == Part.COLLECTIVES_WAITING]
    assert one.text.startswith("rank 0 waits for rank 1")
    assert said in one.text
    assert one.saving_s >= saving_us * 1e-6


@pytest.mark.parametrize(
    ("count", "changes", "said"),
    [
        (1, {}, "not as many on every rank"),
        (2, {"Group size": 8}, "traces of some ranks of their groups are not given"),
        (2, {"Process Group Name": ""}, "do not name the groups"),
        (2, {"Collective name": "send"}, "sends and receives do not tell their partner"),
    ],
)
def test_collectives_that_do_not_match_are_told(
    tmp_path: Path, count: int, changes: dict[str, Any], said: str
) -> None:
    starts, ends = [1000, 3000], [2000, 4000]
    first = rank_file(tmp_path / "0.json", 0, starts, ends, 1024, **changes)
    ends = [1500, 3500]
    second = rank_file(tmp_path / "1.json", 1, starts[:count], ends[:count], 1024, **changes)
    found = analyze(reference(TWO_GPUS), [first, second])
    assert Part.COLLECTIVES_WAITING not in found.parts
    assert any(said in note for note in found.notes)


@pytest.mark.parametrize(
    ("operation", "ranks", "share"),
    [
        ("all_reduce", 2, None),  # from the curve
        ("all_reduce", 3, 4 / 3),
        ("all_reduce", 8, 9 / 8),  # the switches may reduce
        ("all_gather", 8, 7 / 8 / (1 / 2)),
        ("broadcast", 8, 1.0),
    ],
)
def test_the_bound_of_a_collective_by_the_number_of_ranks(
    operation: str, ranks: int, share: float | None
) -> None:
    """The curves are for two ranks, each of which sends the whole array in an all-reduce."""
    profile, size = reference(TWO_GPUS), 1 << 30
    curve = points(profile, f"nccl.{operation}", 2)
    found = Links(profile, "").collective(Message(operation, "", ranks, size))
    best = size / max(nbytes / seconds for nbytes, seconds in curve.items())
    assert found == pytest.approx((curve[size] if share is None else share * best) * 1e9, abs=1)
    assert Links(reference(ONE_GPU), "").collective(Message(operation, "", ranks, size)) is None
    assert Links(profile, "").collective(Message(operation, "", 0, size)) is None


def test_a_rank_is_given_once(tmp_path: Path) -> None:
    first = rank_file(tmp_path / "0.json", 0, [1000], [2000], 1024)
    again = rank_file(tmp_path / "again.json", 0, [1000], [2000], 1024)
    with pytest.raises(WorkloadError, match=r"again.json: of the same rank as \S*0.json"):
        analyze(reference(TWO_GPUS), [first, again])
    made = Made()
    made.kernel(0, 10)
    plain = made.write(tmp_path / "plain.json")
    with pytest.raises(WorkloadError, match="one file per rank"):
        analyze(reference(ONE_GPU), [plain, plain])


# --- Files ---------------------------------------------------------------------------------------


def test_times_are_read_to_the_nanosecond(tmp_path: Path) -> None:
    """A float cannot hold these microseconds with nanoseconds."""
    text = (
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1790857026123456.789, '
        '"dur": 0.001, "args": {}}, {"ph": "X", "cat": "kernel", "name": "k", '
        '"ts": 1790857026123457.012, "dur": 1, "args": {}}]}'
    )
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(text.encode()))
    found = analyze(reference(ONE_GPU), [path])
    assert found.parts == {Part.KERNELS_UNKNOWN: 1001, Part.NOT_RECORDED: 222}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "it has no traceEvents"),
        ('{"traceEvents": []}', "holds no GPU kernel"),
        ('{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": -1, "dur": 1}]}', "ts is '-1'"),
        ('{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1e9, "dur": 1}]}', "ts is '1e9'"),
        ('{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1, "dur": null}]}', "dur is 'None'"),
        ("name,flop\n", "neither an ncu CSV nor a plain one"),
        ("\xff", "not UTF-8 text, so neither a CSV nor a trace"),
    ],
)
def test_what_is_no_trace_is_told_so(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(WorkloadError, match=said) as raised:
        analyze(reference(ONE_GPU), [path])
    assert str(path) in str(raised.value)


def test_a_trace_is_read_event_by_event(tmp_path: Path) -> None:
    """Only columns stay in memory of 2 GB, with some 270 bytes an event."""
    peaks = []
    for launches in (5000, 9000):
        made = Made()
        for number in range(launches):
            made.kernel(10 * number, 10 * number + 3, max(0, 10 * number - 5), "k" * 100)
        path = made.write(tmp_path / "long.json")
        tracemalloc.start()
        trace = read(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(trace.activities) == len(trace.calls) == launches
    assert peaks[1] - peaks[0] < 300 * 4000


def test_names_from_a_trace_are_fit_for_a_terminal(analyzed: Analyzed) -> None:
    made = Made()
    made.event("user_annotation", "a\x1b[2Jb", 0, 5)
    made.kernel(0, 10, 0.0)
    with pytest.raises(WorkloadError) as raised:
        analyzed(made, "step")
    assert str(raised.value).isprintable()


def test_an_export_of_nsight_systems(tmp_path: Path) -> None:
    process, thread = 3 << 24, (3 << 24) | 77
    rows = {
        "StringIds": [(1, "kernel"), (2, "cudaLaunchKernel_v7000"), (3, "cudaMemcpyAsync_v3020")],
        "TARGET_INFO_GPU": [(0, "NVIDIA H200")],
        "CUPTI_ACTIVITY_KIND_KERNEL": [
            (1_000, 101_000, 0, 7, 1, process, 1, 1, None),
            (200_000, 300_000, 0, 7, 3, process, 1, 1, None),
            (400_000, 500_000, 0, 7, 4, process, 1, 1, None),
        ],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [
            (101_000, 151_000, 0, 7, 2, process, 1 << 20, 1, 0, 2),
            (151_000, 171_000, 0, 7, 0, process, 1 << 20, 1, 1, 2),
        ],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [
            (0, 900, thread, 1, 2),
            (900, 5_000, thread, 2, 3),
            (195_000, 197_000, thread, 3, 2),
            (390_000, 391_000, thread, 4, 2),
        ],
        "NVTX_EVENTS": [
            (0, 190_000, 59, "step 1", None, thread),
            (190_000, 380_000, 59, "step 2", None, thread),
            (380_000, 600_000, 59, "step 3", None, thread),
            (600_000, None, 59, "open", None, thread),
        ],
    }
    found = analyze(reference(ONE_GPU), [export(tmp_path / "a.sqlite", rows)])
    (rank,) = found.ranks
    assert [(s.name, s.start, s.end) for s in rank.steps] == [
        ("step 1", 1_000, 200_000),
        ("step 2", 200_000, 400_000),
    ]
    assert sum(found.parts.values()) == 399_000
    # 1 MiB of pageable memory takes longer here; pinned memory half as long.
    assert found.parts[Part.COPIES] == 50_000 + 20_000
    assert found.parts[Part.LAUNCH] > 0
    assert not any("Warning" in note for note in found.notes)


def test_a_kind_that_is_null_is_not_known(tmp_path: Path) -> None:
    rows = {"CUPTI_ACTIVITY_KIND_MEMCPY": [(0, 50_000, 0, 7, 1, 1 << 24, 1 << 20, 1, None, 2)]}
    found = analyze(reference(ONE_GPU), [export(tmp_path / "n.sqlite", rows)])
    assert found.parts == {Part.COPIES_UNKNOWN: 50_000}


def test_an_export_is_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = export(tmp_path / "large.sqlite", {"StringIds": [(1, "x" * (2 << 20))]})
    monkeypatch.setattr("peakline.workload.read.MAX_TRACE_BYTES", 1 << 20)
    with pytest.raises(WorkloadError, match=r"large\.sqlite: larger than 1 MiB, the most that is"):
        read(path)


def test_a_graph_as_one_block_is_told(tmp_path: Path) -> None:
    rows = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(0, 1000, 0, 7, 1, 1 << 24, 5)]}
    found = analyze(reference(ONE_GPU), [export(tmp_path / "g.sqlite", rows)])
    assert found.parts == {Part.KERNELS_UNKNOWN: 1000}
    assert any("--cuda-graph-trace=node" in note for note in found.notes)
    assert any("Calls of the host were not recorded" in note for note in found.notes)


def test_an_empty_export_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="holds nothing that ran on a GPU"):
        analyze(reference(ONE_GPU), [export(tmp_path / "e.sqlite", {"StringIds": []})])
    broken = tmp_path / "b.sqlite"
    broken.write_bytes(b"SQLite format 3\0" + b"x" * 200)
    with pytest.raises(WorkloadError, match="not an export of Nsight Systems"):
        analyze(reference(ONE_GPU), [broken])


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("cudaLaunchKernel", Did.LAUNCH),
        ("cudaLaunchKernel_ptsz_v7000", Did.LAUNCH),
        ("cuLaunchKernelEx", Did.LAUNCH),
        ("cudaMemcpyAsync", Did.LAUNCH),
        ("cudaMemsetAsync", Did.LAUNCH),
        ("cudaGraphLaunch_v10000", Did.GRAPH),
        ("cudaMemcpy", Did.SYNCHRONIZE),
        ("cudaStreamSynchronize_v3020", Did.SYNCHRONIZE),
        ("cuCtxSynchronize", Did.SYNCHRONIZE),
        ("cudaEventSynchronize", Did.SYNCHRONIZE),
        ("cudaDeviceSynchronize", Did.SYNCHRONIZE),
        ("cudaMalloc", Did.ALLOCATE),
        ("cudaMallocHost", Did.ALLOCATE),
        ("cuMemMap", Did.ALLOCATE),
        ("cudaHostRegister", Did.ALLOCATE),
        ("cudaMallocAsync", Did.OTHER),
        ("cudaFreeAsync_v11020", Did.OTHER),
        ("cudaStreamWaitEvent", Did.WAIT_EVENT),
        ("cudaGetDevice", Did.OTHER),
        ("cudaEventRecord", Did.OTHER),
    ],
)
def test_calls(call: str, kind: Did) -> None:
    assert did(call) == kind
