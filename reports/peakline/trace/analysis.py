"""What is said of one run: a waterfall for each of its ranks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peakline.profile import HOST, NODE, Profile
from peakline.trace.model import Trace, TraceError
from peakline.trace.part import Part
from peakline.trace.ranks import meetings_of
from peakline.trace.reader import read
from peakline.trace.timeline import timelines
from peakline.trace.waterfall import Waterfall, waterfall


@dataclass(frozen=True)
class Analysis:
    """The steps of a run on one device or several."""

    profile: Profile
    ranks: tuple[Waterfall, ...]
    notes: tuple[str, ...]  # what was not recorded, or does not fit

    @property
    def nanoseconds(self) -> int:
        """The time of all steps, over all ranks."""
        return sum(rank.nanoseconds for rank in self.ranks)

    @property
    def steps(self) -> int:
        """Steps, over all ranks."""
        return sum(len(rank.steps) for rank in self.ranks)

    @property
    def one(self) -> str:
        """What each of them is called: a trace that marks no steps is one by itself."""
        return "step" if any(rank.by for rank in self.ranks) else "trace"

    @property
    def step_s(self) -> float:
        """Seconds of a step, on average."""
        return self.nanoseconds / self.steps * 1e-9

    @property
    def parts(self) -> Mapping[Part, int]:
        """Nanoseconds of each part, over all steps and ranks: their sum is `nanoseconds`."""
        total = {part: sum(rank.parts.get(part, 0) for rank in self.ranks) for part in Part}
        return {part: time for part, time in total.items() if time}

    def share(self, part: Part) -> float:
        """Of the steps' time."""
        return self.parts.get(part, 0) / self.nanoseconds

    def number(self, place: int) -> int:
        """The number of a rank among all of the run, as its trace states it."""
        stated = self.ranks[place].timeline.trace.rank
        return place if stated is None else stated

    @property
    def idle(self) -> float:
        """The share of the steps' time in which nothing ran on a device."""
        return sum(rank.idle for rank in self.ranks) / self.nanoseconds


def analyze(
    profile: Profile,
    paths: Sequence[str | os.PathLike[str]],
    device: str | int | None = None,
    wanted: str = "",
) -> Analysis:
    """Holds the traces of a run, one file a rank, against a machine's profile.

    device: of the profile, as in `Profile.select_devices`; of several it takes the first. wanted:
    the name of the ranges that are steps; without it those that the trace names so. Raises
    TraceError for a trace that cannot be used, PeakError for an unknown device.
    """
    uuid = profile.select_devices(device)[0]
    if uuid in (HOST, NODE):
        raise TraceError(
            f"{profile.path or 'the profile'}: a trace is of a GPU: give the profile of one, or "
            "its index by --device"
        )
    traces = [read(path) for path in paths]
    _check_ranks(paths, traces)
    devices = [timeline for trace in traces for timeline in timelines(trace)]
    meetings, notes = meetings_of(devices)
    ranks = tuple(
        waterfall(timeline, profile, uuid, wanted, met)
        for timeline, met in zip(devices, meetings, strict=True)
    )
    if not any(rank.nanoseconds for rank in ranks):
        raise TraceError(f"{traces[0].name}: nothing in it takes any time")
    ranks = tuple(rank for rank in ranks if rank.nanoseconds)
    notes = [note for trace in traces for note in trace.notes] + notes
    return Analysis(profile, ranks, (*notes, *_recorded(profile, ranks)))


def _check_ranks(paths: Sequence[str | os.PathLike[str]], traces: Sequence[Trace]) -> None:
    """Raises TraceError for two traces of one rank."""
    seen: dict[int | str, str] = {}
    for path, trace in zip(paths, traces, strict=True):
        which = os.path.realpath(path) if trace.rank is None else trace.rank
        if which in seen:
            raise TraceError(
                f"{trace.name}: of the same rank as {seen[which]}: give one file per rank"
            )
        seen[which] = trace.name


def _recorded(profile: Profile, ranks: Sequence[Waterfall]) -> list[str]:
    """What the traces do not tell, and what they are held against that was not measured."""
    notes = []
    models = {rank.timeline.trace.models.get(rank.timeline.device, "") for rank in ranks} - {""}
    here = profile.device_name(ranks[0].device)
    if models and models != {here}:
        notes.append(
            f"Warning: this ran on {', '.join(sorted(models))}, and the profile is of {here}, "
            "whose ceilings and costs are not theirs."
        )
    if any(not rank.by for rank in ranks):
        notes.append(
            "No steps are marked, so this is the whole trace: call profiler.step() after each "
            "step, or name a range by --range."
        )
    if any(not len(rank.timeline.host.did) for rank in ranks):
        notes.append(
            "Calls of the host were not recorded, so no gap has a cause: record with "
            "activities=[CPU, CUDA], or nsys profile --trace=cuda,nvtx."
        )
    if any(rank.share(Part.KERNELS_UNKNOWN) for rank in ranks) and not any(
        rank.timeline.trace.has_shapes for rank in ranks
    ):
        notes.append(
            "Shapes were not recorded, so the bound of kernels is not known: record with "
            "torch.profiler.profile(record_shapes=True)."
        )
    if assumed := ranks[0].costs.assumed:
        notes.append(
            f"Not in the profile, so assumed: {', '.join(assumed)}. Measure it with peakline run "
            "--filter '^launch'."
        )
    clipped = sum(rank.clipped for rank in ranks)
    if clipped:
        notes.append(
            f"Activities that own less time than their bound: {clipped}. Others ran beside them, "
            "they are smaller than what was measured, their data came from a cache, or they ran at "
            "higher clocks; the bound counts up to what they own."
        )
    if len(ranks) > 1:
        notes.append(
            "The kernels' table and --fail-on impossible are about the first rank alone: "
            f"{ranks[0].timeline.trace.name}."
        )
    return notes
