"""Usage errors give exit code 2 and one clear line; no file is written."""

import os
import re
import subprocess

import pytest
from program import GOLDEN, HOST, PEAKLINE, REFERENCE, cpu_seconds, refused


@pytest.fixture
def empty(tmp_path):
    """A folder that must be empty in the end."""
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", ["subcommand"]),
        ("measure", ["measure"]),
        ("run --fast", ["--fast"]),
        ("run --quick --full", ["--quick", "--full"]),
        ("run --quiet --verbose", ["--quiet", "--verbose"]),
        ("run --time-limit 0", ["--time-limit", "above 0"]),
        ("run --time-limit nan", ["--time-limit", "nan"]),
        ("run --max-noise 0", ["--max-noise", "above 0"]),
        ("run --min-samples 3", ["--min-samples", "3"]),
        ("run --seed -1", ["--seed", "-1"]),
        ("run --soak 5", ["--soak", "10 to 7200", "5"]),
        ("run --soak 60 --profile", ["--soak", "--profile"]),
        ("run --runs 22", ["--runs", "from 1 to 21"]),
        ("run --runs 2 --profile", ["--runs 2", "--profile"]),
        ("run --soak 60 --time-limit 50", ["--soak", "--time-limit 50"]),
        ("run --soak 60 --device none", ["--soak", "no GPU"]),
        ("run --verify", ["--verify", "--soak"]),
        ("run --storage ''", ["--storage", "expected a directory"]),
        (
            "run --device none --storage /tmp --filter host.memory",
            ["--storage", "--filter excludes", "host.storage.read"],
        ),
        ("run --soak 60 --verify --no-verify", ["--verify", "--no-verify"]),
        ("run --soak 60 --verify --time-limit 100", ["--soak 60 --verify", "--time-limit 100"]),
        ("show", ["PROFILE"]),
        ("show GOLDEN --topic nonsense", ["--topic nonsense", "findings", "power", "nvlink"]),
        ("show GOLDEN --topic nvlnk", ["no such topic; did you mean nvlink?"]),
        ("show GOLDEN --topic n", ["--topic n", "nvlink or nccl"]),
        ("show GOLDEN --topic ''", ["--topic '': no such topic", "findings"]),
        ("demo ''", ["demo '': a directory needs a name"]),
        ("show GOLDEN --json --all", ["--json", "--all"]),
        ("worker", ["device"]),
        ("worker host {}", ["worker", "JSON"]),
        ("compare", ["BASE"]),
        ("compare GOLDEN", ["BASE... -- NEW..."]),
        ("compare GOLDEN --", []),
        ("compare GOLDEN GOLDEN GOLDEN", ["BASE... -- NEW..."]),
        ("compare GOLDEN -- missing.json", ["missing.json", "no such file"]),
        ("compare GOLDEN GOLDEN --threshold -1", ["--threshold"]),
        ("compare GOLDEN GOLDEN --threshold nan", ["--threshold", "nan"]),
        ("compare GOLDEN GOLDEN --fail-on rain", ["--fail-on", "regression"]),
        ("check missing.json", ["missing.json", "no such file"]),
        ("check --device none --against missing.json", ["missing.json", "no such file"]),
        ("check REFERENCE --rules missing.toml", ["missing.toml", "no such file"]),
        ("check --lint missing.toml --against missing.json", ["missing.json", "no such file"]),
        ("check REFERENCE --lint missing.toml", ["--lint"]),
        ("check REFERENCE --full", ["--full"]),
        ("check REFERENCE --time-limit 9", ["--time-limit"]),
        ("check --time-limit 0", ["--time-limit", "a number above 0"]),
        ("check --device none -o no/p.json", ["--output", "no/p.json"]),
        ("check REFERENCE --exit-codes rain", ["--exit-codes", "nagios"]),
        ("check REFERENCE --explain rain", ["--explain rain", "--all"]),
        ("check REFERENCE --rules=", ["--rules"]),
        ("check REFERENCE --junit no/such/folder/x.xml", ["no/such/folder/x.xml"]),
        ("fleet", ["PATH"]),
        ("fleet missing.json", ["missing.json", "no such file"]),
        ("fleet .", [".", "*.json"]),
        ("fleet GOLDEN --json --csv", ["--csv", "--json"]),
        ("fleet GOLDEN --fail-on rain", ["--fail-on", "outlier"]),
        ("fleet GOLDEN --threshold -1", ["--threshold"]),
        ("fleet GOLDEN --threshold 16", ["--threshold", "15"]),
        ("run --quick --device GPU-00000000-0000-0000-0000-000000000000", ["--device"]),
        ("run --quick --device ''", ["--device"]),
        ("run --quick --device none --filter host.memroy.raed", ["host.memory.read"]),
    ],
)
def test_options(empty, arguments, words):
    split = [
        {"GOLDEN": GOLDEN, "REFERENCE": REFERENCE, "''": ""}.get(word, word)
        for word in arguments.split()
    ]
    refused(*split, words=words, cwd=empty)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("report node7.json", "report: not a command; did you mean peakline-report?"),
        ("mfu", "mfu: not a command; did you mean peakline-mfu?"),
        ("shwo node7.json", "shwo: not a command; did you mean peakline show?"),
        ("bench", "bench: not a command; did you mean peakline benchmark?"),
        ("node7.json", "node7.json: not a command (see peakline --help)"),
        ("wroker", "wroker: not a command (see peakline --help)"),
        ("run --quik=1", "--quik=1: not an option of run; did you mean --quick?"),
        ("run -z", "-z: not an option of run (see peakline run --help)"),
        ("run surplus", "surplus: not an argument of run (see peakline run --help)"),
        # The error is about the option, not the missing PROFILE.
        ("show --jsn", "--jsn: not an option of show; did you mean --json?"),
        ("--all", "--all: goes after its command: show, check, compare, fleet"),
        ("--verson", "--verson: not an option; did you mean --version?"),
        ("benchmark --benchmark_fiter=x", "did you mean --benchmark_filter?"),
        ("run --min-samples x", "found x (see peakline run --help)"),
    ],
)
def test_what_was_meant(empty, arguments, message):
    line = refused(*arguments.split(), words=[message, "(see peakline", "--help)\n"], cwd=empty)
    if name := re.search(r"did you mean (peakline[ -]\w+)\?", line):
        assert f"(see {name[1]} --help)" in line


def test_output_that_exists_is_kept(tmp_path, profile):
    profile.write_text("mine")
    refused(*HOST, "-o", profile, words=[profile, "exists"])
    assert profile.read_text() == "mine"
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "nowhere")
    refused(*HOST, "-o", link, words=[link, "exists"])
    assert sorted(tmp_path.iterdir()) == [link, profile]


@pytest.mark.parametrize(
    "command",
    [
        ["show", GOLDEN],
        ["list"],
        ["compare", GOLDEN, REFERENCE],
        ["benchmark", "--device", "host", "--benchmark_list_tests"],
    ],
    ids=lambda command: command[0],
)
def test_result_that_cannot_be_written(command):
    with open("/dev/full", "w") as full:
        result = subprocess.run([PEAKLINE, *command], stdout=full, stderr=-1, text=True)
    assert result.returncode == 2
    error = r"peakline: cannot write to standard output(: [^\n]+)?\n"
    assert re.fullmatch(error, result.stderr)


def test_output_that_cannot_be_written(tmp_path):
    start = cpu_seconds()
    missing = tmp_path / "no"
    neither = "neither a file nor a directory"
    for output, why in (
        (missing / "p.json", f"there is no directory {missing}"),
        ("/proc/no/", ""),
        (f"{GOLDEN}/", ""),
        ("/proc/p.json", ""),
        ("", ""),
        ("/dev/stdout", neither),
        ("/dev/null", neither),
    ):
        refused(*HOST, "-o", output, words=[output, why], cwd=tmp_path)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.geteuid() != 0:  # root may write there
        refused(*HOST, "-o", locked, words=["Permission denied"])
    assert cpu_seconds() - start < 10  # before anything is measured
