"""Contributed profiles are sound. tests/unit/population_test.cpp checks the populations."""

import copy
import gzip
import json
import re

import peakline
import pytest
from conftest import GPU, QUICK, ROOT, loaded
from test_reference import MARGIN

FILES = sorted((ROOT / "reports/reference/cards").glob("*/*"))
SHORT_UUID = re.compile(r"GPU-[0-9a-f]{8}(-\d+)?")
UUID = "7270db5f-017b-cc7d-fdff-9d6865436211"
WHOLE_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def document_of(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def told(document):
    """Information that identifies the machine or its owner."""
    if document["host"].get("hostname"):
        yield "names its host"
    if WHOLE_UUID.search(json.dumps(document)):
        yield "has a whole UUID"
    software = document["software"].get("environment", {})
    words = [word for word in document["command"] if not word.startswith("--filter")]
    if any("/" in word for word in [*words, *software.values()]):
        yield "has a path"
    for device in document["devices"]:
        if not SHORT_UUID.fullmatch(device["uuid"]):
            yield "has a whole UUID"
        if any(p.get("name") or p["pid"] for p in device.get("processes", ())):
            yield "names another process"


def faults(profile):
    """Reasons to exclude a profile; the program itself excludes single unsteady rows."""
    if not profile.complete:
        yield "is not complete"
    for finding in profile.findings:
        if finding.severity == "error":
            yield f"has an error: {finding.message}"
    points = {(m.device, m.name): m for m in profile.measurements}
    known = peakline.population(profile.devices[0].name, profile.mode).figures
    methods = {(f.resource, f.basis): f.method_version for f in known}
    for gpu in profile.devices:
        # Theory is at the stated clock, above which some cards run by a step.
        stated = gpu.sm_clock_max_hz
        above = max(1, (gpu.sm_clock_seen_max_hz or stated) / stated)
        for c in profile.ceilings:
            if c.device != gpu.uuid or not c.measurement:
                continue
            name = f"{c.resource}/{c.basis}"
            m = points[c.device, c.measurement]
            limit = profile.ceiling(c.device, c.resource, "theoretical")
            if limit is not None and c.value > MARGIN * above * limit.value:
                yield f"{name} is beyond its limit"
            if m.status != "ok" or not m.verified:
                yield f"{name} is not verified"
            if methods.get((c.resource, c.basis), m.method_version) != m.method_version:
                yield f"{name} is measured by method {m.method_version}, the population by another"


def counted_twice(documents):
    """Cards and runs that a population would count twice."""
    runs = set()
    for document in documents:
        for device in document["devices"]:
            # The runs of the reference's card are rows of tests/unit/runs_of_h200s.csv.
            if device["uuid"][:12] == GPU[:12]:
                yield f"{device['uuid']} is the card of the reference profile"
            run = (device["uuid"], document["created"])
            if run in runs:
                yield f"{device['uuid']} has two runs of {document['created']}"
            runs.add(run)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_contributed_card_is_sound(path):
    assert path.name.endswith(".json.gz")
    assert [*told(document_of(path))] == []
    assert [*faults(peakline.load(path))] == []


def test_no_card_counts_twice():
    assert [*counted_twice([document_of(path) for path in FILES])] == []


def measurement(document, resource):
    """The measurement of a GPU's ceiling."""
    (name,) = (
        c["measurement"]
        for c in document["ceilings"]
        if c["resource"] == resource and c["basis"] == "measured"
    )
    (found,) = (
        m
        for m in document["measurements"]
        if "/".join([m["id"], *(f"{k}:{v}" for k, v in m.get("params", {}).items())]) == name
    )
    return found


def ceiling(document):
    (found,) = (
        c for c in document["ceilings"] if (c["resource"], c["basis"]) == ("hbm.read", "measured")
    )
    return found


FAULTS = [
    (lambda d: d.update(complete=False), "is not complete"),
    (lambda d: d["findings"][0].update(severity="error"), "has an error"),
    (lambda d: ceiling(d).update(value=4.9e12, ci_high=4.9e12), "hbm.read/measured is beyond"),
    (lambda d: measurement(d, "hbm.copy").update(verified=False), "hbm.copy/measured is not"),
    (lambda d: measurement(d, "hbm.copy").update(method_version=1), "is measured by method 1"),
    (lambda d: d["host"].update(hostname="node7"), "names its host"),
    (lambda d: d["command"].insert(0, "/home/ann/a.json"), "has a path"),
    (lambda d: d["software"].update(environment={"LD_LIBRARY_PATH": "/opt/a"}), "has a path"),
    (lambda d: d["devices"][0].update(uuid="GPU-7270db5f-017b"), "has a whole UUID"),
    (lambda d: d["findings"][0].update(message=UUID), "has a whole UUID"),
    (lambda d: d["devices"][0].update(processes=[{"pid": 0, "name": "x"}]), "names another proc"),
]


@pytest.mark.parametrize(("change", "fault"), FAULTS)
def test_unsound_profile_is_found(change, fault):
    document = document_of(QUICK)
    change(document)
    found = [*told(document)] or [*faults(loaded(document))]
    assert len(found) == 1 and fault in found[0]


def test_a_card_twice_is_found():
    document = document_of(QUICK)
    assert len([*counted_twice([document, document])]) == 1
    again = copy.deepcopy(document)
    again["created"] = "2026-11-24T17:00:00Z"
    assert [*counted_twice([document, again])] == []
    again["devices"][0]["uuid"] = GPU
    assert "the reference profile" in next(counted_twice([again]))
