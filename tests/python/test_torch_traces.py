"""Traces of torch.profiler: all kernels, and the work that shapes give."""

import gzip
import json

import pytest
from conftest import DATA, ceiling
from made_kernels import parse
from peakline.names import basis_name
from peakline.page import tables
from peakline.workload.kernel import UNKNOWN_UNIT, Kernel
from peakline.workload.kernel_text import advice, table
from peakline.workload.placement import place
from peakline.workload.read import read_kernels as read
from peakline.workload.works import works

REAL_TRACE = DATA / "h200_trace.json.gz"
# (batch, heads, tokens, head size) of its attention.
ATTENTION = (4, 16, 2048, 128)


def trace(**arguments):
    inputs = {"Input Dims": [[256, 512], [512, 128]], "Input type": ["c10::BFloat16"] * 2}
    args = {"External id": 7, **inputs, "Concrete Inputs": ["", ""], **arguments}
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1.0, "dur": 5.0, "args": args}
    kernels = [
        {"ph": "X", "cat": "kernel", "name": name, "ts": start, "dur": duration}
        | {"args": {"External id": 7}}
        for name, start, duration in (("gemm_kernel", 10.0, 30.0), ("splitk_reduce", 500.0, 5.0))
    ]
    return json.dumps({"traceEvents": [operator, *kernels, {"ph": "M", "name": "x"}]})


def total(kernel):
    return kernel.bytes["hbm.read"] + kernel.bytes["hbm.write"]


def real_kernels():
    """The kernels by name; the first of equal names counts."""
    return {kernel.name: kernel for kernel in reversed(read(REAL_TRACE))}


def find(kernels, part):
    (kernel,) = [kernel for name, kernel in kernels.items() if part in name]
    return kernel


def test_every_kernel_of_a_trace_appears():
    with gzip.open(REAL_TRACE) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel"]
    kernels = read(REAL_TRACE)
    assert sum(k.launches for k in kernels) == len(events) == 53
    assert sum(k.seconds or 0 for k in kernels) == pytest.approx(
        sum(e["dur"] for e in events) / 1e6
    )
    for kernel in kernels:
        if any(part in kernel.name for part in ("nhwcSliceC",)):
            assert kernel.unknown == ("flops", "hbm")
    # Elementwise operators and normalizations have known bytes.
    assert {k.unknown for k in kernels if "SoftMax" in k.name} == {("flops",)}
    assert {k.unknown for k in kernels if "layer_norm" in k.name} == {("flops",)}


def test_work_of_a_real_trace():
    kernels = real_kernels()
    batch, heads, tokens, size = ATTENTION
    operand = batch * heads * tokens * size * 2
    products = 2 * batch * heads * tokens * tokens * size
    half = (tokens + 1) / (2 * tokens)

    efficient = find(kernels, "fmha_cutlassF")
    assert efficient.flops == {"tensor.bf16": 2 * products}
    assert efficient.bytes == {"hbm.read": 3 * operand, "hbm.write": operand}
    assert efficient.from_shapes
    cudnn = find(kernels, "sdpa_sm90_flash_fprop")
    assert cudnn.flops["tensor.bf16"] == 2 * products * half
    backward = find(kernels, "flash_bwd_dq_dk_dv")
    assert backward.flops["tensor.bf16"] == 5 * products * half
    assert total(backward) == 8 * operand
    flash = [k for k in read(REAL_TRACE) if "flash_fwd_kernel" in k.name]
    # One full and two causal, one of them with a quarter of the KV heads.
    assert sorted(k.flops["tensor.bf16"] for k in flash) == [2 * products, 4 * products * half]
    assert sorted(total(k) for k in flash) == [4 * operand, 6.5 * operand]

    scaled = find(kernels, "nvjet_sm90_qqtst_128x128_128x6_2x1")
    assert scaled.flops == {"tensor.fp8": 2 * 4096**3}
    assert scaled.bytes == {"hbm.read": 2 * 4096 * 4096, "hbm.write": 2 * 4096 * 4096}
    assert find(kernels, "simt_sgemm").flops == {"cuda_core.fp32": 2 * 2048**3}
    assert find(kernels, "sm90_xmma_gemm_f32f32_tf32f32").flops == {"tensor.tf32": 2 * 2048**3}
    integer = find(kernels, "i16832gemm_s8")
    assert integer.flops == {"tensor.int8": 2 * 2048**3}
    assert integer.bytes == {"hbm.read": 2 * 2048 * 2048, "hbm.write": 4 * 2048 * 2048}
    vector = find(kernels, "nvjet_sm90_tst_64x8")
    assert vector.flops == {"tensor.bf16": 2 * 8192 * 4096}
    assert total(vector) == 2 * (8192 * 4096 + 4096 + 2 * 8192)

    image, filters, result = 32 * 128 * 56 * 56, 256 * 128 * 9, 32 * 256 * 56 * 56
    convolution = 2 * result * 128 * 9
    forward = find(kernels, "sm90_xmma_fprop_implicit_gemm_bf16")
    assert forward.flops == {"tensor.bf16": convolution}
    assert forward.bytes == {"hbm.read": 2 * (image + filters), "hbm.write": 2 * result}
    assert find(kernels, "sm90_xmma_dgrad").flops == {"tensor.bf16": convolution}
    assert find(kernels, "sm80_xmma_fprop_implicit_gemm_tf32").flops == {
        "tensor.tf32": 2 * 8 * 64 * 56**2 * 64 * 9
    }
    # A convolution in four groups, one launch each; stride 2 leaves a quarter of the positions.
    grouped = find(kernels, "cutlass_tensorop_bf16_s16816fprop")
    assert grouped.launches == 4
    assert grouped.flops == {"tensor.bf16": 2 * 32 * 256 * 28 * 28 * 32 * 9}


def test_advice_covers_the_whole_trace(profile):
    placed = place(profile, read(REAL_TRACE), "0")
    known = [p for p in placed if p.as_written]
    assert placed[: len(known)] == known
    launches = [p for p in known if p.reason and p.reason.kind == "launch"]
    assert all(p.as_written and 0.15 < p.as_written.share < 1 for p in known if p not in launches)
    # Shapes give the work, not the busiest unit.
    assert not any(p.as_written.complete for p in known if p.as_written)
    text = " ".join(advice(profile, placed))
    assert "43.0 % of 5.41 ms" in text
    assert "nothing is known of 5.1 % of the time" in text
    assert "operands, each moved once." in text
    assert "(5.1 % of the time). Missing: FLOPs, bytes." in text
    assert "inside a CUDA graph only if it holds the capture" in text
    assert (
        "Compared with burst ceilings: the GPU was busy without a rest for 8.16 ms at most" in text
    )
    assert "achievable ceilings apply from 1.00 s on." in text
    page = tables.kernels(profile, placed, "kernels")
    assert any(p.shares and max(p.shares.values()) < 0.01 for p in placed)
    assert "<small>." not in page
    by_shapes = sum(p.kernel.from_shapes for p in placed)
    assert page.count("compulsory bytes by shapes") == by_shapes == len(known)
    assert page.count("not known: FLOPs, bytes") == 5
    # One kernel adds an array to itself; counted twice, its bytes would exceed the ceiling.
    (twice,) = (p for p in known if "operands" in p.missing)
    assert twice.as_written and twice.as_written.share == pytest.approx(0.934, abs=0.01)
    # A kernel shorter than a launch is launch-bound, even without counters.
    tiny = [p.kernel.name for p in placed if p.reason and p.reason.kind == "launch"]
    assert len(tiny) == 2 and "FillFunctor" in tiny[1]


def test_a_trace_without_shapes_names_the_option(profile):
    kernels = parse(trace(**{"Input Dims": None}))
    assert {k.unknown for k in kernels} == {("shapes",)}
    text = " ".join(advice(profile, place(profile, kernels)))
    assert "record it with torch.profiler.profile(record_shapes=True)" in text
    assert "Missing: the shapes of its operands." in text
    # PyTorch before 2.1 has no concrete inputs, which GEMMs do not need.
    older = json.loads(trace())
    del older["traceEvents"][0]["args"]["Concrete Inputs"]
    assert parse(json.dumps(older)) == parse(trace())


def load_of(seconds, rest=0.0):
    """A trace of consecutive 1 ms kernels, with a rest before the last."""
    document = json.loads(trace())
    operator = document["traceEvents"][0]
    count = round(seconds / 1e-3)
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "args": {"External id": 7, "device": 0}}
    operator["ts"] = 1e9
    starts = [1e9 + 1000 * i + (1e6 * rest if i == count - 1 else 0) for i in range(count)]
    events = [{**kernel, "ts": start, "dur": 1000.0} for start in starts]
    return json.dumps({"traceEvents": [operator, *events]})


@pytest.mark.parametrize(
    ("seconds", "rest", "load"),
    [(0.5, 0.0, "burst"), (3.0, 0.0, "sustained"), (3.0, 0.5, "sustained"), (1.2, 0.0, "burst")],
)
def test_load_length_chooses_the_ceilings(profile, seconds, rest, load):
    (kernel,) = parse(load_of(seconds, rest))
    # On average, half of the load precedes a kernel.
    assert kernel.load_s == pytest.approx(seconds / 2, rel=0.01)
    (placed,) = place(profile, [kernel], "0")
    assert placed.load == load
    peak = ceiling("tensor.bf16", load)
    # The kernels share one operator's work.
    share = 2 * 256 * 512 * 128 / peak / seconds
    assert placed.shares["tensor.bf16"] == pytest.approx(share)
    text = " ".join(advice(profile, [placed]))
    assert f"Compared with {basis_name(load)} ceilings" in text


def test_beaten_sustained_ceilings_mean_burst(profile):
    """An occasional GEMM in a long load of other kernels that leaves power to spare."""
    burst, sustained = (ceiling("tensor.bf16", basis) for basis in ("burst", "sustained"))
    assert burst > 1.1 * sustained
    work = {"bytes": {"hbm.read": 1e6, "hbm.write": 1e6}, "load_s": 60.0}
    fast = Kernel("fast", 1, 1e-3, {"tensor.bf16": 0.98e-3 * burst}, **work)
    slow = Kernel("slow", 1, 1e-3, {"tensor.bf16": 0.98e-3 * sustained}, **work)
    placed = {p.label: p for p in place(profile, [fast, slow], "0")}
    assert {name: p.load for name, p in placed.items()} == {"fast": "burst", "slow": "sustained"}
    for p in placed.values():
        assert p.impossible == ()
        assert p.as_written.share == pytest.approx(0.98)
    assert "Compared with achievable ceilings for slow:" in " ".join(
        advice(profile, list(placed.values()))
    )
    wrong = Kernel("wrong", 1, 1e-3, {"tensor.bf16": 1.06e-3 * burst}, **work)
    (p,) = place(profile, [wrong], "0")
    assert p.impossible == ("tensor.bf16",)


def test_ncu_and_tables_use_burst_ceilings(profile):
    (placed,) = place(profile, [Kernel("k", 1, 100.0, {"tensor.bf16": 1e15}, {"hbm": 1e9})])
    assert placed.load == "burst"


def test_gemms_of_several_kernels_count_once():
    kernels = parse(trace())
    assert [k.name for k in kernels] == ["gemm_kernel", "splitk_reduce"]
    product, reduction = kernels
    assert product.flops == {"tensor.bf16": 2 * 256 * 512 * 128}
    assert product.bytes == {"hbm.read": 2 * (256 * 512 + 512 * 128), "hbm.write": 2 * 256 * 128}
    assert product.seconds == pytest.approx(30e-6)
    assert product.from_shapes
    assert reduction.unknown == ("flops", "hbm")
    assert parse(trace(flops=1000))[0].flops == {"tensor.bf16": 1000}


def test_too_fast_float_gemm_claims_its_bytes(profile):
    """Some kernel names do not distinguish TF32 from FP32."""
    square = [[4096, 4096], [4096, 4096]]
    text = trace(**{"Input Dims": square, "Input type": ["float", "float"]})
    text = text.replace("gemm_kernel", "nvjet_sm90_sss_128x128").replace("30.0", "400.0")
    product, _ = sorted(place(profile, parse(text)), key=lambda p: p.label)
    # Possibly TF32, so it is not impossible, and its FLOPs are inconclusive.
    assert (product.missing, product.impossible) == (("precision",), ())
    assert not product.as_written.complete
    assert list(product.shares) == ["hbm.triad"]
    said = "\n".join(table(profile, [product], 200))
    assert "not known: the precision it computed in" in said


def test_counts_that_a_trace_states():
    event = {"ph": "X", "cat": "kernel", "name": "triton_poi", "ts": 1.0, "dur": 10.0}
    event["args"] = {"kernel_flop": 2e6, "kernel_num_gb": 0.5}
    (kernel,) = parse(json.dumps({"traceEvents": [event]}))
    assert kernel.flops == {UNKNOWN_UNIT: 2e6}
    assert kernel.bytes == {"hbm": 5e8}
    assert (kernel.unknown, kernel.from_shapes) == ((), False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"Input Dims": [["a", 2], {}]},
        {"Input Dims": [[10**400, 2], [2, 2]]},
        {"Input Dims": [[256, 512], [511, 128]]},
        {"Input Dims": [[256, 512]]},
        {"Input Dims": [[0, 512], [512, 128]]},
        {"Input Dims": None},
        {"Input type": ["c10::complex<float>", "c10::complex<float>"]},
        {"Input type": []},
    ],
)
def test_shapes_that_tell_nothing_give_no_verdict(profile, arguments):
    kernels = parse(trace(**arguments))
    lacking = ("flops", "hbm") if arguments.get("Input Dims", True) else ("shapes",)
    assert [k.unknown for k in kernels] == [lacking] * 2
    text = " ".join(advice(profile, place(profile, kernels)))
    assert "Nothing is known of gemm_kernel, splitk_reduce (100.0 % of the time)" in text


def test_operators_whose_work_is_not_clear():
    query = [4, 2048, 16, 128]
    arguments = {
        "Input Dims": [query, query, query, *([[]] * 12)],
        "Input type": ["c10::BFloat16"] * 3 + [""] * 12,
        "Concrete Inputs": ["", "", "", "", "", "2048", "2048", "0.", "True", *([""] * 6)],
    }

    def count(**changes):
        name = "aten::_flash_attention_forward"
        return len(works({"name": name, "args": {**arguments, **changes}}))

    assert count() == 1
    values = arguments["Concrete Inputs"]
    # Not counted: a window, another number of keys under a causal mask, packed sequences.
    assert count(**{"Concrete Inputs": [*values[:11], "512", *values[12:]]}) == 0
    longer = [4, 4096, 16, 128]
    assert count(**{"Input Dims": [query, longer, longer, *([[]] * 12)]}) == 0
    packed = [8192, 16, 128]
    assert count(**{"Input Dims": [packed, packed, packed, *([[]] * 12)]}) == 0
    assert works({"name": "aten::nonzero", "args": arguments}) == []


def test_repeated_elements_are_read_once():
    arguments = {"Input Dims": [[256, 512], [512, 128]], "Input type": ["float", "float"]}
    strides = {"Input Strides": [[512, 1], [0, 1]]}
    (work,) = works({"name": "aten::mm", "args": arguments | strides})
    assert (work.read, work.written) == (4 * (256 * 512 + 128), 4 * 256 * 128)


A, ROW, N = [1024, 512], [512], 1024 * 512
BF16, FP32 = "c10::BFloat16", "float"


@pytest.mark.parametrize(
    ("name", "shapes", "types", "read_", "written"),
    [
        ("add", [A, A, []], [BF16, BF16, "Scalar"], 4 * N, 2 * N),
        # What is repeated is read once; a wider operand makes the result as wide.
        ("mul", [A, ROW], [BF16, FP32], 2 * N + 4 * 512, 4 * N),
        ("add", [[1024, 1], ROW], [BF16, BF16], 2 * 1536, 2 * N),
        # This one overwrites its first operand.
        ("mul_", [A, ROW], [BF16, FP32], 2 * N + 4 * 512, 2 * N),
        ("copy_", [A, A, []], [BF16, FP32, ""], 4 * N, 2 * N),
        ("native_layer_norm", [A, [], ROW, ROW], [BF16, "", BF16, BF16], 2 * N + 4 * 512, 2 * N),
        # The array of `out=` stands among the arguments, and is not read.
        ("add", [A, A, [], A], [BF16, BF16, "Scalar", BF16], 4 * N, 2 * N),
        ("gelu", [A, [], A], [BF16, "", BF16], 2 * N, 2 * N),
        ("elu_backward", [A, [], [], [], [], A], [BF16, *[""] * 4, BF16], 4 * N, 2 * N),
        ("fill_", [A, []], [FP32, "Scalar"], 0, 4 * N),
        ("embedding", [[50_000, 512], [8, 128]], [BF16, "long int"], 8 * 1024, 2 * 1024 * 512),
    ],
)
def test_bytes_of_operators(name, shapes, types, read_, written):
    arguments = {"Input Dims": shapes, "Input type": types, "Concrete Inputs": [""] * len(shapes)}
    (work,) = works({"name": f"aten::{name}", "args": arguments})
    assert (work.flops, work.read, work.written) == (0, read_, written)


def test_empty_or_odd_operands_have_no_bytes():
    def found(name, shapes):
        arguments = {"Input Dims": shapes, "Input type": [BF16] * 2}
        parts = works({"name": f"aten::{name}", "args": arguments})
        return [(part.role, part.read, part.written) for part in parts]

    for name in ("copy_", "add", "sum", "_softmax"):
        assert found(name, [[0, 5], [0, 5]]) == []
    assert found("add", [[3, 4], [5]]) == found("add", [[], []]) == []
    assert found("native_layer_norm_backward", [A, A]) == [
        ("grad_input", 4 * N, 2 * N),
        ("GammaBeta", 4 * N, 0),
    ]


def test_work_of_an_attention_backward_of_cudnn():
    shape = [2, 8, 1024, 64]
    arguments = {
        "Input Dims": [*[shape] * 5, [2, 8, 1024, 1], *[[]] * 10],
        "Input type": [*["c10::BFloat16"] * 5, "float", *[""] * 10],
        "Concrete Inputs": [*[""] * 11, "1024", "1024", "0.", "True", ""],
    }
    work, before, after = works({"name": "aten::_cudnn_attention_backward", "args": arguments})
    # Five GEMMs of 1024 x 1024 x 64 for each of 16 heads, with the upper half masked.
    assert work.flops == 10 * 16 * 1024 * 64 * 1025 / 2
    elements = 2 * 8 * 1024 * 64
    assert (work.read, work.written) == (5 * 2 * elements, 3 * 2 * elements)
    assert (before.role, before.read, before.written) == ("dot_do_o", 2 * 2 * elements, 0)
    assert (after.role, after.read, after.written) == ("convert_dq", 4 * elements, 2 * elements)


def test_concatenation_takes_size_from_its_kernel():
    text = trace(**{"Input Dims": [[[4, 256], [8, 256]], []], "Input type": ["TensorList", ""]})
    kernel = "CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 2>"
    text = text.replace("aten::mm", "aten::cat")
    (cat, _) = parse(text.replace("gemm_kernel", kernel))
    assert cat.bytes == {"hbm.read": 2 * 12 * 256, "hbm.write": 2 * 12 * 256}
    # Without the element size nothing is known.
    (cat, _) = parse(text.replace("gemm_kernel", "CatArrayBatchedCopy<T>"))
    assert cat.unknown == ("flops", "hbm")


@pytest.mark.parametrize(
    ("functor", "blocks", "moved"),
    [
        # At least 284 full blocks: four lists are read and three written.
        ("FusedAdamMathFunctor<c10::BFloat16, 4, (ADAM_MODE)1, false>", 320, (4, 3, 284 * 2)),
        ("FusedAdamMathFunctor<float, 4, (ADAM_MODE)0, false>", 37, (4, 3, 4)),
        ("FusedAdamMathFunctor<float, 4, (ADAM_MODE)0, false>", 36, None),
        ("LpNormFunctor<float, 4>", 320, None),
    ],
)
def test_bytes_of_a_fused_optimizer_by_its_grid(functor, blocks, moved):
    name = f"multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, {functor}>"
    event = {"ph": "X", "cat": "kernel", "name": name, "ts": 1, "dur": 100}
    (kernel,) = parse(json.dumps([event | {"args": {"grid": [blocks, 1, 1]}}]))
    if moved is None:
        assert kernel.bytes == {}
    else:
        reads, writes, size = moved
        chunk = size * 65_536
        assert kernel.bytes == {"hbm.read": reads * chunk, "hbm.write": writes * chunk}
