"""What is said of kernels as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from peakline.kernels.placement import Answer, Placement
from peakline.kernels.text import Total, advice, total, unit_label
from peakline.profile import Profile


def document(profile: Profile, placements: Sequence[Placement]) -> dict[str, Any]:
    """The placements in base SI units; what is not known is left out.

    Gains are what can be saved at the most, over all launches. `units` name what binds, the busiest
    first, and `complete` is false where something that was not counted may bind instead.
    """
    device = placements[0].device if placements else profile.select_devices()[0]
    return {
        "schema": "peakline-kernels",
        "schema_version": 1,
        "profile": profile.path,
        "device": {"uuid": device, "name": profile.device_name(device)},
        "as_written": _total(total(placements, lambda p: p.as_written)),
        "rewritten": _total(total(placements, lambda p: p.rewritten)),
        "kernels": [_kernel(profile, n, p) for n, p in enumerate(placements, start=1)],
        "notes": advice(profile, placements),
    }


def _total(found: Total) -> dict[str, float]:
    return {
        "gain_s": found.gain_s,
        "share_of_time": found.share,
        "answered_s": found.answered_s,
        "time_s": found.seconds,
    }


def _kernel(profile: Profile, number: int, p: Placement) -> dict[str, Any]:
    found = p.reason
    row = {
        "number": number,
        "name": p.kernel.name,
        "label": p.label,
        "device": p.kernel.device,
        "launches": p.kernel.launches,
        "time_s": p.kernel.seconds,
        "sm_clock_hz": p.clock_hz,
        "load": p.load,
        "load_s": p.kernel.load_s,
        "flops": dict(p.kernel.flops),
        "bytes": dict(p.kernel.bytes),
        "flops_per_s": p.flops_per_s,
        "from_shapes": p.kernel.from_shapes,
        "as_written": _answer(profile, p.as_written),
        "rewritten": _answer(profile, p.rewritten),
        "shares": dict(p.shares),
        "reason": found
        and {"kind": found.kind, "text": found.text, "topic": found.topic, "shown": found.shown},
        "impossible": list(p.impossible),
        "missing": list(p.missing),
    }
    return {key: value for key, value in row.items() if value is not None and value != ""}


def _answer(profile: Profile, answer: Answer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    found: dict[str, Any] = {
        "units": list(answer.units),
        "labels": [unit_label(profile, name) for name in answer.units],
        "share": answer.share,
        "gain_s": answer.gain_s,
        "complete": answer.complete,
    }
    if answer.capped_by:
        found |= {"capped_by": answer.capped_by, "cap": answer.cap}
    return found
