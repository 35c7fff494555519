"""Bounds of kernels in recorded traces: their share of the time, and each formula's counts."""

import functools
import gzip
import json
import re

import pytest
from conftest import GPU, ONE_GPU, RECORDED, ceiling, document_of, loaded, reference
from made_rates import with_ceilings
from made_traces import Made
from peakline.workload.analysis import analyze
from peakline.workload.kernel import Kernel, short_name
from peakline.workload.kernel_text import described
from peakline.workload.part import KERNELS, Part
from peakline.workload.placement import CACHE, place
from peakline.workload.read import read_kernels
from peakline.workload.works import works

L2 = reference(ONE_GPU).gpu(GPU).l2_bytes or 0.0


@functools.cache
def recorded(name):
    return analyze(reference(ONE_GPU), [RECORDED / f"{name}.json.gz"])


@pytest.mark.parametrize("name", ["before", "after", "conv", "compiled", "graph", "decode"])
def test_the_bound_of_nearly_all_time_is_known(name):
    found = recorded(name)
    kernels = sum(found.share(part) for part in KERNELS)
    assert found.share(Part.KERNELS_UNKNOWN) < 0.05 * kernels
    # The card is of another model with the same architecture and slower memory.
    placed = found.kernels
    assert not [p.label for p in placed if p.impossible]


def test_replay_takes_operators_of_its_capture():
    found = recorded("graph")
    rank = found.ranks[0]
    products = {
        p.kernel.flops["tensor.bf16"] / p.kernel.launches
        for p in rank.bounds.kernels
        if "nvjet" in p.kernel.name
    }
    assert products == {2 * 8192 * 2048 * 4096}
    (norm,) = (p for p in rank.bounds.kernels if "layer_norm" in p.kernel.name)
    assert norm.kernel.bytes["hbm.write"] / norm.kernel.launches == 8192 * 2048 * 2
    assert not [f for f in found.findings if f.code == "graphs"]


def test_replays_without_their_capture_are_told(tmp_path):
    made = Made()
    made.product(1, 64, 64, 64)  # so that the trace has shapes
    graph = made.kernel(100, 200, 10, call="cudaGraphLaunch")
    made.kernel(200, 300, correlation=graph)
    found = analyze(reference(ONE_GPU), [made.write(tmp_path / "made.json")])
    (said,) = (f.text for f in found.findings if f.code == "graphs")
    assert said.startswith("Kernels of CUDA graphs, 100.0 % of the time, have no operators")


def test_launches_before_recording_are_a_part(tmp_path):
    made = Made()
    made.kernel(0, 100)
    made.kernel(100, 130)
    made.kernel(130, 200, 120)
    made.kernel(200, 260)  # its launch was lost
    found = analyze(reference(ONE_GPU), [made.write(tmp_path / "made.json")])
    assert found.parts[Part.BEFORE] == 130_000
    assert found.parts[Part.KERNELS_UNKNOWN] == 130_000


def operator(name, shapes, types, values):
    arguments = {"Input Dims": shapes, "Input type": types, "Concrete Inputs": values}
    return {"name": name, "args": arguments}


BF16 = "c10::BFloat16"


def test_work_of_grouped_products():
    rows = operator(
        "aten::_grouped_mm", [[8192, 2048], [8, 2048, 4096], [8], [], []],
        [BF16, BF16, "int", "", ""], [""] * 5,
    )  # fmt: skip
    (work,) = works(rows)
    assert (work.unit, work.flops) == ("tensor.bf16", 2 * 8192 * 2048 * 4096)
    # Matrices without rows are not read.
    assert (work.read, work.written) == (8192 * 2048 * 2, 8192 * 4096 * 2)
    inner = operator(
        "aten::_grouped_mm", [[2048, 8192], [8192, 4096], [8], [], []],
        [BF16, BF16, "int", "", ""], [""] * 5,
    )  # fmt: skip
    (work,) = works(inner)
    assert work.flops == 2 * 8192 * 2048 * 4096
    assert work.written == 8 * 2048 * 4096 * 2
    # The recording agrees: the kernel reaches most of an H100's peak.
    (kernel,) = (p.kernel for p in recorded("misc").kernels if "cutlass" in p.label)
    assert kernel.flops["tensor.bf16"] / (kernel.seconds or 1) == pytest.approx(7e14, rel=0.05)


def test_work_of_fp8_products():
    (kernel,) = (p.kernel for p in recorded("misc").kernels if "qqtst" in p.label)
    assert kernel.flops == {"tensor.fp8": 2 * 4096**3}
    assert kernel.bytes == {"hbm.read": 2 * 4096**2, "hbm.write": 2 * 4096**2}


E4M3, SCALE = "c10::Float8_e4m3fn", "float"


@pytest.mark.parametrize(
    ("of_left", "of_right", "type_", "scaled"),
    [
        # (M, K, N) = (512, 4096, 1024), of which 128 go into each of 4, 32 and 8 blocks.
        ([], [], SCALE, ""),
        ([1], [1], SCALE, ""),
        ([1, 1], [1, 1], SCALE, ""),
        ([512, 1], [1, 1024], SCALE, "tensor.fp8_row"),
        ([512, 32], [32, 8], SCALE, "tensor.fp8_block"),
        ([4, 32], [32, 1024], SCALE, "tensor.fp8_block"),
        ([512, 32], [32, 1024], SCALE, "tensor.fp8_block_both"),
        ([512, 32], [1, 1024], SCALE, ""),
        # Scales of the instruction: MXFP8.
        ([512 * 128], [1024 * 128], "c10::Float8_e8m0fnu", ""),
    ],
)
def test_scales_of_fp8_products(of_left, of_right, type_, scaled):
    shapes = [[512, 4096], [4096, 1024], of_left, of_right, [], [], [], []]
    types = [E4M3, E4M3, type_, type_, "", "", "Scalar", "Scalar"]
    values = ["", "", "", "", "", "", "15", "False"]
    (work,) = works(operator("aten::_scaled_mm", shapes, types, values))
    assert (work.unit, work.flops, work.scaled) == ("tensor.fp8", 2 * 512 * 4096 * 1024, scaled)


LEFT, RIGHT, RESULT = [512, 4096], [1024, 4096], [512, 1024]
LEFT_SCALES, RIGHT_SCALES = [512, 32], [8, 32]
# Operators of engines that call DeepGEMM.
OF_BLOCKS = [
    (
        "sglang::deep_gemm_fp8_fp8_bf16_nt",
        [LEFT, LEFT_SCALES, RIGHT, RIGHT_SCALES, RESULT],
        [E4M3, SCALE, E4M3, SCALE, BF16],
    ),
    (
        "vllm::w8a8_block_fp8_matmul_deepgemm",
        [LEFT, RIGHT, LEFT_SCALES, RIGHT_SCALES, [], []],
        [E4M3, E4M3, SCALE, SCALE, "ScalarList", "Scalar"],
    ),
]


@pytest.mark.parametrize(("name", "shapes", "types"), OF_BLOCKS)
def test_work_of_fp8_products_by_blocks(name, shapes, types):
    (work,) = works(operator(name, shapes, types, [""] * len(shapes)))
    assert (work.unit, work.flops) == ("tensor.fp8", 2 * 512 * 4096 * 1024)
    assert (work.read, work.written) == (4096 * (512 + 1024), 2 * 512 * 1024)
    assert (work.scaled, work.size) == ("tensor.fp8_block", " (512 x 1024 x 4096)")
    # Without shapes of both matrices nothing is known.
    assert works(operator(name, [LEFT, *shapes[1:2]], [*types[:1], SCALE], ["", ""])) == []


def test_scales_of_rows_in_groups():
    shapes = [[8192, 2048], [8, 2048, 4096], [8192], [8, 4096], [8], [], [], [], []]
    types = [E4M3, E4M3, SCALE, SCALE, "int", "", "", "", ""]
    (work,) = works(operator("aten::_scaled_grouped_mm", shapes, types, [""] * 9))
    assert (work.unit, work.scaled) == ("tensor.fp8", "tensor.fp8_row")


@pytest.mark.parametrize(
    ("name", "scaled"),
    [
        ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u>(int)", "tensor.fp8_block"),
        ("void deep_gemm::fp8_gemm_kernel<4096u, 7168u>(int)", "tensor.fp8_block"),
        ("void deep_gemm::sm90_fp8_gemm_1d1d_impl<0u, 4096u>(int)", "tensor.fp8_block_both"),
        ("void deep_gemm::sm90_bf16_gemm_impl<0u, 4096u>(int)", ""),
        ("nvjet_sm90_qqtst_256x128", ""),
    ],
)
def test_deep_gemm_is_known_by_name(tmp_path, name, scaled):
    """A trace states the FLOPs alone. As written, the kernel is held against GEMMs with its scales;
    its lower bound is that of the instruction."""
    rates = {"tensor.fp8_block": {"burst": 1e15}, "tensor.fp8_block_both": {"burst": 8e14}}
    made = Made()
    made.kernel(0, 1000, name=name, kernel_flop=5e11)  # in 1 ms
    found = analyze(with_ceilings(rates), [made.write(tmp_path / "made.json")])
    (p,) = found.ranks[0].bounds.kernels
    fp8 = 5e11 / ceiling("tensor.fp8", "burst") / 1e-3
    if not scaled:
        assert not any(share.startswith("tensor.fp8_") for share in p.shares)
        return
    rate = rates[scaled]["burst"]
    assert p.kernel.flops == {"tensor.fp8": 5e11}
    assert (p.as_written.units, p.as_written.share) == ((scaled,), pytest.approx(5e14 / rate))
    assert (p.rewritten.units, p.rewritten.share) == (("tensor.fp8",), pytest.approx(fp8))
    # A profile that was not measured with scales has the instruction alone.
    (p,) = analyze(reference(ONE_GPU), [tmp_path / "made.json"]).ranks[0].bounds.kernels
    assert (p.as_written.units, p.as_written.share) == (("tensor.fp8",), pytest.approx(fp8))


def test_scales_of_an_operator_limit_its_kernel(tmp_path):
    made = Made()
    types = [E4M3, E4M3, SCALE, SCALE, "", "", "Scalar", "Scalar"]
    shapes = [[8192, 8192], [8192, 8192], [8192, 64], [64, 64], [], [], [], []]
    made.operator("aten::_scaled_mm", 1, shapes, types, ["", "", "", "", "", "", "15", "False"])
    made.kernel(0, 1250, name="cutlass_gemm", **{"External id": 1})
    profile = with_ceilings({"tensor.fp8_block": {"burst": 1e15}})
    (p,) = analyze(profile, [made.write(tmp_path / "made.json")]).ranks[0].bounds.kernels
    flops = 2 * 8192**3
    assert p.as_written.units == ("tensor.fp8_block",)
    assert p.as_written.share == pytest.approx(flops / 1e15 / 1.25e-3)
    assert p.rewritten.units == ("tensor.fp8",)
    assert list(p.shares)[:2] == ["tensor.fp8_block", "tensor.fp8"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("triton_poi_fused_gelu_0", 3 * 2 * 1000), ("triton_poi_fused_embedding_0", None)],
)
def test_bytes_of_a_generated_kernel(name, expected):
    """An array with more elements than the kernel visits is read in part."""
    made = operator(
        name, [[1000], [1000], [5000], []], [BF16, BF16, BF16, "Scalar"], ["", "", "", "1000"]
    )
    assert [work.read for work in works(made)] == ([expected] if expected else [])


def test_norms_and_pooling_have_their_bytes():
    rows = {
        (re.sub(r"\W.*", "", p.label), key): round(size / p.kernel.launches)
        for p in recorded("conv").ranks[0].bounds.kernels
        for key, size in p.kernel.bytes.items()
    }
    image, pooled = 64 * 128 * 56 * 56, 64 * 128 * 28 * 28
    wanted = {
        "batch_norm_collect_statistics_channels_last_kernel": (2 * image, 0),
        "batch_norm_transform_input_channels_last_kernel": (2 * image, 2 * image),
        "batch_norm_backward_reduce_channels_last_kernel": (4 * image, 0),
        "batch_norm_backward_elemt_channels_last_kernel": (4 * image, 2 * image),
        "RowwiseMomentsCUDAKernel": (2 * image, 0),
        "ComputeInternalGradientsCUDAKernel": (4 * image, 0),
        "max_pool_forward_nchw": (2 * image, 10 * pooled),
        "max_pool_backward_nchw": (10 * pooled, 2 * image),
    }
    for name, (read, written) in wanted.items():
        assert (rows[name, "hbm.read"], rows[name, "hbm.write"]) == (read, written), name


def test_work_of_topk_and_roll():
    """Each pass of the search for the k-th largest reads the input, and so does the last one."""
    inputs = [[64, 65536], [], [], [], []]
    found = works(operator("aten::topk", inputs, [BF16, "Scalar", "", "", ""], ["", "64"]))
    read = 64 * 65536 * 2
    assert [(w.role, w.read) for w in found] == [
        ("computeBlockDigitCounts", read),
        ("gatherTopK", read),
    ]
    moved = {
        (p.kernel.bytes["hbm.read"] / p.kernel.launches, p.kernel.bytes["hbm.write"])
        for p in recorded("decode").ranks[0].bounds.kernels
        if "roll" in p.kernel.name
    }
    # Queries and keys of a batch of 8, in 2 steps of 8 layers.
    assert moved == {(8 * heads * 128 * 2, 16 * 8 * heads * 128 * 2) for heads in (32, 8)}


def test_only_small_kernels_run_from_cache():
    """A kernel that is twice as fast as memory allows."""
    profile = reference(ONE_GPU)

    def placed(read, written):
        seconds = (read + written) / 9e12
        moved = {"hbm.read": read, "hbm.write": written}
        (found,) = place(profile, [Kernel("k", 1, seconds, {}, moved, ("flops",), True)])
        return found

    small = placed(L2 / 2, L2 / 2)
    assert small.as_written.units == (CACHE,) and small.gain_s(small.as_written) == 0
    assert described(profile, small, small.as_written) == "at its bound, from cache"
    large = placed(4 * L2, 4 * L2)
    assert large.impossible and large.as_written is None
    # Two operands that are the same array are read once.
    twice = placed(8 * L2, L2)
    assert not twice.impossible and twice.missing == ("flops", "operands")
    counted = Kernel("k", 1, 1e-6, {}, {"hbm.read": L2 / 2, "hbm.write": 0.0})
    (found,) = place(profile, [counted])
    assert found.impossible  # counters are exact


def test_unknown_l2_size_rules_out_cache():
    document = document_of()
    for device in document["devices"]:
        device.pop("l2_bytes", None)
    small = Kernel("k", 1, 1e-6, {}, {"hbm.read": 1e7, "hbm.write": 1e7}, ("flops",), True)
    (found,) = place(loaded(document), [small])
    assert found.impossible


@functools.cache
def counted():
    return json.loads(gzip.decompress((RECORDED / "operators.json.gz").read_bytes()))


@pytest.mark.parametrize("operator", sorted(counted()["traces"]))
def test_no_formula_exceeds_what_ncu_counted(operator, tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(counted()["traces"][operator]))
    kernels = [e for e in counted()["traces"][operator]["traceEvents"] if e["cat"] == "kernel"]
    kernels.sort(key=lambda event: event["ts"])
    moved = {}
    for event, (read, written) in zip(kernels, counted()["ncu"][operator], strict=True):
        sums = moved.setdefault(short_name(event["name"]), [0.0, 0.0, 0.0])
        for index, value in enumerate((read, written, 1)):
            sums[index] += value
    # Caches are cold at a kernel's start; the L2 may leave output for the next one to write back.
    kept = 50 * 2**20 / 2
    seconds = known = 0.0
    bounds = {}
    for kernel in read_kernels(trace):
        seconds += kernel.seconds or 0.0
        known += (kernel.seconds or 0.0) * bool(kernel.bytes)
        sums = bounds.setdefault(kernel.name, [0.0, 0.0])
        for index, way in enumerate(("hbm.read", "hbm.write")):
            sums[index] += kernel.bytes.get(way, 0.0)
    for name, (read, written) in bounds.items():
        if read + written:
            ncu_read, ncu_written, launches = moved[name]
            assert read <= 1.01 * ncu_read + 1e6, name
            assert written <= 1.01 * ncu_written + kept * launches, name
    # The work of these operators depends on values or padding.
    most_unknown = {"conv7x7": 0.2, "embedding": 0.45, "sort": 0.12, "topk": 0.12}
    assert known >= (1 - most_unknown.get(operator, 0.05)) * seconds


def test_longer_unnamed_kernel_blocks_attribution(tmp_path):
    """A convolution's backward pass, where cuDNN's small kernels have names of arithmetic, too."""
    text = json.dumps(counted()["traces"]["conv1x1"])
    (renamed,) = set(re.findall(r"nvjet_sm90_tst_128x256\w+", text))
    trace = tmp_path / "trace.json"
    trace.write_text(text.replace(renamed, "scudnn_winograd"))
    kernels = {kernel.name: kernel for kernel in read_kernels(trace)}
    assert not kernels["scudnn_winograd"].bytes
    bounded = [name for name, kernel in kernels.items() if kernel.bytes]
    assert len(bounded) == 2 and not any("splitk" in n or "split_k" in n for n in bounded)
