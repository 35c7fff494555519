"""Traces of torch.profiler and exports of Nsight Systems: what is read, refused and left out."""

import gzip
import json
import tracemalloc

import pytest
from conftest import ONE_GPU, idle, reference
from made_kernels import parse
from made_traces import Made, export
from peakline.workload.analysis import analyze
from peakline.workload.document import kernel_rows
from peakline.workload.kernel import WorkloadError
from peakline.workload.kernel_text import advice, table
from peakline.workload.model import Did, did
from peakline.workload.part import Part
from peakline.workload.placement import place
from peakline.workload.read import read, read_kernels

FIRST, SECOND = 1 << 24, 2 << 24  # processes of one export
NAMES = [(1, "kernel"), (2, "cudaLaunchKernel_v7000"), (3, "cudaStreamSynchronize_v3020")]


# Tables of an export. Its two processes have launches with the same correlation ids.
KERNEL, CALL = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
COPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
ONE_WAITS = {
    "StringIds": NAMES,
    KERNEL: [
        (0, 100_000, 0, 7, 1, FIRST, 1, 1, None),
        (3_000_000, 3_100_000, 0, 7, 2, FIRST, 1, 1, None),
        (0, 3_100_000, 1, 7, 1, SECOND, 1, 1, None),
    ],
    CALL: [
        (0, 1000, FIRST | 3, 1, 2),
        (2_995_000, 2_997_000, FIRST | 3, 2, 2),
        (0, 1000, SECOND | 4, 1, 2),
    ],
}


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("StringIds", []),
        (CALL, [(200_000, 2_990_000, SECOND | 4, 7, 3), (2_991_000, 2_992_000, SECOND | 4, 8, 2)]),
        ("NVTX_EVENTS", [(0, 2_990_000, 59, "load_batch", None, SECOND | 4)]),
        ("PROFILER_OVERHEAD", [(200_000, 2_990_000, SECOND | 4, 1)]),
    ],
)
def test_no_process_explains_the_gaps_of_another(analyzed, table, values):
    rows = {**ONE_WAITS, table: [*ONE_WAITS.get(table, []), *values]}
    assert idle(analyzed(rows)) == {Part.PYTHON: 2_895_000, Part.LAUNCH: 5_000}


def test_correlations_join_within_a_process(analyzed):
    rows = {
        "StringIds": NAMES,
        "TARGET_INFO_CUDA_DEVICE": [(0, 0, 1, "GPU-a"), (0, 0, 2, "GPU-a")],
        KERNEL: [
            (0, 100_000, 0, 7, 5, FIRST, 1, 1, None),
            (120_000, 130_000, 0, 7, 9, SECOND, 1, 1, None),
        ],
        CALL: [(50_000, 52_000, FIRST | 3, 9, 2), (115_000, 117_000, SECOND | 4, 9, 2)],
    }
    assert idle(analyzed(rows)) == {Part.LAUNCH: 20_000}


def test_gpus_of_an_export_are_told_apart(tmp_path):
    """Each process sees only one GPU, as device 0."""
    rows = {
        "StringIds": NAMES,
        KERNEL: [
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


def test_times_are_read_to_the_nanosecond(tmp_path):
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
        ('{"traceEvents": []}', "holds no GPU kernel"),
        ('{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": -1, "dur": 1}]}', "ts is '-1'"),
        ('{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1e-, "dur": 1}]}', "Expecting ','"),
        ('{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1, "dur": null}]}', "dur is 'None'"),
        ("name,flop\n", "neither an ncu CSV nor a plain one"),
        ("\xff", "not UTF-8 text, so neither a CSV nor a trace"),
    ],
)
def test_what_is_no_trace_is_told_so(tmp_path, text, said):
    path = tmp_path / "t.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(WorkloadError, match=said) as raised:
        analyze(reference(ONE_GPU), [path])
    assert str(path) in str(raised.value)


def test_a_trace_is_read_event_by_event(tmp_path):
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


def test_an_export_of_nsight_systems(analyzed):
    process, thread = 3 << 24, (3 << 24) | 77
    rows = {
        "StringIds": [(1, "kernel"), (2, "cudaLaunchKernel_v7000"), (3, "cudaMemcpyAsync_v3020")],
        "TARGET_INFO_GPU": [(0, "NVIDIA H200")],
        KERNEL: [
            (1_000, 101_000, 0, 7, 1, process, 1, 1, None),
            (200_000, 300_000, 0, 7, 3, process, 1, 1, None),
            (400_000, 500_000, 0, 7, 4, process, 1, 1, None),
        ],
        COPY: [
            (101_000, 151_000, 0, 7, 2, process, 1 << 20, 1, 0, 2),
            (151_000, 171_000, 0, 7, 0, process, 1 << 20, 1, 1, 2),
        ],
        CALL: [
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
    found = analyzed(rows)
    assert [(s.name, s.start, s.end) for s in found.ranks[0].steps] == [
        ("step 1", 1_000, 200_000),
        ("step 2", 200_000, 400_000),
    ]
    # 1 MiB of pageable memory takes longer here; pinned memory half as long.
    assert found.parts[Part.COPIES] == 50_000 + 20_000
    assert found.parts[Part.LAUNCH] > 0
    assert not any("Warning" in note for note in found.notes)


def test_a_kind_that_is_null_is_not_known(analyzed):
    found = analyzed({COPY: [(0, 50_000, 0, 7, 1, 1 << 24, 1 << 20, 1, None, 2)]})
    assert found.parts == {Part.COPIES_UNKNOWN: 50_000}


def test_an_export_is_read_up_to_a_limit(tmp_path, monkeypatch):
    path = export(tmp_path / "large.sqlite", {"StringIds": [(1, "x" * (2 << 20))]})
    monkeypatch.setattr("peakline.workload.read.MAX_TRACE_BYTES", 1 << 20)
    with pytest.raises(WorkloadError, match=r"large\.sqlite: larger than 1 MiB, the most that is"):
        read(path)


def test_a_graph_as_one_block_is_told(analyzed):
    found = analyzed({"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(0, 1000, 0, 7, 1, 1 << 24, 5)]})
    assert found.parts == {Part.KERNELS_UNKNOWN: 1000}
    for said in ("--cuda-graph-trace=node", "Calls of the host were not recorded"):
        assert any(said in note for note in found.notes)


CALLS = {
    Did.LAUNCH: "cudaLaunchKernel cudaLaunchKernel_ptsz_v7000 cuLaunchKernelEx cudaMemcpyAsync "
    "cudaMemsetAsync",
    Did.GRAPH: "cudaGraphLaunch_v10000",
    Did.SYNCHRONIZE: "cudaMemcpy cudaStreamSynchronize_v3020 cuCtxSynchronize cudaEventSynchronize "
    "cudaDeviceSynchronize",
    Did.ALLOCATE: "cudaMalloc cudaMallocHost cuMemMap cudaHostRegister",
    Did.WAIT_EVENT: "cudaStreamWaitEvent",
    Did.OTHER: "cudaMallocAsync cudaFreeAsync_v11020 cudaGetDevice cudaEventRecord",
}


@pytest.mark.parametrize("kind", CALLS)
def test_calls(kind):
    calls = CALLS[kind].split()
    assert {call: did(call) for call in calls} == dict.fromkeys(calls, kind)


# --- Lost events and impossible times ---


CALLED = 1e12  # a plausible start of a clock, in µs


def regular(count, skew=0.0):
    """Kernels of 50 µs, one every 100 µs, each launched 20 µs before it starts."""
    made = Made()
    for number in range(count):
        start = CALLED + 100 * number
        made.kernel(start - skew, start - skew + 50, start - 20)
    return made


def codes(found):
    return {f.code: (f.count, f.of) for f in found.findings if f.severity == "warning"}


def test_a_whole_trace_has_no_warning(analyzed):
    assert codes(analyzed(regular(20))) == {}


ONE = {"damaged_events": (1, 40)}


# The text has 40 events, and the fourth is the kernel of the second launch.
@pytest.mark.parametrize(
    ("old", "new", "found", "said"),
    [
        (b'"name": "kernel"', b'"name": "k\xff\x80"', {}, ""),
        (b'"name": "kernel"', b'"name": "k\n\x01"', {}, ""),
        (b'"dur": 50.0', b'"dur": 5.0e1', {}, ""),
        (b'"dur": 50.0', b'"dur": 500000000000e-10', {}, ""),
        (b'"dur": 50.0', b'"dur": 50, "x": ' + b"9" * 5000, {}, ""),
        (b'"dur": 50.0', b'"dur": NaN', ONE, "is traceEvents[3]: dur is 'NaN', but must be"),
        (b'"dur": 50.0', b'"dur": -1e-05', ONE, "is traceEvents[3]: dur is '-1e-05', but must be"),
        (b'"dur": 50.0', b'"dur": 1e99', ONE, "is traceEvents[3]: dur is out of range"),
        (b'"dur": 50.0', b'"dur": nan', ONE, "is traceEvents[3]: Expecting value at character"),
        (b'"dur": 50.0', b'"dur" 50', ONE, "is traceEvents[3]: Expecting ':' delimiter at"),
        (b'"args": {', b'"args": {"flops": 1e-200, ', ONE, "traceEvents[3]: flops is out of range"),
        (b'"args": {', b'"args": {"flops": 1' + b"0" * 400 + b", ", ONE, "flops is out of range"),
    ],
)
def test_a_damaged_event_is_left_out(tmp_path, old, new, found, said):
    path = regular(20).write(tmp_path / "t.json")
    events = path.read_bytes().split(b'{"ph"')
    events[4] = events[4].replace(old, new)
    path.write_bytes(b'{"ph"'.join(events))
    trace = read(path)
    assert len(trace.activities) == 20 - len(found)
    assert set((trace.activities["end"] - trace.activities["start"]).tolist()) == {50_000}
    damage = [f for f in trace.findings if f.code in ("damaged_events", "cut_off")]
    assert {f.code: (f.count, f.of) for f in damage} == found
    assert all(said in f.text for f in damage)
    # --kernels has the same warning.
    notes = advice(reference(), place(reference(), read_kernels(path)))
    assert any(said in note for note in notes)


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("left", "events"),
    [
        (lambda text: text[: text.rindex(b'"dur"')], 39),
        (lambda text: text[: text.rindex(b'{"ph"')], 39),
        (lambda text: text[: text.rindex(b"]")], 40),
        (lambda text: text[:-1] + b"nul", 40),
    ],
)
def test_a_cut_off_file_says_where(tmp_path, as_list, packed, left, events):
    made = regular(20)
    path = made.write(tmp_path / "t.json")
    text = left(json.dumps(made.events).encode() if as_list else path.read_bytes())
    path.write_bytes(gzip.compress(text)[:-8] if packed else text)
    trace = read(path)
    assert len(trace.activities) + len(trace.calls) == events
    found = {f.code: f.text for f in trace.findings}
    assert f"cut off or damaged after event {events}: " in found["cut_off"]
    assert ("broken_gzip" in found) == packed
    assert any("cut off" in note for note in analyze(reference(), [path]).notes)


@pytest.mark.parametrize("host", [(11, 22), ("[TP00] 11", "[TP01] 22"), (1, 1)])
@pytest.mark.parametrize("devices", [(0, 1), (0, 0)])
@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("reader", [read_kernels, lambda path: analyze(reference(), [path])])
def test_merged_ranks_are_refused(tmp_path, host, devices, calls, reader):
    merged = Made()
    for rank, process in enumerate(host):
        for event in regular(20).events:
            event["ts"] += 7 * rank
            on_device = event["cat"] == "kernel"
            if on_device:
                event["args"] |= {"device": devices[rank]}
                event["pid"] = f"{str(process)[:7]}{devices[rank]}" if calls else process
            else:
                event["pid"] = process
            if on_device or calls:
                merged.events.append(event)
    path = merged.write(tmp_path / "merged.json")
    if calls or (devices == (0, 0) and host[0] != host[1]):
        with pytest.raises(WorkloadError, match=r"holds several ranks.*: give one file per rank"):
            reader(path)
    else:  # one process may use several GPUs
        assert reader(path)


def test_launches_without_kernels_are_counted(analyzed):
    made = regular(20)
    kernels = [event for event in made.events if event["cat"] == "kernel"]
    for event in kernels[::2]:
        made.events.remove(event)
    found = analyzed(made)
    assert codes(found) == {"launches_without_kernels": (10, 20)}
    assert "so idle time is an upper limit" in " ".join(found.notes)


@pytest.mark.parametrize("border", ["begin and end", "begin", "none"])
def test_captured_launches_have_no_kernels(analyzed, border):
    made = regular(4)
    if "begin" in border:
        made.call("cudaStreamBeginCapture", CALLED + 1000, CALLED + 1001, correlation=5000)
    for number in range(40):
        at = CALLED + 1010 + 10 * number
        made.call("cudaLaunchKernel", at, at + 2, correlation=5001 + number)
    if "end" in border:
        made.call("cudaStreamEndCapture", CALLED + 1900, CALLED + 1901, correlation=6000)
    lost = {} if "begin" in border else {"launches_without_kernels": (40, 44)}
    assert codes(analyzed(made)) == lost


def test_kernels_without_launches_are_counted(analyzed):
    made = regular(20)
    calls = [event for event in made.events if event["cat"] == "cuda_runtime"]
    for event in calls[:3] + calls[10:15]:
        made.events.remove(event)
    found = analyzed(made)
    # Launches before the recording are not lost ones.
    assert codes(found) == {"kernels_without_launches": (5, 20)}
    assert any("3 of 20 kernels were launched before" in note for note in found.notes)


@pytest.mark.parametrize("times", [(-(2**63), 2**63 - 1), (5, 2**63 - 1), (-5, 900)])
def test_times_out_of_range_are_left_out(analyzed, times):
    spans = [(1000 * number, 1000 * number + 500) for number in range(4)]
    found = analyzed({KERNEL: [(*span, 0, 7, 5, 7 << 24, 0, 0, 0) for span in (*spans, times)]})
    assert codes(found)["invalid_times"] == (1, 5)
    assert found.step_s == pytest.approx(3500e-9)


@pytest.mark.parametrize("times", [(0, 0), (CALLED + 210, 3.6e9)])
def test_times_that_cannot_be_are_left_out(analyzed, times):
    made = regular(20)
    made.call("cudaDeviceSynchronize", CALLED + 1960, CALLED + 1970)
    wrong = [event for event in made.events if event["cat"] == "kernel"][2]
    wrong["ts"], wrong["dur"] = times
    found = analyzed(made)
    assert codes(found)["invalid_times"] == (1, 20)
    assert found.nanoseconds == 1_950_000
    assert found.idle == pytest.approx(1 - 19 * 50 / 1950)


def test_a_long_kernel_is_believed(analyzed):
    made = Made()
    made.kernel(CALLED, CALLED + 9e6, CALLED - 5)
    found = analyzed(made)
    assert (codes(found), found.nanoseconds) == ({}, 9_000_000_000)


# Three steps of ten kernels; the third, of 500 µs, is recorded with this length.
@pytest.mark.parametrize(
    ("length", "second", "cut"),
    [
        (9000, {}, 1500),  # over its successors
        (1600, {}, 1500),
        (1519, {}, None),  # a programmatic launch
        (9000, {"stream": 8}, 3000),  # up to the next kernel of its own stream
        (9000, {"stream": 8, "every": True}, None),  # of other streams
        (9000, {"graph": True}, None),  # branches of a graph
    ],
)
def test_kernels_of_a_stream_are_serial(analyzed, length, second, cut):
    made = Made()
    made.steps(*(20_000 * step for step in range(3)))
    call = "cudaGraphLaunch" if second.get("graph") else "cudaLaunchKernel"
    for step in range(3):
        for number in range(10):
            at = 100 + 20_000 * step + 1500 * number
            late = number == 2 and step < 2
            name = "fmha" if number == 2 else "gemm"
            streams = number > 2 if second.get("every") else number == 3
            stream = second.get("stream", 7) if streams else 7
            lasts = length if late else 500
            made.kernel(at, at + lasts, at - 20, name, call, stream=stream)
    found = analyzed(made)
    (fmha,) = [p.kernel for p in found.kernels_of_step if p.kernel.name == "fmha"]
    assert fmha.seconds == pytest.approx((cut or length) * 1e-6)
    assert fmha.clipped == (cut is not None)
    said = [f for f in found.findings if f.code == "overlap_in_a_stream"]
    assert [(f.count, f.of) for f in said] == ([(2, 30)] if cut else [])
    assert all("the time of fmha and that of all kernels are upper limits" in f.text for f in said)
    row, _ = sorted(kernel_rows(reference(), found.kernels), key=lambda row: row["name"])
    assert row.get("time_is_upper_limit", False) == fmha.clipped
    marked = any("≤" in line for line in table(reference(), found.kernels))
    assert marked == fmha.clipped


def test_no_trace_of_invalid_times_alone(analyzed):
    made = Made()
    made.kernel(0, 0, None)
    with pytest.raises(WorkloadError, match=r"no activity in it has a duration"):
        analyzed(made)


def test_gaps_have_no_cause_where_clocks_differ(analyzed):
    found = analyzed(regular(20, skew=2000))
    assert codes(found) == {"clocks_differ": (20, 20)}
    assert "by up to 1.98 ms: the clocks of host and GPU differ" in " ".join(found.notes)
    assert {part for part in found.parts if part.is_idle} == {Part.NOT_RECORDED}


BOTH = pytest.mark.parametrize(
    "reader", [read_kernels, lambda path: analyze(reference(), [path])], ids=["kernels", "trace"]
)


@pytest.mark.parametrize(
    ("call", "device", "vendor"),
    [
        ("hipLaunchKernel", {}, "AMD's ROCm"),
        ("cudaLaunchKernel", {"warpSize": 64}, "AMD's ROCm"),
        ("cudaLaunchKernel", {"name": "AMD Instinct MI300X"}, "on AMD Instinct MI300X with AMD's"),
        ("urEnqueueKernelLaunch", {}, "Intel's XPU"),
        ("zeCommandListAppendLaunchKernel", {}, "Intel's XPU"),
        ("cudaLaunchKernel", {"name": "Intel(R) Data Center GPU Max 1550"}, "with Intel's XPU"),
        ("cnInvokeKernel", {}, "Cambricon's MLU"),
    ],
)
@BOTH
def test_another_vendor_is_refused(tmp_path, call, device, vendor, reader):
    made = regular(2)
    made.call(call, CALLED, CALLED + 2)
    path = made.write(tmp_path / "t.json", deviceProperties=[{"id": 0, "name": "", **device}])
    with pytest.raises(WorkloadError, match=f"recorded .*{vendor}.* of NVIDIA GPUs: give a trace"):
        reader(path)


@pytest.mark.parametrize(
    ("category", "args", "vendor"),
    [
        ("xpu_runtime", {}, "Intel's XPU"),
        ("cuda_runtime", {"sycl queue": 64}, "Intel's XPU"),
        ("mlu_runtime", {}, "Cambricon's MLU"),
        ("mtia_runtime", {}, "Meta's MTIA"),
        ("mtia_ccp_events", {}, "Meta's MTIA"),
        ("privateuse1_runtime", {}, "another vendor's"),
    ],
)
@pytest.mark.parametrize("kernels", [True, False])
@BOTH
def test_vendors_are_told_by_category(tmp_path, category, args, vendor, kernels, reader):
    made = regular(2 * kernels)
    made.event(category, "launch", CALLED, CALLED + 2, args=args)
    with pytest.raises(WorkloadError, match=f"recorded with {vendor}"):
        reader(made.write(tmp_path / "t.json", deviceProperties=[]))


JAX = {"name": "gemm_fusion_dot_3", "args": {"kernel_details": "regs:255", "hlo_op": "dot.3"}}
SESSION = {"cat": "Session", "name": "session_initialization", "args": {}}
NODE = {
    "cat": "Node",
    "name": "n",
    "args": {"provider": "CUDAExecutionProvider", "op_name": "Gemm"},
}
ORT = {"cat": "Kernel", "name": "gemm", "args": {"stream": "7", "grid_x": "64"}}


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([JAX], "a trace of JAX/XLA, which is not read: record with nsys"),
        ([{"name": "PjitFunction(step)"}], "a trace of JAX/XLA"),
        ([SESSION, ORT], "a profile of ONNX Runtime, which is not read: record with nsys"),
        ([NODE, ORT], "a profile of ONNX Runtime"),
        ([{"cat": "gpu", "name": "uprobe:cuLaunchKernel"}], "a trace by eBPF, .* or with torch"),
        ([{"cat": "ebpf", "name": "launch"}], "a trace by eBPF"),
        ({"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1}]}, "(Chakra), .* recorded beside it"),
        ({"schema": "1.0.1", "pid": 1, "nodes": []}, "an execution trace (Chakra)"),
    ],
)
@BOTH
def test_other_tools_are_named(tmp_path, events, said, reader):
    path = tmp_path / "t.json"
    times = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    document = events
    if isinstance(events, list):
        document = {"traceEvents": [times | event for event in events]}
    path.write_text(json.dumps(document))
    said = said.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(WorkloadError, match=f"t.json: .*{said}"):
        reader(path)
    # PyTorch's own traces may have such names.
    if isinstance(events, list):
        made = regular(3)
        made.events += [
            times | event | {"ts": CALLED, "cat": "python_function"} for event in events
        ]
        assert reader(made.write(path))


@pytest.mark.parametrize("text", ["²", "9" * 5000, "-1", "x", "", None, [1], 1.5, True, 10**30])
def test_a_number_that_is_none_is_not_known(analyzed, text):
    made = regular(2)
    made.activity("gpu_memset", "Memset", 90_000, 90_001, 1, "cudaMemsetAsync", 1, 1, bytes=text)
    device = {"id": 0, "name": "NVIDIA H200", "computeMajor": text, "computeMinor": text}
    found = analyzed(made, distributedInfo={"rank": text}, deviceProperties=[device])
    trace = found.ranks[0].timeline.trace
    assert (trace.rank, trace.capabilities) == (None, {})
    assert trace.activities["bytes"][-1] == 0


def test_another_compute_capability_is_told(analyzed):
    device = {"id": 0, "name": "NVIDIA H200", "computeMajor": 12, "computeMinor": 0}
    found = analyzed(regular(2), deviceProperties=[device])
    assert codes(found) == {"other_device": (0, 0)}
    assert (
        "of compute capability 12.0, but the profile is of NVIDIA H200 (9.0)" in found.other_device
    )


def product(made, identity, start, side):
    """A GEMM on the launching thread, as PyTorch 1.8 to 2.0 write it."""
    args = {"External id": identity, "Input Dims": [[side, side]] * 2}
    args["Input type"] = ["c10::BFloat16"] * 2
    made.event("cpu_op", "aten::mm", start, start + 30, args=args)


def test_correlation_ids_match_no_operator():
    """Up to PyTorch 2.0, a kernel's External id is its correlation id."""
    made = Made()
    for number, side in enumerate((512, 64)):
        product(made, 1002 - number, CALLED + 1000 * number, side)
        start = CALLED + 1000 * number + 10
        correlation = made.kernel(start + 100, start + 200, start, f"gemm_{side}")
        made.events[-1]["args"]["External id"] = correlation
    found = parse(json.dumps(made.events))
    assert [k.flops for k in found] == [{"tensor.bf16": 2.0 * 512**3}, {"tensor.bf16": 2.0 * 64**3}]


def test_older_versions_of_traces_are_read():
    """PyTorch 1.8 writes Operator, Kernel and "external id"; arguments may have any type."""
    made = Made()
    product(made, 7, CALLED, 512)
    made.kernel(CALLED + 100, CALLED + 200, CALLED + 10, "gemm", **{"external id": 7})
    for event, category in zip(made.events, ("Operator", "Runtime", "Kernel"), strict=True):
        event["cat"] = category
    made.events.append({**made.events[-1], "args": ["a list"], "ts": CALLED + 300})
    product_, other = parse(json.dumps(made.events))
    assert (product_.flops, other.flops) == ({"tensor.bf16": 2.0 * 512**3}, {})


def test_what_nsight_systems_warned_of_is_quoted(analyzed):
    warned = [(2, "Not all CUDA events might have been collected."), (1, "Number of events: 6.")]
    rows = {"StringIds": [(1, "k")], "DIAGNOSTIC_EVENT": warned}
    found = analyzed({**rows, KERNEL: [(1000, 2000, 0, 7, 1, 0, 1, 1, None)]})
    (text,) = [f.text for f in found.findings if f.code == "profiler_warned"]
    assert "“Not all CUDA events might have been collected.”" in text and "Number" not in text
    with pytest.raises(WorkloadError, match=r"nothing that ran on a GPU: .*Not all CUDA events"):
        analyzed({**rows, KERNEL: []})


LOST = "Not all CUDA events might have been collected."


@pytest.mark.parametrize(
    "said",
    [
        ["No NVTX events collected. Does the process use NVTX?"] * 4 + [LOST],
        [f"No {of} data collected." for of in ("OpenGL", "NVTX", "Vulkan", "DX12", "WDDM")]
        + [LOST],
        [f"Not all {of} events might have been collected." for of in ("NVTX", "OpenGL")] * 9
        + [LOST],
    ],
)
@pytest.mark.parametrize("kernels", [True, False])
def test_noise_hides_no_warning(analyzed, said, kernels):
    started = "CUDA profiling might have not been started correctly."
    rows = {"StringIds": [(1, "k")], "DIAGNOSTIC_EVENT": [(2, text) for text in [*said, started]]}
    rows[KERNEL] = [(1000, 2000, 0, 7, 1, 0, 1, 1, None)] * kernels
    if kernels:
        (text,) = [f.text for f in analyzed(rows).findings if f.code == "profiler_warned"]
    else:
        with pytest.raises(WorkloadError) as raised:
            analyzed(rows)
        text = str(raised.value)
    assert f"“{LOST}” “{started}” “N" in text


def test_advice_on_nsys_is_about_nsys(analyzed, tmp_path):
    """Its files lack shapes, steps and calls, which options of torch.profiler do not add."""
    found = analyzed({"StringIds": [(1, "k")], KERNEL: [(1000, 2000, 0, 7, 1, 0, 1, 1, None)]})
    text = " ".join(found.notes)
    assert all(word not in text for word in ("record_shapes", "activities=", "profiler.step()"))
    assert all(word in text for word in ("NVTX range", "nsys profile", "Nsight Systems records no"))
    notes = advice(reference(), place(reference(), read_kernels(tmp_path / "made.sqlite")))
    assert any("Nsight Systems records no shapes" in note for note in notes)
    assert not any("record_shapes" in note for note in notes)


def test_unified_memory_is_named(tmp_path):
    rows = {
        "StringIds": [(1, "k")],
        "CUPTI_ACTIVITY_KIND_KERNEL": [(1000, 9000, 0, 7, 1, 0, 1, 1, None)],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [
            (1000 + 100 * i, 1050 + 100 * i, 0, 0, 0, 0, 65536, 11 + i % 2, 3, 3) for i in range(6)
        ],
    }
    found = analyze(reference(ONE_GPU), [export(tmp_path / "a.sqlite", rows)])
    assert codes(found) == {"unified_memory": (6, 7)}
    assert "6 migrations of pages move 384 KiB in 300 ns" in " ".join(found.notes)


def test_step_cuts_a_copy_of_seconds(analyzed):
    made = Made()
    made.steps(0, 5e6, 9e6)
    for at in (100, 5_000_100, 9_000_100):
        made.kernel(at, at + 100, at - 50)
    made.copy(800_000, 6_800_000, 799_000, 40_000_000_000, "Memcpy HtoD (Pageable -> Device)")
    (rank,) = analyzed(made).ranks
    for step, parts in zip(rank.steps, rank.each, strict=True):
        assert min(parts.values()) >= 0 and sum(parts.values()) == step.length
