"""The first screen of `peakline show`, for the top of a page; a device's figures without it."""

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from peakline import units
from peakline.names import basis_name
from peakline.page.cells import MARKED, Cell, Column, Row, Table, read_table, value
from peakline.profile import Headline, Profile
from peakline.text import short

_SECONDS = 60  # time limit; a busy machine takes three
_MOST_OF_A_REASON = 300  # characters
_VERDICTS = {"check": (0, 1, 3)}  # exit codes of a command that gives one


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the verdict, and what came of it."""

    device: str  # a uuid, "node" or "host"
    name: str  # of a figure: the key of its rows, "hbm.read/measured"
    outcome: str  # "pass", "warn", "fail" or "cannot_judge"
    text: str
    limit: Cell  # a healthy device reaches it
    value: Cell  # of a figure
    median: Cell  # of healthy devices
    cause: str  # what explains a failure; also the end of `text`


@dataclass(frozen=True, slots=True)
class Screen:
    code: str  # "pass", "fail" or "cannot_judge"
    word: str
    sentence: str
    reasons: tuple[str, ...]
    tables: tuple[Table, ...]
    matters: tuple[tuple[str, str], ...]  # (severity, text)
    rules: tuple[Rule, ...] = ()

    def marked(self) -> list[Rule]:
        """The rules that fail or warn, failures first."""
        return [rule for outcome in MARKED for rule in self.rules if rule.outcome == outcome]


def first_screen(path: str | Path) -> Screen | str:
    """The first screen of a profile's file with its verdict's rules, from the installed program, or
    why there is none."""
    program = _program()
    if program is None:
        return "the program peakline is not installed here"
    # A pipe was already consumed.
    if not Path(path).is_file():
        return "the profile is no regular file"
    document = _asked(program, "show", path)
    if isinstance(document, str):
        return document
    if "screen" not in document:
        return _failed(program, "show", "it is of an older version")
    try:
        screen = read_screen(document["screen"])
    except (AttributeError, LookupError, TypeError, ValueError):
        return _failed(program, "show", "it is of another version")
    judged = _asked(program, "check", path)
    try:
        return screen if isinstance(judged, str) else replace(screen, rules=read_rules(judged))
    except (AttributeError, LookupError, TypeError, ValueError):
        return screen


def _asked(program: str, command: str, path: str | Path) -> dict[str, Any] | str:
    """The document that a command of the program prints for a profile, or why there is none."""
    try:
        done = subprocess.run(
            [program, command, "--json", "--", str(path)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return _failed(program, command, str(error))
    if done.returncode not in _VERDICTS.get(command, (0,)):
        said = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        return _failed(program, command, said)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return _failed(program, command, "its output is not JSON")
    return document if isinstance(document, dict) else {}


_NUMBERS = ("limit", "value", "median")


def read_rules(document: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules of `peakline check --json` for one profile. Raises as `read_screen`."""
    return tuple(
        Rule(
            str(device["uuid"]),
            str(rule["name"]).partition("/")[2],
            str(rule["outcome"]),
            str(rule["text"]),
            cause=str(rule.get("cause", "")),
            **{key: value(rule.get(key), str(rule.get("unit", ""))) for key in _NUMBERS},
        )
        for device in document["profiles"][0]["devices"]
        for rule in device["rules"]
    )


def read_screen(document: Mapping[str, Any]) -> Screen:
    """The screen from "screen" of `peakline show --json`. Raises KeyError, TypeError,
    AttributeError or ValueError if it is invalid."""
    verdict = document["verdict"]
    return Screen(
        str(verdict["code"]),
        str(verdict["text"]),
        str(verdict["sentence"]),
        tuple(map(str, verdict["reasons"])),
        tuple(map(read_table, document["tables"])),
        tuple((str(row["severity"]), str(row["text"])) for row in document["matters"]),
    )


def _program() -> str | None:
    """The program installed with this package, else the one on PATH."""
    beside = Path(sysconfig.get_path("scripts"), "peakline")
    if beside.is_file() and os.access(beside, os.X_OK):
        return str(beside)
    return shutil.which("peakline")


def _failed(program: str, command: str, why: str) -> str:
    return short(f"{program} {command} failed: {why}", _MOST_OF_A_REASON)


_COLUMNS = (Column("measured", "measured"), Column("share", "share", is_text=True))


def headlines(profile: Profile, device: str, title: str = "") -> Table | None:
    """A device's figures with their reference, "–" if not measured; None if none was."""
    found = tuple(_row(profile, row) for row in profile.headlines if row.device == device)
    if all(row.cells["measured"].value is None for row in found):
        return None
    return Table(title, _COLUMNS, found)


def _row(profile: Profile, headline: Headline) -> Row:
    """The row of a headline, whose value is a ceiling of the profile."""
    row = profile.ceiling(headline.device, headline.resource, headline.basis)
    measured = value(row.value, row.unit) if row else value(None, "")
    share = Cell(text=_share(profile, headline))
    return Row(profile.headline_label(headline), {"measured": measured, "share": share})


def _share(profile: Profile, headline: Headline) -> str:
    row = profile.ceiling(headline.device, headline.resource, headline.basis)
    if row is None:
        return headline.missing or "not measured in this run"
    if row.varies:
        return "varies by tens of percent"
    reference = headline.reference_basis and profile.ceiling(
        headline.device, headline.resource, headline.reference_basis
    )
    if not reference:
        return basis_name(headline.basis)
    limit = units.rate(reference.value, reference.unit)
    # A link's packets have headers, which no copy can do without.
    if row.packets != 1:
        allowed = reference.value * row.packets
        share = units.percent(row.value / allowed)
        return f"{share} of the {units.rate(allowed, row.unit)} that packets allow (raw {limit})"
    share = units.percent(row.value / reference.value)
    return f"{share} of {basis_name(reference.basis)} {limit}"
