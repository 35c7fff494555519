"""The first screen on the page: from the installed program, or the reason why it is missing."""

import dataclasses
import json
import os
import re

import pytest
from conftest import GPU, ONE_GPU, SHOWN, document_of, loaded, only, shown_screen, unfolded
from peakline.commands.report import main
from peakline.page import report_page
from peakline.page.answers import answers, verdict_of, what_to_do
from peakline.page.screen import Screen, first_screen, read_rules, read_screen
from peakline.report import build


@pytest.fixture
def shown():
    return shown_screen()


@pytest.fixture
def alone():
    """The screen's profile, without measurements that are slow to draw."""
    return loaded(only(document_of()), ONE_GPU.name)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts a script `peakline` first on PATH, with none beside Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr("peakline.page.screen.sysconfig.get_path", lambda _: str(tmp_path / "no"))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def install(script):
        path = folder / "peakline"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    return install


def test_the_program_is_asked(installed, shown, tmp_path):
    installed(f'echo "$@" >> {tmp_path}/asked; exec gzip -dc {SHOWN}')
    screen = first_screen(ONE_GPU)
    assert screen == read_screen(shown)
    asked = f"show --json -- {ONE_GPU}\ncheck --json -- {ONE_GPU}\n"
    assert (tmp_path / "asked").read_text() == asked


def test_failing_rows_are_marked(alone, shown):
    rule = {"unit": "B/s", "limit": 4.5e12, "median": 5e12, "value": 4e12, "cause": "a process"}
    steady = {"name": "gpu0/hbm.read/measured/steady", "outcome": "fail", "cause": "a process"}
    rules = [
        {**rule, "name": "gpu0/hbm.read/measured", "outcome": "fail", "text": "HBM read: low"},
        {**steady, "text": "HBM read: unsteady; a process"},
        {**rule, "name": "gpu0/hbm.write/measured", "outcome": "pass", "text": "HBM write: fine"},
    ]
    document = {"profiles": [{"devices": [{"uuid": GPU, "rules": rules}]}]}
    screen = dataclasses.replace(read_screen(shown), rules=read_rules(document))
    page = answers(alone, screen).replace("\N{NO-BREAK SPACE}", " ")
    assert '<td class="error">HBM read <b>FAIL</b></td>' in page
    assert page.count(">healthy from<") == 2  # of the GPU and of the host link
    heading, to_do = what_to_do(alone, screen)
    assert heading == "What fails"
    figures = re.findall(r"<td class=.n. data-head=.(.*?).>(.*?)</td>", to_do)
    assert [(head, text.replace("\N{NO-BREAK SPACE}", " ")) for head, text in figures] == [
        ("measured", "4000 GB/s"),
        ("healthy", "5000 GB/s"),
        ("of healthy", "80.0 %"),
        ("healthy from", "4500 GB/s"),
    ]
    errors = re.findall("<li class=.error.><b>.*?</b> (.*?)</li>", to_do)
    assert errors == ["HBM read: unsteady"]
    # The table of all ceilings marks the figure, not the rest of its row.
    whole = unfolded(report_page(alone, {}, screen))
    assert re.findall('<td class="n error"[^>]*>(.*?)</td>', whole) == ["4617 GB/s FAIL"]
    # The banner says what to do, in place of the command that lists what the page has.
    assert "<li>Measure again" in verdict_of(alone, screen)
    assert what_to_do(alone, read_screen(shown))[0] == "What matters here"


def test_a_failing_device_is_named_so_beside_others(alone, shown):
    rules = [{"name": "gpu0/hbm.read/measured", "outcome": "fail", "text": "HBM read: low"}]
    judged = read_rules({"profiles": [{"devices": [{"uuid": GPU, "rules": rules}]}]})
    failing = dataclasses.replace(read_screen(shown), code="fail", word="FAIL", rules=judged)
    screens = ["not asked for", failing]
    page = build([alone, dataclasses.replace(alone)], ["html"], screens=screens)["report.html"]
    text = unfolded(page.decode("utf-8"))
    assert text.count("(FAIL)") > 2 and text.count("FAIL</b>") == 1
    assert text.index("FAIL</b>") < text.index("NO VERDICT")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'bad field' >&2; exit 2", "show failed: bad field"),
        ("echo '<script>' >&2; exit 2", "show failed: &lt;script&gt;"),
        ("exit 3", "show failed: exit code 3"),
        ("echo '{'", "its output is not JSON"),
        ("echo '{}'", "it is of an older version"),
        ('echo \'{"screen": {"verdict": 1}}\'', "it is of another version"),
    ],
)
def test_why_there_is_no_verdict(installed, alone, script, why):
    installed(script)
    reason = first_screen(ONE_GPU)
    assert isinstance(reason, str)
    said = verdict_of(alone, reason)
    assert "NO VERDICT" in said and why in said
    assert f"<code>peakline show {ONE_GPU.name}</code>" in said


def test_a_program_that_hangs_is_not_waited_for(installed, monkeypatch):
    monkeypatch.setattr("peakline.page.screen._SECONDS", 0.2)
    installed("exec sleep 60")
    assert "timed out" in str(first_screen(ONE_GPU))


def test_without_the_program(monkeypatch, tmp_path):
    monkeypatch.setattr("peakline.page.screen.sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert first_screen(ONE_GPU) == "the program peakline is not installed here"


def test_a_pipe_is_not_read_again(installed, tmp_path):
    installed("exit 1")
    os.mkfifo(tmp_path / "pipe")
    assert first_screen(tmp_path / "pipe") == "the profile is no regular file"


@pytest.mark.parametrize(
    ("code", "look"), [("pass", "pass"), ("fail", "fail"), ("cannot_judge", "open"), ("x", "open")]
)
def test_a_verdict_has_words_coverage_and_reasons(alone, shown, code, look):
    shown["verdict"] = {"code": code, "text": "WORD", "sentence": "gpu0: memory", "reasons": ["a"]}
    said = verdict_of(alone, read_screen(shown))
    assert said.startswith(f'<div class="verdict {look}"><p><b>WORD</b> <span>gpu0: memory</span>')
    assert "<li>a</li>" in said


def table_of(columns, cells, **more):
    """A table of one row as the program writes it."""
    row = {"key": "of/tomorrow", "label": "HBM", "cells": cells}
    return {"key": "made", "title": "", "columns": columns, "rows": [row], "notes": [], **more}


def test_answers_are_the_tables_in_order(alone, shown):
    columns = [
        {"key": "measured", "head": "slowest"},
        {"key": "gpu", "head": "", "is_text": True, "attached": True},
        {"key": "share", "head": "share"},
    ]
    cells = {
        "measured": {"format": "value", "value": 4.7e12, "unit": "B/s"},
        "gpu": {"text": "GPU 1"},
        "share": {"format": "share", "value": None, "missing": "no memory"},
    }
    unknown = table_of(columns, cells, title="A title 3 x as new", notes=["It takes 2 us."])
    shown["tables"].append(unknown)
    page = answers(alone, read_screen(shown))
    first = re.findall("<tbody><tr><td>([^<]*)", page)
    assert first == [table["rows"][0]["label"] for table in shown["tables"]]
    assert "A title 3 × as new" in page and "It takes 2 µs." in page
    # An attached column belongs to the one before it.
    assert (
        '<td class="n" data-head="slowest">4700\N{NO-BREAK SPACE}GB/s GPU\N{NO-BREAK SPACE}1</td>'
        in page
    )
    assert '<td class="n" data-head="share">–</td>' in page and "<p>HBM: no memory.</p>" in page
    assert page.count('data-picture="answer"') == len(shown["tables"])


def test_no_narrow_answer_stands_alone(alone, shown):
    """A table of many long columns has the width of the page, and so has one left beside it."""
    columns = [{"key": key, "head": key, "is_text": True} for key in "abcde"]
    wide = table_of(columns, {key: {"text": "1234567890123"} for key in "abcde"})
    for tables, whole in (([0, 2], 0), ([0, wide, 2], 3), ([0, 2, wide, 3, 4, 0], 1)):
        found = [t if isinstance(t, dict) else shown["tables"][t] for t in tables]
        page = answers(alone, read_screen({**shown, "tables": found}))
        assert page.count('class="whole"') == whole


def test_page_without_screen_shows_first_figures(alone):
    page = answers(alone, "there is none")
    assert "BF16 burst" in page and "% of published" in page
    assert answers(loaded({**only(document_of()), "headlines": []}), "") == ""


def test_what_matters_is_not_said_twice(alone, shown):
    page = unfolded(what_to_do(alone, read_screen(shown))[1])
    first = shown["matters"][0]
    message = next(f.message for f in alone.findings if f.message in first["text"])
    assert first["severity"] == "warning"
    assert page.count(message) == 1
    assert f"{len(alone.findings) - len(shown['matters'])} notes" in page


def test_the_command_puts_it_on_the_page(installed, tmp_path, shown):
    installed(f"exec gzip -dc {SHOWN}")
    path = tmp_path / "node.json"
    path.write_text(json.dumps(only(document_of())), encoding="utf-8")
    assert main([str(path)]) == 0
    page = (tmp_path / "node/report.html").read_text(encoding="utf-8")
    assert isinstance(read_screen(shown), Screen)
    order = ['class="verdict pass"', 'id="answers"', 'id="to-do"', 'data-picture="roofline"']
    places = [page.index(part) for part in order]
    assert places == sorted(places)
