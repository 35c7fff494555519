"""The least time of some work: its limiter, and errors for wrong arguments."""

import peakline
import pytest
from conftest import QUICK, ceiling, document_of, loaded, only, reference
from hypothesis import given
from hypothesis import strategies as st

BF16, FP8 = ceiling("tensor.bf16", "burst"), ceiling("tensor.fp8", "burst")
READ, WRITE = ceiling("hbm.read", "measured"), ceiling("hbm.write", "measured")
TRIAD = ceiling("hbm.triad", "measured")


def test_a_product_is_limited_by_the_tensor_cores(profile):
    found = peakline.bound(profile, flop={"bf16": 1e12}, bytes={"hbm": 4e8}, launches=3)
    assert found.seconds == float(found) == pytest.approx(1e12 / BF16)
    assert (found.limiter, found.basis, found.unit) == ("tensor.bf16", "burst", "FLOP/s")
    assert found.measured == BF16
    assert found.theoretical == ceiling("tensor.bf16", "theoretical")
    assert found.theoretical_seconds == pytest.approx(1e12 / found.theoretical)
    assert list(found.needs) == ["tensor.bf16", "hbm", "launch"]
    assert found.needs["hbm"] == pytest.approx(4e8 / WRITE)


def test_what_shares_a_unit_adds(profile):
    mixed = peakline.bound(profile, flop={"bf16": 1e12, "torch.float8_e4m3fn": 1e12})
    assert mixed.seconds == pytest.approx(1e12 / BF16 + 1e12 / FP8)
    assert mixed.limiter == "tensor.bf16"
    # CUDA cores and Tensor Cores overlap.
    beside = peakline.bound(profile, flop={"bf16": 1e12, "cuda_core.fp32": 1e9})
    assert beside.seconds == pytest.approx(1e12 / BF16)
    # Reads and writes share a bus; the directions of a cache are independent.
    moved = peakline.bound(profile, bytes={"hbm.read": 2e9, "hbm.write": 1e9})
    assert (moved.limiter, moved.basis) == ("hbm.triad", "measured")
    assert moved.seconds == pytest.approx(3e9 / TRIAD)
    assert peakline.bound(profile, bytes={"hbm.read": 2e9}).seconds == pytest.approx(2e9 / READ)
    cached = peakline.bound(profile, bytes={"l2.read": 2e9, "l2.write": 1.5e9})
    assert cached.limiter == "l2.write"
    assert cached.seconds == pytest.approx(1.5e9 / ceiling("l2.write", "measured"))
    link = peakline.bound(profile, bytes={"pcie": 1e9, "hbm": 1e9})
    assert link.limiter == "pcie.h2d"


def test_long_load_uses_sustained_ceilings(profile):
    found = peakline.bound(profile, flop={"bf16": 1e15}, bytes={"hbm": 1e9}, load="sustained")
    assert found.basis == "sustained"
    assert found.seconds == pytest.approx(1e15 / ceiling("tensor.bf16", "sustained"))
    assert found.needs["hbm"] == pytest.approx(1e9 / WRITE)


def test_launches_cost_what_was_measured(profile):
    (each,) = (m.value for m in profile.measurements if m.id == "launch.back_to_back")
    assert each
    found = peakline.bound(profile, flop={"bf16": 1e9}, launches=100)
    assert (found.limiter, found.unit) == ("launch", "launches/s")
    assert found.seconds == pytest.approx(100 * each)
    assert (found.theoretical, found.basis) == (None, "measured")
    assert found.measured == pytest.approx(1 / each)


def test_specification_replaces_measurement():
    found = peakline.bound(peakline.load(QUICK), flop={"tensor.fp64": 1e12})
    limit = ceiling("tensor.fp64", "theoretical")
    assert (found.basis, found.measured, found.theoretical) == ("theoretical", None, limit)
    assert found.seconds == found.theoretical_seconds == pytest.approx(1e12 / limit)


def test_unknown_device_has_no_theory():
    document = document_of()
    document["ceilings"] = [
        c for c in document["ceilings"] if c["basis"] not in ("theoretical", "datasheet")
    ]
    found = peakline.bound(loaded(only(document)), flop={"bf16": 1e12}, bytes={"hbm": 1e9})
    assert found.seconds == pytest.approx(1e12 / BF16)
    assert (found.theoretical, found.theoretical_seconds) == (None, None)


def test_the_host_has_bounds_too(profile):
    found = peakline.bound(profile, flop={"fp32": 1e9}, bytes={"memory": 1e9}, device="host")
    assert set(found.needs) == {"cpu.fp32", "memory"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "flop, bytes and launches are all empty"),
        ({"flop": {"bf16": 0}}, "flop, bytes and launches are all empty"),
        ({"flop": 1e12}, 'flop is 1000000000000.0, but must be amounts by name: {"bf16": 1e12}'),
        ({"bytes": [1e9]}, 'bytes is [1000000000.0], but must be amounts by name: {"hbm": 1e9}'),
        ({"flop": {"bf16": -1}}, "flop['bf16'] is -1, but must be a number from 0"),
        ({"flop": {"bf16": "1e12"}}, "flop['bf16'] is '1e12', but must be a number from 0"),
        ({"bytes": {"hbm": float("nan")}}, "bytes['hbm'] is nan, but must be a number from 0"),
        ({"flop": {"bf16": 10**400}}, "but must be a number from 0"),
        ({"bytes": {"hbm": 10**5000}}, "is a number that is far too long, but must be"),
        ({"launches": 1.5}, "launches is 1.5, but must be a whole number from 0"),
        ({"launches": -1}, "launches is -1, but must be a whole number from 0"),
        ({"launches": 1, "load": "soak"}, "load is 'soak', but must be 'burst' or 'sustained'"),
    ],
)
def test_wrong_numbers_name_their_field(profile, arguments, message):
    with pytest.raises(ValueError) as caught:
        peakline.bound(profile, **arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"flop": {"bf17": 1e9}}, "flop['bf17']: unknown precision 'bf17'"),
        ({"flop": {"fp4": 1e9}}, "flop['fp4']: "),
        ({"flop": {"bf16": 1e9, "tensor.bf16": 1e9}}, "tensor.bf16 is named twice"),
        ({"bytes": {"hmb": 1e9}}, "bytes['hmb']: "),
        ({"bytes": {"tensor.bf16": 1e9}}, "has no such memory of NVIDIA H200; it has hbm, l2, "),
        ({"bytes": {"hbm.copy": 1e9}}, "bytes['hbm.copy']: use hbm, or hbm.read and hbm.write"),
        ({"bytes": {"hbm": 1e9, "hbm.read": 1}}, "named beside its read and write"),
        ({"flop": {"bf16": 1}, "device": "7"}, "no device '7'"),
        ({"launches": 1, "device": "host"}, "launches: "),
    ],
)
def test_what_the_profile_lacks_names_its_field(profile, arguments, message):
    with pytest.raises(peakline.PeakError) as caught:
        peakline.bound(profile, **arguments)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@given(
    st.dictionaries(st.sampled_from(["bf16", "fp8", "fp32"]), st.floats(1e-3, 1e20)),
    st.dictionaries(st.sampled_from(["hbm.read", "hbm.write", "l2.read"]), st.floats(1, 1e15)),
    st.integers(1, 10**6),
)
def test_more_work_never_takes_less_time(flop, moved, launches):
    profile = reference()
    found = peakline.bound(profile, flop=flop, bytes=moved, launches=launches)
    assert found.seconds == max(found.needs.values()) == found.needs[found.limiter]
    twice = peakline.bound(
        profile,
        flop={k: 2 * v for k, v in flop.items()},
        bytes={k: 2 * v for k, v in moved.items()},
        launches=2 * launches,
    )
    assert twice.seconds == pytest.approx(2 * found.seconds)
