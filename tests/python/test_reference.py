"""The profiles that stand in the repository as measured: what physics and the program promise."""

from pathlib import Path

import pytest
from conftest import REFERENCES, reference
from peakline.pictures import pictures

# A rate may be this much above what the clock allows that was read beside it.
MARGIN = 1.005
BASES = ("theoretical", "datasheet", "instruction", "burst", "sustained")


@pytest.fixture(params=REFERENCES, ids=lambda path: path.name)
def profile(request):
    return reference(request.param)


def resource_of(m):
    """The unit that a matrix benchmark runs on: "tensor.fp8" for gemm.fp8_e5m2."""
    name = m.id.rsplit(".", 1)[1].removesuffix("_acc16").split("_")[0]
    return "gemm.fp32" if name == "fp32" else f"tensor.{name}"


def matrix_rates(profile, device):
    rows = [*profile.of(device, "gemm"), *profile.of(device, "mma")]
    return [
        m
        for m in rows
        if m.status == "ok" and m.value and m.conditions.sm_clock_hz
        if not m.id.startswith("gemm.grouped.")  # has no format in its id
    ]


def test_no_matrix_rate_is_beyond_its_clock(profile):
    for device in profile.devices:
        rates = matrix_rates(profile, device.uuid)
        assert len(rates) > 100
        for m in rates:
            limit = profile.ceiling(device.uuid, resource_of(m), "theoretical")
            assert device.sm_clock_max_hz
            allowed = limit.value * m.conditions.sm_clock_hz / device.sm_clock_max_hz
            assert m.value <= MARGIN * allowed, f"{m.name}: {m.value / allowed:.4f}"


def test_ceilings_of_precisions_are_in_order(profile):
    for device in profile.devices:
        for precision in ("fp64", "tf32", "fp16", "bf16", "fp8", "int8"):
            rows = {
                basis: profile.ceiling(device.uuid, f"tensor.{precision}", basis)
                for basis in (*BASES, "model_shaped")
            }
            missing = {basis for basis, row in rows.items() if row is None}
            # Layers are measured in the formats that models mostly run in.
            layered = precision in ("bf16", "fp8", "int8")
            assert missing == (set() if layered else {"model_shaped"}), precision
            values = {basis: row.value for basis, row in rows.items() if row is not None}
            assert values["theoretical"] >= values["instruction"] > values["burst"], precision
            assert values["burst"] > values["sustained"], precision
            assert values["burst"] > values.get("model_shaped", 0), precision


def test_reference_is_verified_and_plausible(profile):
    assert profile.complete
    assert Path(profile.path).stat().st_size <= 2**20 * len(profile.devices)
    for m in profile.measurements:
        assert m.status != "error", m.name
        assert m.verified is not False, m.name
        assert "implausible" not in m.flags, m.name


def test_every_picture_has_a_conclusion(profile):
    for device in profile.devices:
        drawn = pictures(profile, device.uuid)
        assert len(drawn) > 20
        # What the host decides is measured on one GPU of each NUMA node.
        shared = {"synchronization", "fusion"} if device is not profile.devices[0] else set()
        assert {p.key for p in drawn if not p.headline} <= shared
