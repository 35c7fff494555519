"""report.html: one self-contained page."""

import base64
import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from peakline.names import gpus_name
from peakline.page import decoding
from peakline.page.answers import answers, own_answer, verdict_of, what_to_do
from peakline.page.html import escape
from peakline.page.provenance import device_heading, lead, machine, provenance
from peakline.page.screen import Screen
from peakline.page.sections import contents, findings, folded_group, groups, picture
from peakline.page.tables import ceilings, curves, factors, raw, side_by_side
from peakline.pictures import Picture
from peakline.profile import HOST, NODE, Profile

# An entry of the contents: id, text, whether it starts a part.
Entry = tuple[str, str, bool]


def page(title: str, entries: Sequence[Entry], parts: Sequence[str], *scripts: str) -> str:
    """A complete page. entries: of its contents. scripts: files of this package, in addition to
    page.js."""
    package = resources.files("peakline.page")
    style = package.joinpath("page.css").read_text(encoding="utf-8")
    code = "".join(
        package.joinpath(name).read_text(encoding="utf-8") for name in ("page.js", *scripts)
    )
    body, shared = _shared_styles("".join([contents(entries), *parts]))
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    # Whatever a profile contains: no fetches, and no scripts but this one.
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>peakline: {escape(title)}</title><style>{style}{shared}</style></head>"
        f"<body><main>{body}</main><script>{code}</script></body></html>\n"
    )


def _shared_styles(body: str) -> tuple[str, str]:
    """The body with its drawings' styles replaced by classes, and the rules of those."""
    classes: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        return f' class="{classes.setdefault(match[1], f"d{len(classes)}")}"'

    body = re.sub(r' style="([^"]*)"', named, body)
    return body, "".join(f".{name}{{{style}}}" for style, name in classes.items())


def report_page(
    profile: Profile,
    pictures: Mapping[str, Sequence[Picture]],
    screen: Screen | str,
    decoded: tuple[Mapping[str, Any], Picture] | None = None,
    fed: bool = False,
) -> str:
    """The page of one profile. pictures: by device, in display order. screen: the program's first
    screen, or why there is none. decoded: a language model's bounds, with their picture. fed:
    whether it was asked if storage keeps up."""
    numbers = itertools.count(1)
    title = name = machine(profile)
    body, entries = [], list[Entry]()
    verdict = verdict_of(profile, screen)
    if fed:
        pictures, asked = _taken(pictures, "input")
        title = f"Storage of {name}"
        verdict = own_answer(profile, screen, asked.headline)
        entries.append(("input", "From storage to the GPU", True))
        asked = dataclasses.replace(asked, headline="")
        body.append(f'<h2 id="input" class=first>{escape(title)}</h2>')
        body.append(picture(asked, numbers, f"at-{asked.key}"))
    if decoded is not None:
        document, drawn = decoded
        title = f"{decoding.heading(document)} on {name}"
        verdict = own_answer(profile, screen, drawn.headline)
        entries.append(("decoding", decoding.heading(document), True))
        drawn = dataclasses.replace(drawn, headline="")
        body.append(decoding.of_decoding(document, drawn, numbers, profile.label))
    if body:
        body.append("<h2>The machine</h2>")
    heading, matters = what_to_do(profile, screen)
    body = [
        f"<header><h1>{escape(title)}</h1>{lead(profile)}{verdict}</header>",
        *body,
        answers(profile, screen),
        matters,
    ]
    entries += [("answers", "Answers", True), ("to-do", heading, True)]
    # Links between GPUs first: they are why one buys a node.
    devices = sorted(profile.measured_devices(), key=lambda device: device != NODE)
    gpus = [device for device in devices if device not in (HOST, NODE)] or [HOST]
    for number, device in enumerate(devices):
        heading = device_heading(profile, device)
        marked = screen.marked() if isinstance(screen, Screen) else []
        wrong = {rule.name: rule.outcome for rule in marked if rule.device == device}
        parts = _of_device(profile, device, number, pictures.get(device, []), numbers, wrong)
        if device in (HOST, NODE):
            about, cards = zip(*parts.values(), strict=True) if parts else ((), ())
            parts = {heading: (", ".join(about), "".join(cards))}
        else:
            # With a single GPU, the page's title says it.
            shown = "Pictures" if heading == name else heading
            body.append(f'<h2 id="device-{number}">{escape(shown)}</h2>')
            entries.append((f"device-{number}", shown, True))
        body.append('<div class="groups">')
        for place, (group, (subjects, content)) in enumerate(parts.items()):
            identity = f"group-{number}-{place}"
            # One group is open, or two: links between GPUs, and what is asked most often.
            opened = place == 0 and device in (NODE, gpus[0])
            body.append(folded_group(identity, group, subjects, content, opened))
            # Contents list only the first GPU's groups.
            if group == heading or device == gpus[0]:
                entries.append((identity, group, group == heading))
        body.append("</div>")
    entries.append(("source", "Where this comes from", True))
    body.append('<h2 id="source">Where this comes from</h2>')
    body.append(provenance(profile))
    body.append(raw(profile, "raw"))
    return page(title, entries, body)


def _taken(
    pictures: Mapping[str, Sequence[Picture]], key: str
) -> tuple[dict[str, list[Picture]], Picture]:
    """The first picture of a key, and the others."""
    found = next(p for items in pictures.values() for p in items if p.key == key)
    return {d: [p for p in items if p is not found] for d, items in pictures.items()}, found


# A group's subjects, and its cards.
_Part = tuple[str, str]


def _of_device(
    profile: Profile,
    device: str,
    number: int,
    drawn: Sequence[Picture],
    numbers: Iterator[int],
    wrong: Mapping[str, str],
) -> dict[str, _Part]:
    """A device's groups by name. number: its own; numbers: one per drawing; wrong: outcomes of the
    rules that mark a figure, by name."""
    parts = {}
    gpu = profile.gpu(device)
    # The answers above are the slowest GPU's.
    which = f" · {gpus_name([gpu.index])}" if gpu and len(profile.devices) > 1 else ""
    for group, items in groups(drawn).items():
        cards = []
        for p in items:
            named = dataclasses.replace(p, title=p.title + which)
            cards.append(picture(named, numbers, f"at-{p.key}-{number}"))
            if p.key == "factors":
                cards.append(factors(profile, device, f"factors-{number}"))
        parts[group] = ", ".join(p.subject for p in items), "".join(cards)
    said = [c for c in profile.curves if c.device == device]
    tables = ceilings(profile, device, f"ceilings-{number}", wrong)
    tables += curves(said, {topic for p in drawn for topic in p.topics}, f"curves-{number}")
    if tables:
        parts["In figures"] = "Ceilings, curves", tables
    return parts


def side_by_side_page(
    items: Sequence[tuple[str, Profile, str]],
    pictures: Sequence[Picture],
    screens: Sequence[tuple[Profile, Screen | str]],
) -> str:
    """The page of several (name, profile, device): the verdict of each profile, overlaid rooflines,
    ceilings side by side. screens: the first screens of the profiles. Ratios have no verdicts,
    unlike those of `peakline compare`."""
    numbers = itertools.count(1)
    # Failures first.
    ordered = sorted(screens, key=lambda one: getattr(one[1], "code", "") != "fail")
    verdicts = [f'<div class="small">{verdict_of(*one)}</div>' for one in ordered]
    body = [
        f"<header><h1>{len(items)} devices side by side</h1>"
        f'<p class="lead">{escape(", ".join(name for name, _, _ in items))}</p>'
        f"{''.join(verdicts)}"
        "<p>The ratios below are no verdicts: two runs of one healthy card differ, and so do two "
        "cards of a model. A comparison that knows how far they differ: <code>peakline compare "
        "BASE.json -- NEW.json --json &gt; comparison.json; peakline-report comparison.json"
        "</code></p></header>"
    ]
    entries = [(f"at-{p.key}", p.subject, False) for p in pictures]
    body += [picture(p, numbers, f"at-{p.key}") for p in pictures]
    entries.append(("at-table", "Ceilings in figures", False))
    body.append(f'<span id="at-table"></span>{side_by_side(items)}')
    for number, (name, profile, device) in enumerate(items):
        heading = f"{name}: {profile.device_name(device)}"
        entries.append((f"device-{number}", heading, True))
        body.append(f'<h2 id="device-{number}">{escape(heading)}</h2>')
        # A profile's findings and provenance follow its last device.
        if all(profile is not other for _, other, _ in items[number + 1 :]):
            body.append(findings(profile))
            body.append("<p></p>")
            body.append(provenance(profile))
            body.append(raw(profile, f"raw-{number}"))
    return page(", ".join(name for name, _, _ in items), entries, body)
