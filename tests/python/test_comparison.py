"""The page of a comparison, from `peakline compare --json`."""

import re

import pytest
from drawing import on_both_canvases
from peakline.commands.documents import page_of
from peakline.page import comparison_page
from peakline.page.comparison import answer
from peakline.pictures import draw
from peakline.pictures.comparison import VERDICTS, ratios
from test_chromium import needs_chromium, probed

LABELS = {"hbm.read": "HBM read", "l2.read": "L2 read"}


def row(resource, ratio, verdict, why=None):
    side = {"value": 9.6e12, "runs": 1, "sm_clock_hz": None, "power_w": None, "limit": None}
    found = {"resource": resource, "basis": "measured", "label": LABELS.get(resource, resource)}
    found |= {"unit": "B/s", "base": side, "new": {**side, "value": 9.6e12 * ratio}}
    found |= {"ratio": ratio, "ratio_low": ratio * 0.98, "ratio_high": ratio * 1.02}
    return found | {"verdict": verdict, "why": why}


def device(name, *ceilings):
    curve = {
        "id": "latency.chase",
        "label": "latency chase",
        "median_ratio": 1.01,
        "ratio_low": 0.99,
        "ratio_high": 1.03,
    }
    found = {"base": name, "new": name, "same_model": True, "shared_host": False}
    found |= {"ceilings": list(ceilings), "only_base": ["layout.transpose"], "only_new": []}
    found["curves"] = [{**curve, "verdict": "inconclusive", "parts": None, "points": []}]
    return found | {"differences": [{"what": "driver", "base": "580.1", "new": "580.2"}]}


def compared():
    """Two GPUs; the second one's L2 is slower, but not beyond what one run can prove."""
    reason = {"code": "slower", "name": "gpu0/hbm.read/measured", "outcome": "fail"}
    reason |= {"text": "0.900", "allowed": False}
    found = {"schema": "peakline-comparison", "schema_version": 2, "verdict": "slower"}
    found |= {"sentence": "no loss above 5 % in any figure", "threshold": 0.02}
    found |= {"base_profiles": 1, "new_profiles": 3, "only_base": [], "only_new": []}
    found["gate"] = {"passed": False, "reasons": [reason], "unused": []}
    found["devices"] = [
        device("GPU 0 · NVIDIA H200", row("hbm.read", 0.9, "slower", "heat")),
        device("GPU 1 · NVIDIA H200", row("l2.read", 0.941, "inconclusive")),
    ]
    return found


@pytest.fixture
def document():
    return compared()


def test_first_sentence_is_the_programs_own(document):
    document["sentence"] = "gpu0: HBM read -10.0 %, and 2 more"
    assert answer(document) == "gpu0: HBM read -10.0 %, and 2 more."


def test_two_models_are_compared_and_not_judged(document):
    rows = row("hbm.read", 1.4, "not_judged"), row("hbm.write", 1.001, "same")
    document["devices"] = [{**device("GPU 0 · A", *rows), "same_model": False, "new": "GPU 0 · B"}]
    assert answer(document) == (
        "B against A: faster in 1 of 2 ceilings, most in HBM read (1.40 ×). Two models are "
        "compared, not judged."
    )


def test_curves_that_deviate_are_open_by_name(document):
    (curve,) = document["devices"][0]["curves"]
    slow = {**curve, "id": "launch.graph", "label": "launch graph", "verdict": "slower"}
    document["devices"][0]["curves"].append(slow)
    opened, _, folded = (
        comparison_page(document).partition("Curves that deviate")[2].partition("<details")
    )
    assert "launch graph" in opened
    assert "latency chase" not in opened
    assert "1 curve: " in folded


def test_warnings_of_the_new_runs_are_listed(document):
    warning = {"code": "health", "name": "gpu0/health/thermal_limit", "outcome": "warn"}
    document["gate"]["warnings"] = [warning | {"text": "It overheated at 82 °C."}]
    page = comparison_page(document)
    assert "<b>warning</b> gpu0/health/thermal_limit: It overheated at 82 °C.</li>" in page


def test_the_gravest_rows_come_first(document):
    rows = [row(f"a.{v}", 1.0, v) for v in ("same", "inconclusive", "slower", "faster")]
    page = comparison_page({**document, "devices": [device("GPU 0 · A", *rows)]})
    table = page[page.index('data-picture="ceiling-table"') :]
    assert re.findall(r"<tr><td>a\.(\w+)", table) == ["slower", "faster", "inconclusive", "same"]


def test_missing_labels_are_made_from_names(document):
    del document["devices"][0]["ceilings"][0]["label"]
    assert "<td>hbm read</td>" in comparison_page(document)


@needs_chromium
def test_a_phone_shows_ratio_and_verdict(document, tmp_path):
    wide = row("hbm.read", 0.9, "within_model", "memory clock 3201 → 2880 MHz") | {
        "label": "FP16 Tensor Cores (FP16 sums) instruction"
    }
    page = comparison_page({**document, "devices": [device("GPU 0 · NVIDIA H200", wide)]})
    seen, log = probed({"compared": (page, 390)}, tmp_path)["compared"]
    assert log == []
    assert seen["overflow"] <= 0
    ends = dict(reversed(seen["heads"]))
    assert 0 < ends["ratio"] < ends["verdict"] <= 390


def test_a_fleets_page_draws_whom_a_reason_names(document):
    device = document["devices"][0]
    document["machines"] = [f"node{i}" for i in range(30)]
    document["devices"] = [
        device | {"machine": node, "device": "gpu0"} for node in document["machines"]
    ]
    document["sentence"] = "2 of 30 cards: node3 gpu0 (HBM read 4.1 % slower)"
    document["gate"]["reasons"] = [
        {"code": "slower", "name": f"{node}/gpu0/hbm.read/measured", "outcome": "fail"}
        | {"text": "0.959 times as fast", "allowed": node == "node9"}
        for node in ("node3", "node9", "node17")
    ]
    shift = {"label": "HBM read", "model": "NVIDIA H200", "cards": 30, "verdict": "same"}
    document["fleet"] = [shift | {"ratio": 0.995, "ratio_low": 0.993, "ratio_high": 0.997}]
    page = comparison_page(document)
    assert "2 of 30 cards: node3 gpu0 (HBM read 4.1 % slower)." in page
    headings = re.findall(r'<h2 id="[^"]*">([^<]*)', page)
    assert [heading.partition(" · ")[0] for heading in headings] == [
        "The fleet as a whole",
        "node3",
        "node17",
        "The other devices",
    ]
    assert page.count("<td>node") == 28


def test_other_models_and_hosts_are_not_judged(document):
    first, second = document["devices"]
    first["same_model"], second["shared_host"] = False, True
    document["gate"]["reasons"][0] |= {"code": "different_model", "outcome": "cannot_judge"}
    page = comparison_page(document)
    assert "Two models: their ratios are facts about them, not verdicts." in page
    assert "Not judged: a virtual machine" in page
    assert "<b>warning</b> gpu0, HBM read: 0.900</li>" in page


@on_both_canvases
def test_ceilings_have_ratio_and_interval(canvas):
    rows = [row(f"hbm.{v}", 0.95 + i / 50, v) for i, v in enumerate([*VERDICTS, "same"])]
    picture = ratios(device("GPU 0", *rows), 0.02)
    (axes,) = draw(picture, canvas).axes
    marks = {
        (y, round(x, 6))
        for line in axes.get_lines()
        if not str(line.get_label()).startswith("_") and line.get_linestyle() == "None"
        for x, y in line.get_xydata().tolist()
    }
    assert marks == {(i, round(100 * (r["ratio"] - 1), 6)) for i, r in enumerate(rows)}
    intervals = [x for x in axes.get_lines() if str(x.get_label()).startswith("_interval")]
    assert len(intervals) == len(rows)
    legend = axes.get_legend()
    assert legend and len(legend.get_texts()) == len(VERDICTS)
    assert ratios(device("GPU 0"), 0.02) is None


def test_the_command_reads_it(report, document, write, tmp_path):
    path = write(document, "compared.json")
    report.stdout(path)
    assert (tmp_path / "compared" / "comparison.html").exists()
    report.refused(path, "--format", "png")


def test_page_is_that_of_the_document(document, write):
    assert page_of(write(document)) == ("comparison", comparison_page(document))
