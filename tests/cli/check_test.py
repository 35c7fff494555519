"""`peakline check` on existing profiles: verdicts, documents, site rules."""

import os
import re
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from program import (
    PATIENCE_S,
    PEAKLINE,
    REFERENCE,
    TWO_GPUS,
    document,
    peakline,
    refused,
    scale,
    slow_profile,
    stdout_of,
    write_cards,
    write_changed,
)

SLOW_RULES = ["gpu0/tensor.bf16/burst", "gpu0/tensor.bf16/burst/siblings"]


@pytest.fixture
def slow(tmp_path):
    return slow_profile(tmp_path / "slow.json")


def test_healthy():
    assert stdout_of("check", REFERENCE) == (
        "PASS  gpu0, NVIDIA H200: memory, compute, Tensor Cores, PCIe, health "
        "(--gpus N also checks that none is missing)\n"
    )
    assert "1 of 2 GPUs measured" in peakline("check", REFERENCE, "--gpus", "2", code=1).stdout


def test_without_a_gpu_nothing_is_measured():
    result = peakline("check", code=3, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})
    assert result.stdout == "CANNOT JUDGE  no GPU was measured\n"
    assert "host" not in result.stderr


def test_slow(slow):
    text = stdout_of("check", slow, code=1)
    first, *reasons = text.splitlines()
    assert re.fullmatch(
        r"FAIL  gpu0 \(H200\): BF16 Tensor Cores burst 1\d\.\d % below healthy, and 1 more", first
    )
    assert f"fail  {SLOW_RULES[1]}" in text
    assert len(reasons) < 8
    assert "standard deviations" in peakline("check", slow, "--all").stdout
    explained = peakline("check", slow, "--explain", "tensor.bf16/burst", code=0).stdout
    assert re.search(r"(?s)below the median.*between cards.*below it", explained)
    peakline("check", slow, *(f"--allow={name}" for name in SLOW_RULES), code=0)
    for convention, code in (("nagios", 2), ("npd", 1)):
        result = peakline("check", slow, "--exit-codes", convention, code=code)
    assert result.stdout == first + "\n"


@pytest.mark.parametrize(("convention", "code"), [("peakline", 2), ("npd", 2), ("nagios", 3)])
def test_a_check_that_cannot_be_made_is_no_critical_state(healthy, convention, code):
    for words in (
        ["missing.json"],
        ["--rain"],
        [healthy, "--gpus", "rain"],
        [healthy, "--junit", ""],
        [healthy, f"--exit-codes={convention}", "--full"],
    ):
        peakline("check", *words, "--exit-codes", convention, code=code)
    with open("/dev/full", "w") as full:
        peakline(
            *("check", healthy, "--exit-codes", convention),
            capture_output=False,
            stdout=full,
            code=code,
        )


def test_documents(tmp_path, slow):
    junit, metrics = tmp_path / "junit.xml", tmp_path / "peakline.prom"
    found = document("check", slow, "--junit", junit, "--prometheus", metrics, code=1)
    assert (found["schema"], found["verdict"]) == ("peakline-check", "fail")
    suite = ElementTree.parse(junit).find("testsuite")
    failures = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failures == SLOW_RULES
    assert (suite.get("failures"), int(suite.get("tests"))) == ("2", len(suite))
    sample = r'\w+\{\w+="[^"]*"(,\w+="[^"]*")*\} -?[0-9.e+-]+'
    for line in metrics.read_text().splitlines():
        assert re.fullmatch(rf"{sample}|# (HELP \w+ [^\n]+\.|TYPE \w+ gauge)", line), line


@pytest.mark.parametrize(
    ("option", "beginning"), [("--junit", "<?xml"), ("--prometheus", "# HELP peakline_check_")]
)
def test_documents_replace_no_file_that_is_no_report(tmp_path, healthy, option, beginning):
    profile = tmp_path / "node7.json"
    profile.write_text("{}")
    # Refused before any measurement, so there is one line.
    words = [option, profile, "not overwritten"]
    refused("check", "--device", "none", option, profile, words=words)
    assert profile.read_text() == "{}"
    refused("check", "--device", "none", option, "", words=[option, "FILE"])
    plain = peakline("check", healthy).stdout
    for stream in ("/dev/stdout", "/proc/self/fd/1"):
        printed = peakline("check", healthy, option, stream).stdout
        assert printed.startswith(beginning), printed[:80]
        assert printed.endswith(plain)
    assert Path("/dev/stdout").is_symlink()
    redirected = tmp_path / "redirected"
    with redirected.open("w") as stdout:
        command = [PEAKLINE, "check", healthy, option, "/dev/stdout"]
        subprocess.run(command, stdout=stdout, timeout=PATIENCE_S, check=True)
    assert redirected.read_text() == printed


def test_metrics_say_that_a_check_could_not_be_made(tmp_path, slow):
    metrics, junit = tmp_path / "peakline.prom", tmp_path / "junit.xml"
    reports = ("--prometheus", metrics, "--junit", junit)

    def written(*words, code):
        peakline("check", *words, *reports, code=code)
        head, run, results = metrics.read_text().partition("# HELP peakline_check_run_timestamp")
        ((outcome, when),) = re.findall(r'(?m)^\w+\{outcome="(\w+)"\} (\d+)$', head)
        assert abs(time.time() - int(when)) < PATIENCE_S
        assert run
        failed = {
            (failure.get("type"), failure.get("message"))
            for failure in ElementTree.parse(junit).iter("failure")
        }
        return outcome, results, failed

    outcome, results, failed = written(slow, code=1)
    assert outcome == "fail"
    assert len(failed) == len(SLOW_RULES)
    # Neither forgets what fails, nor passes it off as new.
    broken = tmp_path / "broken.json"
    for words, code, why in (
        ([broken], 2, f"{broken}: no such file"),
        ([slow, "--rules", broken], 2, f"{broken}: no such file"),
        (["--device", "none"], 3, "no GPU was measured"),
    ):
        assert written(*words, code=code) == ("cannot_judge", results, {("cannot_judge", why)})


def test_junit_is_xml_whatever_a_profile_says(tmp_path):
    def change(profile):
        profile["devices"][0]["name"] = '\ufffe\uffff\x1b\ud7ff\U0001fffe]]>&<"H200'

    profile, junit = write_changed(tmp_path / "odd.json", change), tmp_path / "junit.xml"
    peakline("check", profile, "--junit", junit)
    name = ElementTree.parse(junit).find("testsuite").get("name")
    assert name == 'peakline check gpu0 \ufffd\ufffd\ufffd\ud7ff\ufffd]]>&<"H200'


def test_what_judged_is_named(tmp_path):
    folder = tmp_path / "x1"
    write_cards(folder, 3, "NVIDIA X1")
    ours = tmp_path / "ours.json"
    peakline("fleet", folder, "--write-reference", ours, code=0)
    mine, built_in = folder / "node0.json", "part of this peakline"
    for profile, source in ((REFERENCE, built_in), (mine, str(ours))):
        command = ("check", profile, "--against", ours)
        found = document(*command)["profiles"][0]["devices"][0]
        assert found["population"]["source"] == source
        for words in (["--all"], ["--explain", "hbm.read/measured"]):
            text = "".join(peakline(*command, *words).stdout.split())
            assert (built_in.replace(" ", "") in text) == (source == built_in)
            assert (str(ours) in text) == (source == str(ours))


def test_against_the_cards_of_a_folder(tmp_path):
    folder = tmp_path / "profiles"
    files = write_cards(folder, 6, "NVIDIA X1")
    assert "(by NVIDIA H200 shares)" in peakline("check", files[0], code=0).stdout
    against = peakline("check", files[0], "--against", folder, "--all", code=0)
    assert "  5 cards" in against.stdout  # without the card itself
    ours = tmp_path / "ours.json"
    write = ("fleet", folder, "--write-reference", ours)
    written = peakline(*write, code=0)
    line = r"peakline: wrote .*: NVIDIA X1, full runs of 6 cards\n"
    assert re.fullmatch(line, written.stderr)
    kept = peakline("check", folder, "--against", ours, "--all", code=0)
    assert "  6 cards" in kept.stdout
    refused(*write, words=["--write-reference", "not overwritten"])
    # A reference excludes a slow card; a fleet with half of its cards slow makes none.
    for slow, words, code in ((1, "1 of 6 cards left out", 0), (3, "needs most of its", 2)):
        for file in files[:slow]:
            write_changed(file, lambda profile: scale(profile, 0.9, "hbm.read"), base=file)
        ours.unlink()
        assert words in peakline(*write, code=code).stderr
        assert ours.exists() == (code == 0)


@pytest.fixture
def checked(tmp_path, slow):
    """Checks the slow card by these rules."""

    def check(rules, *arguments):
        file = tmp_path / "rules.toml"
        file.write_text(rules)
        return ("check", slow, "--rules", file, *arguments)

    return check


STRICT = '[[rule]]\nname = "hbm.read/measured"\nlimit = 4.9e12\nreason = "contract"\n'
REASONED = '[[rule]]\nname = "a"\nreason = "b"\n'


def test_rules_of_a_site(checked):
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
    assert document(*checked(loose))["verdict"] == "warn"
    failed = peakline(*checked(STRICT), code=1).stdout
    assert re.search(r"hbm.read/measured +HBM read: 46\d\d GB/s, limit 4900 GB/s", failed)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("[[rule]\n", ["line 1", "TOML"]),
        ("[[rule]]\nlimit = \u03e0\n", ["line 2", "TOML"]),
        ("[rule]\n", ["[[rule]]"]),
        ("", ["[[rule]]"]),
        ('[[rule]]\nname = "a"\nlimit = 1\n', ["line 1", "reason"]),
        (REASONED, ["line 1", "limit"]),
        (f"{REASONED}limit = -1\n", ["line 4", "limit"]),
        (f"{REASONED}loss_percent = 100\n", ["line 4", "loss_percent"]),
        (f'{REASONED}outcome = "pass"\n', ["line 4", "outcome", "warn", "ignore"]),
        (f"{REASONED}limits = 1\n", ["line 4: limits", "did you mean limit?"]),
        (f"{REASONED}x = 1\n", ["line 4: x", "expected name, limit, loss_percent"]),
        (f"{REASONED}limit = 1\nloss_percent = 1\n", ["line 5: loss_percent", "limit"]),
        (f"{REASONED}limit = 1\n[[rules]]\n", ["line 5: rules", "[[rule]]"]),
        (STRICT + STRICT, ["line 6", "name", "hbm.read/measured"]),
    ],
)
def test_bad_rules(checked, rules, words):
    command = checked(rules)
    refused(*command, words=["rules.toml", *words])
    refused("check", "--lint", command[-1], words=["rules.toml", *words])


@pytest.fixture
def rules(tmp_path):
    """Writes a file of rules, each `key = value` lines, and returns its path."""

    def write(*texts):
        file = tmp_path / "rules.toml"
        file.write_text("".join(f'[[rule]]\n{text}\nreason = "why"\n' for text in texts))
        return file

    return write


def test_lint_says_what_each_rule_judges(rules):
    file = rules(
        'name = "tensor.bf16/burst"\nlimit = 780e12',
        'name = "gpu1/hbm.read/measured"\nloss_percent = 10\nmode = "quick"',
        'name = "gpu0/tensor.bf16/burst/siblings"\noutcome = "warn"',
        'name = "power_limit"\nlimit = 650\noutcome = "ignore"',
    )
    text = stdout_of("check", "--lint", file)
    first, *rest = text.split("\n\n")
    assert first == f"SOUND  {file}: 4 rules"
    burst, read, siblings, power = (" ".join(part.split()) for part in rest)
    assert (
        "BF16 Tensor Cores burst of every device, in all runs fails below 780 TFLOP/s: why" in burst
    )
    shares = re.findall(
        r"NVIDIA H200, (\w+) runs: ([\d.]+) % below the median, 8\d\d TFLOP/s", burst
    )
    assert [mode for mode, _ in shares] == ["full", "quick"]
    assert all(5 < float(share) < 10 for _, share in shares)
    assert "HBM read of gpu1, in quick runs fails 10 % below the median" in read
    assert re.search(r"NVIDIA H200, quick runs: below 41\d\d GB/s \(median 46\d\d GB/s\)", read)
    assert "full runs" not in read
    assert "beside other precisions of gpu0, in all runs only warns: why" in siblings
    assert "power_limit of every device, in all runs is left out below 650: why" in power
    # The rules themselves work.
    slow = peakline("check", REFERENCE, "--rules", file, code=0)
    assert slow.stdout.startswith("PASS")


def test_nested_and_too_many_rules_are_refused(checked):
    key = ".".join("a" * 32_000)
    for text, words in (
        (f"{key} = 1\n", "line 1: nested too deep"),
        (f'x = """"a\n"b""""\n{key} = 1\n', "line 3: nested too deep"),
        (f"x = {'[{a.b.c.d.e=' * 200}", "line 1: nested too deep"),
        (REASONED * 10_001, "expected up to 10000 rules, found 10001"),
    ):
        command = checked(text)
        refused(*command, words=["rules.toml", words])
        refused("check", "--lint", command[-1], words=["rules.toml", words])


def test_lint_knows_every_rule_of_a_check(rules):
    names = set()
    for profile in (REFERENCE, TWO_GPUS):
        for checked in document("check", profile, "--gpus", 1)["profiles"]:
            for device in checked["devices"]:
                names |= {rule["name"] for rule in device["rules"]}
    assert {"gpu0/ecc", "gpu1/health", "node/gpus", "node/p2p.latency/measured"} <= names
    linted = stdout_of(
        "check", "--lint", rules(*(f'name = "{name}"\noutcome = "warn"' for name in names))
    )
    assert linted.count("only warns: why") == len(names)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('name = "tensor.bf61/burst"\nlimit = 7e14', ["line 6: name:", "tensor.bf16/burst?"]),
        ('name = "tensor.bf16/bursts"\nlimit = 7e14', ["line 6: name:", "tensor.bf16/burst?"]),
        ('name = "gpu1/pcie.h2d"\nlimit = 5e10', ["line 6: name:", "gpu1/pcie.h2d/measured?"]),
        ('name = "pcie.h2d/burst"\nlimit = 5e10', ["line 6: name:", "pcie.h2d/burst: no such"]),
        ('name = "gpux/ecc"\noutcome = "warn"', ["line 6: name:", "gpux/ecc: no such rule"]),
        ('name = "health/"\noutcome = "warn"', ["line 6: name:", "health/: no such rule"]),
        ('name = "coverage/ram"\noutcome = "warn"', ["line 6: name:", "coverage/ram"]),
        ('name = "health/xid"\nlimit = 1', ["line 7: limit:", "health/xid"]),
        ('name = "ecc"\nloss_percent = 3', ["line 7: loss_percent:", "ecc"]),
        ('name = "hbm.read/measured/steady"\nlimit = 4e12', ["line 7: limit:", "steady"]),
        ('limit = 780\nname = "tensor.bf16/burst"', ["line 6: limit:", "780 FLOP/s is far from"]),
    ],
)
def test_lint_finds_what_judges_nothing(rules, rule, words):
    sound = 'name = "hbm.read/measured"\nlimit = 4e12'
    for option in ("--lint", "--rules"):
        profile = [REFERENCE] if option == "--rules" else []
        refused("check", *profile, option, rules(sound, rule), words=["rules.toml", *words])
