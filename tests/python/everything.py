"""A made-up profile of a node, with every picture of a full run."""

from __future__ import annotations

import functools
from typing import Any

import synthetic
import test_collectives
import test_latency_pictures
import test_node
import test_pipeline_pictures
from conftest import loaded
from peakline.report import build


def document(gpus: int) -> dict[str, Any]:
    """At least two GPUs, measured without --soak."""
    base = test_node.document(gpus)
    rows = [m for m in base["measurements"] if m["params"].get("load") != "soak"]
    rows += test_collectives.rows()
    said = [*base["curves"], test_collectives.CURVE]
    for index in range(gpus):
        device = synthetic.GPU.format(index)
        rows += test_latency_pictures.rows(device)
        rows += test_pipeline_pictures.rows(device)
        said += test_pipeline_pictures.curves(device)
    return {**base, "measurements": rows, "curves": said}


@functools.cache
def page(gpus: int) -> str:
    """Its page."""
    return build([loaded(document(gpus))])["report.html"].decode("utf-8")
