"""Untrusted files are read up to a limit, in little memory, and refused in one line. A report
overwrites files only if asked to, and names a file that it cannot write."""

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from unittest import mock

import peakline
import pytest
from conftest import ROOT, document_of, loaded
from made_kernels import parse
from peakline.commands.documents import page_of
from peakline.report import build
from peakline.workload import events
from peakline.workload.kernel import WorkloadError
from peakline.workload.read import read_kernels
from test_report import of_a_host

MIB = 1 << 20


def limited(code, *arguments, **limits):
    """Runs Python code with resource limits, such as AS=bytes of memory. Its time is limited as
    seconds of a CPU, which other work on the machine does not use up."""

    def restrict():
        for name, most in {"CPU": 120, **limits}.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))

    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        preexec_fn=restrict,
        env={**os.environ, "PYTHONPATH": str(ROOT / "reports"), "OPENBLAS_NUM_THREADS": "1"},
    )


def bomb(path, head, unit, mebibytes, tail=b""):
    """A gzip file that unpacks to many MiB of one unit; its repeated members are quick to write."""
    member = gzip.compress(unit * (MIB // len(unit)))
    path.write_bytes(gzip.compress(head) + member * mebibytes + gzip.compress(tail))
    return path


# Reads a file with the named function, and prints the error.
READ = """
import sys
from peakline import from_hf_config, load, load_populations
from peakline.commands.documents import page_of
from peakline.workload import kernel, kineto, read
from peakline.workload.read import read_kernels
kineto._MOST_EVENTS = 400_000  # a hundredth, which takes a hundredth of the time
kernel._MOST_LAUNCHES = 25_000
read.MAX_TRACE_BYTES = 512 << 20
readers = dict(hf_config=from_hf_config, kernels=read_kernels, profile=load,
               population=load_populations, fleet=page_of)
try:
    readers[sys.argv[1]](sys.argv[2])
except ValueError as error:
    print(error)
"""
MOST = {
    "fleet": None,
    "hf_config": "16 MiB, the most that is read of a config.json",
    "kernels": "64 MiB, the most that is read of a CSV of kernels",
    "population": "32 MiB, the most that is read of a profile",
    "profile": "32 MiB, the most that is read of a profile",
}


@pytest.mark.parametrize("reader", MOST)
def test_a_file_without_end_is_read_to_the_limit(reader, tmp_path):
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, 1 << 30)
    for path in ("/dev/zero", str(large)):
        done = limited(READ, reader, path, AS=512 * MIB)
        most = MOST[reader]
        # A file that does not begin as a fleet goes to the reader of profiles.
        assert done.stdout == (f"{path}: larger than {most}\n" if most else "")
        assert done.stderr == ""


TRACE = b'{"traceEvents": ['
NCU = b'"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n'


@pytest.mark.parametrize(
    ("reader", "head", "unit", "mebibytes", "message"),
    [
        ("kernels", TRACE, b"{},", 500, "more than 400000 events, the most that are read"),
        ("kernels", b"[", b"[" * 1000, 500, "not a torch.profiler trace: maximum recursion depth"),
        ("kernels", TRACE + b'"', b"x", 500, "not a torch.profiler trace: Unterminated string"),
        ("kernels", b"{", b" ", 600, "larger than 512 MiB, the most that is read of a trace"),
        ("kernels", b"name,flop,bytes,seconds\n", b"k,1,1,1\n", 500, "larger than 64 MiB"),
        ("kernels", NCU, b'"1","k","1"\n', 60, "more than 25000 launches, the most that are read"),
        ("profile", b"[", b"{},", 31, "more than 1048576 objects and lists, the most that are"),
        ("profile", b"[", b"{},", 500, "larger than 32 MiB, the most that is read of a profile"),
        ("population", b"[", b"[],", 31, "more than 1048576 objects and lists, the most that are"),
        (
            "fleet",
            b'{"schema": "peakline-fleet", "groups": [',
            b"{},",
            100,
            "more than 4194304 objects and lists, the most that are read",
        ),
        ("hf_config", b"[", b"{},", 500, "larger than 16 MiB, the most that is read of a config"),
        ("hf_config", b"[", b"{},", 15, "more than 1048576 objects and lists"),
    ],
    ids=lambda value: value.decode()[:12] if isinstance(value, bytes) else None,
)
def test_bombs_are_refused_in_little_memory(tmp_path, reader, head, unit, mebibytes, message):
    path = bomb(tmp_path / "bomb.gz", head, unit, mebibytes)
    assert path.stat().st_size < 4 * MIB
    done = limited(READ, reader, str(path), AS=1024 * MIB)
    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"{path}: ")
    assert message in line


def test_tables_of_too_many_lines(monkeypatch):
    monkeypatch.setattr("peakline.workload.kernel._MOST_LINES", 10)
    monkeypatch.setattr("peakline.workload.kernel._MOST_LAUNCHES", 3)
    details = '"ID","Kernel Name","Metric Name","Metric Value","Metric Unit"\n'
    rows = [f'"{i}","k","gpu__time_duration.sum","1","ns"\n' for i in range(4)]
    assert parse(details + "".join(rows[:3]) + rows[0] * 5)[0].launches == 3
    with pytest.raises(WorkloadError, match="more than 3 launches, the most that are read"):
        parse(details + "".join(rows))
    with pytest.raises(WorkloadError, match="more than 10 lines, the most that are read"):
        parse(details + rows[0] * 10)
    trace = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 5, "args": {}}
    assert parse(json.dumps([trace] * 4))[0].launches == 4  # events do not count as rows
    plain = "name,flop,bytes,seconds\n" + "k,1,1,1\n" * 4
    with pytest.raises(WorkloadError, match="more than 3 launches"):
        parse(plain)


def read_events(file, beside):
    damage = events.Damage()
    found = list(events.trace_events(file, beside, 100, damage))
    assert damage == events.Damage()
    assert [index for index, _ in found] == list(range(len(found)))
    return [event for _, event in found]


def test_a_trace_is_read_event_by_event(tmp_path, monkeypatch):
    """However the text is split into chunks, the events equal those of json.loads."""
    found = {
        "schemaVersion": 1,
        "deviceProperties": [{"name": 'ünïcode ] } \\ " , 😀'}],
        "traceEvents": [{"a": [1, "2.5e-3"]}, 12, "-0.5", "text", None, True, {}, [], [[]]],
        "last": 123456,
    }
    for size in (1, 2, 3, 7, 100):
        monkeypatch.setattr(events, "_CHUNK", size)
        for indent in (None, 1):
            path = tmp_path / "trace.json"
            text = json.dumps(found, indent=indent, ensure_ascii=False)
            path.write_text(
                text.replace('"2.5e-3"', "2.5e-3").replace('"-0.5"', "-0.5"), encoding="utf-8"
            )
            beside = {}
            with open(path, encoding="utf-8") as file:
                assert read_events(file, beside) == found["traceEvents"]
            assert beside == {"deviceProperties": found["deviceProperties"]}
            path.write_text(json.dumps(found["traceEvents"], indent=indent), encoding="utf-8")
            with open(path, encoding="utf-8") as file:
                assert read_events(file, {}) == found["traceEvents"]


READERS = (read_kernels, peakline.load, peakline.from_hf_config, page_of)


@pytest.mark.parametrize("reader", READERS)
def test_broken_inputs_are_one_line(tmp_path, reader):
    path = tmp_path / "x.gz"
    packed = gzip.compress(b"name,flop,bytes,seconds\nk,1,1,1\n" * 1000)
    broken = [packed[:-9], packed[:-9] + b"12345678", packed[:40] + packed[60:], b"\x1f\x8b"]
    if reader is page_of:  # whose head tells that it is another reader's
        del broken[:3]
    if reader is read_kernels:  # reads a table that is cut off to its last row
        del broken[:2]
    for data in broken:
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"^.*x\.gz: a broken gzip file: [^\n]*$"):
            reader(path)
    # A model's folder is read by its config.json.
    folder = "No such file" if reader is peakline.from_hf_config else "Is a directory"
    for other, said in (
        (tmp_path / "none", "none: cannot be read: No such file"),
        (tmp_path, f"cannot be read: {folder}"),
        (Path("a\0b"), "not a file name"),
    ):
        with pytest.raises(ValueError, match=said):
            reader(other)


def test_what_is_shown_of_a_cell_is_short():
    ncu = '"ID","Kernel Name","dram__bytes_read.sum"\n"","","{unit}"\n"1","k","{value}"\n'
    plain = "name,flop,bytes,seconds,precision\nk,{value},1,1,{unit}\n"
    for text in (ncu, plain):
        for cells in ({"unit": "byte", "value": "\x0e" * 999}, {"unit": "W" * 999, "value": "1"}):
            with pytest.raises(WorkloadError) as caught:
                parse(text.format(**cells))
            assert str(caught.value).isprintable()
            assert len(str(caught.value)) < 400


# --- what a report shows and writes ------------------------------------------------------------


@pytest.mark.parametrize("label", ["W" * 30, "same", "W" * 27 + "{:03d}", "l{:03d}" + "i" * 56])
def test_reports_of_any_labels(label):
    document = {**document_of(), "measurements": [], "curves": [], "memory_map": []}
    for index, row in enumerate(document["resources"]):
        row |= {key: label.format(index) for key in ("label", "precision") if key in row}
    profile = loaded(document)
    assert build([profile])
    assert build([profile, profile])


REPORT = "import sys; from peakline.commands.report import main; sys.exit(main(sys.argv[1:]))"


def test_a_file_that_cannot_be_written_is_named(report, write, tmp_path):
    path, out = write(of_a_host()), tmp_path / "out"
    done = limited(REPORT, str(path), "-o", str(out), FSIZE=4096)  # acts like a full disk
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"peakline-report: {out}/report.html cannot be written: File too large\n"
    assert list(out.iterdir()) == []
    (tmp_path / "file").touch()
    for folder, why in (
        (tmp_path / "file", "Not a directory"),
        ("/dev/null", "Not a directory"),
        ("/proc/x", "No such file or directory"),
    ):
        err = report.refused(path, "-o", folder)
        assert err.startswith(f"peakline-report: {folder}")
        assert f"cannot be written: {why}" in err


def test_no_file_is_overwritten_unasked(report, write, tmp_path):
    path, out = write(of_a_host()), tmp_path / "out"
    out.mkdir()
    page = out / "report.html"
    page.write_text("mine", encoding="utf-8")
    with mock.patch("peakline.commands.report.build", side_effect=AssertionError("it drew")):
        assert report.refused(path, "-o", out, "--format", "html,png") == (
            f"peakline-report: {page} already exists and is no unchanged page of these files: give "
            "--overwrite, or another directory by -o\n"
        )
    assert [(p.name, p.read_text()) for p in out.iterdir()] == [("report.html", "mine")]
    report.stdout(path, "-o", out, "--overwrite")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_page_of_the_same_files_is_replaced(report, write, tmp_path):
    path, other, out = write(of_a_host()), write(of_a_host(), "other.json"), tmp_path / "out"
    page = out / "report.html"
    report.stdout(path, "-o", out)
    first = page.read_bytes()
    code, printed, said = report(path, "-o", out)
    assert (code, printed) == (0, f"{page}\n")
    assert said == f"peakline-report: replaced {page}, an earlier report of the same files\n"
    assert page.read_bytes() == first
    # Another input's page, or one that somebody edited, is kept.
    assert "already exists" in report.refused(other, "-o", out)
    for edited in (first + b"mine", first.replace(b"<body", b"<body mine"), b""):
        page.write_bytes(edited)
        assert "already exists" in report.refused(path, "-o", out)
        assert page.read_bytes() == edited
    page.unlink()
    (out / "mine.html").write_bytes(first)
    page.symlink_to("mine.html")
    assert "already exists" in report.refused(path, "-o", out)
