"""The page about work that ran on a machine: where the time of a step goes, kernels, changes."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from peakline import units
from peakline.page.answers import own_answer
from peakline.page.html import card, cell, escape, figure, table
from peakline.page.pages import page
from peakline.page.provenance import machine, provenance
from peakline.page.screen import Screen
from peakline.page.sections import folded_group, list_of, picture
from peakline.page.tables import amounts, kernels
from peakline.pictures import Picture, with_signs
from peakline.profile import Profile
from peakline.text import shell_word
from peakline.workload import change_text
from peakline.workload.advice import advice
from peakline.workload.analysis import Analysis
from peakline.workload.change import Change
from peakline.workload.kernel_text import YOURS, headline, other_device_of
from peakline.workload.placement import Placement
from peakline.workload.step_text import headline as step_headline
from peakline.workload.step_text import module_table, overlap, phase_table, said, spread


def of_steps(analysis: Analysis, drawn: Sequence[Picture], numbers: Iterator[int]) -> str:
    """The part with its heading. drawn: its pictures. numbers: one per drawing of a page."""
    first, *others = drawn
    body = ['<h2 id="steps" class=first>Where the time of a step goes</h2>']
    body.append(picture(first, numbers, f"at-{first.key}"))
    body.append(_advice(analysis))
    body += _pictures(others, numbers)
    body.append(_figures(analysis))
    body += [amounts(phase_table(analysis)), amounts(module_table(analysis))]
    return "".join(body)


def _advice(analysis: Analysis) -> str:
    texts = (with_signs(said(one, analysis.one)) for one in advice(analysis))
    found = "".join(f"<li>{escape(text)}</li>" for text in texts)
    notes = "".join(
        f"<p>{escape(note)}</p>" for note in (overlap(analysis), *analysis.notes) if note
    )
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
            *_pictures(drawn, numbers),
            card("change-notes", f"<h3>What to keep in mind</h3><p>{spread_}</p>{notes}"),
            *map(amounts, change_text.tables(change)),
        ]
    )


_KERNELS = ("kernels", "kernel-roofline")


def work_page(
    profile: Profile,
    placements: Sequence[Placement],
    pictures: Mapping[str, Sequence[Picture]],
    screen: Screen | str,
    steps: Analysis | Change | None = None,
    drawn: Sequence[Picture] = (),
) -> str:
    """The page about work on a machine.

    pictures: of the kernels and of curves behind their texts, by device. screen: of the machine, or
    why there is none. steps: of a run, or the change between two, with their pictures `drawn`.
    """
    called, warning, answer = YOURS, "", headline(placements)
    if isinstance(steps, Change):
        answer = change_text.headline(steps)
    elif steps is not None:
        called, warning, answer = steps.kernels_called, steps.other_device, step_headline(steps)
    elif placements:
        warning = other_device_of(profile, placements)
    # The page's answer stands at its top, not above its picture too.
    drawn = [dataclasses.replace(p, headline=p.headline.replace(answer, "")) for p in drawn]
    numbers = itertools.count(1)
    subject = "Your kernels"
    body = []
    entries = []
    if isinstance(steps, Change):
        subject = "What changed"
        body.append(of_change(steps, drawn, numbers))
    elif steps is not None:
        subject = "Where the time of a step goes"
        body.append(of_steps(steps, drawn, numbers))
    # Work of another GPU is only held against this one's figures.
    title = f"{subject}{', against' if warning else ' on'} {machine(profile)}"
    if steps is not None:
        entries.append(("steps", subject, True))
    for number, (device, items) in enumerate(pictures.items()):
        own = [p for p in items if p.key in _KERNELS]
        others = [p for p in items if p.key not in _KERNELS]
        entries.append((f"kernels-of-{number}", called, True))
        entries += [(f"at-{p.key}-{number}", p.subject, False) for p in own[1:]]
        body.append(f'<h2 id="kernels-of-{number}">{escape(called)}</h2>')
        own = [dataclasses.replace(p, headline=p.headline.replace(answer, "")) for p in own]
        body += _pictures(own, numbers, f"-{number}")
        curves_at = {topic: f"at-{p.key}-{number}" for p in others for topic in p.topics}
        mine = [p for p in placements if p.device == device]
        body.append(kernels(profile, mine, f"kernels-{number}", curves_at, called))
        if others:
            heading = f"What was measured on {profile.device_name(device)}"
            entries.append((f"measured-{number}", heading, True))
            subjects = ", ".join(p.subject for p in others)
            cards = "".join(_pictures(others, numbers, f"-{number}"))
            group = folded_group(f"measured-{number}", heading, subjects, cards, opened=False)
            body.append(f'<div class="groups">{group}</div>')
    entries.append(("source", "Where this comes from", True))
    body.append('<h2 id="source">Where this comes from</h2>')
    body.append(provenance(profile))
    file = Path(profile.path).name
    command = f"peakline-report {shell_word(file) or 'PROFILE'}"
    header = (
        f"<header>{list_of([('warning', warning)] if warning else [])}"
        f'<h1>{escape(title)}</h1><p class="lead">Compared with what '
        f"{escape(file or 'the profile')} measured on {profile.created[:10]}. "
        f"<code>{escape(command)}</code> draws that machine itself: roofline, ceilings, links.</p>"
        f"{own_answer(profile, screen, answer)}</header>"
    )
    return page(title, entries, [header, *body])


def _pictures(items: Sequence[Picture], numbers: Iterator[int], end: str = "") -> Iterator[str]:
    for shown in items:
        yield picture(shown, numbers, f"at-{shown.key}{end}")
