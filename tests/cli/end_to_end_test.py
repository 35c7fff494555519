"""A quick run of the host, its profile and schema; `peakline benchmark` and its flags."""

import json
import os

import pytest
from program import HOST, QUICKEST, document, peakline, read, refused


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """One run for several tests: its result, its arguments and its profile."""
    output = tmp_path_factory.mktemp("quick") / "output.json"
    arguments = [*HOST, "-o", str(output)]
    return peakline(*arguments, code=0), arguments, output


def test_profile(quick):
    result, arguments, output = quick
    assert result.stdout.splitlines()[-1] == f"profile: {output}"
    assert str(output) in result.stderr.splitlines()[-1]
    profile = read(output)
    assert profile["complete"]
    assert profile["mode"] == "quick"
    assert not profile.get("devices")
    assert profile["command"][1:] == arguments
    assert {"host.memory.read", "host.fma.fp32"} <= {m["id"] for m in profile["measurements"]}
    for m in profile["measurements"]:
        assert (m["device"], m["status"]) == ("host", "ok"), m
        assert min(m["samples_s"]) > 0
        assert "implausible" not in m["flags"]
    assert "memory.read" in {c["resource"] for c in profile["ceilings"]}
    assert [r["device"] for r in profile["rooflines"]] == ["host"]
    assert profile["rooflines"][0]["ridge_points"]


def test_show_prints_what_run_printed(quick):
    result, _, output = quick
    shown = peakline("show", output, code=0)
    assert shown.stdout + f"profile: {output}\n" == result.stdout
    assert document("show", output)["schema"] == "peakline-summary"


def test_schema(quick, schema):
    schema()(json.loads(quick[2].read_text()))


FLAGS = ("benchmark", "--device", "host", "--quick", r"--benchmark_filter=^host\.fma\.fp64")


def test_flags_and_reporters_of_google_benchmark(tmp_path):
    out = tmp_path / "out.json"
    result = peakline(*FLAGS, "--benchmark_repetitions=2", f"--benchmark_out={out}", code=0)
    assert "host.fma.fp64/threads:" in result.stdout
    entries = json.loads(out.read_text())["benchmarks"]
    runs = [e for e in entries if e["run_type"] == "iteration"]
    listed = peakline(*FLAGS, "--benchmark_list_tests").stdout.splitlines()
    assert [run["name"] for run in runs] == [name for name in listed for _ in range(2)]
    for run in runs:
        assert run["flops_per_second"] > 0
        assert run["real_time"] > 0
        assert "verified" in run["label"]
    assert "cv" in {e.get("aggregate_name") for e in entries}


def test_benchmark_lists_the_points_of_a_device():
    result = peakline("benchmark", "--device", "host", "--benchmark_list_tests", code=0)
    assert all(line.startswith("host.") for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--benchmark_colour=1"], "--benchmark_colour"),
        (["--benchmark_format=bogus"], "--benchmark_format"),
        (["--benchmark_filter=nomatch"], "'nomatch'"),
        (["--benchmark_filter=" + "(" * 20_000], "not a regular expression"),
        (["--benchmark_min_time=\x1b[31m"], "--benchmark_min_time"),
        (["--benchmark_out", "mine.json"], "already exists"),
        (["--device", "9"], "--device 9"),
        (["--max-noise", "-1"], "--max-noise"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_usage_of_benchmark(tmp_path, flags, named):
    existing = tmp_path / "mine.json"
    existing.write_text("mine")
    refused("benchmark", *flags, words=[named], cwd=tmp_path)
    assert existing.read_text() == "mine"


def test_environment_of_google_benchmark_does_not_reach_the_workers_of_run(tmp_path, profile):
    out = tmp_path / "out.txt"
    out.write_text("mine")
    environment = os.environ | {"BENCHMARK_OUT": str(out), "BENCHMARK_LIST_TESTS": "true"}
    peakline(*QUICKEST, "-o", profile, env=environment, code=0)
    assert out.read_text() == "mine"
    assert read(profile)["complete"]
