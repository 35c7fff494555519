"""What activities of a step own against their bounds, and the advice that follows."""

import pytest
from conftest import GPU, ONE_GPU, ceiling, reference
from made_traces import Made
from peakline.workload.advice import advice
from peakline.workload.part import Part
from peakline.workload.placement import place
from peakline.workload.read import read_kernels


def with_product(made, start, end, rows=8192, inner=8192, columns=8192, number=7, **more):
    """A GEMM and its kernel."""
    made.product(number, rows, inner, columns)
    made.kernel(start, end, 0.0, "gemm", **{"External id": number}, **more)
    return made


SQUARE_S = 2 * 8192**3 / ceiling("tensor.bf16", "burst")


def test_a_product_at_its_bound_and_beyond(analyzed):
    found = analyzed(with_product(Made(), 0, 2000))
    assert found.parts[Part.KERNELS] == pytest.approx(SQUARE_S * 1e9, abs=2)
    assert found.parts[Part.KERNELS_BEYOND] == 2_000_000 - found.parts[Part.KERNELS]


def test_bound_above_owned_time_is_clipped(analyzed):
    made = Made()
    made.product(7, 8192, 8192, 8192)
    made.kernel(0, 1800, 0.0, "gemm", **{"External id": 7})
    made.kernel(0, 1800, 0.0, "other", stream=9)
    found = analyzed(made)
    assert found.parts == {Part.KERNELS: 900_000, Part.KERNELS_UNKNOWN: 900_000}
    assert found.ranks[0].clipped == 1
    assert any("that beat their bound: 1 in 1 trace (cache," in note for note in found.notes)


@pytest.mark.parametrize("memory", ["Pinned", "Pageable"])
def test_copies_at_the_rate_of_their_memory(analyzed, profile, memory):
    size, id_ = 1 << 26, f"pcie.h2d.{memory.lower()}"
    made = Made()
    made.copy(0, 60_000, 0.0, size, f"Memcpy HtoD ({memory} -> Device)")
    found = analyzed(made)
    (point,) = [m for m in profile.of(GPU, id_) if m.integer("bytes") == size and m.id == id_]
    assert found.parts[Part.COPIES] == pytest.approx(size / point.value * 1e9, rel=1e-6)
    pinned = [one for one in advice(found) if "pinned memory needs" in one.text]
    assert len(pinned) == (memory == "Pageable")


def test_device_to_device_copies_have_no_rate(analyzed):
    made = Made()
    made.copy(0, 60_000, 0.0, 1 << 26, "Memcpy PtoP (Device -> Device)")
    assert set(analyzed(made).parts) == {Part.COPIES_UNKNOWN}


def test_copies_within_memory_are_kernels(analyzed):
    made, size = Made(), 1 << 26
    made.copy(0, 100, 0.0, size, "Memcpy DtoD (Device -> Device)")
    made.activity("gpu_memset", "Memset", 100, 200, 1, "cudaMemsetAsync", 1, 1, bytes=size)
    need = 2 * size / ceiling("hbm.copy", "measured") + size / ceiling("hbm.write", "measured")
    assert analyzed(made).parts[Part.KERNELS] == pytest.approx(need * 1e9, abs=3)


@pytest.mark.parametrize(
    ("made", "topic", "parts"),
    [
        (
            with_product(Made(), 0, 9000, inner=8191),
            "product sides",
            ["K = 8191 is no multiple of 8 elements"],
        ),
        (
            with_product(Made(), 0, 90, rows=16),
            "skinny products",
            ["(16 x 8192 x 8192) takes", "M = 16 is small, and such a product reaches its full ra"],
        ),
    ],
    ids=["unaligned", "skinny"],
)
def test_sides_that_make_a_product_slow_are_named(analyzed, made, topic, parts):
    (first, *_) = advice(analyzed(made))
    assert (first.code, first.topic) == (Part.KERNELS_BEYOND, topic)
    assert all(part in first.text for part in parts)


def test_few_columns_are_no_small_batch(analyzed):
    """A batch could cheaply be made larger."""
    found = advice(analyzed(with_product(Made(), 0, 90, columns=16)))
    assert found and not any("is small" in one.text for one in found)


def test_advice_names_sides_of_the_slow_gemm(analyzed):
    """One kernel runs a slow aligned GEMM, and a fast unaligned one."""
    made = Made()
    made.product(1, 8192, 8192, 8192)
    made.kernel(0, 6000, 0.0, "gemm", **{"External id": 1})
    made.product(2, 4096, 4095, 4096)
    made.kernel(6000, 6250, 1, "gemm", **{"External id": 2})
    found = analyzed(made)
    (one,) = [one for one in advice(found) if one.code == Part.KERNELS_BEYOND]
    assert "(8192 x 8192 x 8192)" in one.text
    assert "K = 4095" not in one.text
    least = 2 * 8192**3 / reference(ONE_GPU).peak("bf16", basis="burst")
    assert one.saving_s == pytest.approx(6e-3 - least, rel=0.01)


def test_both_readers_have_the_same_kernels(analyzed, tmp_path):
    """A generated kernel with stated work, a GEMM, and one that two kernels share."""
    made = Made()
    made.kernel(0, 1000, 0.0, "triton_poi_fused_add_0", kernel_num_gb=2.0, kernel_flop=1.5e9)
    made.kernel(1000, 1500, 1, "triton_red_1", kernel_num_gb=0.25)
    made.product(1, 8192, 8192, 8192)
    for start in (1500, 3000):
        made.kernel(start, start + 1500, 2, "gemm", **{"External id": 1})
    made.kernel(4500, 4600, 3, "other", kernel_flop="unknown")
    by_trace = {p.kernel.name: p for p in analyzed(made).kernels}
    by_kernels = place(reference(ONE_GPU), read_kernels(tmp_path / "made.json"))
    assert sorted(by_trace) == ["gemm", "other", "triton_poi_fused_add_0", "triton_red_1"]
    assert len(by_kernels) == 4
    for placed in by_kernels:
        other = by_trace[placed.kernel.name]
        assert dict(placed.kernel.flops) == pytest.approx(dict(other.kernel.flops))
        assert dict(placed.kernel.bytes) == pytest.approx(dict(other.kernel.bytes))
        assert placed.shares == pytest.approx(other.shares)


def elementwise(*rows):
    """Kernels of 200 µs in a row. rows: operator, number of its operands, name of its kernel."""
    made = Made()
    for number, (name, operands, kernel) in enumerate(rows):
        made.operator(name, number + 1, [[16384, 8192]] * operands)
        start = 200 * number
        made.kernel(start, start + 200, 0.0, kernel, **{"External id": number + 1})
    return made


def test_elementwise_chains_are_to_be_fused(analyzed):
    operators = [("aten::add", 2), ("aten::gelu", 1), ("aten::mul", 2), ("aten::relu", 1)]
    made = elementwise(*((*row, f"e{number}") for number, row in enumerate(operators)))
    (first, *_) = [one for one in advice(analyzed(made)) if one.topic == "fusion"]
    # Ten array passes, where four would do: three operands and a result.
    assert "4 elementwise kernels one after the other (e0, e1, e2, e3)" in first.text
    assert (
        "move 2.5 GiB; if each reads what the one before it wrote, one kernel would move 1 GiB"
        in first.text
    )
    assert first.saving_s == pytest.approx(800e-6 * 0.6)


def test_chains_end_with_their_step(analyzed):
    """Each step ends with a kernel of the chain and the next begins with two, or with one."""
    for first in (1, 2):
        made = elementwise(*(("aten::gelu", 1, f"e{number}") for number in range(13)))
        for event in made.events:
            if event["cat"] == "cuda_runtime":  # launched in its own step
                event["ts"] = max(0, 200 * (event["args"]["correlation"] - 1001) - 5)
        made.steps(*(max(0, 200 * number - 10) for number in (0, first, first + 4, first + 8, 12)))
        found = [one.text for one in advice(analyzed(made)) if one.topic == "fusion"]
        assert len(found) == 1 and found[0].startswith("4 elementwise kernels")


@pytest.mark.parametrize(
    ("operator", "names", "said"),
    [
        ("aten::gelu", 6, "12 elementwise kernels one after the other (e0, e1, e2, e3, 2 more)"),
        ("aten::mul_", 1, ""),  # works in place, perhaps on unrelated arrays, as an optimizer does
    ],
)
def test_fusible_kernels_are_named_once(analyzed, operator, names, said):
    made = elementwise(*((operator, 1, f"e{number % names}") for number in range(12)))
    found = [one.text for one in advice(analyzed(made)) if one.topic == "fusion"]
    assert len(found) == bool(said) and all(said in text for text in found)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "Memcpy HtoD (Pinned -> Device)",
            "copies to the device take 2.00 ms that nothing hides: p",
        ),
        ("Memcpy DtoH (Device -> Pinned)", "other copies take 2.00 ms that nothing hides: put"),
    ],
)
def test_copies_that_nothing_hides(analyzed, name, said):
    made = Made()
    made.kernel(0, 1000, 0.0)
    made.copy(1000, 3000, 900, 1 << 26, name)
    (one,) = advice(analyzed(made))
    assert one.text.startswith(said)


def test_advice_needs_a_number_that_carries_it(analyzed):
    made = Made()
    made.kernel(0, 10_000, 0.0)
    made.call("cudaStreamSynchronize", 9_000, 10_050)
    made.kernel(10_100, 20_000, 10_095)
    assert advice(analyzed(made)) == []
