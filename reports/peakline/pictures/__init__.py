"""All pictures of a profile. Describing them needs no matplotlib, drawing does."""

import dataclasses
import re
from collections.abc import Sequence

from peakline.peaks.storage import InputNeed
from peakline.pictures import (
    ceilings,
    declared,
    factors,
    gemm,
    instructions,
    kernel_roofline,
    kernels,
    load,
    memory_map,
    node,
    roofline,
    storage,
)
from peakline.pictures.canvas import Canvas
from peakline.pictures.picture import (
    DrawingUnavailable,
    Picture,
    draw,
    group_of,
    inline_svg,
    render,
    require_matplotlib,
    stamp,
)
from peakline.profile import NODE, Profile
from peakline.text import listed
from peakline.workload.kernel_text import YOURS
from peakline.workload.placement import Placement


def pictures(
    profile: Profile,
    device: str,
    placements: Sequence[Placement] = (),
    need: InputNeed | None = None,
    called: str = YOURS,
) -> list[Picture]:
    """The pictures that a device's measurements support.

    First those that stand for the device as a whole, then those of single topics in the profile's
    order. device: a uuid of the profile, "node" or "host". placements: kernels that ran on it.
    need: what it is to get from storage. called: what `placements` are.
    """
    first, of_topics = _own(profile, device, need)
    if placements:
        first[:0] = [
            kernels.picture(profile, placements, called),
            kernel_roofline.picture(profile, device, placements, called),
        ]
    places = {picture.topics[-1]: picture for picture in of_topics if picture}
    shown = [picture for picture in first if picture]
    for curve in profile.curves:
        if curve.device == device:
            own = declared.picture(profile, device, curve)
            found = (places.pop(curve.topic, None), own)
            shown += [picture for picture in found if picture]
    return [_with_texts(profile, device, picture) for picture in (*shown, *places.values())]


def _own(
    profile: Profile, device: str, need: InputNeed | None
) -> tuple[list[Picture | None], list[Picture | None]]:
    """The package's own pictures, those of single topics separately; None without data."""
    if device == NODE:
        return [node.links(profile, NODE), node.sizes(profile, NODE)], [
            node.concurrent(profile, NODE)
        ]
    return [
        roofline.picture(profile, device),
        roofline.every(profile, device),
        factors.picture(profile, device),
        ceilings.picture(profile, device),
        load.sustained(profile, device),
        load.soak(profile, device),
    ], [
        memory_map.picture(profile, device),
        storage.picture(profile, device, need),
        instructions.picture(profile, device),
        gemm.alignment(profile, device),
        gemm.waves(profile, device),
    ]


def _with_texts(profile: Profile, device: str, picture: Picture) -> Picture:
    """The picture with the first title of its topics as headline."""
    found = [profile.curve(device, topic) for topic in picture.topics]
    titles = [with_signs(curve.title) for curve in found if curve and curve.title]
    varied = [name for curve in found if curve for name in declared.varied(profile, device, curve)]
    return dataclasses.replace(
        picture,
        warning=f"Varied within the run: {listed(varied, 3)}" if varied else "",
        headline=picture.headline or (titles[0] if titles else ""),
        group=picture.group or group_of(device, [f.id for c in found if c for f in c.figures]),
        stamp=stamp(profile, device),
    )


def with_signs(text: str) -> str:
    """A text of the profile with "µs" and "×" instead of ASCII."""
    return re.sub(r"(?<=\d )us\b", "µs", re.sub(r"(?<=\d )x\b|\bx(?= \w)", "×", text))


# Names in code keep their first letter: "cudaMalloc", "cp.async", "fp32_fma".
_NAME_IN_CODE = re.compile(r"[a-z]+([A-Z0-9_]|\.\w)")


def sentence(text: str) -> str:
    """A profile's text as a sentence, with a capital, a full stop and typographic signs."""
    text = with_signs(text)
    if not _NAME_IN_CODE.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith(".") or not text else f"{text}."
