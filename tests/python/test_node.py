"""What lies between the GPUs of a node: its pictures, its part of a page, its bandwidth."""

import pytest
from conftest import GPU, TWO_GPUS, by_key, document_of, figure_of, loaded, reference
from drawing import lines as drawn_lines
from drawing import on_both_canvases, texts
from peakline import units
from peakline.page import tables
from peakline.profile import HOST, NODE, PeakError


def rows(document, id_, **params):
    """What was measured between the GPUs with these parameters."""
    return [
        m
        for m in document["measurements"]
        if (m["device"], m["id"]) == (NODE, id_) and params.items() <= m["params"].items()
    ]


DOCUMENT = document_of(TWO_GPUS)
LARGEST = max(m["params"]["bytes"] for m in rows(DOCUMENT, "p2p.read.ce"))
RATES = {
    (way, m["params"]["pair"]): m["value"]
    for way in ("read", "write", "bidirectional")
    for m in rows(DOCUMENT, f"p2p.{way}.ce", bytes=LARGEST)
}


def links_of_three():
    """The links of a node with a third GPU, from which reads are slow."""
    document = document_of(TWO_GPUS)
    (row,) = rows(document, "p2p.read.ce", pair="1-0")
    slow = {**row, "params": {**row["params"], "pair": "2-0"}, "value": 200e9}
    document["measurements"].append(slow)
    return by_key(loaded(document), NODE)["node-links"]


@pytest.fixture(scope="module")
def drawn():
    return by_key(reference(TWO_GPUS), NODE)


def test_the_only_pair_has_a_bar_each_way(drawn):
    (axes,) = figure_of(drawn["node-links"]).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert dict(zip(names, (bar.get_width() for bar in axes.patches), strict=True)) == {
        "GPU 0 reads from GPU 1": RATES["read", "0-1"] / 1e9,
        "GPU 1 reads from GPU 0": RATES["read", "1-0"] / 1e9,
        "GPU 0 writes to GPU 1": RATES["write", "0-1"] / 1e9,
        "GPU 1 writes to GPU 0": RATES["write", "1-0"] / 1e9,
        "both ways": RATES["bidirectional", "0-1"] / 1e9,
    }
    # Beside each what the links' lanes carry, of which a line stands in its row.
    limits = [450, 450, 450, 450, 900]
    assert [text.get_text() for text in axes.texts] == [
        f"{bar.get_width():.0f} of {limit}" for bar, limit in zip(axes.patches, limits, strict=True)
    ]
    assert [line.get_xdata()[0] for line in axes.get_lines()] == limits


def test_without_known_links_no_limit_is_drawn():
    document = document_of(TWO_GPUS)
    document["ceilings"] = [c for c in document["ceilings"] if c["basis"] != "theoretical"]
    found = by_key(loaded(document), NODE)
    assert "784" in texts(found["node-links"]) and not figure_of(found["node-links"]).axes[0].lines
    assert len(figure_of(found["node-sizes"]).axes[0].lines) == 6


@on_both_canvases
def test_links_show_each_pair_in_its_cell(canvas):
    axes = figure_of(links_of_three(), canvas).axes
    read, write, both = (
        [f"{value / 1e9:.0f}" for (of, _), value in RATES.items() if of == way]
        for way in ("read", "write", "bidirectional")
    )
    assert [[text.get_text() for text in panel.texts] for panel in axes] == [
        [*read, "200"],
        write,
        both * 2,  # the same both ways
    ]
    alphas = [cell.get_alpha() or 0.0 for cell in axes[0].patches]
    assert alphas[0] == pytest.approx(1, abs=0.01) and alphas[-1] == min(alphas) < 0.05


def test_sizes_show_the_pair_with_every_size(drawn):
    picture = drawn["node-sizes"]
    limits = {"links, one way": 450e9, "links, both ways": 900e9}
    found = drawn_lines(picture)
    assert {name: found.pop(name)[0][1] for name in limits} == limits
    assert len(found) == 6
    # Each way from its own rate, as the sentence on the links says it.
    for way in ("read", "write"):
        (half,) = reference(TWO_GPUS).figures(NODE, id=f"p2p.{way}.ce", name="half_rate")
        assert f"{way}s of {units.size(half.value)}" in picture.headline


def test_bandwidth_of_the_links():
    node = reference(TWO_GPUS)
    assert node.bandwidth("nvlink") == max(RATES["read", "0-1"], RATES["read", "1-0"])
    assert node.bandwidth("nvlink.read.1-0") == RATES["read", "1-0"]
    with pytest.raises(PeakError, match="nvlink"):
        node.bandwidth("nvlink", basis="datasheet")


def test_links_between_gpus_are_no_gpu_rows():
    node = reference(TWO_GPUS)
    between = {
        device: [r for r in node.resources_of(device) if r.startswith(("nccl.", "nvlink."))]
        for device in node.measured_devices()
    }
    assert "nccl.all_reduce.busbw" in between.pop(NODE)
    assert not any(between.values())
    gpu, ways = node.devices[0].uuid, ("all_reduce", "broadcast")
    assert all(node.ceiling(gpu, f"nccl.{way}.busbw", "theoretical") for way in ways)
    assert "NCCL" not in tables.ceilings(node, gpu, "ceilings")
    assert "NCCL all-reduce" in tables.ceilings(node, NODE, "ceilings")
    assert node.bandwidth("nccl.all_reduce.busbw") > 3e11


def test_a_profile_of_one_gpu_has_no_node(profile):
    assert profile.measured_devices() == [GPU, HOST]
