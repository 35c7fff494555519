"""Mutated exports, profiles and configs: each reader takes them or says in one line why not."""

import sys

import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(ROOT / "tests/fuzz"))

from python_readers import READERS, check

PIECES = [b"", b"0", b"-1", b"1e999", b"9" * 400, b"1e-320", b"1,5", b"1.234.567", b"n/a", b"NaN"]
PIECES += [b"{", b"}", b"[", b"]", b'"', b",", b":", b";", b"\n", b"\r", b"\t", b" " * 70]
PIECES += [b"null", b"true", b"[]", b"{}", b'""', b"\0", b"\xff", b"\x1b[2J", b"\\ud800"]
PIECES.append(b"\xe2\x80\xa8")
# (place, bytes that go, what comes in their stead: a piece, or so many bytes of another place)
EDITS = st.tuples(
    st.integers(0, 1 << 16),
    st.integers(0, 60),
    st.sampled_from(PIECES) | st.binary(max_size=6) | st.integers(0, 1 << 16),
)


def edited(data, edits):
    for place, removed, new in edits:
        at = place % (len(data) + 1)
        if isinstance(new, int):
            start = new % (len(data) + 1)
            new = data[start : start + removed + 20]
        data = data[:at] + new + data[at + removed :]
    return data


@pytest.mark.parametrize("name", READERS)
def test_seeds_are_taken(name, tmp_path):
    seeds = READERS[name].seeds()
    assert seeds
    assert all(check(READERS[name], seed, tmp_path / "seed") for seed in seeds)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_load_or_give_one_error(name, tmp_path):
    reader = READERS[name]

    @settings(
        max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )
    @given(st.sampled_from(reader.seeds()), st.lists(EDITS, min_size=1, max_size=6))
    def examine(seed, edits):
        check(reader, edited(seed, edits), tmp_path / "input")

    examine()
