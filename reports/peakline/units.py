"""Quantities as text: decimal prefixes for rates, binary ones for sizes."""

import math

KIB = 1024.0
MIB = 1024.0 * KIB
GIB = 1024.0 * MIB


def number(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits; exponents only below 1e-4 and from 1e9 on."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    decimals = max(0, digits - 1 - magnitude)
    if magnitude < -4 or magnitude >= 9:
        return f"{value:.{digits - 1}e}"
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text and decimals > digits - 1 else text


def rate_unit(value: float, unit: str) -> tuple[float, str]:
    """The scale that a rate in base units is shown in, with its name: (1e12, "TFLOP/s")."""
    scale, prefix = (1e9, "G") if value >= 1e8 else (1e6, "M")
    if value >= 1e12 and unit != "B/s":
        scale, prefix = 1e12, "T"
    return scale, f"{prefix}{unit}"


def rate(value: float, unit: str) -> str:
    """A rate in base units ("B/s", "FLOP/s", "OP/s") as "4583 GB/s" or "805 TFLOP/s"."""
    return f"{rate_number(value, unit)} {rate_unit(value, unit)[1]}"


def rate_number(value: float, unit: str) -> str:
    """The number of `rate`: "4583"."""
    return number(value / rate_unit(value, unit)[0])


def time_unit(seconds: float) -> tuple[float, str]:
    """The scale that a time is shown in, with its name: (1e-6, "µs")."""
    scales = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
    return next((pair for pair in scales if abs(seconds) >= pair[0]), (1e-9, "ns"))


def time(seconds: float) -> str:
    """Seconds as "12.3 µs"."""
    scale, unit = time_unit(seconds)
    return f"{number(seconds / scale)} {unit}"


def size_unit(size_bytes: float) -> tuple[float, str]:
    """The scale that a size is shown in, with its name: (1024.0, "KiB")."""
    scales = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
    return next((pair for pair in scales if size_bytes >= pair[0]), (1.0, "B"))


def size(size_bytes: float) -> str:
    """Bytes as "4 KiB" or "1.5 GiB"."""
    scale, unit = size_unit(size_bytes)
    count = size_bytes / scale
    return f"{count:g} {unit}" if scale == 1 or count.is_integer() else f"{number(count)} {unit}"


def clock(hz: float) -> str:
    """Hz as "1980 MHz"."""
    return f"{hz / 1e6:.0f} MHz"


def percent(share: float) -> str:
    """0.953 as "95.3 %"."""
    return f"{share * 100:.1f} %"


def intensity(flop_per_byte: float) -> str:
    """FLOP/byte, to three digits; thousands as "14.6 k"."""
    if flop_per_byte >= 9999.5:
        return f"{number(flop_per_byte / 1000)} k"
    return number(flop_per_byte)


def counted(number: int, what: str) -> str:
    """A count with its noun: "1 GPU", "2 GPUs"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
