"""Quantities as text: decimal prefixes for rates, binary ones for sizes; tests/formats.json has
examples."""

import math
from collections.abc import Iterable

KIB = 1024.0
MIB = 1024.0 * KIB
GIB = 1024.0 * MIB
TIB = 1024.0 * GIB

_RATES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SIZES = ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
# A number from here on rounds to 1 of the next prefix.
_CARRY = 0.9995


def number(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits, and all digits before the point."""
    if value == 0:
        return "0"
    # After rounding, so that 9.996 is "10.0".
    exponent = int(f"{abs(value):.{digits - 1}e}".partition("e")[2])
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def _prefix(value: float, prefixes: Iterable[tuple[float, str]]) -> tuple[float, str]:
    """The largest prefix that leaves a number of at least 1, else the smallest."""
    *larger, last = prefixes
    return next((p for p in larger if abs(value) >= p[0] * _CARRY), last)


def rate_unit(value: float, unit: str) -> tuple[float, str]:
    """The scale that a rate in base units is shown in, with its name: (1e12, "TFLOP/s")."""
    scale, prefix = _prefix(value, _RATES[1:] if unit == "B/s" else _RATES)
    return scale, f"{prefix}{unit}"


def rate(value: float, unit: str) -> str:
    """A rate in base units ("B/s", "FLOP/s", "OP/s") as "4583 GB/s" or "805 TFLOP/s"."""
    return f"{rate_number(value, unit)} {rate_unit(value, unit)[1]}"


def rate_number(value: float, unit: str) -> str:
    """The number of `rate`: "4583"."""
    return number(value / rate_unit(value, unit)[0])


def time_unit(seconds: float) -> tuple[float, str]:
    """The scale that a time is shown in, with its name: (1e-6, "µs")."""
    scale, prefix = _prefix(seconds, _TIMES) if seconds else (1.0, "")
    return scale, f"{prefix}s"


def time(seconds: float) -> str:
    """Seconds as "12.3 µs"."""
    scale, unit = time_unit(seconds)
    return f"{number(seconds / scale)} {unit}"


def size_unit(size_bytes: float) -> tuple[float, str]:
    """The scale that a size is shown in, with its name: (1024.0, "KiB")."""
    return next((pair for pair in _SIZES if abs(size_bytes) >= pair[0]), (1.0, "B"))


def size(size_bytes: float) -> str:
    """Bytes as "4 KiB" or "1.5 GiB"."""
    scale, unit = size_unit(size_bytes)
    text = number(size_bytes / scale)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit}"


def clock(hz: float) -> str:
    """Hz as "1980 MHz"."""
    return f"{hz / 1e6:.0f} MHz"


def value(amount: float, unit: str) -> str:
    """A number in a base unit, formatted by its unit; others as number and unit."""
    if unit == "s":
        return time(amount)
    if unit == "B":
        return size(amount)
    if unit == "Hz":
        return clock(amount)
    if unit.endswith("/s"):
        return rate(amount, unit)
    if unit.startswith("J/"):
        return f"{number(amount / _bare_scale(unit))} p{unit}"
    return f"{number(amount)} {unit}".rstrip()


def _bare_scale(unit: str) -> float:
    if unit == "B/s":
        return 1e9
    return 1e12 if unit.endswith("OP/s") else 1e-12 if unit.startswith("J/") else 1


def bare(amount: float, unit: str, *, rough: bool = False) -> str:
    """Without the unit: bandwidths in GB/s, operations in TFLOP/s or TOP/s, energies in pJ. Other
    rates keep it.
    """
    scale = _bare_scale(unit)
    if scale == 1 and unit.endswith("/s"):
        return rate(amount, unit)
    return f"{_rounded(amount) / scale:g}" if rough else number(amount / scale)


def rough_rate(amount: float, unit: str) -> str:
    """A rate with two digits: "30 GB/s", "1.2 TFLOP/s"."""
    rounded = _rounded(amount)
    scale, name = rate_unit(rounded, unit)
    return f"{rounded / scale:g} {name}"


def _rounded(amount: float) -> float:
    """To two digits."""
    if amount == 0:
        return 0
    step = 10.0 ** (math.floor(math.log10(abs(amount))) - 1)
    return math.floor(amount / step + 0.5) * step


def percent(share: float) -> str:
    """0.953 as "95.3 %"."""
    return f"{share * 100:.1f} %"


def change(share: float) -> str:
    """A relative change as "-3.4 %" or "+0.2 %"."""
    tenths = math.copysign(math.floor(abs(share) * 1000 + 0.5), share)
    return f"{tenths / 10:+.1f} %" if tenths else "0.0 %"


def intensity(flop_per_byte: float) -> str:
    """FLOP/byte, to three digits; thousands as "14.6 k"."""
    if flop_per_byte >= 9999.5:
        return f"{number(flop_per_byte / 1000)} k"
    return number(flop_per_byte)


def counted(number: int, what: str) -> str:
    """A count with its noun: "1 GPU", "2 GPUs"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
