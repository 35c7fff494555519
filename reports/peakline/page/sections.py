"""The page's other parts: pictures, contents, findings."""

from collections.abc import Iterator, Sequence

from peakline import units
from peakline.names import finding_name, gpus_name, point_name
from peakline.page.html import card, escape
from peakline.pictures import Canvas, Picture, inline_svg
from peakline.pictures.picture import GROUPS, unbroken
from peakline.profile import HOST, NODE, Profile


def picture(shown: Picture, numbers: Iterator[int], identity: str = "") -> str:
    """A picture below its headline. numbers: one per drawing, for ids within a page."""
    wide, narrow = (
        inline_svg(shown, canvas, f"p{next(numbers)}-") for canvas in (Canvas(), Canvas(True))
    )
    said = f'<p class="said">{escape(unbroken(shown.headline))}</p>' if shown.headline else ""
    if shown.warning:
        said += f'<p class="said warning">{escape(shown.warning)}</p>'
    return card(
        shown.key,
        f'<div class="drawn"><h3>{escape(shown.title)}</h3>{said}'
        f'<figure><div class="wide">{wide}</div>'
        f'<div class="narrow">{narrow}</div></figure></div>{_how(shown.how)}',
        identity,
    )


_SHORT = 600  # characters; longer explanations are folded


def _how(text: str) -> str:
    said = f'<p class="how">{escape(text)}</p>'
    if len(text) <= _SHORT:
        return said
    return f"<details><summary>How to read it</summary>{said}</details>"


MOST_ASKED = "Most asked"
# The keys of its pictures, in order.
_ASKED = ("sizes", "roofline", "memory-map", "pcie", "launch", "alignment", "divergence")


def groups(shown: Sequence[Picture]) -> dict[str, list[Picture]]:
    """Pictures by group: those asked for most often, then the others of each group."""
    asked = sorted((p for p in shown if p.key in _ASKED), key=lambda p: _ASKED.index(p.key))
    others = [p for p in shown if p.key not in _ASKED]
    found = {MOST_ASKED: asked, **{g: [p for p in others if p.group == g] for g in GROUPS}}
    return {group: items for group, items in found.items() if items}


def folded_group(identity: str, title: str, subjects: str, content: str, opened: bool) -> str:
    """A group of cards that folds to its title and subjects; printing unfolds it."""
    return (
        f'<details class="group" id="{escape(identity)}"{" open" if opened else ""}>'
        f"<summary><span class=name>{escape(title)}</span> <span>{escape(subjects)}</span>"
        f'</summary><div class="cards">{content}</div></details>'
    )


def contents(entries: Sequence[tuple[str, str, bool]]) -> str:
    """The contents of (id, text, whether it starts a part), with a link past them."""
    links = "".join(
        f'<a href="#{escape(identity)}"{" class=part" if part else ""}>{escape(text)}</a>'
        for identity, text, part in entries
    )
    return (
        '<a class="skip" href="#content">Skip the contents</a>'
        f'<nav aria-label="Contents">{links}</nav><span id="content" tabindex="-1"></span>'
    )


_GRAVE = ("error", "warning")


def list_of(matters: Sequence[tuple[str, str]]) -> str:
    """A list of (severity, text); empty without any."""
    items = "".join(
        f'<li class="{severity if severity in _GRAVE else "info"}">'
        f"<b>{severity if severity in _GRAVE else 'note'}</b> {escape(text)}</li>"
        for severity, text in matters
    )
    return f'<ul class="findings">{items}</ul>' if items else ""


def subject(profile: Profile, devices: Sequence[str]) -> str:
    """The beginning of a finding: "GPU 1: "; "" for a single GPU and for the whole machine."""
    gpus = [gpu.index for gpu in profile.devices if gpu.uuid in devices]
    names = [gpus_name(gpus)] if gpus and len(profile.devices) > 1 else []
    names += [device for device in devices if device in (NODE, HOST)]
    return f"{', '.join(names)}: " if names else ""


def findings(profile: Profile, said: Sequence[str] = ()) -> str:
    """Findings, most severe first, in a line that opens. said: texts already shown."""
    rank = {"error": 0, "warning": 1, "info": 2}
    points = {m.name: point_name(m.id, m.params) for m in profile.measurements}
    points |= {m.id: point_name(m.id, {}) for m in profile.measurements}
    rows: dict[tuple[str, str, str, str], list[str]] = {}  # devices by severity, code, ...
    if not profile.complete:
        failed = [m for m in profile.measurements if m.status == "error"]
        text = "This profile is incomplete"
        text += f": {units.counted(len(failed), 'measurement')} failed" if failed else ""
        rows["warning", "partial", f"{text}. What is missing was not measured.", ""] = []
    for finding in sorted(profile.findings, key=lambda f: rank[f.severity]):
        if any(finding.message in text for text in said):
            continue
        evidence = ", ".join(
            f"{points.get(k, k)}: {v}" if "." in k else f"{k.replace('_', ' ')} {v}"
            for k, v in finding.evidence.items()
        )
        row = (finding.severity, finding_name(finding.code), finding.message, evidence)
        rows.setdefault(row, []).append(finding.device)
    if not rows:
        if said:
            return ""
        return '<p class="lead">No findings: nothing was seen that would explain a gap.</p>'
    items = "".join(
        f'<li class="{severity}"><b>{escape(code)}</b> {escape(subject(profile, devices) + text)}'
        + (f"<small>{escape(evidence)}</small>" if evidence else "")
        + "</li>"
        for (severity, code, text, evidence), devices in rows.items()
    )
    counts = [
        f'<b class="{severity}">{units.counted(number, word)}</b>'
        for severity, word in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if (number := [row[0] for row in rows].count(severity))
    ]
    codes = ", ".join(dict.fromkeys(code for _, code, _, _ in rows))
    # Errors are unfolded.
    opened = " open" if any(severity == "error" for severity, *_ in rows) else ""
    return (
        f'<details class="findings"{opened}><summary>{", ".join(counts)}: {escape(codes)}</summary>'
        f"<ul>{items}</ul></details>"
    )
