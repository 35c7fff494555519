"""The top of a page: verdict, answers, what to do."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from peakline.names import basis_name
from peakline.page.cells import MARKED, Cell, Column, Row, Table, text_of
from peakline.page.html import card, cell, escape, plain_table
from peakline.page.provenance import device_heading
from peakline.page.screen import Rule, Screen, headlines
from peakline.page.sections import findings, list_of, subject
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
        # The page itself has all that fails.
        reasons = (_SLOW,) if screen.marked() else screen.reasons
        return verdict(screen.word, screen.code, screen.sentence, reasons)
    command = f"peakline show {shell_word(Path(profile.path).name) or 'PROFILE'}"
    return (
        '<div class="verdict open"><p><b>NO VERDICT</b> <span>None was computed: '
        f"{escape(screen)}. <code>{escape(command)}</code> computes one.</span></p>"
        "</div>"
    )


def own_answer(profile: Profile, screen: Screen | str, answer: str) -> str:
    """The answer of a page about something else than the machine, whose verdict stands small
    below, without the colour of a pass, which would look like the answer's."""
    text = f'<p class="own">{escape(unbroken(with_signs(answer)))}</p>'
    if isinstance(screen, Screen) and screen.code == "pass":
        passes = f"The machine of the profile passes peakline check: {screen.sentence}."
        return f'{text}<p class="lead">{escape(passes)}</p>'
    return f'{text}<div class="small">{verdict_of(profile, screen)}</div>'


def answers(profile: Profile, screen: Screen | str) -> str:
    """The tables of the first screen; without it, each device's first figures."""
    if isinstance(screen, Screen):
        tables = [_judged(table, screen.marked()) for table in screen.tables]
    else:
        shown = [d for d in profile.measured_devices() if d == NODE or profile.gpu(d)]
        shown = shown or list(profile.measured_devices())
        several = len(shown) > 1
        found = [
            headlines(profile, d, device_heading(profile, d) if several else "") for d in shown
        ]
        tables = [table for table in found if table]
    cards = ""
    for wide, run in itertools.groupby(tables, _is_wide):
        shown = [_card(table) for table in run]
        # One narrow card alone would leave half of the page empty beside it.
        whole = wide or len(shown) == 1
        cards += "".join(f'<div class="whole">{s}</div>' if whole else s for s in shown)
    return f'<div class="answers" id="answers">{cards}</div>' if cards else ""


def _judged(table: Table, rules: Sequence[Rule]) -> Table:
    """The table with the rows marked that these rules name."""
    wrong = {rule.name: rule.outcome for rule in rules}
    rows = tuple(dataclasses.replace(row, outcome=wrong.get(row.key, "")) for row in table.rows)
    return dataclasses.replace(table, rows=rows)


def _label(row: Row) -> str:
    if row.outcome not in MARKED:
        return cell(with_signs(row.label))
    word, look = MARKED[row.outcome]
    return f'<td class="{look}">{escape(with_signs(row.label))} <b>{word}</b></td>'


# A table with so many columns and characters needs the width of the page.
_WIDE_COLUMNS, _WIDE_CHARACTERS = 5, 60


def _is_wide(table: Table) -> bool:
    columns = _joined(table)
    if len(columns) < _WIDE_COLUMNS:
        return False
    texts = [[row.label, *(_text(row, column) for column in columns)] for row in table.rows]
    return sum(max(map(len, column)) for column in zip(*texts, strict=True)) > _WIDE_CHARACTERS


def _card(table: Table) -> str:
    columns = _joined(table)
    heads = list(_heads(columns))
    rows = [
        [
            _label(row),
            *(
                cell(_text(row, of), number=not of[0].is_text, head=head)
                for of, head in zip(columns, heads, strict=True)
            ),
        ]
        for row in table.rows
    ]
    title = f"<h3>{escape(with_signs(table.title))}</h3>" if table.title else ""
    notes = "".join(f"<p>{escape(with_signs(note))}</p>" for note in _notes(table))
    shown = plain_table(("", *heads), rows) if rows else ""
    return card("answer", title + shown + notes)


def _heads(columns: Sequence[Sequence[Column]]) -> Iterator[str]:
    """The columns' heads; a share of what is published says so, as pictures have other shares."""
    of = {column.key: column.head for column, *_ in columns}.get("reference", "")
    for column, *_ in columns:
        yield f"of {of}" if column.key == "share" and of == "published" else column.head


def _joined(table: Table) -> list[list[Column]]:
    """The columns, each with those that continue it: "4700 GB/s GPU 1"."""
    found: list[list[Column]] = []
    for column in table.columns:
        if column.attached and found:
            found[-1].append(column)
        else:
            found.append([column])
    return found


def _text(row: Row, columns: Iterable[Column]) -> str:
    texts = (with_signs(text_of(row.cells.get(column.key, Cell()), column)) for column in columns)
    return " ".join(map(unbroken, texts)).strip()


def _notes(table: Table) -> Iterator[str]:
    """What stands below the table: why figures are missing, remarks, notes."""
    for row in table.rows:
        for reason in (*(of.missing for of in row.cells.values()), row.remark):
            if reason:
                yield f"{row.label}: {reason}."
    yield from table.notes


_SLOW = (
    "Measure again while nothing else runs: peakline check. A GPU that fails twice needs service."
)


def _low_figures(profile: Profile, rules: Sequence[Rule]) -> Table:
    """The figures among the rules beside those of healthy devices."""
    causes = {rule.cause for rule in rules if rule.value.value}
    columns = [
        Column("measured", "measured"),
        Column("healthy", "healthy"),
        Column("share", "of healthy"),
        Column("healthy_from", "healthy from"),
        *([Column("cause", "cause", is_text=True)] if len(causes) > 1 else []),
    ]
    rows = []
    for rule in rules:
        if rule.value.value and rule.median.value:
            resource, _, basis = rule.name.partition("/")
            name = profile.label(resource) + (
                f" {basis_name(basis)}" if basis != "measured" else ""
            )
            cells = {
                "measured": rule.value,
                "healthy": rule.median,
                "share": Cell("share", value=rule.value.value / rule.median.value),
                "healthy_from": rule.limit,
                "cause": Cell(text=rule.cause),
            }
            label = subject(profile, [rule.device]) + name
            rows.append(Row(label, cells, key=rule.name, outcome=rule.outcome))
    return Table("", tuple(columns), tuple(rows))


def _other_failures(profile: Profile, screen: Screen, shown: Table) -> Iterator[tuple[str, str]]:
    """What fails beside figures, each with its device."""
    said = [text for _, text in screen.matters]
    in_table = {row.key for row in shown.rows}
    for rule in screen.marked():
        text = rule.text.removesuffix(f"; {rule.cause}")
        if rule.name not in in_table and not any(text in other for other in said):
            yield MARKED[rule.outcome][1], subject(profile, [rule.device]) + text


def what_to_do(profile: Profile, screen: Screen | str) -> tuple[str, str]:
    """What fails and what else matters, with its heading."""
    matters = screen.matters if isinstance(screen, Screen) else ()
    table = ""
    if isinstance(screen, Screen) and (failing := screen.marked()):
        low = _low_figures(profile, failing)
        if low.rows:
            table = f'<div class="answers"><div class="whole">{_card(low)}</div></div>'
        matters = (*_other_failures(profile, screen, low), *matters)
    heading = "What fails" if table else "What matters here"
    shown = list_of([(severity, with_signs(text)) for severity, text in matters])
    others = findings(profile, [text for _, text in matters])
    return heading, f'<h2 id="to-do">{heading}</h2>{table}{shown}{others}'
