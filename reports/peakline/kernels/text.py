"""Placements as text: the table, and where there is most to gain."""

from __future__ import annotations

from collections.abc import Sequence

from peakline import units
from peakline.kernels.kernel import UNKNOWN_UNIT
from peakline.kernels.placement import Placement
from peakline.profile import Profile


def advice(profile: Profile, placements: Sequence[Placement]) -> str:
    """In a sentence or two, where there is most to gain."""
    known = [p for p in placements if p.share is not None and p.gain_s is not None]
    if not known:
        return (
            "None of these kernels could be placed: the profile has no ceiling for what they use."
        )
    total = sum(p.kernel.seconds for p in placements)
    first = known[0]
    assert first.share is not None
    assert first.gain_s is not None
    assert first.bound_by is not None
    gain = sum(p.gain_s for p in known if p.gain_s is not None)
    text = (
        f"{first.label} has the most to gain: it reaches {units.percent(first.share)} of "
        f"what {profile.label(first.bound_by)} allows, and {units.time(first.gain_s)} of the "
        f"{units.time(total)} in all could be saved. With every kernel on its roof, that would be "
        f"{units.percent(gain / total)} of the time."
    )
    above = [p.label for p in known if p.share is not None and p.share > 1.05]
    if above:
        text += (
            f" Above the roof: {', '.join(above)}; such a kernel was counted differently from "
            "the ceiling, or ran at a different clock."
        )
    unknown = [p.label for p in placements if UNKNOWN_UNIT in p.kernel.flops]
    if unknown:
        names = ", ".join(unknown)
        text += f" The precision of {names} is not known: the highest roof stands in for it."
    ignored = sorted({unit for p in placements for unit in p.ignored})
    if ignored:
        names = ", ".join(profile.label(unit) for unit in ignored)
        text += f" FLOPs of {names} are held against no roof: the profile has none for them."
    return text


def table(profile: Profile, placements: Sequence[Placement]) -> str:
    """The placements as text, most to gain first."""
    lines = [
        f"{'#':>3}  {'kernel':40}  {'launches':>8}  {'time':>9}  {'FLOP/s':>13}  {'FLOP/byte':>9}  "
        f"{'of roof':>8}  {'to gain':>9}  bound by"
    ]
    for number, p in enumerate(placements, start=1):
        level = p.levels[0] if p.levels else None
        name = p.label if len(p.label) <= 40 else p.label[:39] + "…"
        lines.append(
            f"{number:3}  {name:40}  {p.kernel.launches:8}  {units.time(p.kernel.seconds):>9}  "
            f"{units.rate(p.flops_per_s, 'FLOP/s') if p.flops_per_s else '–':>13}  "
            f"{units.intensity(level.intensity) if level and level.intensity else '–':>9}  "
            f"{units.percent(p.share) if p.share is not None else '–':>8}  "
            f"{units.time(p.gain_s) if p.gain_s is not None else '–':>9}  "
            f"{profile.label(p.bound_by) if p.bound_by else '–'}"
        )
    return "\n".join(lines)
