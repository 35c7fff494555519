"""Whether the GPU of a running job is still as fast as when it was calibrated."""

from __future__ import annotations

import json
import math
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from peakline.profile import ProfileError
from peakline.profile.errors import FieldError
from peakline.profile.files import read, write_whole
from peakline.training.probe_work import Card, Parts, Round, Unknown
from peakline.training.state import device_state

# Of 65 healthy measurements one is the lowest; two more than 64 rounds are both below all of them
# once in 2145, whatever their distribution, and either of two rates has that once in 1072. The
# margin is for what calibration does not see, such as a hotter card.
_ROUNDS = 64
_MARGIN = 0.01
_MOST_SCATTER = 0.1
_SAME_CLOCK = 1.02
_LOAD_S = 2.0
_PAUSE_S = 0.05

_Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class ProbeVerdict:
    """The answer of a probe.

    outcome: "slow" if two measurements in a row found it. reason: for "slow" and "unknown". ratios:
    rates to the calibration's medians by name: "gemm" is FLOPs per SM clock cycle, "hbm.read" bytes
    per second. limits: the lowest healthy ratios. clock_hz, calibrated_clock_hz: SM clocks beside
    the GEMMs. measurements: 2 if the first one was slow. memory_left: bytes by which the probe
    enlarged what PyTorch reserves.
    """

    outcome: Literal["healthy", "slow", "unknown"]
    reason: str = ""
    ratios: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    clock_hz: float | None = None
    calibrated_clock_hz: float | None = None
    measurements: int = 0
    memory_left: int = 0


class Probe:
    """Compares the GPU of a job with its own calibration, between two steps.

        peakline.probe.calibrate()  # once, on the idle card, in 20 s
        verdict = peakline.probe()  # ProbeVerdict(outcome="healthy", ...)

    A probe takes `seconds` of the current stream and waits for it once; a loss is measured again
    before it is reported. It needs 320 MiB that PyTorch has not reserved, and gives them back. It
    never raises: outcome "unknown" has a reason.

    device: as in PyTorch, by default the current one. seconds: as calibrated, or more. folder: has
    a file for each calibrated card; by default peakline/probe in $XDG_CACHE_HOME or ~/.cache.
    """

    def __call__(
        self, device: Any = None, seconds: float = 0.2, *, folder: _Folder = None
    ) -> ProbeVerdict:
        try:
            return _probed(Card(device), seconds, folder)
        except (Unknown, ProfileError) as reason:
            return ProbeVerdict("unknown", str(reason))
        except Exception as error:  # a probe must not stop a training run
            return ProbeVerdict("unknown", f"{type(error).__name__}: {error}")

    def calibrate(
        self, device: Any = None, seconds: float = 0.2, *, folder: _Folder = None
    ) -> dict[str, float]:
        """Measures the idle card from rest and after load, stores that, and returns the limits of
        later verdicts. Parameters are a probe's. A slow card passes for healthy, so let `peakline
        check` pass first. Raises RuntimeError if the card cannot be measured or is not idle,
        OSError if the file cannot be written."""
        seconds = _above_0("seconds", seconds)
        card = Card(device)
        path = _file(card, folder)
        path.parent.mkdir(parents=True, exist_ok=True)  # before it takes 20 s
        with card.work() as work:
            parts = work.parts(seconds)
            rounds = []
            for number in range(_ROUNDS):
                if number < _ROUNDS // 2:
                    time.sleep(_PAUSE_S)
                else:
                    work.load(_LOAD_S if number == _ROUNDS // 2 else _PAUSE_S)
                rounds.append(work.measure(parts))
        found = _Calibration(card.conditions(), seconds, parts, rounds)
        if found.scatters():
            raise Unknown(f"rounds differ by more than {_MOST_SCATTER:.0%}: the card is not idle")
        write_whole(path, found.document().encode())
        return found.limits(math.inf)

    def every(self, step_s: float, seconds: float = 0.2, share: float = 0.01) -> int:
        """The number of steps of `step_s` seconds for each probe that costs `share` of the time.
        Raises RuntimeError unless all are above 0."""
        given = {"step_s": step_s, "seconds": seconds, "share": share}
        step_s, seconds, share = (_above_0(name, value) for name, value in given.items())
        return max(1, math.ceil(seconds / share / step_s))


def _above_0(name: str, value: Any) -> float:
    if not isinstance(value, (int, float)) or not 1e-9 < value < 1e9:
        raise Unknown(f"{name} is {value!r}: a number above 0 is needed")
    return value


probe = Probe()


def _probed(card: Card, seconds: float, folder: _Folder) -> ProbeVerdict:
    calibration = _stored(card, folder)
    if _above_0("seconds", seconds) < calibration.seconds:
        raise Unknown(f"calibrated for {calibration.seconds:g} s; {seconds:g} s is too short")
    parts = calibration.parts
    parts = parts._replace(groups=round(parts.groups * seconds / calibration.seconds))
    with card.work() as work:
        verdict = calibration.verdict(first := work.measure(parts))
        if verdict.outcome == "slow":
            verdict = calibration.verdict(work.measure(parts), first)
        if verdict.outcome == "slow":
            verdict = replace(verdict, reason=f"{verdict.reason}; the device now: {_state()}")
    return replace(verdict, memory_left=work.memory_left)


def _state() -> str:
    try:
        return device_state()
    except Exception as error:  # a broken NVML hides no slow card
        return f"not known: {error}"


@dataclass(frozen=True)
class _Calibration:
    """Rounds of an idle card, under conditions that a probe must meet again."""

    conditions: Mapping[str, object]
    seconds: float
    parts: Parts
    rounds: Sequence[Round]

    def rates(self) -> dict[str, list[float]]:
        names = self.rounds[0].rates()
        return {name: [round_.rates()[name] for round_ in self.rounds] for name in names}

    def limits(self, clock_hz: float) -> dict[str, float]:
        """Ratios by name. Below the calibrated clocks, reads may slow down as the clock does."""
        found = {n: min(r) / statistics.median(r) - _MARGIN for n, r in self.rates().items()}
        found["hbm.read"] *= min(1.0, clock_hz / min(round_.clock_hz for round_ in self.rounds))
        return found

    def scatters(self) -> bool:
        """Whether rounds differ so much that a slow card would pass."""
        return min(self.limits(math.inf).values()) < 1 - _MOST_SCATTER

    def verdict(self, last: Round, *before: Round) -> ProbeVerdict:
        """The verdict on the last measurement: a rate is slow if it was each time."""
        clocks = [round_.clock_hz for round_ in self.rounds]
        if last.clock_hz > _SAME_CLOCK * max(clocks):
            mhz = f"{last.clock_hz / 1e6:.0f} MHz, calibrated up to {max(clocks) / 1e6:.0f} MHz"
            raise Unknown(f"SM clock {mhz}: calibrate again")
        medians = {name: statistics.median(rates) for name, rates in self.rates().items()}
        limits = self.limits(last.clock_hz)
        slow = [
            f"{name} {1 - last.rates()[name] / medians[name]:.1%} below its calibration "
            f"(limit {1 - limits[name]:.1%})"
            for name in medians
            if all(
                round_.rates()[name] < self.limits(round_.clock_hz)[name] * medians[name]
                for round_ in (*before, last)
            )
        ]
        return ProbeVerdict(
            "slow" if slow else "healthy",
            ", ".join(slow),
            {name: rate / medians[name] for name, rate in last.rates().items()},
            limits,
            last.clock_hz,
            statistics.median(clocks),
            1 + len(before),
        )

    def document(self) -> str:
        known = {
            "conditions": self.conditions,
            "seconds": self.seconds,
            "parts": self.parts._asdict(),
            "rounds": [round_._asdict() for round_ in self.rounds],
        }
        return json.dumps({"schema": "peakline-probe", "schema_version": 1, **known}, indent=1)


def _calibration(document: Any) -> _Calibration:
    try:
        if (document["schema"], document["schema_version"]) != ("peakline-probe", 1):
            raise FieldError("not a peakline-probe of version 1")
        parts = Parts(**document["parts"])
        rounds = [Round(**round_) for round_ in document["rounds"]]
        found = _Calibration(dict(document["conditions"]), document["seconds"], parts, rounds)
        numbers = [found.seconds, *parts, *(number for round_ in rounds for number in round_)]
        if not all(0 < number < math.inf for number in numbers):
            raise FieldError("expected positive numbers")
        if len(rounds) != _ROUNDS or found.scatters():
            raise FieldError(
                f"expected {_ROUNDS} rounds that differ by at most {_MOST_SCATTER:.0%}"
            )
    except (KeyError, TypeError, ValueError) as error:
        raise FieldError(f"not what probe.calibrate writes: {error}") from error
    return found


def _file(card: Card, folder: _Folder) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder or Path(cache, "peakline/probe"), f"{card.uuid}.json")


def _stored(card: Card, folder: _Folder) -> _Calibration:
    """The card's calibration, if it was made under today's conditions."""
    path = _file(card, folder)
    if not path.exists():
        raise Unknown(f"{path} is missing: call peakline.probe.calibrate() on the idle card")
    found = read(path, _calibration)
    for name, now in card.conditions().items():
        if (then := found.conditions.get(name)) != now:
            raise Unknown(f"{path}: calibrated with {name} {then}, not {now}: calibrate again")
    return found
