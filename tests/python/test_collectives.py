"""Collectives between GPUs: what a curve says between its points."""

from __future__ import annotations

import peakline
import pytest
from conftest import TWO_GPUS, document_of, reference

# These are seconds by bytes, as they stand in the file.
SECONDS = {
    m["params"]["bytes"]: m["summary"]["median_s"]
    for m in document_of(TWO_GPUS)["measurements"]
    if m["id"] == "nccl.all_reduce"
}
SIZES = sorted(SECONDS)


def seconds(nbytes: float) -> float:
    return peakline.collective_time(reference(TWO_GPUS), "all_reduce", nbytes)


def test_time_between_sizes_is_a_fixed_cost_and_a_rate() -> None:
    assert {size: seconds(size) for size in SIZES} == pytest.approx(SECONDS)
    low, high = SIZES[-3:-1]
    expected = 0.75 * SECONDS[low] + 0.25 * SECONDS[high]
    assert seconds(0.75 * low + 0.25 * high) == pytest.approx(expected)


def test_time_beyond_the_curve() -> None:
    assert seconds(SIZES[0] / 8) == SECONDS[SIZES[0]]
    assert seconds(4 * SIZES[-1]) == pytest.approx(4 * SECONDS[SIZES[-1]])


def test_a_collective_that_was_not_measured_is_an_error(profile: peakline.Profile) -> None:
    with pytest.raises(peakline.PeakError, match=r"'reduce'.* it has all_gather, "):
        peakline.collective_time(reference(TWO_GPUS), "reduce", 8)
    with pytest.raises(peakline.PeakError, match="none at all"):
        peakline.collective_time(profile, "all_reduce", 8)
    with pytest.raises(ValueError, match="nbytes"):
        seconds(0)
