"""What lies between the GPUs of a node: its pictures, its part of a page, its bandwidth."""

import pytest
from conftest import GPU, TWO_GPUS, by_key, document_of, figure_of, loaded, reference
from drawing import texts
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


def test_without_known_links_no_limit_is_drawn():
    document = document_of(TWO_GPUS)
    document["ceilings"] = [c for c in document["ceilings"] if c["basis"] != "theoretical"]
    found = by_key(loaded(document), NODE)
    assert "784" in texts(found["node-links"]) and not figure_of(found["node-links"]).axes[0].lines
    assert len(figure_of(found["node-sizes"]).axes[0].lines) == 6


def test_each_gpu_at_once_has_a_row():
    document = document_of(TWO_GPUS)
    for curve in document["curves"]:
        # As if GPU 1 had not run alone.
        alone = ("gemm.concurrent", "kept", {"gpu": 1})
        curve["figures"] = [
            f for f in curve.get("figures", ()) if (f["id"], f["name"], f.get("by")) != alone
        ]
    shown = texts(by_key(loaded(document), NODE)["node-concurrent"])
    assert {"BF16 GEMMs, GPU 0", "BF16 GEMMs, GPU 1"} <= set(shown)
    assert sum(text.endswith(" TFLOP/s") and "%" not in text for text in shown) == 1


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
