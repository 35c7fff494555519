"""A comparison finds what a neighbour on the GPU takes away, and nothing where there is none.

usage: neighbour_test.py PEAKLINE NEIGHBOUR
"""

import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

# A program that trains would miss these: memory, link, CUDA cores and Tensor Cores.
POINTS = r"^(hbm\.read|pcie\.h2d\.pinned|fma\.fp32|gemm\.bf16)"
# The neighbour's arguments, and the ceiling that the gate must fail.
NEIGHBOURS = {
    ("sms", "32"): "tensor.bf16/burst",
    ("memory",): "hbm.read/measured",
    ("pcie",): "pcie.h2d/measured",
}


def run(peakline: str, profile: Path) -> None:
    subprocess.run(
        [peakline, "run", "--quick", "-q", "--device", "0", "--filter", POINTS, "-o", profile],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def regressions(peakline: str, old: Path, new: Path) -> tuple[int, set[str]]:
    """The exit code of the gate, and what it fails."""
    compared = subprocess.run(
        [peakline, "compare", "--fail-on", "regression", "--json", old, "--", new],
        capture_output=True,
        text=True,
        check=False,
    )
    reasons = json.loads(compared.stdout)["gate"]["reasons"]
    return compared.returncode, {reason["name"].partition("/")[2] for reason in reasons}


@contextmanager
def at_work(neighbour: str, arguments: tuple[str, ...]):
    with subprocess.Popen([neighbour, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n", f"neighbour {arguments} did not start"
        try:
            yield
            assert process.poll() is None, f"neighbour {arguments} ended early"
        finally:
            process.kill()


def main(peakline: str, neighbour: str) -> int:
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, "alone.json")
        run(peakline, alone)
        again = Path(folder, "again.json")
        run(peakline, again)
        code, failed = regressions(peakline, alone, again)
        print(f"alone: exit code {code}, failed: {sorted(failed)}")
        if code != 0:
            failures.append("a GPU without a neighbour is accused")
        for arguments, resource in NEIGHBOURS.items():
            beside = Path(folder, f"{arguments[0]}.json")
            with at_work(neighbour, arguments):
                run(peakline, beside)
            code, failed = regressions(peakline, alone, beside)
            print(f"beside {' '.join(arguments)}: exit code {code}, failed: {sorted(failed)}")
            if code != 1 or resource not in failed:
                failures.append(f"a neighbour ({' '.join(arguments)}) is not found in {resource}")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
