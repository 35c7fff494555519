"""The few figures that matter most about a device, as tiles at the top of its part of the page."""

from __future__ import annotations

from dataclasses import dataclass

from peakline import units
from peakline.limits.ceilings import basis_name
from peakline.page.html import escape
from peakline.profile import Headline, Profile

NO_VALUE = "–"
_IN_A_ROW = 5  # of a page that leaves the roofline above the fold


@dataclass(frozen=True, slots=True)
class Tile:
    """One number with what it is and what to hold it against."""

    what: str
    value: str
    detail: str
    varies: bool = False  # by more than one should rely on


def headlines(profile: Profile, device: str) -> list[Tile]:
    """The figures of a device, "–" for what was not measured; none where nothing was."""
    found = [_tile(profile, row) for row in profile.headlines if row.device == device]
    return found if any(tile.value != NO_VALUE for tile in found) else []


def _tile(profile: Profile, headline: Headline) -> Tile:
    """The tile of a headline, whose value is a ceiling of the profile."""
    row = profile.ceiling(headline.device, headline.resource, headline.basis)
    if row is None:
        return Tile(headline.label, NO_VALUE, headline.missing or "not measured in this run")
    value = units.rate(row.value, row.unit)
    reference = headline.reference_basis and profile.ceiling(
        headline.device, headline.resource, headline.reference_basis
    )
    if row.varies:
        return Tile(headline.label, value, "varies by tens of percent", varies=True)
    if not reference:
        return Tile(headline.label, value, basis_name(headline.basis))
    limit = units.rate(reference.value, reference.unit)
    # A link's packets have headers, which no copy can do without.
    if packets := next((f.value for f in row.factors if f.name == "packets"), None):
        allowed = reference.value * packets
        share = units.percent(row.value / allowed)
        detail = f"{share} of the {units.rate(allowed, row.unit)} that packets allow (raw {limit})"
        return Tile(headline.label, value, detail)
    share = units.percent(row.value / reference.value)
    return Tile(headline.label, value, f"{share} of {basis_name(reference.basis)} {limit}")


def tiles(profile: Profile, device: str) -> str:
    """The first of the figures of a device, as many as a row holds, as HTML, with a warning where
    one should not rely on them."""
    found = headlines(profile, device)[:_IN_A_ROW]
    shown = "".join(
        f'<div class="tile{" varies" if tile.varies else ""}">'
        f'<div class="what">{escape(tile.what)}</div>'
        f'<div class="value">{escape(tile.value)}</div>'
        f'<div class="detail">{escape(tile.detail)}</div></div>'
        for tile in found
    )
    warning = (
        '<p class="warning"><b>Some of these figures are unsteady:</b> the next run may differ by '
        "tens of percent or more. Run again on an idle machine before you use them.</p>"
        if any(tile.varies for tile in found)
        else ""
    )
    return f'{warning}<div class="tiles">{shown}</div>' if shown else ""
