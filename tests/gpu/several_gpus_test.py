"""Whole runs on several GPUs: a broken NCCL costs only its own measurements and is named in the
profile; links between GPUs can be measured in one process.

usage: several_gpus_test.py PEAKLINE FAKE_NCCL_FOLDER

Exits with 77, which ctest shows as skipped, if there are fewer than two GPUs.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

POINTS = r"^nccl\.all_reduce/ranks:\d+/bytes:(8|16)$"  # the smallest, for up to eight GPUs
PARTIAL = 3
SKIPPED = 77
# How a measurement ends, by what the library does.
FAULTS = {"": "wrong result", "hang": "no answer in", "fail": "invalid usage"}


def measure(peakline: str, folder: Path, library: str, fault: str) -> tuple[int, list[dict]]:
    """A run's exit code and measurements."""
    profile = folder / f"{fault or 'wrong'}.json"
    paths = f"{library}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    code = subprocess.run(
        [peakline, "run", "-q", "--filter", POINTS, "-o", profile],
        env=os.environ | {"LD_LIBRARY_PATH": paths, "FAKE_NCCL": fault},
        stdout=subprocess.DEVNULL,
        check=False,
    ).returncode
    return code, json.loads(profile.read_text())["measurements"]


def runs_in_one_process(peakline: str) -> bool:
    """Whether `peakline benchmark` measures and verifies a point of the node."""
    flags = ["--benchmark_format=json", "--benchmark_filter=^p2p.latency/"]
    result = subprocess.run(
        [peakline, "benchmark", "--device", "node", *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"in one process: exit code {result.returncode}, {result.stderr.strip()}")
    if result.returncode != 0:
        return False
    rows = json.loads(result.stdout)["benchmarks"]
    print(", ".join(f"{row['name']}: {row['real_time']} {row['time_unit']}" for row in rows))
    return bool(rows) and all(
        row["real_time"] > 0 and "verified" in row["label"] and "error_occurred" not in row
        for row in rows
    )


def main(peakline: str, library: str) -> int:
    gpus = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    if gpus.count("GPU ") < 2:
        return SKIPPED
    failures = 0 if runs_in_one_process(peakline) else 1
    with tempfile.TemporaryDirectory() as folder:
        for fault, reason in FAULTS.items():
            code, rows = measure(peakline, Path(folder), library, fault)
            ends = [(row["status"], row.get("reason", "")) for row in rows]
            print(f"{fault or 'nothing moved'}: exit code {code}, {ends}")
            right = all(status == "error" and reason in why for status, why in ends)
            failures += not (code == PARTIAL and len(ends) == 1 and right)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
