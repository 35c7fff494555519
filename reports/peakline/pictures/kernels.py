"""Kernels of a profiler: each one's time, and the part that its busiest units need."""

from collections.abc import Sequence

from peakline import units
from peakline.pictures.canvas import Axes, Canvas, Figure, enlarge, note, text_width
from peakline.pictures.picture import Picture
from peakline.pictures.style import (
    INK,
    LEVELS,
    MUTED,
    NOT_KNOWN,
    OTHER_UNITS,
    SAVING,
    TENSOR_CORES,
    Fill,
    pale,
)
from peakline.pictures.titles import says
from peakline.profile import Profile
from peakline.workload.kernel_names import shortened
from peakline.workload.kernel_text import YOURS, described, headline, total_seconds
from peakline.workload.placement import Answer, Placement, same_unit

# The longest kernels hold nearly all of the time; more rows would be slivers.
MOST_DRAWN = 15
_ROW = 0.56  # inches: a name, a bar, and a text
_BAR = 0.26  # of a row
_STROKE = 0.145  # half of its length, of a row
_AXIS = 36  # points for the time axis' ticks and name
_SIDE = 0.15  # inches left and right of the panel
_NAMED_LINES = 3
# Colours by limiting unit.
_KINDS = {**LEVELS, "tensor": TENSOR_CORES}
_GAIN, _REWRITTEN = "at most to gain", "rewritten"


def picture(
    profile: Profile, placements: Sequence[Placement], called: str = YOURS
) -> Picture | None:
    """The kernels with their time; None without any that has one. called: what they are."""
    timed = [p for p in placements if p.kernel.seconds]
    if not timed:
        return None
    ranks = {id(p): number for number, p in enumerate(placements, start=1)}
    longest = sorted(timed, key=lambda p: -(p.kernel.seconds or 0.0))[:MOST_DRAWN]
    chosen = {id(p) for p in longest}
    drawn = [(ranks[id(p)], p) for p in placements if id(p) in chosen]
    left = [p for p in placements if id(p) not in chosen]
    complete = all(p.as_written is None or p.as_written.complete for p in placements)
    partly = "" if complete else "; with “at least”, not every unit was counted"
    return Picture(
        "kernels",
        f"{called}: the busiest unit decides",
        "A bar is the time of all launches of a kernel; the kernel with the most to gain as "
        "written comes first. Pale is the least that it takes as it is written: what its busiest "
        "unit needs at its peak, or at its measured ceiling where that takes longer. Red is the "
        f"most that there is to gain{partly}. The upright stroke is what a rewritten kernel needs "
        "for the same FLOPs and bytes of device memory at the measured ceilings. Figures below a "
        "name and the sum in the heading are those as written.",
        lambda canvas: _draw(canvas, profile, placements, drawn, left),
        headline=headline(placements, called),
    )


def _draw(
    canvas: Canvas,
    profile: Profile,
    placements: Sequence[Placement],
    drawn: Sequence[tuple[int, Placement]],
    left: Sequence[Placement],
) -> Figure:
    entries = _entries(drawn)
    columns = min(canvas.columns([name for name, _ in entries]), len(entries))
    head = canvas.head(len(entries), columns)
    font = canvas.font - 1
    room = (canvas.width - 2 * _SIDE) * 72
    foot = _not_drawn(left, total_seconds(placements), room, font)
    below = len(foot) * font * 1.35 / 72
    row_height = _ROW + 0.06 * canvas.narrow
    figure, (axes,) = canvas.figure(
        row_height * len(drawn) + head + 0.52, left=_SIDE, right=_SIDE, top=head
    )
    most = max(p.kernel.seconds or 0.0 for _, p in drawn)
    per, unit = next(
        ((scale, name) for scale, name in ((1.0, "s"), (1e-3, "ms")) if most >= scale), (1e-6, "µs")
    )
    called = [p.label for _, p in drawn]
    letter = max(text_width(name, canvas.font) / len(name) for name in called)
    names = shortened(called, max(16, int(room / letter) - len("10  ")))
    for row, (number, p) in enumerate(drawn):
        _draw_row(axes, canvas, profile, row, number, names[p.label], p, per, room)
    axes.set_ylim(len(drawn) - 0.42, -0.62)
    axes.set_xlim(0, most / per)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)  # lines would cross the names
    canvas.labels(axes, f"{unit} over all launches")
    _legend(axes, canvas, entries, columns)
    if foot:
        enlarge(figure, 0.0, below)
        of, style = ("axes fraction", "axes fraction"), {"color": MUTED, "va": "top"}
        note(axes, "\n".join(foot), (0, 0), (0, -_AXIS), of, fontsize=font, **style)
    return figure


def _draw_row(
    axes: Axes,
    canvas: Canvas,
    profile: Profile,
    row: int,
    number: int,
    name: str,
    p: Placement,
    per: float,
    room: float,
) -> None:
    seconds = (p.kernel.seconds or 0.0) / per
    _, fill = _kind(p.as_written)
    # The gain is also capped by ncu's summaries.
    share = 1 - p.as_written.gain if p.as_written else 0.0
    need = seconds * share if p.as_written else seconds
    bar = axes.barh(row, need, height=_BAR, **fill)
    bar[0].set_label(f"_kernel {number}")
    said = f"{number}: {p.kernel.name}: {_said(profile, p, False)}"
    says(bar[0], said)
    if need < seconds:
        gain = axes.barh(row, seconds - need, left=need, height=_BAR, **SAVING)
        says(gain[0], said)
    if _has_stroke(p) and p.rewritten is not None:
        x = seconds * p.rewritten.share
        (stroke,) = axes.plot([x] * 2, [row - _STROKE, row + _STROKE], color=INK, lw=1.8)
        stroke.set_label("_rewritten")
        says(
            stroke,
            f"{number}, rewritten: {units.time((p.kernel.seconds or 0) * p.rewritten.share)}",
        )
    of, title = ("axes fraction", "data"), f"{number}  {name}"
    note(axes, title, (0, row - _BAR / 2), (0, 2.5), of, fontsize=canvas.font, va="bottom")
    font = canvas.font - 1
    text = _fitted(_said(profile, p, canvas.narrow), room, font)
    note(axes, text, (0, row + _BAR / 2), (0, -2.5), of, fontsize=font, color=MUTED, va="top")


def _has_stroke(p: Placement) -> bool:
    """Whether the two answers can differ: without counters both rest on bytes and FLOPs."""
    return p.rewritten is not None and bool(p.kernel.busy)


def _said(profile: Profile, p: Placement, brief: bool) -> str:
    text = units.time(p.kernel.seconds or 0.0)
    if p.as_written is not None:
        text = f"≤ {units.time(p.gain_s(p.as_written))} of {text}{'' if brief else ' to gain'}"
    why = f"{p.reason.word}; " if p.reason else ""
    return f"{text}: {why}{described(profile, p, p.as_written, brief)}"


def _fitted(text: str, room: float, font: float) -> str:
    while text_width(text, font) > room:
        text = text.removesuffix("…")[:-1].rstrip() + "…"
    return text


def _kind(answer: Answer | None) -> tuple[str, Fill]:
    if answer is None:
        return "not known", NOT_KNOWN
    unit = same_unit(answer.units[0]) if answer.units else ""
    name, color = _KINDS.get(unit, OTHER_UNITS)
    return name, pale(color)


def _entries(drawn: Sequence[tuple[int, Placement]]) -> list[tuple[str, Fill]]:
    found = dict(_kind(p.as_written) for _, p in drawn)
    extra: dict[str, Fill] = {}
    if any(p.as_written for _, p in drawn):
        extra[_GAIN] = SAVING
    if any(_has_stroke(p) for _, p in drawn):
        extra[_REWRITTEN] = {"color": INK}
    return [*found.items(), *extra.items()]


def _legend(axes: Axes, canvas: Canvas, entries: Sequence[tuple[str, Fill]], columns: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Line2D([], [], **fill, lw=1.6, marker="|", markersize=9, linestyle="none", label=name)
        if name == _REWRITTEN
        else Patch(**fill, label=name)
        for name, fill in entries
    ]
    canvas.legend_above(axes, columns, handles=handles, bbox_to_anchor=(0.0, 1.0), handlelength=1.4)


def _not_drawn(left: Sequence[Placement], seconds: float, room: float, font: float) -> list[str]:
    """Names kernels that are not drawn, in a few lines."""
    if not left:
        return []
    share = sum(p.kernel.seconds or 0.0 for p in left) / (seconds or 1.0)
    what = "kernel" if len(left) == 1 else "kernels"
    names = list(shortened(dict.fromkeys(p.label for p in left), 24).values())
    lines = [f"Not drawn, in the table: {len(left)} {what}, {units.percent(share)} of the time:"]
    for i, name in enumerate(names):
        rest = len(names) - i
        more = f" and {rest} more"
        here = name if rest == 1 else f"{name},"
        spare = text_width(more, font) if len(lines) == _NAMED_LINES and rest > 1 else 0.0
        if text_width(f"{lines[-1]} {here}", font) + spare <= room:
            lines[-1] += f" {here}"
        elif len(lines) < _NAMED_LINES:
            lines.append(here)
        else:
            lines[-1] = lines[-1].removesuffix(",") + more
            break
    return lines
