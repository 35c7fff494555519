"""Reports of NVIDIA's tools in their own formats."""

import gzip
import os
import sys
import threading
from collections.abc import Mapping

import pytest
from conftest import RECORDED
from made_traces import export
from peakline.workload.kernel import WorkloadError
from peakline.workload.model import Trace
from peakline.workload.read import read, read_kernels

MADE = {"CUPTI_ACTIVITY_KIND_KERNEL": [(100, 900, 0, 7, 5, 7 << 24, 0, 0, 0)]}


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "kernels.ncu-rep"
    path.write_bytes(gzip.decompress((RECORDED / "kernels.ncu-rep.gz").read_bytes()))
    return path


def test_ncu_report_equals_its_raw_page(report):
    pytest.importorskip("ncu_report", reason="ncu-report is not installed (scripts/test --tools)")
    found, exported = read_kernels(report), read_kernels(RECORDED / "kernels.csv.gz")
    assert [k.name for k in found] == [k.name for k in exported] == ["copies", "fmas"]
    for kernel, other in zip(found, exported, strict=True):
        for field in ("launches", "device", "capability", "unknown"):
            assert getattr(kernel, field) == getattr(other, field), field
        assert kernel.seconds == pytest.approx(other.seconds)
        for of in ("flops", "bytes", "busy", "summaries"):
            values, others = getattr(kernel, of), getattr(other, of)
            assert isinstance(values, Mapping)
            # The page has six digits after the point, of shares in percent too.
            assert values == pytest.approx(others, rel=1e-4, abs=1e-11), of
    # Launches read and write 256 MiB each, by the kernel's own loop.
    assert found[0].bytes["hbm.read"] == pytest.approx(2 * 2**28, rel=0.001)
    assert found[1].flops["cuda_core.fp32"] == 2 * 1056 * 256 * (20000 * 4 + 2)


def test_without_the_package_the_extra_is_named(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(WorkloadError, match=r"pip install 'peakline\[ncu\]'.*--import kernels.ncu"):
        read(report)


# What NVIDIA's package makes of a report that was cut: parts that answer with nothing.
DAMAGED = """
class Damaged:
    NameBase_DEMANGLED = 0

    def __init__(self, name, value):
        self.called, self.value = name, value

    def __getattr__(self, name):
        answers = {
            "num_ranges": 1, "num_actions": 1, "metric_names": ("gpu__time_duration.sum",),
            "name": self.called, "has_value": True, "kind": 9, "as_double": self.value,
            "unit": "ns",
        }
        return lambda *_: answers.get(name, self)
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return Damaged(None, 5.0)", "a damaged one: a kernel without a name"),
        ("return Damaged('k', -5.0)", "gpu__time_duration.sum is -5, but a count cannot be"),
        ("return Damaged('k', 1e300)", "gpu__time_duration.sum is 1e+300 ns"),
        ("pass", "a damaged one: 'NoneType'"),
        ("import os; print('log'); os.abort()", "a damaged one: Aborted"),
        ("raise RuntimeError('cut \\x1b[2J')", "a damaged one: cut \ufffd[2J"),
    ],
)
def test_a_damaged_report_of_ncu_is_refused(report, tmp_path, monkeypatch, body, said):
    (tmp_path / "ncu_report.py").write_text(f"{DAMAGED}\ndef load_report(path):\n    {body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(WorkloadError) as caught:
        read(report)
    assert said in str(caught.value)


def test_no_cut_of_a_report_ends_the_process(report):
    pytest.importorskip("ncu_report", reason="ncu-report is not installed (scripts/test --tools)")
    whole = report.read_bytes()
    for part in range(1, 8):
        report.write_bytes(whole[: len(whole) * part // 8])
        with pytest.raises(WorkloadError, match=str(report)):
            read(report)


@pytest.mark.parametrize("content", [b"\x28\xb5\x2f\xfd" + b"\0" * 40, b"NVR\0" + b"\0" * 40, b""])
def test_a_ncu_repz_is_left_to_the_package(tmp_path, monkeypatch, content):
    """Without it the report is refused by name; newer versions unpack it."""
    path = tmp_path / "k.ncu-repz"
    path.write_bytes(content)
    asked = []
    monkeypatch.setattr("peakline.workload.ncu._reported", lambda name: asked.append(name) or ())
    for found, said in ((None, "k.ncu-repz --csv --page raw"), (1, "without a kernel")):
        monkeypatch.setattr("importlib.util.find_spec", lambda _, found=found: found)
        with pytest.raises(WorkloadError, match=said):
            read_kernels(path)
    assert asked == [str(path)]


def test_a_packed_report_is_to_be_unpacked():
    with pytest.raises(WorkloadError, match="unpack it first"):
        read(RECORDED / "kernels.ncu-rep.gz")


def test_a_report_from_a_pipe_is_refused(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[b"SQLite format 3\0"])
    writer.start()
    with pytest.raises(WorkloadError, match="pipe: not a regular file"):
        read(path)
    writer.join()


@pytest.fixture
def systems(tmp_path):
    path = tmp_path / "run.nsys-rep"
    path.write_bytes(b"a format of its own\0")
    return path


def fake_nsys(folder, script, monkeypatch):
    """Puts an `nsys` on PATH that does what the script says."""
    folder.mkdir()
    program = folder / "nsys"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_nsight_report_is_exported_by_nsys(systems, tmp_path, monkeypatch):
    made = export(tmp_path / "made.sqlite", MADE)
    script = f'[ "$1 $2 $3 $4 $6" = "export --type sqlite --output {systems}" ] && cp {made} "$5"'
    fake_nsys(tmp_path / "bin", script, monkeypatch)
    found = read(systems)
    assert isinstance(found, Trace)
    assert (len(found.activities), found.name) == (1, str(systems))


def test_an_export_that_fails_says_why(systems, tmp_path, monkeypatch):
    fake_nsys(tmp_path / "bin", "echo 'The file is of a newer version.' >&2; exit 1", monkeypatch)
    with pytest.raises(WorkloadError, match=r"nsys export failed: The file is of a newer version"):
        read(systems)


def test_without_nsys_the_command_is_named(systems, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(WorkloadError, match=r"nsys export --type sqlite run\.nsys-rep"):
        read(systems)
