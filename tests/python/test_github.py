"""What GitHub reads, against its own schemas."""

import subprocess
import sys

import pytest
from conftest import ROOT

KINDS = {"workflows": "vendor.github-workflows", "ISSUE_TEMPLATE": "vendor.github-issue-forms"}


def check(folder, files):
    command = ["check_jsonschema", "--builtin-schema", KINDS[folder], *map(str, files)]
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("folder", KINDS)
def test_its_files_follow_the_schema(folder, tmp_path):
    files = sorted((ROOT / ".github" / folder).iterdir())
    assert files
    done = check(folder, files)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / "broken.yml"
    broken.write_text(files[0].read_text().replace("name: ", "names: "))
    assert check(folder, [broken]).returncode == 1
