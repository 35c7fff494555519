"""The page's tables: ceilings, kernels, raw values, ceilings side by side."""

from __future__ import annotations

from collections.abc import Sequence

from peakline import units
from peakline.headline import BASIS_COLUMNS, ceiling_table
from peakline.kernels import Placement, advice
from peakline.names import resource_name
from peakline.page.html import cell, copy_button, escape, table
from peakline.profile import Profile


def ceilings(profile: Profile, device: str, identity: str) -> str:
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
        line = [cell(resource_name(row.resource), raw=row.resource)]
        for basis in bases:
            ceiling = row.by_basis.get(basis)
            if ceiling is None:
                line.append(cell("–", number=True, raw=""))
            else:
                line.append(
                    cell(units.rate(ceiling.value, ceiling.unit), number=True, raw=ceiling.value)
                )
        if shares:
            share = row.share
            text = "–" if share is None else units.percent(share)
            line.append(cell(text, number=True, raw="" if share is None else share))
        cells.append(line)
    return (
        f'<section class="card" data-picture="ceiling-table"><h3>Ceilings</h3>'
        f"{table(identity, heads, cells)}{copy_button(identity)}</section>"
    )


def _shares(placement: Placement) -> str:
    """What the kernel reaches of each roof, as far as it is worth a word."""
    return ", ".join(
        f"{resource_name(resource)} {units.percent(share)}"
        for resource, share in placement.shares.items()
        if share >= 0.001
    )


def kernels(placements: Sequence[Placement], identity: str) -> str:
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
                cell(number, number=True),
                f'<td data-raw="{escape(p.kernel.name)}">{escape(label)}'
                f"<small>{escape(_shares(p))}</small></td>",
                cell(p.kernel.launches, number=True),
                cell(units.time(p.kernel.seconds), number=True, raw=p.kernel.seconds),
                cell(
                    units.rate(p.flops_per_s, "FLOP/s") if p.flops_per_s else "–",
                    number=True,
                    raw=p.flops_per_s,
                ),
                cell(
                    units.intensity(level.intensity) if level and level.intensity else "–",
                    number=True,
                    raw=level.intensity if level else "",
                ),
                cell(resource_name(p.bound_by) if p.bound_by else "–", raw=p.bound_by),
                cell(
                    units.percent(p.share) if p.share is not None else "–",
                    number=True,
                    raw="" if p.share is None else p.share,
                ),
                cell(
                    units.time(p.gain_s) if p.gain_s is not None else "–",
                    number=True,
                    raw="" if p.gain_s is None else p.gain_s,
                ),
            ]
        )
    return (
        f'<section class="card" data-picture="kernels"><h3>Your kernels on the roof</h3>'
        f"<p>{escape(advice(placements))}</p>{table(identity, heads, rows)}"
        f'{copy_button(identity)}<p class="how">Times are sums over all launches. The roof is the '
        "longest of the times that bytes and FLOPs need at the measured ceilings; what a kernel "
        "takes beyond it is what there is to gain, and the table is sorted by it.</p></section>"
    )


def raw(profile: Profile, identity: str) -> str:
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
                cell(index.get(m.device, m.device), raw=m.device),
                cell(m.id),
                cell(", ".join(f"{k}={v}" for k, v in m.params.items())),
                cell(m.status),
                cell(
                    "–" if m.value is None else f"{m.value:.6g}",
                    number=True,
                    raw="" if m.value is None else m.value,
                ),
                cell(m.unit),
                cell(
                    "–" if interval is None else f"{interval[0]:.6g}",
                    number=True,
                    raw="" if interval is None else interval[0],
                ),
                cell(
                    "–" if interval is None else f"{interval[1]:.6g}",
                    number=True,
                    raw="" if interval is None else interval[1],
                ),
                cell(", ".join(m.flags)),
                cell(", ".join(f"{k}={v}" for k, v in m.launch.items())),
                cell(
                    "–" if clock is None else units.clock(clock),
                    number=True,
                    raw="" if clock is None else clock,
                ),
                cell(m.reason),
            ]
        )
    return (
        f'<section class="card" data-picture="raw"><details><summary>Raw values: '
        f"{len(rows)} measurements</summary>{copy_button(identity)}"
        f"{table(identity, heads, rows)}</details></section>"
    )


def side_by_side(items: Sequence[tuple[str, Profile, str]]) -> str:
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
        line = [cell(resource_name(resource), raw=resource), cell(basis.replace("_", "-"))]
        found = [table.get((resource, basis)) for table in tables]
        line += [
            cell("–", number=True, raw="")
            if c is None
            else cell(units.rate(c.value, c.unit), number=True, raw=c.value)
            for c in found
        ]
        if len(items) == 2:
            first, second = found
            ratio = second.value / first.value if first and second else None
            line.append(
                cell(
                    "–" if ratio is None else f"{ratio:.3f}",
                    number=True,
                    raw="" if ratio is None else ratio,
                )
            )
        rows.append(line)
    return (
        '<section class="card" data-picture="ceiling-table"><h3>Ceilings in figures</h3>'
        f"{table('ceilings', heads, rows)}{copy_button('ceilings')}</section>"
    )
