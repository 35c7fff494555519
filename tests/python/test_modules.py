"""Time by module: stacks, record_function and NVTX ranges around the launches of a step."""

import re

import pytest
from conftest import ONE_GPU, RECORDED, reference
from made_traces import Made, export
from peakline.workload.analysis import analyze
from peakline.workload.modules import modules
from peakline.workload.step_text import module_table
from peakline.workload.table import printed


def by_path(analysis):
    return {" / ".join(module.path): module for module in modules(analysis.ranks[0], 0.0)}


def test_modules_of_a_recorded_model():
    """Two blocks of attention and MLP, with what their backward pass launches."""
    analysis = analyze(reference(ONE_GPU), [RECORDED / "before.json.gz"])
    rank, found = analysis.ranks[0], by_path(analysis)
    assert {name: found[name].count for name in found if name.count(" / ") == 2} == {
        "Sequential / Block / Attention": 2,
        "Sequential / Block / Sequential": 2,
        "Sequential / Block / LayerNorm": 4,
    }
    attention = found["Sequential / Block / Attention"]
    assert 0 < attention.forward < attention.backward
    # All but the optimizer and the loss is the model's.
    whole = found["Sequential"].nanoseconds + found["Optimizer.step#AdamW.step"].nanoseconds
    assert 0.8 * rank.owned.sum() < whole < rank.owned.sum()
    names = [line.name for line in module_table(analysis).lines]
    assert names[:3] == ["Sequential", "  Block × 2", "    Attention × 2"]
    assert names[-1] == "Optimizer.step#AdamW.step"
    text = "\n".join(printed(module_table(analysis), 80))
    assert re.search(r"^    Attention × 2 +2\.58 ms +3\.25 ms +51\.9 % +\d", text, re.MULTILINE)


@pytest.fixture
def made():
    """A step of two layers; the second launches twice, once outside of any part of it."""
    made = Made()
    made.steps(0, 1000, 2000)
    for start in (0, 1000):
        for layer in range(2):
            begin = start + 100 * layer
            made.event("user_annotation", f"layer {layer}", begin, begin + 90)
            made.event("python_function", "nn.Module: Attention_3", begin + 1, begin + 40)
            made.kernel(begin + 10, begin + 30, begin + 5)
        made.kernel(start + 200, start + 260, start + 150)
        made.kernel(start + 300, start + 340, start + 250)
    made.kernel(2000, 2010, 2000)
    return made


def test_numbered_ranges_are_one_module(made, tmp_path):
    found = by_path(analyze(reference(ONE_GPU), [made.write(tmp_path / "made.json")]))
    assert set(found) == {"layer", "layer / Attention"}
    assert (found["layer"].count, found["layer"].forward) == (2, 2 * (20 + 20 + 60) * 1000)
    assert found["layer / Attention"].forward == 2 * (20 + 20) * 1000
    assert found["layer"].backward == 0


def test_backward_pass_joins_forward_module(made, tmp_path):
    operator = {"External id": 5, "Sequence number": 77, "Fwd thread id": 0}
    made.event("cpu_op", "aten::mm", 6, 8, args=operator)
    gradient = {"External id": 6, "Sequence number": 77, "Fwd thread id": 1}
    made.event("cpu_op", "MmBackward0", 400, 420, tid=2, args=gradient)
    made.kernel(450, 480, 410, thread=2)
    made.kernel(500, 510, 430, thread=2)  # after that operator
    found = by_path(analyze(reference(ONE_GPU), [made.write(tmp_path / "made.json")]))
    assert found["layer / Attention"].backward == 30_000
    assert found["layer"].backward == 30_000


def test_without_ranges_there_are_no_modules(tmp_path):
    made = Made()
    made.kernel(0, 100, 0)
    analysis = analyze(reference(ONE_GPU), [made.write(tmp_path / "made.json")])
    assert modules(analysis.ranks[0]) == [] and not printed(module_table(analysis), 80)


def test_nvtx_ranges_of_nsight_systems(tmp_path):
    process = 7 << 24
    rows = {
        "StringIds": [(1, "gemm"), (2, "cudaLaunchKernel")],
        "CUPTI_ACTIVITY_KIND_KERNEL": [(100, 900, 0, 7, 5, process, 1, 1, 0)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [(50, 60, process | 9, 5, 2)],
        "NVTX_EVENTS": [(40, 70, 59, "mlp", None, process | 9)],
    }
    found = by_path(analyze(reference(ONE_GPU), [export(tmp_path / "a.sqlite", rows)]))
    assert found["mlp"].forward == 800
