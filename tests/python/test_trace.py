"""The parts of a step: each rule on a trace with known truth, and exact sums."""

import itertools

import numpy as np
import pytest
from conftest import GPU, ONE_GPU, idle, reference
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from made_traces import Made
from peakline.workload.advice import advice
from peakline.workload.analysis import analyze
from peakline.workload.costs import costs_of
from peakline.workload.document import document
from peakline.workload.kernel import WorkloadError
from peakline.workload.model import Kind
from peakline.workload.owners import divide
from peakline.workload.part import Part
from peakline.workload.step_names import PHASES
from peakline.workload.step_text import headline, microseconds, phase_table, spread, table

COSTS = costs_of(reference(ONE_GPU), GPU)
LATENCY = COSTS.latency
QUEUED = COSTS.queued


# --- Who owns an instant -------------------------------------------------------------------------

ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30), st.sampled_from(list(Kind))), max_size=12
)


@settings(deadline=None)
@given(ROWS, st.integers(0, 50), st.integers(1, 60))
def test_each_instant_has_one_owner(rows, low, length):
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


def test_kernels_at_once_share_equally():
    starts, ends = np.array([0, 0, 40]), np.array([100, 101, 60])
    found = divide(starts, ends, np.array([0, 0, 0]), (0, 101))
    # 40 ns shared by two, 20 by three, 40 by two, 1 by one.
    assert found.nanoseconds.tolist() == [20 + 7 + 20, 20 + 7 + 20 + 1, 6]
    assert not len(found.gaps.starts)


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
def test_parts_add_up_to_the_steps(tmp_path_factory, activities, marks, others):
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
    try:
        found = analyze(reference(ONE_GPU), [path])
    except WorkloadError as error:
        # A kernel ends where the next one of its stream starts. Where two start at once, the only
        # step may hold nothing but the first, which then has no duration.
        assert "no activity in it has a duration" in str(error)
        assert marks and len({(start, stream) for start, *_, stream in activities}) < len(
            activities
        )
        reject()
    assert sum(found.parts.values()) == found.nanoseconds > 0
    assert all(time > 0 for time in found.parts.values())
    for rank in found.ranks:
        for step, parts in zip(rank.steps, rank.each, strict=True):
            assert sum(parts.values()) == step.length
    shown = microseconds(found.parts, found.steps)
    assert sum(shown.values()) == round(found.nanoseconds / found.steps / 1000)
    assert table(found)[-1].split()[2] == f"{sum(shown.values()) / 1000:.3f}"


# --- Steps ---------------------------------------------------------------------------------------


def test_step_ends_at_first_activity_of_next(analyzed):
    made = Made()
    made.steps(0, 100, 200)
    # The host is ahead: the device runs a step's work after that step's range.
    for number in range(3):
        made.kernel(50 + 200 * number, 150 + 200 * number, 100 * number + 10)
        made.kernel(150 + 200 * number, 250 + 200 * number, 100 * number + 30)
    found = analyzed(made)
    (rank,) = found.ranks
    assert [(step.name, step.start, step.end) for step in rank.steps] == [
        ("ProfilerStep#0", 50_000, 250_000),
        ("ProfilerStep#1", 250_000, 450_000),
    ]
    assert idle(found) == {}


def test_ranges_by_name(analyzed):
    made = Made()
    for number in range(3):
        made.event("user_annotation", f"decode {number}", 100 * number, 100 * number + 90)
        made.kernel(100 * number + 20, 100 * number + 40, 100 * number + 10)
    assert analyzed(made).ranks[0].by == ""
    found = analyzed(made, "decode")
    assert [step.length for step in found.ranks[0].steps] == [100_000, 100_000]
    assert found.ranks[0].by == "decode"
    assert spread(found) == "2 steps, by the ranges decode: 100 µs each."
    with pytest.raises(WorkloadError, match="no range 'prefill'; it has decode"):
        analyzed(made, "prefill")
    # A single range ends with its last activity; a range without launches is not a step.
    made.event("user_annotation", "eval", 0, 90)
    made.event("user_annotation", "log", 400, 490)
    assert [step.length for step in analyzed(made, "eval").ranks[0].steps] == [20_000]
    with pytest.raises(WorkloadError, match="no range 'log' launches work on device 0"):
        analyzed(made, "log")


VLLM = ["execute_context_0(0)_generation_16(16)", "execute_context_1(8)_generation_0(0)"]
VLLM += ["execute_context_2(16)_generation_14(14)", "execute_context_0(0)_generation_9(9)"]
SGLANG = [
    "step[DECODE bs=16]",
    "step[EXTEND bs=1 toks=100]",
    "step[MIXED bs=3]",
    "step[DECODE bs=1]",
]
LIGHTNING = "[pl][profile]run_training_batch"
STRATEGY = "[pl][profile][Strategy]DDPStrategy.training_step"


@pytest.mark.parametrize(
    ("names", "wanted", "by", "lengths", "phases"),
    [
        (VLLM, "", "execute_context", [100, 110, 120], ["decode", "prefill", "mixed"]),
        (
            VLLM,
            "execute_context",
            "execute_context",
            [100, 110, 120],
            ["decode", "prefill", "mixed"],
        ),
        (VLLM, "decode", "execute_context", [100], ["decode"]),
        (VLLM, "*_generation_0(*", "execute_context", [110], ["prefill"]),
        (VLLM, "execute_context_2(", "execute_context", [120], ["mixed"]),
        (SGLANG, "", "step", [100, 110, 120], ["decode", "prefill", "mixed"]),
        (SGLANG, "step[EXTEND", "step", [110], ["prefill"]),
        (SGLANG, "step[*bs=?]", "step", [120], ["mixed"]),
        (
            ["execute_new_2_cached_0", "execute_new_0_cached_2"],
            "",
            "execute_new",
            [100],
            ["prefill"],
        ),
        ([LIGHTNING] * 3, "", LIGHTNING, [100, 110], []),
        ([STRATEGY] * 3, "", STRATEGY, [100, 110], []),
        (["iteration7", "iteration8", "iteration9"], "", "iteration", [100, 110], []),
        (["train_step"] * 3, "", "train_step", [100, 110], []),
        (["f(1)_g(2)", "f(2)_g(30)", "f(3)_g(4)"], "f(*)_g(?)", "f(1)_g(2)", [210], []),
    ],
)
def test_steps_of_frameworks_are_found(analyzed, names, wanted, by, lengths, phases):
    """Steps of 100 µs, 110 µs and so on; the last has no end."""
    made, at = Made(), 0
    for number, name in enumerate(names):
        made.event("user_annotation", name, at, at + 90)
        made.kernel(at + 20, at + 40, at + 10)
        at += 100 + 10 * number
    found = analyzed(made, wanted)
    (rank,) = found.ranks
    assert (found.one, rank.by) == ("step", by)
    assert [step.length for step in rank.steps] == [1000 * length for length in lengths]
    assert [step.phase for step in rank.steps if step.phase] == phases
    of_phase = {row["phase"]: row for row in document(found)["phases"]}
    assert list(of_phase) == [name for name in PHASES if name in phases]
    for name, length in zip(phases, lengths, strict=False):
        assert of_phase[name]["step_s"] == pytest.approx(length * 1e-6)
        assert sum(of_phase[name]["parts"].values()) == 1000 * length * of_phase[name]["steps"]
    shown = [line.name for line in phase_table(found).lines]
    assert shown == (list(of_phase) if len(of_phase) > 1 else [])


def test_phases_of_several_ranks(tmp_path):
    paths = []
    for rank in (0, 1):
        made = Made()
        for at, name in ((0, VLLM[0]), (100, VLLM[1]), (200, VLLM[0])):
            made.event("user_annotation", name, at, at + 90)
            made.kernel(at, at + 80, at)
        paths.append(made.write(tmp_path / f"{rank}.json", distributedInfo={"rank": rank}))
    found = analyze(reference(), paths)
    assert spread(found).endswith(": 100 µs each (2 decode, 2 prefill, over all ranks).")
    table = phase_table(found)
    assert "over all ranks" in table.how
    # Without shapes bounds are not known, rather than 0.
    assert [line.amounts[-1] for line in table.lines] == [None, None]


def test_trace_without_steps_counts_whole(analyzed):
    made = Made()
    made.kernel(10, 20, 5)
    made.kernel(30, 45, 23)
    found = analyzed(made)
    assert found.nanoseconds == 35_000
    assert any("No steps are marked, so this is the whole trace" in note for note in found.notes)
    assert headline(found) == (
        "The trace takes 35.0 µs; the lower bound of kernels that take 71.4 % is not known; the "
        "most to save is launching kernels, at most 9.32 µs (26.6 % of 35.0 µs)"
    )
    lines = table(found)
    assert (lines[0].split()[:4], lines[-1][:9]) == (["part", "of", "a", "trace"], "the trace")
    assert lines[0].endswith("of trace")


# --- Gaps ----------------------------------------------------------------------------------------


def gap_of(analyzed, made):
    """The causes of the gap after a kernel that ends at 100 µs."""
    made.kernel(0, 100, 0.0, "before")
    return idle(analyzed(made))


READ = "Memcpy DtoH (Device -> Pageable)"
NEXT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
LAUNCH, LATE, PYTHON, SYNCHRONIZATION = Part.LAUNCH, Part.LATE, Part.PYTHON, Part.SYNCHRONIZATION
UNEXPLAINED = {PYTHON: 2_895_000, LAUNCH: 5_000}
# What happens beside the kernel before, and the causes in nanoseconds.
GAPS = {
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
def test_causes_of_a_gap(analyzed, name):
    happens, causes = GAPS[name]
    made = Made()
    happens(made)
    assert gap_of(analyzed, made) == causes


def test_short_pinned_copy_is_not_waited_for(analyzed):
    made = Made()
    made.kernel(0, 50, 0.0)
    made.copy(60, 61, 55, 4096, lasts=8)
    made.kernel(72, 80, 70.5)
    assert Part.SYNCHRONIZATION not in idle(analyzed(made))


@pytest.mark.parametrize("called", [99.999, 100])
def test_launch_at_gap_start_is_not_late(analyzed, called):
    made = Made()
    made.kernel(called + LATENCY / 1e3, 150, called)
    assert set(gap_of(analyzed, made)) == {Part.LAUNCH}


def test_nodes_of_a_graph_share_its_launch(analyzed):
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


def test_without_calls_no_cause_is_made_up(analyzed):
    made = Made()
    made.kernel(0, 100)
    made.kernel(300, 400)
    found = analyzed(made)
    assert idle(found) == {Part.NOT_RECORDED: 200_000}
    assert any("Calls of the host were not recorded" in note for note in found.notes)
