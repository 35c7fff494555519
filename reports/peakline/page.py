"""report.html: one self-contained page. Every text that comes from a profile passes `escape`."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from peakline import units
from peakline.headline import BASIS_COLUMNS, ceiling_table, headlines
from peakline.kernels import Placement, advice
from peakline.pictures import Canvas, Picture, inline_svg
from peakline.pictures.roofline import resource_name
from peakline.profile import HOST, Device, Profile


def escape(text: object) -> str:
    """Text as it may stand anywhere in HTML, attributes in quotes included."""
    return html.escape(str(text), quote=True)


def _cell(text: object, *, number: bool = False, raw: object = None) -> str:
    attributes = ' class="n"' if number else ""
    if raw is not None:
        attributes += f' data-raw="{escape(raw)}"'
    return f"<td{attributes}>{escape(text)}</td>"


def _table(identity: str, heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(
        f'<th scope="col"{" class=n" if number else ""}>{escape(text)}</th>'
        for text, number in heads
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table id="{escape(identity)}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _copy_button(identity: str) -> str:
    return f'<p><button type="button" data-table="{escape(identity)}">Copy the table</button></p>'


class _Ids:
    """Prefixes for the ids of one page's pictures."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"p{self._count}-"


def _picture(picture: Picture, ids: _Ids, title: str = "") -> str:
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


def _tiles(profile: Profile, device: str) -> str:
    tiles = "".join(
        f'<div class="tile"><div class="what">{escape(h.what)}</div>'
        f'<div class="value">{escape(h.value)}</div>'
        f'<div class="detail">{escape(h.detail)}</div></div>'
        for h in headlines(profile, device)
    )
    return f'<div class="tiles">{tiles}</div>' if tiles else ""


def _findings(profile: Profile) -> str:
    rank = {"error": 0, "warning": 1, "info": 2}
    items = []
    several = len(profile.devices) > 1
    if not profile.complete:
        failed = [m for m in profile.measurements if m.status == "error"]
        items.append(
            '<li class="warning"><b>partial</b> This profile is not complete'
            + (f": {_count(len(failed), 'measurement')} failed" if failed else "")
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


def _ceilings(profile: Profile, device: str, identity: str) -> str:
    bases, rows = ceiling_table(profile, device)
    if not rows:
        return ""
    names = dict(BASIS_COLUMNS)
    heads = [("resource", False), *((names[b], True) for b in bases)]
    shares = "theoretical" in bases
    if shares:
        heads.append(("of theoretical", True))
    cells = []
    for row in rows:
        line = [_cell(resource_name(row.resource), raw=row.resource)]
        for basis in bases:
            ceiling = row.by_basis.get(basis)
            if ceiling is None:
                line.append(_cell("–", number=True, raw=""))
            else:
                line.append(
                    _cell(units.rate(ceiling.value, ceiling.unit), number=True, raw=ceiling.value)
                )
        if shares:
            share = row.share
            text = "–" if share is None else units.percent(share)
            line.append(_cell(text, number=True, raw="" if share is None else share))
        cells.append(line)
    return (
        f'<section class="card" data-picture="ceiling-table"><h3>Ceilings</h3>'
        f"{_table(identity, heads, cells)}{_copy_button(identity)}</section>"
    )


def _shares(placement: Placement) -> str:
    """What the kernel reaches of each roof, as far as it is worth a word."""
    return ", ".join(
        f"{resource_name(resource)} {units.percent(share)}"
        for resource, share in placement.shares.items()
        if share >= 0.001
    )


def _kernels(placements: Sequence[Placement], identity: str) -> str:
    heads = [
        ("#", True),
        ("kernel", False),
        ("launches", True),
        ("time", True),
        ("FLOP/s", True),
        ("FLOP/byte", True),
        ("bound by", False),
        ("of its roof", True),
        ("to gain", True),
    ]
    rows = []
    for number, p in enumerate(placements, start=1):
        level = p.levels[0] if p.levels else None
        label = p.label if len(p.label) <= 36 else p.label[:35] + "…"
        rows.append(
            [
                _cell(number, number=True),
                f'<td data-raw="{escape(p.kernel.name)}">{escape(label)}'
                f"<small>{escape(_shares(p))}</small></td>",
                _cell(p.kernel.launches, number=True),
                _cell(units.time(p.kernel.seconds), number=True, raw=p.kernel.seconds),
                _cell(
                    units.rate(p.flops_per_s, "FLOP/s") if p.flops_per_s else "–",
                    number=True,
                    raw=p.flops_per_s,
                ),
                _cell(
                    units.intensity(level.intensity) if level and level.intensity else "–",
                    number=True,
                    raw=level.intensity if level else "",
                ),
                _cell(resource_name(p.bound_by) if p.bound_by else "–", raw=p.bound_by),
                _cell(
                    units.percent(p.share) if p.share is not None else "–",
                    number=True,
                    raw="" if p.share is None else p.share,
                ),
                _cell(
                    units.time(p.gain_s) if p.gain_s is not None else "–",
                    number=True,
                    raw="" if p.gain_s is None else p.gain_s,
                ),
            ]
        )
    return (
        f'<section class="card" data-picture="kernels"><h3>Your kernels on the roof</h3>'
        f"<p>{escape(advice(placements))}</p>{_table(identity, heads, rows)}"
        f'{_copy_button(identity)}<p class="how">Times are sums over all launches. The roof is the '
        "longest of the times that bytes and FLOPs need at the measured ceilings; what a kernel "
        "takes beyond it is what there is to gain, and the table is sorted by it.</p></section>"
    )


def _raw(profile: Profile, identity: str) -> str:
    heads = [
        ("device", False),
        ("id", False),
        ("parameters", False),
        ("status", False),
        ("value", True),
        ("unit", False),
        ("95 % from", True),
        ("to", True),
        ("flags", False),
        ("chosen", False),
        ("clock", True),
        ("reason", False),
    ]
    index = {d.uuid: f"GPU {d.index}" for d in profile.devices}
    rows = []
    for m in profile.measurements:
        interval = m.interval()
        clock = m.conditions.sm_clock_hz
        rows.append(
            [
                _cell(index.get(m.device, m.device), raw=m.device),
                _cell(m.id),
                _cell(", ".join(f"{k}={v}" for k, v in m.params.items())),
                _cell(m.status),
                _cell(
                    "–" if m.value is None else f"{m.value:.6g}",
                    number=True,
                    raw="" if m.value is None else m.value,
                ),
                _cell(m.unit),
                _cell(
                    "–" if interval is None else f"{interval[0]:.6g}",
                    number=True,
                    raw="" if interval is None else interval[0],
                ),
                _cell(
                    "–" if interval is None else f"{interval[1]:.6g}",
                    number=True,
                    raw="" if interval is None else interval[1],
                ),
                _cell(", ".join(m.flags)),
                _cell(", ".join(f"{k}={v}" for k, v in m.launch.items())),
                _cell(
                    "–" if clock is None else units.clock(clock),
                    number=True,
                    raw="" if clock is None else clock,
                ),
                _cell(m.reason),
            ]
        )
    return (
        f'<section class="card" data-picture="raw"><details><summary>Raw values: '
        f"{len(rows)} measurements</summary>{_copy_button(identity)}"
        f"{_table(identity, heads, rows)}</details></section>"
    )


def _device_line(device: Device) -> str:
    parts = [f"compute capability {device.compute_major}.{device.compute_minor}"]
    if device.sm_count:
        parts.append(f"{device.sm_count} SMs")
    if device.sm_clock_max_hz:
        parts.append(f"up to {units.clock(device.sm_clock_max_hz)}")
    if device.memory_bytes:
        parts.append(f"{device.memory_bytes / units.GIB:.0f} GiB")
    if device.power_limit_w:
        parts.append(f"power limit {device.power_limit_w:.0f} W")
    link = device.pcie
    if link.generation and link.width:
        state = "" if device.pcie_read_under_load else " (idle)"
        parts.append(f"PCIe {link.generation}.0 ×{link.width}{state}")
    return ", ".join(parts)


def _count(number: int | None, what: str) -> str:
    return "" if not number else f"{number} {what}{'s' * (number > 1)}"


def _provenance(profile: Profile) -> str:
    host, software = profile.host, profile.software
    pairs = [
        ("Profile", Path(profile.path).name),
        ("Measured", f"{profile.created}, {profile.mode} mode, {profile.duration_s:.0f} s"),
        ("Tool", f"{profile.tool}, revision {software.git_revision or 'unknown'}"),
        ("Command", " ".join(profile.command)),
        ("Host", host.hostname),
        (
            "CPU",
            ", ".join(
                filter(
                    None,
                    [
                        host.cpu_model,
                        _count(host.sockets, "socket"),
                        _count(host.cores, "core"),
                        _count(host.usable_threads, "usable thread"),
                        host.vector_extension,
                    ],
                )
            ),
        ),
        ("Memory", f"{host.memory_bytes / units.GIB:.0f} GiB" if host.memory_bytes else ""),
        ("System", ", ".join(filter(None, [host.os, host.kernel, host.virtualization]))),
        ("Driver", software.driver),
        (
            "CUDA",
            ", ".join(
                f"{name} {version}"
                for name, version in (
                    ("runtime", software.cuda_runtime),
                    ("nvcc", software.cuda_compiler),
                    ("cuBLASLt", software.cublaslt),
                )
                if version
            ),
        ),
        ("Build", ", ".join(filter(None, [software.build_type, software.cxx_compiler]))),
        ("Environment", ", ".join(f"{k}={v}" for k, v in software.environment.items())),
    ]
    pairs += [(f"GPU {d.index}", f"{d.name}: {_device_line(d)}") for d in profile.devices]
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in pairs if v)
    return (
        '<section class="card" data-picture="provenance"><h3>Provenance</h3>'
        f"<dl>{items}</dl></section>"
    )


def machine(profile: Profile) -> str:
    """The machine in a few words: "2 × NVIDIA H200", or the CPU where there is no GPU."""
    counts: dict[str, int] = {}
    for device in profile.devices:
        counts[device.name] = counts.get(device.name, 0) + 1
    if not counts:
        return profile.host.cpu_model or profile.host.hostname or "host"
    return ", ".join(f"{n} × {name}" if n > 1 else name for name, n in counts.items())


def _lead(profile: Profile) -> str:
    parts = [profile.host.hostname] if profile.host.hostname else []
    if profile.devices:
        parts.append(profile.host.cpu_model)
        if profile.software.driver:
            parts.append(f"driver {profile.software.driver}")
    parts.append(f"measured {profile.created[:10]} in {profile.duration_s:.0f} s")
    return f'<p class="lead">{escape(", ".join(filter(None, parts)))}</p>'


def devices_of(profile: Profile) -> list[str]:
    """The devices to be shown: GPUs, then the host, each only where something was measured."""
    measured = {m.device for m in profile.measurements} | {c.device for c in profile.ceilings}
    return [d for d in [*(d.uuid for d in profile.devices), HOST] if d in measured]


def _document(title: str, body: str) -> str:
    package = resources.files("peakline")
    style = package.joinpath("page.css").read_text(encoding="utf-8")
    script = package.joinpath("page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Nothing may be fetched, and no other script than this one may run, whatever a profile holds.
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><main>{body}</main><script>{script}</script></body></html>\n"
    )


def report_page(
    profile: Profile,
    pictures: dict[str, list[Picture]],
    placements: Sequence[Placement] = (),
) -> str:
    """The page of one profile; pictures: by device, in the order shown."""
    ids = _Ids()
    shown = devices_of(profile)
    title = machine(profile)
    body = [f"<header><h1>{escape(title)}</h1>{_lead(profile)}"]
    if shown:
        body.append(_tiles(profile, shown[0]))
        gpus = [d for d in shown if d != HOST]
        if len(gpus) > 1:
            body.append(
                f'<p class="lead">These are GPU {_index(profile, gpus[0])}\'s; the others follow '
                "below.</p>"
            )
    body.append(f"{_findings(profile)}</header>")
    for number, device in enumerate(shown):
        name = profile.device_name(device)
        if device != HOST and len(profile.devices) > 1:
            name = f"GPU {_index(profile, device)}: {name}"
        if device == HOST:
            name = f"Host: {name}"
        body.append(f'<h2 id="device-{number}">{escape(name)}</h2>')
        if number > 0:
            body.append(_tiles(profile, device) + "<p></p>")
        drawn = pictures.get(device, [])
        body += [_picture(p, ids) for p in drawn[:1]]
        of_device = [p for p in placements if p.device == device]
        if of_device:
            body.append(_kernels(of_device, f"kernels-{number}"))
        body.append(_ceilings(profile, device, f"ceilings-{number}"))
        body += [_picture(p, ids) for p in drawn[1:]]
    body.append("<h2>Where this comes from</h2>")
    body.append(_provenance(profile))
    body.append(_raw(profile, "raw"))
    return _document(f"peakline: {title}", "".join(body))


def _index(profile: Profile, uuid: str) -> int:
    return next((d.index for d in profile.devices if d.uuid == uuid), 0)


def comparison_page(items: Sequence[tuple[str, Profile, str]], pictures: Sequence[Picture]) -> str:
    """The page of several (name, profile, device): rooflines overlaid, ceilings side by side."""
    ids = _Ids()
    body = [
        f"<header><h1>{len(items)} devices side by side</h1>"
        f'<p class="lead">{escape(", ".join(name for name, _, _ in items))}</p></header>'
    ]
    body += [_picture(p, ids) for p in pictures]
    body.append(_side_by_side(items))
    for number, (name, profile, device) in enumerate(items):
        body.append(f"<h2>{escape(name)}: {escape(profile.device_name(device))}</h2>")
        body.append(_tiles(profile, device))
        body.append(_findings(profile))
        body.append("<p></p>")
        body.append(_provenance(profile))
        body.append(_raw(profile, f"raw-{number}"))
    return _document("peakline: " + ", ".join(name for name, _, _ in items), "".join(body))


def _side_by_side(items: Sequence[tuple[str, Profile, str]]) -> str:
    tables = [
        {(r.resource, b): c for r in ceiling_table(p, d)[1] for b, c in r.by_basis.items()}
        for _, p, d in items
    ]
    keys = list(dict.fromkeys(key for table in tables for key in table))
    heads = [("resource", False), ("basis", False), *((name, True) for name, _, _ in items)]
    if len(items) == 2:
        heads.append((f"{items[1][0]} / {items[0][0]}", True))
    rows = []
    for resource, basis in keys:
        line = [_cell(resource_name(resource), raw=resource), _cell(basis.replace("_", "-"))]
        found = [table.get((resource, basis)) for table in tables]
        line += [
            _cell("–", number=True, raw="")
            if c is None
            else _cell(units.rate(c.value, c.unit), number=True, raw=c.value)
            for c in found
        ]
        if len(items) == 2:
            first, second = found
            ratio = second.value / first.value if first and second else None
            line.append(
                _cell(
                    "–" if ratio is None else f"{ratio:.3f}",
                    number=True,
                    raw="" if ratio is None else ratio,
                )
            )
        rows.append(line)
    return (
        '<section class="card" data-picture="ceiling-table"><h3>Ceilings in figures</h3>'
        f"{_table('ceilings', heads, rows)}{_copy_button('ceilings')}</section>"
    )
