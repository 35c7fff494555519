"""A device's first figures, for a page without the program's first screen."""

from __future__ import annotations

from peakline import units
from peakline.names import basis_name
from peakline.page.cells import Cell, Column, Row, Table, value
from peakline.profile import Headline, Profile

_COLUMNS = (Column("measured", "measured"), Column("share", "share", is_text=True))


def headlines(profile: Profile, device: str, title: str = "") -> Table | None:
    """A device's figures with their reference, "–" if not measured; None if none was."""
    found = tuple(_row(profile, row) for row in profile.headlines if row.device == device)
    if all(row.cells["measured"].value is None for row in found):
        return None
    return Table(title, _COLUMNS, found)


def _row(profile: Profile, headline: Headline) -> Row:
    """The row of a headline, whose value is a ceiling of the profile."""
    row = profile.ceiling(headline.device, headline.resource, headline.basis)
    measured = value(row.value, row.unit) if row else value(None, "")
    share = Cell(text=_share(profile, headline))
    return Row(profile.headline_label(headline), {"measured": measured, "share": share})


def _share(profile: Profile, headline: Headline) -> str:
    row = profile.ceiling(headline.device, headline.resource, headline.basis)
    if row is None:
        return headline.missing or "not measured in this run"
    if row.varies:
        return "varies by tens of percent"
    reference = headline.reference_basis and profile.ceiling(
        headline.device, headline.resource, headline.reference_basis
    )
    if not reference:
        return basis_name(headline.basis)
    limit = units.rate(reference.value, reference.unit)
    # A link's packets have headers, which no copy can do without.
    if row.packets != 1:
        allowed = reference.value * row.packets
        share = units.percent(row.value / allowed)
        return f"{share} of the {units.rate(allowed, row.unit)} that packets allow (raw {limit})"
    share = units.percent(row.value / reference.value)
    return f"{share} of {basis_name(reference.basis)} {limit}"
