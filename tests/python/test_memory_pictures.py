"""The memory map, and single instructions: what is drawn, and where."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import by_key, figure_of, loaded
from drawing import lines, texts
from peakline.pictures import Picture

pytest.importorskip("matplotlib")


def test_instructions_per_clock_beside_the_documented_rate(drawn: dict[str, Picture]) -> None:
    picture = drawn["instructions"]
    (axes,) = figure_of(picture).axes
    found = lines(picture)
    assert found["measured"] == pytest.approx([(126.5, 0), (253, 1), (15.9, 2), (4, 3)])
    assert found["documented"] == [(128, 0), (256, 1), (16, 2)]
    # A bar on a log scale has an end but no length to be read.
    assert (axes.get_xlabel(), len(axes.patches)) == ("results per clock and SM, log scale", 0)
    assert {"fp32 fma", "4 cycles", "61 cycles", "sin"} <= set(texts(picture))


def test_instructions_of_which_none_is_documented(document: dict[str, Any]) -> None:
    for row in document["curves"]:
        row["figures"] = [f for f in row["figures"] if f["name"] != "documented"]
    picture = by_key(loaded(document))["instructions"]
    assert set(lines(picture)) == {"measured"}
    assert "documented" not in texts(picture)


def test_the_memory_map_has_a_row_for_each_level(drawn: dict[str, Picture]) -> None:
    picture = drawn["memory-map"]
    found = lines(picture)
    assert found["l1"] == [(pytest.approx(16), 1)]
    assert (found["l2"], found["l2, far"]) == ([(140, 2)], [(250, 2)])
    assert "host" not in found  # its latency is not known
    assert found["l2, rate"] == [(9000, 2)]
    for axes in figure_of(picture).axes:
        assert (axes.get_xlabel().endswith(", log scale"), len(axes.patches)) == (True, 0)
    said = set(texts(picture))
    assert {"12.0 ns", "140 ns", "250 ns far", "33000", "59.9"} <= said
    assert {
        "L1\nholds 128 KiB per SM",
        "L2\nholds 50 of 60 MiB, 25 MiB near",
        "host memory",
    } <= said
    assert {"L1\n128 B lines, sectors of 32 B", "device memory\n64 B at a time"} <= said
    assert "L2\n128 B lines" in said


def test_a_memory_map_needs_latencies(document: dict[str, Any]) -> None:
    for level in document["memory_map"]:
        level.pop("bytes_per_s", None)
    assert len(figure_of(by_key(loaded(document))["memory-map"]).axes) == 1
    document["memory_map"][0]["label"] = "x" * 1000
    assert "x" * 20 + "...\n228 KiB per SM" in texts(by_key(loaded(document))["memory-map"])
    document["memory_map"] = document["memory_map"][:1]
    assert "memory-map" not in by_key(loaded(document))
