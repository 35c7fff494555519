"""Collectives of several ranks: what moves data, and what waits for the others.

Clocks of hosts differ, so nothing is compared but how long a collective takes: on the rank that
comes last it is shortest, and takes what the transfer takes. Collectives match by group and order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peakline.trace.model import Kind
from peakline.trace.timeline import Timeline

_Key = tuple[str, str]  # group and operation


def transfers_of(ranks: Sequence[Timeline]) -> tuple[list[dict[int, int]], list[str]]:
    """Nanoseconds that the transfer of each collective takes, by activity, for each rank.

    With them come sentences on what does not match. Empty for one rank: there the transfer and the
    waiting stay together.
    """
    found: list[dict[int, int]] = [{} for _ in ranks]
    if len(ranks) < 2:
        return found, []
    orders = [_in_order(timeline) for timeline in ranks]
    notes = []
    for key in dict.fromkeys(key for order in orders for key in order):
        members = [rank for rank, order in enumerate(orders) if key in order]
        counts = {len(orders[rank][key]) for rank in members}
        if len(members) < 2:
            continue
        if len(counts) > 1:
            group, operation = key
            notes.append(
                f"The {operation or 'other'} collectives{f' of group {group}' if group else ''} "
                "are not as many on every rank, so their waiting is not told from their transfer: "
                "record the same steps on each."
            )
            continue
        lengths = np.array(
            [
                [
                    ranks[rank].rows["end"][a] - ranks[rank].rows["start"][a]
                    for a in orders[rank][key]
                ]
                for rank in members
            ]
        )
        shortest = lengths.min(axis=0)
        for rank in members:
            found[rank].update(zip(orders[rank][key], shortest.tolist(), strict=True))
    return found, notes


def _in_order(timeline: Timeline) -> dict[_Key, list[int]]:
    """The collectives of a rank by group and operation, in their order."""
    order: dict[_Key, list[int]] = {}
    for activity in np.flatnonzero(timeline.rows["kind"] == Kind.COLLECTIVE).tolist():
        place = int(timeline.rows["message"][activity])
        message = timeline.trace.messages[place]
        order.setdefault((message.group, message.operation), []).append(activity)
    return order
