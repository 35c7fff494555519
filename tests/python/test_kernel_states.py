"""Known, zero and not known: from the counters of ncu to the verdict on a kernel."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path

import peakline
import pytest
from conftest import ROOT
from peakline import units
from peakline.kernels import (
    Kernel,
    Placement,
    advice,
    marks,
    parse,
    place,
    read,
    table,
    total_seconds,
    unplaced,
)
from peakline.kernels.counters import Counters
from peakline.kernels.ncu import NCU_COMMAND
from peakline.page import tables
from test_kernels import BASE_UNITS, ROWS, TENSOR, ncu, row

DATA = Path(__file__).parent / "data"
EDGE = 2048  # of the products in the real export
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


@pytest.fixture
def reference() -> peakline.Profile:
    return peakline.load(ROOT / "reports/reference/nvidia-h200.json")


def real_rows() -> list[list[str]]:
    with gzip.open(DATA / "h200_ncu_full.csv.gz", "rt", encoding="utf-8") as file:
        return list(csv.reader(file))


def text_of(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


def without(rows: list[list[str]], unwanted: Callable[[str], bool]) -> list[list[str]]:
    keep = [i for i, column in enumerate(rows[0]) if not unwanted(column)]
    assert len(keep) < len(rows[0])
    return [[row[i] for i in keep] for row in rows]


def by_label(placements: list[Placement]) -> dict[str, Placement]:
    return {p.label: p for p in placements}


def test_a_full_export_of_an_h200_is_placed(profile: peakline.Profile) -> None:
    kernels = read(DATA / "h200_ncu_full.csv.gz")
    assert len(kernels) == 12
    assert all(not k.unknown and {"hbm", "l2"} == set(k.bytes) for k in kernels)
    counted = [{unit: n for unit, n in k.flops.items() if n and "tensor" in unit} for k in kernels]
    product = 2 * EDGE**3
    assert counted[5] == {"tensor.fp16": product}
    assert counted[6] == {}
    # cuBLAS scales the result too: 2 FLOP for each of the products' results, and no more.
    assert kernels[6].flops["cuda_core.fp32"] == pytest.approx(product, rel=1e-3)
    assert counted[7] == {"tensor.tf32": product}
    assert counted[8] == {"tensor.fp64": product}
    assert counted[9] == {"tensor.fp8": product}
    assert counted[10] == {"tensor.int8": product}
    # In causal attention tiles on the diagonal are computed whole.
    pairs = 4 * 16 * EDGE * (EDGE + 1) / 2
    assert counted[11]["tensor.bf16"] == pytest.approx(4 * pairs * 128, rel=0.07)
    placed = place(profile, kernels, "0")
    bound = {p.kernel.name: p.bound_by for p in placed}
    assert [bound[k.name] for k in kernels] == [
        "tensor.bf16",
        "hbm.read",
        "hbm.read",  # a layer norm, almost as near to the L2's bandwidth
        "hbm.read",
        "hbm.read",
        "tensor.fp16",
        "cuda_core.fp32",
        "tensor.tf32",
        "tensor.fp64",
        "tensor.fp8",
        "l2.read",  # INT8 by a kernel for Ampere with small tiles
        "tensor.bf16",
    ]
    assert all(p.share is not None and 0.2 < p.share < 1 for p in placed)


def test_a_full_export_without_tensor_counters_gives_products_no_verdict(
    profile: peakline.Profile,
) -> None:
    """ncu of old counts instructions of the tensor pipe, and of these not every kernel has any."""
    rows = without(real_rows(), lambda column: "__ops_path_tensor_" in column)
    placed = place(profile, parse(text_of(rows)), "0")
    idle = {p.label for p in placed if not p.unknown}
    assert idle == {
        "vectorized_elementwise_kernel",
        "vectorized_gather_kernel",
        "cutlass_80_simt_sgemm_256x128_8x4_nn_align1",
    }
    product = next(p for p in placed if p.label.startswith("nvjet_sm90_tst"))
    assert set(product.unknown) == {f"tensor.{name}" for name in ("fp16", "bf16", "tf32", "fp8")}
    assert (product.bound_by, product.share, product.gain_s, product.flops_per_s) == (None,) * 4
    assert product.shares["hbm.read"] == pytest.approx(0.22, abs=0.02)
    text = advice(profile, placed)
    sgemm = next(p for p in placed if p.label.startswith("cutlass_80_simt_sgemm"))
    assert sgemm.share == pytest.approx(0.758, abs=0.005)
    most = f"most to gain: it reaches {100 * sgemm.share:.1f} % of its roof, FP32 CUDA cores, and"
    assert most in text
    assert "No verdict on nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT, " in text
    assert "Missing: tensor FLOPs." in text
    metrics = text.partition("add --metrics ")[2].rstrip(".").split(",")
    assert metrics[0] == BUSY
    assert set(metrics[1:]) == set(TENSOR.values())


@pytest.mark.parametrize(
    ("kept", "names", "unknown"),
    [
        # HMMA alone tells nothing of the products in INT8 and FP64.
        (
            r"sm__inst_executed_pipe_tensor_op_hmma.*",
            ("i16832gemm_s8", "f64f64"),
            {"tensor.int8", "tensor.fp64"},
        ),
        # Three formats and how busy the pipe was: it may have run any of the others.
        (
            r"sm__ops_path_tensor_src_(bf16|fp16|tf32).*|sm__pipe_tensor_cycles_active.*",
            ("i16832gemm_s8", "f64f64", "qqtst"),
            {"tensor.fp8", "tensor.int8", "tensor.fp64"},
        ),
        # One format is not the work of all, even where it was the kernel's.
        (
            r"sm__ops_path_tensor_src_tf32.*|sm__inst_executed_pipe_tensor_op_[hg]mma.*",
            ("tf32f32", "nvjet_sm90_tst"),
            {f"tensor.{name}" for name in ("fp16", "bf16", "fp8", "int8", "fp64")},
        ),
    ],
    ids=["hmma", "three formats", "tf32"],
)
def test_a_real_product_counted_in_part_has_no_verdict(
    profile: peakline.Profile, kept: str, names: tuple[str, ...], unknown: set[str]
) -> None:
    rows = without(
        real_rows(), lambda column: "tensor" in column and not re.fullmatch(kept, column)
    )
    placed = place(profile, parse(text_of(rows)), "0")
    for name in names:
        (found,) = [p for p in placed if name in p.kernel.name]
        assert set(found.unknown) == unknown
        assert (found.bound_by, found.share, found.gain_s) == (None, None, None)
    text = advice(profile, placed)
    assert all(TENSOR[name.partition(".")[2]] in text for name in unknown)
    rest = unplaced(placed)
    assert rest is not None
    without_verdict = sum(p.kernel.seconds or 0 for p in placed if p.unknown)
    assert rest.time_share == pytest.approx(without_verdict / total_seconds(placed))
    assert f"({units.percent(rest.time_share)} of the time)" in text


def test_flops_must_account_for_how_busy_the_tensor_pipe_was(profile: peakline.Profile) -> None:
    """Counters of every format, next to nothing in them, and a pipe that was busy all along."""
    columns = {**BASE_UNITS, BUSY: "%"}

    def placed(busy: str, flops: float, moved: float) -> Placement:
        made = {**row("k", 1e-3, moved, tensor=flops), BUSY: busy}
        (found,) = place(profile, parse(ncu([made], columns)))
        return found

    found = placed("65.0", 1e6, 2e8)
    assert (found.unknown, found.bound_by, found.flops_per_s) == (("tensor",), None, None)
    assert marks([found]) == []
    text = advice(profile, [found])
    assert "Missing: what kept the tensor cores busy." in text
    assert placed("65.0", 5e11, 2e8).bound_by == "tensor.bf16"
    # What took less time than the bytes need does not bind.
    assert placed("2.4", 1e6, 2e9).bound_by == "hbm.read"


def test_a_product_whose_flops_were_not_counted_has_no_verdict(profile: peakline.Profile) -> None:
    columns = {name: unit for name, unit in BASE_UNITS.items() if "tensor" not in name}
    placed = place(profile, parse(ncu(ROWS[:3], columns)))
    formats = ("tensor.fp16", "tensor.bf16", "tensor.tf32", "tensor.fp8")
    formats += ("tensor.int8", "tensor.fp64")
    assert [p.unknown for p in placed] == [formats, formats]
    assert marks(placed) == []
    text = advice(profile, placed)
    assert text.startswith("No verdict on add, gemm (100.0 % of the time)")
    assert "gain" not in text and "HBM" not in text
    assert TENSOR["bf16"] in text


FLOATS = ("fp16", "bf16", "tf32", "fp8")
EVERY = (*FLOATS, "int8", "fp64")


def tensor(*names: str, **counted: float) -> dict[str, float]:
    """Counters of tensor FLOPs, at 0 but for those `counted`."""
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
        # Its parts.
        ({HMMA: 0}, ("int8", "fp64")),
        ({HMMA: 0, IMMA: 0}, ("fp64",)),
        ({HMMA: 0, IMMA: 0, DMMA: 0}, ()),
        ({HMMA: 0, IMMA: 0, DMMA: 0, GMMA: 0}, ()),
        ({HMMA: 0, IMMA: 0, DMMA: 0, GMMA: 3}, EVERY),
        ({HMMA: 0, IMMA: 9, DMMA: 0}, ("int8",)),
        ({"sm__inst_executed_pipe_tensor_subpipe_hmma.sum": 0}, ("int8", "fp64")),
        ({"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active": 0}, EVERY[4:]),
        # The formats: one that was counted says nothing of the others.
        (tensor(bf16=7), ("fp16", "tf32", "fp8", "int8", "fp64")),
        (tensor("bf16", "fp16", "tf32"), ("fp8", "int8", "fp64")),
        ({**tensor("bf16", "fp16", "fp8", tf32=1000), PIPE: 9}, ("int8", "fp64")),
        ({**tensor("bf16", "fp16", "tf32", "fp8"), IMMA: 0, DMMA: 0}, ()),
        (tensor(*EVERY), ()),
        (tensor(*EVERY, int8=9), ()),
        # All are 0, and yet something ran: packed half-precision arithmetic can only be HMMA's.
        ({**tensor(*EVERY), HMMA: 3}, ()),
        ({**tensor(*EVERY), IMMA: 3}, ("",)),
        ({**tensor(*EVERY), GMMA: 3}, ("",)),
        ({**tensor(*EVERY), HMMA: 3, **{CORE.format(f"h{op}"): 0 for op in OPS}}, ("",)),
        ({**tensor(*EVERY), PIPE: 3, **{CORE.format(f"h{op}"): 5 for op in OPS}}, ()),
    ],
)
def test_what_is_known_of_tensor_work(metrics: dict[str, float], unknown: tuple[str, ...]) -> None:
    found = [n for n in Counters(metrics, HOPPER).unknown if n.startswith("tensor")]
    assert found == [f"tensor.{name}".rstrip(".") for name in unknown]


@pytest.mark.parametrize(
    ("capability", "metrics", "unknown"),
    [
        (AMPERE, tensor("bf16", "fp16", "tf32", "int8", "fp64"), ()),
        (ADA, tensor("bf16", "fp16", "tf32", "fp8", "int8"), ()),
        (ADA, tensor("bf16", "fp16", "tf32", "int8"), ("fp8",)),
        (7.5, {f"{SOURCE}fp16_bf16_tf32_dst_fp32.sum": 0, TENSOR["int8"]: 0}, ()),
        (BLACKWELL, tensor(*EVERY), ("fp4",)),
        # Without the column, any format may have run.
        (None, tensor(*EVERY), ("fp4",)),
        # Products of tcgen05 are not among these instructions.
        (BLACKWELL, {**tensor(*FLOATS), PIPE: 0}, ("fp4", "int8", "fp64")),
        (BLACKWELL, {BUSY: 0}, ()),
        (12.0, {PIPE: 0}, ()),
        # FLOPs with another format of the sum are not known of these.
        (
            ADA,
            {**tensor("bf16", "tf32", "fp8", "int8"), f"{SOURCE}fp16_dst_fp32.sum": 0},
            ("fp16",),
        ),
        (
            ADA,
            {
                **tensor("bf16", "tf32", "fp8", "int8"),
                f"{SOURCE}fp16_dst_fp32.sum": 0,
                f"{SOURCE}fp16_dst_fp16.sum": 9,
            },
            (),
        ),
    ],
)
def test_what_is_known_depends_on_the_device(
    capability: float | None, metrics: dict[str, float], unknown: tuple[str, ...]
) -> None:
    found = [n for n in Counters(metrics, capability).unknown if n.startswith("tensor")]
    assert found == [f"tensor.{name}" for name in unknown]


def test_tensor_counters_of_other_architectures() -> None:
    def flops(**metrics: float | None) -> dict[str, float]:
        return Counters({f"sm__ops_path_tensor_{name}.sum": v for name, v in metrics.items()}).flops

    # Blackwell names formats that share a path together, and its instructions anew.
    assert flops(src_fp4_fp6_fp8_dst_fp32=8, src_fp4_fp6_fp8_dst_fp16=1) == {"tensor.fp8": 9}
    assert flops(op_utcomma_src_fp4_dst_fp32_sparsity_off=8) == {"tensor.fp4": 8}
    # Turing's tensor cores take FP16.
    assert flops(src_fp16_bf16_tf32_dst_fp32=8) == {"tensor.fp16": 8}
    # A level of which a part is "n/a" is not known; the next one below may be.
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
        # On Hopper, pairs of half-precision numbers go through the tensor pipe.
        ({"sm__inst_executed_pipe_fma_type_fp16.sum": 0, HMMA: 9}, {"fp16", "fp32", "fp64"}),
        ({"sm__inst_executed_pipe_fma_type_fp16.sum": 0}, {"fp16", "fp32", "fp64"}),
    ],
)
def test_what_is_known_of_the_cuda_cores(metrics: dict[str, float], unknown: set[str]) -> None:
    names = Counters(metrics, HOPPER).unknown
    found = {n.removeprefix("cuda_core.") for n in names if "cuda" in n}
    assert found == unknown


def test_a_kernel_without_counters_costs_itself_alone(profile: peakline.Profile) -> None:
    bare = {**dict.fromkeys(ROWS[0], "n/a"), "Kernel Name": "bare"}
    timed = {**bare, "Kernel Name": "timed", "gpu__time_duration.sum": "1000000"}
    whole = place(profile, parse(ncu(ROWS, BASE_UNITS)))
    placed = place(profile, parse(ncu([bare, *ROWS, timed], BASE_UNITS)))
    assert placed[: len(whole)] == whole
    assert [p.label for p in placed[len(whole) :]] == ["timed", "bare"]
    assert placed[-1].unknown[-2:] == ("hbm", "time")
    lines = table(profile, placed).splitlines()
    assert lines[-2].split()[:5] == ["5", "bare", "1", "–", "–"]
    # 4.1 ms of kernels, and 1 ms without counters.
    assert lines[-1].split() == ["unplaced:", "2", "kernels", "2", "1.00", "ms", "19.6", "%"]
    assert "No verdict on timed, bare (19.6 % of the time)" in advice(profile, placed)
    page = tables.kernels(profile, placed, "kernels")
    assert page.count("<tr>") == 1 + len(placed) + 1
    assert "unplaced: 2 kernels" in page and "unknown: tensor FLOPs" in page


def test_a_column_that_is_not_needed_never_matters() -> None:
    columns = {
        **BASE_UNITS,
        "dram__bytes.sum.pct_of_peak_sustained_elapsed": "%",
        "dram__bytes.avg.peak_sustained": "parsec",
        "gpu__time_duration_measured_user.sum": "fortnight",
        "dram__bytes_read.sum.pct_of_peak_sustained_elapsed": "%",
        "launch__thread_count": "thread",
    }
    noise = ["12.5", "what?", "-1", "1e308", "1,2,3"]
    extra = dict(zip(list(columns)[len(BASE_UNITS) :], noise, strict=True))
    rows = [{**row, **extra} for row in ROWS]
    assert parse(ncu(rows, columns)) == parse(ncu(ROWS, BASE_UNITS))


def test_shares_of_a_pipe_have_any_unit() -> None:
    columns = {**BASE_UNITS, GMMA: "%"}
    rows = [{**row, GMMA: "-0.1"} for row in ROWS]
    assert parse(ncu(rows, columns)) == parse(ncu(ROWS, BASE_UNITS))


def test_a_plain_csv_may_leave_counts_open(profile: peakline.Profile) -> None:
    text = "name,flop,bytes,seconds,precision\na,,1e9,1e-3,\nb,1e9,,1e-3,bf16\nc,0,1e9,1e-3,\n"
    placed = by_label(place(profile, parse(text)))
    assert placed["a"].unknown == ("flops",)
    assert placed["b"].unknown == ("hbm",)
    assert placed["c"].bound_by == "hbm.read"


def test_kernels_without_work_have_no_roof(profile: peakline.Profile) -> None:
    (placed,) = place(profile, [Kernel("empty", 1, 1e-6, {}, {"hbm": 0.0})])
    assert placed.unknown == ("work",)
    assert placed.bound_by is None
    assert "Missing: any work that was counted." in advice(profile, [placed])


def test_the_command_collects_everything() -> None:
    """The real export was made by it, and nothing was missing there."""
    assert NCU_COMMAND.startswith("ncu --set full ")
    assert "--csv --page raw" in NCU_COMMAND


def test_sectors_are_bytes_of_the_second_level() -> None:
    counters = Counters({"lts__t_sectors.sum": 10.0, "gpu__time_duration.sum": 1e-3})
    assert counters.bytes == {"l2": 320.0}
    assert Counters({"lts__t_sectors.sum": 10.0, "lts__t_bytes.sum": 300.0}).bytes["l2"] == 300.0


def test_a_clock_of_zero_is_not_known(profile: peakline.Profile) -> None:
    rows = real_rows()
    clock = rows[0].index("smsp__cycles_elapsed.avg.per_second")
    stopped = [[*row[:clock], "0", *row[clock + 1 :]] if row[0] else row for row in rows[1:]]
    found = by_label(place(profile, parse(text_of([rows[0], *stopped])), "0"))
    expected = by_label(place(profile, parse(text_of(rows)), "0"))
    assert {label: p.bound_by for label, p in found.items()} == {
        label: p.bound_by for label, p in expected.items()
    }
