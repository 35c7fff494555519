"""Every command of the READMEs runs as printed, with the output shown there."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest
from program import PATIENCE_S, REFERENCE, SOURCE, peakline

pytest.importorskip("matplotlib")

FILES = (
    "README.md",
    "bench/README.md",
    "harness/judge/README.md",
    "harness/show/README.md",
    "reports/README.md",
    "reports/models.md",
    "reports/workload.md",
    "scripts/README.md",
    "scripts/runbook.md",
)
PROFILES = ("node7-may", "node7-june", "node7", "node7-later", "profiles/node7", "profiles/node8")
# Fakes for other programs (pip, ncu, a training script) and long measurements; they check the part
# of a command that could be wrong.
STAND_INS = {
    # GPU runs are only listed.
    "peakline": """
        case "$*" in
          run*) exec "$PEAKLINE" "$@" --dry-run ;;
          check*--output*) cp node7.json "${@: -1}" ;;
          benchmark*--device\\ host*) exec "$PEAKLINE" "$@" ;;
          benchmark*) exec "$PEAKLINE" "$@" --benchmark_list_tests ;;
          *) exec "$PEAKLINE" "$@" ;;
        esac""",
    "peakline-report": 'exec "$PYTHON" -m peakline report "$@"',
    "peakline-mfu": 'exec "$PYTHON" -m peakline mfu "$@"',
    "peakline-llm": 'exec "$PYTHON" -m peakline llm "$@"',
    # Launchers run the program after their options.
    **dict.fromkeys(
        ("ncu", "compute-sanitizer", "salloc", "mpirun"),
        'while [[ $1 != peakline && $1 != python ]]; do shift; done; exec "$@"',
    ),
    "nsys": """
        [[ $1 == profile && ${*: -2} == 'python train.py' ]] && exit
        [[ $1 == export ]] && cp "${6%.nsys-rep}.sqlite" "$5" """,
    "kubectl": "[[ $1 =~ ^(rollout|(un)?cordon|drain)$ || $2 == pod || ( $2 == -f && -f $3 ) ]]",
    "scontrol": "[[ $* =~ ^update\\ NodeName=.*\\ State=(DRAIN\\ Reason=.+|RESUME)$ ]]",
    "nvidia-smi": "[[ $* =~ ^(-q|--gpu-reset\\ -i\\ [0-9])$ ]]",
    "dmesg": "",
    "sha256sum": "[[ $* == *\\ SHA256SUMS ]]",
    "gh": "[[ $1\\ $2 == attestation\\ verify ]]",
    "sudo": "[[ $1 == systemctl && -f scripts/systemd/${*: -1} || -f $2 && -f $3 ]]",
    "python": "[[ $* == train.py ]]",
    "compare.py": '[[ $1 == benchmarks ]] && "$PYTHON" -m json.tool "$2" >/dev/null',
    "pip": r"""
        [[ $1 =~ ^(install|wheel)$ && $2 =~ ^([.]|peakline-.*[.]whl)$ ]] || exit 1
        for name in $(grep -o 'PEAKLINE_[A-Z]*' <<<"$*"); do
          grep -q "$name" pyproject.toml CMakeLists.txt || exit 1
        done""",
    "uvx": '[[ $1 == --from && $2 == ./peakline-*.whl ]] && shift 2 && exec "$@" node7.json',
    "cmake": r"""
        [[ -f CMakePresets.json && $* =~ ^(--build\ )?--preset\ release$ ||
          $* =~ ^--install\ build/release\ --prefix\ / ]]""",
}
KERNELS = "name,flop,bytes,seconds,precision\nproduct,1e12,1e9,2e-3,bf16\n"
# An nsys export of three kernels, each in a range.
EXPORT = """
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
      start, 'end', deviceId, streamId, correlationId, globalPid, demangledName);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, 'end', globalTid, correlationId, nameId);
    CREATE TABLE NVTX_EVENTS (start, 'end', text, globalTid);
    CREATE TABLE StringIds (id, value);
    INSERT INTO StringIds VALUES (1, 'kernel'), (2, 'cudaLaunchKernel');
    CREATE TABLE Steps AS SELECT value AS step, 100000 * value AS at, 1 << 24 AS process
      FROM json_each('[0, 1, 2]');
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
      SELECT at + 50000, at + 90000, 0, 7, step + 1, process, 1 FROM Steps;
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
      SELECT at + 40000, at + 42000, process | 7, step + 1, 2 FROM Steps;
    INSERT INTO NVTX_EVENTS SELECT at, at + 99000, 'decode', process | 7 FROM Steps;
    DROP TABLE Steps;
"""


def commands(file):
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```$", (SOURCE / file).read_text())
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip()]


def outputs(file, what="output"):
    """The commands of a README with their output, or what="lines": some lines of it."""
    block = rf"(?ms)^<!-- {what} of: (peakline [^\n]*) -->\n```text\n(.*?)^```$"
    return re.findall(block, (SOURCE / file).read_text())


@pytest.fixture
def run_in(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, body in STAND_INS.items():
        file = programs / name
        file.write_text(f"#!/bin/bash\n{body}\n")
        file.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "PYTHONPATH": str(SOURCE / "reports"),
    }
    settings = {"capture_output": True, "text": True, "timeout": PATIENCE_S, "env": environment}
    return lambda folder, line: subprocess.run(["bash", "-c", line], cwd=folder, **settings)


def write_upgrade(folder):
    """Runs before and after an upgrade, which only a reader has."""
    profile = json.loads(REFERENCE.read_text())
    for month, name in enumerate(("before", "after"), start=1):
        shutil.rmtree(folder / name, ignore_errors=True)  # the demo's own
        (folder / name).mkdir()
        profile["created"] = f"2026-{month:02}-01T12:00:00Z"
        (folder / name / "node7.json").write_text(json.dumps(profile))


@pytest.fixture
def demo(tmp_path):
    """The files of `peakline demo`, which README.md uses."""
    folder = tmp_path / "demo"
    peakline("demo", folder, code=0)
    write_upgrade(folder)
    return folder


@pytest.fixture
def files(tmp_path):
    """The files named in the other READMEs."""
    for name in ("reports", "scripts", "CMakeLists.txt", "CMakePresets.json", "pyproject.toml"):
        (tmp_path / name).symlink_to(SOURCE / name)
    profile = json.loads(REFERENCE.read_text())
    write_upgrade(tmp_path)
    (tmp_path / "profiles").mkdir()
    for month, name in enumerate(PROFILES, start=5):
        profile["created"] = f"2026-{month:02}-01T12:00:00Z"
        (tmp_path / f"{name}.json").write_text(json.dumps(profile))
    (tmp_path / "kernels.csv").write_text(KERNELS)
    healthy = SOURCE / "tests/python/data/causes/healthy.json.gz"
    for name in ("trace", "before", "after"):
        shutil.copy(healthy, tmp_path / f"{name}.json.gz")
    with contextlib.closing(sqlite3.connect(tmp_path / "run.sqlite")) as base:
        base.executescript(EXPORT)
    (tmp_path / "run.nsys-rep").touch()
    (tmp_path / "old.json").write_text("{}")
    (tmp_path / "Llama-3.1-8B").mkdir()
    config = SOURCE / "tests/python/data/configs/llama-3-8b.json"
    shutil.copy(config, tmp_path / "Llama-3.1-8B/config.json")
    return tmp_path


def test_readme_has_commands():
    assert len(commands("README.md")) > 10


@pytest.mark.parametrize("file", FILES)
def test_commands(run_in, files, demo, subtests, file):
    folder = demo if file == "README.md" else files
    for line in commands(file):
        if script := re.match(r"(?:\w+=\w+ )?(scripts/\S+)", line):
            # tests/python/test_scripts.py runs it.
            assert os.access(SOURCE / script[1], os.X_OK), line
            continue
        if line.startswith(". .venv/bin/activate"):  # the fakes are on PATH
            continue
        with subtests.test(line):
            assert "..." not in line
            result = run_in(folder, line)
            # This build or machine may lack GPU benchmarks.
            if not re.search(r"GPU benchmarks|no GPU is measured|driver", result.stderr):
                # One of the demo's machines is slow.
                slow = "--fail-on outlier" in line.partition("#")[0]
                assert result.returncode == slow, result.stderr


@pytest.mark.parametrize(
    ("command", "text"),
    [output for file in FILES for output in outputs(file)],
    ids=lambda value: value.splitlines()[0][:40],
)
def test_outputs(run_in, files, command, text):
    assert run_in(files, command).stdout == text


@pytest.mark.parametrize(
    ("command", "text"), [lines for file in FILES for lines in outputs(file, "lines")]
)
def test_quoted_lines(run_in, files, command, text):
    printed = run_in(files, command).stdout.splitlines()
    assert [line for line in text.splitlines() if line not in printed] == []
