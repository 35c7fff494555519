"""Checks a trace for lost events, invalid times, and clocks that differ.

Impossible events are left out or clipped, and counted; missing ones are reported, since other
figures then become limits.
"""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from peakline import units
from peakline.text import listed, short
from peakline.workload.foreign import refuse_other_vendors
from peakline.workload.kernel import WorkloadError, short_name
from peakline.workload.kernel_names import shortened
from peakline.workload.model import Did, Int, Kind, Trace, TraceFinding, Way, at
from peakline.workload.timeline import captured, joined, keys

# Recordings last minutes: times more than a day away from the others are wrong.
_FAR_NS = 86_400 * 10**9
_LATEST_NS = 1 << 62
_LONG_NS = 10**9  # shorter activities may outlast the host's recording
# A smaller share is normal at the edges of a recording.
_WORTH = 0.01
# Profilers align the clocks of host and device to a few microseconds.
_SKEW_NS = 20_000
# Programmatic launches let a kernel begin microseconds before the end of the one before it.
_OVERLAP_NS = 20_000
_NAME, _NAMED = 48, 3  # characters of a kernel's name; names
_MERGED = 0.1  # of launches: of one process, a single one may be damaged
# Calls that launch exactly one kernel.
_ONE_KERNEL = re.compile(r"cu(da)?Launch(Cooperative)?Kernel")


def doubt(trace: Trace) -> Trace:
    """Drops impossible events and adds findings. Raises WorkloadError if nothing is usable."""
    refuse_other_vendors(trace)
    _check_ranks(trace)
    sizes = trace.activities["bytes"]
    np.maximum(sizes, 0, out=sizes)  # a size below 0 is not known
    _leave_out(trace)
    _clip(trace)
    trace.findings += [*_lost_kernels(trace), *_lost_launches(trace), *_skew(trace)]
    return trace


def _check_ranks(trace: Trace) -> None:
    """Merged ranks have several processes, or launches of the same correlation."""
    processes = max(trace.processes.values(), key=len, default=set())
    launches = trace.named(trace.calls, _ONE_KERNEL.match) & (trace.calls["correlation"] > 0)
    rows = trace.activities
    ran, launched = keys(trace, rows, trace.calls)
    different = np.unique(np.column_stack([ran, rows["start"]])[rows["correlation"] > 0], axis=0)
    ids, counts = np.unique(different[:, 0], return_counts=True)
    twice = np.isin(ids[counts > 1], launched[launches]).sum()
    if len(processes) > 1 or twice > _MERGED * launches.sum():
        names = [short(name) for name in sorted(processes)]
        which = f" (processes {listed(names, _NAMED)})" if len(names) > 1 else ""
        raise WorkloadError(
            f"{trace.name}: holds several ranks{which}, whose launches cannot be told apart: give "
            "one file per rank, as they were before somebody merged them"
        )


def _leave_out(trace: Trace) -> None:
    rows = trace.activities
    starts, ends = rows["start"], rows["end"]
    wrong = (starts < 0) | (ends > _LATEST_NS)
    if not wrong.all():
        wrong |= np.abs(starts - np.median(starts[~wrong])) > _FAR_NS
    wrong |= _endless(trace, starts, ends, ~wrong)
    count, total = int(wrong.sum()), len(starts)
    if not count:
        return
    if count == total:
        raise WorkloadError(f"{trace.name}: none of its {total} activities has a valid time")
    rows.keep(~wrong)
    text = f"{count} of {total} activities of the device have no valid time and are left out."
    trace.findings.append(TraceFinding("invalid_times", "warning", text, count, total))


def _endless(trace: Trace, starts: Int, ends: Int, valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Activities longer than the whole recording that demonstrably ended earlier: the stream's next
    activity or a synchronization follows."""
    wrong = np.zeros(len(starts), bool)
    calls = trace.calls
    borders = np.concatenate([starts[valid], calls["start"], calls["end"]])
    borders = borders[(borders >= 0) & (borders <= _LATEST_NS)]
    if not len(borders):
        return wrong
    span = int(borders.max() - borders.min())
    suspects = np.flatnonzero(valid & (ends - starts > max(span, _LONG_NS)))
    streams, devices = (trace.activities[key] for key in ("stream", "device"))
    synced = calls["end"][trace.did(calls) == Did.SYNCHRONIZE]
    for place in suspects.tolist():
        same = (streams == streams[place]) & (devices == devices[place]) & valid
        follows = (starts[same] > starts[place]) & (starts[same] < ends[place])
        waited = (synced > starts[place]) & (synced < ends[place])
        wrong[place] = bool(follows.any() or waited.any())
    return wrong


def _clip(trace: Trace) -> None:
    """Ends activities where the next of their stream begins; only a graph's run side by side."""
    rows = trace.activities
    of_stream = [rows[key] for key in ("start", "stream", "device", "process")]
    order = np.lexsort(of_stream)
    ends, following = rows["end"], np.roll(of_stream[0][order], -1)
    same = np.all([key[order] == np.roll(key[order], -1) for key in of_stream[1:]], axis=0)
    same[-1:] = False
    of_graph = at(trace.did(trace.calls), joined(trace, rows, trace.calls))[order] == Did.GRAPH
    over = np.where(same & ~of_graph, ends[order] - following, 0)
    wrong = order[over > _OVERLAP_NS]
    count, total = len(wrong), len(order)
    if not count:
        return
    ends[wrong] = following[over > _OVERLAP_NS]
    trace.clipped = set(rows["name"][wrong].tolist())
    names = shortened([short_name(trace.names[name]) for name in sorted(trace.clipped)], _NAME)
    text = (
        f"{count} of {total} kernels and copies overlap their successors in one stream by up to "
        f"{units.time(int(over.max()) * 1e-9)}, which cannot be, and are cut there: the time of "
        f"{listed(list(names.values()), _NAMED)} and that of all kernels are upper limits, idle "
        "time is a lower one."
    )
    trace.findings.append(TraceFinding("overlap_in_a_stream", "warning", text, count, total))


def _lost_kernels(trace: Trace) -> Iterator[TraceFinding]:
    calls = trace.calls
    chosen = trace.named(calls, _ONE_KERNEL.match) & (calls["correlation"] > 0)
    for low, high in captured(calls["start"], calls["end"], trace.did(calls)):
        chosen &= (calls["start"] < low) | (calls["start"] > high)
    ran, launched = keys(trace, trace.activities, calls)
    lost = chosen & ~np.isin(launched, ran)
    count, total = int(lost.sum()), int(chosen.sum())
    if count > _WORTH * total:
        text = f"{count} of {total} launches have no kernel: the profiler lost events, so idle "
        text += "time is an upper limit."
        yield TraceFinding("launches_without_kernels", "warning", text, count, total)


def _lost_launches(trace: Trace) -> Iterator[TraceFinding]:
    rows = trace.activities
    kernels = (rows["kind"] <= Kind.COLLECTIVE) & (rows["way"] == Way.NONE)
    known, starts = (joined(trace, rows, trace.calls) >= 0)[kernels], rows["start"][kernels]
    if not known.any():
        return
    early = ~known & (starts < starts[known].min())
    total, before, count = len(known), int(early.sum()), int((~known & ~early).sum())
    if before:
        text = f"{before} of {total} kernels were launched before the recording began."
        yield TraceFinding("launched_before", "note", text, before, total)
    if count > _WORTH * total:
        text = f"{count} of {total} kernels have no launch call: the profiler lost events, and the "
        text += "causes of gaps before them are not known."
        yield TraceFinding("kernels_without_launches", "warning", text, count, total)


def _skew(trace: Trace) -> Iterator[TraceFinding]:
    calls, rows = trace.calls, trace.activities
    call = joined(trace, rows, calls)
    ahead = calls["start"][call[call >= 0]] - rows["start"][call >= 0]
    early = ahead[ahead > _SKEW_NS]
    if len(early) > _WORTH * len(ahead):
        trace.skewed = True
        text = (
            f"{len(early)} of {len(ahead)} activities start before their launch, by up to "
            f"{units.time(int(early.max()) * 1e-9)}: the clocks of host and GPU differ, so gaps "
            "have no causes."
        )
        yield TraceFinding("clocks_differ", "warning", text, len(early), len(ahead))
