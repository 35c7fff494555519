"""The page's part on the steps of a run: where their time goes, or what changed."""

from collections.abc import Iterator, Sequence

from peakline import units
from peakline.page.html import card, cell, escape, figure, table
from peakline.page.sections import picture
from peakline.page.tables import amounts
from peakline.pictures import Picture, with_signs
from peakline.workload import change_text
from peakline.workload.advice import advice
from peakline.workload.analysis import Analysis
from peakline.workload.change import Change
from peakline.workload.step_text import module_table, said, spread


def of_steps(analysis: Analysis, drawn: Sequence[Picture], numbers: Iterator[int]) -> str:
    """The part with its heading. drawn: its pictures. numbers: one per drawing of a page."""
    first, *others = drawn
    body = ['<h2 id="steps" class=first>Where the time of a step goes</h2>']
    body.append(picture(first, numbers, f"at-{first.key}"))
    body.append(_advice(analysis))
    body += [picture(shown, numbers, f"at-{shown.key}") for shown in others]
    body.append(_figures(analysis))
    body.append(amounts(module_table(analysis)))
    return "".join(body)


def _advice(analysis: Analysis) -> str:
    texts = (with_signs(said(one, analysis.step_s)) for one in advice(analysis))
    found = "".join(f"<li>{escape(text)}</li>" for text in texts)
    notes = "".join(f"<p>{escape(note)}</p>" for note in analysis.notes)
    nothing = "<p>Nothing found that would save 2 % of a step.</p>"
    saved = f"<ol>{found}</ol>" if found else nothing
    return card("step-advice", f"<h3>What could be saved</h3>{saved}{notes}")


def _figures(analysis: Analysis) -> str:
    several = len(analysis.ranks) > 1
    one = analysis.one
    heads = ["part", f"in a {one}", f"of {one}", f"ns of all {one}s{' and ranks' * several}"]
    if several:
        heads += [f"of {one}, {analysis.named(place)}" for place in range(len(analysis.ranks))]
    rows = []
    for part, time in analysis.parts.items():
        line = [
            cell(part.label, raw=part.value),
            figure(time / analysis.steps * 1e-9, units.time),
            figure(analysis.share(part), units.percent),
            figure(time, "{:.0f}".format),
        ]
        if several:
            line += [figure(rank.share(part), units.percent) for rank in analysis.ranks]
        rows.append(line)
    return card(
        "step-table",
        f"<h3>The {one} in figures{analysis.mean}</h3><p>{escape(spread(analysis))}</p>"
        f'{table("step-parts", heads, rows)}<p class="how">The parts add up to the whole, to the '
        "nanosecond.</p>",
    )


def of_change(change: Change, drawn: Sequence[Picture], numbers: Iterator[int]) -> str:
    """The part on changes between two runs, with its heading; arguments as in `of_steps`."""
    notes = "".join(f"<p>{escape(finding.text)}</p>" for finding in change.findings)
    spread_ = escape(change_text.spread(change))
    return "".join(
        [
            '<h2 id="steps" class=first>What changed</h2>',
            *(picture(shown, numbers, f"at-{shown.key}") for shown in drawn),
            card("change-notes", f"<h3>What to keep in mind</h3><p>{spread_}</p>{notes}"),
            *map(amounts, change_text.tables(change)),
        ]
    )
