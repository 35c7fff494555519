"""Separates transfer from waiting in collectives of several ranks.

Hosts' clocks differ, so only durations are compared: the last rank's is the shortest, and is the
transfer. Collectives match by group and order, if all ranks of the group are present.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from peakline.workload.model import Kind
from peakline.workload.timeline import Timeline, steps

_Key = tuple[str, str, int]  # group, operation, number of ranks


@dataclass
class Meetings:
    """A rank's collectives, compared with the other ranks'."""

    transfers: dict[int, int] = field(default_factory=dict)  # nanoseconds, by activity
    awaited: int = 0  # nanoseconds that other ranks waited for this one, hidden waiting included


def meetings_of(ranks: Sequence[Timeline], wanted: str) -> tuple[list[Meetings], list[str]]:
    """Each rank's meetings with the others, and sentences on what does not match.

    wanted: the name of the ranges that are steps. Empty for one rank, whose transfer and waiting
    cannot be separated.
    """
    found = [Meetings() for _ in ranks]
    if len(ranks) < 2:
        return found, []
    orders = [_in_order(timeline, wanted) for timeline in ranks]
    reasons: dict[str, None] = {}
    for key in dict.fromkeys(key for order in orders for key in order):
        members = {rank: order[key] for rank, order in enumerate(orders) if key in order}
        if reason := _mismatch(key, members):
            reasons[reason] = None
            continue
        lengths = np.array(
            [
                ranks[rank].rows["end"][places] - ranks[rank].rows["start"][places]
                for rank, places in members.items()
            ]
        )
        shortest = lengths.min(axis=0)
        waited = (lengths - shortest).sum(axis=0)
        last = lengths.argmin(axis=0)
        for number, (rank, places) in enumerate(members.items()):
            found[rank].transfers.update(zip(places, shortest.tolist(), strict=True))
            found[rank].awaited += int(waited[last == number].sum())
    return found, [
        f"The time of some collectives holds their waiting for other ranks, since {reason}."
        for reason in reasons
    ]


def _mismatch(key: _Key, members: Mapping[int, Sequence[int]]) -> str:
    """Why collectives cannot be matched, or ""."""
    group, operation, ranks = key
    if operation == "send_receive":
        return "sends and receives do not tell their partner"
    if not group:
        return "the traces do not name the groups of ranks"
    if len(members) != ranks:
        return "the traces of some ranks of their groups are not given: give one file per rank"
    if len({len(places) for places in members.values()}) > 1:
        return "they are not as many on every rank: record the same steps on each"
    return ""


def _in_order(timeline: Timeline, wanted: str) -> dict[_Key, list[int]]:
    """A rank's collectives by group, without ungrouped ones before the first step."""
    order: dict[_Key, list[int]] = {}
    found = steps(timeline, wanted)
    first = found[0].start if found else 0
    for activity in np.flatnonzero(timeline.rows["kind"] == Kind.COLLECTIVE).tolist():
        message = timeline.trace.messages[int(timeline.rows["message"][activity])]
        if not message.group and timeline.rows["start"][activity] < first:
            continue
        key = (message.group, message.operation, message.ranks)
        order.setdefault(key, []).append(activity)
    return order
