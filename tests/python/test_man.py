"""The manual pages of the Python commands, as their parsers are."""

import re

import pytest
from conftest import ROOT
from peakline.commands.man import PAGES, PARSERS, main, manual


@pytest.mark.parametrize("command", PAGES)
def test_page_is_that_of_the_parser(command):
    page = ROOT / f"reports/man/peakline-{command}.1"
    how = f"python -m peakline man {command} > {page}"
    assert page.read_text(encoding="utf-8") == manual(command), how


@pytest.mark.parametrize("command", PAGES)
def test_page_names_every_option(command):
    page = manual(command)
    assert page.startswith(f'.TH PEAKLINE\\-{command.upper()} 1 "" peakline\n')
    named = set(re.findall(r"(?m)^\.B .*?(\\-\\-\S+)", page))
    helped = PARSERS[command](f"peakline-{command}").format_help().partition("Examples:")[0]
    options = set(re.findall(r"(?m)^ +(?:-\w [A-Z]*, |-\w, )?(--[a-z-]+)", helped))
    assert len(options) > 8
    assert options <= {option.replace("\\", "") for option in named}
    # A line that begins with a dot or a quote would be a request to roff.
    assert not re.findall(r"(?m)^(?:'|\.(?!TH|SH|SS|TP|PP|B |nf|fi))", page)


def test_it_prints_a_page(capsys):
    assert main(["llm"], "peakline-man") == 0
    assert capsys.readouterr().out == manual("llm")
