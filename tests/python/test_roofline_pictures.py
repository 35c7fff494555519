"""The roofline of one device and of several in one frame."""

from conftest import (
    GPU,
    ONE_GPU,
    by_key,
    ceiling,
    document_of,
    figure_of,
    loaded,
    only,
    pictures_of,
    scaled,
)
from drawing import lines
from peakline.pictures.side_by_side import ceilings_side_by_side, overlay


def test_roofs_of_one_colour_are_told_apart(profile):
    picture = next(p for p in pictures_of(ONE_GPU, GPU) if p.key == "roofline-all")
    looks = {}
    names = {r.name for r in profile.resources if r.kind == "compute"}
    for axes in figure_of(picture).axes:
        for line in axes.get_lines():
            if line.get_label() in names:
                dash = str(line._unscaled_dash_pattern)  # as requested
                looks.setdefault(str(line.get_color()), []).append(dash)
    assert max(map(len, looks.values())) >= 2
    assert all(len(set(dashes)) == len(dashes) for dashes in looks.values())


def test_overlay_of_profiles(profile):
    slower = loaded(scaled(only(document_of()), 0.8, "hbm.", "tensor.", "cuda_core."))
    items = [("a", profile, GPU), ("b", slower, GPU)]
    picture = overlay(items)
    found = lines(picture)
    burst = ceiling("tensor.bf16", "burst")
    assert {y for _, y in found["a tensor.bf16"]} == {burst}
    assert {y for _, y in found["b tensor.bf16"]} == {0.8 * burst}
    # The headline is neutral.
    memory, tensor = (
        ceiling(name, basis) for name, basis in (("hbm.read", "measured"), ("tensor.fp8", "burst"))
    )
    assert picture.headline == (
        f"HBM read: a leads with {memory / 1e9:.0f} GB/s, 1.25 × b; "
        f"FP8 Tensor Cores: a leads with {tensor / 1e12:.0f} TFLOP/s, 1.25 × b"
    )
    assert picture.stamp.startswith("a: NVIDIA H200, 20")
    side = ceilings_side_by_side(items)
    shares = {round(x) for x, _ in lines(side)["b"]}
    assert shares == {80, 100}  # the link and the caches are equal
    assert side.headline == "Furthest apart: HBM read, b at 80.0 % of a"
    assert overlay(items[:1]) is None
    assert ceilings_side_by_side(items[:1]) is None


def test_two_speeds_explain_points_above_roof():
    document = only(document_of(), "host.")
    (roof,) = [
        c
        for c in document["ceilings"]
        if (c["device"], c["resource"], c["basis"]) == ("host", "cpu.fp32", "measured")
    ]
    id_, _, threads = roof["measurement"].partition("/threads:")
    (row,) = [
        m
        for m in document["measurements"]
        if m["id"] == id_ and m["params"] == {"threads": int(threads)}
    ]
    row.pop("sittings", None)  # they refer to other samples
    (host,) = [r for r in document["rooflines"] if r["device"] == "host"]
    points = [p for p in host["points"] if p["precision"] == "fp32"]
    for point in points:
        point["flops_per_s"] = min(point["flops_per_s"], roof["value"])
    points[-1]["flops_per_s"] = 1.6 * roof["value"]
    low, high = (f"{rate * roof['value'] / 1e12:.2f} TFLOP/s" for rate in (1, 1.75))

    def said(samples):
        """The sentence; samples as multiples of the time that the roof stands for."""
        row["samples_s"] = [sample * row["work"]["flops"] / roof["value"] for sample in samples]
        return by_key(loaded(document), "host")["roofline"].how.partition(" points lie ")[2]

    document["host"]["virtualization"] = "kvm"
    assert said([1] * 6 + [4 / 7] * 4) == (
        "up to 1.60 × as high as their roof: the processor (virtualized: kvm) ran at two "
        f"speeds, between which samples of the roof lie too, from {low} to {high}."
    )
    document["host"]["virtualization"] = ""
    assert "roof: the processor ran at two speeds" in said([1] * 6 + [4 / 7] * 4)
    # The roof's samples show one speed, or the points are not above the roof.
    assert said([1] * 10) == ""
    points[-1]["flops_per_s"] = 1.04 * roof["value"]
    assert said([1] * 6 + [4 / 7] * 4) == ""
