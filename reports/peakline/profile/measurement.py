"""One measurement: what was done, how long it took, and under which conditions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    sm_clock_hz: float | None = None
    sm_clock_source: Literal["kernel", "probe", "nvml"] | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    utilization: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    power_cap_share: float | None = None
    throttle_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    bytes_read: float = 0.0
    bytes_written: float = 0.0
    flops: float = 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    median_s: float
    ci_low_s: float
    ci_high_s: float
    min_s: float
    max_s: float
    n: int


def summarize(samples_s: Sequence[float]) -> Summary:
    """Median, its 95 % interval from order statistics, and extremes of one or more samples, in
    seconds.

    The ranks are those of the sign test, as narrow as possible and symmetric; the median has seven
    digits, as the samples in a file have.
    """
    ordered = sorted(samples_s)
    n = len(ordered)

    def covered(low: int) -> float:
        """The probability that samples `low` to n + 1 - `low` enclose the median."""
        return float(sum(math.comb(n, k) for k in range(low, n + 1 - low)) / 2**n)

    low = 1
    while 2 * low + 1 <= n and covered(low + 1) >= 0.95:
        low += 1
    return Summary(
        median_s=float(f"{statistics.median(ordered):.7g}"),
        ci_low_s=ordered[low - 1],
        ci_high_s=ordered[n - low],
        min_s=ordered[0],
        max_s=ordered[-1],
        n=n,
    )


@dataclass(frozen=True, slots=True)
class Series:
    time_s: tuple[float, ...]
    rate: tuple[float | None, ...]
    sm_clock_hz: tuple[float | None, ...]
    power_w: tuple[float | None, ...]
    temperature_c: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    id: str
    params: Mapping[str, int | str] = field(default_factory=dict)
    device: str
    status: Literal["ok", "skipped", "error"]
    reason: str = ""
    work: Work = Work()
    launch: Mapping[str, int | str] = field(default_factory=dict)
    samples_s: tuple[float, ...] = ()
    sittings: tuple[tuple[int, ...], ...] = ()
    launches_per_sample: int
    summary: Summary | None = None
    estimate: Literal["median", "trimmed_mean", "fastest_tenth"] = "median"
    varies_with: Literal["device", "search", "collectives", "launches", "cpu"] = "device"
    value: float | None = None
    unit: str
    verified: bool | None = None
    flags: tuple[Literal["implausible", "unstable", "throttled"], ...] = ()
    conditions: Conditions = Conditions()
    series: Series | None = None
    duration_s: float = 0.0
    method_version: int

    def __post_init__(self) -> None:
        if self.summary is None and self.samples_s:
            object.__setattr__(self, "summary", summarize(self.samples_s))
        if self.value is None and self.summary is not None:
            object.__setattr__(self, "value", self._value_over(self.summary.median_s))

    def _value_over(self, time_s: float) -> float | None:
        """What the unit makes of the work and its time, with seven digits as in a file."""
        if self.unit == "s":
            return time_s
        flops, moved = self.work.flops, self.work.bytes_read + self.work.bytes_written
        amount = {"B/s": moved, "FLOP/s": flops, "OP/s": flops}.get(self.unit)
        return None if amount is None else float(f"{amount / time_s:.7g}")

    @property
    def name(self) -> str:
        """ "id/name:value/name:value", as `peakline run --filter` sees it."""
        return "/".join([self.id, *(f"{key}:{value}" for key, value in self.params.items())])

    def integer(self, name: str) -> int | None:
        """The integer parameter of that name, None where there is none."""
        value = self.params.get(name)
        return value if isinstance(value, int) else None

    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of `value`, in its unit; None where there is no summary or the value is
        not that of the median."""
        if self.value is None or self.summary is None or self.estimate != "median":
            return None
        low, high = self.summary.ci_low_s, self.summary.ci_high_s
        if self.unit == "s":
            return low, high
        # value = work / median, so the longest time gives the lowest rate.
        work = self.value * self.summary.median_s
        return work / high, work / low
