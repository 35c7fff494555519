"""The examples run: on the CPU here, where PyTorch is installed. Without it they say so."""

import gzip
import json
import os
import re
import subprocess
import sys

import peakline
import pytest
from conftest import NO_TOOLS, ROOT, document_of, only

EXAMPLES = ROOT / "reports/examples"


def run(script, *arguments):
    pytest.importorskip("torch", reason=NO_TOOLS)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "reports"), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
    )


def toy_bound(path):
    """Of a step of 8 x 64 tokens: two layers of four heads of 16, MLPs of two matrices."""
    toy = peakline.Transformer.uniform(
        2, 4, 16, 256, 64, mlp_matrices=2, tied_embeddings=True, positions=64
    )
    given = {"sequence": 64, "dtype": "fp32", "device": "host"}
    return peakline.train_bound(peakline.load(path), toy, 8 * 64, **given)


def test_training_logs_shares_of_peaks(ceilings_path):
    steps = ["--steps", "40", "--warm-up", "5"]
    done = run("train_gpt.py", "--profile", ceilings_path, "--cpu", *steps)
    assert done.returncode == 0, done.stderr
    assert "of measured" in done.stdout
    assert "MFU" not in done.stdout, "the host has no published peak"
    assert "cpu.fp32" in done.stdout
    lines = done.stdout.splitlines()
    losses = {
        line.split()[0]: float(line.split()[1]) for line in lines[2:] if line[:5].strip().isdigit()
    }
    assert losses["40"] < 0.9 * losses["1"]
    found = re.search(
        r"^bound of a step: (\d+) .*\((\S+)\), .* reaches (\S+) %$", done.stdout, re.M
    )
    assert found
    bound = toy_bound(ceilings_path)
    assert found.group(1, 2) == (f"{bound.tokens_per_s:.0f}", bound.limiter)
    rate = next(int(line.split()[2]) for line in lines if line.startswith("  all"))
    assert float(found[3]) == pytest.approx(100 * rate / bound.tokens_per_s, rel=0.02)


def test_training_goes_on_when_a_probe_cannot_judge(ceilings_path):
    steps = ["--steps", "4", "--warm-up", "1", "--probe-every", "2"]
    done = run("train_gpt.py", "--profile", ceilings_path, "--cpu", *steps)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("probe")]
    unknown = "unknown: PyTorch finds no GPU"
    assert said == [f"probe after step {number}: {unknown}" for number in (2, 4)]


def test_training_refuses_profile_without_peak(write):
    document = only(document_of())
    document["ceilings"] = [c for c in document["ceilings"] if c["resource"] != "cpu.fp32"]
    done = run("train_gpt.py", "--profile", str(write(document)), "--cpu")
    assert done.returncode != 0
    assert "no fp32 peak" in done.stderr
    assert "Traceback" not in done.stderr


def test_kernels_workload_runs():
    done = run("kernels_workload.py", "--launches", "2")
    assert done.returncode == 0, done.stderr
    names = [line.partition(":")[0] for line in done.stdout.splitlines()]
    assert names == ["matmul", "softmax", "layer_norm", "add", "gather"]


def test_the_last_steps_are_traced(ceilings_path, tmp_path):
    trace = tmp_path / "trace.json.gz"
    steps = ["--steps", "8", "--warm-up", "1", "--trace", str(trace)]
    done = run("train_gpt.py", "--profile", ceilings_path, "--cpu", *steps)
    assert done.returncode == 0, done.stderr
    with gzip.open(trace) as file:
        events = json.load(file)["traceEvents"]
    marks = {event["name"] for event in events if event.get("cat") == "user_annotation"}
    assert {f"ProfilerStep#{number}" for number in range(4, 8)} <= marks
    assert any("Input Dims" in event.get("args", {}) for event in events)
    few = ["--steps", "5", "--warm-up", "1", "--trace", str(trace)]
    done = run("train_gpt.py", "--profile", ceilings_path, "--cpu", *few)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--trace needs 6 --steps or more" in done.stderr


def test_causes_need_a_gpu(tmp_path):
    done = run("trace_causes.py", "--output", str(tmp_path / "causes"))
    assert done.returncode == 2
    assert "PyTorch finds no GPU" in done.stderr
    assert not (tmp_path / "causes").exists()


def test_decoding_is_timed(tmp_path):
    done = run("decode_llama.py", "--cpu", "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [row["kind"] for row in rows] == ["decode"] * 6 + ["prefill"]
    assert all(row["seconds"] > 0 for row in rows)


@pytest.mark.parametrize(
    "script",
    sorted(set(EXAMPLES.glob("*.py")) - {EXAMPLES / "needs_torch.py"}),
    ids=lambda script: script.name,
)
def test_without_torch_it_says_what_to_install(script):
    hidden = "import runpy, sys; sys.modules['torch'] = None; sys.argv = sys.argv[1:]; "
    code = f"{hidden}sys.path.insert(0, {str(EXAMPLES)!r}); runpy.run_path(sys.argv[0])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(script), "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{script.name} needs PyTorch: pip install 'torch>=2.4'\n"
    assert "torch>=2.4" in (ROOT / "pyproject.toml").read_text()
