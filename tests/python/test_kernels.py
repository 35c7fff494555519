"""Kernels from Nsight Compute and from plain CSVs: formats, units, and what is refused."""

import gzip

import pytest
from made_kernels import (
    BASE_UNITS,
    COUNTERS,
    PLAIN,
    REAL_EXPORT,
    ROWS,
    TENSOR,
    by_name,
    counters,
    ncu,
    parse,
    table_of,
    text_of,
)
from peakline.workload.kernel import UNKNOWN_UNIT, WorkloadError
from peakline.workload.numbers import RANGE, parse_number, unit_scale
from peakline.workload.read import read_kernels as read
from test_torch_traces import trace


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
    def renamed(named):
        return {name.replace("smsp__sass", "sm__sass"): value for name, value in named.items()}

    units = renamed(BASE_UNITS) | {"gpu__time_duration.sum": "us", "dram__bytes.sum": "Gbyte"}
    rows = [
        renamed(row)
        | {
            "gpu__time_duration.sum": f"{float(row['gpu__time_duration.sum']) / 1e3:,.2f}",
            "dram__bytes.sum": f"{float(row['dram__bytes.sum']) / 1e9:.6f}",
            "lts__t_bytes.sum": f"{float(row['lts__t_bytes.sum']):,.0f}",
        }
        for row in ROWS
    ]
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
    head = ["ID", "Process ID", "Kernel Name", "CC", "Section Name", "Metric Name", "Metric Unit"]
    fixed = ["0", "1", ROWS[0]["Kernel Name"], "9.0", "Command line"]
    lines = [[*fixed, metric, unit, ROWS[0][metric]] for metric, unit in BASE_UNITS.items()]
    details = text_of([[*head, "Metric Value"], *lines])
    assert parse(details) == parse(ncu(ROWS[:1], BASE_UNITS))


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


def with_cell(column, value):
    return ncu([{**ROWS[0], column: value}], BASE_UNITS)


def edited(change):
    """The recorded export with a change of its table of column names, units and launches."""
    rows = table_of(REAL_EXPORT)
    change(rows)
    return text_of(rows)


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


MUST_BE = f"but must be {RANGE}"


# The head of the details page of --set full, with ncu's shortened rows.
DETAILS = """\
"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule"
"0","662","k","GPU Speed Of Light Throughput","DRAM Frequency","Ghz","3.20",
"0","662","k","GPU Speed Of Light Throughput","Duration","ms","1.38"
"""


CSV = "name,flop,bytes,seconds\n"
LAUNCHES = "name,flop,bytes,seconds,precision,launches\na,1,1,1,bf16,"


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
        (with_cell("gpu__time_duration.sum", "n/a"), "its duration"),
        (with_cell("dram__bytes.sum", "many"), f"kernel 0: dram__bytes.sum is 'many', {MUST_BE}"),
        (with_cell("dram__bytes.sum", "1e308"), f"kernel 0: dram__bytes.sum is '1e308', {MUST_BE}"),
        (
            with_cell("gpu__time_duration.sum", "1e-25"),
            f"kernel 'gemm<float, 4>': out of range: expected {RANGE}",
        ),
        (with_cell("dram__bytes.sum", "-1"), "cannot be negative"),
        (ncu(ROWS, {**BASE_UNITS, "dram__bytes.sum": "furlong"}), "unknown unit 'furlong'"),
        (ncu(ROWS[:1], BASE_UNITS, noise=False)[:-40], "cut off within its first row"),
        (f"{CSV}k,1,", "cut off within its first row"),
        (CSV, "no kernels"),
        (f"{CSV}k,1,x,1\n", "line 2: bytes is 'x'"),
        (f"{CSV}k,1,1,0\n", "line 2: seconds must be above 0"),
        (f"{CSV}k,-1,1,1\n", "line 2: flop must not be negative"),
        (f"{CSV[:-1]},precision\nk,1,1,1,fp7\n", "line 2: unknown precision"),
        (f"{CSV}k,1,1,1\nk,1e308,1,1\n", f"line 3: flop is '1e308', {MUST_BE}"),
        (f"{CSV}k,1,1,1e-200\n", "line 2: seconds is '1e-200'"),
        (f"{CSV}k,1e30,1,1\nk,1e30,1,1\n", "kernel 'k': out of range"),
        (CSV + 200_000 * "k", "not a CSV of kernels: field larger"),
        (f"{CSV}a,1,1,1\nb,1,1,1,bf16\n", "line 3: has 5 fields, but the header has 4"),
        *((f"{LAUNCHES}{n}\n", "line 2: launches ") for n in ("0", "2.5", "-4", "abc")),
        (edited(fill("ID", "x", 2)), "has the ID 'x' instead of a whole number"),
        (edited(fill("ID", "", 2)), "has the ID '' instead of a whole number"),
        (edited(lambda rows: rows[4].pop()), "the row of kernel 2 has 344 columns instead of 345"),
        (edited(lambda rows: rows[4].pop(0)), "the row of kernel 738 has 344 columns"),
        (edited(twice("dram__bytes.sum")), "the column dram__bytes.sum appears twice: keep one"),
        (edited(twice("Kernel Name")), "the column Kernel Name appears twice"),
        ("[1, 2]", "no GPU kernel"),
    ],
    ids=lambda text: repr(text[:24]),
)
def test_what_cannot_be_used_is_said(text, message):
    with pytest.raises(WorkloadError, match=r"^/.*/kernels: ") as caught:
        parse(text)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


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


UNITS = {
    1e-9: "ns nsecond",
    1e-6: "us",
    1e-3: "msecond",
    1: "second s byte inst inst/cycle",
    1e3: "Kbyte Kinst",
    1e6: "MB cycle/usecond",
    1e9: "Gbyte Gbyte/second Gbyte/s cycle/nsecond Ghz",
}


@pytest.mark.parametrize("scale", UNITS)
def test_units(scale):
    units = UNITS[scale].split()
    assert {unit: unit_scale(unit) for unit in units} == pytest.approx(dict.fromkeys(units, scale))
    assert unit_scale("") == 1


def test_plain_csv():
    found = by_name(parse(PLAIN))
    assert found["gemm"].flops == {"bf16": 5e11}
    assert found["add, in place"].launches == 10
    assert found["mystery"].flops == {UNKNOWN_UNIT: 1e12}


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "kernels"
    path.write_text(trace(), encoding="utf-8-sig")
    assert read(path) == parse(trace())


@pytest.mark.parametrize("limit", [200, 1 << 18])  # within the first bytes that are read, and later
def test_a_limit_counts_unpacked_bytes(tmp_path, monkeypatch, limit):
    monkeypatch.setattr("peakline.workload.read.MAX_CSV_BYTES", limit)
    path = tmp_path / "kernels.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode() + limit * b"k,1,1,1\n"))
    with pytest.raises(WorkloadError, match=r"larger than .* a CSV"):
        read(path)


def test_no_launch_of_an_export_is_dropped():
    assert sum(k.launches for k in parse(edited(fill("ID", "1,000", 2)))) == 15


def test_the_sum_of_a_duration_counts():
    text = edited(fill("gpu__time_duration.avg", "0.5"))
    assert [k.seconds for k in parse(text)] == [k.seconds for k in read(REAL_EXPORT)]


DETAILS_HEAD = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'


def test_one_decimal_comma_tells_the_locale():
    lines = [
        f'"0","k","{name}","{unit}","{value}"\n'
        for name, unit, value in (
            ("gpu__time_duration.sum", "ns", "183.552"),
            ("dram__bytes.sum", "byte", "402.653.184"),
            ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "41,27"),
        )
    ]
    (kernel,) = parse(DETAILS_HEAD + "".join(lines))
    assert (kernel.seconds, kernel.bytes) == (pytest.approx(183.552e-6), {"hbm": 402_653_184})
    # Without it, the point is a decimal point.
    (kernel,) = parse(DETAILS_HEAD + lines[0])
    assert kernel.seconds == pytest.approx(183.552e-9)


def test_cycles_over_their_rate_are_a_duration():
    (kernel,) = parse(
        DETAILS_HEAD
        + '"0","k","sm__cycles_elapsed.avg","cycle","1,584,000"\n'
        + '"0","k","sm__cycles_elapsed.avg.per_second","cycle/nsecond","1.32"\n'
    )
    assert kernel.seconds == pytest.approx(1.2e-3)
