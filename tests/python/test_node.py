"""What lies between the GPUs of a node: its pictures, its part of a page, its bandwidth."""

from __future__ import annotations

from typing import Any

import peakline
import pytest
import synthetic
from conftest import GPU, by_key, figure_of, loaded
from drawing import texts
from peakline.page import tables
from peakline.pictures import Canvas
from peakline.profile import NODE, PeakError, Profile

pytest.importorskip("matplotlib")

SIZES = [2**power for power in range(12, 31, 2)]


def document(gpus: int = 2) -> dict[str, Any]:
    """A node whose first two GPUs were looked at: GPU 1 reads more slowly and shares its link."""
    base = synthetic.profile(gpus)
    rows = []
    for id_, rate in (("read", 393e9), ("write", 396e9), ("bidirectional", 778e9)):
        for engine in ("ce", "sm"):
            for size in SIZES:
                params = {"pair": "0-1", "bytes": size}
                rising = rate * size / (size + 2**20)
                name = f"p2p.{id_}.{engine}"
                rows.append(synthetic.measurement(NODE, name, params, rising, "B/s"))
    slow = {"pair": "1-0", "bytes": SIZES[-1]}
    rows.append(synthetic.measurement(NODE, "p2p.read.ce", slow, 300e9, "B/s"))
    for gpu in (0, 1):
        for beside, share in (("none", 1.0), ("all", 0.5 if gpu else 1.0)):
            params = {"gpu": gpu, "beside": beside}
            for way in ("h2d", "d2h", "both"):
                name = f"pcie.concurrent.{way}"
                rows.append(synthetic.measurement(NODE, name, params, share * 55e9, "B/s"))
    ceilings = [
        synthetic.ceiling(NODE, name, "measured", value, "B/s")
        for name, value in (("nvlink.read", 393e9), ("nvlink.read.1-0", 300e9))
    ]
    said: list[dict[str, Any]] = [
        {"device": NODE, "topic": topic, "sentence": f"On {topic}.", "title": f"About {topic}"}
        for topic in ("GPU to GPU", "host links at once", "GPUs at once")
    ]
    said[0]["figures"] = [synthetic.figure("p2p.read.ce", "slowest_rate", 300e9, "B/s")]
    return {
        **base,
        "measurements": [*base["measurements"], *rows],
        "ceilings": [*base["ceilings"], *ceilings],
        "curves": [*base["curves"], *said],
    }


@pytest.fixture(scope="module")
def node() -> Profile:
    return loaded(document())


def test_the_only_pair_has_a_bar_each_way(node: Profile) -> None:
    picture = by_key(node, NODE)["node-links"]
    (axes,) = figure_of(picture).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    rates = [text.get_text() for text in axes.texts]
    assert dict(zip(names, rates, strict=True)) == {
        "GPU 0 reads from GPU 1": "393",
        "GPU 1 reads from GPU 0": "300",
        "GPU 0 writes to GPU 1": "396",
        "both ways": "777",
    }
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(
        [393, 300, 396, 777], rel=0.01
    )
    assert (picture.headline, picture.reading) == ("About GPU to GPU", "On GPU to GPU.")


@pytest.mark.parametrize("canvas", [Canvas(), Canvas(narrow=True)], ids=["wide", "narrow"])
def test_links_show_each_pair_in_its_cell(canvas: Canvas) -> None:
    more = document(3)
    params = {"pair": "2-0", "bytes": SIZES[-1]}
    more["measurements"].append(synthetic.measurement(NODE, "p2p.read.ce", params, 200e9, "B/s"))
    picture = by_key(loaded(more), NODE)["node-links"]
    shown = [[text.get_text() for text in axes.texts] for axes in figure_of(picture, canvas).axes]
    assert shown == [["393", "300", "200"], ["396"], ["777", "777"]]  # the same both ways
    cells = figure_of(picture, canvas).axes[0].patches
    assert [cell.get_alpha() for cell in cells] == pytest.approx([1, 0.53, 0.02], abs=0.01)


def test_sizes_show_the_pair_that_was_measured_with_all_of_them(node: Profile) -> None:
    picture = by_key(node, NODE)["node-sizes"]
    assert len(figure_of(picture).axes[0].lines) == 6
    assert "1 MiB" in picture.headline


def test_bars_show_what_is_left_to_each_gpu(node: Profile) -> None:
    picture = by_key(node, NODE)["node-concurrent"]
    assert len(figure_of(picture).axes[0].patches) == 6
    assert sum("50.0 %" in text for text in texts(picture)) == 3
    assert picture.headline == "About host links at once"
    assert picture.reading == "On host links at once. On GPUs at once."


def test_bandwidth_of_the_links(node: Profile) -> None:
    assert node.bandwidth("nvlink") == 393e9
    assert node.bandwidth("nvlink.read.1-0") == 300e9
    with pytest.raises(PeakError, match="nvlink"):
        node.bandwidth("nvlink", basis="datasheet")


def test_what_lies_between_gpus_is_no_row_of_a_gpu() -> None:
    reference = peakline.reference("h200-x2")
    between = {
        device: [r for r in reference.resources_of(device) if r.startswith(("nccl.", "nvlink."))]
        for device in reference.measured_devices()
    }
    assert "nccl.all_reduce.busbw" in between.pop(NODE)
    assert not any(between.values())
    gpu, ways = reference.devices[0].uuid, ("all_reduce", "broadcast")
    assert all(reference.ceiling(gpu, f"nccl.{way}.busbw", "theoretical") for way in ways)
    assert "NCCL" not in tables.ceilings(reference, gpu, "ceilings")
    assert "NCCL all-reduce" in tables.ceilings(reference, NODE, "ceilings")
    assert reference.bandwidth("nccl.all_reduce.busbw") > 3e11


def test_a_profile_of_one_gpu_has_no_node() -> None:
    profile = loaded(synthetic.profile())
    assert NODE not in profile.measured_devices()
    assert profile.measured_devices()[0] == GPU
