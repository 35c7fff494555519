"""Placements as text: the table, and the largest gains."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from peakline import units
from peakline.profile import Profile
from peakline.workload.busy import LABELS, SUMMARY_LABELS
from peakline.workload.counters import metrics_for
from peakline.workload.kernel import RECORDING, UNKNOWN_UNIT
from peakline.workload.kernel_names import shortened
from peakline.workload.placement import CACHE, SUSTAINED_FROM_S, Answer, Placement, same_unit

_LABELS = {**LABELS, CACHE: "L2 at the least", UNKNOWN_UNIT: "the fastest format"}
# Printed names of unknown counts, and of figures missing in the profile.
_MISSING = {
    "tensor": "what kept the tensor cores busy",
    "cuda_core.fp32": "FP32 FLOPs",
    "cuda_core.fp64": "FP64 FLOPs",
    "cuda_core.fp16": "FP16 FLOPs",
    "flops": "FLOPs",
    "hbm": "bytes",
    "shapes": "the shapes of its operands",
    "nsys": "the shapes of its operands",
    "time": "time",
    "ceiling": "a ceiling for what it uses",
    "work": "any work that was counted",
    "dtype": "the precision it computed in",
    "precision": "the precision it computed in",
    "operands": "which operands are one array",
}
NAME_WIDTH = 40  # characters of a name in a table
_WIDTH_IN_TEXT = 80
_WIDTH_IN_HEADING = 28
_WORTH_A_WORD = 0.01
_MOST_REACHED = 5
_NAMED = 3  # kernels named in a sentence; the table has them all
YOURS = "Your kernels"


@dataclass(frozen=True, slots=True)
class Total:
    """The possible gain over all kernels, by one of the two answers."""

    gain_s: float  # at most, for kernels with an answer
    answered_s: float  # time of those kernels
    seconds: float  # time of all kernels

    @property
    def share(self) -> float:
        """The gain as a share of all kernels' time."""
        return self.gain_s / self.seconds if self.seconds else 0.0

    @property
    def unanswered(self) -> float:
        """The share of the time without an answer."""
        return 1 - self.answered_s / self.seconds if self.seconds else 0.0


def total(placements: Sequence[Placement], of: Callable[[Placement], Answer | None]) -> Total:
    found = [(answer, p.kernel.seconds or 0.0) for p in placements if (answer := of(p))]
    return Total(
        sum(answer.gain * seconds for answer, seconds in found),
        sum(seconds for _, seconds in found),
        total_seconds(placements),
    )


def total_seconds(placements: Sequence[Placement]) -> float:
    return sum(p.kernel.seconds or 0.0 for p in placements)


def unit_label(profile: Profile, name: str) -> str:
    """The printed name of a unit or of a ceiling's resource: "issue slots", "HBM copy"."""
    if name in _LABELS:
        return _LABELS[name]
    if name.startswith("tensor "):
        return f"tensor pipe ({name.partition(' ')[2].upper()})"
    if "." not in name and any(r.name == f"{name}.read" for r in profile.resources):
        return profile.label(f"{name}.read").removesuffix(" read")
    return profile.label(name).partition(" (")[0]


def described(profile: Profile, p: Placement, answer: Answer | None, brief: bool = False) -> str:
    """A kernel's limit by an answer, with its share of the time: "issue slots 76.9 %". brief:
    without the share of the measured ceiling."""
    if answer is None:
        if p.impossible:
            return "more than a ceiling allows"
        return f"not known: {missing_words(p.missing)}"
    if CACHE in answer.units:
        return "at its bound, from cache"
    texts = [_unit_text(profile, p, name, answer.complete, brief) for name in answer.units]
    if answer.capped_by:
        texts.append(f"{SUMMARY_LABELS[answer.capped_by]} {units.percent(answer.cap)}")
    text = " and ".join(texts) or "–"
    return text if answer.complete else f"at least {text}"


def _unit_text(profile: Profile, p: Placement, name: str, complete: bool, brief: bool) -> str:
    """A unit's share, and that of its measured ceiling if larger."""
    label, share = unit_label(profile, name), p.shares[name]
    if name in p.published:
        label += " (theoretical)"
    text = f"{label} {units.percent(share)}" if complete else f"{units.percent(share)} of {label}"
    ceilings = [n for n in p.shares if "." in n and same_unit(n) == same_unit(name)]
    best = max(ceilings, key=lambda n: p.shares[n], default=name)
    if not brief and best != name and p.shares[best] > share:
        text += f" ({units.percent(p.shares[best])} of {unit_label(profile, best)})"
    return text


def missing_words(missing: Iterable[str]) -> str:
    """The printed list of unknown counts, with all Tensor Core formats as one."""
    words = ("tensor FLOPs" if name.startswith("tensor.") else _MISSING[name] for name in missing)
    return ", ".join(dict.fromkeys(words))


def reached(profile: Profile, placement: Placement) -> str:
    """A kernel's shares of its most used units and ceilings."""
    shares = [
        f"{unit_label(profile, name)} {units.percent(share)}"
        for name, share in placement.shares.items()
        if share >= _WORTH_A_WORD
    ]
    return ", ".join(shares[:_MOST_REACHED])


def explained(placement: Placement) -> str:
    """Why a kernel keeps no unit busy, with the profile's curve; "" if a unit is busy."""
    found = placement.reason
    if found is None:
        return ""
    curve = f" (measured, {found.topic}: {found.shown})" if found.topic else ""
    return f"{found.text}{curve}"


def headline(placements: Sequence[Placement], called: str = YOURS) -> str:
    """The kernel to start with and what there is to gain, as written and rewritten; called: what
    the kernels are."""
    first = placements[0] if placements else None
    if first is None or first.as_written is None:
        return f"{called}: what bounds them is not known"
    name = shortened([p.label for p in placements], _WIDTH_IN_HEADING)[first.label]
    tuned = total(placements, lambda p: p.as_written)
    ways = {"as written": (first.gain_s(first.as_written), tuned)}
    # Without counters both answers are one.
    if first.rewritten is not None and first.kernel.busy:
        rewritten = total(placements, lambda p: p.rewritten)
        ways["rewritten"] = (first.gain_s(first.rewritten), rewritten)
    of_first: list[str] = []
    for way, (gain, all_) in ways.items():
        share = units.percent(gain / all_.seconds if all_.seconds else 0.0)
        of, to_gain = ("", "") if of_first else (" of kernel time", "to gain ")
        of_first.append(f"{units.time(gain)} ({share}{of}) {to_gain}{way}")
    of_all = " and ".join(units.percent(all_.share) for _, all_ in ways.values())
    # Steps have an advice of their own on what to start with.
    lead = "Start with" if called == YOURS else "Of kernels alone, the most is in"
    called = called[:1].lower() + called[1:]
    return (
        f"{lead} {name}: up to {', '.join(of_first)}; all {called}: {of_all} of "
        f"{units.time(tuned.seconds)}"
    )


def advice(profile: Profile, placements: Sequence[Placement], called: str = YOURS) -> list[str]:
    """Sentences on where there is most to gain, and on what cannot be said."""
    return [*lead(profile, placements, called), *remarks(profile, placements)]


def lead(profile: Profile, placements: Sequence[Placement], called: str = YOURS) -> Iterator[str]:
    """What is to be read first: whether the profile is of another GPU, and the headline."""
    written = total(placements, lambda p: p.as_written)
    if warning := other_device_of(profile, placements):
        yield warning
    if written.answered_s:
        rest = f"; nothing is known of {units.percent(written.unanswered)} of the time"
        rest = rest if written.unanswered > _WORTH_A_WORD / 10 else ""
        yield f"{headline(placements, called)}{rest}."


def remarks(profile: Profile, placements: Sequence[Placement]) -> Iterator[str]:
    """What the figures assume, and what is missing."""
    rewritten = total(placements, lambda p: p.rewritten)
    yield from dict.fromkeys(note for p in placements for note in p.kernel.notes)
    if rewritten.answered_s:
        yield (
            "Rewritten, with the same FLOPs and bytes of device memory at the measured "
            f"ceilings: at most {units.percent(rewritten.share)} to gain."
        )
    yield _conditions(placements)
    if any(p.as_written and not p.as_written.complete for p in placements):
        yield (
            '"At least": not every unit was counted; if another is busier, there is less to gain.'
        )
    above = [p for p in placements if p.impossible]
    if above:
        what = ", ".join(dict.fromkeys(unit_label(profile, n) for p in above for n in p.impossible))
        yield (
            f"{names_of(above)} {'does' if len(above) == 1 else 'do'} more than a ceiling allows "
            f"({what}): another precision than was counted, sparse operands, bytes that came from "
            "a cache, another device, or a wrong count or time."
        )
    if any(p.kernel.from_shapes and p.as_written for p in placements):
        yield (
            "By shapes: FLOPs and bytes of GEMMs, attention and convolutions, and bytes of "
            "elementwise operators and normalizations, are computed from the shapes of the "
            "operands, each moved once."
        )
    ignored = sorted({unit for p in placements for unit in p.ignored})
    if ignored:
        names = ", ".join(profile.label(unit) for unit in ignored)
        yield f"FLOPs of {names} are not judged: the profile has no ceiling for them."
    yield from _what_is_missing(placements)


def _conditions(placements: Sequence[Placement]) -> str:
    """The clock and the kind of ceilings that kernels are compared with."""
    clocks = [p.clock_hz for p in placements if p.clock_hz]
    loads = [p.kernel.load_s for p in placements if p.kernel.load_s]
    if clocks:
        low, high = units.clock(min(clocks)), units.clock(max(clocks))
        return (
            f"SM clock of the export: {low if low == high else f'{low} to {high}'}; ceilings that "
            "follow the clock are scaled to each kernel's clock."
        )
    if not loads:
        return (
            "The file tells no SM clock: ceilings stand at the clock at which they were measured."
        )
    longest = units.time(max(loads))
    sustained = [p for p in placements if p.load == "sustained"]
    if not sustained:
        return (
            f"Compared with burst ceilings: the GPU was busy without a rest for {longest} at most, "
            f"and achievable ceilings apply from {units.time(SUSTAINED_FROM_S)} on."
        )
    which = "" if len(sustained) == len(placements) else f" for {names_of(sustained)}"
    return (
        f"Compared with achievable ceilings{which}: the GPU had been busy without a rest for up to "
        f"{longest}, on average over a kernel's launches."
    )


# How to obtain missing counts.
_REMEDIES = {
    "shapes": "The trace has no concrete shapes: record it with "
    "torch.profiler.profile(record_shapes=True), PyTorch 2.1 or later, for the work of GEMMs, "
    "attention and convolutions and the bytes of elementwise operators; ncu counts the work of "
    "every kernel.",
    "nsys": RECORDING["nsys"]["shapes"],
    "flops": "A trace gives FLOPs of GEMMs, attention and convolutions only, inside a CUDA graph "
    "only if it holds the capture; ncu counts the FLOPs of every kernel.",
    "dtype": "Add a precision column to the CSV (bf16, fp32, ...); ncu counts the FLOPs of each "
    "precision.",
}


def _what_is_missing(placements: Sequence[Placement]) -> Iterator[str]:
    found = [p for p in placements if p.as_written is None and not p.impossible]
    reasons = dict.fromkeys(name for p in placements for name in p.missing)
    if found:
        share = sum(p.kernel.seconds or 0.0 for p in found) / (total_seconds(placements) or 1.0)
        words = missing_words(dict.fromkeys(name for p in found for name in p.missing))
        yield (
            f"Nothing is known of {names_of(found)} ({units.percent(share)} of the time). "
            f"Missing: {words}."
        )
    yield from (text for reason, text in _REMEDIES.items() if reason in reasons)
    metrics = metrics_for(reasons) if not {"flops", "shapes", "nsys"} & set(reasons) else []
    if metrics:
        yield f"Profile with ncu --set full, or add --metrics {','.join(metrics)}."


def other_device_of(profile: Profile, placements: Sequence[Placement]) -> str:
    """`other_device` of kernels, which all ran on one device."""
    ran = dict.fromkeys((p.kernel.device, p.kernel.capability) for p in placements)
    return other_device(profile, placements[0].device, list(ran)) if ran else ""


def other_device(profile: Profile, device: str, ran: Sequence[tuple[str, float | None]]) -> str:
    """A warning if work ran on another model or compute capability than the profile's, else "".
    ran: (model, compute capability) of each device; "" and None if unknown."""
    here = profile.device_name(device)
    gpu = profile.gpu(device)
    own = f"{gpu.compute_major}.{gpu.compute_minor}" if gpu else ""
    models = dict.fromkeys(model for model, _ in ran if model and model != here)
    others = dict.fromkeys(f"{cc:.1f}" for _, cc in ran if cc is not None and own)
    others.pop(own, None)
    if not models and not others:
        return ""
    where = ", ".join(models) or "another device"
    if others:
        where += f" of compute capability {', '.join(others)}"
        here += f" ({own})"
    return (
        f"This ran on {where}, but the profile is of {here}: ceilings and costs are another GPU's."
    )


def names_of(placements: Sequence[Placement]) -> str:
    names = list(shortened(dict.fromkeys(p.label for p in placements), _WIDTH_IN_TEXT).values())
    more = len(names) - _NAMED
    others = f" and {units.counted(more, 'other')}" if more > 0 else ""
    return ", ".join(names[:_NAMED]) + others


def table(
    profile: Profile, placements: Sequence[Placement], width: int = 80, most: int | None = None
) -> list[str]:
    """The placements in lines, most to gain first; below each kernel stand its two answers.

    width: characters of a line, of which a name takes what the numbers leave. most: kernels that
    are printed; the others are counted.
    """
    name_width = min(NAME_WIDTH, max(16, width - 37))
    lines = [f"{'#':>3}  {'kernel':{name_width}}  {'launches':>8}  {'time':>9}  {'of time':>8}"]
    whole = total_seconds(placements)
    names = shortened((p.label for p in placements), name_width)
    for number, p in enumerate(placements[:most], start=1):
        time, share = "–", "–"
        if p.kernel.seconds is not None:
            time = taken(p)
            share = units.percent(p.kernel.seconds / whole)
        lines.append(
            f"{number:3}  {names[p.label]:{name_width}}  {launches(p):>8}  {time:>9}  {share:>8}"
        )
        for text in (*answers(profile, p), explained(p)):
            lines += textwrap.wrap(
                text, max(width, 40), initial_indent=" " * 5, subsequent_indent=" " * 7
            )
    if most is not None and (others := placements[most:]):
        share = f", {units.percent(total_seconds(others) / whole)} of the time" if whole else ""
        lines.append(f"     {units.counted(len(others), 'other kernel')}{share}: --all")
    return lines


def taken(p: Placement) -> str:
    """A kernel's time; "≤" before an upper limit."""
    return ("≤ " if p.kernel.clipped else "") + units.time(p.kernel.seconds or 0.0)


def launches(p: Placement) -> str:
    """How often a kernel is launched; of a step's average to two decimals."""
    return f"{p.kernel.launches:.2f}".removesuffix(".00")


def answers(profile: Profile, p: Placement) -> list[str]:
    """A kernel's answers, one per line; a single line if only one is known."""
    if p.as_written is None:
        return [described(profile, p, None)]
    by_shapes = " (by shapes)" if p.kernel.from_shapes else ""
    missing = f"; not known: {missing_words(p.missing)}" if p.missing else ""
    written, rewritten = described(profile, p, p.as_written), described(profile, p, p.rewritten)
    gain = f"at most {units.time(p.gain_s(p.as_written))} to gain"
    if p.rewritten is None or not p.kernel.busy:
        # Only bytes and FLOPs are known, and hold for both answers.
        return [f"{written}{by_shapes}; {gain}{missing}"]
    return [
        f"as written: {written}; {gain}",
        f"rewritten: {rewritten}; at most {units.time(p.gain_s(p.rewritten))} to gain{missing}",
    ]
