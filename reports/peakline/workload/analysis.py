"""One run: a waterfall for each of its ranks."""

import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peakline import units
from peakline.profile import HOST, NODE, Profile
from peakline.workload.kernel import RECORDING, WorkloadError, merge
from peakline.workload.kernel_text import YOURS, other_device
from peakline.workload.model import Kind, Trace, TraceFinding, Way
from peakline.workload.part import Part
from peakline.workload.placement import Placement, place
from peakline.workload.ranks import meetings_of
from peakline.workload.read import read_trace
from peakline.workload.timeline import timelines
from peakline.workload.waterfall import Waterfall, waterfall

_WORTH_A_WORD = 0.01  # share of the time
_OTHER_DEVICE = "other_device"


@dataclass(frozen=True)
class Analysis:
    """The steps of a run on one device or several."""

    profile: Profile
    ranks: tuple[Waterfall, ...]
    findings: tuple[TraceFinding, ...]  # what was not recorded, or is inconsistent

    @property
    def notes(self) -> tuple[str, ...]:
        """Texts of the findings but `other_device`, which stands before all else."""
        return tuple(f.text for f in self.findings if f.code != _OTHER_DEVICE)

    @property
    def other_device(self) -> str:
        """A warning if the run was on another model than the profile's; else empty."""
        return next((f.text for f in self.findings if f.code == _OTHER_DEVICE), "")

    @property
    def leading(self) -> int:
        """Index in `ranks` of the rank that others wait for the most; 0 if nobody waits."""
        awaited = [rank.awaited for rank in self.ranks]
        return awaited.index(max(awaited))

    @property
    def nanoseconds(self) -> int:
        return sum(rank.nanoseconds for rank in self.ranks)

    @property
    def steps(self) -> int:
        return sum(len(rank.steps) for rank in self.ranks)

    @property
    def one(self) -> str:
        """The unit of time: "step", or "trace" if no steps are marked."""
        return "step" if any(rank.by for rank in self.ranks) else "trace"

    @property
    def step_s(self) -> float:
        return self.nanoseconds / self.steps * 1e-9

    @property
    def parts(self) -> Mapping[Part, int]:
        """Nanoseconds of each part, over all steps and ranks; the sum is `nanoseconds`."""
        total = {part: sum(rank.parts.get(part, 0) for rank in self.ranks) for part in Part}
        return {part: time for part, time in total.items() if time}

    @functools.cached_property
    def kernels(self) -> list[Placement]:
        """The leading rank's kernels by name, over all steps, most to gain first."""
        rank = self.ranks[self.leading]
        kernels = merge([p.kernel for p in rank.bounds.kernels])
        return place(self.profile, kernels, rank.device) if kernels else []

    @property
    def kernels_of_step(self) -> list[Placement]:
        """`kernels` in a step, on average."""
        return [p.in_one(len(self.ranks[self.leading].steps)) for p in self.kernels]

    @property
    def kernels_called(self) -> str:
        """Names `kernels` at the start of a sentence."""
        rank = self.named(self.leading)
        return f"{f'Kernels of {rank}' if rank else YOURS} in a {self.one}"

    @property
    def mean(self) -> str:
        """Marks figures over several ranks: " (mean of 2 ranks)"; empty for one rank."""
        return f" (mean of {len(self.ranks)} ranks)" if len(self.ranks) > 1 else ""

    def share(self, part: Part) -> float:
        """A part's share of the steps' time, 0 to 1."""
        return self.parts.get(part, 0) / self.nanoseconds

    def number(self, place: int) -> int:
        """The rank's number by its trace, else its index."""
        stated = self.ranks[place].timeline.trace.rank
        return place if stated is None else stated

    def named(self, place: int) -> str:
        """A rank's name: "rank 1"; empty if there is only one."""
        return f"rank {self.number(place)}" if len(self.ranks) > 1 else ""

    @property
    def idle(self) -> float:
        """The share of the steps' time in which the device idles, 0 to 1."""
        return sum(rank.idle for rank in self.ranks) / self.nanoseconds


def analyze(
    profile: Profile,
    paths: Sequence[str | os.PathLike[str]],
    device: str | int | None = None,
    wanted: str = "",
) -> Analysis:
    """Compares the traces of a run, one file per rank, with a machine's profile.

    device: selects the profile's device, as in `Profile.select_devices`; the first of several.
    wanted: name of the ranges that are steps; by default the trace's own step names. Raises
    WorkloadError for an unusable trace, PeakError for an unknown device.
    """
    uuid = profile.select_devices(device)[0]
    if uuid in (HOST, NODE):
        raise WorkloadError(
            f"{profile.where}: a trace needs the profile of a GPU: give one, or "
            "its index with --device"
        )
    traces = [read_trace(path) for path in paths]
    _check_ranks(paths, traces)
    devices = [timeline for trace in traces for timeline in timelines(trace)]
    meetings, notes = meetings_of(devices, wanted)
    ranks = tuple(
        waterfall(timeline, profile, uuid, wanted, met)
        for timeline, met in zip(devices, meetings, strict=True)
    )
    if not any(rank.nanoseconds for rank in ranks):
        raise WorkloadError(f"{traces[0].name}: no activity in it has a duration")
    ranks = tuple(rank for rank in ranks if rank.nanoseconds)
    analysis = Analysis(profile, ranks, ())
    ran = {
        (trace.models.get(device, ""), trace.capabilities.get(device))
        for trace, device in ((rank.timeline.trace, rank.timeline.device) for rank in ranks)
    }
    text = other_device(profile, uuid, sorted(ran, key=str))
    findings = [TraceFinding(_OTHER_DEVICE, "warning", text)] if text else []
    for trace in traces:
        named = f"{trace.name}: " if len(traces) > 1 else ""
        findings += [
            dataclasses.replace(finding, rank=trace.rank, text=named + finding.text)
            for finding in trace.findings
        ]
    findings += [TraceFinding("ranks_not_matched", "note", note) for note in notes]
    return dataclasses.replace(analysis, findings=(*findings, *_recorded(analysis)))


def _check_ranks(paths: Sequence[str | os.PathLike[str]], traces: Sequence[Trace]) -> None:
    """Raises WorkloadError if two traces are of one rank."""
    seen: dict[int | str, str] = {}
    for path, trace in zip(paths, traces, strict=True):
        which = os.path.realpath(path) if trace.rank is None else trace.rank
        if which in seen:
            raise WorkloadError(
                f"{trace.name} is of the same rank as {seen[which]}: give one file per rank"
            )
        seen[which] = trace.name


def _of_unknown_graphs(rank: Waterfall) -> int:
    """Nanoseconds of kernels in graph replays without a known operator."""
    line = rank.timeline
    replay = line.replayed & (line.operator < 0)
    kernels = (line.rows["kind"] == Kind.COMPUTE) & (line.rows["way"] == Way.NONE)
    return int(rank.owned[replay & kernels].sum())


def _recorded(analysis: Analysis) -> list[TraceFinding]:
    ranks = analysis.ranks
    clipped = sum(rank.clipped for rank in ranks)
    over = f" in {units.counted(len(ranks[0].steps), analysis.one)}"
    over += " of each rank" if len(ranks) > 1 else ""
    assumed = ", ".join(ranks[0].costs.assumed)
    shapes = any(rank.timeline.trace.has_shapes for rank in ranks)
    leading, record = analysis.leading, RECORDING[ranks[0].timeline.trace.tool]
    replays = sum(_of_unknown_graphs(rank) for rank in ranks) / analysis.nanoseconds
    found = {
        "no_steps": (
            any(not rank.by for rank in ranks),
            f"No steps are marked, so this is the whole trace: {record['steps']}, or name a range "
            "by --range.",
        ),
        "no_calls": (
            any(not len(rank.timeline.host.did) for rank in ranks),
            f"Calls of the host were not recorded, so no gap has a cause: {record['calls']}.",
        ),
        "no_shapes": (
            any(rank.share(Part.KERNELS_UNKNOWN) for rank in ranks) and not shapes,
            record["shapes"],
        ),
        "graphs": (
            replays >= _WORTH_A_WORD and shapes,
            f"Kernels of CUDA graphs, {units.percent(replays)} of the time, have no operators, as "
            "the trace does not hold their capture, so their bounds are not known: record the "
            "capture too, or steps without graphs.",
        ),
        "assumed": (
            assumed,
            f"Not in the profile, so assumed: {assumed}. Measure it with peakline run "
            "--filter '^launch'.",
        ),
        "clipped": (
            clipped,
            f"Kernels and copies that beat their bound: {clipped}{over} (cache, overlap, higher "
            "clock, or smaller than anything measured). Each counts as if it took its bound.",
        ),
        "one_rank": (
            len(ranks) > 1,
            f"Kernels, modules and --fail-on impossible are about {analysis.named(leading)} alone: "
            f"{ranks[leading].timeline.trace.name}.",
        ),
    }
    return [TraceFinding(code, "note", text) for code, (holds, text) in found.items() if holds]
