"""What GitHub reads, against its own schemas."""

import os
import re
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT

# Schemas, and a word without which a file does not follow them.
KINDS = {
    ".github/workflows/*.yml": ("vendor.github-workflows", "name: "),
    ".github/ISSUE_TEMPLATE/*.yml": ("vendor.github-issue-forms", "name: "),
    ".github/dependabot.yml": ("vendor.dependabot", "updates:"),
    "CITATION.cff": ("vendor.citation-file-format", "title:"),
}
WORKFLOWS = sorted((ROOT / ".github/workflows").iterdir())


def check(kind, files):
    command = ["check_jsonschema", "--builtin-schema", KINDS[kind][0], *map(str, files)]
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("kind", KINDS)
def test_its_files_follow_the_schema(kind, tmp_path):
    files = sorted(ROOT.glob(kind))
    assert files
    done = check(kind, files)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / "broken.yml"
    broken.write_text(files[0].read_text().replace(KINDS[kind][1], "nonsense: ", 1))
    assert check(kind, [broken]).returncode == 1


def test_all_its_files_are_checked():
    checked = {file for kind in KINDS for file in ROOT.glob(kind)}
    assert checked >= set((ROOT / ".github").rglob("*.yml"))


def steps(workflow):
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(workflow):
    used = re.findall(r"uses: (.*)", workflow.read_text())
    assert len(used) == sum("uses" in step for step in steps(workflow))
    pinned = re.compile(r"[a-z]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [action for action in used if not pinned.fullmatch(action)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_of_workflows_can_run(workflow):
    code = "\n".join(step.get("run", "") for step in steps(workflow))
    scripts = re.findall(r"scripts/[\w/.]+", code)
    assert scripts
    assert [script for script in scripts if not os.access(ROOT / script, os.X_OK)] == []


def test_the_image_is_pinned():
    dockerfile = (ROOT / "scripts/kubernetes/Dockerfile").read_text()
    assert re.search(r"(?m)^FROM python:3\.\d+-slim@sha256:[0-9a-f]{64}$", dockerfile)
    for library in ("nvidia-cublas", "nvidia-nccl-cu13"):
        assert re.search(rf"{library}==\d+(\.\d+)+[ \n]", dockerfile)
