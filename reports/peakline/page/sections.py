"""The page's other parts: pictures, tiles, findings."""

from __future__ import annotations

from collections.abc import Iterator

from peakline.headline import headlines
from peakline.page.html import card, escape
from peakline.page.provenance import count
from peakline.pictures import Canvas, Picture, inline_svg
from peakline.profile import HOST, Profile


def picture(shown: Picture, numbers: Iterator[int]) -> str:
    """A picture with its sentences. numbers: one each for the ids of a drawing, within one page."""
    wide, narrow = (
        inline_svg(shown, canvas, f"p{next(numbers)}-") for canvas in (Canvas(), Canvas(True))
    )
    alternative = escape(f"{shown.title}. {shown.reading}".rstrip())
    reading = f"<p>{escape(shown.reading)}</p>" if shown.reading else ""
    return card(
        shown.key,
        f"<h3>{escape(shown.title)}</h3>{reading}"
        f'<figure role="img" aria-label="{alternative}"><div class="wide">{wide}</div>'
        f'<div class="narrow">{narrow}</div></figure>'
        f'<p class="how">{escape(shown.how)}</p>',
    )


def tiles(profile: Profile, device: str) -> str:
    """The figures that matter most about a device."""
    tiles = "".join(
        f'<div class="tile"><div class="what">{escape(h.what)}</div>'
        f'<div class="value">{escape(h.value)}</div>'
        f'<div class="detail">{escape(h.detail)}</div></div>'
        for h in headlines(profile, device)
    )
    return f'<div class="tiles">{tiles}</div>' if tiles else ""


def findings(profile: Profile) -> str:
    """What explains a gap, the gravest first."""
    rank = {"error": 0, "warning": 1, "info": 2}
    items = []
    several = len(profile.devices) > 1
    if not profile.complete:
        failed = [m for m in profile.measurements if m.status == "error"]
        items.append(
            '<li class="warning"><b>partial</b> This profile is incomplete'
            + (f": {count(len(failed), 'measurement')} failed" if failed else "")
            + ". What is missing below was not measured.</li>"
        )
    for finding in sorted(profile.findings, key=lambda f: rank[f.severity]):
        name = finding.device and (several or finding.device == HOST)
        where = f" ({profile.device_name(finding.device)})" if name else ""
        evidence = ", ".join(f"{k} {v}" for k, v in finding.evidence.items())
        small = f"<small>{escape(evidence)}</small>" if evidence else ""
        items.append(
            f'<li class="{finding.severity}"><b>{escape(finding.severity)}</b> '
            f"{escape(finding.message)}{escape(where)}{small}</li>"
        )
    if not items:
        return '<p class="lead">No findings: nothing was seen that would explain a gap.</p>'
    return f'<ul class="findings">{"".join(items)}</ul>'
