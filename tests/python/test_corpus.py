"""The loaders against the files that every reader of profiles and populations is tested with."""

import peakline
import pytest
from cases import CASES, POPULATION_CASES


def check_message(message, name):
    assert message.startswith(f"{name}: ")
    assert len(message) < 500
    assert message.isprintable()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_corpus(case):
    if not case.refused:
        assert peakline.loads(case.data, "x.json").created
        return
    with pytest.raises(peakline.ProfileError) as refusal:
        peakline.loads(case.data, "x.json")
    check_message(str(refusal.value), "x.json")


@pytest.mark.parametrize("case", POPULATION_CASES, ids=lambda case: case.name)
def test_populations(case, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(case.data)
    if not case.refused:
        assert isinstance(peakline.load_populations(path), tuple)
        return
    with pytest.raises(peakline.ProfileError) as refusal:
        peakline.load_populations(path)
    check_message(str(refusal.value), str(path))
