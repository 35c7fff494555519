"""Kernels from profilers: formats, units, missing counters, and their place on the roofline."""

import contextlib
import csv
import dataclasses
import html
import io
import json
import math
from pathlib import Path

import pytest
from conftest import ceiling, loaded, only
from hypothesis import given, settings
from hypothesis import strategies as st
from peakline.commands.report import main
from peakline.page import tables
from peakline.workload.kernel import UNKNOWN_UNIT, Kernel, WorkloadError
from peakline.workload.kernel_text import advice, described, reached, table
from peakline.workload.labels import shortened
from peakline.workload.numbers import RANGE, parse_number, unit_scale
from peakline.workload.placement import place
from peakline.workload.read import parse_kernels as parse
from peakline.workload.read import read_kernels as read

# reports/examples/kernels_workload.py, recorded on an H200 with NCU_COMMAND, 3 launches each.
REAL_EXPORT = Path(__file__).parent / "data/h200_ncu.csv"

COUNTERS = [
    f"{{prefix}}__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum"
    for letter in "dfh"
    for op in ("add", "mul", "fma")
]


def ncu(rows, metric_units, *, noise=True):
    """An export as `ncu --csv --page raw` writes it."""
    fixed = [
        "ID",
        "Process ID",
        "Process Name",
        "Host Name",
        "Kernel Name",
        "Context",
        "Stream",
        "Block Size",
        "Grid Size",
        "Device",
        "CC",
    ]
    metrics = list(metric_units)
    quoted = [
        fixed + metrics,
        [""] * len(fixed) + [metric_units[m] for m in metrics],
        *(
            [
                str(i),
                "4242",
                "python3",
                "127.0.0.1",
                row["Kernel Name"],
                "1",
                "7",
                "(256, 1, 1)",
                "(132, 1, 1)",
                "0",
                "9.0",
                *(row[m] for m in metrics),
            ]
            for i, row in enumerate(rows)
        ),
    ]
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in quoted]
    if noise:
        lines = [
            "==PROF== Connected to process 4242 (/usr/bin/python3)",
            "step 1: loss 2.3, took 3 s",
            '==PROF== Profiling "kernel": 0%....100% - 8 passes',
            *lines[:3],
            "==WARNING== something",
            *lines[3:],
            "==PROF== Disconnected from process 4242",
        ]
    return "\n".join(lines) + "\n"


def counters(prefix="smsp", **values):
    """FLOP counters, 0 unless given as ffma=..., dadd=..."""
    found = {name.format(prefix=prefix): "0" for name in COUNTERS}
    for short, value in values.items():
        found[f"{prefix}__sass_thread_inst_executed_op_{short}_pred_on.sum"] = f"{value:g}"
    return found


# Counters of all formats of Hopper's Tensor Cores.
TENSOR = {
    precision: f"sm__ops_path_tensor_src_{source}.sum"
    for precision, source in {
        "bf16": "bf16_dst_fp32",
        "fp16": "fp16",
        "tf32": "tf32_dst_fp32",
        "fp8": "fp8",
        "int8": "int8",
        "fp64": "fp64",
    }.items()
}

BASE_UNITS = {
    "gpu__time_duration.sum": "ns",
    "dram__bytes.sum": "byte",
    "lts__t_bytes.sum": "byte",
    **{name.format(prefix="smsp"): "inst" for name in COUNTERS},
    "sm__inst_executed_pipe_tensor.sum": "inst",
    **dict.fromkeys(TENSOR.values(), ""),
}


def row(name, seconds, moved, tensor=0, **values):
    return {
        "Kernel Name": name,
        "gpu__time_duration.sum": f"{seconds * 1e9:.0f}",
        "dram__bytes.sum": f"{moved:.0f}",
        "lts__t_bytes.sum": f"{moved * 2:.0f}",
        "sm__inst_executed_pipe_tensor.sum": f"{tensor / 8192:.0f}",
        **dict.fromkeys(TENSOR.values(), "0"),
        TENSOR["bf16"]: f"{tensor:.0f}",
        **counters(**values),
    }


ROWS = [
    row("void gemm<float, 4>(int, float*)", 1e-3, 1e8, tensor=5e11),
    row("void add(float*, float*)", 1e-3, 4e9, fadd=1e9),
    row("void add(float*, float*)", 2e-3, 4e9, fadd=1e9),
    row("softmax", 1e-4, 1e8, ffma=1e8, fadd=2e8, fmul=3e8, dadd=5, hfma=7),
]


def by_name(kernels):
    return {kernel.name: kernel for kernel in kernels}


def test_raw_export():
    found = by_name(parse(ncu(ROWS, BASE_UNITS)))
    assert set(found) == {"gemm<float, 4>", "add", "softmax"}
    assert found["add"].launches == 2
    assert found["add"].seconds == pytest.approx(3e-3)
    assert found["add"].bytes == {"hbm": 8e9}
    assert found["add"].flops["cuda_core.fp32"] == 2e9
    assert found["gemm<float, 4>"].flops["tensor.bf16"] == 5e11
    # An FMA is 2 FLOP.
    assert found["softmax"].flops["cuda_core.fp32"] == 2e8 + 3e8 + 2 * 1e8
    assert found["softmax"].flops["cuda_core.fp64"] == 5
    # Half-precision instructions process pairs.
    assert found["softmax"].flops["cuda_core.fp16"] == 28


def test_other_prefix_and_units_give_the_same():
    units = {name.replace("smsp__sass", "sm__sass"): unit for name, unit in BASE_UNITS.items()}
    units["gpu__time_duration.sum"] = "us"
    units["dram__bytes.sum"] = "Gbyte"
    rows = []
    for original in ROWS:
        changed = {
            name.replace("smsp__sass", "sm__sass"): value for name, value in original.items()
        }
        changed["gpu__time_duration.sum"] = (
            f"{float(original['gpu__time_duration.sum']) / 1e3:,.2f}"
        )
        changed["dram__bytes.sum"] = f"{float(original['dram__bytes.sum']) / 1e9:.6f}"
        changed["lts__t_bytes.sum"] = f"{float(original['lts__t_bytes.sum']):,.0f}"
        rows.append(changed)
    for found, expected in zip(parse(ncu(rows, units)), parse(ncu(ROWS, BASE_UNITS)), strict=True):
        assert found.name == expected.name
        assert found.seconds == pytest.approx(expected.seconds)
        assert found.flops == pytest.approx(expected.flops)
        assert found.bytes == pytest.approx(expected.bytes)


def test_both_prefixes_are_counted_once():
    both = {**ROWS[3], **counters("sm", ffma=1e8, fadd=2e8, fmul=3e8, dadd=5, hfma=7)}
    units = {**BASE_UNITS, **{name.format(prefix="sm"): "inst" for name in COUNTERS}}
    assert parse(ncu([both], units)) == parse(ncu([ROWS[3]], BASE_UNITS))


def test_derived_rates():
    # --set full gives FLOP per cycle, with FMA counted twice, and cycles per second.
    prefix = "smsp__sass_thread_inst_executed_op_"
    units = {
        "gpu__time_duration.sum": "usecond",
        "dram__bytes.sum.per_second": "Gbyte/second",
        "smsp__cycles_elapsed.avg.per_second": "cycle/nsecond",
        f"{prefix}fadd_pred_on.sum.per_cycle_elapsed": "inst/cycle",
        f"{prefix}fmul_pred_on.sum.per_cycle_elapsed": "inst/cycle",
        f"derived__{prefix}ffma_pred_on_x2": "inst/cycle",
        "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2": "inst/cycle",
    }
    values = ["1,000.0", "2,000.5", "1.5", "10", "20", "300", "33792"]
    launch = {"Kernel Name": "k", **dict(zip(units, values, strict=True))}
    (kernel,) = parse(ncu([launch], units))
    assert kernel.seconds == pytest.approx(1e-3)
    assert kernel.flops["cuda_core.fp32"] == pytest.approx(330 * 1.5e9 * 1e-3)
    assert kernel.bytes["hbm"] == pytest.approx(2000.5e9 * 1e-3)


def test_tensor_counters_are_a_tree():
    units = {
        "gpu__time_duration.sum": "ns",
        "dram__bytes.sum": "byte",
        "sm__ops_path_tensor_src_fp16.sum": "",
        "sm__ops_path_tensor_src_fp16_dst_fp16.sum": "",
        "sm__ops_path_tensor_src_fp16_dst_fp32.sum": "",
        "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum": "",
        "sm__ops_path_tensor_src_tf32_dst_fp32_sparsity_off.sum": "",
        "sm__ops_path_tensor_src_tf32_dst_fp32_sparsity_on.sum": "",
    }
    values = ["1000", "10", "30", "10", "20", "20", "4", "3"]
    launch = {"Kernel Name": "k", **dict(zip(units, values, strict=True))}
    (kernel,) = parse(ncu([launch], units))
    assert kernel.flops == {"tensor.fp16": 30, "tensor.tf32": 7}


def test_details_page():
    lines = [
        '"ID","Process ID","Kernel Name","CC","Section Name","Metric Name","Metric Unit",'
        '"Metric Value"'
    ]
    for original in ROWS[:1]:
        for metric, unit in BASE_UNITS.items():
            lines.append(
                f'"0","1","{original["Kernel Name"]}","9.0","Command line","{metric}","{unit}",'
                f'"{original[metric]}"'
            )
    assert parse("\n".join(lines)) == parse(ncu(ROWS[:1], BASE_UNITS))


def test_not_available_is_not_zero():
    missing = {**ROWS[0], TENSOR["bf16"]: "n/a"}
    (kernel,) = parse(ncu([missing], BASE_UNITS))
    assert "tensor.bf16" not in kernel.flops
    assert kernel.unknown == ("tensor.bf16",)
    # Launches with and without the counter are separate kernels.
    kernels = parse(ncu([missing, ROWS[0], ROWS[0]], BASE_UNITS))
    assert [(k.launches, k.unknown) for k in kernels] == [(1, ("tensor.bf16",)), (2, ())]
    partial = {**ROWS[3], COUNTERS[5].format(prefix="smsp"): "n/a"}
    (kernel,) = parse(ncu([partial], BASE_UNITS))
    assert "cuda_core.fp32" not in kernel.flops
    assert kernel.unknown == ("cuda_core.fp32",)


def without_units(export):
    """An export without its row of units, as after editing in a spreadsheet."""
    return "".join(line for line in export.splitlines(True) if not line.startswith('"",""'))


# The head of the details page of --set full, with ncu's shortened rows.
DETAILS = """\
"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule"
"0","662","k","GPU Speed Of Light Throughput","DRAM Frequency","Ghz","3.20",
"0","662","k","GPU Speed Of Light Throughput","Duration","ms","1.38"
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file: collect kernels with ncu"),
        (" \n\n", "an empty file"),
        ("ID;Kernel Name;dram__bytes.sum\n0;k;1\n", "between semicolons instead of commas"),
        ("ID\tKernel Name\tdram__bytes.sum\n0\tk\t1\n", "between tabs instead of commas"),
        (
            "name;flop;bytes;seconds\nk;1;1;1\n",
            "between semicolons instead of commas, as a spreadsheet saves them: write commas",
        ),
        (
            "ID;Kernel Name;dram__bytes.sum\n0;k;1,234\n",
            "as a spreadsheet saves them: export anew with ncu --import",
        ),
        (
            "==PROF== Connected to process 1\n==PROF== Disconnected\n",
            "ncu's messages, but no profiled kernel: collect with ncu",
        ),
        (
            "==PROF== Connected to process 1\nloss 2, 3 s\n==WARNING== No kernels were profiled.\n",
            "ncu's messages, but no profiled kernel: collect with ncu",
        ),
        (
            without_units(ncu(ROWS, BASE_UNITS)),
            "kernel 0: gpu__time_duration.sum has no unit: the row of units below the column names "
            "is missing: export with ncu --import REPORT.ncu-rep --csv --page raw > kernels.csv",
        ),
        (ncu(ROWS, {**BASE_UNITS, "gpu__time_duration.sum": ""}), "duration.sum has no unit"),
        (DETAILS, "ncu's details page, which lacks the counters: export the raw one"),
        ("[662] python3.12@127.0.0.1\n  k (1, 1, 1)\n    Section: Speed\n", "what ncu prints"),
        ("a,b\n1,2\n", "lacks the columns name, flop, bytes, seconds"),
        ("==ERROR== ERR_NVGPUCTRPERM - no permission\n", "NVreg_RestrictProfilingToAdminUsers"),
        (ncu([], BASE_UNITS), "without a kernel"),
        (ncu([{**ROWS[0], "gpu__time_duration.sum": "n/a"}], BASE_UNITS), "its duration"),
        (
            ncu([{**ROWS[0], "dram__bytes.sum": "many"}], BASE_UNITS),
            f"kernel 0: dram__bytes.sum is 'many', but must be {RANGE}",
        ),
        (
            ncu([{**ROWS[0], "dram__bytes.sum": "1e308"}], BASE_UNITS),
            f"kernel 0: dram__bytes.sum is '1e308', but must be {RANGE}",
        ),
        (
            ncu([{**ROWS[0], "gpu__time_duration.sum": "1e-25"}], BASE_UNITS),
            f"kernel 'gemm<float, 4>': out of range: expected {RANGE}",
        ),
        (ncu([{**ROWS[0], "dram__bytes.sum": "-1"}], BASE_UNITS), "cannot be negative"),
        (ncu(ROWS, {**BASE_UNITS, "dram__bytes.sum": "furlong"}), "unknown unit 'furlong'"),
        (ncu(ROWS[:1], BASE_UNITS, noise=False)[:-40], "truncated"),
        ("name,flop,bytes,seconds\n", "no kernels"),
        ("name,flop,bytes,seconds\nk,1,x,1\n", "line 2: bytes is 'x'"),
        ("name,flop,bytes,seconds\nk,1,1,0\n", "line 2: seconds must be above 0"),
        ("name,flop,bytes,seconds\nk,-1,1,1\n", "line 2: flop must not be negative"),
        ("name,flop,bytes,seconds,precision\nk,1,1,1,fp7\n", "line 2: unknown precision"),
        (
            "name,flop,bytes,seconds\nk,1,1,1\nk,1e308,1,1\n",
            f"line 3: flop is '1e308', but must be {RANGE}",
        ),
        ("name,flop,bytes,seconds\nk,1,1,1e-200\n", "line 2: seconds is '1e-200'"),
        ("name,flop,bytes,seconds\nk,1e30,1,1\nk,1e30,1,1\n", "kernel 'k': out of range"),
        ("name,flop,bytes,seconds\n" + 200_000 * "k", "not a CSV of kernels: field larger"),
    ],
    ids=range(31),
)
def test_what_cannot_be_used_is_said(text, message):
    with pytest.raises(WorkloadError) as caught:
        parse(text, "kernels.csv")
    assert str(caught.value).startswith("kernels.csv: ")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_kernels_or_one_error(text):
    for content in (
        text,
        "name,flop,bytes,seconds\n" + text,
        '"ID","Kernel Name","dram__bytes.sum"\n' + text,
    ):
        with contextlib.suppress(WorkloadError):
            assert parse(content)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(ncu(ROWS, BASE_UNITS))))
def test_any_truncated_export_gives_kernels_or_one_error(length):
    try:
        for kernel in parse(ncu(ROWS, BASE_UNITS)[:length]):
            assert kernel.seconds > 0
    except WorkloadError:
        pass


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1234", 1234.0),
        ("1,234", 1234.0),
        ("1,234,567.5", 1234567.5),
        ("1.234.567,5", 1234567.5),
        ("1.234.567", 1234567.0),
        ("1,5", 1.5),
        ("0.125", 0.125),
        ("1.234", 1.234),
        ("1 234 567", 1234567.0),
        ("12'345'678", 12345678.0),
        ("7 (3; 4)", 7.0),
        ("2.5e+09", 2.5e9),
        ("n/a", None),
        ("(!) n/a", None),
        ("nan", None),
        ("", None),
    ],
)
def test_numbers(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    ("unit", "scale"),
    [
        ("", 1),
        ("ns", 1e-9),
        ("nsecond", 1e-9),
        ("us", 1e-6),
        ("msecond", 1e-3),
        ("second", 1),
        ("s", 1),
        ("byte", 1),
        ("Kbyte", 1e3),
        ("Gbyte", 1e9),
        ("MB", 1e6),
        ("Gbyte/second", 1e9),
        ("Gbyte/s", 1e9),
        ("cycle/nsecond", 1e9),
        ("cycle/usecond", 1e6),
        ("Ghz", 1e9),
        ("inst", 1),
        ("Kinst", 1e3),
        ("inst/cycle", 1),
    ],
)
def test_units(unit, scale):
    assert unit_scale(unit) == pytest.approx(scale)


PLAIN = """name,flop,bytes,seconds,precision,launches
gemm,5e11,1e8,1e-3,bf16,1
"add, in place",1e9,4e9,1e-3,fp32,10
mystery,1e12,1e6,1e-2,,
"""


def test_plain_csv():
    found = by_name(parse(PLAIN))
    assert found["gemm"].flops == {"bf16": 5e11}
    assert found["add, in place"].launches == 10
    assert found["mystery"].flops == {UNKNOWN_UNIT: 1e12}


@pytest.mark.parametrize("launches", ["0", "2.5", "-4", "abc"])
def test_launches_of_a_plain_csv_are_counted(launches):
    with pytest.raises(WorkloadError, match="line 2: launches "):
        parse(f"name,flop,bytes,seconds,precision,launches\na,1,1,1,bf16,{launches}\n")


def test_a_row_of_a_plain_csv_has_no_more_fields_than_the_header():
    with pytest.raises(WorkloadError, match="line 3: has 5 fields, but the header has 4"):
        parse("name,flop,bytes,seconds\na,1,1,1\nb,1,1,1,bf16\n")


def test_places_and_order(profile):
    placed = place(profile, parse(PLAIN))
    found = {p.kernel.name: p for p in placed}
    gemm = found["gemm"]
    burst = ceiling("tensor.bf16", "burst")
    assert gemm.as_written == dataclasses.replace(
        gemm.as_written, units=("tensor.bf16",), complete=False
    )
    assert gemm.as_written.share == pytest.approx(5e11 / burst / 1e-3)
    assert gemm.as_written.gain_s == pytest.approx(1e-3 - 5e11 / burst)
    assert gemm.flops_per_s == pytest.approx(5e14)
    add = found["add, in place"]
    assert add.rewritten.units == ("hbm",)
    assert list(add.shares) == ["hbm", "cuda_core.fp32"]
    fp32 = ceiling("cuda_core.fp32", "burst")
    assert add.shares["cuda_core.fp32"] == pytest.approx(1e9 / fp32 / 1e-3)
    assert add.rewritten.share == pytest.approx(4e9 / WRITE / 1e-3)
    gains = [p.as_written.gain_s for p in placed if p.as_written]
    assert gains == sorted(gains, reverse=True)
    assert len(gains) == 3
    assert reached(profile, add).startswith("HBM 84.9 %, FP32 CUDA cores 1.5 %")
    lines = table(profile, placed).splitlines()
    (row,) = [i for i, line in enumerate(lines) if " gemm " in line]
    assert lines[row].split()[:2] == ["2", "gemm"]
    assert lines[row + 1].strip() == "at least 60.1 % of BF16 Tensor Cores; at most 399 µs to gain"
    for width in (40, 60, 80, 200):
        assert all(
            len(line) <= max(width, 54) for line in table(profile, placed, width).split("\n")
        )


def test_figures_of_a_row_are_totals_over_its_launches(profile):
    row = "k,5e11,1e8,1e-3,bf16"
    once, often = (
        place(profile, parse(f"name,flop,bytes,seconds,precision,launches\n{row},{n}\n"))[0]
        for n in (1, 10)
    )
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
def test_without_a_precision_only_what_any_would_need_is_claimed(profile, flop, units, missing):
    (placed,) = place(profile, parse(f"name,flop,bytes,seconds\nk,{flop},1e9,1\n"))
    text = " ".join(advice(profile, [placed]))
    assert (placed.as_written is not None and placed.as_written.units) == units
    assert placed.missing == missing
    assert placed.as_written.share == pytest.approx(max(1e9 / WRITE, flop / HIGHEST))
    assert ("Add a precision column to the CSV" in text) == bool(missing)


def test_flops_are_never_held_against_integers(profile):
    text = "name,flop,bytes,seconds,precision\nk,1.1e12,2e8,1.6e-3,{}\n"
    for precision, unit in (("", UNKNOWN_UNIT), ("bf16", "tensor.bf16"), ("int8", "tensor.int8")):
        (placed,) = place(profile, parse(text.format(precision)))
        assert placed.as_written.units == (unit,)
        assert ("tensor.int8" in placed.shares) == (precision == "int8")
    # Likewise if the device has no other ceiling.
    integers = dataclasses.replace(
        profile,
        ceilings=tuple(
            c for c in profile.ceilings if c.resource in ("tensor.int8", "hbm.read", "hbm.write")
        ),
    )
    (placed,) = place(integers, parse("name,flop,bytes,seconds\nk,1,2e8,1.6e-3\n"))
    assert placed.missing == ("dtype",)
    assert list(placed.shares) == ["hbm"]


ELEMENTWISE = (
    "at::native::vectorized_elementwise_kernel<4, at::native::{}, std::array<char*, 3ul> >"
)
ALIKE = [
    ELEMENTWISE.format("CUDAFunctor_add<c10::BFloat16>"),
    ELEMENTWISE.format("CUDAFunctor_add<float>"),
    ELEMENTWISE.format("CUDAFunctor_mul<c10::BFloat16>"),
    ELEMENTWISE.format("CUDAFunctor_mul<float>"),
    ELEMENTWISE.format("FillFunctor<float>"),
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT",
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT",
    "one::gather<int>",
    "other::gather<int>",
    "softmax",
]


def test_names_stay_different_where_they_are_shortened(profile):
    lines = "".join(f'"{name}",0,1e9,1\n' for name in ALIKE)
    placed = place(profile, parse(f"name,flop,bytes,seconds\n{lines}"))
    names = shortened((p.label for p in placed), 40)
    assert sorted(names[p.label] for p in placed) == [
        "nvjet_sm90_tst_256x128_64x4_1x2_h_bz…NNT",
        "nvjet_sm90_tst_256x128_64x4_1x2_h_bz…TNT",
        "one::gather<int>",
        "other::gather<int>",
        "softmax",
        "vectorized_e…CUDAFunctor_add<BFloat16>,…",
        "vectorized_e…CUDAFunctor_add<float>, ar…",
        "vectorized_e…CUDAFunctor_mul<BFloat16>,…",
        "vectorized_e…CUDAFunctor_mul<float>, ar…",
        "vectorized_e…FillFunctor<float>, array<…",
    ]
    rows = table(profile, placed).splitlines()
    page = tables.kernels(profile, placed, "kernels")
    for p in placed:
        assert len([row for row in rows if f" {names[p.label]} " in row]) == 1
        # The full name is in a line that opens, and in the copied table.
        whole, short = html.escape(p.kernel.name), html.escape(names[p.label])
        if whole != short:
            short = f"<details><summary>{short}</summary>{whole}</details>"
        assert page.count(f'<td data-raw="{whole}">{short}<small>') == 1


@given(st.lists(st.text("ab<:_", max_size=60), max_size=12), st.integers(13, 60))
def test_any_names_are_shortened_to_different_ones(names, width):
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
def test_traffic_is_held_against_the_pattern_of_its_mix(profile, read_share, pattern, rate):
    moved = {"hbm.read": 1e9 * read_share, "hbm.write": 1e9 * (1 - read_share)}
    (placed,) = place(profile, [Kernel("k", 1, 1e-3, {}, moved)])
    assert placed.rewritten.units == (pattern,)
    assert placed.rewritten.share == pytest.approx(1e9 / rate / 1e-3)
    assert placed.rewritten.complete


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
    (placed,) = place(profile, parse("name,flop,bytes,seconds,precision\nk,1e9,1e6,1e-3,fp4\n"))
    assert placed.ignored == ("fp4",)
    # Only its bytes are known, and nothing more is claimed.
    assert placed.missing == ("ceiling",)
    assert not placed.rewritten.complete
    text = " ".join(advice(profile, [placed]))
    assert "FLOPs of fp4 are not judged: the profile has no ceiling for them" in text
    assert "not known: a ceiling for what it uses" in table(profile, [placed], 120)


def test_what_was_not_measured_has_its_specification(document):
    document["ceilings"] = [
        c
        for c in document["ceilings"]
        if c["resource"] != "tensor.fp64" or c["basis"] in ("theoretical", "datasheet")
    ]
    profile = loaded(only(document))
    text = "name,flop,bytes,seconds,precision\nk,1e10,1e6,1e-3,tensor.fp64\n"
    (placed,) = place(profile, parse(text))
    assert placed.as_written.share == pytest.approx(
        1e10 / ceiling("tensor.fp64", "theoretical") / 1e-3
    )
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
    (placed,) = place(
        profile, parse(f"name,flop,bytes,seconds,precision\nk,{flop},{moved},1,bf16\n")
    )
    text = " ".join(advice(profile, [placed]))
    assert placed.impossible == impossible
    if impossible:
        assert (placed.as_written, placed.rewritten) == (None, None)
        assert "k does more than a ceiling allows (" in text
        assert "more than a ceiling allows" in table(profile, [placed])
    else:
        assert (placed.as_written.share, placed.as_written.gain_s) == (1, 0)
        assert "more than" not in text


def test_unreadable_files(tmp_path):
    with pytest.raises(WorkloadError, match="cannot be read"):
        read(tmp_path / "none.csv")
    (tmp_path / "binary").write_bytes(b"\xff\x00\xfe")
    with pytest.raises(WorkloadError, match="not UTF-8"):
        read(tmp_path / "binary")


def test_files_of_any_size_are_refused_at_once(tmp_path, monkeypatch):
    with pytest.raises(WorkloadError, match=r"^/dev/zero: larger than 64 MiB.* a CSV"):
        read("/dev/zero")
    path = tmp_path / "kernels"
    monkeypatch.setattr("peakline.workload.read.MAX_CSV_BYTES", 100)
    path.write_text(PLAIN + "\n" * 100, encoding="utf-8")
    with pytest.raises(WorkloadError, match=r"larger than .* a CSV"):
        read(path)
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 5, "args": {}}
    text = json.dumps({"traceEvents": [kernel]})
    path.write_text(text, encoding="utf-8-sig")
    assert read(path) == parse(text)
    monkeypatch.setattr("peakline.workload.read.MAX_TRACE_BYTES", len(text))
    with pytest.raises(WorkloadError, match=r"larger than .* a trace"):
        read(path)


def test_report_of_extreme_kernels(capsys, tmp_path, ceilings_path):
    kernels = tmp_path / "kernels.csv"
    kernels.write_text("name,flop,bytes,seconds\na,1e30,1e-30,1e-30\nb,1e-30,1e30,1e30\nc,0,0,1\n")
    assert main([ceilings_path, "-o", str(tmp_path / "out"), "--kernels", str(kernels)]) == 0
    kernels.write_text("name,flop,bytes,seconds\nk,1e308,1e200,1e-200\n")
    capsys.readouterr()
    assert main([ceilings_path, "-o", str(tmp_path / "none"), "--kernels", str(kernels)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{kernels}: line 2: flop is '1e308'" in line


def test_report_with_kernels(capsys, tmp_path, ceilings_path):
    (tmp_path / "kernels.csv").write_text(ncu(ROWS, BASE_UNITS), encoding="utf-8")
    out = tmp_path / "out"
    arguments = [ceilings_path, "-o", str(out), "--kernels", str(tmp_path / "kernels.csv")]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "Your kernels, as written: at most" in printed
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.index('data-picture="kernels"') < page.index('data-picture="kernel-table"')
    assert 'data-picture="roofline"' not in page  # that is on the machine's own page
    assert "gemm&lt;float, 4&gt;" in page
    (tmp_path / "kernels.csv").write_text("nothing", encoding="utf-8")
    assert main([*arguments[:2], str(tmp_path / "none"), *arguments[3:]]) == 2
    assert not (tmp_path / "none").exists()


def test_a_document_for_programs(capsys, tmp_path, ceilings_path):
    kernels = tmp_path / "kernels.csv"
    kernels.write_text(PLAIN, encoding="utf-8")
    asked = [ceilings_path, "--kernels", str(kernels), "--json"]
    assert main(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["schema_version"]) == ("peakline-kernels", 1)
    assert found["device"]["name"] == "NVIDIA H200"
    assert found["as_written"]["time_s"] == pytest.approx(1.2e-2)
    assert found["as_written"]["gain_s"] == pytest.approx(
        sum(k["as_written"]["gain_s"] for k in found["kernels"])
    )
    gemm = next(k for k in found["kernels"] if k["name"] == "gemm")
    assert gemm["as_written"]["units"] == ["tensor.bf16"]
    assert gemm["as_written"]["labels"] == ["BF16 Tensor Cores"]
    assert gemm["as_written"]["complete"] is False
    assert gemm["as_written"]["share"] == pytest.approx(5e11 / BF16 / 1e-3)
    assert [k["number"] for k in found["kernels"]] == [1, 2, 3]
    assert list(tmp_path.iterdir()) == [kernels]  # nothing was drawn
    # --fail-on impossible works without drawing, too.
    assert main([*asked, "--fail-on", "impossible"]) == 0
    kernels.write_text(f"{PLAIN}wrong,1e12,1e6,1e-4,bf16,1\n", encoding="utf-8")
    assert main(asked) == 0
    capsys.readouterr()
    assert main([*asked, "--fail-on", "impossible"]) == 1
    wrong = json.loads(capsys.readouterr().out)["kernels"][-1]
    assert (wrong["name"], wrong["impossible"]) == ("wrong", ["tensor.bf16"])
    assert "as_written" not in wrong
    drawing = [ceilings_path, "--kernels", str(kernels), "-o", str(tmp_path / "out")]
    assert main([*drawing, "--fail-on", "impossible"]) == 1
    assert (tmp_path / "out/report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json"], "--json only goes with --kernels"),
        (["--fail-on", "impossible"], "--fail-on only goes with --kernels"),
        (["--fail-on", "slow"], "'slow': use a part of the step and a share"),
        (["--kernels", "k.csv", "--json", "-o", "x"], "--json draws nothing"),
        (["--kernels", "k.csv", "--json", "--format", "png"], "--json draws nothing"),
    ],
)
def test_options_that_do_not_go_together(capsys, ceilings_path, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main([ceilings_path, *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_kernels_of_another_model_are_told(profile):
    kernel = Kernel("k", 1, 1e-3, {}, {"hbm": 1e9}, device="NVIDIA A100-SXM4-80GB")
    (first, *_) = advice(profile, place(profile, [kernel]))
    assert first.startswith("Warning: this ran on NVIDIA A100-SXM4-80GB, and the profile is")
    same = dataclasses.replace(kernel, device="NVIDIA H200")
    assert "Warning" not in " ".join(advice(profile, place(profile, [same])))


def test_real_export(profile):
    placed = {p.label: p for p in place(profile, read(REAL_EXPORT))}
    matmul = placed["nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT"].kernel
    softmax = placed["cunn_SoftMaxForwardReg"].kernel
    norm = placed["vectorized_layer_norm_kernel"].kernel
    add = placed["vectorized_elementwise_kernel"].kernel
    gather = placed["vectorized_gather_kernel"].kernel
    assert len(placed) == 5
    assert all(p.kernel.launches == 3 for p in placed.values())
    # Tiles of 320 x 128 reach beyond 8192 rows: 2 % of the operations are padding.
    assert matmul.flops["tensor.bf16"] == 3 * 2 * 8192 * 128 * math.ceil(8192 / 320) * 320 * 64
    # Tensors have 32768 x 4096 BF16; a part of the last one written stays in the L2.
    tensor = 32768 * 4096 * 2
    for kernel, passes in ((softmax, 2), (norm, 2), (add, 3)):
        assert kernel.bytes["hbm"] == pytest.approx(3 * passes * tensor, rel=0.01)
    # Rows repeat, so some are read from the cache.
    assert tensor * 3 < gather.bytes["hbm"] < 2 * tensor * 3
    # PyTorch computes a + alpha b: one FP32 FMA per element.
    assert add.flops["cuda_core.fp32"] == 3 * 2 * 32768 * 4096
    assert sum(gather.flops.values()) == 0
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


def edited(change):
    """The recorded export with a change of its table of column names, units and launches."""
    text = REAL_EXPORT.read_text(encoding="utf-8")
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    change(rows)
    target = io.StringIO()
    csv.writer(target, quoting=csv.QUOTE_ALL).writerows(rows)
    return target.getvalue()


def fill(column, value, *launches):
    def change(rows):
        for row in [rows[2 + i] for i in launches] or rows[2:]:
            row[rows[0].index(column)] = value

    return change


def twice(column):
    def change(rows):
        for row in rows:
            row.append(row[rows[0].index(column)])

    return change


def test_no_launch_of_an_export_is_dropped():
    assert sum(k.launches for k in parse(edited(fill("ID", "1,000", 2)))) == 15
    for text, message in (
        (edited(fill("ID", "x", 2)), "nvjet_sm90.* has the ID 'x' instead of a whole number"),
        (edited(fill("ID", "", 2)), "nvjet_sm90.* has the ID '' instead of a whole number"),
        (edited(lambda rows: rows[4].pop()), "the row of kernel 2 has 344 columns instead of 345"),
        (edited(lambda rows: rows[4].pop(0)), "the row of kernel 738 has 344 columns"),
        (edited(twice("dram__bytes.sum")), "the column dram__bytes.sum appears twice: keep one"),
        (edited(twice("Kernel Name")), "the column Kernel Name appears twice"),
    ):
        with pytest.raises(WorkloadError, match=message):
            parse(text)


def test_names_from_an_export_do_not_steer_the_terminal():
    names = ["\x1b[31mred", "a\u2028b", "c\x0bd", "e\nf", "g\x00h"]
    text = edited(lambda rows: [fill("Kernel Name", n, i)(rows) for i, n in enumerate(names)])
    found = [k.name for k in parse(text)][: len(names)]
    assert found == ["\ufffd[31mred", "a\ufffdb", "c\ufffdd", "e\ufffdf", "g\ufffdh"]


def test_the_sum_of_a_duration_counts():
    text = edited(fill("gpu__time_duration.avg", "0.5"))
    assert [k.seconds for k in parse(text)] == [k.seconds for k in read(REAL_EXPORT)]


def test_one_decimal_comma_tells_the_locale_of_a_file():
    rows = [
        ("gpu__time_duration.sum", "ns", "183.552"),
        ("dram__bytes.sum", "byte", "402.653.184"),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "41,27"),
    ]
    head = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
    lines = [f'"0","k","{name}","{unit}","{value}"\n' for name, unit, value in rows]
    (kernel,) = parse(head + "".join(lines))
    assert (kernel.seconds, kernel.bytes) == (pytest.approx(183.552e-6), {"hbm": 402_653_184})
    # Without it, the point is a decimal point.
    (kernel,) = parse(head + lines[0])
    assert kernel.seconds == pytest.approx(183.552e-9)


def test_cycles_over_their_rate_are_a_duration():
    head = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
    text = (
        head
        + '"0","k","sm__cycles_elapsed.avg","cycle","1,584,000"\n'
        + '"0","k","sm__cycles_elapsed.avg.per_second","cycle/nsecond","1.32"\n'
    )
    (kernel,) = parse(text)
    assert kernel.seconds == pytest.approx(1.2e-3)
