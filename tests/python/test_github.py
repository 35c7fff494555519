"""What GitHub reads, against its own schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

KINDS = {"workflows": "vendor.github-workflows", "ISSUE_TEMPLATE": "vendor.github-issue-forms"}


def check(folder: str, files: list[Path]) -> subprocess.CompletedProcess[str]:
    command = ["check_jsonschema", "--builtin-schema", KINDS[folder], *map(str, files)]
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("folder", KINDS)
def test_its_files_follow_the_schema(folder: str, tmp_path: Path) -> None:
    files = sorted((ROOT / ".github" / folder).iterdir())
    assert files
    done = check(folder, files)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / "broken.yml"
    broken.write_text(files[0].read_text().replace("name: ", "names: "))
    assert check(folder, [broken]).returncode == 1
