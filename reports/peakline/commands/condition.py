"""Conditions on a run's steps for `--fail-on`: "idle>10%"."""

import re
from dataclasses import dataclass

from peakline.workload.analysis import Analysis
from peakline.workload.change import Change
from peakline.workload.part import Part

_CONDITION = re.compile(r"\s*([a-z_]+)\s*>\s*(\d+(?:\.\d+)?)\s*%\s*")
_NAMES = ("idle", *(part.value for part in Part))
SLOWER = "slower"  # of a change: increase of the step's time


@dataclass(frozen=True, slots=True)
class Condition:
    name: str
    most: float  # 0 to 1

    def holds(self, analysis: Analysis | Change) -> bool:
        """Whether the limit is exceeded; changes within the steps' scatter do not count."""
        if isinstance(analysis, Change):
            return analysis.share > self.most and not analysis.overlap
        share = analysis.idle if self.name == "idle" else analysis.share(Part(self.name))
        return share > self.most


def condition(text: str) -> Condition:
    """Parses a condition. Raises ValueError, which names valid ones."""
    match = _CONDITION.fullmatch(text)
    if match is None or match[1] not in (SLOWER, *_NAMES) or float(match[2]) > 100:
        raise ValueError(
            f"{text!r}: use a part of the step and a share, such as idle>10% or "
            f"synchronization>5%; parts are {', '.join(_NAMES)}; with --against "
            "slower>5%"
        )
    return Condition(match[1], float(match[2]) / 100)
