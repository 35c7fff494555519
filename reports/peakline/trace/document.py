"""What is said of a run's steps as a JSON document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peakline import kernels
from peakline.mfu import Utilization
from peakline.trace.advice import advice
from peakline.trace.analysis import Analysis
from peakline.trace.part import Part
from peakline.trace.text import headline, losses, said
from peakline.trace.waterfall import Waterfall


def document(analysis: Analysis, shares: Iterable[Utilization] = ()) -> dict[str, Any]:
    """The steps in base SI units: `time_s` of a part is that of a step on average.

    `nanoseconds` are whole and add up to those of the steps, exactly.
    """
    profile, first = analysis.profile, analysis.ranks[0]
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
                "part": one.part.value,
                "saving_s": one.saving_s,
                "text": said(one, analysis.step_s),
                **({"topic": one.topic} if one.topic else {}),
            }
            for one in advice(analysis)
        ],
        "ranks": [_rank(rank) for rank in analysis.ranks],
        "kernels": kernels.document(profile, first.bounds.table)["kernels"],
        "notes": list(analysis.notes),
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
