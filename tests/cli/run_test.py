"""Options of `peakline run` and the files that it writes, on the host's own CPUs."""

import gzip
import json
import re
import socket
import subprocess

import pytest
from program import PATIENCE_S, PEAKLINE, QUICKEST, on_terminal, peakline, read, starting, stdout_of


def test_default_name_and_quiet(tmp_path):
    stdout_of(*QUICKEST, "--quiet", cwd=tmp_path)
    (file,) = tmp_path.glob("*.json")
    assert re.fullmatch(re.escape(socket.gethostname()) + r"-\d{8}T\d{6}Z\.json", file.name)
    assert json.loads(file.read_text())["host"]["hostname"] == socket.gethostname()


def test_anonymized(tmp_path):
    peakline(*QUICKEST, "--anonymize", "-o", tmp_path, code=0)
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("localhost-")
    profile = json.loads(file.read_text())
    assert "hostname" not in profile["host"]
    assert profile["command"][0] == "peakline"
    assert str(tmp_path) not in file.read_text()


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ("node7", "node7.json"),
        ("node7.example.org", "node7.example.org.json"),
        ("node8.json.gz", "node8.json.gz"),
        ("new/profiles/", "new/profiles/*T*Z.json"),
    ],
)
def test_output_without_suffix_and_directory_that_is_not_there_yet(tmp_path, output, wanted):
    result = peakline(*QUICKEST, "-o", output, cwd=tmp_path, code=0)
    (file,) = tmp_path.glob(wanted)
    assert result.stdout.splitlines()[-1] == f"profile: {file.relative_to(tmp_path)}"
    data = file.read_bytes()
    data = gzip.decompress(data) if file.suffix == ".gz" else data
    assert json.loads(data)["complete"]


@pytest.mark.parametrize(
    ("words", "verify"),
    [
        (["--no-verify"], False),
        (["--no-verify=true"], False),
        (["--no-verify=yes", "--anonymize"], False),
        (["--no-verify", "--no-verify=false"], True),
    ],
)
def test_no_verify_reaches_worker_and_profile(profile, words, verify):
    peakline(*QUICKEST, *words, "-o", profile, code=0)
    written = read(profile)
    assert [m["verified"] for m in written["measurements"]] == [True if verify else None]
    assert written["asked"]["verify"] is verify
    assert verify or "unverified" in {f["code"] for f in written["findings"]}


def test_a_run_says_what_it_was_asked(profile):
    peakline(*QUICKEST, "-o", profile, code=0)
    asked = {"filter": QUICKEST[-1], "devices": "none", "verify": True}
    assert json.loads(profile.read_text())["asked"] == asked


def test_runs_that_begin_at_once_keep_their_profiles(tmp_path):
    command = [PEAKLINE, *QUICKEST, "--quiet", "-o", tmp_path]
    runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [run.wait(PATIENCE_S) for run in runs] == [0, 0, 0]
    files = list(tmp_path.iterdir())
    assert len(files) == 3
    for file in files:
        assert json.loads(file.read_text())["complete"]


def test_runs_are_merged_into_one_profile(profile):
    plan = peakline(*QUICKEST, "--runs", "3", "--dry-run")
    assert "1 point on 1 device, 3 runs, about" in plan.stdout.splitlines()[-1]
    peakline(*QUICKEST, "--runs", "2", "-o", profile, code=0)
    written = read(profile)
    (measurement,) = written["measurements"]
    # A quick run makes one pass on the host.
    assert [len(run) for run in measurement["sittings"]] == [1, 1]
    (ceiling,) = [c for c in written["ceilings"] if "spread" in c]
    assert ceiling["spread"]["runs_measured"] == 2
    # On a virtual machine, runs of the host differ too much for an interval.
    assert ceiling.get("ci_low", 0) < ceiling["value"]
    assert "next run" in peakline("show", profile).stdout


def test_progress_fits_a_narrow_terminal(profile):
    columns = 40
    text = on_terminal(columns, *QUICKEST, "-o", profile, stream="stderr")
    assert profile.exists()
    lines = re.findall(r"\r([^\r\n]+)\x1b\[K", text)
    assert lines
    for line in lines:
        assert len(line) < columns


def test_reader_that_has_seen_enough(profile):
    with starting(*QUICKEST, "--quiet", "-o", profile) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(PATIENCE_S) == 0
        process.stdout = None
    assert read(profile)["complete"]
