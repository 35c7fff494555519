"""Which link from storage to GPU binds a rate of samples."""

import peakline
import pytest
from conftest import GPU, TWO_GPUS, document_of, loaded, reference

STORAGE, PIPELINE = 2.2e9, 2.1e9


def with_storage(**rates):
    """The reference with rates of storage that are made up: of STORAGE and PIPELINE, or others."""
    document = document_of()
    for name, value in (rates or {"storage.read": STORAGE, "input.pipeline": PIPELINE}).items():
        named = {"name": name, "label": name, "unit": "B/s", "kind": "memory"}
        document["resources"].append(named)
        device = "host" if name == "storage.read" else GPU
        measured = {"device": device, "resource": name, "basis": "measured", "unit": "B/s"}
        document["ceilings"].append({**measured, "value": value})
    return document


def test_the_slowest_link_binds():
    profile = loaded(with_storage())
    bound = peakline.input_bound(profile, 600e3, 2000)
    assert bound.bytes_per_s == pytest.approx(1.2e9)
    labels = [link.label for link in bound.links]
    assert labels[:2] == ["storage to GPU", "storage"]
    assert set(labels[2:]) == {"host memory", "the host link"}
    assert bound.binding.rate == PIPELINE
    assert bound.binding.needed == pytest.approx(1.2e9 / PIPELINE)
    assert bound.enough is True
    assert bound.samples_per_s == pytest.approx(PIPELINE / 600e3)
    assert not bound.missing
    too_much = peakline.input_bound(profile, 600e3, 9000)
    assert too_much.enough is False
    assert str(too_much) == (
        "Input does not keep up: 5.40 GB/s needed; the slowest link measured, "
        "storage to GPU, carries 2.10 GB/s "
        "(3500 samples/s)"
    )


def test_each_byte_crosses_host_memory_twice():
    profile = reference()
    (memory,) = [
        link for link in peakline.input_bound(profile, 1, 1).links if link.label == "host memory"
    ]
    copy = profile.ceiling("host", "memory.copy", "measured")
    assert memory.rate == copy.value / 2


def test_what_was_not_measured_is_named():
    bound = peakline.input_bound(reference(TWO_GPUS), 1e6, 100)
    assert bound.missing == ("storage", "storage to GPU")
    assert str(bound).endswith("; not measured: storage, storage to GPU")
    assert "e+" not in str(bound)
    # The link that was not measured may be the slowest.
    assert bound.enough is None
    assert peakline.input_bound(reference(TWO_GPUS), 1e6, 1e9).enough is False
    document = with_storage()
    document["ceilings"] = []
    with pytest.raises(peakline.PeakError, match="run --storage DIR"):
        peakline.input_bound(loaded(document), 1e6, 100)
    with pytest.raises(ValueError, match="samples_per_s"):
        peakline.input_bound(reference(), 1e6, 0)


@pytest.mark.parametrize("most", [1e200, 10**400, float("inf")])
def test_a_need_beyond_numbers_is_refused(most):
    with pytest.raises(ValueError, match=r"bytes_per_sample \* samples_per_s"):
        peakline.input_bound(reference(), 1e20, 1e20)
    with pytest.raises(ValueError, match="bytes_per_sample must be a number above 0"):
        peakline.input_bound(reference(), most, 1)
    with pytest.raises(ValueError, match="samples_per_s must be a number above 0"):
        peakline.input_bound(reference(), 1, most)
