"""`peakline compare` and `peakline repeatability`: verdicts, gates, stored populations."""

import json
import re
from pathlib import Path

import pytest
from program import GOLDEN, SOURCE, document, peakline, refused, scale, stdout_of, write_changed

GATE = ("--fail-on", "regression")


@pytest.fixture
def changed(tmp_path):
    """Writes the golden profile with a change and its own creation time."""

    def write(name, change):
        minute = len(list(tmp_path.iterdir()))

        def change_all(profile):
            profile["created"] = f"2026-11-21T10:{minute:02}:00Z"
            change(profile)

        return write_changed(tmp_path / name, change_all, base=GOLDEN)

    return write


@pytest.fixture
def scaled(changed):
    """Writes the golden profile with all measured figures scaled."""
    return lambda name, factor: changed(name, lambda profile: scale(profile, factor))


@pytest.mark.parametrize(
    "command",
    [("compare", GOLDEN, GOLDEN, "--", GOLDEN), ("repeatability", GOLDEN, GOLDEN)],
    ids=lambda command: command[0],
)
def test_a_run_counts_once(command):
    result = peakline(*command, code=2)
    assert result.stdout == ""
    assert f"{GOLDEN}: the same run as {GOLDEN}; give each run once" in result.stderr


def test_repeatability_says_what_it_leaves_out(changed, scaled):
    quick = changed("quick.json", lambda profile: profile.update(mode="quick"))
    files = (GOLDEN, scaled("other.json", 1.001), quick)
    text = " ".join(peakline("repeatability", *files).stdout.split())
    assert "2 full runs" in text
    assert "1 profile left out: no other run of the same devices in the same mode." in text
    for count in (2, 3):
        assert document("repeatability", *files[:count])["left_out"] == count - 2


def test_repeatability_of_several_runs(scaled):
    slower = scaled("slower.json", 0.5)
    text = stdout_of("repeatability", GOLDEN, slower)
    assert "2 full runs" in text
    assert "fails in 1 of 2 ordered pairs" in text
    found = document("repeatability", GOLDEN, slower)
    assert found["schema"] == "peakline-repeatability"
    assert (found["studies"][0]["pairs"], found["studies"][0]["alarms"]) == (2, 1)
    one = peakline("repeatability", GOLDEN, code=2)
    assert "at least two profiles" in one.stderr


def test_runs_that_were_kept(tmp_path):
    """Runs of an unusually noisy machine are not reported as slower."""

    def run(number):
        def change(profile):
            profile["created"] = f"2026-11-0{number + 1}T08:00:00Z"
            profile["devices"][0]["name"] = "NVIDIA X1"  # a model without known cards
            factor = (1, 0.94, 1.02, 0.96, 1.03, 0.95, 1.01, 0.97)[number]
            scale(profile, factor, "tensor.bf16")

        return write_changed(tmp_path / f"{number}.json", change)

    runs = [run(number) for number in range(8)]
    compared = ("compare", *runs[:2], *GATE)
    peakline(*compared, code=1)
    (tmp_path / "elsewhere").mkdir()
    kept = tmp_path / "elsewhere/ours.population.json"
    write = ("repeatability", *runs, "--write", kept)
    assert "full runs of 1 card" in peakline(*write, code=0).stderr
    refused(*write, words=["--write", "not overwritten"])
    named = peakline(*compared, "--population", kept, code=0)
    assert re.match(r"WARN [^\n]*\(with ours.population.json\)", named.stdout)
    found = kept.rename(tmp_path / "ours.population.json")
    peakline(*compared, code=0)
    hidden = found.rename(tmp_path / ".ours.population.json")
    peakline(*compared, code=1)
    found = hidden.rename(found)
    assert document(*compared)["populations"] == [str(found)]
    # A population is no profile; a broken one is refused by name.
    peakline("fleet", tmp_path, code=0)
    assert "  1 card" in peakline("check", runs[0], "--against", found, "--all").stdout
    broken = tmp_path / "broken.population.json"
    broken.write_text("{}")
    for command in (compared, ("run", "--dry-run", "-o", f"{tmp_path}/")):
        refused(*command, words=[broken, "schema"])
    refused("run", "--dry-run", "--population", runs[0], words=[runs[0], "schema"])


@pytest.mark.parametrize("separator", [[], ["--"]], ids=str)
def test_regression_only_fails_where_asked(scaled, separator):
    slower = scaled("slower.json", 0.5)
    compared = ("compare", GOLDEN, *separator, slower)
    text = stdout_of(*compared)
    assert text.startswith(
        "SLOWER  gpu3: HBM read 50.0 % slower, BF16 Tensor Cores achievable 50.0 %\n"
    )
    assert "FAIL" not in text
    failed = peakline(*compared, *GATE, code=1)
    assert failed.stdout.startswith("FAIL  gpu3: HBM read 50.0 % slower")
    assert "faster" in peakline("compare", slower, "--", GOLDEN, *GATE, code=0).stdout
    assert peakline("compare", slower, GOLDEN).stdout.startswith("FASTER  ")
    found = document(*compared)
    assert (found["base_files"], found["new_files"]) == ([str(GOLDEN)], [str(slower)])


def test_folders_hold_a_fleet(scaled, tmp_path):
    uuids = [gpu["uuid"] for gpu in json.loads(GOLDEN.read_text())["devices"]]
    for side, factors in (("before", (1, 1)), ("after", (1, 0.9))):
        (tmp_path / side).mkdir()
        for node, factor in enumerate(factors):
            file = scaled(f"node{node}.json", factor)
            text = file.read_text()
            for gpu, uuid in enumerate(uuids):
                text = text.replace(uuid, f"GPU-{node}{gpu:07}")
            profile = json.loads(text)
            profile["host"]["hostname"] = f"node{node}"
            file.unlink()
            (tmp_path / side / file.name).write_text(json.dumps(profile))
    command = ("compare", tmp_path / "before", "--", tmp_path / "after")
    text = stdout_of(*command)
    assert text.startswith("SLOWER  1 of 4 cards compared: node1 gpu3 (")
    assert "(HBM read 10.0 % slower, BF16 Tensor Cores achievable 10.0 %)" in text.splitlines()[0]
    found = document(*command)
    assert found["machines"] == ["node0", "node1"]
    assert [Path(name).name for name in found["base_files"]] == ["node0.json", "node1.json"]
    slower = [r["name"] for r in found["gate"]["reasons"] if r["code"] == "slower"]
    assert "node1/gpu3/hbm.read/measured" in slower
    itself = peakline("compare", tmp_path / "before", tmp_path / "before")
    assert itself.stderr.endswith(" hold the same run; so does one other pair\n")
    assert itself.stderr.count("\n") == 1
    (tmp_path / "empty").mkdir()
    refused("compare", tmp_path / "before", "--", tmp_path / "empty", words=["empty"])


def test_one_gpu_of_a_node_against_another():
    h100s = SOURCE / "reports/reference/cards/nvidia-h100-80gb-hbm3"
    node, alone = h100s / "vw-full1.json.gz", h100s / "s-full1.json.gz"
    gate = ("compare", node, alone, *GATE)
    lost = peakline(*gate, code=1).stdout
    assert lost.startswith("FAIL  gpu1: NVIDIA H100 80GB HBM3: not in the new profiles")
    assert "--device" in lost
    for device, pair in (("0", "GPU 0"), ("1:0", " → GPU 0")):
        text = stdout_of(*gate, "--device", device, "--all")
        assert text.startswith("PASS  s-full1 is as fast as vw-full1 within ")
        assert pair in text
        assert "nvlink" not in text
    refused("compare", node, alone, "--device", "1", words=[alone, "no GPU '1'", "0 (GPU-"])


def test_a_run_against_itself():
    same = peakline("compare", GOLDEN, *GATE, "--", GOLDEN, code=0)
    assert same.stdout.startswith("WARN  ")
    assert "by itself fails check: gpu3/health/xid and 1 more\n" in same.stdout
    assert same.stderr == f"peakline: {GOLDEN} and {GOLDEN} hold the same run\n"
    assert peakline("compare", GOLDEN, GOLDEN).stdout.startswith("SAME  ")


def test_what_is_gone_fails_unless_it_is_allowed(changed):
    def lose(profile):
        profile["devices"] = profile["findings"] = []
        for key in ("measurements", "ceilings", "missing_ceilings", "rooflines", "headlines"):
            profile[key] = [row for row in profile[key] if row.get("device") == "host"]
        profile["curves"] = profile["memory_map"] = []

    gate = ("compare", GOLDEN, changed("lost.json", lose), *GATE)
    assert "gpu3: NVIDIA H200: not in the new profiles" in stdout_of(*gate, code=1)
    peakline(*gate, "--allow", "gpu3", code=1)
    # Only a virtual machine's host is left, which cannot be judged.
    names = ("gpu3", "gpu4", "gpu5", "machine/judged")
    found = document(*gate, *(f"--allow={name}" for name in names))["gate"]
    assert (found["passed"], found["unused"]) == (True, ["gpu5"])
    assert [reason["name"] for reason in found["reasons"]] == ["gpu3", "gpu4", "machine/judged"]


def test_several_runs_a_side_and_the_document(scaled):
    runs = [scaled(f"{i}.json", 1 + i / 1000) for i in range(6)]
    found = document("compare", *runs[:3], "--", *runs[3:], "--threshold", "5")
    assert found["schema"] == "peakline-comparison"
    assert len(runs) // 2 in found.values()
