"""The page about work that ran on a machine: steps, kernels, or changes between two runs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from peakline.page.answers import verdict_of
from peakline.page.html import escape
from peakline.page.pages import page
from peakline.page.provenance import machine, provenance
from peakline.page.screen import Screen
from peakline.page.sections import folded_group, picture
from peakline.page.steps import of_change, of_steps
from peakline.page.tables import kernels
from peakline.pictures import Picture
from peakline.profile import Profile
from peakline.text import shell_word
from peakline.workload.analysis import Analysis
from peakline.workload.change import Change
from peakline.workload.kernel_text import YOURS
from peakline.workload.placement import Placement

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
    numbers = itertools.count(1)
    name = machine(profile)
    title = f"Your kernels on {name}"
    body = []
    entries = []
    if isinstance(steps, Change):
        title = f"What changed on {name}"
        body.append(of_change(steps, drawn, numbers))
    elif steps is not None:
        title = f"Where the time of a step goes on {name}"
        body.append(of_steps(steps, drawn, numbers))
    if steps is not None:
        entries.append(("steps", title.partition(" on ")[0], True))
    called = steps.kernels_called if isinstance(steps, Analysis) else YOURS
    for number, (device, items) in enumerate(pictures.items()):
        own = [p for p in items if p.key in _KERNELS]
        others = [p for p in items if p.key not in _KERNELS]
        entries.append((f"kernels-of-{number}", called, True))
        entries += [(f"at-{p.key}-{number}", p.subject, False) for p in own[1:]]
        body.append(f'<h2 id="kernels-of-{number}">{escape(called)}</h2>')
        body += _pictures(own, number, numbers)
        curves_at = {topic: f"at-{p.key}-{number}" for p in others for topic in p.topics}
        mine = [p for p in placements if p.device == device]
        body.append(kernels(profile, mine, f"kernels-{number}", curves_at, called))
        if others:
            heading = f"What was measured on {profile.device_name(device)}"
            entries.append((f"measured-{number}", heading, True))
            subjects = ", ".join(p.subject for p in others)
            cards = "".join(_pictures(others, number, numbers))
            group = folded_group(f"measured-{number}", heading, subjects, cards, opened=False)
            body.append(f'<div class="groups">{group}</div>')
    entries.append(("source", "Where this comes from", True))
    body.append('<h2 id="source">Where this comes from</h2>')
    body.append(provenance(profile))
    file = Path(profile.path).name
    command = f"peakline-report {shell_word(file) or 'PROFILE'}"
    header = (
        f'<header><h1>{escape(title)}</h1><p class="lead">Compared with what '
        f"{escape(file or 'the profile')} measured on {profile.created[:10]}. "
        f"<code>{escape(command)}</code> draws that machine itself: roofline, ceilings, links.</p>"
        f"{verdict_of(profile, screen)}</header>"
    )
    return page(title, entries, [header, *body])


def _pictures(items: Sequence[Picture], number: int, numbers: Iterator[int]) -> Iterator[str]:
    for shown in items:
        yield picture(shown, numbers, f"at-{shown.key}-{number}")
