"""The page's part on the steps of a run: where their time goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from peakline import units
from peakline.page.html import card, cell, escape, figure, table
from peakline.page.sections import picture
from peakline.pictures import Picture, with_signs
from peakline.workload.advice import advice
from peakline.workload.analysis import Analysis
from peakline.workload.modules import modules
from peakline.workload.text import said, spread

_INDENT = "\N{NO-BREAK SPACE}" * 4


def of_steps(analysis: Analysis, drawn: Sequence[Picture], numbers: Iterator[int]) -> str:
    """The part, with its heading; drawn: its pictures; numbers: one for each drawing of a page."""
    first, *others = drawn
    body = ['<h2 id="steps">Where the time of a step goes</h2>']
    body.append(picture(first, numbers, f"at-{first.key}"))
    body.append(_advice(analysis))
    body += [picture(shown, numbers, f"at-{shown.key}") for shown in others]
    body.append(_figures(analysis))
    body.append(_modules(analysis))
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
    heads = ["part", f"in a {one}", f"of {one}", f"ns of all {one}s"]
    if several:
        heads += [f"rank {analysis.number(place)}" for place in range(len(analysis.ranks))]
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
        f"<h3>The {one} in figures</h3><p>{escape(spread(analysis))}</p>"
        f'{table("step-parts", heads, rows)}<p class="how">The parts add up to the whole, to the '
        "nanosecond.</p>",
    )


def _modules(analysis: Analysis) -> str:
    """Modules and named ranges of the leading rank; nothing where its trace has none."""
    rank = analysis.ranks[analysis.leading]
    found, scale = modules(rank), 1e-9 / len(rank.steps)
    if not found:
        return ""
    heads = ["module", "forward", "backward", f"of {analysis.one}", "beyond bound"]
    rows = [
        [
            cell(f"{_INDENT * (len(m.path) - 1)}{m.label}", raw=" / ".join(m.path)),
            figure(m.forward * scale, units.time),
            figure(m.backward * scale, units.time),
            figure(m.nanoseconds / rank.nanoseconds, units.percent),
            figure(m.beyond * scale, units.time),
        ]
        for m in found
    ]
    return card(
        "step-modules",
        f"<h3>By module</h3>{table('step-modules-table', heads, rows)}"
        f'<p class="how">Time of a {analysis.one} on the device, by the ranges around each launch: '
        "modules of a stack (with_stack=True), record_function and NVTX. What the backward pass "
        "launches counts with its forward operator's module. An outer range holds its inner ones."
        "</p>",
    )
