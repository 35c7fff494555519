"""Formats, rates per clock and shapes of measured GEMMs."""

from collections.abc import Sequence

from peakline.pictures.curves import amount
from peakline.profile import Measurement


def format_of(m: Measurement) -> str:
    return m.id.rpartition(".")[2]


def formats_of(rows: Sequence[Measurement]) -> list[str]:
    """The operand formats of `rows`, in the profile's order."""
    return list(dict.fromkeys(format_of(m) for m in rows))


def per_clock(m: Measurement) -> float | None:
    """Operations per clock of the whole device."""
    clock = m.conditions.sm_clock_hz
    return amount(m) / clock if clock else None


def shape_of(m: Measurement) -> str:
    """M, N and K of a GEMM that was searched for: "5632 × 1536 × 24576"; else empty."""
    shape = m.launch.get("shape")
    return shape.replace("x", " × ") if isinstance(shape, str) else ""
