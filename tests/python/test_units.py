"""How formats, intensities and counts are written; test_formats.py has quantities."""

import pytest
from peakline import units
from peakline.names import format_name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("bf16", "BF16"),
        ("fp8_e5m2", "FP8 E5M2"),
        ("fp8_accurate", "FP8 accurate"),
        ("fp16_acc16", "FP16 acc16"),
    ],
)
def test_names_of_formats(name, shown):
    assert format_name(name) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (units.intensity(14630), "14.6 k"),
        (units.counted(1, "step"), "1 step"),
        (units.counted(2, "step"), "2 steps"),
    ],
)
def test_printed_quantities(text, expected):
    assert text == expected
