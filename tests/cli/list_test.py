"""Lists of benchmarks and peaks, help, manual page and completion."""

import json
import os
import re
import shutil
import subprocess

import pytest
from program import SOURCE, cpu_seconds, document, on_terminal, peakline, refused, stdout_of

COMMANDS = (
    *("run", "list", "show", "check", "compare", "benchmark", "fleet", "repeatability", "demo"),
    *("peaks", "schema", "man", "version", "help"),
)


def test_list_is_fast_and_says_what_each_benchmark_is():
    times = []
    for _ in range(3):
        start = cpu_seconds()
        listed = stdout_of("list")
        times.append(cpu_seconds() - start)
    assert min(times) < 0.3
    assert "host.memory.read" in listed
    assert "\nhbm.read (gpu" in listed
    ids = {b["id"] for b in document("list")["benchmarks"]}
    assert {"host.memory.read", "hbm.read", "p2p.read.ce"} < ids
    for area in ("gemm", "hbm", "pcie"):
        assert f"{area}." in listed
        run = ("run", "--dry-run", "--device", "none", "--filter", f"^{area}")
        refused(*run, words=["only GPU benchmarks"])


def test_peaks_are_those_of_the_python_package():
    text = stdout_of("peaks")
    assert re.search(r"\n  H200 SXM +33\.5 .* 989\.4 ", text)
    assert "https://www.nvidia.com/en-us/data-center/h200/" in text
    one = stdout_of("peaks", "h20")
    assert re.search(r"\n  H20 .* 148 .* 4000", one)
    assert "H200 SXM" not in one
    refused("peaks", "V100", words=["V100", "from Turing"])
    stated = {
        row["product"]: {f["resource"]: f["value"] for f in row["figures"]}
        for row in document("peaks")["products"]
    }
    bundled = json.loads((SOURCE / "reports/peakline/datasheets.json").read_text(encoding="utf-8"))
    assert stated == {
        row["product"]: {name: value[0] for name, value in row.get("figures", {}).items()}
        for row in bundled["products"]
    }


def test_document_names_what_a_dry_run_would_run(tmp_path):
    benchmarks = document("list")["benchmarks"]
    ids = [b["id"] for b in benchmarks]
    assert len(ids) == len(set(ids))
    for b in benchmarks:
        assert b["what"] and b["work"] and b["points"], b["id"]
        assert b["unit"] in ("s", "B/s", "FLOP/s", "OP/s")
    points = sum(len(b["points"]) for b in benchmarks if b["device"] == "host")
    plan = peakline("run", "--dry-run", "--device", "none", cwd=tmp_path, code=0)
    assert f"{points} points on 1 device," in plan.stdout.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_version_and_help():
    assert re.fullmatch(r"peakline \d+\.\d+\.\d+ \(.+\)\n", stdout_of("--version"))
    for arguments in ([], ["run"], ["list"], ["show"]):
        assert "Examples:" in peakline(*arguments, "--help", code=0).stdout
    assert "worker" not in peakline("--help").stdout


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has a driver")
def test_a_machine_without_a_driver_says_so():
    run = peakline("run", "--dry-run", "--filter", "^host.fma.fp64", code=0)
    assert re.search(
        r"^peakline: no NVIDIA driver here \(.+\): measuring only the host$", run.stderr, re.M
    )


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_help_fits_the_terminal(columns):
    for command in (*COMMANDS, ""):
        printed = on_terminal(columns, *command.split(), "--help").replace("\r", "")
        # Examples are commands to copy, and stay whole.
        body = printed.partition("\nExamples:\n")[0]
        assert [line for line in body.splitlines() if len(line) > columns] == []
        assert not re.search(r"Excludes|Needs|TEXT|INT in|\(=|REQUIRED", printed), command


def test_a_value_with_a_colon_is_shown_whole():
    assert "\n  --device all|LIST[:LIST] " in stdout_of("compare", "--help")
    assert "\n  KIND " in stdout_of("schema", "--help")


def test_options_are_grouped():
    heads = re.findall(r"(?m)^(\w[\w ]*):$", stdout_of("run", "--help"))
    assert heads == [
        "What is measured",
        "How it is measured",
        "Storage",
        "Output",
        "Options",
        "Examples",
    ]


def test_help_and_version_are_commands():
    assert stdout_of("version") == stdout_of("--version")
    assert stdout_of("help") == stdout_of("--help")
    for command in COMMANDS:
        assert stdout_of("help", command) == stdout_of(command, "--help")
    refused("help", "shwo", words=["shwo: not a command; did you mean peakline show?"])


def test_help_of_scripts_run_is_that_of_run():
    # "-o,--output FILE|DIR/", then lines that describe it.
    written = (SOURCE / "scripts/run-help.txt").read_text().partition("Environment:")[0]
    options = re.findall(r"(?m)^  (-\S+)(?: \S+)?\n((?:      .+\n)+)", written)
    help_text = " ".join(peakline("run", "--help").stdout.split())
    for _, text in options:
        assert " ".join(text.split()) in help_text
    names = {name for joined, _ in options for name in joined.split(",")}
    listed = help_text.partition("Examples:")[0]
    assert names == set(re.findall(r"(?<=[ ,])--?[a-z][a-z-]*", listed))


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where `cmake --install` has put everything."""
    folder = tmp_path_factory.mktemp("prefix")
    command = [os.environ["CMAKE"], "--install", os.environ["BUILD"], "--prefix", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


# Where a shell looks for the completion of a command, and a script that sources that file, which is
# its first argument, and prints what the shell offers for the last of the other words.
SHELLS = {
    "bash": (
        "bash-completion/completions/{}",
        r"""source "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        "_${1//-/_}" "$1" "${!#}" "${@:$#-1:1}"; printf '%s\n' "${COMPREPLY[@]}" """,
    ),
    # Its own functions need a terminal.
    "zsh": (
        "zsh/site-functions/_{}",
        r"""file=$1; shift; words=("$@") CURRENT=$# PREFIX=${@[-1]}
        offer() { for word; [[ $word != $PREFIX* ]] || print -r -- $word }
        _describe() { offer ${${(P)2}%%:*} }
        _arguments() {
          for option; do
            if [[ ${option%%\[*} == $words[-2] && $option == *:value:\(* ]]; then
              offer ${=${option##*\(}%\)}
            elif [[ $PREFIX == -* ]]; then
              offer ${option%%\[*}
            fi
          done
        }
        source $file""",
    ),
    "fish": ("fish/vendor_completions.d/{}.fish", 'source $argv[1]; complete -C "$argv[2..]"'),
}


def completed(prefix, shell, line):
    """What a shell offers to complete the last word of a line with."""
    folder, script = SHELLS[shell]
    words = line.split(" ")
    file = prefix / "share" / folder.format(words[0])
    command = {
        "bash": ["bash", "-euc", script, "bash"],
        "zsh": ["zsh", "-fec", script, "zsh"],
        "fish": ["fish", "--no-config", "-c", script],
    }[shell]
    done = subprocess.run(
        [*command, file, *words], capture_output=True, text=True, cwd=prefix, check=True
    )
    return [offer.partition("\t")[0] for offer in done.stdout.splitlines() if offer]


def test_installed_program(prefix, tmp_path):
    program = prefix / "bin/peakline"
    assert subprocess.check_output([program, "--version"], text=True) == stdout_of("--version")
    demo = subprocess.check_output([program, "demo", tmp_path / "try"], text=True)
    assert demo == (tmp_path / "try/README.txt").read_text()


def options_of(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z_-]+", text.replace("\\-", "-")))


def test_manual_page_has_every_command_and_option(prefix):
    page = (prefix / "share/man/man1/peakline.1").read_text()
    assert page.startswith(".TH PEAKLINE 1 ")
    commands = re.findall(r"(?m)^\.SS ([a-z]+)$", page)
    assert commands == list(COMMANDS)
    assert "worker" not in page
    assert page.count("measure every GPU and the host") == 1
    for command in commands:
        described = page.partition(f"\n.SS {command}\n")[2].partition("\n.SS ")[0]
        named = options_of("\n".join(re.findall(r"(?m)^\.B (.*)", described)))
        heads = re.findall(r"(?m)^  (-.*?)(?:  |$)", stdout_of(command, "--help"))
        assert named == options_of("\n".join(heads)), command


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("peakline ", COMMANDS),
        ("peakline ru", ["run"]),
        ("peakline --v", ["--version"]),
        ("peakline run --ou", ["--output"]),
        ("peakline benchmark --benchmark_out_", ["--benchmark_out_format"]),
        ("peakline compare --fail-on ", ["regression"]),
        ("peakline show node", []),
        ("peakline-report --ker", ["--kernels"]),
        ("peakline-report node", []),
        ("peakline-mfu exp", ["export"]),
        ("peakline-mfu --profile a.json --strategy ", ["ddp", "fsdp"]),
        ("peakline-mfu export --for tri", ["triton"]),
        ("peakline-llm --kv", ["--kv-cache"]),
    ],
)
def test_completion(prefix, shell, line, offered):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert sorted(completed(prefix, shell, line)) == sorted(offered)


@pytest.mark.parametrize("command", ["", "-report", "-mfu", "-llm"])
def test_shells_complete_what_the_page_names(prefix, command):
    page = (prefix / f"share/man/man1/peakline{command}.1").read_text()
    named = options_of("\n".join(re.findall(r"(?m)^\.B (.*)", page)))
    assert "--json" in named
    for folder, _ in SHELLS.values():
        text = (prefix / "share" / folder.format(f"peakline{command}")).read_text()
        text = re.sub(r" -l ([\w-]+)", r" --\1", text)  # fish
        assert named <= options_of(text), folder
