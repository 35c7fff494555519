"""Collectives between GPUs: what a curve says between its points, and the picture of it."""

from __future__ import annotations

from typing import Any

import peakline
import pytest
import synthetic
from conftest import by_key, loaded
from peakline.pictures import Canvas
from peakline.profile import NODE

SIZES = [8 * 8**power for power in range(10)]


def seconds(nbytes: float) -> float:
    """12 us and 400 GB/s."""
    return 12e-6 + nbytes / 400e9


def rows(sizes: list[int] = SIZES) -> list[dict[str, Any]]:
    return [
        synthetic.measurement(
            NODE,
            f"nccl.{operation}",
            {"ranks": 2, "bytes": size},
            speed * size / seconds(size),
            "B/s",
            work=size,
        )
        for operation, speed in (("all_reduce", 1), ("all_gather", 2))
        for size in sizes
    ]


CURVE = {
    "device": NODE,
    "topic": "collectives",
    "text": "All.",
    "values": {"all_reduce_smallest_s": 12e-6, "all_reduce_bus_bytes_per_s": 398e9},
}


def measured(document: dict[str, Any], sizes: list[int]) -> peakline.Profile:
    return loaded({**document, "measurements": rows(sizes), "curves": [CURVE]})


@pytest.fixture
def node(document: dict[str, Any]) -> peakline.Profile:
    return measured(document, SIZES)


def test_time_between_sizes_is_a_fixed_cost_and_a_rate(node: peakline.Profile) -> None:
    assert peakline.collective_time(node, "all_reduce", 2**20 * 100) == pytest.approx(
        seconds(2**20 * 100)
    )
    assert peakline.collective_time(node, "all_reduce", 64) == pytest.approx(seconds(64))
    assert peakline.collective_time(node, "all_gather", 64) == pytest.approx(seconds(64) / 2)


def test_time_beyond_the_curve(node: peakline.Profile) -> None:
    assert peakline.collective_time(node, "all_reduce", 1) == pytest.approx(seconds(8))
    assert peakline.collective_time(node, "all_reduce", 4 * 2**30) == pytest.approx(
        4 * seconds(2**30)
    )


def test_a_collective_that_was_not_measured_is_an_error(
    node: peakline.Profile, profile: peakline.Profile
) -> None:
    with pytest.raises(peakline.PeakError, match=r"'reduce'.* it has all_gather, all_reduce"):
        peakline.collective_time(node, "reduce", 8)
    with pytest.raises(peakline.PeakError, match="none at all"):
        peakline.collective_time(profile, "all_reduce", 8)
    with pytest.raises(ValueError, match="nbytes"):
        peakline.collective_time(node, "all_reduce", 0)


@pytest.mark.parametrize("canvas", [Canvas(), Canvas(narrow=True)], ids=["wide", "narrow"])
def test_the_picture_has_time_and_bus_bandwidth(node: peakline.Profile, canvas: Canvas) -> None:
    pytest.importorskip("matplotlib")
    from drawing import lines, texts

    picture = by_key(node, NODE)["collectives"]
    drawn = lines(picture, canvas)
    # The small ones by time, the large ones by bandwidth.
    assert [x for x, _ in drawn["all-reduce"]] == SIZES[:7] + SIZES[5:]
    written = texts(picture, canvas)
    assert {"all-reduce", "all-gather", "µs per operation", "GB/s of bus bandwidth"} <= set(written)
    assert any(text.startswith("all-reduce 39") for text in written)  # GB/s at 1 GiB
    assert picture.headline == (
        "All-reduce takes at least 12.0 µs and reaches 398 GB/s of bus bandwidth"
    )


def test_a_few_sizes_are_drawn_too(document: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    from drawing import lines

    for sizes, drawn in (([8, 2**30], [8, 2**30]), ([8, 64], [8, 64]), ([2**23, 2**30],) * 2):
        picture = by_key(measured(document, list(sizes)), NODE)["collectives"]
        assert [x for x, _ in lines(picture)["all-reduce"]] == drawn
