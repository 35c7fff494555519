"""MFU of each training step, timed by the device without waiting for it."""

from __future__ import annotations

import logging
import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from peakline import units
from peakline.names import basis_name
from peakline.peaks.mfu import MOST_OF_PEAK, mfu
from peakline.profile import Peak, PeakError, Profile
from peakline.profile.peaks import known_peaks
from peakline.profile.schema import require_positive
from peakline.training.state import device_state

_LOG = logging.getLogger("peakline")
# Recent steps that define the usual scatter; the first ones of a run warm up.
_HISTORY = 100
_LEAST_HISTORY = 20
# A step is slow if it exceeds the median by six standard deviations, estimated from the median
# absolute deviation (x 1.4826 for a normal distribution), and the slowest twentieth by 5 %: steps
# that are slow at regular intervals, as with accumulated gradients, are usual.
_DEVIATIONS = 6.0
_NORMAL = 1.4826
_SLOWEST = 20
_LEAST_EXCESS = 0.05
# More events than a device lags behind; bounds the queue if an event never completes.
_MOST_PENDING = 4096

Sink = Callable[[int, Mapping[str, float]], object]


class Event(Protocol):
    """The methods used of torch.cuda.Event(enable_timing=True)."""

    def record(self) -> None:
        """Records a mark in the current stream."""

    def query(self) -> bool:
        """Whether the device has reached the mark."""

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds from this mark to another."""


class HostEvent:
    """Stands in for a device event where there is no GPU."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def record(self) -> None:
        self.seconds = time.perf_counter()

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: HostEvent) -> float:
        return (end.seconds - self.seconds) * 1e3


class StepTimer:
    """Times the steps of a training loop and computes their share of the machine's peaks.

        timer = peakline.StepTimer(profile, flops_per_step, "bf16")
        for batch in loader:
            train(batch)
            wandb.log(timer.step())

    `step` marks the end of a step in the current stream and returns the figures of the last step
    that the device has finished since the previous call. It never waits, so figures come a step or
    more late. Keys: "peakline/step_s"; "peakline/mfu" against the published peak; for each measured
    peak "peakline/of_burst", "peakline/of_achievable".

    profile: of this machine. flops: model FLOPs of a step on one device, without recomputation.
    dtype, device: as in `Profile.peak`; of several devices of one model the slowest counts. sinks:
    each is called with a step's number and its figures (`tensorboard`, `prometheus`); a sink that
    raises is logged once and called again at the next step. event: makes stream events; by default
    CUDA's, and the host's clock without a GPU. Shares above 1 are left out, with one warning.

    Raises PeakError if the profile lacks the peaks or is of another GPU model than the one in use,
    ValueError for invalid FLOPs.
    """

    def __init__(
        self,
        profile: Profile,
        flops: float,
        dtype: str,
        *,
        device: str | int | None = None,
        sinks: Sequence[Sink] = (),
        event: Callable[[], Event] | None = None,
    ) -> None:
        require_positive(flops=flops)
        self._flops = flops
        if event is None:
            _require_same_model(profile, device)
        self._peaks = _peaks(profile, dtype, device)
        self._sinks = tuple(sinks)
        self._event = event or _event_maker()
        # Marks with their steps' numbers; None where the time between two marks is not a step.
        self._pending: deque[tuple[int, Event] | None] = deque(maxlen=_MOST_PENDING)
        self._steps = 0
        self._usual: deque[float] = deque(maxlen=_HISTORY)
        self._is_slow = False
        self._reporting = False  # to the sinks
        self._warned: list[object] = []  # causes; a list, since sinks may not be hashable
        self.latest: dict[str, float] = {}  # the figures of the last finished step

    def step(self) -> dict[str, float]:
        """Marks the end of a step; returns the figures of the last newly finished one, if any."""
        if self._reporting:
            raise RuntimeError("a sink must not call step(), which calls it")
        mark = self._event()
        mark.record()
        self._pending.append((self._steps, mark))
        self._steps += 1
        found: dict[str, float] = {}
        while len(self._pending) > 1:
            before, after = self._pending[0], self._pending[1]
            if before and after:
                (_, start), (number, end) = before, after
                if not end.query():
                    break
                found = self._finished(number, start.elapsed_time(end) * 1e-3)
            self._pending.popleft()
        return found

    def pause(self) -> None:
        """Leaves out the time until the next step: evaluation, checkpoints."""
        self._pending.append(None)

    def _finished(self, number: int, seconds: float) -> dict[str, float]:
        if not 0 < seconds < math.inf:
            self._warn_once(
                "time",
                "step %d took %g s by the device's clock, so it is left out",
                number,
                seconds,
            )
            return {}
        figures = {"peakline/step_s": seconds, **self._shares(number, seconds)}
        self._watch(number, seconds)
        self.latest = figures
        for sink in self._sinks:
            self._reporting = True
            try:
                sink(number, dict(figures))
            except Exception:  # figures must not stop a training run
                self._warn_once(sink, "sink %r failed at step %d", sink, number, exc_info=True)
            finally:
                self._reporting = False
        return figures

    def _shares(self, number: int, seconds: float) -> dict[str, float]:
        """The shares of the peaks by name; empty if one is impossible."""
        highest = max(self._peaks.values())
        share = self._flops / (seconds * highest)
        if share <= MOST_OF_PEAK:
            return {name: self._flops / (seconds * peak) for name, peak in self._peaks.items()}
        self._warn_once(
            "share",
            "step %d did %.0f %% of the %s peak of %s (%s), which is impossible, so such shares "
            "are left out: check that flops (%.4g) are of one step on one device, that dtype is "
            "the one in use, and that step() is called once a step",
            number,
            share * 100,
            basis_name(highest.basis),
            highest.resource,
            units.rate(highest, highest.unit),
            self._flops,
        )
        return {}

    def _warn_once(self, cause: object, message: str, *values: object, **options: Any) -> None:
        if cause not in self._warned:
            self._warned.append(cause)
            _LOG.warning(message, *values, **options)

    def _watch(self, number: int, seconds: float) -> None:
        """Warns once when steps become slower than the run's own scatter."""
        is_slow = False
        if len(self._usual) >= _LEAST_HISTORY:
            middle = statistics.median(self._usual)
            scatter = _NORMAL * statistics.median(abs(s - middle) for s in self._usual)
            slowest = statistics.quantiles(self._usual, n=_SLOWEST)[-1]
            limit = max(middle + _DEVIATIONS * scatter, (1 + _LEAST_EXCESS) * slowest)
            is_slow = seconds > limit
            if is_slow and not self._is_slow:
                _LOG.warning(
                    "step %d took %.4g ms, where %.4g ms are usual in this run (up to %.4g ms); "
                    "the device now: %s",
                    number,
                    seconds * 1e3,
                    middle * 1e3,
                    limit * 1e3,
                    device_state(),
                )
        self._is_slow = is_slow
        # Slow steps count, too: after a lasting slowdown they are the usual ones.
        self._usual.append(seconds)


# Names of shares, by the basis of the peak.
_SHARES = {
    "datasheet": "peakline/mfu",
    "theoretical": "peakline/mfu",
    **{b: f"peakline/of_{basis_name(b)}" for b in ("burst", "sustained", "measured")},
}


def _peaks(profile: Profile, dtype: str, device: str | int | None) -> dict[str, Peak]:
    """The peaks to compare steps with, by the names of the shares."""
    found: dict[str, Peak] = {}
    peaks = known_peaks(_SHARES, lambda basis: profile.peak(dtype, basis=basis, device=device))
    for basis, peak in peaks.items():
        mfu(0.0, 1.0, peak)  # raises where the peak is no rate of FLOPs
        found.setdefault(_SHARES[basis], peak)
    return found


def _require_same_model(profile: Profile, device: str | int | None) -> None:
    """Raises PeakError unless the profile's GPUs are of the model that PyTorch uses. Both names
    come from CUDA. Without a GPU, or with a profile of the host, there is nothing to compare."""
    cuda = _cuda()
    chosen = profile.select_devices(device)
    names = {d.name for d in profile.devices if d.uuid in chosen}
    if cuda is None or not names:
        return
    used = cuda.get_device_name(cuda.current_device())
    if used not in names:
        raise PeakError(
            f"{profile.where} is of {' and '.join(sorted(names))}, and this "
            f"process uses {used}: make a profile on this machine with `peakline run`"
        )


def _event_maker() -> Callable[[], Event]:
    cuda = _cuda()
    if cuda is None:
        return HostEvent
    event: Any = cuda.Event
    return lambda: event(enable_timing=True)


def _cuda() -> Any:
    """torch.cuda if PyTorch has a GPU, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch.cuda if torch.cuda.is_available() else None
