"""Where kernels stand on the roofline, and what the table, the document and the page say of it."""

import dataclasses
import html
import json
import math

import pytest
from conftest import ceiling, loaded, only
from hypothesis import given
from hypothesis import strategies as st
from made_kernels import BASE_UNITS, PLAIN, REAL_EXPORT, ROWS, ncu, parse
from peakline.page import tables
from peakline.workload.kernel import UNKNOWN_UNIT, Kernel
from peakline.workload.kernel_names import shortened
from peakline.workload.kernel_text import advice, described, reached, table
from peakline.workload.placement import place
from peakline.workload.read import read_kernels as read


def placed_row(profile, row, head="name,flop,bytes,seconds,precision"):
    (placed,) = place(profile, parse(f"{head}\n{row}\n"))
    return placed


def test_places_and_order(profile):
    placed = place(profile, parse(PLAIN))
    found = {p.kernel.name: p for p in placed}
    gemm, add = found["gemm"], found["add, in place"]
    assert (gemm.as_written.units, gemm.as_written.complete) == (("tensor.bf16",), False)
    assert gemm.as_written.share == pytest.approx(5e11 / BF16 / 1e-3)
    assert gemm.gain_s(gemm.as_written) == pytest.approx(1e-3 - 5e11 / BF16)
    assert gemm.flops_per_s == pytest.approx(5e14)
    assert add.rewritten.units == ("hbm",)
    assert list(add.shares) == ["hbm", "cuda_core.fp32"]
    fp32 = ceiling("cuda_core.fp32", "burst")
    assert add.shares["cuda_core.fp32"] == pytest.approx(1e9 / fp32 / 1e-3)
    assert add.rewritten.share == pytest.approx(4e9 / WRITE / 1e-3)
    gains = [p.gain_s(p.as_written) for p in placed if p.as_written]
    assert gains == sorted(gains, reverse=True)
    assert len(gains) == 3
    assert reached(profile, add).startswith("HBM 84.9 %, FP32 CUDA cores 1.5 %")
    lines = table(profile, placed)
    (row,) = [i for i, line in enumerate(lines) if " gemm " in line]
    assert lines[row].split()[:2] == ["2", "gemm"]
    assert lines[row + 1].strip() == "at least 60.1 % of BF16 Tensor Cores; at most 399 µs to gain"
    for width in (40, 60, 80, 200):
        lengths = map(len, table(profile, placed, width))
        assert max(lengths) <= max(width, 54)


def test_row_figures_are_totals_over_launches(profile):
    head = "name,flop,bytes,seconds,precision,launches"
    once, often = (placed_row(profile, f"k,5e11,1e8,1e-3,bf16,{n}", head) for n in (1, 10))
    assert (often.as_written, often.flops_per_s) == (once.as_written, once.flops_per_s)


READ, WRITE = ceiling("hbm.read", "measured"), ceiling("hbm.write", "measured")
COPY, TRIAD = ceiling("hbm.copy", "measured"), ceiling("hbm.triad", "measured")
BF16 = ceiling("tensor.bf16", "burst")
LOWEST, HIGHEST = ceiling("cuda_core.fp64", "burst"), ceiling("tensor.fp8", "burst")
BALANCE = LOWEST / WRITE  # FLOP/byte at which the lowest ceiling takes as long as memory


@pytest.mark.parametrize(
    ("flop", "units", "missing"),
    [
        (0.0, ("hbm",), ()),
        (0.99 * BALANCE * 1e9, ("hbm",), ()),
        (1.01 * BALANCE * 1e9, ("hbm",), ("dtype",)),  # FP64 would be the limit
        (1e14, (UNKNOWN_UNIT,), ("dtype",)),  # any precision would be
    ],
)
def test_unknown_precision_claims_the_least(profile, flop, units, missing):
    placed = placed_row(profile, f"k,{flop},1e9,1", "name,flop,bytes,seconds")
    assert (placed.as_written.units, placed.missing) == (units, missing)
    assert placed.as_written.share == pytest.approx(max(1e9 / WRITE, flop / HIGHEST))
    text = " ".join(advice(profile, [placed]))
    assert ("Add a precision column to the CSV" in text) == bool(missing)


@pytest.mark.parametrize(
    ("precision", "unit"), [("", UNKNOWN_UNIT), ("bf16", "tensor.bf16"), ("int8", "tensor.int8")]
)
def test_flops_are_never_held_against_integers(profile, precision, unit):
    placed = placed_row(profile, f"k,1.1e12,2e8,1.6e-3,{precision}")
    assert placed.as_written.units == (unit,)
    assert ("tensor.int8" in placed.shares) == (precision == "int8")


def test_flops_need_a_floating_point_ceiling(profile):
    resources = ("tensor.int8", "hbm.read", "hbm.write")
    ceilings = tuple(c for c in profile.ceilings if c.resource in resources)
    integers = dataclasses.replace(profile, ceilings=ceilings)
    placed = placed_row(integers, "k,1,2e8,1.6e-3,")
    assert placed.missing == ("dtype",)
    assert list(placed.shares) == ["hbm"]


# Full names, and what is left of them in 40 characters.
ALIKE = {
    **{
        f"at::native::vectorized_elementwise_kernel<4, at::native::{functor}, "
        "std::array<char*, 3ul> >": f"vectorized_e…{short}"
        for functor, short in (
            ("CUDAFunctor_add<c10::BFloat16>", "CUDAFunctor_add<BFloat16>,…"),
            ("CUDAFunctor_add<float>", "CUDAFunctor_add<float>, ar…"),
            ("CUDAFunctor_mul<c10::BFloat16>", "CUDAFunctor_mul<BFloat16>,…"),
            ("CUDAFunctor_mul<float>", "CUDAFunctor_mul<float>, ar…"),
            ("FillFunctor<float>", "FillFunctor<float>, array<…"),
        )
    },
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT": "nvjet_sm90_tst_256x128_64x4_1x2_h_bz…NNT",
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT": "nvjet_sm90_tst_256x128_64x4_1x2_h_bz…TNT",
    **{name: name for name in ("one::gather<int>", "other::gather<int>", "softmax")},
}


def test_shortened_names_stay_different(profile):
    lines = "".join(f'"{name}",0,1e9,1\n' for name in ALIKE)
    placed = place(profile, parse(f"name,flop,bytes,seconds\n{lines}"))
    names = shortened((p.label for p in placed), 40)
    assert sorted(names.values()) == sorted(ALIKE.values())
    rows = table(profile, placed)
    page = tables.kernels(profile, placed, "kernels")
    for p in placed:
        assert len([row for row in rows if f" {names[p.label]} " in row]) == 1
        # The full name is in a line that opens, and in the copied table.
        whole, short = html.escape(p.kernel.name), html.escape(names[p.label])
        if whole != short:
            short = f"<details><summary>{short}</summary>{whole}</details>"
        assert page.count(f'<td data-raw="{whole}">{short}<small>') == 1


@given(st.lists(st.text("ab<:_", max_size=60), max_size=12), st.integers(13, 60))
def test_any_names_shorten_to_different_ones(names, width):
    found = shortened(names, width)
    assert set(found) == set(names)
    assert all(len(short) <= width for short in found.values())
    assert len(set(found.values())) == len(found)
    assert all(found[name] == name for name in names if len(name) <= width)


@pytest.mark.parametrize(
    ("read_share", "pattern", "rate"),
    [
        (1.0, "hbm.read", READ),
        (0.9, "hbm.read", READ),
        (2 / 3, "hbm.triad", TRIAD),
        (0.55, "hbm.copy", COPY),
        (0.5, "hbm.copy", COPY),
        (0.1, "hbm.write", WRITE),
        (0.0, "hbm.write", WRITE),
    ],
)
def test_traffic_is_compared_with_its_mix(profile, read_share, pattern, rate):
    moved = {"hbm.read": 1e9 * read_share, "hbm.write": 1e9 * (1 - read_share)}
    (placed,) = place(profile, [Kernel("k", 1, 1e-3, {}, moved)])
    assert (placed.rewritten.units, placed.rewritten.complete) == ((pattern,), True)
    assert placed.rewritten.share == pytest.approx(1e9 / rate / 1e-3)


def test_directions_of_the_l2_do_not_add(profile):
    moved = {"hbm.read": 0.0, "hbm.write": 0.0, "l2.read": 4e9, "l2.write": 2e9}
    (placed,) = place(profile, [Kernel("k", 1, 1e-3, {}, moved)])
    read_s = 4e9 / ceiling("l2.read", "measured")
    write_s = 2e9 / ceiling("l2.write", "measured")
    assert placed.as_written.share == pytest.approx(max(read_s, write_s) / 1e-3)
    assert placed.as_written.units == (("l2.read",) if read_s > write_s else ("l2.write",))
    # Another tiling needs less L2 traffic, so that it does not bound the rewritten kernel.
    assert placed.rewritten is None
    # A kernel that beats the measured rate is not bound by it as written, either.
    (faster,) = place(profile, [Kernel("k", 1, 1e-4, {}, moved)])
    assert faster.as_written is None and faster.impossible == ()


def test_formats_of_the_tensor_cores_add(profile):
    fp8 = ceiling("tensor.fp8", "burst")
    flops = {"tensor.bf16": 2e11, "tensor.fp8": 3e11, "cuda_core.fp32": 1e9}
    (placed,) = place(profile, [Kernel("k", 1, 1e-3, flops, {"hbm.read": 1e6, "hbm.write": 0.0})])
    assert placed.rewritten.units == ("tensor.bf16",)
    assert placed.rewritten.share == pytest.approx((2e11 / BF16 + 3e11 / fp8) / 1e-3)


def test_units_without_a_ceiling_are_named(profile):
    placed = placed_row(profile, "k,1e9,1e6,1e-3,fp4")
    assert placed.ignored == ("fp4",)
    # Only its bytes are known, and nothing more is claimed.
    assert placed.missing == ("ceiling",)
    assert not placed.rewritten.complete
    text = " ".join(advice(profile, [placed]))
    assert "FLOPs of fp4 are not judged: the profile has no ceiling for them" in text
    assert "not known: a ceiling for what it uses" in "".join(table(profile, [placed], 120))


def test_unmeasured_ceiling_is_theoretical(document):
    document["ceilings"] = [
        c
        for c in document["ceilings"]
        if c["resource"] != "tensor.fp64" or c["basis"] in ("theoretical", "datasheet")
    ]
    profile = loaded(only(document))
    placed = placed_row(profile, "k,1e10,1e6,1e-3,tensor.fp64")
    specified = ceiling("tensor.fp64", "theoretical")
    assert placed.as_written.share == pytest.approx(1e10 / specified / 1e-3)
    said = described(profile, placed, placed.as_written)
    assert said == "at least 14.9 % of FP64 Tensor Cores (theoretical)"


@pytest.mark.parametrize(
    ("flop", "moved", "impossible"),
    [
        (1.06 * BF16, 1e9, ("tensor.bf16",)),
        (1e9, 1.06 * WRITE, ("hbm",)),
        (1.04 * BF16, 1e9, ()),
        (1e9, 1.04 * WRITE, ()),
    ],
)
def test_more_than_a_ceiling_allows_is_impossible(profile, flop, moved, impossible):
    placed = placed_row(profile, f"k,{flop},{moved},1,bf16")
    text = " ".join(advice(profile, [placed]))
    assert placed.impossible == impossible
    if impossible:
        assert (placed.as_written, placed.rewritten) == (None, None)
        assert "k does more than a ceiling allows (" in text
        assert "more than a ceiling allows" in "".join(table(profile, [placed]))
    else:
        assert (placed.as_written.share, placed.gain_s(placed.as_written)) == (1, 0)
        assert "more than" not in text


def test_report_of_extreme_kernels(report, tmp_path, ceilings_path):
    kernels = tmp_path / "kernels.csv"
    kernels.write_text("name,flop,bytes,seconds\na,1e30,1e-30,1e-30\nb,1e-30,1e30,1e30\nc,0,0,1\n")
    report.stdout(ceilings_path, "-o", tmp_path / "out", "--kernels", kernels)


def test_report_with_kernels(report, tmp_path, ceilings_path):
    kernels = tmp_path / "kernels.csv"
    kernels.write_text(ncu(ROWS, BASE_UNITS))
    printed = report.stdout(ceilings_path, "--kernels", kernels, "-o", tmp_path / "out")
    assert "Start with add" in printed
    page = (tmp_path / "out/report.html").read_text()
    assert page.index('data-picture="kernels"') < page.index('data-picture="kernel-table"')
    assert 'data-picture="roofline"' not in page  # that is on the machine's own page
    assert "gemm&lt;float, 4&gt;" in page
    kernels.write_text("nothing")
    report.refused(ceilings_path, "--kernels", kernels, "-o", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_document_for_programs(report, tmp_path, ceilings_path):
    kernels = tmp_path / "kernels.csv"
    kernels.write_text(PLAIN)
    found = report.document(ceilings_path, "--kernels", kernels)
    assert (found["schema"], found["schema_version"]) == ("peakline-kernels", 1)
    assert found["device"]["name"] == "NVIDIA H200"
    assert found["as_written"]["time_s"] == pytest.approx(1.2e-2)
    assert found["as_written"]["gain_s"] == pytest.approx(
        sum(k["as_written"]["gain_s"] for k in found["kernels"])
    )
    gemm = next(k for k in found["kernels"] if k["name"] == "gemm")["as_written"]
    assert (gemm["units"], gemm["labels"]) == (["tensor.bf16"], ["BF16 Tensor Cores"])
    assert gemm["complete"] is False
    assert gemm["share"] == pytest.approx(5e11 / BF16 / 1e-3)
    assert [k["number"] for k in found["kernels"]] == [1, 2, 3]
    assert list(tmp_path.iterdir()) == [kernels]  # nothing was drawn


def test_impossible_kernels_fail_the_command(report, tmp_path, ceilings_path):
    kernels = tmp_path / "kernels.csv"
    kernels.write_text(PLAIN)
    asked = (ceilings_path, "--kernels", kernels, "--fail-on", "impossible")
    assert report(*asked, "--json")[0] == 0
    kernels.write_text(f"{PLAIN}wrong,1e12,1e6,1e-4,bf16,1\n")
    code, out, _ = report(*asked, "--json")
    wrong = json.loads(out)["kernels"][-1]
    assert (code, wrong["name"], wrong["impossible"]) == (1, "wrong", ["tensor.bf16"])
    assert "as_written" not in wrong
    assert report(*asked, "-o", tmp_path / "out")[0] == 1
    assert (tmp_path / "out/report.html").exists()


def test_kernels_of_another_model_are_told(profile):
    kernel = Kernel("k", 1, 1e-3, {}, {"hbm": 1e9}, device="NVIDIA A100-SXM4-80GB")
    (first, *_) = advice(profile, place(profile, [kernel]))
    assert first.startswith("This ran on NVIDIA A100-SXM4-80GB, but the profile is")
    same = dataclasses.replace(kernel, device="NVIDIA H200")
    assert "Warning" not in " ".join(advice(profile, place(profile, [same])))


def test_real_export(profile):
    placed = {p.label: p for p in place(profile, read(REAL_EXPORT))}
    matmul = placed["nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT"].kernel
    softmax = placed["cunn_SoftMaxForwardReg"].kernel
    add = placed["vectorized_elementwise_kernel"].kernel
    assert len(placed) == 5
    assert all(p.kernel.launches == 3 for p in placed.values())
    # Tiles of 320 x 128 reach beyond 8192 rows: 2 % of the operations are padding.
    assert matmul.flops["tensor.bf16"] == 3 * 2 * 8192 * 128 * math.ceil(8192 / 320) * 320 * 64
    # Tensors have 32768 x 4096 BF16; a part of the last one written stays in the L2.
    tensor = 32768 * 4096 * 2
    for kernel, passes in ((softmax, 2), (add, 3)):
        assert kernel.bytes["hbm"] == pytest.approx(3 * passes * tensor, rel=0.01)
    # PyTorch computes a + alpha b: one FP32 FMA per element.
    assert add.flops["cuda_core.fp32"] == 3 * 2 * 32768 * 4096
    # Few metrics give the least need, but not the busiest unit.
    for placement in placed.values():
        assert placement.missing == ()
        assert not placement.as_written.complete
        unit = "tensor.bf16" if placement.kernel is matmul else "hbm"
        assert placement.as_written.units == (unit,)
    least = placed["vectorized_elementwise_kernel"]
    assert least.as_written.share == pytest.approx(
        (809652992 + 809615104 + 787760896) / WRITE / (185184e-9 + 184256e-9 + 181536e-9)
    )
    assert described(profile, least, least.as_written) == "at least 92.8 % of HBM"
    assert any(text.startswith("The file tells no SM clock") for text in advice(profile, [least]))
