"""Streams that are captured into a graph, and which operators the graph's replays run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from peakline.workload.model import Did, Int, Trace, Way


def captured(starts: Int, ends: Int, did: Int) -> Iterator[tuple[int, int]]:
    """Times in which a stream was captured, cut where the recording begins or ends: what is
    launched then makes a graph, and does not run. Of calls, when they began and ended, and what
    they are."""
    order = np.argsort(starts, kind="stable")
    began: int | None = int(starts.min(initial=0))
    for place in order[np.isin(did[order], (Did.BEGIN_CAPTURE, Did.END_CAPTURE))].tolist():
        if did[place] == Did.BEGIN_CAPTURE:
            began = int(starts[place])
        elif began is not None:
            yield began, int(ends[place])
            began = None
    if began is not None and Did.BEGIN_CAPTURE in did:
        yield began, int(ends.max(initial=0))


def replayed(
    trace: Trace, rows: dict[str, Int], call: Int, calls: dict[str, Int], did: Int, of_call: Int
) -> Int:
    """The operator of each activity that a graph launched; -1 of those that none is known of.

    The launches of a capture and the activities of a replay are matched by their order, where there
    are as many of each, all in one stream, and the same ones are fills. of_call: the operator
    around each call.
    """
    found = np.full(len(call), -1, np.int64)
    fills = np.array(["emset" in name for name in trace.names])[calls["name"]]
    captures = [
        (
            high,
            np.flatnonzero((calls["start"] > low) & (calls["start"] < high) & (did == Did.LAUNCH)),
        )
        for low, high in captured(calls["start"], calls["end"], did)
    ]
    graphs = np.flatnonzero((call >= 0) & (did[call] == Did.GRAPH)) if captures else found[:0]
    for graph in np.unique(call[graphs]).tolist():
        mine = graphs[call[graphs] == graph]
        for high, places in reversed(captures):
            fits = high <= calls["start"][graph] and len(places) == len(mine)
            alike = fits and (fills[places] == (rows["way"][mine] == Way.FILL)).all()
            if alike and len(np.unique(rows["stream"][mine])) == 1:
                found[mine] = of_call[places]
                break
    return found
