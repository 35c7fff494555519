"""Cells become the texts that the program prints: both read tests/formats.json."""

import json

import pytest
from conftest import ROOT
from peakline.page.cells import Column, read_cell, text_of
from peakline.pictures import with_signs

CASES = json.loads((ROOT / "tests/formats.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"])
def test_a_cell_has_the_text_of_the_program(case):
    cell = {"format": "value", **case, "text": ""}
    column = Column("", bare=case.get("bare", False))
    assert text_of(read_cell(cell), column) == with_signs(case["text"])


def test_a_format_of_another_version_is_refused():
    with pytest.raises(ValueError, match="another version: tomorrow"):
        read_cell({"format": "tomorrow", "value": 1})
