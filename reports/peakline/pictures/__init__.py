"""All pictures of a profile. Describing and reading them needs no matplotlib, drawing does."""

from __future__ import annotations

from collections.abc import Sequence

from peakline.kernels import Mark
from peakline.pictures import (
    alignment,
    ceilings,
    divergence,
    hbm,
    host,
    launch,
    load,
    pcie,
    roofline,
    sweeps,
)
from peakline.pictures.canvas import Canvas
from peakline.pictures.matrix import alignment as matrix_alignment
from peakline.pictures.matrix import data, model, skinny, variants, waves
from peakline.pictures.picture import (
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


def pictures(profile: Profile, device: str, marks: Sequence[Mark] = ()) -> list[Picture]:
    """The pictures that a device's measurements support, most telling first.

    device: a uuid of the profile, or "host". marks: kernels to be put on its roofline.
    """
    candidates = [
        roofline.picture(profile, device, marks),
        ceilings.picture(profile, device),
        load.sustained(profile, device),
        load.soak(profile, device),
        model.picture(profile, device),
        skinny.picture(profile, device),
        matrix_alignment.picture(profile, device),
        waves.picture(profile, device),
        variants.picture(profile, device),
        data.picture(profile, device),
        hbm.picture(profile, device),
        sweeps.picture(profile, device, "cache", "Caches: bandwidth against footprint"),
        sweeps.picture(profile, device, "latency", "Latency against footprint"),
        pcie.picture(profile, device),
        launch.picture(profile, device),
        alignment.picture(profile, device),
        divergence.picture(profile, device),
        host.picture(profile, device),
    ]
    return [picture for picture in candidates if picture is not None]
