"""Parses numbers and units of profilers."""

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
    """`value`, an integer of any length or a float. Raises ValueError if it is not RANGE."""
    if value and not _SMALLEST <= abs(value) <= _LARGEST:
        raise ValueError(f"out of range: expected {RANGE}")
    return float(value)


# One such number shows that points group thousands in the whole file.
_DECIMAL_COMMA = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})*,(?:\d{1,2}|\d{4,})")


def has_decimal_comma(text: str) -> bool:
    """Whether a number must have a decimal comma: "41,27"."""
    return _DECIMAL_COMMA.fullmatch(text.strip()) is not None


def parse_number(text: str, decimal_comma: bool = False) -> float | None:
    """A number with or without thousands separators; None for "n/a" and the like.

    "1,234" is 1234 and "1,5" is 1.5: a comma groups thousands only before three digits.
    decimal_comma: points always group thousands, commas never do. Raises ValueError for anything
    else.
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
    """The factor from ncu's unit to its base unit: 1e9 for "Gbyte/second", 1e-6 for "us". Raises
    ValueError for an unknown unit."""
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
