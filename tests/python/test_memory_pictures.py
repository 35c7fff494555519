"""The memory map, and single instructions: what is drawn, and where."""

from conftest import by_key, figure_of, loaded, only
from drawing import lines, texts


def test_instructions_of_which_none_is_documented(document):
    document = only(document, "instruction.")
    for row in document["curves"]:
        row["figures"] = [
            f for f in row["figures"] if f.get("role") != "instruction.documented_results"
        ]
    picture = by_key(loaded(document))["instructions"]
    assert set(lines(picture)) == {"measured"}
    assert "documented" not in texts(picture)


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
