"""Why a kernel keeps no unit of a device busy, with the profile's curve of that effect."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from peakline import units
from peakline.profile import Profile
from peakline.workload.kernel import Kernel, Shape

# Kernels shorter than this many empty ones mostly pay for the launch.
_EMPTY_KERNELS = 2.0
# Below this share of filled SMs, the loss exceeds the scatter.
_FILLED = 0.8
# Below this occupancy, more warps may hide latency.
_OCCUPIED_PERCENT = 50.0


# Copies and fills run like kernels, but cannot be fused.
_NO_KERNEL = re.compile("Memset|Memcpy|fill of|copy within")

ReasonKind = Literal["launch", "waves", "tail", "occupancy", "latency"]
_WORDS: dict[ReasonKind, str] = {
    "launch": "launch-bound",
    "waves": "too few blocks",
    "tail": "tail of blocks",
    "occupancy": "latency-bound",
    "latency": "latency-bound",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why no unit is busy."""

    kind: ReasonKind
    text: str  # a sentence without its full stop
    topic: str  # of the profile's curve, or ""
    shown: str  # the curve's statement

    @property
    def word(self) -> str:
        return _WORDS[self.kind]


def launch_bound(profile: Profile, device: str, kernel: Kernel) -> Reason | None:
    """The reason of a kernel whose launch costs as much as its work, else None."""
    empty = next(iter(profile.figures(device, role="launch.empty_kernel")), None)
    measured = (m.value for m in profile.of(device, "launch.empty_kernel"))
    cost = empty.value if empty else next(measured, None)
    if not cost or kernel.seconds is None:
        return None
    each = kernel.seconds / kernel.launches
    if each >= _EMPTY_KERNELS * cost:
        return None
    remedy = "replay a CUDA graph"
    if not _NO_KERNEL.match(kernel.name):
        remedy = f"fuse it with another, or {remedy}"
    text = (
        f"launch-bound: it takes {units.time(each)}, an empty kernel {units.time(cost)}; {remedy}"
    )
    return _reason(profile, device, "launch", text, "kernel launch")


def reason(profile: Profile, device: str, kernel: Kernel) -> Reason:
    """The reason of a kernel that keeps every unit below half of its peak."""
    shape = kernel.shape or Shape()
    gpu = profile.gpu(device)
    sms = shape.sms or (gpu.sm_count if gpu else None)
    if shape.blocks and sms and shape.blocks < _FILLED * sms:
        text = f"too few blocks: {shape.blocks:.0f} on {sms:.0f} SMs"
        return _unfilled(profile, device, "waves", text, shape.blocks / sms)
    if shape.waves and shape.waves > 1 and shape.waves / math.ceil(shape.waves) < _FILLED:
        filled = shape.waves / math.ceil(shape.waves)
        text = (
            f"tail: its {units.number(shape.waves)} waves of blocks take as long as "
            f"{math.ceil(shape.waves)}, so the SMs are filled to {units.percent(filled)}"
        )
        return _unfilled(profile, device, "tail", text, filled)
    occupied = shape.occupancy_percent
    if occupied is not None and occupied < _OCCUPIED_PERCENT:
        warps = f"{shape.warps_per_sm:.1f} warps per SM, " if shape.warps_per_sm else ""
        text = f"latency-bound by occupancy: {warps}{occupied:.0f} % of what an SM holds"
        return _reason(profile, device, "occupancy", text, "occupancy")
    text = "latency-bound: no unit is busy, and the occupancy was not counted"
    if occupied is not None:
        text = (
            f"latency-bound although {occupied:.0f} % of the warps that an SM holds are resident: "
            "each waits for its own last result (see ncu's warp stalls)"
        )
    return _reason(profile, device, "latency", text, "memory latency")


def _unfilled(profile: Profile, device: str, kind: ReasonKind, text: str, filled: float) -> Reason:
    """A reason based on SMs without work, with the nearest measured point."""
    shares, rates = (
        {tuple(f.by.items()): f.value for f in profile.figures(device, topic="waves", name=name)}
        for name in ("ideal_share", "share_of_full_waves")
    )
    points = [(share, rates[by]) for by, share in shares.items() if by in rates]
    if not points:
        return _reason(profile, device, kind, text, "waves")
    share, rate = min(points, key=lambda point: abs(point[0] - filled))
    shown = (
        f"a product that fills {units.percent(share)} of the SMs runs at {units.percent(rate)} of "
        "its rate"
    )
    return Reason(kind, text, "waves", shown)


def _reason(profile: Profile, device: str, kind: ReasonKind, text: str, topic: str) -> Reason:
    curve = profile.curve(device, topic)
    if curve is None or not curve.title:
        return Reason(kind, text, "", "")
    return Reason(kind, text, topic, curve.title)
