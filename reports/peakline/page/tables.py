"""The page's tables: ceilings, kernels, curves, raw values, ceilings side by side."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from peakline import units
from peakline.limits.ceilings import MEASURED, CeilingRow, ceiling_table
from peakline.names import basis_name
from peakline.page.html import card, cell, escape, figure, folded, table
from peakline.pictures import sentence, with_signs
from peakline.profile import Curve, Measurement, Profile
from peakline.workload.kernel_names import shortened
from peakline.workload.kernel_text import (
    NAME_WIDTH,
    YOURS,
    advice,
    described,
    explained,
    launches,
    reached,
    taken,
    total_seconds,
)
from peakline.workload.placement import Answer, Placement
from peakline.workload.table import Table

_NONE_WRONG: Mapping[str, str] = MappingProxyType({})


def _ceiling(row: CeilingRow | None, *bases: str, wrong: Mapping[str, str] = _NONE_WRONG) -> str:
    """The first of these ceilings that a row has, a theoretical one as far as packets allow it.
    wrong: outcomes that mark a figure, by its name."""
    found = next((row.by_basis[b] for b in bases if b in row.by_basis), None) if row else None
    if row is None or found is None:
        return figure(None, str)
    theory = found.basis == "theoretical"
    more = row.raw if theory else " (varies)" if found.varies else ""
    return figure(
        row.limit if theory else found.value,
        lambda v: units.rate(v, found.unit) + more,
        wrong.get(f"{row.resource}/{found.basis}", ""),
    )


def ceilings(
    profile: Profile, device: str, identity: str, wrong: Mapping[str, str] = _NONE_WRONG
) -> str:
    """A device's ceilings by basis; empty if it has none. wrong: as for `_ceiling`."""
    bases, rows = ceiling_table(profile, device)
    # Each pair of GPUs is in the picture of links: 140 rows for eight GPUs.
    rows = [row for row in rows if not _PAIR.search(row.resource)]
    if not rows:
        return ""
    # No resource has both, and one column less fits the page.
    one_column = {"burst", "measured"} <= set(bases)
    if one_column:
        bases = [basis for basis in bases if basis != "measured"]
    heads = ["resource"]
    heads += ["measured, burst" if one_column and b == "burst" else basis_name(b) for b in bases]
    # The table of factors has the shares, if it exists.
    explained = any(row.factors for row in profile.ceilings if row.device == device)
    shares = "theoretical" in bases and not explained
    if shares:
        heads.append("of theoretical")
    cells = []
    for row in rows:
        line = [cell(profile.label(row.resource), raw=row.resource)]
        for basis in bases:
            either = ("measured",) if one_column and basis == "burst" else ()
            line.append(_ceiling(row, basis, *either, wrong=wrong))
        if shares:
            line.append(figure(row.share, units.percent))
        cells.append(line)
    means = "; ".join(f"{basis_name(b)}: {_BASES[b]}" for b in bases if b in _BASES)
    how = f'<p class="how">{means}.</p>' if means else ""
    return card("ceiling-table", f"<h3>Ceilings</h3>{table(identity, heads, cells)}{how}")


_PAIR = re.compile(r"\.\d+-\d+$")  # "nvlink.read.0-1"

# The meaning of each basis that its name does not tell.
_BASES = {
    "theoretical": "what units, lanes and packets allow at the maximum clock",
    "datasheet": "the peak in the datasheet",
    "instruction": "matrix instructions alone",
    "burst": "from rest",
    "sustained": "under load",
    "model_burst": "GEMMs of transformer layers, from rest",
    "model_shaped": "the same GEMMs under load",
}


def factors(profile: Profile, device: str, identity: str) -> str:
    """Factors of a device's ceilings below theoretical; empty if there are none."""
    found = [row for row in profile.ceilings if row.device == device and row.factors]
    if not found:
        return ""
    names = list(dict.fromkeys(factor.name for row in found for factor in row.losses))
    # The unexplained rest comes last.
    names.sort(key=lambda name: name == "rest")
    rows = []
    for row in found:
        values = {factor.name: factor.value for factor in row.losses}
        line = [cell(profile.label(row.resource), raw=row.resource), cell(basis_name(row.basis))]
        line.append(figure(math.prod(values.values()), units.percent))
        line += [figure(values.get(name), units.percent) for name in names]
        rows.append(line)
    heads = ["resource", "basis", "of theoretical", *names]
    return card(
        "factor-table",
        folded(
            f"Why not 100 %: every factor of {len(rows)} ceilings",
            f"{table(identity, heads, rows)}"
            f'<p class="how">Each figure is the product of the factors beside it. '
            f"{'; '.join(f'{name}: {_FACTORS[name]}' for name in names if name in _FACTORS)}.</p>",
        ),
    )


_FACTORS = {
    "half rate": "with sums in FP32, this GEMM has half the rate of its architecture",
    "boost clock": "that of the datasheet over the maximum",
    "clock": "observed over maximum, or over the boost clock where that is a factor too",
    "waves": "SMs that the tiles of a GEMM keep busy",
    "instruction": "what the matrix instructions alone reach per clock",
    "launch": "what its start and end leave",
    "turnaround": "mixed traffic against reads and writes alone",
    "memory clock": "observed over maximum",
    "DRAM": "refresh and opening rows",
    "rest": "what these do not explain",
}


def amounts(shown: Table) -> str:
    """A table that terminals print, too; empty without lines."""
    if not shown.lines:
        return ""
    rows = []
    short = shortened((line.name.lstrip() for line in shown.lines), 2 * NAME_WIDTH)
    for line in shown.lines:
        name = line.name.lstrip()
        indent = "\N{NO-BREAK SPACE}" * 2 * (len(line.name) - len(name))
        small = f"<small>{escape(line.note)}</small>" if line.note else ""
        figures = [figure(a, show) for show, a in zip(shown.shown, line.amounts, strict=True)]
        cell_ = f'<td data-raw="{escape(name)}">{escape(indent + short[name])}{small}</td>'
        rows.append([cell_, *figures])
    return card(
        shown.key,
        f"<h3>{escape(shown.title)}</h3>{table(f'{shown.key}-table', shown.heads, rows)}"
        f'<p class="how">{escape(shown.how)}</p>',
    )


def kernels(
    profile: Profile,
    placements: Sequence[Placement],
    identity: str,
    curves_at: Mapping[str, str] = MappingProxyType({}),
    called: str = YOURS,
) -> str:
    """Kernels with their two answers, most to gain as written first.

    curves_at: where the page has the picture of a topic's curve. called: what they are.
    """
    # A phone shows the first of them.
    heads = ["#", "kernel", "time", "of time", "gain as written", "gain rewritten"]
    heads += ["as written", "rewritten", "launches"]
    total = total_seconds(placements)
    names = shortened((p.label for p in placements), NAME_WIDTH)
    rows = [
        _kernel(profile, number, p, names[p.label], total, curves_at)
        for number, p in enumerate(placements, start=1)
    ]
    said = "".join(f"<p>{escape(text)}</p>" for text in advice(profile, placements, called))
    return card(
        "kernel-table",
        f"<h3>{escape(called)}: all figures</h3>{said}"
        f'{table(identity, heads, rows)}<p class="how">Times are sums over the launches. As '
        "written, the busiest unit decides: its share of its peak, as the profiler counts it, or "
        "its share of the measured ceiling where that is higher (below the name). “An L2 stage” "
        "and the like are summaries of the profiler, which only cap what there is to gain. "
        "Rewritten, FLOPs and bytes of device memory stay as they are, at the measured ceilings; "
        "reads and writes share one bus: the pattern nearest to their mix counts.</p>",
    )


def _kernel(
    profile: Profile,
    number: int,
    p: Placement,
    name: str,
    total: float,
    curves_at: Mapping[str, str],
) -> list[str]:
    details = [f"{said}." if (said := reached(profile, p)) else ""]
    if p.flops_per_s:
        details.append(f"{units.rate(p.flops_per_s, p.rate_unit)}.")
    if p.kernel.from_shapes:
        details.append("FLOPs and compulsory bytes by shapes.")
    if p.reason:
        details.append(f"{with_signs(explained(p))}.")
    small = escape(" ".join(filter(None, details)))
    if p.reason and p.reason.topic in curves_at:
        small += f' <a href="#{escape(curves_at[p.reason.topic])}">Its picture</a>'
    seconds = p.kernel.seconds
    whole = escape(p.kernel.name)
    # Unlike a tooltip, a line that opens works by keyboard and touch.
    shown = escape(name)
    if name != p.kernel.name:
        shown = f"<details><summary>{shown}</summary>{whole}</details>"
    return [
        cell(number, number=True),
        f'<td data-raw="{whole}">{shown}<small>{small}</small></td>',
        figure(seconds, lambda _: taken(p)),
        figure(seconds / total if seconds is not None else None, units.percent),
        figure(p.gain_s(p.as_written) if p.as_written else None, _at_most),
        figure(p.gain_s(p.rewritten) if p.rewritten else None, _at_most),
        cell(
            described(profile, p, p.as_written, brief=True), raw=", ".join(_bound_by(p.as_written))
        ),
        cell(
            described(profile, p, p.rewritten) if p.rewritten else "–",
            raw=", ".join(_bound_by(p.rewritten)),
        ),
        cell(launches(p), number=True, raw=p.kernel.launches),
    ]


def _at_most(seconds: float) -> str:
    return f"≤ {units.time(seconds)}"


def _bound_by(answer: Answer | None) -> tuple[str, ...]:
    return answer.units if answer else ()


def curves(found: Sequence[Curve], shown: Collection[str], identity: str) -> str:
    """The figures of a device's curves, and titles of topics without a picture in `shown`."""
    if not found:
        return ""
    heads = ["topic", "id", "figure", "of", "value", "unit"]
    rows = [
        [
            cell(c.topic),
            cell(f.id),
            cell(f.name.replace("_", " ")),
            cell(", ".join(f"{name} {value}" for name, value in f.by.items())),
            figure(f.value, "{:.6g}".format),
            cell("" if f.unit == "1" else f.unit),
        ]
        for c in found
        for f in c.figures
    ]
    texts = "".join(
        f"<p><b>{escape(c.topic)}</b>: {escape(sentence(c.title))}</p>"
        for c in found
        if c.topic not in shown and c.title
    )
    if not rows and not texts:
        return ""
    summary = f"{units.counted(len(rows), 'figure')}, in base SI units"
    figures = folded(summary, table(identity, heads, rows))
    return card("curves", f"<h3>Curves in figures</h3>{texts}{figures if rows else ''}")


def raw(profile: Profile, identity: str) -> str:
    """All measurements, failed and skipped ones too."""
    heads = ["device", "id", "parameters", "status", "value", "unit", "95 % from", "to", "flags"]
    heads += ["chosen", "clock", "reason"]
    names = {d.uuid: f"GPU {d.index}" for d in profile.devices}
    rows = [_raw_row(m, names.get(m.device, m.device)) for m in profile.measurements]
    return card(
        "raw", folded(f"Raw values: {len(rows)} measurements", table(identity, heads, rows))
    )


def _raw_row(m: Measurement, device: str) -> list[str]:
    # The interval's edges have as many digits as samples.
    interval = m.interval()
    low, high = (float(f"{edge:.7g}") for edge in interval) if interval else (None, None)
    return [
        cell(device, raw=m.device),
        cell(m.id),
        cell(", ".join(f"{k}={v}" for k, v in m.params.items())),
        cell(m.status),
        figure(m.value, "{:.6g}".format),
        cell(m.unit),
        figure(low, "{:.6g}".format),
        figure(high, "{:.6g}".format),
        cell(", ".join(m.flags)),
        cell(", ".join(f"{k}={v}" for k, v in m.launch.items())),
        figure(m.conditions.sm_clock_hz, units.clock),
        cell(m.reason),
    ]


def side_by_side(items: Sequence[tuple[str, Profile, str]]) -> str:
    """The ceilings of several (name, profile, device), and of two their ratio."""
    tables = [{row.resource: row for row in ceiling_table(p, d)[1]} for _, p, d in items]
    labels = {resource: p.label(resource) for _, p, d in items for resource in p.resources_of(d)}
    names = [name for name, _, _ in items]
    pair = len(items) == 2
    heads = ["resource", "basis", *([f"{names[1]} / {names[0]}"] if pair else []), *names]
    rows: list[list[str]] = []
    equal: list[list[str]] = []  # of specifications
    for resource, basis in dict.fromkeys(
        (resource, b) for found in tables for resource, row in found.items() for b in row.by_basis
    ):
        found = [rows_.get(resource) for rows_ in tables]
        ceilings = [row.by_basis.get(basis) if row else None for row in found]
        values = [ceiling.value if ceiling else None for ceiling in ceilings]
        line = [cell(labels[resource], raw=resource), cell(basis_name(basis))]
        if pair:
            first, second = values
            line.append(figure(second / first if first and second else None, "{:.3f}".format))
        line += [_ceiling(row, basis) for row in found]
        same = basis not in MEASURED and len(set(values)) == 1
        (equal if same else rows).append(line)
    text = f"<h3>Ceilings in figures</h3>{table('ceilings', heads, rows)}"
    if equal:
        summary = f"{units.counted(len(equal), 'figure')} of specifications, the same in all"
        text += folded(summary, table("specifications", heads, equal))
    return card("ceiling-table", text)
