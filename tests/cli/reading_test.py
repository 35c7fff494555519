"""Reading and showing profiles and populations, and their schemas."""

import gzip
import json
import os
import signal
import subprocess
import sys

import pytest
from cases import CASES, POPULATION_CASES
from program import (
    GOLDEN,
    REFERENCE,
    SANITIZED,
    SOURCE,
    TWO_GPUS,
    document,
    on_terminal,
    peakline,
    refused,
    stdout_of,
    with_memory,
    write_changed,
)

sys.path.insert(0, str(SOURCE / "reports"))


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@named(CASES)
def test_corpus(profile, case):
    profile.write_bytes(case.data)
    if case.refused:
        assert len(refused("show", profile, words=[f"{profile}: "])) < 500
    else:
        stdout_of("show", profile)


@named(POPULATION_CASES)
def test_corpus_of_populations(tmp_path, case):
    file = tmp_path / "ours.json"
    file.write_bytes(case.data)
    if case.refused:
        assert len(refused("check", GOLDEN, "--against", file, words=[f"{file}: "])) < 500
    else:
        result = peakline("check", GOLDEN, "--against", file)
        assert result.stderr == ""
        assert result.stdout


@pytest.mark.parametrize("kind", ["profile", "population"])
def test_schema_on_the_corpus(schema, kind):
    from fastjsonschema import JsonSchemaValueException

    validate = schema(kind)
    for case in CASES if kind == "profile" else POPULATION_CASES:
        if case.schema:
            with pytest.raises(JsonSchemaValueException):
                validate(json.loads(case.data))
                pytest.fail(case.name)
        elif case.schema is not None:
            validate(json.loads(case.data))


def test_populations_of_the_program_follow_the_schema(schema):
    validate = schema("population")
    for file in (SOURCE / "reports/reference/populations").iterdir():
        validate(json.loads(file.read_text()))


def test_a_folder_may_have_gzipped_profiles(tmp_path):
    plain, zipped = tmp_path / "a.json", tmp_path / "a.json.gz"
    plain.write_bytes(GOLDEN.read_bytes())
    wanted = peakline("fleet", tmp_path, "--csv").stdout
    plain.unlink()
    zipped.write_bytes(gzip.compress(GOLDEN.read_bytes()))
    assert peakline("fleet", tmp_path, "--csv").stdout == wanted.replace("a.json", "a.json.gz")


@pytest.mark.parametrize("option", [["--all"], ["--json"], ["--help"]])
def test_a_closed_pipe_ends_it_as_programs_of_the_shell(option):
    """So do the Python commands (tests/python/test_report_command.py)."""
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"capture_output": False, "stdout": writer, "stderr": subprocess.PIPE}
    result = peakline("show", REFERENCE, *option, **streams)
    os.close(writer)
    assert (result.returncode, result.stderr) == (-signal.SIGPIPE, "")


@pytest.mark.skipif(SANITIZED, reason="the sanitizers need more memory")
def test_what_is_too_large_for_the_memory(profile):
    # About 20 x as large in memory as in the file.
    much = "[" + "[],{},[[]]," * 1_000_000 + "0]"
    profile.write_text(GOLDEN.read_text().replace('"mode"', f'"x": {much}, "mode"', 1))
    words = [profile, "too large for this machine's memory"]
    for mebibytes in (20, 45, 75, 105, 150):
        refused("show", profile, words=words, preexec_fn=with_memory(mebibytes))


def test_report_has_the_same_headlines():
    import peakline as reports
    from peakline.page.cells import read_table
    from peakline.page.screen import headlines

    profile = reports.load(GOLDEN)
    devices = document("show", GOLDEN)["devices"]
    assert devices
    for device in devices:
        drawn = headlines(profile, device["device"])
        values = {row.label: row.cells["measured"].value for row in drawn.rows} if drawn else {}
        for row in read_table(device["tables"]["headlines"]).rows:
            assert values.get(row.label) == row.cells["measured"].value


@pytest.mark.parametrize("file", [REFERENCE, TWO_GPUS, GOLDEN], ids=lambda f: f.stem)
def test_report_bounds_decoding_alike(file):
    import peakline as reports
    from peakline import units

    llama = reports.Transformer.uniform(32, 32, 128, 14336, 128256, kv_heads=8)
    profile = reports.load(file)
    gpus = {gpu.uuid for gpu in profile.devices} & set(profile.measured_devices())
    bounds = [reports.decode_bound(profile, llama, reports.Serving(device=gpu)) for gpu in gpus]
    rate = units.number(min(bound.tokens_per_s for bound in bounds))
    one = f"one sequence of {reports.Serving().context} tokens"
    line = f"Llama-3.1-8B in BF16 decodes {one} at {rate} tokens/s at most (HBM read)."
    assert line in peakline("show", file).stdout


@pytest.mark.parametrize("file", [REFERENCE, TWO_GPUS, GOLDEN], ids=lambda f: f.stem)
def test_the_first_screen_as_data(file):
    from peakline.page.cells import Cell, read_table, text_of

    screen = document("show", file)["screen"]
    printed = " ".join(stdout_of("show", file).split())
    verdict = screen["verdict"]
    assert printed.startswith(f"{verdict['text']} {verdict['sentence']}")
    assert verdict["code"] in ("pass", "warn", "fail", "cannot_judge")
    assert {"machine", "gpus"} <= {table["key"] for table in screen["tables"]}
    # The page prints the same texts.
    for table in map(read_table, screen["tables"]):
        for text in (table.title, *table.notes):
            assert text in printed
        for row in table.rows:
            texts = [text_of(row.cells.get(c.key, Cell()), c) for c in table.columns]
            line = " ".join(" ".join([row.label, *texts]).split())
            assert line.replace("µs", "us") in printed
    for matter in screen["matters"]:
        assert matter["severity"] in ("error", "warning", "note")
    assert f"{screen['more_notes']} other note" in printed


@pytest.mark.parametrize(
    "command",
    [
        "show {}",
        "show {} --topic caches",
        "show {} --topic compute",
        "show {} --topic bandwidth",
        "show {} --topic host",
        "check {} --all",
        "compare {} {later} --all",
        "fleet {} --all",
        "repeatability {} {later}",
        "list",
    ],
)
def test_tables_fit_a_narrow_terminal(tmp_path, command):
    columns = 60
    later = write_changed(
        tmp_path / "later.json",
        lambda profile: profile.update(created="2026-11-25T08:22:45Z"),
        base=REFERENCE,
    )
    arguments = [word.format(REFERENCE, later=later) for word in command.split()]
    lines = on_terminal(columns, *arguments).splitlines()
    assert len(lines) > 3
    # Only the verdict may be longer: schedulers and monitors need it in one line.
    for line in lines[1:]:
        assert len(line) <= columns, line
