"""Measured ceilings, compared with the theoretical ones."""

from peakline import units
from peakline.limits.ceilings import CeilingRow, ceiling_table
from peakline.names import basis_name
from peakline.pictures.canvas import Axes, Canvas, Figure
from peakline.pictures.curves import plot_marks
from peakline.pictures.labels import short_label
from peakline.pictures.picture import Picture
from peakline.pictures.style import INK, LIMIT, MUTED, SERIES
from peakline.profile import PUBLISHED_BASES, Profile

# Name, marker, fill and colour. Filled marks are the resource's own peak: burst for compute,
# "measured" for bandwidth.
_MARKS: dict[str, tuple[str, str, str, str]] = {
    "datasheet": ("published", "D", "none", INK),
    "instruction": ("instruction", "^", "none", INK),
    "measured": ("measured (burst)", "o", "full", SERIES[0]),
    "burst": ("measured (burst)", "o", "full", SERIES[0]),
    "sustained": ("achievable", "s", "full", SERIES[1]),
    "model_burst": ("model burst", "^", "none", SERIES[0]),
    "model_shaped": ("model", "v", "none", SERIES[1]),
}


def picture(profile: Profile, device: str) -> Picture | None:
    """Each ceiling as a share of the theoretical one."""
    rows = [
        row
        for row in ceiling_table(profile, device)[1]
        if "theoretical" in row.by_basis and set(row.by_basis) - {"theoretical", "datasheet"}
    ]
    if len(rows) < 2:
        return None
    whole = [profile.label(row.resource) for row in rows]
    entries = {_MARKS[b][0] for row in rows for b in row.by_basis if b in _MARKS} | {"theoretical"}

    def draw(canvas: Canvas) -> Figure:
        labels = [short_label(label) for label in whole] if canvas.narrow else whole
        best = [] if canvas.narrow else [_best(row) + row.raw for row in rows]
        figure, axes = canvas.row_panel(labels, 0.25, best, entries)
        used: set[str] = set()
        drawn = enumerate(zip(labels, rows, strict=True))
        lowest = min(_draw_row(axes, y, label, row, used) for y, (label, row) in drawn)
        axes.axvline(100, label="theoretical", **LIMIT)
        axes.set_xlim(min(75.0, lowest - 5), 102)
        canvas.legend_above(axes, canvas.columns(entries))
        canvas.labels(axes, "% of theoretical, at the maximum clock")
        return figure

    return Picture(
        "ceilings",
        "Share of theoretical: every basis",
        "The dashed line is what clock and unit counts allow, of a link what its packets allow. "
        "Circles were measured from rest, "
        "squares (achievable) under sustained load: the gap between the two is the price of "
        "that load. Hollow marks are the datasheet's peak (published), matrix instructions "
        "alone, and what the GEMMs of transformer layers reach from rest (model burst) and under "
        "sustained load (model).",
        draw,
        every_device=True,
        headline=_headline(profile, rows),
    )


def _headline(profile: Profile, rows: list[CeilingRow]) -> str:
    """The measured mark furthest below its theoretical value."""
    marks = []
    for row in rows:
        for basis, ceiling in row.by_basis.items():
            if basis in _MARKS and basis not in PUBLISHED_BASES:
                # A bandwidth has only one measured basis, so it is not named.
                how = "" if basis == "measured" else f", {basis_name(basis)}"
                marks.append((ceiling.value / row.limit, f"{profile.label(row.resource)}{how}"))
    share, furthest = min(marks)
    return f"Furthest below theoretical: {furthest}, at {units.percent(share)}"


def _best(row: CeilingRow) -> str:
    top = row.best or next(c for basis, c in row.by_basis.items() if basis in _MARKS)
    return units.rate(top.value, top.unit) + " (varies)" * top.varies


def _draw_row(axes: Axes, y: int, resource: str, row: CeilingRow, used: set[str]) -> float:
    """One resource's marks; returns the lowest share in percent. used: names in the legend."""
    shares = {b: c.value / row.limit * 100 for b, c in row.by_basis.items() if b in _MARKS}
    axes.plot([min(shares.values()), max(shares.values())], [y, y], color=MUTED, lw=0.8, zorder=1)
    for basis, share in shares.items():
        name, marker, fill, color = _MARKS[basis]
        label = "" if name in used else name
        rate = units.rate(row.by_basis[basis].value, row.by_basis[basis].unit)
        said = f"{resource}, {name}: {rate}, {share:.1f} % of theoretical"
        look = {"marker": marker, "fillstyle": fill, "color": color, "label": label}
        plot_marks(axes, [(share, y)], 0, [said], **look)
        used.add(name)
    return min(shares.values())
