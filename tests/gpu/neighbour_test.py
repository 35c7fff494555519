"""A comparison and a check notice a neighbour on the GPU, and report nothing without one.

usage: neighbour_test.py PEAKLINE NEIGHBOUR
"""

import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

# Memory, link, CUDA cores and Tensor Cores: what training uses.
POINTS = r"^(hbm\.read|pcie\.h2d\.pinned|fma\.fp32|gemm\.bf16)"
# The neighbour's arguments, and the ceilings of which the gate must fail at least one. A neighbour
# on the SMs takes time slices from long measurements; a burst of a millisecond may fit between.
NEIGHBOURS = {
    ("sms", "32"): {"tensor.bf16/burst", "hbm.read/measured"},
    ("memory",): {"hbm.read/measured"},
    ("pcie",): {"pcie.h2d/measured"},
}
CANNOT_JUDGE = 3


def run(peakline: str, profile: Path) -> None:
    subprocess.run(
        [peakline, "run", "--quick", "-q", "--device", "0", "--filter", POINTS, "-o", profile],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def regressions(peakline: str, old: Path, new: Path) -> tuple[int, set[str]]:
    """The gate's exit code and failed ceilings."""
    compared = subprocess.run(
        [peakline, "compare", "--fail-on", "regression", "--json", old, "--", new],
        capture_output=True,
        text=True,
        check=False,
    )
    reasons = json.loads(compared.stdout)["gate"]["reasons"]
    return compared.returncode, {reason["name"].partition("/")[2] for reason in reasons}


def check(peakline: str) -> tuple[int, set[str]]:
    """The exit code and the failed rules of a check that measures."""
    checked = subprocess.run(
        [peakline, "check", "--device", "0", "--json"], capture_output=True, text=True, check=False
    )
    rules = json.loads(checked.stdout)["profiles"][0]["devices"][0]["rules"]
    for rule in rules:
        if rule["outcome"] != "pass":
            print(f"  {rule['outcome']} {rule['name']}: {rule['text']}")
    failed = {rule["name"].partition("/")[2] for rule in rules if rule["outcome"] == "fail"}
    return checked.returncode, failed


@contextmanager
def at_work(neighbour: str, arguments: tuple[str, ...]):
    with subprocess.Popen([neighbour, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n", f"neighbour {arguments} did not start"
        try:
            yield process
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
        healthy, _ = check(peakline)
        print(f"check alone: exit code {healthy}")
        known = healthy != CANNOT_JUDGE  # a model without a population is not judged
        if known and healthy != 0:
            failures.append("a check accuses a GPU without a neighbour")
        for arguments, resources in NEIGHBOURS.items():
            beside = Path(folder, f"{arguments[0]}.json")
            with at_work(neighbour, arguments):
                run(peakline, beside)
            code, failed = regressions(peakline, alone, beside)
            print(f"beside {' '.join(arguments)}: exit code {code}, failed: {sorted(failed)}")
            if code != 1 or not resources & failed:
                failures.append(f"a neighbour ({' '.join(arguments)}) is not found in {resources}")
            if not known:
                continue
            with at_work(neighbour, arguments):
                code, failed = check(peakline)
            print(f"check beside {' '.join(arguments)}: exit code {code}, failed: {sorted(failed)}")
            if code != 1 or not resources & failed:
                failures.append(
                    f"a check misses a neighbour ({' '.join(arguments)}) in {resources}"
                )
        if known:
            code, failed = check(peakline)
            print(f"check once they are gone: exit code {code}, failed: {sorted(failed)}")
            if code != 0:
                failures.append("a check still fails when no neighbour is there any more")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
