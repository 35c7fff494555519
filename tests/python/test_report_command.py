"""peakline-report and the other commands: files, formats, errors, interrupts."""

import errno
import gzip
import json
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import peakline
import pytest
from conftest import CAUSES, CONFIGS, ROOT, document_of, loaded, only, scaled
from made_traces import Made
from peakline.report import build, compared, write
from test_report import of_a_host


def test_several_profiles(report, write, tmp_path):
    one = write(only(document_of()), "one.json")
    two = write(scaled(only(document_of()), 0.9, "tensor."), "two.json")
    out = tmp_path / "out"
    report.stdout(one, two, "-o", out, "--format", "html,png")
    text = (out / "report.html").read_text(encoding="utf-8")
    # A failure is named where the program is installed, which judges it.
    assert re.search(r"two( \(FAIL\))? / one", text) and "0.900" in text
    assert 'data-picture="rooflines"' in text
    assert sorted(p.name for p in out.iterdir()) == ["ceilings.png", "report.html", "rooflines.png"]
    assert build([peakline.load(one), loaded(of_a_host())])
    names = [name for name, _, _ in compared([peakline.load(one), peakline.load(one)])]
    assert len(set(names)) == 2


FORMATS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_formats(report, write, document, tmp_path):
    out = tmp_path / "out"
    path = write({**only(document, "hbm."), "rooflines": []})
    report.stdout(path, "-o", out, "--format", ",".join(FORMATS))
    keys = ["factors", "ceilings", "hbm"]
    assert {p.name for p in out.iterdir()} == {f"{k}.{form}" for k in keys for form in FORMATS}
    for file in out.iterdir():
        assert file.read_bytes().startswith(FORMATS[file.suffix[1:]])
        assert file.stat().st_mode & 0o444


REFUSED = [
    ("bad.json", "not valid JSON"),
    ("none.json", "cannot be read"),
    ("{host} --format gif", "'gif'"),
    ("{host} --device 0", "--device only goes with --kernels, --trace, "),
    ("{host} --json", "--json only goes with --kernels, --trace, "),
    ("{host} {host} --kernels x", "--kernels needs exactly one PROFILE"),
    ("{host} --kernels none.csv", "cannot be read"),
    ("{host} --kernels k.csv --json", "--json draws nothing"),
    ("{host} --kernels k.csv --fail-on idle>5%", "only goes with --trace"),
    ("{host} --fail-on impossible", "--fail-on only goes with --kernels or --trace"),
    ("{host} --fail-on slow", "'slow': use a part of the step and a share"),
    ("{host} --range step", "--range only goes with --trace"),
    ("{host} {host} --trace {item}", "--trace needs exactly one PROFILE"),
    ("{host} --trace {item} --kernels {item}", "use one of both"),
    ("{host} --trace {item} --step-flop 1e12", "--step-flop and --dtype only go together"),
    ("{host} --trace {item} --step-flop 0 --dtype bf16", "not a number above 0"),
    ("{host} --trace {item} --fail-on sleep>5%", "use a part of the step and a share"),
    ("{gpu} --trace no.json", "no.json: cannot be read"),
    ("{gpu} --trace {item} --range prefill", "no range 'prefill'; it has ProfilerStep"),
    ("{gpu} --trace {item} --device host", "a trace needs the profile of a GPU"),
    ("{gpu} --trace {item} --step-flop 1e15 --dtype bf16", "--step-flop: MFU of"),
    ("{gpu} --trace {item} --step-flop 1e12 --dtype foo", "--dtype: unknown precision 'foo'"),
    ("{gpu} --trace no_steps.json --step-flop 1e12 --dtype bf16", "no steps are marked in no_st"),
    ("{host} --against {item}", "--against only goes with --trace"),
    ("{gpu} --trace {item} --against no.json", "no.json: cannot be read"),
    ("{host} --trace {item} --against x --fail-on idle>1%", "use --fail-on 'slower>5%'"),
    ("{host} --trace {item} --fail-on slower>1%", "only goes with --against"),
    ("{host} --trace {item} --against x --step-flop 1e12 --dtype bf16", "is about one run"),
    ("{host} --bytes-per-sample 1kB", "only go together"),
    ("{host} --bytes-per-sample '1 kb' --samples-per-s 1", "'1 kb' is not a size above 0"),
    ("{host} --bytes-per-sample 1 --samples-per-s -3", "is not a number above 0"),
    ("{host} --bytes-per-sample 1e200 --samples-per-s 1", "must be a number above 0"),
    ("{host} {host} {need}", "--bytes-per-sample needs exactly one PROFILE"),
    ("{host} {need} --fail-on impossible", "--fail-on only goes with --kernels or --trace"),
    ("{host} {need} --kernels k.csv --json", "--json prints one document"),
    ("{gpu} {need} --device H100", "no device 'H100'"),
    ("{host} {host} --hf-config {llama}", "--hf-config needs exactly one PROFILE"),
    ("{host} --hf-config {llama} --json", "peakline-llm --json prints its document"),
    ("{host} --hf-config none.json", "none.json: cannot be read"),
    ("{gpu} --hf-config {llama} --device H100", "no device 'H100'"),
    ("{gpu} --hf-config {llama} --device host", "bounded on a GPU, and the host was chosen"),
    (
        "{host} --hf-config {llama}",
        "host.json: a model is bounded on a GPU, and the profile has none",
    ),
    (
        "{gpu} --hf-config Qwen/Qwen3-8B",
        "config.json must be a local file, such as hf download Qwen",
    ),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_refusals_leave_nothing_behind(report, write, ceilings_path, monkeypatch, words, message):
    named = {"host": "host.json", "gpu": ceilings_path, "item": CAUSES / "item.json.gz"}
    named |= {"llama": CONFIGS / "llama-3-8b.json"}
    named["need"] = "--bytes-per-sample 600kB --samples-per-s 9000"
    monkeypatch.chdir(write(of_a_host(), "host.json").parent)
    Path("bad.json").write_text("{")
    made = Made()
    made.kernel(0, 6000)
    made.write(Path("no_steps.json"))
    assert message in report.refused(*shlex.split(words.format_map(named)), "-o", "out")
    assert not Path("out").exists()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    write({"a.txt": b"old"}, tmp_path)

    def fail(*_):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("peakline.report.os.replace", fail)
    with pytest.raises(OSError, match="no space"):
        write({"a.txt": b"new"}, tmp_path, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["node7.json", "node7.json.gz"])
def test_default_place_is_beside_the_profile(report, tmp_path, name):
    path, data = tmp_path / name, json.dumps(of_a_host()).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    report.stdout(path)
    # By default only the page is written.
    (page,) = (tmp_path / "node7").iterdir()
    assert page.name == "report.html"
    assert page.read_bytes().startswith(b"<!doctype html>")
    assert page.stat().st_mode & 0o444


def test_missing_matplotlib_says_what_to_install(ceilings_path, tmp_path):
    code = (
        "import sys, importlib.util; find = importlib.util.find_spec;"
        "importlib.util.find_spec = lambda n, *a: None if n == 'matplotlib' else find(n, *a);"
        "from peakline.commands.report import main; sys.exit(main(sys.argv[1:]))"
    )
    process = started("-c", code, ceilings_path, "-o", str(tmp_path / "out"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "pip install matplotlib" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        ([], 2, "python -m peakline --help"),
        (["--help"], 0, "usage"),
        (["show"], 2, "show: not a command (see"),
        (["reprot"], 2, "did you mean report?"),
        (["report", "--formt", "png"], 2, "did you mean --format? (see peakline-report --help)"),
        (["mfu", "--dtpye=bf16"], 2, "did you mean --dtype? (see peakline-mfu --help)"),
        (["mfu", "export", "--fro", "x"], 2, "(see peakline-mfu export --help)"),
        (["report"], 2, "required: PROFILE (see peakline-report --help)"),
        (["report", "--help"], 0, "peakline-report"),
        (["mfu", "--help"], 0, "peakline-mfu"),
        (["llm", "--batcj=1"], 2, "did you mean --batch? (see peakline-llm --help)"),
        (["llm", "--help"], 0, "peakline-llm"),
    ],
)
def test_module_entry_point(capsys, monkeypatch, arguments, code, part):
    monkeypatch.setattr(sys, "argv", ["peakline", *arguments])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("peakline", run_name="__main__")
    assert stop.value.code == code
    assert part in "".join(capsys.readouterr())


def started(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT / "reports",
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["mfu", "export", "--for", "json", "--dtype", "bf16", "--profile"],
        ["mfu", "--dtype=bf16", "--tokens-per-second=9", "--flops-per-token=9", "--profile"],
        ["report", "--overwrite", "-o", "{out}"],
        ["report", "--help"],
    ],
    ids=["export", "mfu", "report", "help"],
)
def test_an_output_that_takes_no_more(write, document, tmp_path, arguments):
    path = str(write({**only(document), "rooflines": []}))
    arguments = ["-m", "peakline", *(a.format(out=tmp_path / "out") for a in arguments), path]
    with open("/dev/full", "w") as full:
        process = started(*arguments, stdout=full)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == "peakline: cannot write to standard output: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    process = started(*arguments, stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGPIPE, "")


@pytest.mark.parametrize("options", [["--kernels"], ["--json", "--trace"]])
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_any_encoding_and_pipe_will_do(write, document, tmp_path, options, encoding):
    """Neither encodings nor a path that is not UTF-8 change the exit code."""
    profile = write(only(document), "a\udcff.json")
    made = Made()
    made.kernel(0, 10, 0, "kernel of 5 µs … and more" * 9)
    trace = made.write(tmp_path / "t\udcff.json")
    arguments = ["-m", "peakline", "report", profile, *options, trace]
    arguments += [] if "--json" in options else ["-o", tmp_path / "o\udcff", "--format=svg"]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    process = started(*arguments, env=environment, stdout=subprocess.PIPE, encoding=encoding)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "") and out
    # A closed pipe ends it as `peakline show`, when the report is written.
    shutil.rmtree(tmp_path / "o\udcff", ignore_errors=True)
    reader, writer = os.pipe()
    os.close(reader)
    process = started(*arguments, "--fail-on=impossible", stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGPIPE, "")
    assert "--json" in options or any((tmp_path / "o\udcff").iterdir())


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("report", ["n.json", "-o", ""]),
        ("report", ["n.json", "--trace", ""]),
        ("report", ["n.json", "--kernels="]),
        ("report", ["n.json", "--hf-config", ""]),
        ("llm", ["--profile=n.json", "--hf-config=c.json", "-o", ""]),
        ("mfu", ["--profile", "", "--dtype=bf16", "--tokens-per-second=9"]),
        ("mfu", ["--profile=n.json", "--hf-config=", "--dtype=bf16", "--tokens-per-second=9"]),
        ("mfu", ["export", "--for=json", "--profile=", "--dtype=bf16"]),
    ],
)
def test_empty_names_are_refused(request, command, options):
    run = request.getfixturevalue(command)
    assert "'' is not a name of a file or a folder" in run.refused(*options)


def test_the_shell_of_a_notebook_may_run_it(write, tmp_path):
    environment = {"MPLBACKEND": "module://matplotlib_inline.backend_that_is_not_here"}
    arguments = ["-m", "peakline", "report", str(write(of_a_host())), "-o", str(tmp_path / "out")]
    process = started(*arguments, env=os.environ | environment)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_ctrl_c_says_nothing(tmp_path):
    # The command blocks on a FIFO without a writer, so that the interrupt hits it there.
    path = tmp_path / "profile.json"
    os.mkfifo(path)
    process = started("-m", "peakline", "report", str(path), stdout=subprocess.PIPE)
    with open(path, "w"):  # waits for the command to open it
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize("name", ["report", "mfu", "llm"])
def test_every_command_is_guarded(monkeypatch, name):
    scripts = re.findall(
        rf'^peakline-{name} = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M
    )
    monkeypatch.setattr(f"peakline.commands.{name}.main", mock.Mock(side_effect=KeyboardInterrupt))
    assert [pkgutil.resolve_name(script)() for script in scripts] == [130]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("a\x1b[2J"), "KeyError: 'a\\x1b[2J' ("),
        (ValueError("b\x1b\nc"), "ValueError: b\ufffd\ufffdc ("),
        (RecursionError("deep"), "RecursionError: deep ("),
    ],
)
def test_a_defect_is_no_finding(capsys, monkeypatch, error, said):
    llm = pkgutil.resolve_name("peakline.__main__:llm")
    monkeypatch.setattr("peakline.commands.llm.main", mock.Mock(side_effect=error))
    assert llm() == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"peakline: a defect of peakline, please report it: {said}")
    monkeypatch.setenv("PEAKLINE_TRACEBACK", "1")
    assert llm() == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_unforeseen_file_is_named(capsys, monkeypatch):
    error = PermissionError(errno.EACCES, "Permission denied", "/a\x1bb")
    monkeypatch.setattr("peakline.commands.llm.main", mock.Mock(side_effect=error))
    assert pkgutil.resolve_name("peakline.__main__:llm")() == 2
    assert capsys.readouterr().err == "peakline: /a\ufffdb: Permission denied\n"
