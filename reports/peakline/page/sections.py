"""The page's other parts: pictures, tiles, findings."""

from __future__ import annotations

from peakline.headline import headlines
from peakline.page.html import escape
from peakline.page.provenance import count
from peakline.pictures import Canvas, Picture, inline_svg
from peakline.profile import HOST, Profile


class Ids:
    """Prefixes for the ids of one page's pictures."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"p{self._count}-"


def picture(picture: Picture, ids: Ids, title: str = "") -> str:
    wide = inline_svg(picture, Canvas(), ids.next())
    narrow = inline_svg(picture, Canvas(narrow=True), ids.next())
    alternative = escape(f"{picture.title}. {picture.reading}")
    return (
        f'<section class="card" data-picture="{escape(picture.key)}">'
        f"<h3>{escape(title or picture.title)}</h3><p>{escape(picture.reading)}</p>"
        f'<figure role="img" aria-label="{alternative}"><div class="wide">{wide}</div>'
        f'<div class="narrow">{narrow}</div></figure>'
        f'<p class="how">{escape(picture.how)}</p></section>'
    )


def tiles(profile: Profile, device: str) -> str:
    tiles = "".join(
        f'<div class="tile"><div class="what">{escape(h.what)}</div>'
        f'<div class="value">{escape(h.value)}</div>'
        f'<div class="detail">{escape(h.detail)}</div></div>'
        for h in headlines(profile, device)
    )
    return f'<div class="tiles">{tiles}</div>' if tiles else ""


def findings(profile: Profile) -> str:
    rank = {"error": 0, "warning": 1, "info": 2}
    items = []
    several = len(profile.devices) > 1
    if not profile.complete:
        failed = [m for m in profile.measurements if m.status == "error"]
        items.append(
            '<li class="warning"><b>partial</b> This profile is not complete'
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
        return '<p class="lead">No findings: nothing was seen that explains a gap.</p>'
    return f'<ul class="findings">{"".join(items)}</ul>'
