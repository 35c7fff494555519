"""Collectives of several ranks: what moves data, and what waits for the others.

Clocks of hosts differ, so nothing is compared but how long a collective takes: on the rank that
comes last it is shortest, and takes what the transfer takes. Collectives match by group and order,
where all ranks of the group are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from peakline.trace.model import Kind
from peakline.trace.timeline import Timeline

_Key = tuple[str, str, int]  # group, operation, and how many ranks the group has


def transfers_of(ranks: Sequence[Timeline]) -> tuple[list[dict[int, int]], list[str]]:
    """Nanoseconds that the transfer of each collective takes, by activity, for each rank.

    With them come sentences on what does not match. Empty for one rank: there the transfer and the
    waiting stay together.
    """
    found: list[dict[int, int]] = [{} for _ in ranks]
    if len(ranks) < 2:
        return found, []
    orders = [_in_order(timeline) for timeline in ranks]
    reasons: dict[str, None] = {}
    for key in dict.fromkeys(key for order in orders for key in order):
        members = {rank: order[key] for rank, order in enumerate(orders) if key in order}
        if reason := _mismatch(key, members):
            reasons[reason] = None
            continue
        lengths = [
            ranks[rank].rows["end"][places] - ranks[rank].rows["start"][places]
            for rank, places in members.items()
        ]
        shortest = np.min(lengths, axis=0).tolist()
        for rank, places in members.items():
            found[rank].update(zip(places, shortest, strict=True))
    return found, [
        f"The time of some collectives holds their waiting for other ranks, since {reason}."
        for reason in reasons
    ]


def _mismatch(key: _Key, members: Mapping[int, Sequence[int]]) -> str:
    """Why collectives of ranks are not matched; "" where they are."""
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


def _in_order(timeline: Timeline) -> dict[_Key, list[int]]:
    """The collectives of a rank by group and operation, in their order."""
    order: dict[_Key, list[int]] = {}
    for activity in np.flatnonzero(timeline.rows["kind"] == Kind.COLLECTIVE).tolist():
        message = timeline.trace.messages[int(timeline.rows["message"][activity])]
        key = (message.group, message.operation, message.ranks)
        order.setdefault(key, []).append(activity)
    return order
