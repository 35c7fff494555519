"""Two ranks of a real run: which of them costs time, and why, against clocks without a profiler."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TWO_GPUS, reference
from peakline.workload.advice import advice
from peakline.workload.analysis import Analysis, analyze
from peakline.workload.model import Kind
from peakline.workload.part import Part
from peakline.workload.text import headline

RECORDED = Path(__file__).parent / "data/recorded"
# Seconds of a step without the profiler: as it is, and where rank 1 does as rank 0.
HOST_S, WORK_S, SAME_S = 27.6e-3, 6.98e-3, 4.39e-3
# Of a larger model, with a gather before each step: rank 1's indices are scattered, then in order.
# Without the gather, gradients are reduced beside the backward pass, or not at all.
KERNEL_S, ORDERED_S, HIDDEN_S, ALONE_S = 26.15e-3, 23.93e-3, 22.44e-3, 22.37e-3


def recorded(name: str) -> Analysis:
    paths = [RECORDED / f"{name}{rank}.json.gz" for rank in (0, 1)]
    return analyze(reference(TWO_GPUS), paths)


def test_a_late_host_is_named() -> None:
    """Rank 1 computes for 20 ms on its CPU before each step."""
    found = recorded("host")
    first = advice(found)[0]
    assert (first.code, first.rank) == (Part.PYTHON.value, 1)
    assert first.saving_s == pytest.approx(HOST_S - SAME_S, rel=0.05)
    assert "waiting for the CPU (Python) on rank 1" in headline(found)
    # What rank 0 waits for it is no loss of its own.
    assert not [f for f in advice(found) if f.code == Part.COLLECTIVES_WAITING.value]


def test_more_work_is_named() -> None:
    """Rank 1 runs three more forward passes in each step."""
    found = recorded("work")
    first = advice(found)[0]
    assert (first.code, first.rank) == (Part.COLLECTIVES_WAITING.value, 1)
    assert first.saving_s == pytest.approx(WORK_S - SAME_S, rel=0.1)
    assert "rank 0 waits for rank 1, which runs 184 kernels a step instead of 112" in first.text
    assert first.text.endswith("more work, not a slow GPU")
    assert "the most to save is waiting for rank 1" in headline(found)


def test_collectives_after_the_backward_pass_are_exposed() -> None:
    """Gradients are reduced one after the other when all of them are there."""
    found = recorded("exposed")
    parts = (Part.COLLECTIVES, Part.COLLECTIVES_BEYOND, Part.COLLECTIVES_UNKNOWN)
    exposed = max(
        sum(rank.parts.get(part, 0) for part in parts) / len(rank.steps) for rank in found.ranks
    )
    said = [f for f in advice(found) if "collectives take" in f.text]
    assert [f.saving_s for f in said] == [pytest.approx(exposed * 1e-9)]
    # Eight weights of 3072 x 3072 and their biases, by the measured curve of two GPUs.
    assert found.share(Part.COLLECTIVES) > 0.8 * sum(found.share(part) for part in parts)


def test_one_slow_kernel_is_named() -> None:
    """Rank 1 gathers from all over an array, rank 0 in order: other kernels are as fast on both."""
    found = recorded("kernel")
    first = advice(found)[0]
    assert (first.code, first.rank) == (Part.COLLECTIVES_WAITING.value, 1)
    assert "whose kernel _scatter_gather_elementwise_kernel takes 3.69 ms" in first.text
    assert first.text.endswith("for the same work: that kernel, not a slow GPU")
    # Most of the waiting is hidden, and slows the kernels that hide it.
    assert KERNEL_S - ORDERED_S < first.saving_s < 1.5 * (KERNEL_S - ORDERED_S)
    assert "the most to save is waiting for rank 1" in headline(found)


def test_collectives_beside_the_backward_pass_are_hidden() -> None:
    found = recorded("hidden")
    exposed = sum(
        found.share(part)
        for part in (Part.COLLECTIVES, Part.COLLECTIVES_BEYOND, Part.COLLECTIVES_UNKNOWN)
    )
    assert exposed < 0.01
    assert exposed * found.step_s == pytest.approx(HIDDEN_S - ALONE_S, abs=2e-4)
    assert not [f for f in advice(found) if "collectives take" in f.text]
    # They took place all the same, for longer than that.
    rank = found.ranks[0]
    rows, (step, _) = rank.timeline.rows, rank.steps
    of_step = (rows["kind"] == Kind.COLLECTIVE) & (rows["start"] >= step.start)
    of_step &= rows["end"] <= step.end
    messages = (rank.timeline.trace.messages[m] for m in rows["message"][of_step])
    assert sum(m.bytes for m in messages) == 8 * 4096 * 4097 * 2
    assert (rows["end"] - rows["start"])[of_step].sum() * 1e-9 > 5 * exposed * found.step_s
