"""The pictures that the profile declares: which numbers a panel shows, before it is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from peakline.pictures.panels import Shown, ShownMark, ShownPanel, draw_panels
from peakline.pictures.picture import Picture
from peakline.profile import Profile, shown_text
from peakline.profile.conclusions import Curve
from peakline.profile.declared import DeclaredPanel, DeclaredSeries, Numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from peakline.pictures.canvas import Canvas

# More than these no panel can tell apart; the page's tables have all.
MOST_LINES = 12
MOST_ROWS = 60
MOST_OF_A_LABEL = 40  # characters

Params = Mapping[str, int | str]


def picture(profile: Profile, device: str, curve: Curve) -> Picture | None:
    """The picture of a topic; None where it declares none, or nothing of it was measured."""
    declared = curve.picture
    if declared is None:
        return None
    panels = [
        shown for panel in declared.panels if (shown := _shown(profile, device, panel)) is not None
    ]
    if not panels:
        return None

    def draw(canvas: Canvas) -> Figure:
        return draw_panels(canvas, panels)

    return Picture(declared.key, declared.subject, declared.how, draw, (curve.topic,))


def values(profile: Profile, device: str, numbers: Numbers) -> list[tuple[Params, float]]:
    """The numbers with the parameters that each holds for, in the profile's order."""
    if numbers.figure:
        found = profile.figures(device, id=numbers.id, name=numbers.figure)
        return [(f.by, f.value) for f in found if _fits(f.by, numbers.where)]
    return [
        (m.params, m.value)
        for m in profile.of(device, numbers.id)
        if m.id == numbers.id and m.value is not None and _fits(m.params, numbers.where)
    ]


def _fits(params: Params, where: Params) -> bool:
    return all(params.get(key) == value for key, value in where.items())


def _shown(profile: Profile, device: str, panel: DeclaredPanel) -> ShownPanel | None:
    of_lines = panel.kind == "lines"
    shown = _lines(profile, device, panel) if of_lines else _rows(profile, device, panel)
    if shown is None:
        return None
    series, rows = shown
    marks = []
    for mark in panel.marks:
        value = mark.value
        if mark.resource:
            row = profile.ceiling(device, mark.resource, mark.basis)
            value = row.value if row else None
        elif mark.figure:
            found = values(profile, device, mark.figure)
            value = found[0][1] if found else None
        if mark.diagonal or value is not None:
            marks.append(ShownMark(_whole(mark.label), value, mark.upright))
    return ShownPanel(panel, series, tuple(marks), rows)


def _each(
    profile: Profile, device: str, panel: DeclaredPanel
) -> Iterator[tuple[DeclaredSeries, str, list[tuple[Params, float]]]]:
    """Every series with its label and numbers, one for each value where it says so."""
    for series in panel.series:
        found = values(profile, device, series.numbers)
        if not series.each:
            yield series, _whole(series.label), found
            continue
        for value in _ordered((params.get(series.each) for params, _ in found), panel.names):
            of_value = [(p, number) for p, number in found if p.get(series.each) == value]
            name = name_of(value, panel.names)
            yield series, _whole(series.label.replace("{}", name)), of_value


def _ordered(found: Iterator[int | str | None], names: Mapping[str, str]) -> list[int | str]:
    """Distinct values: those with a name in that order, numbers by size, the rest as found."""
    distinct = [value for value in dict.fromkeys(found) if value is not None]
    order = list(names)

    def rank(value: int | str) -> tuple[int, float]:
        if str(value) in order:
            return 0, order.index(str(value))
        return (1, value) if isinstance(value, int) else (2, distinct.index(value))

    return sorted(distinct, key=rank)


def name_of(value: int | str, names: Mapping[str, str]) -> str:
    """How a value is called: one that has no name by itself."""
    return _whole(names.get(str(value), str(value).replace("_", " ")))


def _whole(text: str) -> str:
    """As much of a text as stands beside a panel: a profile may call things anything."""
    return shown_text(text, MOST_OF_A_LABEL)


def _lines(
    profile: Profile, device: str, panel: DeclaredPanel
) -> tuple[tuple[Shown, ...], tuple[str, ...]] | None:
    found = list(_each(profile, device, panel))
    texts = (p.get(panel.over) for _, _, numbers in found for p, _ in numbers)
    places = _ordered((text for text in texts if isinstance(text, str)), panel.names)
    lines = []
    for series, label, numbers in found:
        best: dict[float, float] = {}  # of several values at one x, the highest
        for params, number in numbers:
            at = params.get(panel.over)
            if at is None:
                continue
            x = float(places.index(at)) if isinstance(at, str) else float(at)
            if x < 0 or (x == 0 and panel.x.scale != "linear"):
                continue
            if number > 0 or panel.y.scale == "linear":
                best[x] = max(best.get(x, number), number)
        if best:
            lines.append(Shown(label, tuple(sorted(best.items())), series.group))
    categories = tuple(name_of(place, panel.names) for place in places)
    # Single points say something beside a line, but are none.
    if all(len(line.points) < 2 for line in lines):
        return None
    return tuple(lines[:MOST_LINES]), categories


def _rows(
    profile: Profile, device: str, panel: DeclaredPanel
) -> tuple[tuple[Shown, ...], tuple[str, ...]] | None:
    """Marks by kind, each with its (value, row)."""
    found = [item for item in _each(profile, device, panel) if item[2]]
    marks: dict[str, list[tuple[float, float]]] = {}
    groups: dict[str, int] = {}
    if panel.over:
        keys = _ordered((p.get(panel.over) for _, _, n in found for p, _ in n), panel.names)
        rows = [name_of(key, panel.names) for key in keys[:MOST_ROWS]]
        for _, label, numbers in found:
            for params, number in numbers:
                key = params.get(panel.over)
                if key is not None and (row := keys.index(key)) < MOST_ROWS:
                    marks.setdefault(label, []).append((number, float(row)))
    else:
        rows = [label for _, label, _ in found[:MOST_ROWS]]
        kinds = _ordered((p.get(panel.by) for _, _, n in found for p, _ in n), panel.names)
        for kind in [*kinds, None] if panel.by else [None]:
            for row, (series, _, numbers) in enumerate(found[:MOST_ROWS]):
                of_kind = [v for p, v in numbers if not panel.by or p.get(panel.by) == kind]
                if not of_kind:
                    continue
                label = "" if kind is None else name_of(kind, panel.names)
                label = label or ("" if panel.by else f"group {series.group}")
                groups[label] = series.group
                marks.setdefault(label, []).append((max(of_kind), float(row)))
    kept = [
        Shown(label, tuple(points), groups.get(label, 0))
        for label, points in list(marks.items())[:MOST_LINES]
    ]
    return (tuple(kept), tuple(rows)) if kept else None
