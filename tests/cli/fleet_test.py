"""`peakline fleet`: cards of one model against one another."""

import csv
import io
import json
import os
import re

import pytest
from program import document, peakline, refused, scale, stdout_of, write_cards, write_changed

GATE = ("--fail-on", "outlier")


@pytest.fixture
def folder(tmp_path):
    """Profiles of six nodes, and entries that are not profiles."""
    folder = tmp_path / "fleet"
    write_cards(folder, 6)
    (folder / ".half-written.json").write_text("{")
    os.mkfifo(folder / "pipe.json")
    (folder / "folder.json").mkdir()
    return folder


def test_none_stands_out(folder):
    text = stdout_of("fleet", folder)
    assert text.startswith("PASS  6 GPUs: none stands out\n")
    assert re.search(r"NVIDIA H200 · full runs · \d+ GPUs", text)
    assert "node5" not in text
    assert re.search(r"node5 +GPU \d+ +\w+", peakline("fleet", folder, "--all").stdout)
    few = peakline("fleet", folder / "node1.json", *GATE, code=0)
    assert few.stdout.startswith("PASS  1 GPU: none stands out")


def test_slow_card(folder):
    slow = folder / "node3.json"
    write_changed(slow, lambda profile: scale(profile, 0.5, "hbm.read"), base=slow)
    line = r"FAIL  node3 gpu0 \(H200\): HBM read 5\d\.\d % below healthy; the other 5 GPUs pass\n"
    assert re.match(line, peakline("fleet", folder, code=0).stdout)
    found = document("fleet", folder, *GATE, code=1)
    assert (found["schema"], found["profiles"]) == ("peakline-fleet", 6)
    members = [member for group in found["groups"] for member in group["members"]]
    low = {
        (member["node"], row["resource"])
        for member in members
        for row in member["ceilings"]
        if row["standing"] == "low"
    }
    assert low == {("node3", "hbm.read")}
    names = {rule["name"] for member in members for rule in member["rules"]}
    peakline("fleet", folder, *GATE, *(f"--allow={name}" for name in names), code=0)
    rows = list(csv.DictReader(io.StringIO(peakline("fleet", folder, "--csv").stdout)))
    assert ("node3", "low") in {(r["node"], r["standing"]) for r in rows if r["cause"] == ""}


def test_newest_run_lacks_a_gpu_or_is_from_the_future(folder):
    def newer(name, created, change):
        def change_all(profile):
            profile["created"] = created
            change(profile)

        write_changed(folder / name, change_all, base=folder / "node1.json")

    newer("later.json", "2099-01-01T00:00:00Z", lambda profile: scale(profile, 0.5))
    text = peakline("fleet", folder, *GATE, code=0).stdout
    assert f"{folder}/later.json: dated in the future" in " ".join(text.split())

    def lose(profile):
        uuid = profile["devices"].pop()["uuid"]
        for rows in (rows for rows in profile.values() if isinstance(rows, list)):
            rows[:] = [row for row in rows if row == "run" or uuid not in json.dumps(row)]

    newer("lost.json", "2026-11-26T00:00:00Z", lose)
    text = peakline("fleet", folder, *GATE, code=1).stdout
    assert text.startswith("FAIL  node1 gpu0 (H200): not in the machine's newest run (")
    allowed = ("--allow", "node1/gpu0/lost", "--allow", "node1/host/gpus")
    peakline("fleet", folder, *GATE, *allowed, code=0)


def test_drift_is_data_and_changes_no_exit_code(folder):
    node = folder / "node3.json"
    write_changed(node, lambda profile: profile["software"].update(driver="575.51"), base=node)
    (drift,) = document("fleet", folder, *GATE)["drift"]
    usual, other = (drift["majority"], "575.51")
    assert {each["value"]: len(each["on"]) for each in drift["values"]} == {usual: 5, other: 1}
    assert {"value": other, "on": [{"node": "node3"}]} in drift["values"]
    assert (drift["fact"], drift["of"], drift["unknown"]) == ("driver", "machine", [])
    line = f"  driver: {usual} on 5 machines; 575.51 on node3\n"
    assert line in stdout_of("fleet", folder)
    assert drift["sentence"] in line


@pytest.mark.parametrize("first", "=+-@")
def test_no_cell_is_a_formula(tmp_path, first):
    text = f'{first}HYPERLINK("x",1)'

    def change(profile):
        profile["host"]["hostname"] = profile["devices"][0]["name"] = text

    path = write_changed(tmp_path / f"{first}a.json", change)
    rows = list(csv.DictReader(io.StringIO(stdout_of("fleet", path, "--csv"))))
    assert {row["model"] for row in rows} >= {f"'{text}"}
    assert not [
        cell for row in rows for cell in row.values() if cell[:2] in (f"{first}H", f"{first}a")
    ]


def test_a_reference_beside_the_profiles_is_no_profile(folder):
    ours = folder / "ours.json"
    peakline("fleet", folder, "--write-reference", ours, code=0)
    for command in ("fleet", "check"):
        result = peakline(command, folder, code=0)
        assert f"left out: {ours}: a reference, not a profile" in result.stderr
    peakline("check", folder, "--against", folder, code=0)
    refused("fleet", ours, words=[str(ours)])
    refused("fleet", folder, "--write-reference", "", words=["--write-reference", "FILE"])
    # Whatever else its first lines say, a profile is one.
    profile = folder / "node0.json"
    text = profile.read_text()
    profile.write_text(text.replace('"command": [', '"command": ["peakline-population", ', 1))
    assert "6 profiles" in peakline("fleet", folder, code=0).stdout


def test_unreadable_file_of_many_is_left_out(folder):
    (folder / "broken.json").write_text("{")
    partial = peakline("fleet", folder, code=3)
    line = r"peakline: left out: [^\n]*broken.json: [^\n]+\n"
    assert re.fullmatch(line, partial.stderr)
    assert "6 profiles" in partial.stdout
