"""No text of an input steers a terminal, forges a line, or runs on a page: printers see to that.

HOSTILE is planted in every text of every file, in names of files and folders, and in arguments.
"""

import csv
import gzip
import io
import json

import peakline
import pytest
from conftest import (
    CAUSES,
    DATA,
    GOLDEN,
    TWO_GPUS,
    Command,
    config_of,
    document_of,
    hostile,
    only,
    unfolded,
)
from hostile import HOSTILE, NAME, assert_tame, in_texts, planted
from made_traces import export
from peakline import commands
from peakline.commands.man import PARSERS
from peakline.models.fields import ConfigError
from peakline.peaks.export import EXPORTS
from peakline.profile import PeakError, ProfileError, schema
from peakline.profile.errors import FieldError
from peakline.workload.kernel import WorkloadError
from test_comparison import compared
from test_fleet import made_fleet
from test_report import Page

# Also of a glyph that a font lacks.
pytestmark = pytest.mark.filterwarnings("error")


class Site:
    """A folder of files whose every text is hostile, and whose names are."""

    def __init__(self, folder):
        self.folder = folder / NAME
        self.folder.mkdir()

    def write(self, name, content):
        path = self.folder / f"{NAME}-{name}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def document(self, name, content):
        return self.write(name, json.dumps(content))

    def model(self, kind, config, quantization=None, header=None):
        folder = self.folder / f"{NAME}-{kind}"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        if quantization:
            (folder / "hf_quant_config.json").write_text(json.dumps(quantization))
        if header:
            text = json.dumps(header).encode()
            path = folder / f"{NAME}.safetensors"
            path.write_bytes(len(text).to_bytes(8, "little") + text)
        return folder


def table(rows):
    target = io.StringIO()
    csv.writer(target, quoting=csv.QUOTE_ALL).writerows(rows)
    return target.getvalue()


def ncu(path):
    """An export of ncu with HOSTILE in its kernels' names and texts."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if len(row) > 20][:4]
    head, units, *launches = rows
    texts = [i for i, cell in enumerate(launches[0]) if not cell[:1].isdigit() and head[i] != "CC"]
    for launch in launches:
        for i in texts:
            launch[i] += HOSTILE
    return table([head, units, *launches])


def nsight(path):
    process, thread = 3 << 24, (3 << 24) | 77
    export(
        path,
        {
            "StringIds": [(1, f"kernel{HOSTILE}"), (2, f"cudaLaunchKernel{HOSTILE}")],
            "TARGET_INFO_GPU": [(0, f"NVIDIA{HOSTILE}")],
            "TARGET_INFO_CUDA_DEVICE": [(0, 0, 3, f"GPU-0{HOSTILE}")],
            "DIAGNOSTIC_EVENT": [(2, f"lost{HOSTILE}")],
            "CUPTI_ACTIVITY_KIND_KERNEL": [
                (1_000, 101_000, 0, 7, 1, process, 1, 1, None),
                (200_000, 300_000, 0, 7, 3, process, 1, 1, None),
            ],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [
                (0, 900, thread, 1, 2),
                (195_000, 197_000, thread, 3, 2),
            ],
            "NVTX_EVENTS": [
                (0, 190_000, 59, f"step{HOSTILE}1", None, thread),
                (190_000, 400_000, 59, f"step{HOSTILE}2", None, thread),
            ],
        },
    )
    return path


def trace(path, *kept):
    with gzip.open(path) as file:
        found = json.load(file)
    events = [
        in_texts(event, ("ph", "cat", "ts", "dur", "tid", *kept)) for event in found["traceEvents"]
    ]
    return {**in_texts({**found, "traceEvents": []}), "traceEvents": events}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("site"))
    made.free = made.document("free.json", hostile(only(document_of(), "hbm.", "instruction.")))
    made.all = made.document("all.json", planted(document_of(GOLDEN), schema.document("profile")))
    made.node = made.document("node.json", hostile(only(document_of(TWO_GPUS), "p2p.", "nccl.")))
    made.comparison = made.document("compare.json", in_texts(compared(), ("schema", "verdict")))
    made.fleet = made.document(
        "fleet.json", in_texts(made_fleet(), ("schema", "verdict", "resource", "basis"))
    )
    made.counters = made.write("ncu.csv", ncu(DATA / "h200_ncu_full.csv.gz"))
    made.plain = made.write(
        "plain.csv", table([["name", "flop", "bytes", "seconds"], [HOSTILE, 1, 2, 3]])
    )
    made.trace = made.document("trace.json", trace(CAUSES / "item.json.gz"))
    made.later = made.document("later.json", trace(CAUSES / "healthy.json.gz", "name"))
    made.nsight = nsight(made.folder / f"{NAME}.sqlite")
    llama = config_of("llama-3-8b")
    made.llama = made.model("llama", in_texts(llama, ("model_type",)))
    header = {HOSTILE: {"dtype": f"BF16{HOSTILE}", "shape": [1], "data_offsets": [0, 2]}}
    made.weights = made.model("weights", llama, None, header)
    made.method = made.model("method", {**llama, "quantization_config": {"quant_method": HOSTILE}})
    made.tool = made.model("tool", llama, {"quantization": {"quant_algo": HOSTILE}})
    made.family = made.model("family", {**llama, "model_type": HOSTILE})
    return made


RATE = "--dtype bf16 --tokens-per-second 9"
FLOPS = f"{RATE} --flops-per-token 9"
# Arguments in which names stand for files of the site, with the exit code.
COMMANDS = {
    "report free": 0,
    "report all": 0,
    "report node --format html,svg": 0,
    "report free all": 0,
    "report fleet": 0,
    "report comparison": 0,
    "report free --kernels counters --format html,svg": 0,
    "report free --kernels counters --json": 0,
    "report free --kernels plain": 0,
    "report free --kernels trace": 0,
    "report free --trace trace --format html,svg": 0,
    "report free --trace trace --json": 0,
    "report free --trace trace --against later": 3,
    "report free --trace later --against trace": 3,
    "report free --trace later --against trace --json": 3,
    "report free --trace nsight": 0,
    "report free --hf-config llama": 0,
    "report free --bytes-per-sample 150kB --samples-per-s 3000": 0,
    "llm --profile free --hf-config llama": 0,
    "llm --profile free --hf-config llama --json": 0,
    "llm --profile free --hf-config weights": 0,
    "llm --profile free --hf-config method": 2,
    "llm --profile free --hf-config tool": 2,
    "llm --profile free --hf-config family": 2,
    "llm --profile all --hf-config llama": 2,
    f"mfu --profile free {RATE} --hf-config llama --sequence 9": 0,
    f"mfu --profile free {FLOPS} --all --intensity 9": 0,
    f"mfu --profile free {FLOPS} --json": 0,
    f"mfu --profile free all {FLOPS}": 2,
    f"mfu --profile all {FLOPS}": 2,
    **{f"mfu export --for {tool} --profile free --dtype bf16": 0 for tool in EXPORTS},
    **{f"report {kind}": 2 for kind in ("counters", "llama", "nsight", "missing")},
    **{f"report free --kernels {kind}": 2 for kind in ("free", "llama", "missing")},
    **{f"report free --trace {kind}": 2 for kind in ("free", "plain", "llama", "missing")},
    **{f"llm --profile free --hf-config {kind}": 2 for kind in ("free", "plain", "missing")},
    "report free --trace nsight --range stop": 2,
}


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # --output=... is among the arguments
    # Nothing is wrapped there, so that each line is the command's own.
    monkeypatch.setenv("COLUMNS", "1000000")

    def run(name, *arguments):
        code, out, err = Command(getattr(commands, name).main, capsys)(*arguments)
        assert_tame(out)
        assert_tame(err)
        return code, out, err

    return run


@pytest.mark.parametrize("line", COMMANDS)
def test_texts_of_files_are_tame(run, site, tmp_path, line):
    command, *words = line.split()
    arguments = [getattr(site, word, word) for word in words]
    if command == "report" and "--json" not in words:
        arguments += ["-o", tmp_path / NAME]
    code, out, err = run(command, *arguments)
    assert code == COMMANDS[line], out + err
    for path in (tmp_path / NAME).glob("*"):
        text = unfolded(path.read_text(encoding="utf-8"))
        assert_tame(text)
        assert text.count("<script>") <= 1 and "<img" not in text
        if path.suffix == ".html":
            seen = Page(text)
            assert seen.open == [] and "alert(1)" in "".join(seen.text)  # shown, not run


OPTIONS = {
    "report": ["free", "--kernels", "counters", "--trace", "trace", "--json"],
    "mfu": ["--profile", "free", *FLOPS.split()],
    "mfu export": ["export", "--for", "json", "--profile", "free", "--dtype", "bf16"],
    "llm": ["--profile", "free", "--hf-config", "llama"],
}


@pytest.mark.parametrize("command", PARSERS)
def test_arguments_are_tame(run, site, command):
    given = [getattr(site, word, word) for word in OPTIONS[command]]
    names = [option for a in PARSERS[command]("")._actions for option in a.option_strings]
    for name in (*names, f"--{HOSTILE}", HOSTILE):
        for words in ([name, HOSTILE], [f"{name}={HOSTILE}"]):
            run(command.split()[0], *given, *words)
    run(command.split()[0], HOSTILE)


def test_errors_of_the_package_are_tame(site):
    for error in (ProfileError, FieldError, PeakError, WorkloadError, ConfigError):
        assert_tame(str(error(HOSTILE)))
    shown = peakline.load(site.free)._repr_html_()
    assert_tame(shown)
    assert "<script>" not in shown
