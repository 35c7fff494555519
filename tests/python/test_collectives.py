"""Collectives between GPUs: what a curve says between its points."""

from __future__ import annotations

from typing import Any

import peakline
import pytest
import synthetic
from conftest import loaded
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


def measured(document: dict[str, Any], sizes: list[int]) -> peakline.Profile:
    return loaded({**document, "measurements": rows(sizes)})


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
