"""Numbers and units as profilers write them."""

from __future__ import annotations

import re

from peakline.profile.schema import magnitudes

_PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3}
_PREFIXES |= {"M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_ATOMS = {"", "s", "sec", "second", "seconds", "hz", "Hz", "B", "byte", "bytes", "cycle", "cycles"}
_ATOMS |= {"inst", "op", "ops", "thread", "sector", "sectors", "flop", "FLOP"}
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[,.\u2019']\d{3}){2,}|[-+]?\d{1,3}(?:[,\u2019']\d{3})+")

_SMALLEST, _LARGEST = magnitudes()
RANGE = f"0 or a number from {_SMALLEST:g} to {_LARGEST:g}"


def checked(value: float) -> float:
    """`value`, which may be an integer of any length. Raises ValueError where it is not RANGE."""
    if value and not _SMALLEST <= abs(value) <= _LARGEST:
        raise ValueError(f"out of range: expected {RANGE}")
    return float(value)


# A file with one such number is written in a locale in which points group thousands.
_DECIMAL_COMMA = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})*,(?:\d{1,2}|\d{4,})")


def has_decimal_comma(text: str) -> bool:
    """Whether a number can only have a decimal comma: "41,27"."""
    return _DECIMAL_COMMA.fullmatch(text.strip()) is not None


def parse_number(text: str, decimal_comma: bool = False) -> float | None:
    """A number with or without thousands separators; None for "n/a" and the like.

    "1,234" is 1234 and "1,5" is 1.5: a comma groups thousands only where three digits follow it.
    decimal_comma: every point groups thousands, and a comma never does. Raises ValueError for
    anything else.
    """
    if decimal_comma:
        text = text.replace(".", "").replace(",", ".")
    text = re.sub(r"[\s\u00a0\u202f]", "", text.split("(", 1)[0].strip())
    if text.lower() in ("", "n/a", "na", "nan", "-nan", "inf", "-inf", "-", "none", "nodata"):
        return None
    if "," in text and "." in text:
        decimal = max(text.rfind(","), text.rfind("."))
        head = re.sub(r"[.,]", "", text[:decimal])
        text = f"{head}.{text[decimal + 1 :]}"
    elif _GROUPED.fullmatch(text):
        text = re.sub(r"[,.\u2019']", "", text)
    else:
        text = text.replace(",", ".")
    return checked(float(text))


def unit_scale(unit: str) -> float:
    """The factor from a unit as ncu writes it to its base unit: "Gbyte/second" is 1e9, "us" 1e-6.

    Raises ValueError for an unknown unit.
    """
    numerator, _, denominator = unit.strip().partition("/")
    scale = _atom_scale(numerator.strip())
    return scale / _atom_scale(denominator.strip()) if denominator else scale


def _atom_scale(atom: str) -> float:
    if atom in _ATOMS:
        return 1.0
    prefix, rest = atom[:1], atom[1:]
    if prefix in _PREFIXES and rest in _ATOMS and rest:
        return _PREFIXES[prefix]
    raise ValueError(atom)
