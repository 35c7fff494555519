"""Pictures of data movement and of starting work: what is drawn, and where."""

from __future__ import annotations

import json
from typing import Any

import peakline
import pytest
import synthetic
from conftest import GPU, by_key, figure_of, loaded, only
from drawing import lines, panel, texts
from peakline.pictures import Picture

pytest.importorskip("matplotlib")


def test_pcie_curves(profile: peakline.Profile, drawn: dict[str, Picture]) -> None:
    picture = drawn["pcie"]
    found = lines(picture)
    rows = [m for m in profile.of(GPU) if m.id == "pcie.h2d.pinned"]
    assert dict(found["to device, pinned"]) == {m.params["bytes"]: m.value for m in rows}
    assert set(found) == {
        "to device, pinned",
        "to host, pinned",
        "to device, pageable",
        "to host, pageable",
        "both ways, pinned",
        "link, raw",
        "link, data",
        "both ways, raw",
    }
    # A copy both ways has the limit of both.
    assert found["both ways, raw"][0][1] == 2 * found["link, raw"][0][1]
    # After the headers of packets.
    assert found["link, data"][0][1] == pytest.approx(0.914 * found["link, raw"][0][1])


def test_copies_to_shared_memory_by_way_and_size(drawn: dict[str, Picture]) -> None:
    found = panel(drawn["copies"], "GB/s from memory")
    assert set(found) == {"plain", "cp.async", "bulk", "1D tensor", "2D tensor"}
    assert found["bulk"][0] == (128, pytest.approx(4500 * 128 / 328))
    assert found["plain"][-1] == (8192, pytest.approx(4300 * 8192 / 8392))
    for axes in figure_of(drawn["copies"]).axes[:2]:
        ticks = [label.get_text() for label in axes.get_xticklabels()]
        assert ticks == ["128 B", "512 B", "2 KiB", "8 KiB"]
    alone = panel(drawn["copies"], "ns, one copy alone")
    assert alone["1D tensor"] == [(512, pytest.approx(401.15, abs=0.01))]


def test_host_memory_by_direction_and_cost(drawn: dict[str, Picture]) -> None:
    rates, costs = figure_of(drawn["host-memory"]).axes
    by_direction = {
        str(bars.get_label()): [bar.get_width() for bar in bars] for bars in rates.containers
    }
    # Pinned and pageable memory show the copies of the size that the others have.
    assert by_direction["both ways"] == pytest.approx([95, 100, 90, 15])
    assert by_direction["to device"][1:3] == pytest.approx([55, 50])
    assert by_direction["to device"][0] == pytest.approx(54.8, abs=0.1)
    assert [bar.get_width() for bar in costs.patches] == pytest.approx([350, 250, 50, 280, 90])


def test_host_memory_is_headed_by_its_bars_and_the_largest_copies(document: dict[str, Any]) -> None:
    for row in document["measurements"]:
        if row["id"] == "pcie.h2d.pageable":
            row["value"] *= 1.1 if row["params"]["bytes"] == 2**26 else 2
    picture = by_key(loaded(document))["host-memory"]
    bars = {
        name: bar.get_width()
        for name, bar in zip(
            ["pinned", "write-combined", "mapped", "pageable"],
            figure_of(picture).axes[0].containers[0],
            strict=True,
        )
    }
    share = bars["pageable"] / bars["pinned"]
    assert share == pytest.approx(0.22, rel=0.01)
    assert f"{100 * share:.1f} % (64 MiB) and 40.0 % (1 GiB) of the pinned rate" in picture.headline


def test_host_memory_needs_more_than_pinned(document: dict[str, Any]) -> None:
    document["curves"] = [c for c in document["curves"] if c["topic"] != "allocation"]
    (alone,) = figure_of(by_key(loaded(document))["host-memory"]).axes
    assert alone.get_xlabel() == "GB/s, copies of 64 MiB"
    document["measurements"] = [
        m for m in document["measurements"] if not m["id"].endswith(("mapped", "combined"))
    ]
    assert "host-memory" not in by_key(loaded(document))


def test_parameters_that_make_no_sense_are_left_out(document: dict[str, Any]) -> None:
    for sign in (-1, 0):
        changed = json.loads(json.dumps(document))
        for m in changed["measurements"]:
            m["params"] = {k: sign * v if isinstance(v, int) else v for k, v in m["params"].items()}
        unique = {
            json.dumps([m["id"], m["params"], m["device"]]): m for m in changed["measurements"]
        }
        changed["measurements"] = list(unique.values())
        for picture in by_key(loaded(changed)).values():
            figure_of(picture)


def test_hbm_patterns(drawn: dict[str, Picture]) -> None:
    picture = drawn["hbm"]
    found = lines(picture)
    # Patterns compare at the largest footprint, not at the one where the cache helps.
    assert found["16 bytes"][0][0] == pytest.approx(0.95 * synthetic.HBM / 1e9)
    assert dict(found["read"])[2.0**28] == pytest.approx(0.95 * 1.02 * synthetic.HBM / 1e9)
    assert {"read", "write", "copy", "triad", "memcpy", "memset"} <= set(texts(picture))


def test_a_line_of_hbm_is_labelled_with_its_own_end(document: dict[str, Any]) -> None:
    for row in document["measurements"]:
        if row["id"] == "hbm.triad" and row["params"]["width"] == 8:
            row["value"] *= 1.01  # the ceiling then is of another width than the line
    picture = by_key(loaded(document))["hbm"]
    end = lines(picture)["triad"][-1][1]
    assert f"triad {end:.0f}" in texts(picture)


def test_cache_sweep_over_the_footprint_of_all_sms(document: dict[str, Any]) -> None:
    for row in document["curves"]:
        if row["topic"] == "caches":
            row["values"] = {"l1_held_bytes": 2**17, "l2_held_bytes": 33 * 2**20}
    picture = by_key(loaded(document))["cache"]
    found = lines(picture)
    past = dict(found["past the L1"])
    assert past[2.0**16 * synthetic.SM_COUNT] == pytest.approx(synthetic.L2 / 1e9)
    assert past[2.0**23 * synthetic.SM_COUNT] == pytest.approx(0.95 * synthetic.HBM / 1e9)
    through = dict(found["through the L1"])
    assert through[2.0**17 * synthetic.SM_COUNT] == pytest.approx(synthetic.L1 / 1e9)
    assert through[2.0**18 * synthetic.SM_COUNT] == pytest.approx(synthetic.L2 / 1e9)
    # The sizes found are marked: that of an SM's L1 where all of them end.
    assert found["L1 128 KiB per SM"][0][0] == 2**17 * synthetic.SM_COUNT
    assert found["L2 33 MiB"][0][0] == 33 * 2**20


def test_cache_sweep_needs_the_number_of_sms(document: dict[str, Any]) -> None:
    for device in document["devices"]:
        device.pop("sm_count", None)
    assert "cache" not in by_key(loaded(document))


def test_launch_costs(drawn: dict[str, Picture]) -> None:
    picture = drawn["launch"]
    figure = figure_of(picture)
    widths = sorted(patch.get_width() for patch in figure.axes[0].patches)
    assert widths == pytest.approx([1.1, 1.9, 2.2, 7.4])
    graph = dict(lines(picture)["graph"])
    assert graph[1024] == pytest.approx((5 + 1.3 * 1024) / 1024)


def test_divergence_is_relative_to_one_path(drawn: dict[str, Picture]) -> None:
    picture = drawn["divergence"]
    found = lines(picture)
    assert found["inside a warp"][0] == (1.0, 1.0)
    assert found["inside a warp"][-1] == (32.0, pytest.approx(32**0.97))
    assert found["between warps"][-1] == (32.0, pytest.approx(1.0))


def test_alignment_is_relative_to_aligned(drawn: dict[str, Picture]) -> None:
    picture = drawn["alignment"]
    figure = figure_of(picture)
    offset, stride = figure.axes
    (four, *_) = [line for line in offset.get_lines() if line.get_label() == "4 bytes"]
    assert four.get_ydata()[0] == pytest.approx(100)
    assert min(four.get_ydata()) == pytest.approx(90)
    (sixteen, *_) = [line for line in stride.get_lines() if line.get_label() == "16 bytes"]
    assert sixteen.get_ydata()[-1] == pytest.approx(50)
    assert [axes.get_title(loc="left") for axes in (offset, stride)] == [
        "% of the bandwidth of aligned access",
        "% of the bandwidth of contiguous access",
    ]


def test_alignment_is_headed_by_the_worst_of_one_width(document: dict[str, Any]) -> None:
    for row in document["measurements"]:
        if row["id"] == "alignment.offset" and row["params"] == {"width": 8, "offset": 64}:
            row["value"] *= 0.7
    assert by_key(loaded(document))["alignment"].headline == (
        "An offset of 64 B leaves 70.0 % of the bandwidth of 8-byte accesses, "
        "a stride of 4 elements 25.0 %"
    )
    for only_one in ("alignment.offset", "alignment.stride"):
        assert by_key(loaded(only(document, only_one)))["alignment"].headline == ""
    strides = [
        m
        for m in document["measurements"]
        if m["id"] != "alignment.stride" or m["params"]["width"] != 8
    ]
    document["measurements"] = strides
    assert by_key(loaded(document))["alignment"].headline == ""


def test_one_thread_count_makes_no_curve(document: dict[str, Any]) -> None:
    document["measurements"] = [
        m for m in document["measurements"] if m["params"].get("threads", 32) == 32
    ]
    assert "host" not in by_key(loaded(document), "host")


def test_host_scaling(profile: peakline.Profile) -> None:
    picture = by_key(profile, "host")["host"]
    assert dict(lines(picture)["read"])[16.0] == pytest.approx(210.0)


def test_instructions_per_clock_beside_the_documented_rate(drawn: dict[str, Picture]) -> None:
    picture = drawn["instructions"]
    (axes,) = figure_of(picture).axes
    found = lines(picture)
    assert found["measured"] == pytest.approx([(126.5, 0), (253, 1), (15.9, 2), (4, 3)])
    assert found["documented"] == [(128, 0), (256, 1), (16, 2)]
    # A bar on a log scale has an end but no length to be read.
    assert (axes.get_xlabel(), len(axes.patches)) == ("results per clock and SM, log scale", 0)
    assert {"fp32 fma", "4 cycles", "61 cycles", "sin"} <= set(texts(picture))


def test_instructions_of_which_none_is_documented(document: dict[str, Any]) -> None:
    for row in document["curves"]:
        if row["topic"] == "instructions":
            row["values"] = {k: v for k, v in row["values"].items() if "documented" not in k}
    picture = by_key(loaded(document))["instructions"]
    assert set(lines(picture)) == {"measured"}
    assert "documented" not in texts(picture)


def test_atomics_by_addresses_at_the_usual_scope(document: dict[str, Any]) -> None:
    rows = document["measurements"]
    (one,) = [
        m
        for m in rows
        if m["id"] == "atomics.global"
        and m["params"] == {"op": "int32_add", "addresses": "one", "scope": "device"}
    ]
    rows.append({**one, "params": {**one["params"], "scope": "system"}, "value": 1.0})
    picture = by_key(loaded(only(document, "atomics")))["atomics"]
    in_global, in_shared = figure_of(picture).axes
    (add, cas) = in_global.get_lines()
    assert list(add.get_ydata()) == pytest.approx([0.6, 12, 60, 600])
    assert list(cas.get_ydata()) == pytest.approx([0.3, 6, 30, 300])
    assert list(in_shared.get_lines()[0].get_ydata()) == pytest.approx([6, 120, 600, 6000])
    ticks = [label.get_text() for label in in_global.get_xticklabels()]
    assert ticks == ["1", "32", "1 per warp", "1 per thread"]


def test_the_memory_map_has_a_row_for_each_level(drawn: dict[str, Picture]) -> None:
    picture = drawn["memory-map"]
    grows, falls = "latency grows 21.0 ×", "bandwidth falls 6.88 ×"
    assert picture.headline == f"From L1 to device memory, {grows}, {falls}"
    found = lines(picture)
    assert found["l1"] == [(pytest.approx(16), 1)]
    assert (found["l2"], found["l2, far"]) == ([(140, 2)], [(250, 2)])
    assert "host" not in found  # its latency is not known
    assert found["l2, rate"] == [(9000, 2)]
    for axes in figure_of(picture).axes:
        assert (axes.get_xlabel().endswith(", log scale"), len(axes.patches)) == (True, 0)
    said = set(texts(picture))
    assert {"12.0 ns", "140 ns", "250 ns far", "33000", "59.9"} <= said
    assert {
        "L1\nholds 128 KiB per SM",
        "L2\nholds 50 of 60 MiB, 25 MiB near",
        "host memory",
    } <= said
    assert {"L1\n128 B lines, sectors of 32 B", "device memory\n64 B at a time"} <= said
    assert "L2\n128 B lines" in said


def test_a_memory_map_needs_latencies(document: dict[str, Any]) -> None:
    for level in document["memory_map"]:
        level.pop("bytes_per_s", None)
    picture = by_key(loaded(document))["memory-map"]
    assert (len(figure_of(picture).axes), picture.headline) == (1, "")
    document["memory_map"][0]["label"] = "x" * 1000
    assert "x" * 20 + "...\n228 KiB per SM" in texts(by_key(loaded(document))["memory-map"])
    document["memory_map"] = document["memory_map"][:1]
    assert "memory-map" not in by_key(loaded(document))


def test_conflicts_are_drawn_as_time(document: dict[str, Any], drawn: dict[str, Picture]) -> None:
    picture = drawn["conflicts"]
    assert picture.headline == "A read whose lanes all hit one bank takes 31.6 × as long"
    found = lines(picture)
    assert found["measured"] == pytest.approx(found["one lane after another"])
    assert found["measured"][-1] == pytest.approx((32, 32))
    few = only(document, "shared.conflicts")
    del few["measurements"][0]  # there is nothing to compare with
    assert "conflicts" not in by_key(loaded(few))


def test_clusters_stand_beside_ones_own_memory(drawn: dict[str, Picture]) -> None:
    picture = drawn["dsmem"]
    assert picture.headline == "Another SM's shared memory is 8 to 13 × slower than one's own"
    assert {"its own", "in a cluster of 16", "32000", "2600"} <= set(texts(picture))
    (axes,) = figure_of(picture).axes
    assert [bar.get_width() for bar in axes.patches] == [32000, 4000, 2500, 2600]
