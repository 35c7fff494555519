"""The real executable, on the host's own CPUs: commands, profiles, faults and exit codes.

Run as `cli_test.py CLASS`, one class a ctest test, with the executable in $PEAKLINE. Ends in 77,
which ctest shows as skipped, where nothing could be tested. Signals are real ones: nothing in the
product exists for these tests.
"""

import contextlib
import csv
import fcntl
import functools
import gzip
import io
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from xml.etree import ElementTree

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "corpus"))
from cases import CASES, POPULATION_CASES  # noqa: E402

PEAKLINE = os.environ["PEAKLINE"]
ZOO = SOURCE / "tests" / "zoo" / "devices"
GOLDEN = SOURCE / "tests" / "golden" / "profile.json"
REFERENCE = SOURCE / "reports" / "reference" / "nvidia-h200.json"
SKIPPED = 77
SANITIZED = "PEAKLINE_SANITIZED" in os.environ

# A whole quick run of the host takes a few seconds; a machine that is busy or sanitized, longer.
PATIENCE_S = 300
# Several points of a tenth of a second and more, so that signals hit one in the middle.
SEVERAL = ["--device", "none", "--filter", r"^host\.fma|^host\.roofline.*:1"]
SEVERAL_WITH_STORAGE = [*SEVERAL[:-1], SEVERAL[-1] + r"|^host\.storage"]
STALLED_RUNS = 4
# One point.
QUICKEST = ["--quick", "--device", "none", "--filter", r"^host\.fma\.fp64"]


def peakline(*arguments, **options):
    return subprocess.run(
        [PEAKLINE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        **options,
    )


def read_terminal(ours):
    """What a process wrote to the other side, once it has closed it."""
    text = b""
    with contextlib.suppress(OSError):  # the terminal's other side is closed
        while chunk := os.read(ours, 4096):
            text += chunk
    os.close(ours)
    return text.decode()


def on_terminal(columns, *arguments):
    """What a command prints on a terminal of so many columns."""
    ours, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [PEAKLINE, *map(str, arguments)], stdout=terminal, env={**os.environ, "NO_COLOR": "1"}
    )
    os.close(terminal)
    text = read_terminal(ours)
    process.wait(PATIENCE_S)
    return text.replace("\r", "")


def cpu_seconds():
    """What the commands so far took of the CPUs: other work on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@functools.cache
def points():
    """How many points SEVERAL are."""
    plan = peakline("run", *SEVERAL, "--dry-run").stdout.splitlines()
    return int(plan[-1].split()[0])


def address_space(mebibytes):
    """For preexec_fn."""
    limit = (mebibytes << 20, mebibytes << 20)
    return functools.partial(resource.setrlimit, resource.RLIMIT_AS, limit)


@functools.cache
def mebibytes_to_start():
    """What the executable and its libraries take; cuBLASLt alone takes half a gigabyte."""
    step = 4
    return next(
        mebibytes
        for mebibytes in range(step, 4096, step)
        if peakline("--version", preexec_fn=address_space(mebibytes)).returncode == 0
    )


def with_memory(mebibytes):
    """For preexec_fn: so much address space beyond what the executable needs to start."""
    return address_space(mebibytes_to_start() + mebibytes)


def children_of(pid):
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for child in children.split()]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class FileSchema:
    """The program's own description of a kind of file."""

    def __init__(self, fastjsonschema, kind):
        self.check = fastjsonschema.compile(json.loads(peakline("schema", *kind).stdout))
        self.refusal = fastjsonschema.JsonSchemaValueException

    def validate(self, text):
        self.check(json.loads(text))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="peakline-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.profile = self.folder / "profile.json"

    def schema(self, *kind):
        try:
            import fastjsonschema
        except ImportError:
            self.skipTest("the Python package fastjsonschema is not installed")
        return FileSchema(fastjsonschema, kind)

    def read(self):
        """The profile, each measurement with what it leaves out."""
        profile = json.loads(self.profile.read_text())
        empty = {"params": {}, "reason": "", "flags": [], "verified": None}
        profile["measurements"] = [empty | row for row in profile["measurements"]]
        return profile

    def assert_usage_error(self, result, *words):
        """Exit code 2, nothing on stdout, and one line on stderr with all of the words."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Apeakline: [^\n]+\n\Z")
        for word in words:
            self.assertIn(str(word), result.stderr)

    @contextlib.contextmanager
    def running(self, *arguments, points=SEVERAL):
        """A run that has answered its first point; ended in any case at the end."""
        process = subprocess.Popen(
            [PEAKLINE, "run", *points, "--verbose", "-o", self.profile, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            for line in process.stderr:
                if line.startswith("host host."):
                    break
            yield process
        finally:
            process.kill()
            process.communicate()

    def assert_gone(self, pids):
        deadline = time.monotonic() + 10
        while any(map(is_alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(any(map(is_alive, pids)))


class EndToEnd(Case):
    """What a quick run of the host leaves behind: one run, looked at from several sides."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="peakline-cli-")
        cls.addClassCleanup(folder.cleanup)
        cls.output = pathlib.Path(folder.name) / "output.json"
        cls.arguments = ["run", "--quick", "--device", "none", "-o", str(cls.output)]
        cls.result = peakline(*cls.arguments)

    def setUp(self):
        super().setUp()
        self.profile = self.output
        self.assertEqual(self.result.returncode, 0, self.result.stderr)

    def test_profile(self):
        self.assertEqual(self.result.stdout.splitlines()[-1], f"profile: {self.profile}")
        self.assertIn(str(self.profile), self.result.stderr.splitlines()[-1])
        profile = self.read()
        self.assertTrue(profile["complete"])
        self.assertEqual(profile["mode"], "quick")
        self.assertFalse(profile.get("devices"))
        self.assertEqual(profile["command"][1:], self.arguments)
        ids = {m["id"] for m in profile["measurements"]}
        self.assertIn("host.memory.read", ids)
        self.assertIn("host.fma.fp32", ids)
        for m in profile["measurements"]:
            self.assertEqual((m["device"], m["status"]), ("host", "ok"), m)
            self.assertGreater(min(m["samples_s"]), 0)
            self.assertNotIn("implausible", m["flags"])
        resources = {c["resource"] for c in profile["ceilings"]}
        self.assertIn("memory.read", resources)
        self.assertEqual([r["device"] for r in profile["rooflines"]], ["host"])
        self.assertTrue(profile["rooflines"][0]["ridge_points"])

    def test_show_prints_what_run_printed(self):
        shown = peakline("show", self.profile)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual(shown.stdout + f"profile: {self.profile}\n", self.result.stdout)
        document = peakline("show", self.profile, "--json")
        self.assertEqual(json.loads(document.stdout)["schema"], "peakline-summary")

    def test_schema(self):
        self.schema().validate(self.profile.read_text())


class Runs(Case):
    def test_default_name_quiet_and_anonymized(self):
        result = peakline("run", *QUICKEST, "--quiet", cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        (named,) = self.folder.glob("*.json")
        self.assertRegex(named.name, r"-\d{8}T\d{6}Z\.json\Z")
        self.assertEqual(json.loads(named.read_text())["host"]["hostname"], socket.gethostname())
        self.assertTrue(named.name.startswith(socket.gethostname()))

        hidden = self.folder / "hidden"
        hidden.mkdir()
        result = peakline("run", *QUICKEST, "--anonymize", "-o", hidden)
        self.assertEqual(result.returncode, 0, result.stderr)
        (file,) = hidden.iterdir()
        self.assertTrue(file.name.startswith("localhost-"))
        profile = json.loads(file.read_text())
        self.assertNotIn("hostname", profile["host"])
        self.assertEqual(profile["command"][0], "peakline")
        self.assertNotIn(str(self.folder), file.read_text())

    def test_output_without_suffix_and_directory_that_is_not_there_yet(self):
        for output, wanted in (
            ("node7", "node7.json"),
            ("node7.example.org", "node7.example.org.json"),
            ("node8.json.gz", "node8.json.gz"),
            ("new/profiles/", "new/profiles/*T*Z.json"),
        ):
            with self.subTest(output):
                result = peakline("run", *QUICKEST, "-o", output, cwd=self.folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                (file,) = self.folder.glob(wanted)
                written = str(file.relative_to(self.folder))
                self.assertEqual(result.stdout.splitlines()[-1], f"profile: {written}")
                data = file.read_bytes()
                data = gzip.decompress(data) if written.endswith(".gz") else data
                self.assertTrue(json.loads(data)["complete"])

    def test_options_reach_the_worker(self):
        result = peakline("run", *QUICKEST, "--no-verify", "-o", self.profile)
        self.assertEqual(result.returncode, 0, result.stderr)
        for m in self.read()["measurements"]:
            self.assertIsNone(m["verified"])

    def test_runs_that_begin_at_once_keep_their_profiles(self):
        command = [PEAKLINE, "run", "--quiet", *QUICKEST, "-o", self.folder]
        runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(3)]
        self.assertEqual([run.wait(PATIENCE_S) for run in runs], [0, 0, 0])
        files = list(self.folder.iterdir())
        self.assertEqual(len(files), 3)
        for file in files:
            self.assertTrue(json.loads(file.read_text())["complete"])

    def test_runs_are_merged_into_one_profile(self):
        plan = peakline("run", *QUICKEST, "--runs", "3", "--dry-run")
        self.assertIn("1 point on 1 device, 3 runs, about", plan.stdout.splitlines()[-1])
        result = peakline("run", *QUICKEST, "--runs", "2", "-o", self.profile)
        self.assertEqual(result.returncode, 0, result.stderr)
        profile = self.read()
        (measurement,) = profile["measurements"]
        # A quick run sits once on the host.
        self.assertEqual([len(run) for run in measurement["sittings"]], [1, 1])
        (ceiling,) = [c for c in profile["ceilings"] if "spread" in c]
        self.assertEqual(ceiling["spread"]["runs_measured"], 2)
        # In a virtual machine runs of the host differ by more than an interval can say.
        self.assertLess(ceiling.get("ci_low", 0), ceiling["value"])
        self.assertIn("next run", peakline("show", self.profile).stdout)

    def test_progress_fits_a_narrow_terminal(self):
        columns = 40
        ours, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [PEAKLINE, "run", *QUICKEST, "-o", self.profile],
            stdout=subprocess.DEVNULL,
            stderr=terminal,
        )
        os.close(terminal)
        text = read_terminal(ours)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        lines = re.findall(r"\r([^\r\n]+)\x1b\[K", text)
        self.assertTrue(lines)
        for line in lines:
            self.assertLess(len(line), columns)

    def test_reader_that_has_seen_enough(self):
        process = subprocess.Popen(
            [PEAKLINE, "run", "--quiet", *QUICKEST, "-o", self.profile],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        process.stdout.close()
        with process.stderr as stream:
            self.assertEqual(stream.read(), "")
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertTrue(self.read()["complete"])


class Schema(Case):
    def test_corpus(self):
        for schema, cases in (
            (self.schema(), CASES),
            (self.schema("population"), POPULATION_CASES),
        ):
            for case in cases:
                if case.schema is not None:
                    with self.subTest(case.name):
                        if case.schema:
                            with self.assertRaises(schema.refusal):
                                schema.validate(case.data)
                        else:
                            schema.validate(case.data)

    def test_what_is_part_of_the_program_follows_it(self):
        schema = self.schema("population")
        for file in (REFERENCE.parent / "populations").iterdir():
            schema.validate(file.read_text())

    def test_kinds(self):
        self.assertEqual(peakline("schema").stdout, peakline("schema", "profile").stdout)
        self.assert_usage_error(peakline("schema", "rain"), "KIND", "profile", "population")


class GoogleBenchmark(Case):
    FLAGS = ("--device", "host", "--quick", r"--benchmark_filter=^host\.fma\.fp64")

    def test_its_flags_and_reporters(self):
        out = self.folder / "out.json"
        result = peakline(
            "benchmark", *self.FLAGS, "--benchmark_repetitions=2", f"--benchmark_out={out}"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("host.fma.fp64/threads:", result.stdout)
        entries = json.loads(out.read_text())["benchmarks"]
        runs = [e for e in entries if e["run_type"] == "iteration"]
        listed = peakline("benchmark", *self.FLAGS, "--benchmark_list_tests").stdout.splitlines()
        self.assertEqual([run["name"] for run in runs], [n for n in listed for _ in range(2)])
        for run in runs:
            self.assertGreater(run["flops_per_second"], 0)
            self.assertGreater(run["real_time"], 0)
            self.assertIn("verified", run["label"])
        self.assertIn("cv", {e.get("aggregate_name") for e in entries})

    def test_lists_the_points_of_a_device(self):
        result = peakline("benchmark", "--device", "host", "--benchmark_list_tests")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(all(line.startswith("host.") for line in result.stdout.splitlines()))

    def test_bad_usage(self):
        existing = self.folder / "mine.json"
        existing.write_text("mine")
        for flags, named in (
            (["--benchmark_colour=1"], "--benchmark_colour"),
            (["--benchmark_repetitions=0"], "--benchmark_repetitions"),
            (["--benchmark_format=bogus"], "--benchmark_format"),
            (["--benchmark_filter=nomatch"], "'nomatch'"),
            (["--benchmark_filter=" + "(" * 20_000], "not a regular expression"),
            (["--benchmark_filter=(([a-z.:/0-9]+)+)+$!"], "matches no benchmark"),
            (["--benchmark_min_time=\x1b[31m"], "--benchmark_min_time"),
            (["--benchmark_out", existing], "already exists"),
            (["--device", "9"], "--device 9"),
            (["--max-noise", "-1"], "--max-noise"),
        ):
            with self.subTest(named):
                result = peakline("benchmark", *flags)
                self.assert_usage_error(result, named)
                self.assertTrue(result.stderr.removesuffix("\n").isprintable(), result.stderr)
        self.assertEqual(existing.read_text(), "mine")

    def test_its_environment_does_not_reach_the_workers_of_run(self):
        out = self.folder / "out.txt"
        out.write_text("mine")
        environment = os.environ | {"BENCHMARK_OUT": str(out), "BENCHMARK_LIST_TESTS": "true"}
        result = peakline("run", *QUICKEST, "-o", self.profile, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(out.read_text(), "mine")
        self.assertTrue(self.read()["complete"])


class Listing(Case):
    def test_is_fast_and_says_what_each_benchmark_is(self):
        times = []
        for _ in range(3):
            start = cpu_seconds()
            result = peakline("list")
            times.append(cpu_seconds() - start)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertLess(min(times), 0.3)
        self.assertIn("host.memory.read", result.stdout)
        self.assertIn("\nhbm.read (gpu", result.stdout)
        listed = {b["id"] for b in json.loads(peakline("list", "--json").stdout)["benchmarks"]}
        self.assertLess({"host.memory.read", "hbm.read", "p2p.read.ce"}, listed)
        for area in ("gemm", "hbm", "pcie"):
            self.assertIn(f"{area}.", result.stdout)
            refused = peakline("run", "--dry-run", "--device", "none", "--filter", f"^{area}")
            self.assert_usage_error(refused, "only GPU benchmarks")

    def test_peaks_are_those_of_the_python_package(self):
        text = peakline("peaks")
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertRegex(text.stdout, r"\n  H200 SXM +33\.5 .* 989\.4 ")
        self.assertIn("https://www.nvidia.com/en-us/data-center/h200/", text.stdout)
        one = peakline("peaks", "h20")
        self.assertRegex(one.stdout, r"\n  H20 .* 148 .* 4000")
        self.assertNotIn("H200 SXM", one.stdout)
        self.assert_usage_error(peakline("peaks", "V100"), "V100", "from Turing")
        document = peakline("peaks", "--json").stdout
        stated = {
            row["product"]: {f["resource"]: f["value"] for f in row["figures"]}
            for row in json.loads(document)["products"]
        }
        bundled = SOURCE / "reports" / "peakline" / "datasheets.json"
        for row in json.loads(bundled.read_text(encoding="utf-8"))["products"]:
            figures = {name: value[0] for name, value in row.get("figures", {}).items()}
            self.assertEqual(stated.pop(row["product"]), figures)
        self.assertEqual(stated, {})

    def test_document_names_what_a_dry_run_would_run(self):
        benchmarks = json.loads(peakline("list", "--json").stdout)["benchmarks"]
        ids = [b["id"] for b in benchmarks]
        self.assertEqual(len(ids), len(set(ids)))
        for b in benchmarks:
            self.assertTrue(b["what"] and b["work"] and b["points"], b["id"])
            self.assertIn(b["unit"], ("s", "B/s", "FLOP/s", "OP/s"))
        points = sum(len(b["points"]) for b in benchmarks if b["device"] == "host")
        plan = peakline("run", "--dry-run", "--device", "none", cwd=self.folder)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn(f"{points} points on 1 device,", plan.stdout.splitlines()[-1])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_version_and_help(self):
        self.assertRegex(peakline("--version").stdout, r"\Apeakline \d+\.\d+\.\d+ \(.+\)\n\Z")
        for arguments in ([], ["run"], ["list"], ["show"]):
            result = peakline(*arguments, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Examples:", result.stdout)
        self.assertNotIn("worker", peakline("--help").stdout)

    def test_help_of_scripts_run_is_that_of_run(self):
        # "-o,--output FILE|DIR/", and on the next lines what it does.
        written = (SOURCE / "scripts/run-help.txt").read_text().partition("Environment:")[0]
        options = re.findall(r"(?m)^  (-\S+)(?: \S+)?\n((?:      .+\n)+)", written)
        help_text = " ".join(peakline("run", "--help").stdout.split())
        for _, text in options:
            self.assertIn(" ".join(text.split()), help_text)
        names = {name for joined, _ in options for name in joined.split(",")}
        listed = help_text.partition("Examples:")[0]
        self.assertEqual(names, set(re.findall(r"(?<=[ ,])--?[a-z][a-z-]*", listed)))


class Installed(Case):
    """What `cmake --install` puts in place."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="peakline-cli-")
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name)
        command = [os.environ["CMAKE"], "--install", os.environ["BUILD"], "--prefix", folder.name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        cls.program = cls.prefix / "bin/peakline"

    def test_program(self):
        version = subprocess.run([self.program, "--version"], capture_output=True, text=True)
        self.assertEqual(version.stdout, peakline("--version").stdout)

    def test_manual_page_has_every_command_and_option(self):
        page = (self.prefix / "share/man/man1/peakline.1").read_text()
        self.assertTrue(page.startswith(".TH PEAKLINE 1 "))
        commands = re.findall(r"(?m)^\.SS ([a-z]+)$", page)
        self.assertEqual(commands, self.completed("peakline", ""))
        self.assertNotIn("worker", page)
        self.assertEqual(page.count("measure every GPU and the host"), 1)
        for command in commands:
            described = page.partition(f"\n.SS {command}\n")[2].partition("\n.SS ")[0]
            options = set(re.findall(r"(?m)^\.B .*?(\\-\\-\S+)", described))
            options = {option.replace("\\-", "-") for option in options}
            self.assertEqual(options, set(self.completed("peakline", command, "--")), command)

    def completed(self, *words):
        """What bash offers for the last of the words."""
        completion = self.prefix / "share/bash-completion/completions/peakline"
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1));'
            '_peakline "$1" "${!#}" "${@:$#-1:1}"; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        environment = os.environ | {"PATH": f"{self.program.parent}:{os.environ['PATH']}"}
        bash = ["bash", "-euc", script, "bash", completion, *words]
        done = subprocess.run(bash, capture_output=True, text=True, env=environment, check=True)
        return done.stdout.split()

    def test_completion(self):
        self.assertEqual(self.completed("peakline", "ru"), ["run"])
        self.assertEqual(self.completed("peakline", "run", "--ou"), ["--output"])
        self.assertIn("--benchmark_out", self.completed("peakline", "benchmark", "--b"))
        self.assertEqual(self.completed("peakline", "show", "node"), [])


# The READMEs' commands meet a stand-in where they call for what others bring (pip, ncu, a training
# script) or would measure for minutes; it does the part that could be wrong.
STAND_INS = {
    # What would run on a GPU is listed.
    "peakline": """
        case "$*" in
          run*) exec "$PEAKLINE" "$@" --dry-run ;;
          benchmark*--device\\ host*) exec "$PEAKLINE" "$@" ;;
          benchmark*) exec "$PEAKLINE" "$@" --benchmark_list_tests ;;
          *) exec "$PEAKLINE" "$@" ;;
        esac""",
    "peakline-report": 'exec "$PYTHON" -m peakline report "$@"',
    "peakline-mfu": 'exec "$PYTHON" -m peakline mfu "$@"',
    "peakline-llm": "[[ $* == *--hf-config* ]]",
    # They run the program that comes after their options.
    **dict.fromkeys(
        ("ncu", "compute-sanitizer", "salloc", "mpirun"),
        'while [[ $1 != peakline && $1 != python ]]; do shift; done; exec "$@"',
    ),
    "nsys": """
        [[ $1 == profile && ${*: -2} == 'python train.py' ]] && exit
        [[ $1 == export ]] && cp "${6%.nsys-rep}.sqlite" "$5" """,
    "kubectl": "[[ $1 == rollout || ( $2 == -f && -f $3 ) ]]",
    "sudo": "[[ $1 == systemctl && -f scripts/systemd/${*: -1} || -f $2 && -f $3 ]]",
    "python": "[[ $* == train.py ]]",
    "compare.py": '[[ $1 == benchmarks ]] && "$PYTHON" -m json.tool "$2" >/dev/null',
    "pip": r"""
        [[ $1 =~ ^(install|wheel)$ && $2 == . ]] || exit 1
        for name in $(grep -o 'PEAKLINE_[A-Z]*' <<<"$*"); do
          grep -q "$name" pyproject.toml CMakeLists.txt || exit 1
        done""",
    "cmake": r"""
        [[ -f CMakePresets.json && $* =~ ^(--build\ )?--preset\ release$ ||
          $* =~ ^--install\ build/release\ --prefix\ / ]]""",
}
KERNELS = "name,flop,bytes,seconds,precision\nproduct,1e12,1e9,2e-3,bf16\n"


class Readmes(Case):
    """Every command of the READMEs runs as it is printed."""

    FILES = (
        "README.md",
        "bench/README.md",
        "harness/judge/README.md",
        "harness/show/README.md",
        "reports/README.md",
        "reports/models.md",
        "reports/workload.md",
        "scripts/README.md",
    )

    def commands(self, file):
        """The commands of a README's shell blocks, in their order."""
        blocks = re.findall(r"(?ms)^```sh\n(.*?)^```$", (SOURCE / file).read_text())
        lines = "".join(blocks).replace("\\\n", " ").splitlines()
        return [line for line in lines if line.strip()]

    def outputs(self, file):
        """The commands whose output a README shows, each with that output."""
        block = r"(?ms)^<!-- output of: (peakline [^\n]*) -->\n```text\n(.*?)^```$"
        return re.findall(block, (SOURCE / file).read_text())

    def setUp(self):
        super().setUp()
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("the Python package matplotlib is not installed")
        for name, body in STAND_INS.items():
            file = self.folder / "bin" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"#!/bin/bash\n{body}\n")
            file.chmod(0o755)
        for name in ("reports", "scripts", "CMakeLists.txt", "CMakePresets.json", "pyproject.toml"):
            (self.folder / name).symlink_to(SOURCE / name)
        profile = json.loads((SOURCE / "reports/reference/nvidia-h200.json").read_text())
        (self.folder / "profiles").mkdir()
        names = ("node7-may", "node7-june", "node7", "node7-later")
        names += ("profiles/node7", "profiles/node8")
        for month, name in enumerate(names, start=5):
            profile["created"] = f"2026-{month:02}-01T12:00:00Z"
            (self.folder / f"{name}.json").write_text(json.dumps(profile))
        (self.folder / "kernels.csv").write_text(KERNELS)
        traces = SOURCE / "tests/python/data/causes"
        for name in ("trace", "before", "after"):
            shutil.copy(traces / "healthy.json.gz", self.folder / f"{name}.json.gz")
        self.write_export(self.folder / "run.sqlite")
        (self.folder / "old.json").write_text("{}")

    def write_export(self, path):
        """What nsys would export of three kernels, each in a range."""
        ran = "start, 'end', deviceId, streamId, correlationId, globalPid, demangledName"
        with contextlib.closing(sqlite3.connect(path)) as base:
            base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({ran})")
            base.execute(
                "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
                "(start, 'end', globalTid, correlationId, nameId)"
            )
            base.execute("CREATE TABLE NVTX_EVENTS (start, 'end', text, globalTid)")
            base.execute("CREATE TABLE StringIds (id, value)")
            base.execute("INSERT INTO StringIds VALUES (1, 'kernel'), (2, 'cudaLaunchKernel')")
            for step in range(3):
                at, process = 100_000 * step, 1 << 24
                base.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, 1)",
                    (at + 50_000, at + 90_000, step + 1, process),
                )
                base.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 2)",
                    (at + 40_000, at + 42_000, process | 7, step + 1),
                )
                base.execute(
                    "INSERT INTO NVTX_EVENTS VALUES (?, ?, 'decode', ?)",
                    (at, at + 99_000, process | 7),
                )
            base.commit()
        path.with_suffix(".nsys-rep").write_text("")

    def run_line(self, line):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "PYTHON": sys.executable}
        environment |= {"PYTHONPATH": str(SOURCE / "reports")}
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def test_commands(self):
        self.assertGreater(len(self.commands("README.md")), 10)
        for file in self.FILES:
            for report in ("node7", "kernels", "steps"):  # nobody has typed both
                shutil.rmtree(self.folder / report, ignore_errors=True)
            for line in self.commands(file):
                if script := re.match(r"(?:\w+=\w+ )?(scripts/\S+)", line):
                    # tests/python/test_scripts.py runs it
                    self.assertTrue(os.access(SOURCE / script[1], os.X_OK), line)
                    continue
                if line.startswith(". .venv/bin/activate"):  # the stand-ins are on the path
                    continue
                with self.subTest(line):
                    self.assertNotIn("...", line)
                    result = self.run_line(line)
                    # Neither this build nor this machine may have what GPU benchmarks need.
                    if not re.search(r"GPU benchmarks|no GPU is measured|driver", result.stderr):
                        self.assertEqual(result.returncode, 0, result.stderr)

    def test_outputs(self):
        shown = [output for file in self.FILES for output in self.outputs(file)]
        self.assertTrue(shown)
        for command, text in shown:
            with self.subTest(command):
                self.assertEqual(self.run_line(command).stdout, text)


class BadUsage(Case):
    def run_host(self, *arguments):
        return peakline("run", "--quick", "--device", "none", *arguments, cwd=self.folder)

    def test_options(self):
        for arguments, words in (
            ([], ["subcommand"]),
            (["measure"], ["measure"]),
            (["run", "--fast"], ["--fast"]),
            (["run", "--quick", "--full"], ["--quick", "--full"]),
            (["run", "--quiet", "--verbose"], ["--quiet", "--verbose"]),
            (["run", "--time-limit", "-1"], ["--time-limit", "above 0"]),
            (["run", "--time-limit", "0"], ["--time-limit", "above 0"]),
            (["run", "--time-limit", "soon"], ["--time-limit", "soon"]),
            (["run", "--time-limit", "nan"], ["--time-limit", "nan"]),
            (["run", "--max-noise", "-0.5"], ["--max-noise", "-0.5"]),
            (["run", "--max-noise", "0"], ["--max-noise", "above 0"]),
            (["run", "--max-noise", "nan"], ["--max-noise"]),
            (["run", "--max-noise", "200"], ["--max-noise", "200"]),
            (["run", "--min-samples", "3"], ["--min-samples", "3"]),
            (["run", "--min-samples", "-3"], ["--min-samples", "-3"]),
            (["run", "--seed", "-1"], ["--seed", "-1"]),
            (["run", "--seed", "x"], ["--seed", "x"]),
            (["run", "--soak", "5"], ["--soak", "10 to 7200", "5"]),
            (["run", "--soak", "nan"], ["--soak", "nan"]),
            (["run", "--soak", "60", "--profile"], ["--soak", "--profile"]),
            (["run", "--runs", "0"], ["--runs", "from 1 to 21"]),
            (["run", "--runs", "22"], ["--runs", "from 1 to 21"]),
            (["run", "--runs", "2.5"], ["--runs", "from 1 to 21"]),
            (["run", "--runs", "2", "--profile"], ["--runs 2", "--profile"]),
            (["run", "--soak", "60", "--time-limit", "50"], ["--soak", "--time-limit 50"]),
            (["run", "--soak", "60", "--device", "none"], ["--soak", "no GPU"]),
            (["run", "--verify"], ["--verify", "--soak"]),
            (["run", "--storage", ""], ["--storage", "expected a directory"]),
            (
                ["run", "--device", "none", "--storage", "/tmp", "--filter", "host.memory"],
                ["--storage", "--filter excludes", "host.storage.read"],
            ),
            (["run", "--soak", "60", "--verify", "--no-verify"], ["--verify", "--no-verify"]),
            (
                ["run", "--soak", "60", "--verify", "--time-limit", "100"],
                ["--soak 60 --verify", "--time-limit 100"],
            ),
            (["show"], ["PROFILE"]),
            (["show", GOLDEN, "--topic", "nonsense"], ["--topic nonsense", "findings", "power"]),
            (["show", GOLDEN, "--topic", ""], ["--topic", "findings"]),
            (["show", GOLDEN, "--topic", "power", "--all"], ["--topic", "--all"]),
            (["show", GOLDEN, "--json", "--all"], ["--json", "--all"]),
            (["worker"], ["--device"]),
        ):
            with self.subTest(arguments):
                self.assert_usage_error(peakline(*arguments, cwd=self.folder), *words)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_was_meant(self):
        for arguments, message in (
            ("report node7.json", "report: not a command; did you mean peakline-report?"),
            ("mfu", "mfu: not a command; did you mean peakline-mfu?"),
            ("shwo node7.json", "shwo: not a command; did you mean peakline show?"),
            ("bench", "bench: not a command; did you mean peakline benchmark?"),
            ("node7.json", "node7.json: not a command (see peakline --help)"),
            ("wroker", "wroker: not a command (see peakline --help)"),
            ("run --quik=1", "--quik=1: not an option of run; did you mean --quick?"),
            ("run -z", "-z: not an option of run (see peakline run --help)"),
            ("run surplus", "surplus: not an argument of run (see peakline run --help)"),
            # Not that PROFILE is missing, which may come next.
            ("show --jsn", "--jsn: not an option of show; did you mean --json?"),
            ("--all", "--all: goes after its command: show, check, compare, fleet"),
            ("--verson", "--verson: not an option; did you mean --version?"),
            ("benchmark --benchmark_fiter=x", "did you mean --benchmark_filter?"),
            ("run --min-samples x", "found x (see peakline run --help)"),
        ):
            with self.subTest(arguments):
                result = peakline(*arguments.split(), cwd=self.folder)
                self.assert_usage_error(result, message, "(see peakline", "--help)\n")
                if name := re.search(r"did you mean (peakline[ -]\w+)\?", result.stderr):
                    self.assertIn(f"(see {name[1]} --help)", result.stderr)

    def test_hostile_arguments(self):
        start = cpu_seconds()
        host = ["run", "--quick", "--device", "none"]
        for hostile in ("x" * 100_000, "\x1b[2J\x9b\u202e\x7f", "\udcff", "(" * 20_000):
            for arguments in (
                [*host, "--filter", hostile],
                [*host, "--filter", f"({hostile}"],
                [*host, "--max-noise", hostile],
                [*host, "--seed", hostile],
                [*host, "--output", f"/proc/{hostile}/"],
                [*host, "--output", f"/proc/{hostile}"],
                [*host, hostile],
                ["run", "--device", hostile],
                [hostile],
                ["show", hostile],
                ["compare", hostile, hostile],
                ["compare", GOLDEN, GOLDEN, "--fail-on", hostile],
            ):
                with self.subTest([str(argument)[:20] for argument in arguments]):
                    result = peakline(*arguments, cwd=self.folder)
                    self.assert_usage_error(result)
                    self.assertLess(len(result.stderr), 1100)
                    self.assertTrue(result.stderr.removesuffix("\n").isprintable(), result.stderr)
        self.assertLess(cpu_seconds() - start, 30)
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipIf(SANITIZED, "the sanitizers need address space too")
    def test_out_of_memory(self):
        large = self.folder / "large.json"
        large.write_text(json.dumps(["x" * 1000] * 20_000))
        # At the larger one, a destructor may be the first to lack memory.
        for mebibytes in (10, 45):
            result = peakline("compare", large, large, preexec_fn=with_memory(mebibytes))
            self.assert_usage_error(result, "memory")

    def test_filter(self):
        self.assert_usage_error(
            self.run_host("--filter", "["), "--filter '['", "regular expression"
        )
        self.assert_usage_error(self.run_host("--filter", "host.memroy.raed"), "host.memory.read")
        self.assert_usage_error(self.run_host("--filter", "threads:4096"), "matches no benchmark")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_filter_that_fits_only_the_other_mode(self):
        benchmarks = json.loads(peakline("list", "--json").stdout)["benchmarks"]
        points = [
            (b["id"], p)
            for b in benchmarks
            for p in b["points"]
            if b["device"] == "host" and not p["quick"] and p["params"]
        ]
        if not points:
            self.skipTest("every host point is part of --quick")
        identity, point = points[0]
        name = "/".join([identity, *(f"{k}:{v}" for k, v in point["params"].items())])
        self.assert_usage_error(self.run_host("--filter", f"^{name}$"), "--quick", "--full")

    def test_signal_before_anything_is_measured(self):
        # A reader that does not read keeps the command in front of any measurement.
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(write_end, bytes(4096))
        os.set_blocking(write_end, True)
        command = [PEAKLINE, "run", "--dry-run", "--device", "none"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=write_end)
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status")
            while "SigBlk:\t0000000000000000" in status.read_text():
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(10), 3)
        finally:
            process.kill()
            process.wait()
            os.close(read_end)
            os.close(write_end)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_unknown_devices(self):
        for device in ("GPU-00000000-0000-0000-0000-000000000000", "999", "first", "0,,1", ",", ""):
            with self.subTest(device):
                result = peakline("run", "--quick", "--device", device, cwd=self.folder)
                self.assert_usage_error(result, "--device")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_output_that_exists_is_kept(self):
        self.profile.write_text("mine")
        self.assert_usage_error(self.run_host("-o", self.profile), self.profile, "exists")
        self.assertEqual(self.profile.read_text(), "mine")
        link = self.folder / "link.json"
        link.symlink_to(self.folder / "nowhere")
        self.assert_usage_error(self.run_host("-o", link), link, "exists")
        self.assertEqual(sorted(self.folder.iterdir()), [link, self.profile])

    def test_result_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            listed = ["benchmark", "--device", "host", "--benchmark_list_tests"]
            for arguments in (["show", GOLDEN], ["list"], ["compare", GOLDEN, GOLDEN], listed):
                result = subprocess.run(
                    [PEAKLINE, *arguments], stdout=full, stderr=subprocess.PIPE, text=True
                )
                self.assertEqual(result.returncode, 2)
                self.assertRegex(
                    result.stderr, r"\Apeakline: cannot write to standard output(: [^\n]+)?\n\Z"
                )

    def test_output_beyond_the_limit_on_files(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # noqa: E731
        with (self.folder / "shown").open("w") as output:
            result = subprocess.run(
                [PEAKLINE, "show", GOLDEN], stdout=output, stderr=subprocess.PIPE, preexec_fn=limit
            )
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"cannot write to standard output", result.stderr)

    def test_output_that_cannot_be_written(self):
        start = cpu_seconds()
        for output in (
            self.folder / "no" / "p.json",
            "/proc/no/",
            str(GOLDEN) + "/",
            "/proc/p.json",
            "",
        ):
            with self.subTest(output):
                self.assert_usage_error(self.run_host("-o", output), output)
        missing = self.folder / "no"
        self.assert_usage_error(
            self.run_host("-o", missing / "p.json"), f"there is no directory {missing}"
        )
        for output in ("/dev/stdout", "/dev/null"):
            self.assert_usage_error(
                self.run_host("-o", output), output, "neither a file nor a directory"
            )
        locked = self.folder / "locked"
        locked.mkdir(mode=0o500)
        if os.geteuid() != 0:  # root may write there
            self.assert_usage_error(self.run_host("-o", locked), "Permission denied")
        self.assertLess(cpu_seconds() - start, 10)  # before anything is measured


class Storage(Case):
    """What `--storage` measures and leaves behind, and where there can be no file."""

    def run_in(self, folder, *options):
        arguments = ["run", "--quick", "--device", "none", "--filter", "host.storage"]
        return peakline(*arguments, "--storage", folder, "-o", self.profile, *options)

    def test_reads_are_measured_and_the_file_is_gone(self):
        with tempfile.TemporaryDirectory(prefix="peakline-cli-") as folder:
            result = self.run_in(folder, "--storage-size", "64MiB", "--anonymize")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(os.listdir(folder), [])
        profile = self.read()
        self.assertEqual({m["id"] for m in profile["measurements"]}, {"host.storage.read"})
        for m in profile["measurements"]:
            self.assertTrue(m["verified"], m)
            self.assertIn(m["launch"]["engine"], ("io_uring", "threads"))
        facts = profile["host"]["storage"]
        self.assertEqual(facts["file_bytes"], 64 << 20)
        self.assertTrue(facts["file_system"])
        self.assertFalse(facts.keys() & {"path", "source"})
        self.assertIn("storage.read", {c["resource"] for c in profile["ceilings"]})
        self.assertNotIn(pathlib.Path(folder).name, self.profile.read_text())

    def test_memory_is_called_memory(self):
        shared = pathlib.Path("/dev/shm")
        if not os.access(shared, os.W_OK):
            self.skipTest("no tmpfs to write to")
        result = self.run_in(shared, "--storage-size", "64MiB")
        self.assertEqual(result.returncode, 0, result.stderr)
        (title,) = [c["title"] for c in self.read()["curves"] if c["topic"] == "storage"]
        self.assertIn("memory, not storage", title)

    def run_on(self, kind, options, before=None):
        """A run on a file system of that kind, mounted for it alone, on which nothing is left."""
        folder = self.folder / "mounted"
        for name in ("mounted", "lower", "upper", "work"):
            (self.folder / name).mkdir()
        script = f"""
            mount -t {kind} -o {options} none "$0" || exit {SKIPPED}
            "$@"
            code=$?
            [ -z "$(ls -A "$0")" ] || echo "something is left" >&2
            exit $code
        """
        command = [PEAKLINE, "run", "--quick", "--device", "none", "--filter", "host.storage"]
        command += ["--storage", folder, "--storage-size", "64MiB", "-o", self.profile]
        result = subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", script, folder, *command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            preexec_fn=before,
        )
        if result.returncode == SKIPPED or result.stderr.startswith("unshare: "):
            self.skipTest(f"{kind} cannot be mounted here: {result.stderr}")
        self.assertNotIn("something is left", result.stderr)
        return result

    def assert_refused_on(self, kind, options, why, before=None):
        result = self.run_on(kind, options, before)
        self.assertEqual(result.returncode, 2, result.stderr)
        *notes, error = result.stderr.splitlines()
        self.assertTrue(error.startswith("peakline: --storage "), error)
        self.assertIn(why, error)
        self.assertLessEqual(len(notes), 1)  # that it writes
        self.assertFalse(self.profile.exists())

    def test_a_folder_that_is_read_only(self):
        self.assert_refused_on("tmpfs", "ro", "no file can be made there: Read-only file system")

    def test_a_disk_without_room(self):
        self.assert_refused_on("tmpfs", "size=40M", "do not fit into the 40 MiB that are free")

    def test_a_disk_without_room_for_a_file(self):
        self.assert_refused_on("tmpfs", "size=100M,nr_inodes=1", "No space left on device")

    def test_a_disk_that_ends_in_the_middle(self):
        limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (32 << 20, 32 << 20))
        why = "could not write 64 MiB: File too large"
        self.assert_refused_on("tmpfs", "size=200M", why, limit)

    def test_a_file_system_without_direct_reads(self):
        result = self.run_on("ramfs", "mode=700")
        self.assertEqual(result.returncode, 0, result.stderr)
        profile = self.read()
        self.assertFalse(profile["host"]["storage"].get("direct", False))
        for m in profile["measurements"]:
            self.assertIn("no O_DIRECT", m["reason"])
        (title,) = [c["title"] for c in profile["curves"] if c["topic"] == "storage"]
        self.assertTrue(title.startswith("Storage (ramfs) reads at "), title)
        self.assertIn("memory, not storage", title)

    def test_an_overlay_is_called_one(self):
        result = self.run_on("overlay", "lowerdir=lower,upperdir=upper,workdir=work")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read()["host"]["storage"]["file_system"], "overlay")
        (title,) = [c["title"] for c in self.read()["curves"] if c["topic"] == "storage"]
        self.assertTrue(title.startswith("Storage (overlay) reads at "), title)

    def test_a_killed_worker_leaves_no_file(self):
        with tempfile.TemporaryDirectory(prefix="peakline-cli-") as folder:
            storage = ["--storage", folder, "--storage-size", "64MiB"]
            with self.running(*storage, points=SEVERAL_WITH_STORAGE) as process:
                for worker in children_of(process.pid):
                    os.kill(worker, signal.SIGKILL)
                process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 3)
            self.assertEqual(os.listdir(folder), [])
        self.assertTrue(any("SIGKILL" in m["reason"] for m in self.read()["measurements"]))

    def test_a_kill_while_it_is_written_leaves_no_file(self):
        with tempfile.TemporaryDirectory(prefix="peakline-cli-") as folder:
            process = subprocess.Popen(
                [
                    PEAKLINE,
                    "run",
                    "--device",
                    "none",
                    "--storage",
                    folder,
                    "--storage-size",
                    "1GiB",
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            while "writing" not in process.stderr.readline():
                self.assertIsNone(process.poll())
            time.sleep(0.1)
            process.kill()
            process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, -signal.SIGKILL)
            self.assertEqual(os.listdir(folder), [])

    def test_a_kill_leaves_no_file(self):
        with tempfile.TemporaryDirectory(prefix="peakline-cli-") as folder:
            storage = ["--storage", folder, "--storage-size", "64MiB"]
            with self.running(*storage, points=SEVERAL_WITH_STORAGE) as process:
                workers = children_of(process.pid)
                self.assertEqual(os.listdir(folder), [])
                process.kill()
                process.communicate(timeout=PATIENCE_S)
                self.assert_gone(workers)  # who had it open, too
            self.assertEqual(os.listdir(folder), [])

    def test_where_there_can_be_no_file(self):
        with tempfile.TemporaryDirectory(prefix="peakline-cli-") as folder:
            file = pathlib.Path(folder) / "file"
            file.touch()
            for where, size, expected in (
                (pathlib.Path(folder) / "none", "64MiB", "no such directory"),
                (file, "64MiB", "not a directory"),
                (folder, "16TiB", "--storage-size takes less"),
                (folder, "1MiB", "expected 64MiB to 16TiB"),
            ):
                result = self.run_in(where, "--storage-size", size)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(expected, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)
                self.assertFalse(self.profile.exists())


class Interruptions(Case):
    """What comes in the middle of a run that measures."""

    def assert_readable(self, result):
        """It measured everything, and what it wrote can be read again."""
        self.assertEqual(result.returncode, 0, result.stderr)
        shown = peakline("show", self.profile)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        profile = self.read()
        self.assertTrue(profile["complete"])
        self.assertEqual({m["status"] for m in profile["measurements"]}, {"ok"})
        self.profile.unlink()
        return profile

    def test_stalls_spoil_no_profile(self):
        """As of a virtual machine that is paused, or a container that is throttled."""
        moments = random.Random(20261123)
        for _ in range(STALLED_RUNS):
            process = subprocess.Popen(
                [PEAKLINE, "run", "--quick", "--device", "none", "-o", self.profile],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            while process.poll() is None:
                time.sleep(moments.uniform(0.05, 0.4))
                for worker in children_of(process.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGSTOP)
                        time.sleep(moments.uniform(0.06, 0.4))
                        os.kill(worker, signal.SIGCONT)
            stdout, stderr = process.communicate()
            self.assert_readable(
                subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
            )

    def test_ignored_hangup_stays_ignored(self):
        process = subprocess.Popen(
            ["nohup", PEAKLINE, "run", *QUICKEST, "-o", self.profile],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not self.profile.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertTrue(self.read()["complete"])

    def test_coordinator_that_is_killed_leaves_a_profile_and_no_worker(self):
        with self.running() as process:
            workers = children_of(process.pid)
            self.assertTrue(workers)
            peak_kib = next(
                int(line.split()[1])
                for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
                if line.startswith("VmHWM:")
            )
            process.kill()
            process.wait(PATIENCE_S)
            self.assert_gone(workers)
        self.assertFalse(self.read()["complete"])
        self.assertEqual(peakline("show", self.profile).returncode, 0)
        self.assertLess(peak_kib, 200 * 1024)

    def test_time_limit(self):
        start = time.monotonic()
        result = peakline("run", *SEVERAL, "--time-limit", "0.4", "-o", self.profile)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertLess(time.monotonic() - start, 6)
        self.assertIn("the time limit was reached after", result.stderr)
        profile = self.read()
        self.assertFalse(profile["complete"])
        self.assertLess(len(profile["measurements"]), points())

    @contextlib.contextmanager
    def checking(self, *arguments):
        """A check that measures the host, and the process that does; ended in any case."""
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [PEAKLINE, "check", "--device", "none", "-o", self.profile, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(temporary)},
        )
        try:
            workers = []
            while process.poll() is None and not workers:
                time.sleep(0.01)
                workers = children_of(process.pid)
            self.assertTrue(workers)
            yield process, workers
            self.assert_gone(workers)
            self.assertEqual(list(temporary.iterdir()), [])
            self.assertFalse(self.read()["complete"])
            self.assertEqual(peakline("show", self.profile).returncode, 0)
            self.profile.unlink()
        finally:
            process.kill()
            process.communicate()

    def test_interrupted_check_says_so(self):
        line = "CANNOT JUDGE  stopped by a signal\n"
        for number, arguments, code in (
            (signal.SIGINT, [], 3),
            (signal.SIGTERM, ["--exit-codes", "npd"], 2),
            (signal.SIGHUP, ["--exit-codes", "nagios"], 3),
        ):
            with self.subTest(number), self.checking(*arguments) as (process, _):
                start = time.monotonic()
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=PATIENCE_S)
                self.assertLess(time.monotonic() - start, 1 if not SANITIZED else 5)
                self.assertEqual((process.returncode, stdout), (code, line), stderr)
        with self.checking("--json") as (process, _):
            process.terminate()
            document = json.loads(process.communicate(timeout=PATIENCE_S)[0])
        self.assertEqual((document["verdict"], document["profiles"]), ("cannot_judge", []))
        self.assertEqual(document["why_none"], "stopped by a signal")

    def test_second_signal_ends_a_check_at_once(self):
        with self.checking("--exit-codes", "npd") as (process, workers):
            os.kill(process.pid, signal.SIGSTOP)  # so that it sees both
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGCONT)
            stdout, stderr = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 2, stderr)
            self.assertEqual(stdout, "CANNOT JUDGE  stopped by a signal\n")
            self.assert_gone(workers)

    def test_time_limit_of_a_check(self):
        start = time.monotonic()
        with self.checking("--time-limit", "0.5") as (process, _):
            stdout, stderr = process.communicate(timeout=PATIENCE_S)
            self.assertLess(time.monotonic() - start, 6)
            self.assertEqual(process.returncode, 3, stderr)
            self.assertRegex(stdout, r"\ACANNOT JUDGE  [^\n]+\n\Z")
            self.assertIn("the time limit was reached after", stderr)

    def test_runs_that_the_time_limit_ends(self):
        arguments = [*QUICKEST, "--runs", "21", "--time-limit", "2"]
        result = peakline("run", *arguments, "-o", self.profile)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("before every point was measured as often as planned", result.stderr)
        profile = self.read()
        self.assertFalse(profile["complete"])
        (measurement,) = profile["measurements"]
        self.assertEqual(measurement["status"], "ok")
        self.assertEqual(peakline("show", self.profile).returncode, 0)


class Gpus(Case):
    """What is said of drivers and devices, through a driver library made for it (tests/zoo)."""

    FIRST = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
    SECOND = "GPU-bbbbbbbb-0000-0000-0000-000000000000"
    DRIVER_NOT_LOADED, NO_PERMISSION = "9", "4"
    GPU_IS_LOST = "15"

    def setUp(self):
        super().setUp()
        if "FAKE_NVML" not in os.environ:
            self.skipTest("a build without CUDA knows no GPU")

    def run_with(self, *arguments, **variables):
        environment = {**os.environ, "LD_LIBRARY_PATH": os.environ["FAKE_NVML"]}
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        environment.update(variables)
        return peakline("run", "--quick", "-o", self.profile, *arguments, env=environment)

    def device_of(self, name):
        plan = self.run_with("--dry-run", "--filter", "^(hbm|pcie)", **name)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        return {line[:5] for line in plan.stdout.splitlines()[1:-1]}

    def test_selection(self):
        self.assert_usage_error(self.run_with("--device", "7"), "--device", self.FIRST, self.SECOND)
        self.assert_usage_error(self.run_with("--device", "GPU-cc"), self.FIRST, self.SECOND)
        self.assertEqual(self.device_of({}), {"GPU 0", "GPU 1"})
        self.assertEqual(self.device_of({"CUDA_VISIBLE_DEVICES": "1"}), {"GPU 1"})
        self.assertEqual(self.device_of({"CUDA_VISIBLE_DEVICES": self.FIRST}), {"GPU 0"})
        self.assert_usage_error(
            self.run_with("--device", "none", "--filter", "hbm"), "no GPU is measured"
        )

    def zoo(self, *devices: "str | dict") -> dict:
        """The variable for devices of the zoo, by name or by what their NVML says."""
        paths = []
        for number, device in enumerate(devices):
            path = ZOO / f"{device}.json"
            if isinstance(device, dict):
                path = self.folder / f"device{number}.json"
                path.write_text(json.dumps({"reports": [{"constructed": "here", "nvml": device}]}))
            paths.append(str(path))
        return {"FAKE_NVML_DEVICES": ":".join(paths)}

    def test_mig_instances_are_the_devices(self):
        """Of a card that is cut up, each slice by its own UUID, and none of the whole."""
        instances = [f"MIG-cccccccc-0000-0000-0000-00000000000{i}" for i in range(2)]
        card = {
            "name": "Fake GPU",
            "memory_bus_bits": 5120,
            "mig": True,
            "mig_instances": 2 * [{"name": "Fake GPU MIG 1g.10gb", "multiprocessors": 16}],
        }
        devices = self.zoo(card, {"name": "Fake GPU"})
        plan = self.run_with("--dry-run", "--filter", "^hbm", **devices)
        self.assertEqual(
            {line[:5] for line in plan.stdout.splitlines()[1:-1]}, {"GPU 0", "GPU 1", "GPU 2"}
        )
        self.run_with("--filter", r"^hbm\.read", **devices)
        found = self.read()["devices"]
        self.assertEqual([device["uuid"] for device in found], [*instances, self.SECOND])
        for device in found[:2]:
            self.assertEqual((device["name"], device["sm_count"]), ("Fake GPU MIG 1g.10gb", 16))
            self.assertNotIn("memory_bus_bits", device)
            self.assertNotIn("nvlinks", device)
        one = self.run_with("--dry-run", "--device", instances[1], **devices)
        self.assertEqual(one.returncode, 0, one.stderr)
        none = self.run_with("--device", "0", **self.zoo({"name": "Fake GPU", "mig": True}))
        self.assert_usage_error(none, "has no instances", "nvidia-smi mig -cgi")

    def test_links_to_the_cpu(self):
        links = {"enabled": 1, "links": 10, "down": [9], "mb_per_s": 44712}
        card = {"name": "Fake GPU", "c2c": links}
        self.run_with("--device", "0", "--filter", r"^hbm\.read", **self.zoo(card))
        (device,) = self.read()["devices"]
        self.assertEqual(device["c2c"], {"count": 9, "bytes_per_s": 44.712e9})
        self.profile.unlink()
        devices = self.zoo("rtx-pro-6000-max-q")  # its driver says that there is none
        self.run_with("--device", "0", "--filter", r"^hbm\.read", **devices)
        (device,) = self.read()["devices"]
        self.assertNotIn("c2c", device)

    def test_driver_that_does_not_work(self):
        for code, word in ((self.DRIVER_NOT_LOADED, "driver"), (self.NO_PERMISSION, "/dev/nvidia")):
            for device in ("all", "0", self.FIRST):
                result = self.run_with("--device", device, FAKE_NVML_INIT=code)
                self.assert_usage_error(result, f"--device {device}", word)
            result = self.run_with("--filter", r"fma\.fp64", FAKE_NVML_INIT=code)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("measuring only the host", result.stderr.splitlines()[0])
            self.profile.unlink()

    def test_driver_that_is_too_old(self):
        result = self.run_with("--device", "0", FAKE_NVML_CUDA="12020")
        self.assert_usage_error(result, "535.104.05", "12.2", "update the driver")
        result = self.run_with("--filter", r"fma|hbm\.", FAKE_NVML_CUDA="12020")
        self.assertEqual(result.returncode, 3, result.stderr)
        profile = self.read()
        for device in profile["devices"]:
            self.assertIn("update the driver", device["unusable"])
        for m in profile["measurements"]:
            self.assertEqual(m["status"], "ok" if m["device"] == "host" else "error", m)
        # Each device is told of once, not once a point.
        self.assertEqual(result.stderr.count("update the driver"), 2)

    def test_what_a_driver_answers_0_for_is_not_known(self):
        keys = ("max_sm_clock_mhz", "max_memory_clock_mhz", "memory_bus_bits", "memory_mib")
        keys += tuple(f"power_limit{which}_w" for which in ("", "_default", "_max"))
        zero = {
            "name": "Fake GPU",
            **dict.fromkeys(keys, 0),
            "pcie": dict.fromkeys(("generation", "width", "max_generation", "max_width"), 0),
        }
        self.run_with("--device", "0", "--filter", r"^hbm\.read", **self.zoo(zero))
        (device,) = self.read()["devices"]
        answered = {"memory_bytes", "memory_free_bytes", "memory_bus_bits", "pcie"}
        answered |= {key for key in device if key.endswith(("_w", "_hz"))}
        self.assertEqual(answered & set(device), set(), device)

    def test_benchmarks_of_the_node_need_two_gpus(self):
        environment = os.environ | {"LD_LIBRARY_PATH": os.environ["FAKE_NVML"]}
        refused = {"FAKE_NVML_DEVICE1": self.NO_PERMISSION}
        for variables, why in ((refused, "fewer than two GPUs can be measured"), ({}, "cuda")):
            result = peakline("benchmark", "--device", "node", env=environment | variables)
            self.assert_usage_error(result, f"--device node: {why}")
        result = peakline("benchmark", "--device", "0,1", env=environment)
        self.assert_usage_error(result, "--device 0,1: expected one GPU, node or host")

    def test_check_leaves_a_machine_alone_that_is_in_use(self):
        environment = os.environ | {"LD_LIBRARY_PATH": os.environ["FAKE_NVML"]}
        result = peakline("check", "--if-idle", "-o", self.profile, env=environment)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stdout, "CANNOT JUDGE  in use: GPU 0: neighbour (4711)\n")
        self.assertIn("partial profile: a GPU is in use", result.stderr)
        self.assertEqual(self.read()["measurements"], [])
        # One that came while the host was measured.
        came = self.folder / "came.json"
        environment["FAKE_NVML_ALONE"] = "1"
        result = peakline("check", "--if-idle", "-o", came, env=environment)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stdout, "CANNOT JUDGE  in use: GPU 0: neighbour (4711)\n")
        self.assertNotEqual(json.loads(came.read_text())["measurements"], [])

    def test_device_without_permission(self):
        variables = {"FAKE_NVML_DEVICE1": self.NO_PERMISSION}
        result = self.run_with("--device", "1", **variables)
        self.assert_usage_error(result, "GPU 1", "/dev/nvidia1")
        result = self.run_with("--filter", r"fma\.fp64/threads|hbm\.", **variables)
        self.assertEqual(result.returncode, 3, result.stderr)
        devices = self.read()["devices"]
        self.assertIn("/dev/nvidia1", devices[1]["unusable"])
        self.assertEqual(len({d["uuid"] for d in devices}), 2)

    def test_a_lost_device_does_not_keep_the_others_from_being_read(self):
        result = self.run_with("--filter", r"hbm\.", FAKE_NVML_DEVICE1=self.GPU_IS_LOST)
        self.assertEqual(result.returncode, 3, result.stderr)
        devices = self.read()["devices"]
        self.assertEqual(devices[1]["unusable"], "Fake Error")
        self.assertNotIn("Fake Error", devices[0]["unusable"])
        self.assertEqual(devices[0]["processes"][0]["name"], "neighbour")

    def links_of(self, **variables):
        result = self.run_with("--filter", "^p2p.read.ce", **variables)
        self.assertEqual(result.returncode, 3, result.stderr)
        profile = self.read()
        self.profile.unlink()
        found = {f["code"]: f for f in profile["findings"] if f.get("device")}
        return [d["nvlinks"] for d in profile["devices"]], found, profile

    def test_links_between_devices(self):
        links, found, profile = self.links_of()
        self.assertEqual(
            links, 2 * [{"version": 4, "count": 4, "bytes_per_s": 26562000000.0, "to_switch": True}]
        )
        peer = {"index": 1, "path": "PHB", "nvlinks": 4, "atomics": True}
        self.assertEqual(profile["devices"][0]["peers"], [peer])
        self.assertFalse({"nvlink_down", "nvlink_slow", "peer_access_refused"} & set(found))
        self.assertTrue(all(m["device"] == "node" for m in profile["measurements"]))

    def test_links_that_are_down_or_slow(self):
        links, found, _ = self.links_of(FAKE_NVML_DOWN="2")
        self.assertEqual([of.get("down") for of in links], [None, [2]])
        self.assertEqual(found["nvlink_down"]["device"], self.SECOND)
        self.assertEqual(found["nvlink_down"]["severity"], "warning")
        self.assertIn("3 of 4", found["nvlink_down"]["message"])
        links, found, _ = self.links_of(FAKE_NVML_SLOW="0")
        self.assertEqual([of.get("slow") for of in links], [None, [0]])
        self.assertIn("NVLink 0 is slower", found["nvlink_slow"]["message"])

    def test_peer_access_that_is_refused(self):
        _, found, profile = self.links_of(FAKE_NVML_P2P="4")
        self.assertIn("turned off in the driver", found["peer_access_refused"]["message"])
        self.assertFalse(profile["devices"][0]["peers"][0]["atomics"])

    def test_device_that_cuda_does_not_find(self):
        result = self.run_with("--filter", r"fma\.fp64/threads|hbm\.")
        self.assertEqual(result.returncode, 3, result.stderr)
        profile = self.read()
        self.assertEqual([d["uuid"] for d in profile["devices"]], [self.FIRST, self.SECOND])
        self.assertTrue(all(d["unusable"] for d in profile["devices"]))
        self.assertEqual(profile["devices"][0]["processes"][0]["name"], "neighbour")
        self.assertEqual(profile["software"]["driver"], "535.104.05")
        by_device = [m["device"] for m in profile["measurements"]]
        self.assertEqual(
            sorted(set(by_device), key=by_device.index), ["host", self.FIRST, self.SECOND]
        )
        self.assertIn("GPU 0", result.stderr)


class Reading(Case):
    def test_corpus(self):
        for case in CASES:
            with self.subTest(case.name):
                self.profile.write_bytes(case.data)
                result = peakline("show", self.profile)
                if case.error:
                    self.assert_usage_error(result, case.error)
                    self.assertLess(len(result.stderr), 500)
                    self.assertTrue(result.stderr.removesuffix("\n").isprintable(), result.stderr)
                else:
                    self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_command_reads_gzipped_profiles(self):
        plain, zipped = self.folder / "plain", self.folder / "zipped"
        plain.mkdir()
        zipped.mkdir()
        (plain / "a.json").write_bytes(GOLDEN.read_bytes())
        (zipped / "a.json.gz").write_bytes(gzip.compress(GOLDEN.read_bytes()))
        for arguments in (
            lambda folder, file: ["show", file],
            lambda folder, file: ["compare", GOLDEN, "--", file, "--json"],
            lambda folder, file: ["repeatability", GOLDEN, file, "--json"],
            lambda folder, file: ["fleet", folder, "--csv"],
        ):
            wanted = peakline(*arguments(plain, plain / "a.json"))
            found = peakline(*arguments(zipped, zipped / "a.json.gz"))
            self.assertEqual(found.returncode, wanted.returncode, found.stderr)
            self.assertEqual(
                (found.stdout + found.stderr).replace(str(zipped), str(plain)).replace(".gz", ""),
                wanted.stdout + wanted.stderr,
            )

    @unittest.skipIf(SANITIZED, "the sanitizers need more memory")
    def test_what_is_too_large_for_the_memory(self):
        # Some fourteen times as large in memory as in the file.
        much = "[" + "[],{},[[]]," * 1_000_000 + "0]"
        self.profile.write_text(GOLDEN.read_text().replace('"mode"', f'"x": {much}, "mode"', 1))
        for mebibytes in (20, 45, 75, 105, 150):
            result = peakline("show", self.profile, preexec_fn=with_memory(mebibytes))
            self.assert_usage_error(result, self.profile, "too large for this machine's memory")

    def test_what_cannot_be_read(self):
        self.assert_usage_error(peakline("show", self.profile), self.profile, "no such file")
        self.assert_usage_error(peakline("show", self.folder), self.folder, "directory")

    def test_report_has_the_same_headlines(self):
        sys.path.insert(0, str(SOURCE / "reports"))
        import peakline as reports
        from peakline import units
        from peakline.page.tiles import NO_VALUE, headlines

        profile = reports.load(GOLDEN)
        document = json.loads(peakline("show", GOLDEN, "--json").stdout)
        self.assertTrue(document["devices"])
        for device in document["devices"]:
            shown = [
                (h["label"], units.rate(h["value"], h["unit"]) if h["value"] else NO_VALUE)
                for h in device["headlines"]
            ]
            reported = [(h.what, h.value) for h in headlines(profile, device["device"])]
            self.assertEqual(reported, shown)

    def test_report_bounds_decoding_alike(self):
        sys.path.insert(0, str(SOURCE / "reports"))
        import peakline as reports
        from peakline import units

        llama = reports.Transformer.uniform(32, 32, 128, 14336, 128256, kv_heads=8)
        for file in (REFERENCE, REFERENCE.with_name("nvidia-h200-x2.json"), GOLDEN):
            profile = reports.load(file)
            gpus = {gpu.uuid for gpu in profile.devices} & set(profile.measured_devices())
            bounds = [
                reports.decode_bound(profile, llama, reports.Serving(device=gpu)) for gpu in gpus
            ]
            rate = units.number(min(bound.tokens_per_s for bound in bounds))
            line = f"Llama-3.1-8B in BF16 decodes at most {rate} tokens/s (HBM read)."
            self.assertIn(line, peakline("show", file).stdout)

    def test_golden_file(self):
        for arguments in ([], ["--all"], ["--topic", "Power"]):
            result = peakline("show", GOLDEN, *arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("NVIDIA H200", result.stdout)

    def test_tables_fit_a_narrow_terminal(self):
        later = self.folder / "later.json"
        profile = json.loads(REFERENCE.read_text())
        profile["created"] = "2026-11-25T08:22:45Z"
        later.write_text(json.dumps(profile))
        columns = 60
        for arguments in (
            ["show", REFERENCE],
            ["show", REFERENCE, "--topic", "caches"],
            ["show", REFERENCE, "--topic", "compute"],
            ["show", REFERENCE, "--topic", "bandwidth"],
            ["show", REFERENCE, "--topic", "host"],
            ["check", REFERENCE, "--all"],
            ["compare", REFERENCE, later, "--all"],
            ["fleet", REFERENCE, "--all"],
            ["repeatability", REFERENCE, later],
            ["list"],
        ):
            lines = on_terminal(columns, *arguments).splitlines()
            self.assertGreater(len(lines), 3)
            # The verdict may be longer: schedulers and monitors take it as one line.
            for line in lines[1:]:
                with self.subTest(arguments):
                    self.assertLessEqual(len(line), columns, line)


def slow_profile(file):
    """The H200 of the reference, of which one precision has lost a tenth."""
    profile = json.loads(REFERENCE.read_text())
    for ceiling in profile["ceilings"]:
        if (ceiling["resource"], ceiling["basis"]) == ("tensor.bf16", "burst"):
            for key in ("value", "ci_low", "ci_high"):
                ceiling[key] *= 0.9
    file.write_text(json.dumps(profile))
    return file


class Checks(Case):
    def slow(self):
        return slow_profile(self.folder / "slow.json")

    def write(self, name, profile):
        file = self.folder / name
        file.write_text(json.dumps(profile))
        return file

    def test_check(self):
        good = peakline("check", REFERENCE)
        self.assertEqual((good.returncode, good.stderr), (0, ""))
        self.assertEqual(
            good.stdout,
            "PASS  gpu0, NVIDIA H200: memory, compute, Tensor Cores, PCIe, health; "
            "number of GPUs not given\n",
        )
        fewer = peakline("check", REFERENCE, "--gpus", "2")
        self.assertEqual(fewer.returncode, 1)
        self.assertIn("1 of 2 GPUs measured", fewer.stdout)
        slow = self.slow()
        bad = peakline("check", slow)
        self.assertEqual((bad.returncode, bad.stderr), (1, ""))
        first, *reasons = bad.stdout.splitlines()
        self.assertRegex(first, r"^FAIL  gpu0, NVIDIA H200: tensor.bf16/burst.* limit \d\.\d %$")
        self.assertLessEqual(len(first), 80)
        self.assertIn("fail  gpu0/tensor.bf16/burst/siblings", bad.stdout)
        self.assertLess(len(reasons), 8)
        self.assertIn("standard deviations", peakline("check", slow, "--all").stdout)
        explained = peakline("check", slow, "--explain", "tensor.bf16/burst")
        self.assertEqual(explained.returncode, 0)
        self.assertRegex(explained.stdout, r"(?s)below the median.*between cards.*below it")
        names = ("gpu0/tensor.bf16/burst", "gpu0/tensor.bf16/burst/siblings")
        excused = peakline("check", slow, *(f"--allow={name}" for name in names))
        self.assertEqual(excused.returncode, 0)
        for convention, fails in (("nagios", 2), ("npd", 1)):
            result = peakline("check", slow, "--exit-codes", convention)
            self.assertEqual(result.returncode, fails)
        self.assertEqual(result.stdout, first + "\n")

    def test_a_file_that_cannot_be_read_is_no_critical_state(self):
        missing = self.folder / "missing.json"
        for convention, code in (("peakline", 2), ("npd", 2), ("nagios", 3)):
            result = peakline("check", missing, "--exit-codes", convention)
            self.assertEqual(result.returncode, code)
            self.assertIn("missing.json", result.stderr)

    def test_check_writes_documents(self):
        junit, metrics = self.folder / "junit.xml", self.folder / "peakline.prom"
        result = peakline("check", self.slow(), "--json", "--junit", junit, "--prometheus", metrics)
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        document = json.loads(result.stdout)
        self.assertEqual((document["schema"], document["verdict"]), ("peakline-check", "fail"))
        suite = ElementTree.parse(junit).find("testsuite")
        failures = [case.get("name") for case in suite if case.find("failure") is not None]
        self.assertEqual(failures, ["gpu0/tensor.bf16/burst", "gpu0/tensor.bf16/burst/siblings"])
        self.assertEqual((suite.get("failures"), int(suite.get("tests"))), ("2", len(suite)))
        sample = re.compile(r'\w+\{\w+="[^"]*"(,\w+="[^"]*")*\} -?[0-9.e+-]+')
        help_or_type = re.compile(r"# (HELP \w+ [^\n]+\.|TYPE \w+ gauge)")
        for line in metrics.read_text().splitlines():
            self.assertTrue(sample.fullmatch(line) or help_or_type.fullmatch(line), line)

    def test_check_replaces_no_file_that_is_no_report(self):
        profile, pipe = self.folder / "node7.json", self.folder / "pipe"
        profile.write_text("{}")
        os.mkfifo(pipe)
        for option in ("--junit", "--prometheus"):
            # Before it measures: there is no other line.
            refused = peakline("check", "--device", "none", option, profile)
            self.assert_usage_error(refused, option, str(profile), "not overwritten")
            self.assertEqual(profile.read_text(), "{}")
            refused = peakline("check", "--device", "none", option, "")
            self.assert_usage_error(refused, option, "without a name")
            plain = peakline("check", REFERENCE).stdout
            beginning = "<?xml" if option == "--junit" else "# HELP peakline_check_"
            for stream in ("/dev/stdout", "/proc/self/fd/1"):
                printed = peakline("check", REFERENCE, option, stream)
                self.assertTrue(printed.stdout.startswith(beginning), printed.stdout[:80])
                self.assertTrue(printed.stdout.endswith(plain))
            self.assertTrue(pathlib.Path("/dev/stdout").is_symlink())
            redirected = self.folder / f"redirected{option}"
            with redirected.open("w") as stdout:
                command = [PEAKLINE, "check", REFERENCE, option, "/dev/stdout"]
                subprocess.run(command, stdout=stdout, timeout=PATIENCE_S, check=True)
            self.assertEqual(redirected.read_text(), printed.stdout)
            with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as reader:
                self.assertEqual(peakline("check", REFERENCE, option, pipe).returncode, 0)
                self.assertEqual(reader.read(), printed.stdout.removesuffix(plain))
            self.assertTrue(pipe.is_fifo())

    def test_check_against_the_cards_of_a_folder(self):
        folder = self.folder / "profiles"
        folder.mkdir()
        for number in range(6):
            profile = json.loads(REFERENCE.read_text())
            text = json.dumps(profile).replace(
                profile["devices"][0]["uuid"], f"GPU-{number:08x}-0000-0000-0000-000000000000"
            )
            profile = json.loads(text)
            profile["host"]["hostname"] = f"node{number}"
            profile["devices"][0]["name"] = "NVIDIA X1"
            (folder / f"{number}.json").write_text(json.dumps(profile))
        unknown = peakline("check", folder / "0.json")
        self.assertEqual(unknown.returncode, 0)
        self.assertIn("(by NVIDIA H200 shares)", unknown.stdout)
        against = peakline("check", folder / "0.json", "--against", folder, "--all")
        self.assertEqual(against.returncode, 0)
        self.assertIn("  5 cards", against.stdout)  # the card itself is none of them
        ours = self.folder / "ours.json"
        written = peakline("fleet", folder, "--write-reference", ours)
        self.assertEqual(written.returncode, 0)
        self.assertRegex(
            written.stderr, r"\Apeakline: wrote .*: NVIDIA X1, full runs of 6 cards\n\Z"
        )
        kept = peakline("check", folder, "--against", ours, "--all")
        self.assertEqual(kept.returncode, 0)
        self.assertIn("  6 cards", kept.stdout)
        again = peakline("fleet", folder, "--write-reference", ours)
        self.assert_usage_error(again, "--write-reference", "not overwritten")
        # A slow card is no part of a reference, and a fleet of which half is slow makes none.
        for slow, words in ((range(1), "1 of 6 cards left out"), (range(3), "needs most of its")):
            for number in slow:
                file = folder / f"{number}.json"
                profile = json.loads(file.read_text())
                for ceiling in profile["ceilings"]:
                    if ceiling["resource"] == "hbm.read" and "ci_low" in ceiling:
                        for key in ("value", "ci_low", "ci_high"):
                            ceiling[key] *= 0.9
                file.write_text(json.dumps(profile))
            ours.unlink()
            written = peakline("fleet", folder, "--write-reference", ours)
            self.assertIn(words, written.stderr)
            self.assertEqual(ours.exists(), written.returncode == 0)
        self.assertEqual(written.returncode, 2)

    def test_rules_of_a_site(self):
        def checked(rules, *arguments):
            file = self.folder / "rules.toml"
            file.write_text(rules)
            return peakline("check", self.slow(), "--rules", file, *arguments)

        loose = """
            [[rule]]
            name = "tensor.bf16/burst"
            loss_percent = 15
            reason = "a shared node"
            [[rule]]
            name = "gpu0/tensor.bf16/burst/siblings"
            outcome = "warn"
            reason = "looked at by hand"
        """
        passed = checked(loose)
        self.assertEqual((passed.returncode, passed.stderr), (0, ""))
        self.assertRegex(passed.stdout, r"only\s+warns by the rules: looked at by hand")
        self.assertRegex(
            passed.stdout, r"limit\s+7\d\d\s+TFLOP/s\s+by\s+the\s+rules: a shared node"
        )
        self.assertIn("by the rules: a shared node", checked(loose, "--all").stdout)
        strict = '[[rule]]\nname = "hbm.read/measured"\nlimit = 4.9e12\nreason = "contract"\n'
        failed = checked(strict)
        self.assertEqual(failed.returncode, 1)
        self.assertRegex(
            failed.stdout, r"hbm.read/measured +HBM read: 46\d\d GB/s, limit 4900 GB/s"
        )
        for rules, words in (
            ("[[rule]\n", ["line 1", "TOML"]),
            ("[^rule]\n", ["line 1", "TOML"]),
            ("[[\0rule]]\n", ["line 1", "TOML"]),
            ("[[rule]]\nlimit = \u03e0\n", ["line 2", "TOML"]),
            ("[rule]\n", ["[[rule]]"]),
            ("", ["[[rule]]"]),
            ('[[rule]]\nname = "a"\nlimit = 1\n', ["rule 1", "reason"]),
            ('[[rule]]\nname = "a"\nreason = "b"\n', ["rule 1", "limit"]),
            ('[[rule]]\nname = "a"\nreason = "b"\nlimit = -1\n', ["rule 1", "limit"]),
            ('[[rule]]\nname = "a"\nreason = "b"\nloss_percent = 100\n', ["loss_percent"]),
            ('[[rule]]\nname = "a"\nreason = "b"\noutcome = "pass"\n', ["warn", "ignore"]),
            ('[[rule]]\nname = "a"\nreason = "b"\nlimits = 1\n', ["limits", "loss_percent"]),
            (strict + strict, ["rule 2", "hbm.read/measured"]),
        ):
            with self.subTest(rules):
                self.assert_usage_error(checked(rules), "rules.toml", *words)

    def test_against_each_population_of_the_corpus(self):
        for case in POPULATION_CASES:
            with self.subTest(case.name):
                file = self.folder / "ours.json"
                file.write_bytes(case.data)
                result = peakline("check", GOLDEN, "--against", file)
                if case.error:
                    self.assert_usage_error(result, f"{file}: ", case.error)
                    self.assertLess(len(result.stderr), 500)
                else:
                    self.assertEqual(result.stderr, "")
                    self.assertTrue(result.stdout)

    def test_bad_usage_of_check(self):
        broken = self.write("broken.json", {"schema": "peakline-population", "schema_version": 1})
        for arguments, words in (
            (["missing.json"], ["missing.json", "no such file"]),
            ([REFERENCE, "--against", "missing.json"], ["missing.json", "no such file"]),
            ([REFERENCE, "--against", broken], [broken, "populations"]),
            # Before it measures: there is no other line.
            (["--device", "none", "--against", "missing.json"], ["missing.json", "no such file"]),
            ([REFERENCE, "--rules", "missing.toml"], ["missing.toml", "no such file"]),
            ([REFERENCE, "--full"], ["--full"]),
            ([REFERENCE, "--time-limit", "9"], ["--time-limit"]),
            (["--time-limit", "0"], ["--time-limit", "a number above 0"]),
            (["--device", "none", "-o", "no/p.json"], ["--output", "no/p.json"]),
            ([REFERENCE, "--exit-codes", "rain"], ["--exit-codes", "nagios"]),
            ([REFERENCE, "--explain", "rain"], ["--explain rain", "--all"]),
            ([REFERENCE, "--junit", "no/such/folder/x.xml"], ["no/such/folder/x.xml"]),
        ):
            with self.subTest(arguments):
                self.assert_usage_error(peakline("check", *arguments), *words)


class Comparison(Case):
    def write(self, name, change):
        """The golden profile of another minute, after `change`."""
        profile = json.loads(GOLDEN.read_text())
        profile["created"] = f"2026-11-21T10:{len(list(self.folder.iterdir())):02}:00Z"
        change(profile)
        file = self.folder / name
        file.write_text(json.dumps(profile))
        return file

    def scaled(self, name, factor):
        """The golden profile with every measured figure this much higher."""

        def scale(profile):
            for ceiling in profile["ceilings"]:
                if ceiling["basis"] not in ("theoretical", "datasheet"):
                    for key in ("value", "ci_low", "ci_high"):
                        ceiling[key] *= factor

        return self.write(name, scale)

    def test_what_no_run_would_settle_has_an_advice(self):
        reference = SOURCE / "reports/reference/nvidia-h200.json"
        both_ways = "pcie.bidirectional/measured varies too much from run to run."

        def said(threshold):
            text = peakline("compare", "--threshold", threshold, reference, reference).stdout
            return " ".join(text.split())

        self.assertNotRegex(said("2"), r"\d+ (slower|faster)")
        self.assertIn(both_ways, said("2"))
        advice = re.search(r"--threshold (\d\.\d) would settle (\d+)", said("0.5"))
        self.assertIsNotNone(advice, said("0.5"))
        settled = said(advice[1])
        self.assertIn(" 1 inconclusive,", settled)
        self.assertNotIn("would settle", settled)
        self.assertIn(both_ways, settled)

    def test_a_run_counts_once(self):
        for command in ("compare", "repeatability"):
            result = peakline(command, GOLDEN, GOLDEN, *(["--", GOLDEN] * (command == "compare")))
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"{GOLDEN}: the same run as {GOLDEN}; give each run once", result.stderr)

    def test_repeatability_says_what_it_leaves_out(self):
        quick = self.write("quick.json", lambda profile: profile.update(mode="quick"))
        files = (GOLDEN, self.scaled("other.json", 1.001), quick)
        text = peakline("repeatability", *files).stdout
        self.assertIn("2 full runs", text)
        self.assertIn(
            "1 profile left out: no other run of the same devices in the same mode.",
            " ".join(text.split()),
        )
        for count in (2, 3):
            study = peakline("repeatability", *files[:count], "--json")
            self.assertEqual(json.loads(study.stdout)["left_out"], count - 2)

    def test_repeatability_of_several_runs(self):
        slower = self.scaled("slower.json", 0.5)
        result = peakline("repeatability", GOLDEN, slower)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("2 full runs", result.stdout)
        self.assertIn("fails in 1 of 2 ordered pairs", result.stdout)
        study = json.loads(peakline("repeatability", GOLDEN, slower, "--json").stdout)
        self.assertEqual(study["schema"], "peakline-repeatability")
        self.assertEqual((study["studies"][0]["pairs"], study["studies"][0]["alarms"]), (2, 1))
        one = peakline("repeatability", GOLDEN)
        self.assertEqual(one.returncode, 2)
        self.assertIn("at least two profiles", one.stderr)

    def test_runs_that_were_kept(self):
        """Of a machine whose runs differ by more than is usual, a comparison accuses none."""

        def run(number):
            profile = json.loads(REFERENCE.read_text())
            profile["created"] = f"2026-11-0{number + 1}T08:00:00Z"
            profile["devices"][0]["name"] = "NVIDIA X1"  # of which no cards are known
            for ceiling in profile["ceilings"]:
                if ceiling["resource"] == "tensor.bf16" and "ci_low" in ceiling:
                    for key in ("value", "ci_low", "ci_high"):
                        ceiling[key] *= (1, 0.94, 1.02, 0.96, 1.03, 0.95, 1.01, 0.97)[number]
            file = self.folder / f"{number}.json"
            file.write_text(json.dumps(profile))
            return file

        runs = [run(number) for number in range(8)]
        compared = ("compare", runs[0], runs[1], "--fail-on", "regression")
        self.assertEqual(peakline(*compared).returncode, 1)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        kept = elsewhere / "ours.population.json"
        written = peakline("repeatability", *runs, "--write", kept)
        self.assertEqual(written.returncode, 0)
        self.assertIn("full runs of 1 card", written.stderr)
        again = peakline("repeatability", *runs, "--write", kept)
        self.assert_usage_error(again, "--write", "not overwritten")
        named = peakline(*compared, "--population", kept)
        self.assertEqual(named.returncode, 0, named.stdout)
        self.assertRegex(named.stdout, r"\APASS [^\n]*\(with ours.population.json\)")
        found = kept.rename(self.folder / "ours.population.json")
        self.assertEqual(peakline(*compared).returncode, 0)
        hidden = found.rename(self.folder / ".ours.population.json")
        self.assertEqual(peakline(*compared).returncode, 1)
        found = hidden.rename(found)
        said = json.loads(peakline(*compared, "--json").stdout)
        self.assertEqual(said["populations"], [str(found)])
        # It is no profile, and what is no population is refused by its name.
        self.assertEqual(peakline("fleet", self.folder).returncode, 0)
        self.assertIn("  1 card", peakline("check", runs[0], "--against", found, "--all").stdout)
        broken = self.folder / "broken.population.json"
        broken.write_text("{}")
        for command in (compared, ("run", "--dry-run", "-o", f"{self.folder}/")):
            self.assert_usage_error(peakline(*command), str(broken), "schema")
        self.assert_usage_error(
            peakline("run", "--dry-run", "--population", runs[0]), str(runs[0]), "schema"
        )

    def test_fleet(self):
        folder = self.folder / "fleet"
        folder.mkdir()
        for number in range(6):
            text = REFERENCE.read_text()
            uuid = json.loads(text)["devices"][0]["uuid"]
            profile = json.loads(text.replace(uuid, f"GPU-{number:08x}" + uuid[12:]))
            profile["host"]["hostname"] = f"node{number}"
            (folder / f"node{number}.json").write_text(json.dumps(profile))
        (folder / ".half-written.json").write_text("{")
        os.mkfifo(folder / "pipe.json")
        (folder / "folder.json").mkdir()
        result = peakline("fleet", folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\APASS  6 GPUs: none stands out\n")
        self.assertRegex(result.stdout, r"NVIDIA H200 · full runs · \d+ GPUs")
        self.assertNotIn("node5", result.stdout)
        self.assertRegex(peakline("fleet", folder, "--all").stdout, r"node5 +GPU \d+ +\w+")
        few = peakline("fleet", folder / "node1.json", "--fail-on", "outlier")
        self.assertEqual(few.returncode, 0)
        self.assertRegex(few.stdout, r"\APASS  1 GPU: none stands out")
        slow = folder / "node3.json"
        profile = json.loads(slow.read_text())
        for ceiling in profile["ceilings"]:
            if ceiling["resource"] == "hbm.read" and "ci_low" in ceiling:
                for key in ("value", "ci_low", "ci_high"):
                    ceiling[key] /= 2
        slow.write_text(json.dumps(profile))
        self.assertEqual(peakline("fleet", folder).returncode, 0)
        failed = peakline("fleet", folder, "--fail-on", "outlier", "--json")
        self.assertEqual((failed.returncode, failed.stderr), (1, ""))
        document = json.loads(failed.stdout)
        self.assertEqual((document["schema"], document["profiles"]), ("peakline-fleet", 6))
        low = {
            (member["node"], row["resource"])
            for group in document["groups"]
            for member in group["members"]
            for row in member["ceilings"]
            if row["standing"] == "low"
        }
        self.assertEqual(low, {("node3", "hbm.read")})
        self.assertRegex(
            peakline("fleet", folder).stdout,
            r"\AFAIL  1 of 12 devices; node3/gpu0: HBM read 5\d\.\d % low, limit ",
        )
        names = {
            rule["name"]
            for group in document["groups"]
            for member in group["members"]
            for rule in member["rules"]
        }
        excused = peakline(
            "fleet", folder, "--fail-on", "outlier", *(f"--allow={name}" for name in names)
        )
        self.assertEqual(excused.returncode, 0)
        rows = list(csv.DictReader(io.StringIO(peakline("fleet", folder, "--csv").stdout)))
        self.assertIn(
            ("node3", "low"), {(r["node"], r["standing"]) for r in rows if r["cause"] == ""}
        )
        # One unreadable file of many is left out, and said to be.
        (folder / "broken.json").write_text("{")
        partial = peakline("fleet", folder)
        self.assertEqual(partial.returncode, 3)
        self.assertRegex(partial.stderr, r"\Apeakline: left out: [^\n]*broken.json: [^\n]+\n\Z")
        self.assertIn("6 profiles", partial.stdout)

    def test_bad_usage_of_fleet(self):
        empty = self.folder / "empty"
        empty.mkdir()
        for arguments, words in (
            ([], ["PATH"]),
            ([self.profile], [self.profile, "no such file"]),
            ([empty], [empty, "*.json"]),
            ([GOLDEN, "--json", "--csv"], ["--csv", "--json"]),
            ([GOLDEN, "--fail-on", "rain"], ["--fail-on", "outlier"]),
            ([GOLDEN, "--threshold", "-1"], ["--threshold"]),
        ):
            with self.subTest(arguments):
                self.assert_usage_error(peakline("fleet", *arguments), *words)

    def test_regression_only_fails_where_asked(self):
        slower = self.scaled("slower.json", 0.5)
        for separator in ([], ["--"]):
            arguments = ["compare", GOLDEN, *separator, slower]
            result = peakline(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertRegex(result.stdout, r"\ASLOWER  gpu3/hbm.read/measured: 0.500 times as ")
            self.assertNotIn("FAIL", result.stdout)
            failed = peakline(*arguments, "--fail-on", "regression")
            self.assertEqual(failed.returncode, 1)
            self.assertRegex(failed.stdout, r"\AFAIL  gpu3/hbm.read/measured: ")
        improved = peakline("compare", slower, "--", GOLDEN, "--fail-on", "regression")
        self.assertEqual(improved.returncode, 0, improved.stderr)
        self.assertIn("faster", improved.stdout)
        self.assertTrue(peakline("compare", slower, GOLDEN).stdout.startswith("FASTER  "))
        same = peakline("compare", GOLDEN, "--fail-on", "regression", "--", GOLDEN)
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertTrue(same.stdout.startswith("PASS  "), same.stdout)
        self.assertTrue(peakline("compare", GOLDEN, GOLDEN).stdout.startswith("SAME  "))

    def test_what_is_gone_fails_unless_it_is_allowed(self):
        def lose(profile):
            profile["devices"] = profile["findings"] = []
            for key in ("measurements", "ceilings", "missing_ceilings", "rooflines", "headlines"):
                profile[key] = [row for row in profile[key] if row.get("device") == "host"]
            profile["curves"] = profile["memory_map"] = []

        gate = ["compare", GOLDEN, self.write("lost.json", lose), "--fail-on", "regression"]
        result = peakline(*gate)
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertIn("gpu3: missing: NVIDIA H200", result.stdout)
        self.assertEqual(peakline(*gate, "--allow", "gpu3").returncode, 1)
        # What is left is the host of a virtual machine, which nobody can judge.
        names = ("gpu3", "gpu4", "gpu5", "machine/judged")
        excused = peakline(*gate, *(f"--allow={name}" for name in names), "--json")
        self.assertEqual((excused.returncode, excused.stderr), (0, ""))
        document = json.loads(excused.stdout)["gate"]
        self.assertEqual((document["passed"], document["unused"]), (True, ["gpu5"]))
        self.assertEqual(
            [reason["name"] for reason in document["reasons"]], ["gpu3", "gpu4", "machine/judged"]
        )

    def test_several_runs_a_side_and_the_document(self):
        runs = [self.scaled(f"{i}.json", 1 + i / 1000) for i in range(6)]
        result = peakline("compare", *runs[:3], "--", *runs[3:], "--json", "--threshold", "5")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["schema"], "peakline-comparison")
        self.assertIn(len(runs) // 2, document.values())

    def test_bad_usage(self):
        for arguments, words in (
            (["compare"], ["BASE"]),
            (["compare", GOLDEN], ["BASE... -- NEW..."]),
            (["compare", GOLDEN, "--"], []),
            (["compare", GOLDEN, GOLDEN, GOLDEN], ["BASE... -- NEW..."]),
            (["compare", GOLDEN, "--", self.profile], [self.profile, "no such file"]),
            (["compare", GOLDEN, GOLDEN, "--threshold", "-1"], ["--threshold"]),
            (["compare", GOLDEN, GOLDEN, "--threshold", "nan"], ["--threshold", "nan"]),
            (["compare", GOLDEN, GOLDEN, "--fail-on", "rain"], ["--fail-on", "regression"]),
        ):
            with self.subTest(arguments):
                self.assert_usage_error(peakline(*arguments), *words)


def main():
    # Ctrl-C must reach what tests start, also where these run in the background and so ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1], sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful() or result.testsRun == 0:
        return 1
    if len(result.skipped) < result.testsRun:
        return 0
    # The summary of scripts/test shows the last line.
    print("; ".join(sorted({why for _, why in result.skipped})))
    return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
