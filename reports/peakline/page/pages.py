"""report.html: one self-contained page."""

import base64
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from peakline.page import decoding
from peakline.page.answers import answers, verdict_of, what_to_do
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
    pictures: dict[str, list[Picture]],
    screen: Screen | str,
    decoded: tuple[Mapping[str, Any], Picture] | None = None,
) -> str:
    """The page of one profile. pictures: by device, in display order. screen: the program's first
    screen, or why there is none. decoded: a language model's bounds, with their picture."""
    numbers = itertools.count(1)
    title = machine(profile)
    body = [
        f"<header><h1>{escape(title)}</h1>{lead(profile)}{verdict_of(profile, screen)}</header>",
        answers(profile, screen),
        what_to_do(profile, screen),
    ]
    entries: list[Entry] = [("answers", "Answers", True), ("to-do", "What to do", True)]
    opened = True  # only the first group
    if decoded is not None:
        entries.append(("decoding", decoding.heading(decoded[0]), True))
        body.append(decoding.of_decoding(*decoded, numbers, profile.label))
    # Links between GPUs first: they are why one buys a node.
    devices = sorted(profile.measured_devices(), key=lambda device: device != NODE)
    gpus = [device for device in devices if device not in (HOST, NODE)] or [""]
    for number, device in enumerate(devices):
        heading = device_heading(profile, device)
        parts = _of_device(profile, device, number, pictures.get(device, []), numbers)
        if device in (HOST, NODE):
            about, cards = zip(*parts.values(), strict=True) if parts else ((), ())
            parts = {heading: (", ".join(about), "".join(cards))}
        else:
            # With a single GPU, the page's title says it.
            hidden = " class=first" if heading == title else ""
            body.append(f'<h2 id="device-{number}"{hidden}>{escape(heading)}</h2>')
            if not hidden:
                entries.append((f"device-{number}", heading, True))
        body.append('<div class="groups">')
        for place, (name, (subjects, content)) in enumerate(parts.items()):
            identity = f"group-{number}-{place}"
            body.append(folded_group(identity, name, subjects, content, opened))
            # Contents list only the first GPU's groups.
            if name == heading or device == gpus[0]:
                entries.append((identity, name, name == heading))
            opened = False
        body.append("</div>")
    entries.append(("source", "Where this comes from", True))
    body.append('<h2 id="source">Where this comes from</h2>')
    body.append(provenance(profile))
    body.append(raw(profile, "raw"))
    return page(title, entries, body)


# A group's subjects, and its cards.
_Part = tuple[str, str]


def _of_device(
    profile: Profile, device: str, number: int, drawn: Sequence[Picture], numbers: Iterator[int]
) -> dict[str, _Part]:
    """A device's groups by name. number: its own; numbers: one per drawing."""
    parts = {}
    for group, items in groups(drawn).items():
        cards = []
        for p in items:
            cards.append(picture(p, numbers, f"at-{p.key}-{number}"))
            if p.key == "factors":
                cards.append(factors(profile, device, f"factors-{number}"))
        parts[group] = ", ".join(p.subject for p in items), "".join(cards)
    said = [c for c in profile.curves if c.device == device]
    tables = ceilings(profile, device, f"ceilings-{number}")
    tables += curves(said, {topic for p in drawn for topic in p.topics}, f"curves-{number}")
    if tables:
        parts["In figures"] = "Ceilings, curves", tables
    return parts


def side_by_side_page(
    items: Sequence[tuple[str, Profile, str]], pictures: Sequence[Picture]
) -> str:
    """The page of several (name, profile, device): overlaid rooflines, ceilings side by side. It
    gives no verdicts, unlike `peakline compare`."""
    numbers = itertools.count(1)
    body = [
        f"<header><h1>{len(items)} devices side by side</h1>"
        f'<p class="lead">{escape(", ".join(name for name, _, _ in items))}</p>'
        "<p>These are ratios, not verdicts: two runs of one healthy card differ, and so do two "
        "cards of a model. For verdicts: <code>peakline compare BASE.json -- NEW.json --json &gt; "
        "comparison.json; peakline-report comparison.json</code></p></header>"
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
