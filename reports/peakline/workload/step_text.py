"""Texts about a run's steps, for terminals and pages."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from peakline import units
from peakline.peaks.mfu import Utilization, share_name
from peakline.workload.advice import advice
from peakline.workload.analysis import Analysis
from peakline.workload.model import TraceFinding
from peakline.workload.modules import modules
from peakline.workload.part import COLLECTIVES, COPIES, IDLE, OF_KERNELS, Part
from peakline.workload.step_names import PHASES
from peakline.workload.table import Line, Table, printed

# Parts with the same remedy share a name.
_GROUPS = {
    "kernels above their lower bound": (Part.KERNELS_BEYOND,),
    "kernels slower beside collectives": (Part.KERNELS_BESIDE,),
    "collectives that nothing hides": COLLECTIVES,
    "waiting for other ranks": (Part.COLLECTIVES_WAITING,),
    "copies that nothing hides": COPIES,
    **{part.label: (part,) for part in IDLE},
}
_NAMES = {part: name for name, parts in _GROUPS.items() for part in parts}
_NAMES[Part.KERNELS] = "kernels that could be one"
_WORTH_A_WORD = 0.01
_MOST_COLUMNS = 2  # of ranks: more do not fit in 80 columns


@dataclass(frozen=True, slots=True)
class Loss:
    """Time that a step could do without, by its cause."""

    name: str
    share: float  # of the steps' time
    parts: tuple[Part, ...]


def losses(analysis: Analysis) -> list[Loss]:
    found = [
        Loss(name, sum(analysis.share(part) for part in parts), parts)
        for name, parts in _GROUPS.items()
    ]
    return sorted((loss for loss in found if loss.share), key=lambda loss: -loss.share)


def headline(analysis: Analysis) -> str:
    """Where the time goes, in one sentence without a full stop."""
    unknown = analysis.share(Part.KERNELS_UNKNOWN)
    one = "A step" if analysis.one == "step" else f"The {analysis.one}"
    text = f"{one} takes {units.time(analysis.step_s)}{analysis.mean}"
    beside = "kernels"
    if Part.KERNELS in analysis.parts:
        needed = units.percent(analysis.share(Part.KERNELS))
        text += f", of which kernels at their lower bound need {needed}"
        beside = "them"
    share, said = _first(analysis, beside)
    found = [(share, said)] if said else []
    if unknown >= _WORTH_A_WORD:
        found.append(
            (unknown, f"the lower bound of kernels that take {units.percent(unknown)} is not known")
        )
    found.sort(key=lambda row: -row[0])
    return "; ".join([text, *(said for _, said in found)])


def _first(analysis: Analysis, beside: str) -> tuple[float, str]:
    """The first finding, else the largest loss, with its share of the step."""
    first = next(iter(advice(analysis)), None)
    if first is not None:
        share = first.saving_s / first.step_s
        name = first.subject or _NAMES[Part(first.code)]
        whose = "" if first.rank is None else f"rank {first.rank}'s "
        step = f"{units.percent(share)} of {whose}{units.time(first.step_s)}"
        saving = f"at most {units.time(first.saving_s)} ({step})"
        lead = f"{first.lead}; " if first.lead else ""
        return share, f"{lead}the most to save is {name}, {saving}"
    loss = next((loss for loss in losses(analysis) if loss.share >= _WORTH_A_WORD), None)
    if loss is None:
        return 0.0, ""
    return loss.share, f"the most beside {beside} is {loss.name}, {units.percent(loss.share)}"


def microseconds(parts: Mapping[Part, int], steps: int) -> dict[Part, int]:
    """Mean microseconds of each part per step, rounded so that they add up to the step. The largest
    remainders are rounded up."""
    total = round(sum(parts.values()) / steps / 1000)
    exact = {part: time / steps / 1000 for part, time in parts.items()}
    whole = {part: int(value) for part, value in exact.items()}
    order = sorted(exact, key=lambda part: whole[part] - exact[part])
    for part in order[: max(0, total - sum(whole.values()))]:
        whole[part] += 1
    return whole


def table(analysis: Analysis) -> list[str]:
    """Each part's mean time and share of a step, and its time on each rank where they are few."""
    one, few = analysis.one, 1 < len(analysis.ranks) <= _MOST_COLUMNS
    shown = microseconds(analysis.parts, analysis.steps)
    ranks = [microseconds(rank.parts, len(rank.steps)) for rank in analysis.ranks if few]
    head = f"part of a {one}{analysis.mean}"
    width = max(len(head), *(len(part.label) for part in shown)) + 2

    def line(name: str, time: str, share: str, *times: str) -> str:
        return f"{name:{width}}{time:>9}{share:>9}{''.join(f'{each:>12}' for each in times)}"

    def ms(us: int) -> str:
        return f"{us / 1000:.3f}"

    names = [f"{analysis.named(place)}, ms" for place in range(len(ranks))]
    lines = [line(head, "ms", f"of {one}", *names)]
    for part, us in shown.items():
        times = [ms(of_rank.get(part, 0)) for of_rank in ranks]
        lines.append(line(part.label, ms(us), units.percent(analysis.share(part)), *times))
    sums = [ms(sum(of_rank.values())) for of_rank in ranks]
    return [*lines, line(f"the {one}", ms(sum(shown.values())), "100.0 %", *sums)]


def module_table(analysis: Analysis) -> Table:
    """Modules, record_function and NVTX ranges of the leading rank."""
    rank = analysis.ranks[analysis.leading]
    scale = 1e-9 / len(rank.steps)
    named = analysis.named(analysis.leading)
    return Table(
        "step-modules",
        f"By module{f', {named}' if named else ''}",
        ("module", "forward", "backward", f"of {analysis.one}", "above bound"),
        (units.time, units.time, units.percent, units.time),
        tuple(
            Line(
                f"{'  ' * (len(m.path) - 1)}{m.label}",
                (
                    m.forward * scale or None,
                    m.backward * scale or None,
                    m.nanoseconds / rank.nanoseconds,
                    m.beyond * scale or None,
                ),
            )
            for m in modules(rank)
        ),
        f"Time of a {analysis.one} on the device, by the ranges around each launch: modules of a "
        "stack (with_stack=True), record_function and NVTX. What the backward pass launches counts "
        "with its forward operator's module. An outer range holds its inner ones.",
    )


def phase_table(analysis: Analysis) -> Table:
    """The steps of a server by phase; empty if all are of one."""
    found = by_phase(analysis)
    return Table(
        "step-phases",
        f"By phase{analysis.mean}",
        ("phase", "steps", "a step", "idle", "kernels", "at bound"),
        (str, units.time, units.percent, units.percent, units.percent),
        tuple(
            Line(
                name,
                (
                    count,
                    sum(parts.values()) / count * 1e-9,
                    _share(parts, IDLE),
                    _share(parts, OF_KERNELS),
                    _share(parts, (Part.KERNELS,)) if _share(parts, _KNOWN) else None,
                ),
            )
            for name, (count, parts) in found.items()
        )
        if len(found) > 1
        else (),
        f"Steps in which a server decodes, prefills or does both{_over_all(analysis)}: their "
        "number, mean time, and shares of it. --range decode reports these alone.",
    )


_KNOWN = (Part.KERNELS, Part.KERNELS_BEYOND, Part.KERNELS_BESIDE)


def _share(parts: Mapping[Part, int], of: Iterable[Part]) -> float:
    return sum(parts.get(part, 0) for part in of) / sum(parts.values())


def _over_all(analysis: Analysis) -> str:
    return ", over all ranks" if len(analysis.ranks) > 1 else ""


def by_phase(analysis: Analysis) -> dict[str, tuple[int, Counter[Part]]]:
    """Number of steps and nanoseconds of each part, by what a server does in them."""
    found: dict[str, tuple[int, Counter[Part]]] = {}
    for rank in analysis.ranks:
        for step, parts in zip(rank.steps, rank.each, strict=True):
            if step.phase:
                count, sums = found.get(step.phase, (0, Counter()))
                found[step.phase] = (count + 1, sums + Counter(parts))
    return {name: found[name] for name in PHASES if name in found}


def spread(analysis: Analysis) -> str:
    lengths = [step.length * 1e-9 for rank in analysis.ranks for step in rank.steps]
    ranks = f" on each of {len(analysis.ranks)} ranks" if len(analysis.ranks) > 1 else ""
    by = next((rank.by for rank in analysis.ranks if rank.by), "")
    if not by:
        return f"All of the trace{ranks}: {units.time(analysis.step_s)}."
    count = len(analysis.ranks[0].steps)
    text = f"{units.counted(count, 'step')}{ranks}, by the ranges {by}"
    least, most = units.time(min(lengths)), units.time(max(lengths))
    if len(lengths) > 1:
        text += f": {least} to {most}" if least != most else f": {least} each"
    if phases := by_phase(analysis):
        counts = ", ".join(f"{count} {name}" for name, (count, _) in phases.items())
        text += f" ({counts}{_over_all(analysis)})"
    return text + "."


def overlap(analysis: Analysis) -> str:
    """A note on several savings, which do not add up; empty for fewer."""
    if len(advice(analysis)) < 2:
        return ""
    most = 1 - analysis.share(Part.KERNELS)
    limit = (
        f": all together save at most {units.percent(most)} of a {analysis.one}, everything but "
        "kernels at their lower bound, also what is not listed"
        if Part.KERNELS in analysis.parts
        else ""
    )
    return f"These savings overlap and do not add up{limit}."


def said(found: TraceFinding, one: str = "step") -> str:
    """An advice as a sentence, with its saving first and the curve behind it; one: what it is a
    share of."""
    shown = f" (measured, {found.topic}: {found.shown})" if found.topic else ""
    of = f"a {one}"
    if found.rank is not None:  # the steps of ranks differ
        of = f"rank {found.rank}'s {one} of {units.time(found.step_s)}"
    share = f"{units.percent(found.saving_s / found.step_s)} of {of}"
    return f"Up to {units.time(found.saving_s)} ({share}): {found.text}{shown}."


def wrapped(text: str, width: int, first: str = "") -> list[str]:
    """A sentence in lines for a terminal, after the prefix `first`."""
    following = " " * len(first)
    return textwrap.wrap(
        first + text, max(width, 40), subsequent_indent=following, break_long_words=False
    )


def lines(analysis: Analysis, shares: Mapping[str, Utilization], width: int) -> list[str]:
    """All that a terminal gets of the steps; shares: of peaks, by basis."""
    first = (analysis.other_device, f"{headline(analysis)}.", spread(analysis))
    found = [*(line for text in first for line in wrapped(text, width)), ""]
    found += [*table(analysis), "", *printed(phase_table(analysis), width)]
    reached = ", ".join(f"{units.percent(share)} {share_name(b)}" for b, share in shares.items())
    if reached:
        found += [*wrapped(f"A step reaches {reached}.", width), ""]
    for number, one in enumerate(advice(analysis), start=1):
        found += wrapped(said(one, analysis.one), width, f"{number}. ")
    found += wrapped(overlap(analysis), width)
    for note in analysis.notes:
        found += wrapped(note, width)
    return [*found, "", *printed(module_table(analysis), width)]
