"""What the sides of a product tell of why it is slow."""

from __future__ import annotations

from dataclasses import dataclass

from peakline.profile import Profile
from peakline.workload.placement import Placement

# Tensor cores load rows in pieces of so many bytes; rows that begin elsewhere go another way.
_ALIGNED_BYTES = 16
_GOOD_SHARE = 0.8  # of the bound: what reaches that has no trouble with its sides


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a product is slow."""

    text: str  # without its full stop
    topic: str  # of the profile's curve


def trouble(profile: Profile, p: Placement, sides: tuple[int, int, int, int]) -> Trouble | None:
    """What is wrong with the sides of a product; None where nothing is.

    sides: its rows, columns, inner side and bytes of an element.
    """
    if p.rewritten is None or p.rewritten.share >= _GOOD_SHARE:
        return None
    rows, columns, inner, element = sides
    odd = [
        f"{name} = {side}"
        for name, side in (("N", columns), ("K", inner))
        if side > 1 and side * element % _ALIGNED_BYTES
    ]
    if odd:
        text = (
            f"{' and '.join(odd)} {'are' if len(odd) > 1 else 'is'} no multiple of "
            f"{_ALIGNED_BYTES // element} elements, so rows do not begin at multiples of "
            f"{_ALIGNED_BYTES} bytes: pad"
        )
        return Trouble(text, "product sides")
    ridge = _ridge(profile, p)
    if ridge and 1 < rows < min(ridge, columns, inner):
        text = (
            f"M = {rows} is small, and such a product reaches its full rate from M = {ridge:.0f}: "
            "a larger M costs little"
        )
        return Trouble(text, "skinny products")
    return None


def _ridge(profile: Profile, p: Placement) -> float | None:
    """The side from which on a product of this format is bound by the tensor cores."""
    formats = {unit.partition(".")[2] for unit in p.kernel.flops}
    found = profile.figures(p.device, topic="skinny products", name="ridge_m")
    return next((f.value for f in found if f.by.get("format") in formats), None)
