"""Known, zero and unknown counters of ncu, and the resulting verdict on a kernel."""

import re

import pytest
from made_kernels import BASE_UNITS, FULL_EXPORT, ROWS, TENSOR, ncu, parse, row, table_of, text_of
from peakline.page import tables
from peakline.workload.counters import Counters
from peakline.workload.kernel import Kernel
from peakline.workload.kernel_text import advice, table
from peakline.workload.placement import place
from peakline.workload.read import read_kernels as read

EDGE = 2048  # of the GEMMs in the recorded export
HOPPER, AMPERE, ADA, BLACKWELL = 9.0, 8.0, 8.9, 10.0
PIPE = "sm__inst_executed_pipe_tensor.sum"
BUSY = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
HMMA = "sm__inst_executed_pipe_tensor_op_hmma.sum"
IMMA = "sm__inst_executed_pipe_tensor_op_imma.sum"
DMMA = "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_active"
GMMA = "sm__inst_executed_pipe_tensor_op_gmma.sum.pct_of_peak_sustained_active"
SOURCE = "sm__ops_path_tensor_src_"
OPS = ("add", "mul", "fma")
CORE = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"


def without(rows, unwanted):
    keep = [i for i, column in enumerate(rows[0]) if not unwanted(column)]
    assert len(keep) < len(rows[0])
    return [[row[i] for i in keep] for row in rows]


def by_label(placements):
    return {p.label: p for p in placements}


def test_a_full_export_of_an_h200_is_placed(profile):
    kernels = read(FULL_EXPORT)
    levels = {"hbm.read", "hbm.write", "l2.read", "l2.write"}
    assert all(not k.unknown and levels == set(k.bytes) for k in kernels)
    assert all(k.device == "NVIDIA H200" for k in kernels)
    counted = [{unit: n for unit, n in k.flops.items() if n and "tensor" in unit} for k in kernels]
    product = 2 * EDGE**3
    assert counted[5:11] == [
        *({"tensor.fp16": product}, {}, {"tensor.tf32": product}),
        *({"tensor.fp64": product}, {"tensor.fp8": product}, {"tensor.int8": product}),
    ]
    # cuBLAS also scales the results: exactly 2 FLOP for each.
    assert kernels[6].flops["cuda_core.fp32"] == pytest.approx(product, rel=1e-3)
    # Causal attention computes the tiles on the diagonal completely.
    pairs = 4 * 16 * EDGE * (EDGE + 1) / 2
    assert counted[11]["tensor.bf16"] == pytest.approx(4 * pairs * 128, rel=0.07)
    placed = {p.kernel.name: p.rewritten for p in place(profile, kernels, "0")}
    found = [placed[k.name] for k in kernels]
    assert [unit for answer in found for unit in answer.units] == [
        *("tensor.bf16", "hbm.copy", "hbm.copy", "hbm.triad", "hbm.copy", "tensor.fp16"),
        *("cuda_core.fp32", "tensor.tf32", "tensor.fp64", "tensor.fp8", "tensor.int8"),
        "tensor.bf16",
    ]
    assert all(answer.complete and 0.2 < answer.share < 1 for answer in found)


def test_missing_tensor_counters_limit_claims(profile):
    """Old versions of ncu count instructions of the tensor pipe, which not every kernel has."""
    rows = without(table_of(), lambda column: "__ops_path_tensor_" in column)
    whole = by_label(place(profile, read(FULL_EXPORT), "0"))
    placed = by_label(place(profile, parse(text_of(rows)), "0"))
    idle = {label for label, p in placed.items() if not p.missing}
    assert idle == {
        "vectorized_elementwise_kernel",
        "vectorized_gather_kernel",
        "cutlass_80_simt_sgemm_256x128_8x4_nn_align1",
    }
    product = next(p for label, p in placed.items() if label.startswith("nvjet_sm90_tst"))
    assert set(product.missing) == {f"tensor.{name}" for name in ("fp16", "bf16", "tf32", "fp8")}
    assert product.flops_per_s is None
    # As written, the pipes' shares suffice; rewritten, only the bytes are known.
    assert product.as_written.complete
    assert product.as_written.units == ("tensor hmma",)
    assert product.as_written.share == pytest.approx(0.934017, rel=1e-5)
    assert not product.rewritten.complete
    assert product.rewritten.units == ("hbm.read",)
    assert product.rewritten.share == pytest.approx(0.22, abs=0.02)
    for label in idle:
        assert placed[label].as_written == whole[label].as_written
    text = " ".join(advice(profile, list(placed.values())))
    metrics = text.partition("add --metrics ")[2].rstrip(".").split(",")
    assert metrics[0] == BUSY
    assert set(metrics[1:]) == set(TENSOR.values())


@pytest.mark.parametrize(
    ("kept", "names", "unknown"),
    [
        # HMMA alone says nothing about INT8 and FP64 GEMMs.
        (r"sm__inst_executed_pipe_tensor_op_hmma.*", ("i16832gemm_s8", "f64f64"), ("int8", "fp64")),
        # Three formats, and a busy pipe that may have run any of the others.
        (
            r"sm__ops_path_tensor_src_(bf16|fp16|tf32).*|sm__pipe_tensor_cycles_active.*",
            ("i16832gemm_s8", "f64f64", "qqtst"),
            ("fp8", "int8", "fp64"),
        ),
        # One format does not cover all work, even for a kernel of that format.
        (
            r"sm__ops_path_tensor_src_tf32.*|sm__inst_executed_pipe_tensor_op_[hg]mma.*",
            ("tf32f32", "nvjet_sm90_tst"),
            ("fp16", "bf16", "fp8", "int8", "fp64"),
        ),
    ],
    ids=["hmma", "three formats", "tf32"],
)
def test_partly_counted_gemm_is_partly_known(profile, kept, names, unknown):
    rows = without(table_of(), lambda name: "tensor" in name and not re.fullmatch(kept, name))
    placed = place(profile, parse(text_of(rows)), "0")
    for name in names:
        (found,) = [p for p in placed if name in p.kernel.name]
        assert set(found.missing) == {f"tensor.{name}" for name in unknown}
        # The counted part needs less than the whole, and is reported as a part.
        assert found.rewritten is None or not found.rewritten.complete
        assert found.as_written is not None
    text = " ".join(advice(profile, placed))
    assert all(TENSOR[name] in text for name in unknown)


def test_flops_must_explain_the_tensor_pipe(profile):
    """Counters of every format, all near 0, and a pipe that was busy throughout."""
    columns = {**BASE_UNITS, BUSY: "%"}

    def placed(busy, flops, moved):
        made = {**row("k", 1e-3, moved, tensor=flops), BUSY: busy}
        (found,) = place(profile, parse(ncu([made], columns)))
        return found

    found = placed("65.0", 1e6, 2e8)
    assert not found.rewritten.complete
    assert found.as_written.units == ("tensor",)
    assert found.as_written.share == pytest.approx(0.65)
    counted = placed("65.0", 5e11, 2e8).rewritten
    assert counted.units == ("tensor.bf16",)
    # FLOPs that take less time than the bytes are not the limit.
    moving = placed("2.4", 1e6, 2e9).rewritten
    assert moving.units == ("hbm",)


def test_gemm_without_flops_claims_its_bytes(profile):
    columns = {name: unit for name, unit in BASE_UNITS.items() if "tensor" not in name}
    placed = by_label(place(profile, parse(ncu(ROWS[:3], columns))))
    formats = ("tensor.fp16", "tensor.bf16", "tensor.tf32", "tensor.fp8")
    formats += ("tensor.int8", "tensor.fp64")
    assert [p.missing for p in placed.values()] == [formats, formats]
    gemm = placed["gemm"].as_written
    assert not gemm.complete and gemm.units == ("hbm",)
    text = "\n".join(table(profile, list(placed.values()), 200))
    assert "at least 2.1 % of HBM; at most 979 µs to gain; not known: tensor FLOPs" in text
    assert TENSOR["bf16"] in " ".join(advice(profile, list(placed.values())))


FLOATS = ("fp16", "bf16", "tf32", "fp8")
EVERY = (*FLOATS, "int8", "fp64")


def tensor(*names, **counted):
    """Counters of tensor FLOPs: 0 for `names`, values for `counted`."""
    return {**{TENSOR[n]: 0.0 for n in names}, **{TENSOR[n]: v for n, v in counted.items()}}


@pytest.mark.parametrize(
    ("metrics", "unknown"),
    [
        ({}, EVERY),
        # The whole pipe.
        ({PIPE: 0}, ()),
        ({PIPE: 5}, EVERY),
        ({PIPE: 0, GMMA: 3}, EVERY),
        ({PIPE: 0, HMMA: 3, IMMA: 0, DMMA: 0}, FLOATS),
        ({"sm__inst_executed_pipe_tensor_v2.avg.pct_of_peak_sustained_active": 0}, ()),
        ({BUSY: 0}, ()),
        ({BUSY: 65}, EVERY),
        # The pipe's parts.
        ({HMMA: 0}, ("int8", "fp64")),
        ({HMMA: 0, IMMA: 0}, ("fp64",)),
        ({HMMA: 0, IMMA: 0, DMMA: 0}, ()),
        ({HMMA: 0, IMMA: 0, DMMA: 0, GMMA: 0}, ()),
        ({HMMA: 0, IMMA: 0, DMMA: 0, GMMA: 3}, EVERY),
        ({HMMA: 0, IMMA: 9, DMMA: 0}, ("int8",)),
        ({"sm__inst_executed_pipe_tensor_subpipe_hmma.sum": 0}, ("int8", "fp64")),
        ({"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active": 0}, EVERY[4:]),
        # The formats: a count of one says nothing about the others.
        (tensor(bf16=7), ("fp16", "tf32", "fp8", "int8", "fp64")),
        (tensor("bf16", "fp16", "tf32"), ("fp8", "int8", "fp64")),
        ({**tensor("bf16", "fp16", "fp8", tf32=1000), PIPE: 9}, ("int8", "fp64")),
        ({**tensor("bf16", "fp16", "tf32", "fp8"), IMMA: 0, DMMA: 0}, ()),
        (tensor(*EVERY), ()),
        (tensor(*EVERY, int8=9), ()),
        # All are 0, yet something ran: packed half-precision arithmetic, which only HMMA counts.
        ({**tensor(*EVERY), HMMA: 3}, ()),
        ({**tensor(*EVERY), IMMA: 3}, ("",)),
        ({**tensor(*EVERY), GMMA: 3}, ("",)),
        ({**tensor(*EVERY), HMMA: 3, **{CORE.format(f"h{op}"): 0 for op in OPS}}, ("",)),
        ({**tensor(*EVERY), PIPE: 3, **{CORE.format(f"h{op}"): 5 for op in OPS}}, ()),
    ],
)
def test_what_is_known_of_tensor_work(metrics, unknown):
    found = [n for n in Counters(metrics, HOPPER).unknown if n.startswith("tensor")]
    assert found == [f"tensor.{name}".rstrip(".") for name in unknown]


ADA_ALONE = tensor("bf16", "tf32", "fp8", "int8") | {f"{SOURCE}fp16_dst_fp32.sum": 0}


@pytest.mark.parametrize(
    ("capability", "metrics", "unknown"),
    [
        (AMPERE, tensor("bf16", "fp16", "tf32", "int8", "fp64"), ()),
        (ADA, tensor("bf16", "fp16", "tf32", "fp8", "int8"), ()),
        (ADA, tensor("bf16", "fp16", "tf32", "int8"), ("fp8",)),
        (7.5, {f"{SOURCE}fp16_bf16_tf32_dst_fp32.sum": 0, TENSOR["int8"]: 0}, ()),
        (BLACKWELL, tensor(*EVERY), ("fp4",)),
        # Without a compute capability, any format may have run.
        (None, tensor(*EVERY), ("fp4",)),
        # tcgen05 GEMMs are not among these instructions.
        (BLACKWELL, {**tensor(*FLOATS), PIPE: 0}, ("fp4", "int8", "fp64")),
        (BLACKWELL, {BUSY: 0}, ()),
        (12.0, {PIPE: 0}, ()),
        # FLOPs with another accumulator format are unknown.
        (ADA, ADA_ALONE, ("fp16",)),
        (ADA, ADA_ALONE | {f"{SOURCE}fp16_dst_fp16.sum": 9}, ()),
    ],
)
def test_what_is_known_depends_on_the_device(capability, metrics, unknown):
    found = [n for n in Counters(metrics, capability).unknown if n.startswith("tensor")]
    assert found == [f"tensor.{name}" for name in unknown]


def test_tensor_counters_of_other_architectures():
    def flops(**metrics):
        return Counters({f"sm__ops_path_tensor_{name}.sum": v for name, v in metrics.items()}).flops

    # Blackwell has joint names for formats that share a path, and new ones for its instructions.
    assert flops(src_fp4_fp6_fp8_dst_fp32=8, src_fp4_fp6_fp8_dst_fp16=1) == {"tensor.fp8": 9}
    assert flops(op_utcomma_src_fp4_dst_fp32_sparsity_off=8) == {"tensor.fp4": 8}
    # Turing's Tensor Cores take FP16.
    assert flops(src_fp16_bf16_tf32_dst_fp32=8) == {"tensor.fp16": 8}
    # A level with an "n/a" part is unknown; the one below it may be known.
    assert flops(src_fp8_sparsity_off=None, src_fp8_sparsity_on=0) == {}
    assert flops(
        src_bf16_dst_fp32=None,
        op_hgmma_src_bf16_dst_fp32_sparsity_off=6,
        op_hmma_src_bf16_dst_fp32_sparsity_off=1,
    ) == {"tensor.bf16": 7}


@pytest.mark.parametrize(
    ("metrics", "unknown"),
    [
        ({}, {"fp16", "fp32", "fp64"}),
        ({"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active": 0}, {"fp16", "fp32"}),
        (dict.fromkeys([CORE.format(f"f{op}") for op in OPS], 0), {"fp16", "fp64"}),
        ({"sm__inst_executed_pipe_fp16.sum": 0, HMMA: 0}, {"fp32", "fp64"}),
        # Hopper runs packed half-precision arithmetic in the tensor pipe.
        ({"sm__inst_executed_pipe_fma_type_fp16.sum": 0, HMMA: 9}, {"fp16", "fp32", "fp64"}),
        ({"sm__inst_executed_pipe_fma_type_fp16.sum": 0}, {"fp16", "fp32", "fp64"}),
    ],
)
def test_what_is_known_of_the_cuda_cores(metrics, unknown):
    names = Counters(metrics, HOPPER).unknown
    found = {n.removeprefix("cuda_core.") for n in names if "cuda" in n}
    assert found == unknown


def test_uncounted_kernel_spoils_no_other(profile):
    bare = {**dict.fromkeys(ROWS[0], "n/a"), "Kernel Name": "bare"}
    timed = {**bare, "Kernel Name": "timed", "gpu__time_duration.sum": "1000000"}
    whole = place(profile, parse(ncu(ROWS, BASE_UNITS)))
    placed = place(profile, parse(ncu([bare, *ROWS, timed], BASE_UNITS)))
    assert placed[: len(whole)] == whole
    assert [p.label for p in placed[len(whole) :]] == ["timed", "bare"]
    assert placed[-1].missing[-2:] == ("hbm", "time")
    assert [p.as_written for p in placed[len(whole) :]] == [None, None]
    lines = table(profile, placed, 200)
    assert lines[-2].split()[:5] == ["5", "bare", "1", "–", "–"]
    assert lines[-1].strip().startswith("not known: tensor FLOPs, ")
    text = " ".join(advice(profile, placed))
    assert "nothing is known of 19.6 % of the time." in text
    assert "Nothing is known of timed, bare (19.6 % of the time)" in text
    page = tables.kernels(profile, placed, "kernels")
    assert page.count("<tr>") == 1 + len(placed)
    assert "not known: tensor FLOPs" in page


@pytest.mark.parametrize(
    ("column", "unit", "value"),
    [
        ("dram__bytes.sum.pct_of_peak_sustained_elapsed", "%", "12.5"),
        ("dram__bytes.avg.peak_sustained", "parsec", "what?"),
        ("gpu__time_duration_measured_user.sum", "fortnight", "-1"),
        ("dram__bytes_read.sum.pct_of_peak_sustained_elapsed", "%", "1e308"),
        ("launch__thread_count", "thread", "1,2,3"),
        (GMMA, "%", "-0.1"),  # shares of a pipe have any unit
    ],
)
def test_unneeded_columns_never_matter(column, unit, value):
    changed = ncu([{**row, column: value} for row in ROWS], {**BASE_UNITS, column: unit})
    assert parse(changed) == parse(ncu(ROWS, BASE_UNITS))


def test_a_plain_csv_may_leave_counts_open(profile):
    text = "name,flop,bytes,seconds,precision\na,,1e9,1e-3,\nb,1e9,,1e-3,bf16\nc,0,1e9,1e-3,\n"
    placed = by_label(place(profile, parse(text)))
    assert placed["a"].missing == ("flops",)
    assert placed["b"].missing == ("hbm",)
    assert placed["c"].missing == ()
    # The known counters of kernel a cap its gain.
    assert placed["a"].as_written == placed["c"].as_written


def test_kernels_without_work_have_no_roof(profile):
    (placed,) = place(profile, [Kernel("empty", 1, 1e-3, {}, {"hbm": 0.0})])
    assert placed.missing == ("work",)
    assert placed.as_written is None
    assert "Missing: any work that was counted." in " ".join(advice(profile, [placed]))


def test_sectors_are_bytes_of_the_second_level():
    sectors = {f"lts__t_sectors_srcunit_tex_op_{way}.sum": 10.0 for way in ("read", "write")}
    assert Counters(sectors).bytes == {"l2.read": 320.0, "l2.write": 320.0}
    # Totals include the L2's own fills and write-backs.
    assert Counters({"lts__t_bytes.sum": 300.0, "lts__t_sectors.sum": 10.0}).bytes == {}


@pytest.mark.parametrize(
    ("counted", "size"), [("bytes_", 1), ("bytes_op_", 1), ("sectors_", 32), ("sectors_op_", 32)]
)
def test_read_and_write_precede_their_sum(counted, size):
    read, written = (f"dram__{counted}{way}.sum" for way in ("read", "write"))
    both = {read: 3.0, written: 4.0, "dram__bytes.sum": 8.0}
    assert Counters(both).bytes == {"hbm.read": 3.0 * size, "hbm.write": 4.0 * size}
    alone = {read: 3.0, "dram__bytes.sum": 8.0}
    assert Counters(alone).bytes == {"hbm": 8.0}
    assert Counters({"dram__sectors.sum": 2.0}).bytes == {"hbm": 64.0}
    assert Counters({read: 3.0}).bytes == {}


def test_a_clock_of_zero_is_not_known(profile):
    rows = table_of()
    clocks = [i for i, name in enumerate(rows[0]) if "__cycles_elapsed.avg.per_second" in name]
    stopped = [["0" if i in clocks else x for i, x in enumerate(row)] for row in rows[2:]]
    kernels = parse(text_of([*rows[:2], *stopped]))
    assert {k.clock_hz for k in kernels} == {None}
    # Shares of peaks need no clock, FLOPs counted per cycle do.
    found = by_label(place(profile, kernels, "0"))["cunn_SoftMaxForwardReg"]
    assert found.as_written.units == ("issue",)
    assert "cuda_core.fp32" in found.missing
