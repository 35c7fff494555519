"""Traces whose steps lose time to a known cause: the report names each."""

import functools
import json

import pytest
from conftest import CAUSES as FOLDER
from conftest import ONE_GPU, reference
from made_traces import TABLES, export
from peakline.workload.advice import advice
from peakline.workload.analysis import analyze
from peakline.workload.model import HostMemory, Way
from peakline.workload.part import COPIES, KERNELS, Part
from peakline.workload.step_text import headline, losses

TRUTH = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))["cases"]
LAUNCHES = (Part.LAUNCH,)
# The headline's name of each cause, and its parts.
CAUSES = {
    "synchronization": ("synchronization", (Part.SYNCHRONIZATION,)),
    "copies": ("copies that nothing hides", COPIES),
    "loader": ("waiting for data", (Part.LOADER,)),
    "python": ("waiting for the CPU (Python)", (Part.PYTHON,)),
    "launch": ("launching kernels", LAUNCHES),
    "kernels": ("kernels above their lower bound", (Part.KERNELS_BEYOND,)),
    "allocation": ("allocating memory", (Part.ALLOCATION,)),
}


@functools.cache
def analysis(case):
    return analyze(reference(ONE_GPU), [FOLDER / f"{case}.json.gz"])


def seconds(case, *parts):
    """Seconds of parts in a step."""
    found = analysis(case)
    return sum(found.parts.get(part, 0) for part in parts) / found.steps * 1e-9


@pytest.mark.parametrize("case", TRUTH)
def test_parts_add_up(case):
    found = analysis(case)
    assert sum(found.parts.values()) == found.nanoseconds
    assert found.steps == len(TRUTH[case]["traced_s"])
    measured = sum(TRUTH[case]["traced_s"])
    # An event at the start of a step precedes the device's waiting.
    assert found.nanoseconds * 1e-9 == pytest.approx(measured, rel=0.1)
    assert found.ranks[0].by == "ProfilerStep#"
    assert not any("Warning" in note or "No steps" in note for note in found.notes)


@pytest.mark.parametrize("case", [case for case, row in TRUTH.items() if row["cause"] != "none"])
def test_the_cause_is_named(case):
    name, parts = CAUSES[TRUTH[case]["cause"]]
    found = analysis(case)
    assert losses(found)[0].name == name
    first = advice(found)[0]
    assert first.code in parts
    assert f"the most to save is {first.subject or name}, at most" in headline(found)


@pytest.mark.parametrize("case", ["healthy", "streams"])
def test_no_cause_is_made_up(case):
    found = analysis(case)
    assert all(loss.share < 0.03 for loss in losses(found))
    assert advice(found) == []
    assert found.idle < 0.02


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        ("item", (Part.SYNCHRONIZATION, Part.LAUNCH, Part.PYTHON, *COPIES)),
        ("tiny", LAUNCHES),
        ("unaligned", (Part.KERNELS_BEYOND,)),
        ("allocation", (Part.ALLOCATION, Part.PYTHON)),
    ],
)
def test_cause_takes_what_its_cure_saves(case, parts):
    row = TRUTH[case]
    saved = row["step_s"] - row["without_s"]
    # A profiler makes launches slower.
    assert 0.9 * saved < seconds(case, *parts) < 1.5 * saved


def test_copies_take_what_events_measured():
    for case in ("pageable", "exposed"):
        assert seconds(case, *COPIES) == pytest.approx(TRUTH[case]["copy_s"], rel=0.06)
    (pinned,) = [one for one in advice(analysis("pageable")) if one.topic == "host memory"]
    row = TRUTH["pageable"]
    assert pinned.saving_s == pytest.approx(row["step_s"] - row["without_s"], rel=0.05)
    (hidden,) = advice(analysis("exposed"))
    assert hidden.topic == "overlap"


def test_device_work_shortens_waiting_for_host():
    for case, part, known in (
        ("loader", Part.LOADER, "loader_s"),
        ("python", Part.PYTHON, "python_s"),
    ):
        row = TRUTH[case]
        assert row[known] - 1.1 * row["without_s"] < seconds(case, part) < row[known]


def test_two_kernels_at_once_share_the_time():
    (rank,) = analysis("streams").ranks
    rows = rank.timeline.rows
    lengths = (rows["end"] - rows["start"])[rank.owned > 0]
    assert rank.owned.sum() == pytest.approx(lengths.sum() / 2, rel=0.03)
    assert rank.owned.sum() <= rank.nanoseconds


def test_nodes_of_graphs_are_told_from_launches():
    found = analysis("graph")
    row = TRUTH["graph"]
    assert found.ranks[0].nodes == pytest.approx(3 * 3 * (row["nodes"] - 1), rel=0.02)
    assert "nodes of CUDA graphs" in advice(found)[0].text


def test_each_read_is_counted():
    found = analysis("item")
    assert found.ranks[0].waits == pytest.approx(found.steps * TRUTH["item"]["reads"], abs=3)
    assert "K = 8191 is no multiple of 8 elements" in advice(analysis("unaligned"))[0].text


@pytest.mark.parametrize("case", ["item", "loader", "exposed", "graph", "allocation", "streams"])
def test_nsight_export_gives_the_same_parts(case, tmp_path):
    """A trace's timeline as nsys exports it: everything but shapes."""
    found = analysis(case)
    exported = analyze(reference(ONE_GPU), [as_export(case, tmp_path / "export.sqlite")])
    assert sum(exported.parts.get(part, 0) for part in KERNELS) == sum(
        found.parts.get(part, 0) for part in KERNELS
    )
    others = set(found.parts) - set(KERNELS)
    assert {part: exported.parts.get(part) for part in others} == {
        part: found.parts[part] for part in others
    }
    assert [s.length for s in exported.ranks[0].steps] == [s.length for s in found.ranks[0].steps]


def as_export(case, path):
    """An export with a trace's devices, calls and ranges."""
    trace = analysis(case).ranks[0].timeline.trace
    process = 1 << 24

    def rows(columns):
        values = zip(*(columns[name].tolist() for name in columns.fields), strict=True)
        return [dict(zip(columns.fields, row, strict=True)) for row in values]

    ways = {Way.TO_DEVICE: 1, Way.TO_HOST: 2, Way.WITHIN: 8}
    hosts = {HostMemory.PAGEABLE: 0, HostMemory.PINNED: 1}
    tables = {name: [] for name in TABLES}
    for a in rows(trace.activities):
        common = (a["start"], a["end"], a["device"], a["stream"], a["correlation"], process)
        if a["way"] == Way.FILL:
            tables["CUPTI_ACTIVITY_KIND_MEMSET"].append((*common, a["bytes"]))
        elif a["way"]:
            way, host = Way(a["way"]), hosts.get(HostMemory(a["host"]), 2)
            ends = (2, host) if way == Way.TO_HOST else (host, 2)
            tables["CUPTI_ACTIVITY_KIND_MEMCPY"].append((*common, a["bytes"], ways[way], *ends))
        else:
            tables["CUPTI_ACTIVITY_KIND_KERNEL"].append((*common, a["name"], a["name"], None))
    for c in rows(trace.calls):
        thread = process | c["thread"]
        tables["CUPTI_ACTIVITY_KIND_RUNTIME"].append(
            (c["start"], c["end"], thread, c["correlation"], c["name"])
        )
    for r in rows(trace.ranges):
        tables["NVTX_EVENTS"].append(
            (r["start"], r["end"], 59, None, r["name"], process | r["thread"])
        )
    tables["StringIds"] = list(enumerate(trace.names))
    return export(path, tables)
