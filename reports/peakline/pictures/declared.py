"""Selects the numbers of pictures that the profile declares, before they are drawn."""

from collections.abc import Iterator, Mapping, Sequence

from peakline.names import level_of, point_name
from peakline.pictures.canvas import Canvas, Figure
from peakline.pictures.panels import draw_panels
from peakline.pictures.picture import Picture
from peakline.pictures.shown import Shown, ShownMark, ShownPanel
from peakline.pictures.style import format_look
from peakline.profile import Profile
from peakline.profile.conclusions import Curve
from peakline.profile.declared import DeclaredPanel, DeclaredSeries, Mark, Numbers
from peakline.text import short

# More lines or rows are illegible; the page's tables have all.
MOST_LINES = 12
MOST_ROWS = 60
MOST_OF_A_LABEL = 40  # characters

# Devices of one model differ in these by slot.
_LINKS = ("pcie", "c2c")

Params = Mapping[str, int | str]


def picture(profile: Profile, device: str, curve: Curve) -> Picture | None:
    """The picture of a topic; None if it declares none, or has no data."""
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

    ids = {series.numbers.id for panel in declared.panels for series in panel.series}
    return Picture(
        declared.key,
        declared.subject,
        declared.how,
        draw,
        (curve.topic,),
        every_device=all(level_of(id_) in _LINKS for id_ in ids),
    )


def varied(profile: Profile, device: str, curve: Curve) -> list[str]:
    """The names of a picture's measurements that varied within the run; without a declared picture
    those behind its ceilings."""
    ceilings = [c for c in profile.ceilings if c.device == device]
    varying = {c.measurement for c in ceilings if c.varies}
    unstable = [m for m in profile.of(device) if "unstable" in m.flags or m.name in varying]
    if curve.picture is None:
        sources = {c.measurement for c in ceilings}
        ids = {figure.id for figure in curve.figures}
        found = [m for m in unstable if m.id in ids and m.name in sources]
    else:
        shown = [series.numbers for panel in curve.picture.panels for series in panel.series]
        found = [
            m
            for m in unstable
            if any(
                m.id == n.id and all(m.params.get(key, v) == v for key, v in n.where.items())
                for n in shown
            )
        ]
    return [point_name(m.id, m.params) for m in found]


def values(profile: Profile, device: str, numbers: Numbers) -> list[tuple[Params, float]]:
    """The numbers with their parameters, in the profile's order."""
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
    """A panel with its numbers; None without data."""
    numbers = _lines if panel.kind == "lines" else _rows
    series, rows = numbers(panel, list(_each(profile, device, panel)))
    if not series:
        return None
    marks = [
        ShownMark(_whole(mark.label), value, mark.upright)
        for mark in panel.marks
        if (value := _mark_value(profile, device, mark)) is not None or mark.diagonal
    ]
    return ShownPanel(panel, series, tuple(marks), rows)


def _mark_value(profile: Profile, device: str, mark: Mark) -> float | None:
    """The value of a mark: ceiling, figure or number; None if unknown."""
    if mark.resource:
        row = profile.ceiling(device, mark.resource, mark.basis)
        return row.value if row else None
    if mark.figure:
        found = values(profile, device, mark.figure)
        return found[0][1] if found else None
    return mark.value


def _format(series: DeclaredSeries) -> str:
    """The format that a series' benchmark measures; "" for none."""
    name = series.numbers.id.rpartition(".")[2]
    return name if format_look(name) else ""


# A series, its label, and its numbers with their parameters.
_Labelled = tuple[DeclaredSeries, str, list[tuple[Params, float]]]


def _each(profile: Profile, device: str, panel: DeclaredPanel) -> Iterator[_Labelled]:
    """Every series with label and numbers; `each` splits it by value."""
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
    """Distinct values: named ones in the names' order, numbers by size, the rest as found."""
    distinct = [value for value in dict.fromkeys(found) if value is not None]
    order = list(names)

    def rank(value: int | str) -> tuple[int, float]:
        if str(value) in order:
            return 0, order.index(str(value))
        return (1, value) if isinstance(value, int) else (2, distinct.index(value))

    return sorted(distinct, key=rank)


def name_of(value: int | str, names: Mapping[str, str]) -> str:
    """The name of a value, else the value itself."""
    return _whole(names.get(str(value), str(value).replace("_", " ")))


def _whole(text: str) -> str:
    """A text cut to the room beside a panel: names in a profile may be long."""
    return short(text, MOST_OF_A_LABEL)


def _lines(
    panel: DeclaredPanel, found: Sequence[_Labelled]
) -> tuple[tuple[Shown, ...], tuple[str, ...]]:
    """The lines of a panel, and the names of places along its x axis, if it has names."""
    texts = (p.get(panel.over) for _, _, numbers in found for p, _ in numbers)
    places = _ordered((text for text in texts if isinstance(text, str)), panel.names)
    lines = [
        Shown(label, points, series.group, _format(series))
        for series, label, numbers in found
        if (points := _points(panel, numbers, places))
    ]
    # Single points may accompany lines, but do not make a picture alone.
    if all(len(line.points) < 2 for line in lines):
        return (), ()
    return tuple(lines[:MOST_LINES]), tuple(name_of(place, panel.names) for place in places)


def _points(
    panel: DeclaredPanel, numbers: Sequence[tuple[Params, float]], places: Sequence[int | str]
) -> tuple[tuple[float, float], ...]:
    """The points of a line, sorted; of several values at one x, the highest. Values without a place
    on a logarithmic axis are left out."""
    best: dict[float, float] = {}
    for params, number in numbers:
        at = params.get(panel.over)
        if at is None or (number <= 0 and panel.y.scale != "linear"):
            continue
        x = float(places.index(at)) if isinstance(at, str) else float(at)
        if x > 0 or (x == 0 and panel.x.scale == "linear"):
            best[x] = max(best.get(x, number), number)
    return tuple(sorted(best.items()))


def _rows(
    panel: DeclaredPanel, found: Sequence[_Labelled]
) -> tuple[tuple[Shown, ...], tuple[str, ...]]:
    """The marks of a panel by kind, each with its (value, row), and the names of rows."""
    measured = [item for item in found if item[2]]
    return _rows_by_value(panel, measured) if panel.over else _rows_by_series(panel, measured)


def _rows_by_value(
    panel: DeclaredPanel, found: Sequence[_Labelled]
) -> tuple[tuple[Shown, ...], tuple[str, ...]]:
    """A row per value of a parameter, with a mark per series."""
    keys = _ordered((p.get(panel.over) for _, _, numbers in found for p, _ in numbers), panel.names)
    marks: dict[str, list[tuple[float, float]]] = {}
    for _, label, numbers in found:
        for params, number in numbers:
            key = params.get(panel.over)
            if key is not None and (row := keys.index(key)) < MOST_ROWS:
                marks.setdefault(label, []).append((number, float(row)))
    # Where the rows are formats, marks are something else.
    formats = {} if panel.over == "format" else {label: _format(s) for s, label, _ in found}
    kept = [
        Shown(label, tuple(points), format=formats.get(label, ""))
        for label, points in list(marks.items())[:MOST_LINES]
    ]
    return tuple(kept), tuple(name_of(key, panel.names) for key in keys[:MOST_ROWS])


def _rows_by_series(
    panel: DeclaredPanel, found: Sequence[_Labelled]
) -> tuple[tuple[Shown, ...], tuple[str, ...]]:
    """A row per series, with a mark per value of `by`, or one in its group's colour."""
    shown = found[:MOST_ROWS]
    rows = tuple(label for _, label, _ in shown)
    kinds: list[int | str | None] = [None]
    if panel.by:
        texts = (p.get(panel.by) for _, _, numbers in found for p, _ in numbers)
        kinds = [*_ordered(texts, panel.names), None]
    marks: dict[str, list[tuple[float, float]]] = {}
    groups: dict[str, int] = {}
    for kind in kinds:
        for row, (series, _, numbers) in enumerate(shown):
            of_kind = [value for p, value in numbers if not panel.by or p.get(panel.by) == kind]
            if not of_kind:
                continue
            label = f"group {series.group}"
            if panel.by:
                label = "" if kind is None else name_of(kind, panel.names)
            groups[label] = series.group
            marks.setdefault(label, []).append((max(of_kind), float(row)))
    kept = [
        Shown(label, tuple(points), groups[label])
        for label, points in list(marks.items())[:MOST_LINES]
    ]
    return tuple(kept), rows
