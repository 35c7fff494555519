"""Pictures of the memory's latency and of the work in flight: what is drawn, and where."""

from __future__ import annotations

from typing import Any

import pytest
import synthetic
from conftest import GPU, by_key, loaded, only
from drawing import lines, panel_by_xlabel, texts
from peakline.pictures import Canvas

pytest.importorskip("matplotlib")


def rows(device: str) -> list[dict[str, Any]]:
    """Made-up latencies, and rates by what is in flight."""
    found = [
        synthetic.measurement(
            device, "latency.sweep", {"bytes": 2**power}, 16e-9 * (1 + power), "s"
        )
        for power in range(10, 38, 3)
    ]
    found += [
        synthetic.measurement(device, "latency.l2", {"part": "near"}, 138e-9, "s"),
        synthetic.measurement(device, "latency.l1", {}, 16.2e-9, "s"),
    ]
    found += [
        synthetic.measurement(device, "random.gather", {"bytes": 2**power}, 1e12, "B/s")
        for power in range(30, 37)
    ]
    for warps in (1, 4, 16, 64):
        for n in (1, 4):
            params = {"warps": warps, "loads": n}
            found.append(synthetic.measurement(device, "occupancy.hbm", params, 1e12, "B/s"))
            params = {"warps": warps, "chains": n}
            found.append(synthetic.measurement(device, "occupancy.fma", params, 6e13, "FLOP/s"))
    return found


def measured(document: dict[str, Any]) -> dict[str, Any]:
    """The document with these in place of its measurements."""
    return {**document, "measurements": rows(GPU)}


@pytest.mark.parametrize("canvas", [Canvas(), Canvas(narrow=True)], ids=["wide", "narrow"])
def test_latency_over_the_footprint_names_the_levels(
    document: dict[str, Any], canvas: Canvas
) -> None:
    picture = by_key(loaded(measured(document)))["latency"]
    drawn = lines(picture, canvas)
    assert [x for x, _ in drawn["latency"]] == [2**power for power in range(10, 38, 3)]
    assert drawn["latency"][0][1] == pytest.approx(16 * 11)
    assert [y for _, y in drawn["sectors"]] == pytest.approx([1000] * 7)
    assert {"L1 16.2 ns", "L2, near part 138 ns"} <= set(texts(picture, canvas))


def test_without_random_access_latency_is_alone(document: dict[str, Any]) -> None:
    alone = only(measured(document), "latency.")
    assert list(lines(by_key(loaded(alone))["latency"])) == ["latency"]
    assert "latency" not in by_key(loaded(only(measured(document), "random.")))


def test_occupancy_is_drawn_over_bytes_in_flight_and_warps(document: dict[str, Any]) -> None:
    picture = by_key(loaded(measured(document)))["occupancy"]
    reads = panel_by_xlabel(picture, "KiB in flight per SM")
    assert reads["4 loads"] == [(2, 1000), (8, 1000), (32, 1000), (128, 1000)]
    assert [x for x, _ in reads["1 load"]] == [0.5, 2, 8, 32]
    adds = panel_by_xlabel(picture, "warps per SM")
    assert adds["1 chain"] == adds["4 chains"] == [(1, 60), (4, 60), (16, 60), (64, 60)]
    assert "occupancy" not in by_key(loaded(only(measured(document), "latency.")))
