"""All pictures of a profile. Describing them needs no matplotlib, drawing does."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from peakline.kernels import Mark
from peakline.pictures import (
    cache,
    ceilings,
    collectives,
    copies,
    factors,
    hbm,
    instructions,
    latency,
    launch,
    load,
    memory_map,
    node,
    pcie,
    pipeline,
    roofline,
    shared,
    sweeps,
)
from peakline.pictures.canvas import Canvas
from peakline.pictures.headlines import headline
from peakline.pictures.matrix import alignment, data, model, skinny, variants, waves
from peakline.pictures.picture import (
    DrawingUnavailable,
    Picture,
    draw,
    inline_svg,
    render,
    require_matplotlib,
)
from peakline.profile import NODE, Profile


def pictures(profile: Profile, device: str, marks: Sequence[Mark] = ()) -> list[Picture]:
    """The pictures that a device's measurements support, most telling first.

    device: a uuid of the profile, "node" or "host". marks: kernels to be put on its roofline.
    """
    candidates = _of_node(profile) if device == NODE else _of_device(profile, device, marks)
    return [
        dataclasses.replace(
            picture,
            reading=_reading(profile, device, picture),
            headline=picture.headline or headline(profile, device, picture.key, picture.topics),
            stamp=f"{profile.device_name(device)}, {profile.created[:10]}, {profile.tool}",
        )
        for picture in candidates
        if picture is not None
    ]


def _of_node(profile: Profile) -> list[Picture | None]:
    return [
        node.links(profile, NODE),
        node.sizes(profile, NODE),
        collectives.picture(profile, NODE),
        node.concurrent(profile, NODE),
    ]


def _of_device(profile: Profile, device: str, marks: Sequence[Mark]) -> list[Picture | None]:
    return [
        roofline.picture(profile, device, marks),
        roofline.every(profile, device),
        factors.picture(profile, device),
        ceilings.picture(profile, device),
        load.sustained(profile, device),
        load.soak(profile, device),
        model.picture(profile, device),
        skinny.picture(profile, device),
        alignment.picture(profile, device),
        waves.picture(profile, device),
        variants.picture(profile, device),
        data.picture(profile, device),
        hbm.picture(profile, device),
        memory_map.picture(profile, device),
        cache.picture(profile, device),
        latency.latency(profile, device),
        latency.occupancy(profile, device),
        shared.conflicts(profile, device),
        shared.clusters(profile, device),
        copies.to_shared(profile, device),
        pcie.picture(profile, device),
        copies.link(profile, device),
        pipeline.overlap(profile, device),
        launch.picture(profile, device),
        pipeline.synchronization(profile, device),
        pipeline.fusion(profile, device),
        sweeps.alignment(profile, device),
        sweeps.divergence(profile, device),
        instructions.picture(profile, device),
        instructions.atomics(profile, device),
        sweeps.host(profile, device),
    ]


def _reading(profile: Profile, device: str, picture: Picture) -> str:
    """What the profile says of the curves in a picture."""
    curves = (profile.curve(device, topic) for topic in picture.topics)
    return " ".join(sentence(curve.text) for curve in curves if curve is not None)


# A name in code begins with its own letter: "cudaMalloc", "cp.async", "fp32_fma".
_NAME_IN_CODE = re.compile(r"[a-z]+([A-Z0-9_]|\.\w)")


def sentence(text: str) -> str:
    """A text of the profile as a sentence: a capital letter, a full stop, signs of their own.

    A terminal has to do with ASCII.
    """
    text = re.sub(r"(?<=\d )us\b", "µs", re.sub(r"(?<=\d )x\b|\bx(?= \w)", "×", text))
    if not _NAME_IN_CODE.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith(".") or not text else f"{text}."
