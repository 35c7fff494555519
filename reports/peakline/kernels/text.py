"""Placements as text: the table, and where there is most to gain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from peakline import units
from peakline.kernels.counters import metrics_for
from peakline.kernels.labels import shortened
from peakline.kernels.placement import Placement
from peakline.profile import Profile

# These words say what is not known of a kernel, or is missing in the profile.
_UNKNOWN = {
    "tensor": "what kept the tensor cores busy",
    "cuda_core.fp32": "FP32 FLOPs",
    "cuda_core.fp64": "FP64 FLOPs",
    "cuda_core.fp16": "FP16 FLOPs",
    "flops": "FLOPs",
    "hbm": "bytes",
    "time": "time",
    "ceiling": "a ceiling for what it uses",
    "work": "any work that was counted",
    "dtype": "the precision it computed in",
    "precision": "the precision it computed in",
    "level": "the memory its bytes came from",
}
NAME_WIDTH = 40  # characters of a name in a table
_WIDTH_IN_TEXT = 80
_WORTH_A_WORD = 0.001
_NAMED = 3  # kernels named in a sentence; the table has them all


@dataclass(frozen=True, slots=True)
class Unplaced:
    """The kernels without a verdict, together."""

    kernels: int
    launches: int
    seconds: float
    time_share: float  # of the time of all kernels

    @property
    def label(self) -> str:
        return f"unplaced: {_count(self.kernels, 'kernel')}"


def unplaced(placements: Sequence[Placement]) -> Unplaced | None:
    """What has no verdict; None where everything has."""
    found = [p for p in placements if p.unknown]
    if not found:
        return None
    seconds = sum(p.kernel.seconds or 0.0 for p in found)
    return Unplaced(
        len(found),
        sum(p.kernel.launches for p in found),
        seconds,
        seconds / total if (total := total_seconds(placements)) else 1.0,
    )


def total_seconds(placements: Sequence[Placement]) -> float:
    """The time of all kernels."""
    return sum(p.kernel.seconds or 0.0 for p in placements)


def verdict(profile: Profile, placement: Placement) -> str:
    """What bounds a kernel, or why that cannot be said."""
    if placement.bound_by:
        return profile.label(placement.bound_by)
    return f"unknown: {_words(placement.unknown)}"


def _words(unknown: Iterable[str]) -> str:
    """What is not known; all formats of the tensor cores are one."""
    words = ("tensor FLOPs" if name.startswith("tensor.") else _UNKNOWN[name] for name in unknown)
    return ", ".join(dict.fromkeys(words))


def reached(profile: Profile, placement: Placement) -> str:
    """What a kernel reaches of each slope and roof that it runs under, where it is worth a word."""
    shares = [
        f"{profile.label(resource)} {units.percent(share)}"
        for resource, share in placement.shares.items()
        if share >= _WORTH_A_WORD
    ]
    return ", ".join(shares)


def advice(profile: Profile, placements: Sequence[Placement]) -> str:
    """A few sentences on where there is most to gain, and on what cannot be said."""
    known = [p for p in placements if not p.unknown]
    sentences = [_gain(profile, placements, known[0])] if known else []
    above = [p for p in placements if {"precision", "level"} & {*p.unknown}]
    if above:
        sentences.append(
            f"{_names(above)} {'does' if len(above) == 1 else 'do'} more than a roof allows: in "
            "another precision than was counted (TF32 instead of FP32), on sparse operands, with "
            "bytes that came from a cache, or on another device; or a count or time is wrong."
        )
    if any(p.kernel.from_shapes for p in known):
        sentences.append(
            "FLOPs and bytes of matrix products, attention and convolutions follow from their "
            "shapes: the bytes are compulsory ones, each operand moved once."
        )
    ignored = sorted({unit for p in placements for unit in p.ignored})
    if ignored:
        names = ", ".join(profile.label(unit) for unit in ignored)
        sentences.append(f"FLOPs of {names} are held against no roof: the profile has none.")
    sentences += _no_verdict(placements)
    return " ".join(sentences)


def _gain(profile: Profile, placements: Sequence[Placement], first: Placement) -> str:
    assert first.share is not None
    assert first.gain_s is not None
    assert first.bound_by is not None
    total = total_seconds(placements)
    gain = sum(p.gain_s or 0.0 for p in placements)
    everyone = "every kernel that has a verdict" if unplaced(placements) else "every kernel"
    return (
        f"{_names([first])} has the most to gain: it reaches {units.percent(first.share)} of "
        f"its roof, {profile.label(first.bound_by)}, and {units.time(first.gain_s)} of the "
        f"{units.time(total)} in all could be saved. With {everyone} on its roof, that would be "
        f"{units.percent(gain / total)} of the time."
    )


def _no_verdict(placements: Sequence[Placement]) -> list[str]:
    found = [p for p in placements if p.unknown]
    rest = unplaced(placements)
    if rest is None:
        return []
    reasons = dict.fromkeys(name for p in found for name in p.unknown)
    what = _words(reasons)
    sentences = [
        f"No verdict on {_names(found)} ({units.percent(rest.time_share)} of the time): what is "
        f"not known could bind. Missing: {what}."
    ]
    if "flops" in reasons:
        sentences.append(
            "A trace tells the FLOPs of products alone, and only where it was recorded with "
            "record_shapes=True; ncu counts those of every kernel."
        )
    if "dtype" in reasons:
        sentences.append(
            "Add a precision column to the CSV (bf16, fp32, ...); ncu counts the FLOPs of each "
            "precision."
        )
    metrics = metrics_for(reasons) if "flops" not in reasons else []
    if metrics:
        sentences.append(f"Profile with ncu --set full, or add --metrics {','.join(metrics)}.")
    return sentences


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _names(placements: Sequence[Placement]) -> str:
    names = list(shortened(dict.fromkeys(p.label for p in placements), _WIDTH_IN_TEXT).values())
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {_count(more, 'other')}" if more > 0 else "")


def table(profile: Profile, placements: Sequence[Placement]) -> str:
    """The placements as text, most to gain first; what has no verdict is summed up last.

    Below each kernel stands what it reaches of every slope and roof that it runs under.
    """
    lines = [
        f"{'#':>3}  {'kernel':{NAME_WIDTH}}  {'launches':>8}  {'time':>9}  {'of time':>8}  "
        f"{'FLOP/s':>13}  {'FLOP/byte':>9}  {'of roof':>8}  {'to gain':>9}  bound by"
    ]
    total = total_seconds(placements)
    names = shortened((p.label for p in placements), NAME_WIDTH)
    for number, p in enumerate(placements, start=1):
        level = p.levels[0] if p.levels else None
        seconds = p.kernel.seconds
        lines.append(
            f"{number:3}  {names[p.label]:{NAME_WIDTH}}  {p.kernel.launches:8}  "
            f"{units.time(seconds) if seconds is not None else '–':>9}  "
            f"{units.percent(seconds / total) if seconds is not None else '–':>8}  "
            f"{units.rate(p.flops_per_s, 'FLOP/s') if p.flops_per_s else '–':>13}  "
            f"{units.intensity(level.intensity) if level and level.intensity else '–':>9}  "
            f"{units.percent(p.share) if p.share is not None else '–':>8}  "
            f"{units.time(p.gain_s) if p.gain_s is not None else '–':>9}  "
            f"{verdict(profile, p)}{' (by shapes)' if p.kernel.from_shapes else ''}"
        )
        if len(p.shares) > 1:
            lines.append(f"{'':5}{reached(profile, p)}")
    rest = unplaced(placements)
    if rest is not None:
        lines.append(
            f"{'':3}  {rest.label:{NAME_WIDTH}}  {rest.launches:8}  {units.time(rest.seconds):>9}  "
            f"{units.percent(rest.time_share):>8}"
        )
    return "\n".join(lines)
