"""Exports of Nsight Compute: made-up ones of known truth, and the recorded ones as tables."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path

from conftest import DATA
from peakline.workload.kernel import Kernel
from peakline.workload.read import read_kernels

# reports/examples/kernels_workload.py, recorded on an H200 with NCU_COMMAND, 3 launches each.
REAL_EXPORT = DATA / "h200_ncu.csv"
FULL_EXPORT = DATA / "h200_ncu_full.csv.gz"

COUNTERS = [
    f"{{prefix}}__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum"
    for letter in "dfh"
    for op in ("add", "mul", "fma")
]
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
PLAIN = """name,flop,bytes,seconds,precision,launches
gemm,5e11,1e8,1e-3,bf16,1
"add, in place",1e9,4e9,1e-3,fp32,10
mystery,1e12,1e6,1e-2,,
"""


def text_of(table: list[list[str]]) -> str:
    """A CSV as ncu writes it: every cell between quotes."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    return out.getvalue()


def table_of(path: Path = FULL_EXPORT) -> list[list[str]]:
    """The column names, units and launches of a recorded export."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.reader(line for line in text.decode().splitlines() if line.startswith('"')))


def ncu(rows: list[dict[str, str]], units: dict[str, str], *, noise: bool = True) -> str:
    """An export as `ncu --csv --page raw` writes it. units: by metric."""
    fixed = {"Process ID": "4242", "Process Name": "python3", "Host Name": "127.0.0.1"}
    fixed |= {"Block Size": "(256, 1, 1)", "Grid Size": "(132, 1, 1)", "Device": "0", "CC": "9.0"}
    columns = ["ID", *fixed, "Kernel Name", *units]
    table = [columns, [units.get(column, "") for column in columns]]
    for number, row in enumerate(rows):
        cells = {"ID": str(number), **fixed, **row}
        table.append([cells[column] for column in columns])
    lines = text_of(table).splitlines(keepends=True)
    if noise:
        lines[3:3] = ["==WARNING== something\n"]
        lines[:0] = [
            "==PROF== Connected to process 4242 (/usr/bin/python3)\n",
            "step 1: loss 2.3, took 3 s\n",
            '==PROF== Profiling "kernel": 0%....100% - 8 passes\n',
        ]
        lines.append("==PROF== Disconnected from process 4242\n")
    return "".join(lines)


def counters(prefix: str = "smsp", **values: float) -> dict[str, str]:
    """FLOP counters, 0 unless given as ffma=..., dadd=..."""
    found = {name.format(prefix=prefix): "0" for name in COUNTERS}
    for short, value in values.items():
        found[f"{prefix}__sass_thread_inst_executed_op_{short}_pred_on.sum"] = f"{value:g}"
    return found


def row(
    name: str, seconds: float, moved: float, tensor: float = 0, **values: float
) -> dict[str, str]:
    """A launch. moved: bytes of device memory; tensor: FLOPs in BF16."""
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


def parse(text: str) -> list[Kernel]:
    """The kernels of a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernels")
        path.write_text(text, encoding="utf-8", newline="")
        return read_kernels(path)


def by_name(kernels: list[Kernel]) -> dict[str, Kernel]:
    return {kernel.name: kernel for kernel in kernels}
