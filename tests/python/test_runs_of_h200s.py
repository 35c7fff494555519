"""The runs that the promises are tested with; the reference profile is one of them."""

import csv
import runpy

from conftest import ROOT

SCRIPT = ROOT / "tests" / "unit" / "runs_of_h200s.py"
REFERENCE = ROOT / "tests" / "golden" / "nvidia-h200.json"


def test_the_reference_profile_is_among_them():
    with SCRIPT.with_suffix(".csv").open() as file:
        known = {tuple(row[1:]) for row in csv.reader(file) if not row[0].startswith("#")}
    found = [tuple(row[1:]) for row in runpy.run_path(str(SCRIPT))["rows"]("x", [str(REFERENCE)])]
    assert len(found) == 47
    assert set(found) <= known


def test_kind_is_as_far_apart_as_worst_ceiling(tmp_path):
    module = runpy.run_path(str(SCRIPT))
    file = tmp_path / "runs.csv"
    file.write_text(
        "# a comment\n"
        "a,full,1,hbm.read,measured,100,0,0\na,full,2,hbm.read,measured,102,0,0\n"
        "a,full,1,hbm.write,measured,100,0,0\na,full,2,hbm.write,measured,101,0,0\n"
        "b,full,1,hbm.read,measured,200,0,0\nb,full,2,hbm.read,measured,208,0,0\n"
        "b,quick,1,tensor.bf16,burst,10,0,0\nb,quick,2,tensor.bf16,burst,10,0,0\n"
    )
    module["table"].__globals__["FILE"] = file
    assert list(module["table"]("a"))[2:] == [
        "| device memory | 1.98 % |  | 3.92 % |  |",
        "| products from rest |  |  |  | 0.00 % |",
    ]
