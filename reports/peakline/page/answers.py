"""The top of a page: verdict, answers, what to do."""

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

from peakline.page.html import card, cell, escape, plain_table
from peakline.page.provenance import device_heading
from peakline.page.screen import Screen, Section, headlines
from peakline.page.sections import findings, list_of
from peakline.pictures import with_signs
from peakline.pictures.picture import unbroken
from peakline.profile import NODE, Profile
from peakline.text import shell_word

# CSS class by outcome; others look like a verdict that could not be given.
_LOOKS = {"pass": "pass", "fail": "fail"}


def verdict(word: str, code: str, sentence: str, reasons: Iterable[str] = ()) -> str:
    """A verdict in words and colour, with its scope and reasons."""
    items = "".join(f"<li>{escape(reason)}</li>" for reason in reasons)
    more = f"<ul>{items}</ul>" if items else ""
    return (
        f'<div class="verdict {_LOOKS.get(code, "open")}"><p><b>{escape(word)}</b> '
        f"<span>{escape(sentence)}</span></p>{more}</div>"
    )


def verdict_of(profile: Profile, screen: Screen | str) -> str:
    if isinstance(screen, Screen):
        return verdict(screen.word, screen.code, screen.sentence, screen.reasons)
    command = f"peakline show {shell_word(Path(profile.path).name) or 'PROFILE'}"
    return (
        '<div class="verdict open"><p><b>NO VERDICT</b> <span>None was computed: '
        f"{escape(screen)}. <code>{escape(command)}</code> computes one.</span></p>"
        "</div>"
    )


def answers(profile: Profile, screen: Screen | str) -> str:
    """The tables of the first screen; without it, each device's first figures."""
    if isinstance(screen, Screen):
        sections = list(screen.sections)
    else:
        shown = [d for d in profile.measured_devices() if d == NODE or profile.gpu(d)]
        shown = shown or list(profile.measured_devices())
        several = len(shown) > 1
        found = [
            headlines(profile, d, device_heading(profile, d) if several else "") for d in shown
        ]
        sections = [section for section in found if section]
    cards = ""
    for wide, run in itertools.groupby(sections, _is_wide):
        shown = [_section(section) for section in run]
        # One narrow card alone would leave half of the page empty beside it.
        whole = wide or len(shown) == 1
        cards += "".join(f'<div class="whole">{s}</div>' if whole else s for s in shown)
    return f'<div class="answers" id="answers">{cards}</div>' if cards else ""


# A table with so many columns and characters needs the width of the page.
_WIDE_COLUMNS, _WIDE_CHARACTERS = 5, 60
# A column of which every cell is short and begins so holds numbers.
_NUMBER = re.compile(r"([±+−-]?\d.{,20}|–|)$")


def _is_wide(section: Section) -> bool:
    columns, lines = _joined(section)
    if len(columns) < _WIDE_COLUMNS:
        return False
    rows = [(label, *cells) for label, cells in lines]
    return sum(max(map(len, column)) for column in zip(*rows, strict=True)) > _WIDE_CHARACTERS


def _section(section: Section) -> str:
    columns, lines = _joined(section)
    numbers = [all(_NUMBER.match(cells[i]) for _, cells in lines) for i in range(len(columns))]
    rows = [
        [cell(label), *(cell(t, number=n) for t, n in zip(cells, numbers, strict=True))]
        for label, cells in lines
    ]
    title = f"<h3>{escape(with_signs(section.title))}</h3>" if section.title else ""
    notes = "".join(f"<p>{escape(with_signs(note))}</p>" for note in section.notes)
    shown = plain_table(("", *columns), rows) if rows else ""
    return card("answer", title + shown + notes)


def _joined(section: Section) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Columns and rows; a column without a name joins the one before it: "4700 GB/s GPU 1"."""
    heads: list[str] = []
    parts: list[list[int]] = []
    for place, name in enumerate(section.columns):
        if not name and heads and heads[-1]:
            parts[-1].append(place)
        else:
            heads.append(name)
            parts.append([place])
    return heads, [
        (
            with_signs(label),
            [" ".join(unbroken(with_signs(cells[i])) for i in of).strip() for of in parts],
        )
        for label, cells in section.rows
    ]


def what_to_do(profile: Profile, screen: Screen | str) -> str:
    matters = screen.matters if isinstance(screen, Screen) else ()
    shown = list_of([(severity, with_signs(text)) for severity, text in matters])
    others = findings(profile, [text for _, text in matters])
    return f'<h2 id="to-do">What to do</h2>{shown}{others}'
