"""The memory map, and single instructions: what is drawn, and where."""

import pytest
from conftest import GPU, by_key, figure_of, loaded, only
from drawing import lines, texts
from peakline import units


def figures(document, role):
    """The values of the instructions' figures with this role."""
    (rows,) = (
        c["figures"]
        for c in document["curves"]
        if (c["device"], c["topic"]) == (GPU, "instructions")
    )
    return [f["value"] for f in rows if f.get("role") == f"instruction.{role}"]


def test_instructions_show_documented_rates(document, drawn):
    picture = drawn["instructions"]
    (axes,) = figure_of(picture).axes
    found = lines(picture)
    for name, role in (("measured", "results"), ("documented", "documented_results")):
        assert sorted(x for x, _ in found[name]) == sorted(figures(document, role))
    # An instruction's marks stand in one row, and one without a documented rate has a single one.
    rows = [y for _, y in found["measured"]]
    assert rows == list(range(len(rows)))
    assert {y for _, y in found["documented"]} < set(rows)
    # A bar on a log scale has an end but no length to be read.
    assert (axes.get_xlabel(), len(axes.patches)) == ("results per clock and SM, log scale", 0)
    said = texts(picture)
    assert {"fp32 fma", "match", "sin"} <= set(said)
    assert {f"{cycles:.0f} cycles" for cycles in figures(document, "cycles")} <= set(said)


def test_instructions_of_which_none_is_documented(document):
    document = only(document, "instruction.")
    for row in document["curves"]:
        row["figures"] = [
            f for f in row["figures"] if f.get("role") != "instruction.documented_results"
        ]
    picture = by_key(loaded(document))["instructions"]
    assert set(lines(picture)) == {"measured"}
    assert "documented" not in texts(picture)


def test_the_memory_map_has_a_row_for_each_level(document, drawn):
    picture = drawn["memory-map"]
    found, said = lines(picture), set(texts(picture))
    for row, level in enumerate(document["memory_map"]):
        name = level["level"]
        assert found[name] == [(pytest.approx(level["latency_s"] * 1e9), row)]
        assert found[f"{name}, rate"] == [(pytest.approx(level["bytes_per_s"] / 1e9), row)]
        assert units.number(level["bytes_per_s"] / 1e9) in said
        far = level.get("far_latency_s")
        assert (f"{name}, far" in found) == (far is not None)
        assert units.time(far or level["latency_s"]) + " far" * bool(far) in said
    for axes in figure_of(picture).axes:
        assert (axes.get_xlabel().endswith(", log scale"), len(axes.patches)) == (True, 0)


def test_memory_map_leaves_out_unknown_facts(document):
    levels = document["memory_map"]
    document = only(document)
    del levels[-1]["latency_s"]
    assert "host" not in lines(by_key(loaded({**document, "memory_map": levels}))["memory-map"])
    for level in levels:
        level.pop("bytes_per_s", None)
    picture = by_key(loaded({**document, "memory_map": levels}))["memory-map"]
    assert len(figure_of(picture).axes) == 1
    levels[0]["label"] = "x" * 1000
    picture = by_key(loaded({**document, "memory_map": levels}))["memory-map"]
    assert "x" * 20 + "...\n228 KiB per SM" in texts(picture)
    assert "memory-map" not in by_key(loaded({**document, "memory_map": levels[:1]}))
