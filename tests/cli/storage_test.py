"""`--storage`: measurements, errors and clean-up."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from program import HOST, PATIENCE_S, PEAKLINE, children_of, measuring, peakline, read, starting

ONE_POINT = r"^host\.storage.*sequential"
SIZE = ("--storage-size", "64MiB", "--storage")
STORAGE = (*HOST, "--filter", ONE_POINT, *SIZE)
SEVERAL = ("run", "--device", "none", "--filter", rf"^host\.fma|{ONE_POINT}", *SIZE)
NOT_MOUNTED = 77


@pytest.fixture
def disk(tmp_path):
    """A folder that must be empty in the end."""
    folder = tmp_path / "disk"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


def title_of(profile):
    (title,) = [c["title"] for c in profile["curves"] if c["topic"] == "storage"]
    return title


def test_reads_are_measured_and_the_file_is_gone(disk, profile):
    every_point = (*HOST, "--filter", "host.storage", *SIZE)
    peakline(*every_point, disk, "-o", profile, "--anonymize", code=0)
    written = read(profile)
    assert {m["id"] for m in written["measurements"]} == {"host.storage.read"}
    for m in written["measurements"]:
        assert m["verified"], m
        assert m["launch"]["engine"] in ("io_uring", "threads")
    facts = written["host"]["storage"]
    assert facts["file_bytes"] == 64 << 20
    assert facts["file_system"]
    assert not facts.keys() & {"path", "source"}
    assert "storage.read" in {c["resource"] for c in written["ceilings"]}
    assert str(disk) not in profile.read_text()


def test_memory_is_called_memory(profile):
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        pytest.skip("no tmpfs to write to")
    peakline(*STORAGE, shared, "-o", profile, code=0)
    assert "memory, not storage" in title_of(read(profile))


@pytest.fixture
def run_on(tmp_path, profile):
    """Runs on a file system mounted for this run, which must be empty in the end."""

    def run(kind, options):
        folder = tmp_path / "mounted"
        for name in ("mounted", "lower", "upper", "work"):
            (tmp_path / name).mkdir()
        script = f"""
            mount -t {kind} -o {options} none "$0" || exit {NOT_MOUNTED}
            "$@"
            code=$?
            [ -z "$(ls -A "$0")" ] || echo "something is left" >&2
            exit $code
        """
        command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, folder]
        result = subprocess.run(
            [*command, PEAKLINE, *STORAGE, folder, "-o", profile],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        if result.returncode == NOT_MOUNTED or result.stderr.startswith("unshare: "):
            pytest.skip(f"{kind} cannot be mounted here: {result.stderr}")
        assert "something is left" not in result.stderr
        return result

    return run


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("ro", "no file can be made there: Read-only file system"),
        ("size=40M", "do not fit into the 40 MiB that are free"),
        ("size=100M,nr_inodes=1", "No space left on device"),
    ],
)
def test_a_disk_that_takes_no_such_file(run_on, profile, options, why):
    result = run_on("tmpfs", options)
    assert result.returncode == 2, result.stderr
    *notes, error = result.stderr.splitlines()
    assert error.startswith("peakline: --storage ")
    assert why in error
    assert len(notes) <= 1  # "writing ..."
    assert not profile.exists()


def test_a_file_system_without_direct_reads(run_on, profile):
    result = run_on("ramfs", "mode=700")
    assert result.returncode == 0, result.stderr
    written = read(profile)
    assert not written["host"]["storage"].get("direct", False)
    for m in written["measurements"]:
        assert "no O_DIRECT" in m["reason"]
    assert title_of(written).startswith("Storage (ramfs) reads at ")
    assert "memory, not storage" in title_of(written)


def test_an_overlay_is_called_one(run_on, profile):
    result = run_on("overlay", "lowerdir=lower,upperdir=upper,workdir=work")
    assert result.returncode == 0, result.stderr
    assert read(profile)["host"]["storage"]["file_system"] == "overlay"
    assert title_of(read(profile)).startswith("Storage (overlay) reads at ")


def test_a_killed_worker_leaves_no_file(disk, profile):
    with measuring(*SEVERAL, disk, "-o", profile) as process:
        for worker in children_of(process.pid):
            os.kill(worker, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3
    assert any("SIGKILL" in m["reason"] for m in read(profile)["measurements"])


def test_a_kill_while_it_is_written_leaves_no_file(disk):
    storage = ("run", "--device", "none", "--storage", disk, "--storage-size", "1GiB")
    with starting(*storage, stdout=subprocess.DEVNULL) as process:
        while "writing" not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(0.1)
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == -signal.SIGKILL
        assert list(disk.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "size", "expected"),
    [
        ("none", "64MiB", "no such directory"),
        ("file", "64MiB", "not a directory"),
        (".", "16TiB", "--storage-size takes less"),
        (".", "1MiB", "expected 64MiB to 16TiB"),
    ],
)
def test_where_there_can_be_no_file(tmp_path, profile, where, size, expected):
    (tmp_path / "file").touch()
    storage = (*STORAGE[:-2], size, "--storage", tmp_path / where)
    result = peakline(*storage, "-o", profile, code=2)
    assert expected in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not profile.exists()
