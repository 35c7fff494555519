"""The roofline, and several devices in one frame: what is drawn, and where."""

from __future__ import annotations

import itertools
import json
import re

import peakline
import pytest
import synthetic
from conftest import GPU, figure_of
from drawing import lines, texts
from peakline.kernels import Mark
from peakline.pictures import Canvas, Picture
from peakline.pictures.compare import ceilings_side_by_side, overlay
from peakline.pictures.roofline import picture as roofline_picture

pytest.importorskip("matplotlib")


CANVASES = [Canvas(), Canvas(narrow=True)]


@pytest.mark.parametrize("canvas", CANVASES, ids=["wide", "narrow"])
def test_roofline_lines(
    profile: peakline.Profile, drawn: dict[str, Picture], canvas: Canvas
) -> None:
    found = lines(drawn["roofline"], canvas)
    slope = 0.95 * synthetic.HBM
    for x, y in found["hbm.read"]:
        assert y == pytest.approx(x * slope)
    assert [y / x for x, y in found["l2.read"]] == pytest.approx([synthetic.L2] * 2)
    for resource, limit in synthetic.TENSOR.items():
        roof = found[f"tensor.{resource}"]
        assert [y for _, y in roof] == pytest.approx([0.82 * limit] * 2)
        # The roof starts at the ridge point of the fastest memory.
        assert min(x for x, _ in roof) == pytest.approx(0.82 * limit / synthetic.L1)
        assert [y for _, y in found[f"tensor.{resource} sustained"]] == pytest.approx(
            [0.7 * limit] * 2
        )
        assert [y for _, y in found[f"tensor.{resource} theoretical"]] == pytest.approx(
            [1.08 * limit] * 2
        )
    ridges = found["ridge points hbm.read"]
    heights = [0.82 * t for t in synthetic.TENSOR.values()]
    heights += [0.98 * c for c in synthetic.CUDA_CORE.values()]
    assert sorted(y for _, y in ridges) == pytest.approx(sorted(heights))
    assert sorted(x for x, _ in ridges) == pytest.approx(sorted(y / slope for y in heights))
    points = {
        p.intensity: p.flops_per_s
        for r in profile.rooflines
        for p in r.points
        if r.device == GPU and p.precision == "fp32"
    }
    assert dict(found["sweep fp32"]) == points


def test_roofline_styles(drawn: dict[str, Picture]) -> None:
    (axes,) = figure_of(drawn["roofline"]).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    for line in axes.get_lines():
        label = str(line.get_label())
        dashed = line.is_dashed()
        if label.endswith("theoretical"):
            assert dashed, label
        elif label.startswith(("tensor", "cuda_core", "hbm")):
            assert not dashed, label
    widths = {str(line.get_label()): line.get_linewidth() for line in axes.get_lines()}
    assert widths["tensor.bf16"] > widths["tensor.bf16 sustained"]
    # One band for the interval of each slope and roof.
    slopes = 4  # L1, L2, HBM, PCIe
    assert len(axes.collections) == slopes + len(synthetic.TENSOR) + len(synthetic.CUDA_CORE)


def test_roofline_labels(drawn: dict[str, Picture]) -> None:
    picture = drawn["roofline"]
    shown = texts(picture)
    assert "BF16 Tensor Cores 812 | 693" in shown
    assert "HBM read 4560 GB/s" in shown
    assert "178" in shown


def test_kernels_are_marked(profile: peakline.Profile) -> None:
    mark = Mark(7, "my kernel", 3.0, 1e13)
    picture = roofline_picture(profile, GPU, [mark])
    assert picture is not None
    assert lines(picture)["kernel my kernel"] == [(3.0, 1e13)]
    assert "7" in texts(picture)
    # A kernel far outside the usual frame widens it.
    far = roofline_picture(profile, GPU, [Mark(1, "tiny", 1e-4, 1e6)])
    assert far is not None
    (axes,) = figure_of(far).axes
    assert axes.get_xlim()[0] < 1e-4
    assert axes.get_ylim()[0] < 1e6


def test_ceilings_are_shares(drawn: dict[str, Picture]) -> None:
    picture = drawn["ceilings"]
    figure = figure_of(picture)
    values = {
        round(float(line.get_xdata()[0]), 3)
        for line in figure.axes[0].get_lines()
        if len(line.get_xdata()) == 1
    }
    assert round(82 / 1.08, 3) in values
    assert 95.0 in values
    assert round(74 / 1.08, 3) in values
    assert "model-shaped" in texts(picture)


def test_overlay_of_profiles() -> None:
    items = [
        (name, peakline.loads(json.dumps(synthetic.profile(1, scale=scale))), GPU)
        for name, scale in (("a", 1.0), ("b", 0.8))
    ]
    picture = overlay(items)
    assert picture is not None
    found = lines(picture)
    assert [y for _, y in found["a tensor.bf16"]] == pytest.approx([0.82 * 990e12] * 2)
    assert [y for _, y in found["b tensor.bf16"]] == pytest.approx([0.8 * 0.82 * 990e12] * 2)
    assert "a leads" in picture.reading
    assert "1.25 times b" in picture.reading
    side = ceilings_side_by_side(items)
    assert side is not None
    shares = {round(x) for x, _ in lines(side)["b"]}
    assert shares == {80, 100}  # the link is not scaled
    assert overlay(items[:1]) is None
    assert ceilings_side_by_side(items[:1]) is None


def test_end_labels_do_not_overlap(drawn: dict[str, Picture]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = figure_of(drawn["roofline"])
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [
        text.get_window_extent(renderer)
        for text in figure.axes[0].texts
        if re.search(r"[Cc]ores [\d.]+", text.get_text())
    ]
    assert len(boxes) == len(synthetic.TENSOR) + len(synthetic.CUDA_CORE)
    boxes.sort(key=lambda box: box.y0)
    for lower, upper in itertools.pairwise(boxes):
        assert upper.y0 >= lower.y1 - 1
