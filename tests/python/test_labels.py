"""No label of any picture is cut or overlaps another, as measured with the renderer."""

import dataclasses
import functools
import re

import pytest
import test_input_pictures
import test_load_pictures
import test_node
from conftest import (
    DATA,
    GPU,
    REFERENCES,
    by_key,
    document_of,
    figure_of,
    loaded,
    only,
    reference,
    reference_page,
    scaled,
)
from drawing import crossed, cut, on_both_canvases, outside, overlapping
from peakline.pictures import pictures
from peakline.pictures.labels import short_label
from peakline.pictures.picture import add_frame
from peakline.pictures.side_by_side import ceilings_side_by_side, overlay
from peakline.pictures.style import style
from peakline.workload.placement import place
from peakline.workload.read import read_kernels as read


def with_caches():
    """Rooflines with another slope close to the L1's."""
    document = scaled(only(document_of()), 1.05, "shared.read")
    (roofline,) = (r for r in document["rooflines"] if r["device"] == GPU)
    roofline["memory"].append("shared.read")
    return [p for key, p in by_key(loaded(document)).items() if key.startswith("roofline")]


def with_kernels(export, prefix=""):
    """The kernels of an export, with a prefix to their names."""
    found = read(DATA / export)
    named = [dataclasses.replace(kernel, name=prefix + kernel.name) for kernel in found]
    return pictures(reference(), GPU, place(reference(), named))[:1]


def compared(count):
    items = [("reference-node", reference(), GPU)]
    for i in range(1, count):
        other = loaded(scaled(only(document_of()), 1 - 0.15 * i, ""))
        items.append((f"node-{i}-of-the-second-row", other, GPU))
    return [p for p in (overlay(items), ceilings_side_by_side(items)) if p]


# Pictures that the references' pages do not have.
MADE = {
    "caches": with_caches,
    "counted": lambda: with_kernels("h200_ncu_full.csv.gz"),
    "few-metrics": lambda: with_kernels("h200_ncu.csv", "$x^2 " * 50),
    "traced": lambda: with_kernels("h200_trace.json.gz", "k" * 200),
    "node-of-three": lambda: [test_node.links_of_three()],
    "input-fast": lambda: [test_input_pictures.drawn(test_input_pictures.FAST)],
    "input-slow": lambda: [test_input_pictures.drawn_with_need()],
    "soak": lambda: [by_key(loaded(test_load_pictures.with_soak()))["soak"]],
    "two": lambda: compared(2),
    "five": lambda: compared(5),
}


@functools.cache
def page(name):
    return tuple(MADE[name]())


def check(picture, figure):
    assert (picture.key, cut(figure)) == (picture.key, [])
    assert (picture.key, overlapping(figure)) == (picture.key, [])
    assert (picture.key, outside(figure)) == (picture.key, [])


@on_both_canvases
@pytest.mark.parametrize("name", MADE)
def test_no_label_is_cut_or_overlaps(name, canvas):
    for picture in page(name):
        check(picture, figure_of(picture, canvas))


def test_short_labels_keep_whole_words():
    assert short_label("memory triad (2 reads + write)") == "memory triad (2 reads + write)"
    assert short_label("HBM read") == "HBM"


SLOPES = {"l1.read", "l2.read", "hbm.read", "pcie.h2d"}


@on_both_canvases
@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: path.stem)
def test_roofline_labels_are_clear_of_lines(path, canvas):
    profile = reference(path)
    for picture in pictures(profile, profile.select_devices(None)[0])[:2]:
        figure = figure_of(picture, canvas)
        assert (picture.key, crossed(figure)) == (picture.key, [])
        for axes in figure.axes:
            slopes = [t for t in axes.texts if t.get_text().endswith(" GB/s")]
            named = [x for x in axes.get_lines() if str(x.get_label()) in SLOPES]
            assert len(slopes) == len(named) > 2


@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: path.stem)
def test_labels_of_real_profiles(path):
    figures = reference_page(path).drawn
    assert len(figures) > 60
    for picture, canvas, figure in figures:
        with style():
            add_frame(figure, picture, canvas)
        check(picture, figure)
        # The heading never breaks between a number and its unit.
        heading = figure.texts[0].get_text()
        assert not re.search(r"\d\n\D", heading), (picture.key, heading)
