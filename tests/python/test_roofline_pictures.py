"""The roofline of one device and of several in one frame."""

import pytest
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
from drawing import lines, on_both_canvases, texts
from peakline.pictures.side_by_side import ceilings_side_by_side, overlay


def bands(axes):
    """The left ends of a panel's bands, by their lowest and highest value."""
    found = {}
    for band in axes.collections:
        corners = [corner for path in band.get_paths() for corner in path.vertices]
        xs, ys = ([float(corner[i]) for corner in corners] for i in (0, 1))
        found[min(ys), max(ys)] = min(xs)
    return found


@on_both_canvases
@pytest.mark.parametrize(
    ("key", "resources"),
    [
        ("roofline", ("tensor.bf16", "tensor.fp8", "cuda_core.fp32")),
        ("roofline-all", [f"tensor.{name}" for name in ("fp64", "tf32", "fp16", "bf16", "int8")]),
    ],
)
def test_roofline_lines(profile, drawn, canvas, key, resources):
    found = lines(drawn[key], canvas)
    for level in ("hbm.read", "l2.read"):
        slope = ceiling(level, "measured")
        assert [y / x for x, y in found[level]][:2] == pytest.approx([slope] * 2)
    # The roof starts at the ridge point of the fastest memory.
    fastest = ceiling("l1.read", "measured")
    drawn_bands = [
        (low, high, left)
        for axes in figure_of(drawn[key], canvas).axes
        for (low, high), left in bands(axes).items()
    ]
    for resource in resources:
        theoretical, burst, sustained = (
            ceiling(resource, basis) for basis in ("theoretical", "burst", "sustained")
        )
        assert {y for _, y in found[resource]} == {burst}
        assert min(x for x, _ in found[resource]) == pytest.approx(burst / fastest)
        # A band reaches from sustained to burst.
        low, high = sorted((sustained, burst))
        assert pytest.approx((low, high, low / fastest)) in drawn_bands
        assert {y for _, y in found[f"{resource} theoretical"]} == {theoretical}
    points = {
        p.intensity: p.flops_per_s
        for r in profile.rooflines
        for p in r.points
        if r.device == GPU and p.precision == "fp32"
    }
    assert dict(found["FP32 sweep"]) == points
    for name in ("bf16", "fp8"):
        rates = {m.value for m in profile.of(GPU, f"gemm.skinny.{name}")}
        assert {y for _, y in found[f"{name.upper()} GEMMs"]} == rates


def test_the_first_roofline_is_one_for_a_talk(drawn):
    (axes,) = figure_of(drawn["roofline"]).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    drawn_lines = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
    assert len(drawn_lines) <= 12
    names = {str(line.get_label()) for line in drawn_lines}
    assert {n for n in names if " " not in n} == {
        "hbm.read",
        "l2.read",
        "l1.read",
        "tensor.fp8",
        "tensor.bf16",
        "cuda_core.fp32",
    }
    for line in drawn_lines:
        assert line.is_dashed() == str(line.get_label()).endswith("theoretical"), line.get_label()
    # Integer operations have their own panel, with the host link.
    flops, integers = figure_of(drawn["roofline-all"]).axes
    assert (flops.get_title(loc="left"), integers.get_title(loc="left")) == ("FLOP/s", "OP/s")
    roofs = {str(line.get_label()) for line in integers.get_lines()}
    assert {n for n in roofs if n.startswith("tensor") and " " not in n} == {"tensor.int8"}
    assert "pcie.h2d" in roofs
    assert "tensor.int8" not in {str(line.get_label()) for line in flops.get_lines()}


def test_ceilings_are_shares(drawn):
    picture = drawn["ceilings"]
    values = {
        round(float(line.get_xdata()[0]), 3)
        for line in figure_of(picture).axes[0].get_lines()
        if len(line.get_xdata()) == 1
    }
    for resource, basis in (
        ("tensor.bf16", "burst"),
        ("hbm.read", "measured"),
        ("tensor.bf16", "model_shaped"),
    ):
        share = 100 * ceiling(resource, basis) / ceiling(resource, "theoretical")
        assert round(share, 3) in values, resource
    assert {"published", "achievable", "model"} <= set(texts(picture))


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
