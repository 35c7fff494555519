"""How quantities and formats are written."""

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
        (units.rate(4583e9, "B/s"), "4583 GB/s"),
        (units.rate(54.36e9, "B/s"), "54.4 GB/s"),
        (units.rate(805.04e12, "FLOP/s"), "805 TFLOP/s"),
        (units.rate(2.5e6, "B/s"), "2.50 MB/s"),
        (units.rate(93e9, "FLOP/s"), "93.0 GFLOP/s"),
        (units.time(1.234e-5), "12.3 µs"),
        (units.time(3e-8), "30.0 ns"),
        (units.time(2.0), "2.00 s"),
        (units.size(4096), "4 KiB"),
        (units.size(1.5 * 2**30), "1.50 GiB"),
        (units.size(100), "100 B"),
        (units.percent(0.9527), "95.3 %"),
        (units.clock(1.98e9), "1980 MHz"),
        (units.intensity(14630), "14.6 k"),
        (units.counted(1, "step"), "1 step"),
        (units.counted(2, "step"), "2 steps"),
        (units.number(0), "0"),
        (units.number(1e-9), "1.00e-09"),
    ],
)
def test_printed_quantities(text, expected):
    assert text == expected
