"""The scripts and their set-up, on a simulated machine: no package, compiler or network."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT

# Every Debian and Ubuntu has these.
TOOLS = [
    *("awk", "bash", "cat", "chmod", "cmp", "dirname", "env", "grep", "ln", "mkdir", "mktemp"),
    *("mv", "paste", "readlink", "rm", "sed", "sleep", "sort", "tail", "tee", "touch", "uname"),
]
WORKING = {
    "c++": "",
    "ninja": "",
    "pkg-config": "",
    "sudo": '[[ $1 != -n ]] || shift; exec "$@"',
    "python3": "",
    # A build makes a program that records its arguments and writes a profile.
    "cmake": r"""
        case $1 in
          --version) echo cmake version 3.25.1 ;;
          --build)
            mkdir -p "$2/bench"
            printf '%s\n' '#!/bin/bash' 'echo "peakline $*" >>"$NOTES"' \
              'touch measured.json' 'echo "profile: measured.json"' >"$2/bench/peakline"
            chmod +x "$2/bench/peakline" ;;
          *) mkdir -p build/release ;;
        esac""",
}
NO_NETWORK = "echo 'E: Failed to fetch x  Temporary failure resolving' >&2; exit 100"


class Machine:
    """A copy of the scripts, with commands that record their calls."""

    def __init__(self, folder):
        self.root = folder / "peakline"
        self.notes = folder / "notes"
        self.commands = folder / "bin"
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        for file in ("CMakePresets.json", "pyproject.toml"):
            shutil.copy(ROOT / file, self.root / file)
        self.commands.mkdir()
        for tool in TOOLS:
            path = shutil.which(tool)
            assert path, tool
            (self.commands / tool).symlink_to(path)
        for name, body in WORKING.items():
            self.command(self.commands / name, body)
        for name in ("pip", "python"):
            self.command(self.root / ".venv/bin" / name, "")

    def command(self, file, body):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/bash\necho "{file.name} $*" >>"$NOTES"\n{body}\n')
        file.chmod(0o755)

    def start(self, *arguments, script="run", cwd=None, **variables):
        environment = {"PATH": str(self.commands), "NOTES": str(self.notes), "PEAKLINE_CUDA": "OFF"}
        return subprocess.Popen(
            [self.root / "scripts" / script, *arguments],
            cwd=cwd or self.root,
            env=environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments, **how):
        process = self.start(*arguments, **how)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def noted(self):
        return self.notes.read_text().splitlines() if self.notes.exists() else []


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


OF_TEST = [
    f"\n  {name} " for name in ("--launchers", "--browser", "--tools", "--all", "format", "ci")
]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        *((f"run {arguments}", ["usage: scripts/run"]) for arguments in ("--help", "-q -h", "-vh")),
        ("test cpu --help", OF_TEST),
    ],
)
def test_help_ends_before_any_work(machine, line, words):
    script, *arguments = line.split()
    code, out, err = machine.run(*arguments, script=script)
    assert (code, err, machine.noted()) == (0, "", [])
    assert [word for word in words if word not in out] == []


@pytest.mark.parametrize(
    ("script", "arguments", "wrong"),
    [
        ("run", ["--quik"], "--quik: not an option"),
        ("run", ["--quick", "surplus"], "surplus: not an option"),
        ("run", ["-x"], "-x: not an option"),
        ("run", ["-qx"], "-x: not an option"),
        ("run", [""], ": not an option"),
        ("run", ["@"], "@: not an option"),
        ("run", ["--filter"], "--filter: expected REGEX"),
        ("run", ["-o"], "-o: expected FILE|DIR/"),
        ("test", ["--tool"], "--tool: not an option"),
        ("test", ["cpu", "-x"], "-x: not an option"),
        ("test", ["--all", "gpu"], "gpu: not a part"),
        ("test", ["cpu ci"], "cpu ci: not a part"),
        ("test", [""], ": not a part"),
        ("fuzz", ["profile", "0"], "0: SECONDS must be 1 or more"),
    ],
)
def test_mistyped_option_ends_before_any_work(machine, script, arguments, wrong):
    error = f"peakline: {wrong} (see scripts/{script} --help)\n"
    assert machine.run(*arguments, script=script) == (2, "", error)
    assert machine.noted() == []


@pytest.mark.parametrize(
    "options", ["-o node7", "-onode7", "--output profiles/ --filter ^hbm", "--output=x --runs=3"]
)
def test_options_reach_the_program(machine, options):
    code, _, err = machine.run(*options.split())
    assert code == 0, err
    assert f"peakline run {options}" in machine.noted()
    assert machine.noted()[-1] == "python -m peakline report measured.json"


def test_one_line_gives_every_command(machine):
    _, _, err = machine.run("--quick")
    line = err.splitlines()[-1].removeprefix("peakline:").strip()
    assert line == ". .venv/bin/activate"
    program = machine.root / ".venv/bin/peakline"
    assert program.resolve() == machine.root / "build/release/bench/peakline"
    # The script also runs from another folder, and in an active environment.
    _, _, err = machine.run("--quick", cwd=machine.root.parent)
    assert err.splitlines()[-1] == f"peakline:   . {machine.root}/.venv/bin/activate"
    _, _, err = machine.run("--quick", VIRTUAL_ENV=str(machine.root / ".venv"))
    assert "activate" not in err


def test_readme_activates_before_first_command():
    before, _, after = (ROOT / "README.md").read_text().partition("`. .venv/bin/activate`")
    assert after
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```$", before)
    commands = [line.partition("#")[0].strip() for line in "".join(blocks).splitlines()]
    assert commands == ["scripts/run", "scripts/test"]


def test_output_goes_to_profiles(machine):
    code, out, err = machine.run("--quick")
    assert code == 0, err
    assert f"peakline run --output {machine.root}/profiles/ --quick" in machine.noted()
    assert out == "profile: measured.json\n"
    assert "PEAKLINE_CUDA=OFF: only the host is measured" in err.splitlines()[0]
    assert "/profiles/" in (ROOT / ".gitignore").read_text().splitlines()


def test_missing_network_names_packages(machine):
    for name in ("ninja", "c++"):
        (machine.commands / name).unlink()
    machine.command(machine.commands / "apt-get", NO_NETWORK)
    code, _, err = machine.run()
    assert code == 2
    assert err.splitlines()[2:] == [
        "peakline: cannot go on, apt packages are missing: g++ ninja-build (no network)"
    ]


def test_missing_network_skips_the_report(machine):
    machine.command(machine.root / ".venv/bin/python", "echo 'Network is unreachable'; exit 1")
    code, out, err = machine.run()
    assert (code, out) == (0, "profile: measured.json\n")
    no_report, program = err.splitlines()[-2:]
    assert no_report.startswith("peakline: no report: Python packages are missing: matplotlib==")
    assert no_report.endswith("(no network)")
    assert program == "peakline: the program alone is build/release/bench/peakline"
    assert (machine.root / program.split()[-1]).exists()


# Reports an interrupt as its own failure.
WAITS = "trap 'exit 1' INT; touch \"$NOTES.waits\"; while sleep 0.05; do :; done"


def test_ctrl_c_ends_the_build(machine):
    configures = "echo cmake version 3.25.1; mkdir -p build/release; exit"
    waits = f"[[ $1 == --build ]] || {{ {configures}; }}; {WAITS}"
    machine.command(machine.commands / "cmake", waits)
    process = machine.start()
    deadline = time.monotonic() + 30
    while not Path(f"{machine.notes}.waits").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    before = settled(machine)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert err.endswith("peakline: interrupted\n")
    assert machine.noted() == before


def settled(machine):
    """The recorded calls, after all steps beside the waiting one have ended."""
    noted = None
    while noted != (noted := machine.noted()):
        time.sleep(1)
    return noted


def with_packages(machine):
    for command in ("apt-get", "fish", "shellcheck", "zsh"):
        machine.command(machine.commands / command, "")
    machine.command(machine.commands / "clang++", f"echo {machine.root}/clang")
    fuzzer = machine.root / "clang/lib/linux/libclang_rt.fuzzer.a"
    fuzzer.parent.mkdir(parents=True)
    fuzzer.touch()


def results(machine):
    return (machine.root / "build/test/results.tsv").read_text()


def left_out(err):
    """The options that scripts/test names beside what it left out."""
    return [line.split(":")[1].strip() for line in err.splitlines() if "  --" in line]


PRESENT = ("munged", "mpirun", "srun", "slurmctld", "slurmd", "google-chrome")


@pytest.mark.parametrize(
    ("present", "options"), [((), ["--launchers", "--browser", "--tools"]), (PRESENT, ["--tools"])]
)
def test_large_tools_need_an_option(machine, present, options):
    with_packages(machine)
    for name in present:
        machine.command(machine.commands / name, "")
    code, _, err = machine.run("shell", script="test")
    assert code == 0, err
    assert left_out(err) == options
    assert results(machine).startswith("shellcheck\tpassed\t")
    assert not [line for line in machine.noted() if line.startswith("apt-get") or "torch" in line]


def test_unavailable_option_fails(machine):
    with_packages(machine)
    machine.command(machine.commands / "apt-get", NO_NETWORK)
    _, _, err = machine.run("--launchers", "shell", script="test")
    assert "peakline: going on without it (no network)\n" in err
    assert "launchers\tfailed\t0\tno network\t1\n" in results(machine)
    assert not (machine.root / ".deps/launchers").exists()


def test_ci_asks_for_everything(machine):
    shutil.copytree(ROOT / ".ci", machine.root / ".ci")
    machine.command(machine.root / "scripts/test", "")
    assert machine.run(script="../.ci/run")[0] == 0
    assert machine.noted() == ["test --all"]
