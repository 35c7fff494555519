"""The loader against the files that every reader of a profile is tested with."""

from __future__ import annotations

import sys

import peakline
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "corpus"))
from cases import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_corpus(case: Case) -> None:
    if not case.error:
        assert peakline.loads(case.data, "x.json").created
        return
    with pytest.raises(peakline.ProfileError) as refusal:
        peakline.loads(case.data, "x.json")
    message = str(refusal.value)
    assert message.startswith("x.json: ")
    assert case.error in message
    assert len(message) < 500
    assert message.isprintable()
