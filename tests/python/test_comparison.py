"""The page of a comparison, from what `peakline compare --json` prints."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from peakline.commands.documents import read_document
from peakline.commands.report import main
from peakline.page import comparison_page
from peakline.pictures import Canvas, draw
from peakline.pictures.comparison import VERDICTS, ratios
from peakline.profile import ProfileError

pytest.importorskip("matplotlib")

HOSTILE = "</script><img src=x onerror=alert(1)>"


def row(resource: str, ratio: float, verdict: str, why: str | None = None) -> dict[str, Any]:
    side = {"value": 9.6e12, "runs": 1, "sm_clock_hz": None, "power_w": None, "limit": None}
    return {
        "resource": resource,
        "basis": "measured",
        "unit": "B/s",
        "base": side,
        "new": {**side, "value": 9.6e12 * ratio},
        "ratio": ratio,
        "ratio_low": ratio * 0.98,
        "ratio_high": ratio * 1.02,
        "verdict": verdict,
        "why": why,
    }


def device(name: str, *ceilings: dict[str, Any]) -> dict[str, Any]:
    curve = {"id": "latency.chase", "median_ratio": 1.01, "ratio_low": 0.99, "ratio_high": 1.03}
    return {
        "base": name,
        "new": name,
        "same_model": True,
        "shared_host": False,
        "ceilings": list(ceilings),
        "curves": [{**curve, "verdict": "inconclusive", "parts": None, "points": []}],
        "differences": [{"what": "driver", "base": "580.1", "new": "580.2"}],
        "only_base": ["layout.transpose"],
        "only_new": [],
    }


@pytest.fixture
def document() -> dict[str, Any]:
    """Two GPUs, of which the second one's L2 lies lower than one run can tell."""
    return {
        "schema": "peakline-comparison",
        "schema_version": 2,
        "verdict": "slower",
        "base_profiles": 1,
        "new_profiles": 3,
        "threshold": 0.02,
        "gate": {
            "passed": False,
            "reasons": [
                {
                    "code": "slower",
                    "name": "gpu0/hbm.read/measured",
                    "outcome": "fail",
                    "text": "0.900",
                    "allowed": False,
                }
            ],
            "unused": [],
        },
        "devices": [
            device("GPU 0 · NVIDIA H200", row("hbm.read", 0.9, "slower", "heat")),
            device("GPU 1 · NVIDIA H200", row("l2.read", 0.941, "inconclusive")),
        ],
        "only_base": [],
        "only_new": [HOSTILE],
    }


def test_the_page_says_what_compare_says(document: dict[str, Any]) -> None:
    page = comparison_page(document)
    assert "<h1>Compared: slower</h1>" in page
    assert "base: 1 profile, new: 3 profiles; changes below 2 % do not count" in page
    assert '<li class="error"><b>gpu0/hbm.read/measured</b> slower: 0.900</li>' in page
    # No device vanishes, and what one run cannot tell is no accusation.
    for heading in ("GPU 0 · NVIDIA H200", "GPU 1 · NVIDIA H200"):
        assert f">{heading}</h2>" in page
    assert "Of 1 ceilings: 1 slower" in page.replace("\N{NO-BREAK SPACE}", " ")
    assert "Of 1 ceilings: 1 inconclusive" in page.replace("\N{NO-BREAK SPACE}", " ")
    for cell in ("<td>slower</td><td>heat</td>", "<td>inconclusive</td><td></td>", "580.2"):
        assert cell in page
    assert HOSTILE not in page


def test_two_models_and_shared_hosts_are_not_judged(document: dict[str, Any]) -> None:
    first, second = document["devices"]
    first["same_model"], second["shared_host"] = False, True
    document["gate"]["reasons"][0] |= {"code": "different_model", "outcome": "cannot_judge"}
    page = comparison_page(document)
    assert "Two models: their ratios are facts about them, not verdicts." in page
    assert "Not judged: a virtual machine" in page
    assert '<li class="warning"><b>gpu0/hbm.read/measured</b> different model: 0.900</li>' in page


@pytest.mark.parametrize("canvas", [Canvas(), Canvas(narrow=True)], ids=["wide", "narrow"])
def test_each_ceiling_has_its_ratio_with_its_interval(canvas: Canvas) -> None:
    rows = [row(f"hbm.{v}", 0.95 + i / 50, v) for i, v in enumerate([*VERDICTS, "same"])]
    picture = ratios(device("GPU 0", *rows), 0.02)
    assert picture is not None
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


def test_the_command_reads_it(document: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "compared.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main([str(path)]) == 0
    assert (tmp_path / "compared" / "comparison.html").exists()
    assert main([str(path), "--format", "png"]) == 2


def test_another_version_or_a_broken_one_is_refused(
    document: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "compared.json"

    def read(changed: dict[str, Any]) -> object:
        path.write_text(json.dumps(changed), encoding="utf-8")
        return read_document(path)

    assert read(document) == document
    assert read({"schema": "peakline-profile"}) is None
    with pytest.raises(ProfileError, match="version 2 of peakline-comparison"):
        read({**document, "schema_version": 1})
    broken = copy.deepcopy(document)
    broken["devices"][0]["ceilings"][0]["ratio_low"] = None
    with pytest.raises(ProfileError, match="not what peakline compare --json prints"):
        read(broken)
