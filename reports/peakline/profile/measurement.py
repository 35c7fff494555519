"""One measurement: its work, its times, and the conditions of the device."""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True)
class Series:
    time_s: tuple[float, ...]
    rate: tuple[float | None, ...]
    sm_clock_hz: tuple[float | None, ...]
    power_w: tuple[float | None, ...]
    temperature_c: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One point of a benchmark on one device: its work, its times, and `value` in `unit`.

    `id` and `params` name the point; `sound` tells whether its value can be used, else `reason` and
    `flags` say why not. `summary` has the times in seconds, `samples_s` those of single blocks.
    """

    id: str
    params: Mapping[str, int | str] = field(default_factory=dict)
    device: str
    status: Literal["ok", "skipped", "error"]
    never_run: bool = False
    reason: str = ""
    work: Work = Work()
    launch: Mapping[str, int | str] = field(default_factory=dict)
    samples_s: tuple[float, ...] = ()
    sittings: tuple[tuple[int, ...], ...] = ()
    launches_per_sample: int
    summary: Summary | None = None
    estimate: Literal["median", "trimmed_mean", "fastest_tenth", "mean"] = "median"
    varies_with: Literal["device", "search", "collectives", "launches", "cpu"] = "device"
    value: float | None = None
    unit: str
    verified: bool | None = None
    flags: tuple[Literal["implausible", "unstable", "throttled"], ...] = ()
    conditions: Conditions = Conditions()
    series: Series | None = None
    duration_s: float = 0.0
    method_version: int

    @property
    def name(self) -> str:
        """ "id/name:value/name:value", as `peakline run --filter` sees it."""
        return "/".join([self.id, *(f"{key}:{value}" for key, value in self.params.items())])

    @property
    def sound(self) -> bool:
        """Whether its value counts: not failed, skipped, zero, implausible or wrong."""
        return (
            self.status == "ok"
            and bool(self.value)
            and self.summary is not None
            and "implausible" not in self.flags
            and self.verified is not False
        )

    def integer(self, name: str) -> int | None:
        """A size or count among the parameters; None if there is none of that name above 0."""
        value = self.params.get(name)
        return value if isinstance(value, int) and value > 0 else None

    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of `value`, in its unit; None unless the value rests on the median."""
        if self.value is None or self.summary is None or self.estimate != "median":
            return None
        low, high = self.summary.ci_low_s, self.summary.ci_high_s
        if self.unit == "s":
            return low, high
        # value = work / median, so the longest time gives the lowest rate.
        work = self.value * self.summary.median_s
        return work / high, work / low
