"""No fault of hundreds passes, and no healthy change fails."""

import sys

from program import SOURCE

sys.path.insert(0, str(SOURCE / "tests/fuzz"))

from mutate_profiles import check_mutants, compare_mutants, mutants


def test_check_reaches_the_right_verdicts(tmp_path):
    assert check_mutants(list(mutants(250, seed=1)), tmp_path) == []


def test_compare_reaches_the_right_verdicts(tmp_path):
    assert compare_mutants(list(mutants(50, seed=2)), tmp_path) == []
