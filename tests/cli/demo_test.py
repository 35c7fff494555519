"""What `peakline demo` writes; the commands of README.md run on it in readmes_test.py."""

import functools
import os
import re
import resource
import shlex
import shutil
import subprocess

import pytest
from program import PEAKLINE, of_package, peakline, refused, stdout_of


def command_lines(text):
    return [line.strip() for line in text.splitlines() if line.startswith("  peakline")]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder with the files, and what the command printed."""
    folder = tmp_path_factory.mktemp("demo") / "try"
    return folder, stdout_of("demo", folder)


def test_every_file_is_listed_and_tried(demo):
    folder, text = demo
    assert (folder / "README.txt").read_text() == text
    listed = text.split("\n\n")[1]
    tried = shlex.split(" ".join(command_lines(text)))
    for file in folder.iterdir():
        assert not file.is_symlink()
        name = f"{file.name}/" if file.is_dir() else file.name
        assert file.name == "README.txt" or (name in listed and name in tried), name
    assert list(folder.parent.iterdir()) == [folder]


def test_every_command_that_it_prints_runs(demo, subtests):
    pytest.importorskip("matplotlib")
    folder, text = demo
    lines = command_lines(text)
    assert len(lines) > 10
    for line in lines:
        with subtests.test(line):
            command, *arguments = shlex.split(line)
            run = peakline if command == "peakline" else of_package(command)
            done = run(*arguments, cwd=folder)
            # Some machines do not meet the site's own limit.
            assert done.returncode == (1 if "--rules" in arguments else 0), done.stderr
            assert done.stdout


def test_the_fleet_is_as_described(demo):
    folder, text = demo
    assert "seven machines with five H100s and three H200s" in text
    shown = stdout_of("fleet", "profiles/", cwd=folder)
    assert shown.startswith(
        "FAIL  node6 gpu0 (H200): HBM triad (2 reads + write) 43.5 % below healthy"
    )
    assert shown.partition("\n")[0].endswith("; the other 7 GPUs pass")
    for line in (
        "H100 80GB HBM3 · quick runs · 5 GPUs, all fine",
        "H200 · quick runs · 3 GPUs, 1 not fine",
    ):
        assert f"\nNVIDIA {line}" in shown
    assert "\n7 profiles: 8 GPUs, links of 1 machine, 7 hosts." in shown


def test_what_changed_since_before_is_found(demo):
    folder, _ = demo
    changed = stdout_of("compare", "before/", "--", "profiles/", cwd=folder)
    slower = "SLOWER  1 of 7 cards compared: node6 gpu0 (launch round trip takes 150 x as long, "
    assert changed.startswith(slower)
    assert "only in new: node9 gpu0" in changed


def test_a_machine_that_fails_is_named(demo):
    folder, _ = demo
    arguments = ("check", "profiles/", "--rules", "rules.toml")
    failed = stdout_of(*arguments, code=1, cwd=folder)
    assert failed.startswith("FAIL  node6 gpu0 (H200): HBM triad (2 reads + write) 43.5 % below ")
    others = "; 2 more GPUs fail: node3 gpu0, node4 gpu0; 5 of 7 other GPUs pass"
    assert failed.partition("\n")[0].endswith(others)
    verdicts = re.findall(r"^(\w+)  profiles/(node\d)\.json$", failed, re.M)
    assert [name for word, name in verdicts if word == "FAIL"] == ["node3", "node4", "node6"]
    assert len(verdicts) == 7
    sites = [name for name in re.findall(r"^  fail  (\S+)", failed, re.M) if "pcie" in name]
    assert sites == ["gpu0/pcie.bidirectional/measured"] * 2
    assert "limit 90.0 GB/s by the rules: checkpoints are written" in " ".join(failed.split())


@pytest.mark.parametrize("name", [".", "empty", "empty/", "new", "new/", "link"])
def test_a_new_or_empty_folder_is_filled(tmp_path, name):
    start = tmp_path / "start"
    (start / "empty").mkdir(parents=True)
    (start / "link").symlink_to("empty")
    if name == ".":
        start = start / "empty"
    stdout_of("demo", name, cwd=start)
    assert (start / name / "profiles/node1.json").is_file()


def test_a_disk_that_is_full_leaves_nothing(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))
    # A build that counts coverage cannot write its counts either, and would say so.
    quiet = os.environ | {"GCOV_ERROR_FILE": os.devnull}
    for name in ("empty", "new"):
        refused("demo", name, words=["demo", name], cwd=tmp_path, preexec_fn=limit, env=quiet)
    assert list(tmp_path.rglob("*")) == [folder]


def test_nothing_is_overwritten(tmp_path):
    folder, file, link = tmp_path / "mine", tmp_path / "file", tmp_path / "link"
    folder.mkdir()
    (folder / "node7.json").write_text("mine")
    file.write_text("mine")
    link.symlink_to(folder)
    before = sorted(tmp_path.rglob("*"))
    for name in ("mine", "file", "link", "no/such/parent", "", "."):
        refused("demo", name, words=["demo", name], cwd=tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    assert (folder / "node7.json").read_text() == "mine"


def test_a_program_without_its_files_says_so(tmp_path):
    program = tmp_path / "bin/peakline"
    program.parent.mkdir()
    shutil.copy(PEAKLINE, program)
    done = subprocess.run([program, "demo", tmp_path / "try"], capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{tmp_path}/share/peakline/demo" in done.stderr
    assert not (tmp_path / "try").exists()


@pytest.mark.parametrize(
    ("topic", "marked"),
    [
        ("ridge", "  HBM read FAIL  "),
        ("bandwidth", "  HBM read FAIL  "),
        ("graph", "other processes used the GPU meanwhile."),
    ],
)
def test_topics_of_a_slow_card_are_marked(demo, topic, marked):
    folder, _ = demo
    shown = stdout_of("show", "profiles/node6.json", "--topic", topic, cwd=folder)
    assert marked in " ".join(shown.split()) or marked in shown
