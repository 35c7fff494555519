"""Damaged files of every kind: each reader names the file and says in one line what is wrong.

test_fuzz damages files at random; tests/corpus holds profiles with one error each.
"""

import gzip
import json
import re
import tempfile
from pathlib import Path

import pytest
from conftest import reference
from made_kernels import BASE_UNITS, ROWS, ncu
from made_traces import export
from peakline import checkpoint
from peakline.commands.documents import page_of
from peakline.workload.analysis import analyze
from peakline.workload.read import read_kernels
from test_checkpoint import header, tensor
from test_comparison import compared
from test_fleet import made_fleet

READERS = {
    "page": page_of,
    "weights": lambda path: checkpoint(path.parent),
    "kernels": read_kernels,
    "trace": lambda path: analyze(reference(), [path]),
}


def changed(document, change):
    change(document)
    return json.dumps(document)


FLEET = [
    lambda fleet: fleet.pop("superseded"),
    lambda fleet: fleet.update(verdict="fine"),
    lambda fleet: fleet["groups"][0].pop("model"),
    lambda fleet: fleet["groups"][0].pop("members"),
    lambda fleet: fleet["groups"][0].update(labels=0),
    lambda fleet: fleet["groups"][0]["ceilings"][0].update(highest=None),
    lambda fleet: fleet["groups"][0]["ceilings"][0].update(median=0),
    lambda fleet: fleet["groups"][0]["members"][0].update(verdict="fine"),
    lambda fleet: fleet["groups"][0]["members"][0]["ceilings"][0].update(resource="x"),
]
COMPARISON = [
    lambda compared: compared["devices"][0]["ceilings"][0].update(ratio_low=None),
    lambda compared: compared["devices"][0]["ceilings"][0].update(ratio_low=0),
    lambda compared: compared["devices"][0]["ceilings"][0].update(ratio_low=100.0),
]
WHOLE = {"a": tensor("BF16", 0, 64)}
with tempfile.TemporaryDirectory() as folder:
    EXPORT = export(Path(folder, "a.sqlite"), {"StringIds": [(1, "x" * 9999)]}).read_bytes()
TENSORS = [
    *({"dtype": "BF16"}, 1, tensor("BF16", 9, 3), {**WHOLE["a"], "dtype": 3}),
    {"dtype": "BF16", "data_offsets": [0, 10**400]},
]
TRACES = {
    '{"traceEvents": [{}': "expected , or ] at character 19",
    '{"traceEvents": [{}, tru]}': "Expecting value at character 21",
    '{"traceEvents": [{} {}]}': "expected , or ] at character 20",
    '{"traceEvents": []} x': "expected its end at character 20",
    '{"traceEvents" []}': "expected : at character 15",
    '{"traceEvents": {}}': "it has no traceEvents",
    "{}": "it has no traceEvents",
    "{[]: 1}": "expected a name before it at character 3",
    "{": "Expecting value at character 1",
    '{"traceEvents": [1' + "0" * 5000 + "]}": "holds no GPU kernel",
}
# (reader, name of the file, content, what is wrong)
CASES = [
    *(("page", "f.json", changed(made_fleet(), change), "not what peakline fleet --json prints: ")
      for change in FLEET),
    *(("page", "c.json", changed(compared(), change), "not what peakline compare --json prints: ")
      for change in COMPARISON),
    *(("page", "v.json", json.dumps({**made(), "schema_version": 1}), "expected version 2 of ")
      for made in (made_fleet, compared)),
    *(("weights", "a.safetensors", header(WHOLE)[:cut], "no safetensors file, or cut off")
      for cut in (0, 4, 20)),
    ("weights", "a.safetensors", b"\xff" * 64, "no safetensors file"),
    *(("weights", "a.safetensors", header({"a": bad}), "a tensor has no dtype and data_offsets")
      for bad in TENSORS),
    ("weights", "config.json", "{", "not JSON"),
    *(("kernels", "t.json", text, wrong) for text, wrong in TRACES.items()),
    ("trace", "b.sqlite", b"SQLite format 3\0" + b"x" * 200, "not an export of Nsight Systems"),
    *(("trace", "c.sqlite", EXPORT[:size], f"cut off ({size} of {len(EXPORT)} bytes are there)")
      for size in (4096, len(EXPORT) - 1)),
    ("trace", "c.sqlite", EXPORT[:50], "that is cut off (it has 50 bytes)"),
    ("trace", "e.sqlite", None, "holds nothing that ran on a GPU"),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "name", "content", "wrong"), CASES)
def test_damage_is_said_in_one_line(tmp_path, reader, name, content, wrong):
    path = tmp_path / name
    (tmp_path / "config.json").write_text("{}")
    if content is None:
        export(path, {"StringIds": []})
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=re.escape(wrong)) as caught:
        READERS[reader](path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and message.isprintable() and len(message) < 400


LAST = "kernel whose row is cut off"
TABLE = ncu([*ROWS, {**ROWS[0], "ID": "77", "Kernel Name": LAST}], BASE_UNITS, noise=False)
PAGE = '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n' + "".join(
    f'"{i}","{name}","{metric}","{unit}","{value}"\n'
    for i, name in (("0", "first"), ("77", LAST))
    for metric, unit, value in (
        ("gpu__time_duration.sum", "us", "12.5"),
        ("dram__bytes.sum", "Mbyte", "1,234.5"),
    )
)
CUT = {
    "within a number": TABLE[:-5],
    "after few columns": TABLE[: TABLE.rindex(LAST) + 40],
    "within a name": TABLE[: TABLE.rindex(LAST) + 5],
    "within the ID": TABLE[: TABLE.rindex('"77"') + 2],
    "in a launch of several rows": PAGE[:-4],
    "before the ID of the next launch": PAGE[: PAGE.index(f'"77","{LAST}"') + 5],
    "a plain table": f"name,flop,bytes,seconds\na,1,1,1\n{LAST},2,3",
    "a plain table's name": 'name,flop,bytes,seconds\n"a",1,1,1\n"a,b',
}


@pytest.mark.parametrize("text", CUT.values(), ids=CUT)
@pytest.mark.parametrize("packed", [False, True])
def test_a_table_is_read_to_its_last_whole_row(tmp_path, text, packed):
    path = tmp_path / "kernels.csv"
    whole = text.encode()
    path.write_bytes(gzip.compress(whole)[:-9] if packed else whole)
    found = read_kernels(path)
    # Unpacked, the end of a broken gzip file may lie some bytes earlier.
    said = rf"The file is cut off within line {text.count(chr(10)) + 1}, which is left out\."
    notes = " ".join(found[0].notes)
    assert re.search(said, notes) and ("broken gzip" in notes) == packed
    assert LAST not in [kernel.name for kernel in found]
    before = text[: text.rindex("\n") + 1]
    path.write_text(before)
    others = [kernel for kernel in read_kernels(path) if kernel.name != LAST]
    assert [kernel.name for kernel in found] == [kernel.name for kernel in others]
    assert found[0].seconds == others[0].seconds


@pytest.mark.parametrize("text", [TABLE[:-1], PAGE[:-1], "name,flop,bytes,seconds\na,1,1,1"])
def test_a_last_row_may_lack_its_line_break(tmp_path, text):
    path = tmp_path / "kernels.csv"
    path.write_text(text)
    assert not any(kernel.notes for kernel in read_kernels(path))
