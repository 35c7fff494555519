"""No text of an input steers a terminal or forges a line, whatever command prints it."""

import copy
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hostile import HOSTILE, NAME, assert_tame, in_texts, planted
from program import GOLDEN, REFERENCE, SOURCE, on_terminal, peakline, scale, stdout_of

# As wide as to wrap nothing, so that each line is the command's own.
COLUMNS = 60_000
TWO_GPUS = SOURCE / "reports/reference/nvidia-h200-x2.json"
# What is needed to judge and show the rest as of any profile.
KEPT = ("schema", "created", "kind", "mode", "device", "uuid", "id", "status", "unit", "basis")
KEPT += ("reference_basis", "resource", "severity", "flags", "memory", "compute", "estimate")
KEPT += ("compute_basis", "memory_basis", "sm_clock_source", "measurement", "varies_with")
KEPT += ("key", "over", "by", "naming", "written", "scale", "role", "number")


class Site:
    """Files with hostile names, in whose texts HOSTILE is planted."""

    def __init__(self, folder):
        self.count, self.folder = 0, folder / NAME
        self.folder.mkdir()
        usual = json.loads(REFERENCE.read_text())
        self.free = self.write("free", in_texts(usual, KEPT))
        self.node = self.write("node", in_texts(json.loads(TWO_GPUS.read_text()), KEPT))
        self.all = self.write("all", self.everywhere(json.loads(GOLDEN.read_text())))
        self.rest = self.write("rest", self.everywhere(usual))
        self.slow = self.write("slow", self.slow_one(usual))
        self.lost = self.write("lost", self.slow_one(usual, unusable=HOSTILE))
        self.cards = self.folder / f"{NAME}-cards"
        self.cards.mkdir()
        for number in range(5):
            card = json.dumps(self.slow_one(usual) if number == 4 else usual)
            uuid = json.dumps(f"GPU-{number}{HOSTILE}")[1:-1]
            self.write(f"cards/{number}", card.replace(usual["devices"][0]["uuid"], uuid))
        self.write("cards/broken", json.dumps({HOSTILE: 1})[:-1])
        self.twice = self.write("twice", f"{{{json.dumps(HOSTILE)}:1,{json.dumps(HOSTILE)}:1}}")
        self.mode = self.write("mode", {**usual, "mode": HOSTILE})
        rule = f"name = {json.dumps('hbm.read/measured')}\nlimit = 9e12\n"
        self.rules = self.write("rules", f"[[rule]]\n{rule}reason = {json.dumps(HOSTILE)}\n")
        self.key = self.write("key", f"[[rule]]\n{rule}{json.dumps(HOSTILE)} = 1\n")
        self.name = self.write("name", f"[[rule]]\nname = {json.dumps(HOSTILE)}\nlimit = 1\n")

    def write(self, name, content):
        folder, _, name = name.rpartition("/")
        path = self.folder / (f"{NAME}-{folder}" if folder else "") / f"{NAME}-{name}.json"
        text = content if isinstance(content, str) else json.dumps(content)
        self.count += 1  # each is a run of its own
        path.write_text(re.sub(r"(\d\dT\d\d:\d\d):\d\dZ", rf"\1:{self.count:02}Z", text))
        return path

    def everywhere(self, profile):
        return planted(profile, json.loads(stdout_of("schema")))

    def slow_one(self, usual, **facts):
        """An H200 that fails, and whose findings are hostile."""
        profile = in_texts(copy.deepcopy(usual), (*KEPT, "devices", "reason"))
        scale(profile, 0.5, "hbm.read")
        (device,) = profile["devices"]
        device.update(
            facts, vbios=HOSTILE, processes=[{"pid": 1, "name": HOSTILE, "memory_bytes": 9}]
        )
        finding = {"code": HOSTILE, "severity": "error", "device": device["uuid"]}
        profile["findings"].append({**finding, "message": HOSTILE, "evidence": {HOSTILE: HOSTILE}})
        return profile


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return Site(tmp_path_factory.mktemp("site"))


KINDS = {"free": 3, "node": 3, "all": 1, "rest": 3, "slow": 1, "lost": 1}
# Arguments in which names stand for files of the site, with the exit code.
COMMANDS = {
    **{f"show {kind}{all}": 0 for kind in KINDS for all in ("", " --all")},
    **{f"check {kind}{all}": code for kind, code in KINDS.items() for all in ("", " --all")},
    "check free node slow --exit-codes nagios": 2,
    "check slow --json": 1,
    "check slow --rules rules": 1,
    "check slow --rules key": 2,
    "check slow --rules name": 2,
    "check slow --against cards": 2,
    "check --lint rules": 0,
    "check --lint name": 2,
    "compare free -- slow": 0,
    "compare free -- slow --all": 0,
    "compare free -- slow --json": 0,
    "compare all -- rest --all": 0,
    "compare slow -- lost --fail-on regression": 1,
    "fleet cards": 3,
    "fleet cards --all": 3,
    "fleet cards --json": 3,
    "fleet cards --csv": 3,
    "fleet free node all rest --all": 0,
    "repeatability slow free": 0,
    "repeatability free rest": 2,
    **{f"{word} {kind}": 2 for word in ("show", "check", "fleet") for kind in ("twice", "mode")},
}


@pytest.mark.parametrize("line", COMMANDS)
def test_texts_of_files_are_tame(site, line):
    command, *words = line.split()
    arguments = [command, *(getattr(site, word, word) for word in words)]
    done = peakline(*arguments)
    assert done.returncode == COMMANDS[line], done.stderr
    assert_tame(done.stderr)
    if "--csv" in words:  # lines that end in CR LF
        assert_tame(done.stdout)
    elif done.stdout:
        assert_tame(on_terminal(COLUMNS, *arguments, code=None).replace("\r\n", "\n"))


def test_arguments_are_tame(tmp_path):
    for before in (
        *(
            "",
            "--",
            "show",
            "show GOLDEN --topic",
            "check GOLDEN --allow",
            "check GOLDEN --explain",
        ),
        *("compare GOLDEN --", "fleet GOLDEN --allow", "peaks", "schema", "demo", "benchmark"),
        *("list --filter", "run --dry-run --filter", "run --device", "run --", "run -o /none/"),
    ):
        words = [str(GOLDEN) if word == "GOLDEN" else word for word in before.split()]
        last = words.pop() if before.endswith(("--", "/")) and before != "compare GOLDEN --" else ""
        for text in (HOSTILE, "x" * 100_000, "\udcff"):
            error = peakline(*words, last + text, cwd=tmp_path).stderr
            assert_tame(error)
            assert len(error) < 1100
        arguments = [*words, last + HOSTILE]
        assert_tame(on_terminal(COLUMNS, *arguments, code=None).replace("\r\n", "\n"))


def test_files_for_monitoring_are_tame(site, tmp_path):
    junit, prom = tmp_path / "check.xml", tmp_path / "check.prom"
    peakline("check", site.slow, "--junit", junit, "--prometheus", prom)
    for path in (junit, prom):
        assert_tame(path.read_text())
    assert ElementTree.parse(junit).getroot().tag == "testsuites"


def test_a_written_reference_is_named_tamely(site):
    done = peakline("fleet", site.cards, "--write-reference", site.folder / f"{NAME}-reference")
    assert "peakline: wrote " in done.stderr
    assert_tame(done.stderr)
