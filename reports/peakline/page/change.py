"""The page's part on what changed between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from peakline import units
from peakline.page.html import card, cell, escape, figure, table
from peakline.page.sections import picture
from peakline.pictures import Picture
from peakline.workload.change import INTO, Change, Row
from peakline.workload.change_text import share, signed, spread
from peakline.workload.part import Part


def of_change(change: Change, drawn: Sequence[Picture], numbers: Iterator[int]) -> str:
    """The part, with its heading; drawn: its pictures; numbers: one for each drawing of a page."""
    notes = "".join(f"<p>{escape(finding.text)}</p>" for finding in change.findings)
    body = ['<h2 id="steps">What changed</h2>']
    body += [picture(shown, numbers, f"at-{shown.key}") for shown in drawn]
    body.append(
        card("change-notes", f"<h3>What to keep in mind</h3><p>{escape(spread(change))}</p>{notes}")
    )
    names = [Part(row.name).label for row in change.parts]
    body.append(_table(change, "parts", "The step in figures", change.parts, names))
    names = [
        "\N{NO-BREAK SPACE}" * 4 * row.name.count(INTO) + row.name.split(INTO)[-1]
        for row in change.modules
    ]
    body.append(_table(change, "modules", "By module", change.modules, names))
    names = [row.name for row in change.kernels]
    body.append(_table(change, "kernels", "By kernel", change.kernels, names))
    return "".join(body)


def _table(change: Change, kind: str, title: str, rows: Sequence[Row], names: Sequence[str]) -> str:
    """Rows before and after; nothing without any."""
    if not rows:
        return ""
    heads = ["", "before", "after", "change", "of the step before", "launches before", "after", ""]
    cells = [_cells(change, row, name) for row, name in zip(rows, names, strict=True)]
    if not any(side and side.launches for row in rows for side in (row.before, row.after)):
        heads, cells = heads[:5], [line[:5] for line in cells]
    heads[0] = kind.removesuffix("s")
    return card(
        f"change-{kind}",
        f"<h3>{title}</h3>{table(f'change-{kind}', heads, cells)}"
        '<p class="how">Times and launches are of a step on average.</p>',
    )


def _cells(change: Change, row: Row, name: str) -> list[str]:
    before, after = row.before, row.after
    return [
        cell(name, raw=row.name),
        figure(before.seconds if before else None, units.time),
        figure(after.seconds if after else None, units.time),
        figure(row.change_s, signed),
        figure(row.change_s / change.before.step_s, share),
        figure(before.launches if before else None, "{:.4g}".format),
        figure(after.launches if after else None, "{:.4g}".format),
        cell(row.note),
    ]
