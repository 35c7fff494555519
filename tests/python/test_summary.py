"""The summary at the end of scripts/test."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

JUNIT = """<testsuite>
<testcase name="Team.Times" status="run"/>
<testcase name="cli.watchers" status="run"><system-out>..s
SKIPPED [1] ../watchers_test.py:89: no promtool
</system-out></testcase>
<testcase name="cli.Faults" status="fail"><failure message=""/></testcase>
<testcase name="cli.Gpus" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
</testsuite>"""

PRINTED = """\
2/3 Test #7: Team.Times .......***Failed    0.50 sec
3/3 Test #8: cli.Faults .......***Timeout 300.00 sec
1/3 Test #9: cli.Gpus .........***Skipped   0.10 sec
    Test #7: Team.Times .......   Passed    0.40 sec
    Test #8: cli.Faults .......***Failed    0.40 sec
"""


def summary(folder, *results):
    (folder / "results.tsv").write_text("".join(f"{line}\n" for line in results))
    command = [sys.executable, str(ROOT / "tests/summary.py"), str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return result.returncode, result.stdout


def test_retried_tests_are_named(tmp_path):
    (tmp_path / "cpu.xml").write_text(JUNIT)
    (tmp_path / "cpu.txt").write_text(PRINTED)
    code, out = summary(tmp_path, "cpu\tfailed\t9\t\t1")
    assert code == 1
    assert "failed   cpu: cli.Faults\n" in out
    assert "repeated cpu: Team.Times\n" in out
    assert out.count("repeated") == 1
    assert "skipped  cpu: 1 of cli.watchers: no promtool\n" in out
    assert out.endswith("\n2 passed, 1 failed, 1 skipped\n")


def test_a_check_that_fails_is_named(tmp_path):
    code, out = summary(tmp_path, "mypy\tfailed\t9\t\t1", "wheel\tskipped\t0\tno pip\t1")
    assert code == 1
    assert "failed   mypy\n" in out
    assert "skipped  wheel: no pip\n" in out


def test_skips_of_one_reason_share_a_line(tmp_path):
    def case(name, why):
        return f'<testcase name="{name}"><skipped message="{why}"/></testcase>'

    cases = case("a", "no GPU") + case("b", "no network") + case("c", "no GPU")
    # pytest has it so where a whole file is skipped.
    whole = "<skipped message=\"collection skipped\">('x.py', 18, 'Skipped: no network')</skipped>"
    cases += f'<testcase name="x">{whole}</testcase>'
    (tmp_path / "python.xml").write_text(f"<testsuite>{cases}</testsuite>")
    code, out = summary(tmp_path, "python\tpassed\t9\t\t1")
    assert code == 0
    assert "skipped  python: a and 1 more: no GPU\n" in out
    assert "skipped  python: b and 1 more: no network\n" in out
    assert out.endswith("\n0 passed, 0 failed, 4 skipped\n")
