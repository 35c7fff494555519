"""The page of a fleet, from `peakline fleet --json`."""

import json
import re

import pytest
from peakline.commands.documents import page_of
from peakline.page import fleet_page
from test_chromium import chromium, needs_chromium


def row(value, standing="usual"):
    ceiling = {"resource": "hbm.read", "basis": "measured", "value": 4.6e12 * (1 + value)}
    return ceiling | {"deviation": value, "standing": standing}


def member(node, value, standing="usual"):
    found = {"node": node, "device": "GPU 0", "uuid": f"GPU-{node}", "file": f"{node}.json"}
    found |= {"created": "2026-11-21T10:00:00Z", "rules": [], "ceilings": [row(value, standing)]}
    if standing == "usual":
        return found | {"sound": True, "verdict": "pass", "reasons": []}
    why = ["HBM read −7.0 %: no cause known"]
    return found | {"sound": False, "verdict": "fail", "reasons": why}


def made_fleet():
    members = [member(f"node{i}", i / 1000) for i in range(9)]
    members += [member("slow", -0.07, "low"), member("node9", 0.001)]
    count = len(members)
    ceiling = {"resource": "hbm.read", "basis": "measured", "unit": "B/s", "devices": count}
    ceiling |= dict.fromkeys(("median", "p5", "p25", "p75", "p95"), 4.6e12)
    ceiling |= {"deviation": 0.003, "low": 1, "high": 0}
    ceiling |= {"lowest": 4.6e12 * 0.93, "highest": 4.6e12 * 1.008}
    group = {"model": "NVIDIA H200", "mode": "full", "judged": True, "members": members}
    group |= {"labels": {"hbm.read": "HBM read"}, "ceilings": [ceiling]}
    document = {"schema": "peakline-fleet", "schema_version": 2, "verdict": "fail"}
    document["sentence"] = "slow gpu0 (H200): HBM read 7.0 % below healthy; the other 10 GPUs pass"
    return document | {"profiles": count, "devices": count, "superseded": 0, "groups": [group]}


@pytest.fixture
def fleet():
    return made_fleet()


def test_strips_are_scaled_and_flat_ones_folded(fleet):
    (group,) = fleet["groups"]
    (first,) = group["ceilings"]
    flat = {**first, "lowest": 4.58e12, "highest": 4.61e12, "low": 0}
    wide = {**flat, "highest": 4.8e12}
    group["ceilings"] += [{**flat, "resource": "l2.read"}, {**wide, "resource": "l2.write"}]
    group["labels"] |= {"l2.read": "L2 read", "l2.write": "L2 write"}
    page = fleet_page(fleet)
    assert [strip["reach"] for strip in strips(page)] == [10, 0.5, 5]
    shown, _, folded = page.partition('<details class="group"')
    assert re.findall(r'class="strip"><span>([^<]*)', shown) == ["HBM read", "L2 write"]
    assert "1 ceiling within 2 % of the median" in folded
    assert re.findall(r'class="strip"><span>([^<]*)', folded) == ["L2 read"]
    # The script finds a strip's marks by this number.
    assert re.findall(r'data-strip="(\d)"', page) == ["0", "2", "1"]


def test_unjudged_devices_have_marks(fleet):
    (group,) = fleet["groups"]
    group["judged"] = False
    wanted = [round(100 * member["ceilings"][0]["deviation"], 2) for member in group["members"]]
    for each in group["members"]:
        each["ceilings"][0]["deviation"] = 0.0
    page = fleet_page(fleet)
    assert strips(page)[0]["values"] == wanted
    assert "Not judged" in page


def test_drift_is_listed(fleet):
    assert "Drift" not in fleet_page(fleet)
    fleet["drift"] = [{"sentence": "driver: 580 on 8 machines; 575 on <node3>"}]
    assert "<li>driver: 580 on 8 machines; 575 on &lt;node3&gt;</li>" in fleet_page(fleet)


def test_lone_device_is_compared_with_nothing(fleet):
    (group,) = fleet["groups"]
    alone = {**group, "members": group["members"][:1]}
    alone["ceilings"] = [{**group["ceilings"][0], "low": 0, "lowest": 4.6e12, "highest": 4.6e12}]
    fleet["groups"].append(alone)
    page = fleet_page(fleet).partition('id="group-1"')[2]
    assert "It has no peers here: it was compared with healthy ones that peakline knows." in page
    assert "1 ceiling</span>" in page and "without peers" in page
    alone["members"] = [{**alone["members"][0], "verdict": "cannot_judge"}]
    assert "It has no peers here.</p>" in fleet_page(fleet)
    assert "of the median" not in page.partition("<script")[0].partition("aria-label")[0]


def test_the_verdict_is_the_programs_sentence(fleet):
    assert f"<b>FAIL</b> <span>{fleet['sentence']}</span>" in fleet_page(fleet)


def test_bands_leave_out_outliers_and_few_devices(fleet):
    (group,) = fleet["groups"]
    assert strips(fleet_page(fleet))[0]["bands"] == [[0.125, 0.575]]
    group["members"] = [member(f"n{i}", i / 1000) for i in range(21)] + group["members"][9:10]
    assert strips(fleet_page(fleet))[0]["bands"] == [[0.1, 1.9], [0.5, 1.5]]
    for count, bands in ((5, 1), (4, 0)):
        group["members"] = [*group["members"][:count], member("slow", -0.07, "low")]
        assert len(strips(fleet_page(fleet))[0]["bands"]) == bands


def test_a_gpu_measured_in_two_modes_counts_once(fleet):
    (group,) = fleet["groups"]
    group["members"] = group["members"][:1]
    fleet["groups"] = [group, {**group, "mode": "quick"}]
    assert "A fleet of 1 GPU in 1 machine" in fleet_page(fleet)


def test_only_gpus_count_as_gpus(fleet):
    for kind in ("host", "node"):
        members = [{**m, "device": kind, "uuid": kind} for m in fleet["groups"][0]["members"]]
        fleet["groups"].append({**fleet["groups"][0], "model": f"a {kind}", "members": members})
    page = fleet_page(fleet)
    assert "A fleet of 11 GPUs in 11 machines" in page
    assert "a host, full runs: 11 hosts" in page
    assert "a node, full runs: 11 nodes" in page


def strips(page):
    """The script's data."""
    found = re.search(r'<script type="application/json">(.*?)</script>', page)
    assert found
    return json.loads(found[1])["strips"]


def test_outlier_is_named_once(fleet):
    (group,) = fleet["groups"]
    group["ceilings"].append({**group["ceilings"][0], "resource": "hbm.write"})
    slow = next(i for i, m in enumerate(group["members"]) if m["node"] == "slow")
    group["members"][slow]["ceilings"].append({**row(-0.09, "low"), "resource": "hbm.write"})
    assert [(s["low"], s["named"]) for s in strips(fleet_page(fleet))] == [
        ([slow], []),
        ([slow], [slow]),
    ]


def test_incomplete_machines_come_first(fleet):
    members = fleet["groups"][0]["members"]
    missing = {"code": "missing", "name": "half/gpu0/hbm.read/measured", "outcome": "fail"}
    bad = {"sound": False, "verdict": "fail", "reasons": ["no HBM read"], "rules": [missing]}
    members.append({**member("half", 0.0), **bad})
    unclear = {"sound": False, "verdict": "cannot_judge", "reasons": ["too hot to tell"]}
    members.insert(0, {**member("hot", 0.0), **unclear})
    page = fleet_page(fleet)
    places = [page.index(why) for why in ("no HBM read", "no cause known", "too hot to tell")]
    assert places == sorted(places)


@needs_chromium
@pytest.mark.parametrize(
    ("typed", "answer"), [("node3", "marked in every strip"), ("node99", "no machine of that name")]
)
def test_a_machine_is_found_by_name(fleet, tmp_path, typed, answer):
    page = fleet_page(fleet).replace("data-find>", f'data-find value="{typed}">', 1)
    path = tmp_path / "fleet.html"
    path.write_text(page, encoding="utf-8")
    done = chromium(path, "--dump-dom")
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    assert f'<span data-found="">{answer}</span>' in done.stdout
    assert 'width="300"' not in done.stdout  # the default width of a canvas that was not drawn


def test_command(report, fleet, write, tmp_path):
    path = write(fleet, "fleet.json")
    assert report.stdout(path) == f"{tmp_path}/fleet/fleet.html\n"
    assert "a fleet has one page" in report.refused(path, "--format", "png")


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "peakline-profile"}'])
def test_other_documents_are_none(tmp_path, text):
    path = tmp_path / "profile.json"
    path.write_text(text)
    assert page_of(path) is None
