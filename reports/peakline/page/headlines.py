"""A device's first figures, for a page without the program's first screen."""

from __future__ import annotations

from peakline import units
from peakline.names import basis_name
from peakline.page.screen import Section
from peakline.profile import Headline, Profile

NO_VALUE = "–"


def headlines(profile: Profile, device: str, title: str = "") -> Section | None:
    """A device's figures with their reference, "–" if not measured; None if none was."""
    found = [_row(profile, row) for row in profile.headlines if row.device == device]
    if all(cells[0] == NO_VALUE for _, cells in found):
        return None
    return Section(title, ("measured", "share"), tuple(found))


def _row(profile: Profile, headline: Headline) -> tuple[str, tuple[str, str]]:
    """The row of a headline, whose value is a ceiling of the profile."""
    label = profile.headline_label(headline)
    row = profile.ceiling(headline.device, headline.resource, headline.basis)
    if row is None:
        return label, (NO_VALUE, headline.missing or "not measured in this run")
    value = units.rate(row.value, row.unit)
    reference = headline.reference_basis and profile.ceiling(
        headline.device, headline.resource, headline.reference_basis
    )
    if row.varies:
        return label, (value, "varies by tens of percent")
    if not reference:
        return label, (value, basis_name(headline.basis))
    limit = units.rate(reference.value, reference.unit)
    # A link's packets have headers, which no copy can do without.
    if row.packets != 1:
        allowed = reference.value * row.packets
        share = units.percent(row.value / allowed)
        detail = f"{share} of the {units.rate(allowed, row.unit)} that packets allow (raw {limit})"
        return label, (value, detail)
    share = units.percent(row.value / reference.value)
    return label, (value, f"{share} of {basis_name(reference.basis)} {limit}")
