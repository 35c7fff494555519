"""Conclusions from a run's measurements: resources, ceilings, curves, headlines, findings."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from peakline.profile.declared import DeclaredPicture
from peakline.profile.measurement import Conditions

Basis = Literal[
    "theoretical",
    "datasheet",
    "instruction",
    "measured",
    "burst",
    "sustained",
    "model_burst",
    "model_shaped",
]
BASES: tuple[str, ...] = typing.get_args(Basis)
# Bases that follow from a specification; published MFU divides by one of them.
PUBLISHED_BASES = ("theoretical", "datasheet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource that ceilings belong to, and its label."""

    name: str
    label: str
    unit: str
    kind: Literal["memory", "compute"]
    precision: str = ""  # only of kind "compute"


@dataclass(frozen=True, slots=True)
class Factor:
    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Standard deviations of a value, as shares of it, within a run and between runs."""

    within: float
    sittings: float | None = None
    runs: float
    step: float | None = None  # half of the largest step within a sitting; not part of the interval
    runs_measured: int = 0
    kept_degrees: int = 0  # degrees of freedom of earlier runs that `runs` also rests on
    assumed_from: str = ""  # the model that `runs` was borrowed from


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The highest rate of a resource on one basis, such as BF16 Tensor Cores under sustained load.

    value: in `unit` ("B/s", "FLOP/s", "OP/s"), for the next run between `ci_low` and `ci_high`, 19
    times out of 20. measurement: the point it came from; empty if it follows from a specification.
    """

    device: str
    resource: str
    basis: Basis
    value: float
    unit: str
    ci_low: float | None = None
    ci_high: float | None = None
    spread: Spread | None = None
    conditions: Conditions = field(default_factory=Conditions)
    measurement: str = ""
    note: str = ""
    factors: tuple[Factor, ...] = ()  # their product is value / theoretical

    @property
    def joules_per_operation(self) -> float | None:
        """The energy of one operation of a compute rate, in joules: the board's power, idle power
        included, over the rate. None without a power, which only loads of a second and more have.
        """
        if not self.unit.endswith("OP/s") or not self.conditions.power_w or self.value <= 0:
            return None
        return self.conditions.power_w / self.value

    @property
    def packets(self) -> float:
        """The share of a link's raw rate that the headers of its packets leave; 1 where there are
        none.
        """
        return next((f.value for f in self.factors if f.name == "packets"), 1.0)

    @property
    def losses(self) -> tuple[Factor, ...]:
        """The factors below what packets allow: what the device and its software lose."""
        return tuple(f for f in self.factors if f.name != "packets")

    @property
    def varies(self) -> bool:
        """Whether it scatters too much for an interval."""
        return self.spread is not None and self.ci_low is None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingCeiling:
    device: str
    resource: str
    basis: Basis
    why: Literal[
        "unknown", "skipped", "failed", "implausible", "wrong_result", "few_samples", "unreadable"
    ] = "unknown"
    reason: str


@dataclass(frozen=True, slots=True)
class RidgePoint:
    compute: str
    memory: str
    compute_basis: Basis
    memory_basis: Basis
    intensity: float


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    measurement: str
    precision: str
    intensity: float
    flops_per_s: float


@dataclass(frozen=True, slots=True)
class Roofline:
    device: str
    memory: tuple[str, ...]
    compute: tuple[str, ...]
    ridge_points: tuple[RidgePoint, ...]
    points: tuple[RooflinePoint, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    severity: Literal["info", "warning", "error"]
    device: str
    message: str
    evidence: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a benchmark's answer, in base SI units."""

    id: str  # of the benchmark
    name: str
    by: Mapping[str, int | str] = field(default_factory=dict)  # parameters that it holds for
    value: float
    unit: str
    role: str = ""  # for look-ups
    number: Literal["share", "factor", "count"] | None = None  # of unit "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A topic's answer: figures, title, picture."""

    device: str
    topic: str
    title: str = ""  # the main conclusion
    figures: tuple[Figure, ...] = ()
    picture: DeclaredPicture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLevel:
    """One level of a GPU's memory, as stated by the device and as measured."""

    device: str
    level: str
    label: str
    per_sm: bool = False  # whether the sizes are per SM
    size_bytes: float | None = None  # as stated by the device
    held_bytes: float | None = None
    near_bytes: float | None = None
    line_bytes: float | None = None
    sector_bytes: float | None = None
    latency_s: float | None = None
    far_latency_s: float | None = None
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One of a device's main figures: the value of a ceiling."""

    device: str
    label: str
    resource: str
    basis: Basis
    reference_basis: Basis | None = None  # the basis to compare it with
    missing: str = ""  # why there is no value
