"""Pictures of copies beside kernels, fused steps and waiting: what is drawn, and where."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
import synthetic
from conftest import GPU, by_key, figure_of, loaded, synthetic_text
from drawing import lines, panel, texts
from peakline.pictures import Canvas, Picture

pytest.importorskip("matplotlib")


HBM = 4.8e12
FIGURES: dict[str, dict[str, float]] = {
    "overlap": {
        **{
            f"{way}_{memory}_{2**power}_share": top * (1 - 2.0 ** (16 - power))
            for way, loss in (("h2d", 1), ("h2d_d2h", 0.9))
            for memory, top in (("pinned", 0.99 * loss), ("pageable", 0.9 * loss**4))
            for power in (18, 22, 24, 28)
        },
        "h2d_pinned_hidden_bytes": 2**22,
    },
    "synchronization": {
        "event_record_s": 1.1e-6,
        **{f"wait_{by}_s": s for by, s in (("stream", 8e-6), ("event", 9e-6), ("device", 8.2e-6))},
        **{f"wait_{by}_s": s for by, s in (("blocking_event", 31e-6), ("read_back", 14e-6))},
        "dependent_launch_ordinary_s": 1.5e-6,
        "dependent_launch_programmatic_s": 0.9e-6,
        "grid_s": 1.2e-6,
        **{f"cluster_{blocks}_s": 1e-7 + 1e-8 * blocks for blocks in (2, 8)},
        **{f"block_{threads}_s": 8e-9 + 3e-11 * threads for threads in (32, 256, 1024)},
        "block_32_cycles": 18,
    },
    "fusion": {
        **{f"steps_{n}_saving_by_bytes": 1 - (n + 2) / (3 * n) for n in (2, 4, 8)},
        **{f"steps_{n}_saving": 1.01 - (n + 2) / (3 * n) for n in (2, 4, 8)},
        **{
            f"{kernels}_{2**power}_s": fixed + 2**power * moved / HBM
            for kernels, fixed, moved in (
                ("separate", 12e-6, 12),
                ("graph", 6e-6, 12),
                ("fused", 3e-6, 6),
            )
            for power in (16, 22, 24)
        },
    },
}


def rows(device: str, topics: Iterable[str] = FIGURES) -> list[dict[str, Any]]:
    return [synthetic.measurement(device, f"{topic}.x", {}, 1e-6, "s") for topic in topics]


def curves(device: str, figures: dict[str, dict[str, float]] | None = None) -> list[dict[str, Any]]:
    chosen = FIGURES if figures is None else figures
    return [{"device": device, "topic": t, "text": t, "values": v} for t, v in chosen.items()]


def made(
    document: dict[str, Any], figures: dict[str, dict[str, float]] | None = None
) -> dict[str, Picture]:
    """The pictures of a document whose sentences have these figures alone, by topic."""
    chosen = FIGURES if figures is None else figures
    return by_key(
        loaded(
            {
                **document,
                "measurements": rows(GPU, chosen),
                "ceilings": [],
                "rooflines": [],
                "headlines": [],
                "memory_map": [],
                "curves": curves(GPU, chosen),
            }
        )
    )


@pytest.fixture(scope="module")
def pipelines() -> dict[str, Picture]:
    return made(json.loads(synthetic_text()))


def test_overlap_as_a_share_of_the_slowest_part(pipelines: dict[str, Picture]) -> None:
    figures = FIGURES["overlap"]
    one_way = panel(pipelines["overlap"], "% of the slowest part's rate, copying in")
    both = panel(pipelines["overlap"], "% of the slowest part's rate, copying in and out")
    assert dict(one_way["pinned"])[2.0**22] == 100 * figures["h2d_pinned_4194304_share"]
    assert dict(both["pageable"])[2.0**28] == 100 * figures["h2d_d2h_pageable_268435456_share"]
    assert len(both["pinned"]) == 4
    # Two parts and three reach this in turn.
    in_turn = [found["one after another"][0][1] for found in (one_way, both)]
    assert in_turn == pytest.approx([50, 100 / 3])


def test_overlap_one_way_alone(document: dict[str, Any]) -> None:
    shares = {
        "h2d_pinned_262144_share": 0.5,
        "h2d_pinned_1048576_share": 0.9,
        "h2d_pageable_1_share": 1.0,
    }
    picture = made(document, {"overlap": shares})["overlap"]
    assert len(figure_of(picture).axes) == 1
    assert lines(picture)["pinned"] == [(2.0**18, 50), (2.0**20, 90)]
    assert "pageable" not in lines(picture)  # a single point
    assert picture.headline == ""


def test_fusion_measured_beside_what_bytes_predict(pipelines: dict[str, Picture]) -> None:
    found = lines(pipelines["fusion"])
    assert dict(found["by bytes moved"])[2] == pytest.approx(100 / 3)
    assert dict(found["measured"])[8] == pytest.approx(101 - 1000 / 24)
    assert dict(found["fused"])[2.0**16] == pytest.approx(3 + 2**16 * 6e6 / HBM)
    assert [x for x, _ in found["separate"]] == [2.0**16, 2.0**22, 2.0**24]


@pytest.mark.parametrize("canvas", [Canvas(), Canvas(narrow=True)], ids=["wide", "narrow"])
def test_waits_from_the_host_to_a_block(pipelines: dict[str, Picture], canvas: Canvas) -> None:
    (axes,) = figure_of(pipelines["synchronization"], canvas).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    times = dict(zip(names, (line.get_xdata()[0] for line in axes.get_lines()), strict=True))
    assert len(times) == 14
    assert names[0] == "recording an event"
    assert times["launch, sleep until an event"] == pytest.approx(31000)
    assert times["grid barrier, 256 threads per SM"] == pytest.approx(1200)
    assert times["block barrier, 1024 threads"] == pytest.approx(8 + 0.03 * 1024)
    assert {"31.0 µs", "900 ns"} <= set(texts(pipelines["synchronization"], canvas))


def test_what_older_hardware_lacks_is_left_out(document: dict[str, Any]) -> None:
    picture = made(document, {"synchronization": {"block_32_s": 1e-8, "block_32_cycles": 18}})
    (axes,) = figure_of(picture["synchronization"]).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["block barrier, 32 threads"]


@pytest.mark.parametrize("key", ["overlap", "fusion", "synchronization"])
def test_no_figures_no_picture(document: dict[str, Any], key: str) -> None:
    assert made(document, {key: {"nonsense_s": 0.0, "block_32_s": -1.0}}) == {}
    said = [{"device": GPU, "topic": key, "text": "", "values": FIGURES[key]}]
    assert key not in by_key(loaded({**document, "measurements": [], "curves": said}))


def test_headlines(pipelines: dict[str, Picture]) -> None:
    assert [picture.headline for picture in pipelines.values()] == [
        "Copies to the device hide behind a kernel from 4 MiB on; both ways reach 89.1 %",
        "Launching a kernel and reading 4 bytes back takes 14.0 µs, a grid barrier 1.20 µs, a "
        "block barrier 15.7 ns",
        "Fusing 8 steps saves 59.3 % of the time; on arrays of 64 KiB, fusing four runs 3.95 × as "
        "fast",
    ]
