"""The groups of a page's pictures."""

from __future__ import annotations

from collections.abc import Sequence

from peakline.names import level_of
from peakline.profile import HOST, NODE

LIMITS, COMPUTE, MEMORY, LINKS = "Limits", "Compute", "Memory", "Links"
LAUNCH, ON_HOST, OTHER = "Launch and synchronization", "Host", "Other"
GROUPS = (LIMITS, COMPUTE, MEMORY, LINKS, LAUNCH, ON_HOST, OTHER)

_OF_AREA = {
    "roofline": LIMITS,
    **dict.fromkeys(("atomics", "divergence", "fma", "gemm", "instruction", "soak"), COMPUTE),
    **dict.fromkeys(("alignment", "cache", "copy", "dsmem", "hbm", "l1", "latency"), MEMORY),
    **dict.fromkeys(("layout", "occupancy", "random", "shared"), MEMORY),
    **dict.fromkeys(("allocation", "c2c", "input", "nccl", "p2p", "pcie", "storage"), LINKS),
    **dict.fromkeys(("fusion", "launch", "overlap", "synchronization"), LAUNCH),
    "host": ON_HOST,
}


def group_of(device: str, ids: Sequence[str]) -> str:
    """The group of a picture by its first benchmark; without any it is about the whole device."""
    if device in (NODE, HOST):
        return LINKS if device == NODE else ON_HOST
    return _OF_AREA.get(level_of(ids[0]), OTHER) if ids else LIMITS
