"""The picture of kernels: each is drawn with its time, or listed as not drawn."""

import dataclasses
import re

import pytest
from conftest import DATA, TWO_GPUS, document_of, figure_of, loaded, only
from drawing import texts
from peakline.pictures import draw, kernel_roofline
from peakline.pictures.kernels import picture
from peakline.report import build
from peakline.workload.kernel import Kernel
from peakline.workload.placement import place
from peakline.workload.read import read_kernels as read


def bars(axes):
    """Row and length of each bar: the whole, then the part in full colour."""
    return [(bar.get_y() + bar.get_height() / 2, bar.get_width()) for bar in axes.patches]


def test_unknown_kernels_are_drawn_as_unknown(profile):
    known = Kernel("known", 1, 1e-3, {}, {"hbm.read": 2e9, "hbm.write": 0.0})
    dark = Kernel("dark", 2, 3e-3, {}, {}, ("flops", "hbm"))
    timeless = Kernel("timeless", 1, None, {}, {}, ("flops", "hbm"))
    found = picture(profile, place(profile, [dark, known, timeless], "0"))
    shown = texts(found)
    assert "3.00 ms: not known: FLOPs, bytes" in shown
    assert "Not drawn, in the table: 1 kernel, 0.0 % of the time: timeless" in shown
    (axes,) = figure_of(found).axes
    need = 2e9 / 4617112e6 * 1e3
    assert [width for _, width in bars(axes)] == pytest.approx([need, 1.0 - need, 3.0])
    assert picture(profile, place(profile, [timeless])) is None
    alone = picture(profile, place(profile, [dark]))
    assert alone.headline == "Your kernels: what bounds them is not known"


def test_waiting_kernels_link_to_their_curve(profile):
    tiny = Kernel("tiny", 10, 1e-5, {}, {"hbm": 1e6})
    placed = place(profile, [tiny], "0")
    said = "≤ 9.79 µs of 10.0 µs to gain: launch-bound; at least 2.1 % of HBM"
    assert said in texts(picture(profile, placed))
    page = build([profile], placements=placed)["report.html"].decode("utf-8")
    (link,) = re.findall(r'<a href="#([^"]+)">Its picture</a>', page)
    # The picture is in a group that the link opens.
    assert f'id="{link}"' in page.partition('<details class="group" id="measured-0">')[2]
    assert f'<section class="card" id="{link}" data-picture="launch">' in page


def test_kernels_are_shown_with_their_device():
    """Also for a second GPU of one model, of which a page shows less."""
    profile = loaded(only(document_of(TWO_GPUS), "hbm."))
    placed = place(profile, [Kernel("k", 1, 1e-3, {}, {"hbm": 1e9})], 1)
    files = build([profile], ["html", "svg"], placed)
    assert "gpu1-kernels.svg" in files and "gpu0-kernels.svg" not in files
    page = files["report.html"].decode("utf-8")
    assert page.count('data-picture="kernels"') == page.count('data-picture="kernel-table"') == 1


def test_roofline_marks_share_a_kernels_height(profile):
    """One mark per memory level, at the kernel's FLOP per byte of it; only its own roofs."""
    moved = {"hbm.read": 6e8, "hbm.write": 4e8, "l2.read": 3e9, "l2.write": 1e9}
    counted = Kernel("counted", 1, 1e-3, {"cuda_core.fp32": 2e10}, moved)
    without = Kernel("without FLOPs", 1, 2e-3, {}, {"hbm": 1e9}, ("flops",))
    placed = place(profile, [counted, without], "0")
    assert placed[0].rate_unit == "FLOP/s"
    integers = dataclasses.replace(counted, flops={"tensor.int8": 2e10, "cuda_core.fp32": 1e9})
    assert place(profile, [integers], "0")[0].rate_unit == "OP/s"
    drawn = kernel_roofline.picture(profile, placed[0].device, placed)
    assert drawn.headline.startswith("Nearest roof: the FLOP rate for the kernel with FLOPs")
    (axes,) = draw(drawn).axes
    marks = [mark.get_offsets()[0].tolist() for mark in axes.collections if len(mark.get_offsets())]
    assert sorted(marks) == [[5.0, 2e13], [20.0, 2e13]]
    labels = {text.get_text().partition(" ")[0] for text in axes.texts}
    assert {"FP32"} <= labels and "BF16" not in labels
    assert (
        kernel_roofline.picture(profile, placed[0].device, place(profile, [without], "0")) is None
    )


def test_the_colour_shows_what_limits_a_kernel(profile):
    placed = place(profile, read(DATA / "h200_ncu_full.csv.gz"), "0")
    (axes,) = figure_of(picture(profile, placed)).axes
    colours = {p.label: axes.patches[2 * row].get_facecolor()[:3] for row, p in enumerate(placed)}
    assert colours["vectorized_gather_kernel"] == colours["vectorized_elementwise_kernel"]
    assert len(set(colours.values())) == 4  # issue slots, two kinds of Tensor Cores, memory
