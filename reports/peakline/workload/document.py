"""Steps and kernels as JSON documents, in base SI units."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from peakline.peaks.mfu import Utilization
from peakline.profile import Profile
from peakline.workload import kernel_text
from peakline.workload.advice import advice
from peakline.workload.analysis import Analysis
from peakline.workload.modules import Module, modules
from peakline.workload.part import Part
from peakline.workload.placement import Answer, Placement
from peakline.workload.step_text import by_phase, headline, losses, said
from peakline.workload.waterfall import Waterfall


def document(analysis: Analysis, shares: Iterable[Utilization] = ()) -> dict[str, Any]:
    """The steps in base SI units: a part's `time_s` is the mean per step. `nanoseconds` are whole
    and add up exactly to those of the steps."""
    profile, first = analysis.profile, analysis.ranks[0]
    leading = analysis.ranks[analysis.leading]
    return {
        "schema": "peakline-trace",
        "schema_version": 1,
        "profile": profile.path,
        "device": {"uuid": first.device, "name": profile.device_name(first.device)},
        "headline": headline(analysis),
        "step_s": analysis.step_s,
        "steps": analysis.steps,
        "idle": analysis.idle,
        "parts": [_part(analysis, part) for part in analysis.parts],
        "losses": [
            {"name": loss.name, "share": loss.share, "parts": [part.value for part in loss.parts]}
            for loss in losses(analysis)
        ],
        "utilization": [{"name": share.name, "share": float(share)} for share in shares],
        "advice": [
            {
                "part": one.code,
                "saving_s": one.saving_s,
                "text": said(one),
                **({"rank": one.rank} if one.rank is not None else {}),
                **({"topic": one.topic} if one.topic else {}),
            }
            for one in advice(analysis)
        ],
        "phases": [
            {
                "phase": name,
                "steps": count,
                "step_s": sum(parts.values()) / count * 1e-9,
                "parts": {part.value: time for part, time in parts.items()},
            }
            for name, (count, parts) in by_phase(analysis).items()
        ],
        "ranks": [_rank(rank) for rank in analysis.ranks],
        "modules": [_module(module, len(leading.steps)) for module in modules(leading, 0.0)],
        "kernels": [
            row | {"time_per_step_s": row["time_s"] / len(leading.steps)}
            for row in kernel_rows(profile, analysis.kernels)
        ],
        "notes": list(analysis.notes),
    }


def _module(module: Module, steps: int) -> dict[str, Any]:
    scale = 1e-9 / steps
    return {
        "path": list(module.path),
        "count": module.count,
        "time_s": module.nanoseconds * scale,
        "forward_s": module.forward * scale,
        "backward_s": module.backward * scale,
        "beyond_s": module.beyond * scale,
    }


def _part(analysis: Analysis, part: Part) -> dict[str, Any]:
    nanoseconds = analysis.parts[part]
    return {
        "part": part.value,
        "label": part.label,
        "idle": part.is_idle,
        "nanoseconds": nanoseconds,
        "time_s": nanoseconds / analysis.steps * 1e-9,
        "share": analysis.share(part),
    }


def _rank(rank: Waterfall) -> dict[str, Any]:
    return {
        "trace": rank.timeline.trace.name,
        "device": rank.timeline.device,
        "by": rank.by,
        "nanoseconds": rank.nanoseconds,
        "parts": {part.value: time for part, time in rank.parts.items()},
        "clipped": rank.clipped,
        "steps": [
            {
                "name": step.name,
                "nanoseconds": step.length,
                "parts": {part.value: time for part, time in parts.items()},
            }
            for step, parts in zip(rank.steps, rank.each, strict=True)
        ],
    }


def kernel_document(profile: Profile, placements: Sequence[Placement]) -> dict[str, Any]:
    """The placements in base SI units; unknown values are left out.

    Gains are maxima over all launches. `units` are the limiting ones, busiest first; `complete` is
    false if something uncounted may be the limit instead.
    """
    device = placements[0].device if placements else profile.select_devices()[0]
    return {
        "schema": "peakline-kernels",
        "schema_version": 1,
        "profile": profile.path,
        "device": {"uuid": device, "name": profile.device_name(device)},
        "as_written": _total(kernel_text.total(placements, lambda p: p.as_written)),
        "rewritten": _total(kernel_text.total(placements, lambda p: p.rewritten)),
        "kernels": kernel_rows(profile, placements),
        "notes": kernel_text.advice(profile, placements),
    }


def kernel_rows(profile: Profile, placements: Sequence[Placement]) -> list[dict[str, Any]]:
    return [_kernel(profile, number, p) for number, p in enumerate(placements, start=1)]


def _total(found: kernel_text.Total) -> dict[str, float]:
    return {
        "gain_s": found.gain_s,
        "share_of_time": found.share,
        "answered_s": found.answered_s,
        "time_s": found.seconds,
    }


def _kernel(profile: Profile, number: int, p: Placement) -> dict[str, Any]:
    row = {
        "number": number,
        "name": p.kernel.name,
        "label": p.label,
        "device": p.kernel.device,
        "launches": p.kernel.launches,
        "time_s": p.kernel.seconds,
        "time_is_upper_limit": p.kernel.clipped or None,
        "sm_clock_hz": p.clock_hz,
        "load": p.load,
        "load_s": p.kernel.load_s,
        "flops": dict(p.kernel.flops),
        "bytes": dict(p.kernel.bytes),
        "flops_per_s": p.flops_per_s,
        "from_shapes": p.kernel.from_shapes,
        "as_written": _answer(profile, p, p.as_written),
        "rewritten": _answer(profile, p, p.rewritten),
        "shares": dict(p.shares),
        "reason": p.reason and dataclasses.asdict(p.reason),
        "impossible": list(p.impossible),
        "missing": list(p.missing),
    }
    return {key: value for key, value in row.items() if value is not None and value != ""}


def _answer(profile: Profile, p: Placement, answer: Answer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    found: dict[str, Any] = {
        "units": list(answer.units),
        "labels": [kernel_text.unit_label(profile, name) for name in answer.units],
        "share": answer.share,
        "gain_s": p.gain_s(answer),
        "complete": answer.complete,
    }
    if answer.capped_by:
        found |= {"capped_by": answer.capped_by, "cap": answer.cap}
    return found
