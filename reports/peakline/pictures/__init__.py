"""All pictures of a profile. Describing and reading them needs no matplotlib, drawing does."""

from __future__ import annotations

from collections.abc import Sequence

from peakline.pictures import execution, matrix, memory, roofline
from peakline.pictures.base import (
    Canvas,
    DrawingUnavailable,
    Picture,
    draw,
    inline_svg,
    render,
    require_matplotlib,
)
from peakline.profile import Profile

__all__ = [
    "Canvas",
    "DrawingUnavailable",
    "Picture",
    "draw",
    "inline_svg",
    "pictures",
    "render",
    "require_matplotlib",
]


def pictures(profile: Profile, device: str, marks: Sequence[roofline.Mark] = ()) -> list[Picture]:
    """The pictures that a device's measurements support, most telling first.

    device: a uuid of the profile, or "host". marks: kernels to be put on its roofline.
    """
    candidates = [
        roofline.picture(profile, device, marks),
        execution.ceilings(profile, device),
        execution.sustained(profile, device),
        execution.soak(profile, device),
        matrix.model(profile, device),
        matrix.skinny(profile, device),
        matrix.alignment(profile, device),
        matrix.waves(profile, device),
        matrix.variants(profile, device),
        matrix.data(profile, device),
        memory.hbm(profile, device),
        memory.sweeps(
            profile, device, "cache", "Caches: bandwidth against footprint", "the memory hierarchy"
        ),
        memory.sweeps(
            profile, device, "latency", "Latency against footprint", "the memory hierarchy"
        ),
        memory.pcie(profile, device),
        execution.launch(profile, device),
        memory.alignment(profile, device),
        execution.divergence(profile, device),
        memory.host_scaling(profile, device),
    ]
    return [picture for picture in candidates if picture is not None]
