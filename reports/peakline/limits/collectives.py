"""Times of collective operations between a node's GPUs, from the measured curves."""

import math
from bisect import bisect_left
from collections.abc import Mapping

from peakline.profile import PeakError, Profile

# Prefix of the ids of NCCL over all GPUs of the node, in BF16, out of place.
_PREFIX = "nccl."
_SUBGROUP = ".subgroup"  # ends the ids of NCCL over the first GPUs of the node
# All-reduces between GPUs, by the name that a user gives: NCCL as a program calls it or in a CUDA
# graph, its kernels for symmetric memory, and kernels in one or two steps as engines have them.
ALL_REDUCES = {
    "nccl": "nccl.all_reduce",
    "nccl-graph": "nccl.all_reduce.graph",
    "nccl-symmetric": "nccl.all_reduce.symmetric",
    "one-shot": "collective.one_shot.all_reduce",
    "two-shot": "collective.two_shot.all_reduce",
}
_LATENCY_UP_TO = 1 << 20  # bytes; latency decides the time of smaller arrays, the rate of larger


def collective_time(
    profile: Profile, operation: str, nbytes: float, ranks: int | None = None
) -> float:
    """Seconds of one NCCL operation on an array of `nbytes` bytes, between GPUs of one node.

    operation: "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast" or
    "send_receive". nbytes: of the whole array, even if each GPU holds only a part of it
    (all-gather, reduce-scatter, all-to-all). ranks: the number of GPUs; by default all of the node.
    A full profile of more than two GPUs also has the first four operations between the first 2, 4,
    8 ... of them. The time is interpolated linearly between measured sizes, constant below the
    smallest, and proportional to the size above the largest. Raises PeakError if the profile has no
    such curve of small and large sizes, ValueError for an invalid size.
    """
    if not (isinstance(nbytes, (int, float)) and 0 < nbytes < math.inf):
        raise ValueError(f"nbytes must be a number above 0, not {nbytes!r}")
    measured = (m.id for m in profile.measurements if m.id.startswith(_PREFIX))
    offered = sorted({id_.removeprefix(_PREFIX).removesuffix(_SUBGROUP) for id_ in measured})
    curve = points(profile, _PREFIX + operation, ranks) if operation in offered else {}
    if not curve:
        between = f" between {ranks} GPUs" if ranks else ""
        raise PeakError(
            f"no collective {operation!r}{between} in {profile.where}; "
            f"it has {', '.join(offered) or 'none at all'}"
        )
    return interpolated(curve, nbytes)


def interpolated(curve: Mapping[int, float], nbytes: float) -> float:
    """Seconds of `nbytes` bytes from a curve of seconds by bytes, as in `collective_time`."""
    sizes = sorted(curve)
    if nbytes <= sizes[0]:
        return curve[sizes[0]]
    if nbytes >= sizes[-1]:
        return curve[sizes[-1]] * nbytes / sizes[-1]
    at = bisect_left(sizes, nbytes)
    below, above = sizes[at - 1], sizes[at]
    share = (nbytes - below) / (above - below)
    return curve[below] + share * (curve[above] - curve[below])


def points(profile: Profile, id_: str, ranks: int | None = None) -> dict[int, float]:
    """Seconds by bytes of a measurement between GPUs; empty without small or large sizes, which
    do not follow from each other. ranks: how many; None: all of the node."""
    ids = (id_,) if ranks is None else (id_, id_ + _SUBGROUP)
    curve = {
        size: m.summary.median_s
        for m in profile.measurements
        if m.id in ids and m.sound and m.summary and (size := m.integer("bytes"))
        if ranks is None or m.integer("ranks") == ranks
    }
    return curve if curve and min(curve) <= _LATENCY_UP_TO < max(curve) else {}
