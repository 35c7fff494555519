"""A device's headlines and its ceilings by basis."""

import re

import pytest
from conftest import GPU, by_key, ceiling, document_of, figure_of, loaded, only, unfolded
from drawing import texts
from peakline import units
from peakline.limits.ceilings import ceiling_table, limits
from peakline.names import plain_label
from peakline.page import tables
from peakline.page.cells import text_of
from peakline.page.screen import headlines
from peakline.profile import BASES


def rows_of(profile, device):
    """The first figures of a device by name: value, and what it is a share of."""
    table = headlines(profile, device)
    assert table
    return {
        row.label: tuple(text_of(row.cells[column.key], column) for column in table.columns)
        for row in table.rows
    }


def test_labels_come_from_the_profile(profile, document):
    for row in document["resources"]:
        assert profile.label(row["name"]) == row["label"]
    assert profile.label("cache.l2_read") == plain_label("cache.l2_read") == "cache l2 read"


def test_one_number_of_main_memory(profile):
    found = limits(profile, GPU)
    assert found.main.value == profile.bandwidth("hbm") == ceiling("hbm.read", "measured")
    assert rows_of(profile, GPU)["HBM read"][0] == units.rate(found.main.value, "B/s")
    assert f"HBM read {found.main.value / 1e9:.0f} GB/s" in texts(by_key(profile)["roofline"])


def test_headlines(profile, document):
    shown = rows_of(profile, GPU)
    assert list(shown) == [h["label"] for h in document["headlines"] if h["device"] == GPU]
    memory, sheet = ceiling("hbm.read", "measured"), ceiling("hbm.read", "datasheet")
    assert shown["HBM read"] == (
        f"{memory / 1e9:.0f} GB/s",
        f"{100 * memory / sheet:.1f} % of published {sheet / 1e9:.0f} GB/s",
    )
    burst, sheet = ceiling("tensor.bf16", "burst"), ceiling("tensor.bf16", "datasheet")
    assert shown["BF16 burst"] == (
        f"{burst / 1e12:.0f} TFLOP/s",
        f"{100 * burst / sheet:.1f} % of published {sheet / 1e12:.0f} TFLOP/s",
    )
    read = ceiling("memory.read", "measured", "host") / 1e9
    assert rows_of(profile, "host")["memory read"] == (
        f"{read:.0f} GB/s",
        "varies by tens of percent",
    )


def test_headlines_that_were_not_measured():
    document = only(document_of())
    first = document["headlines"][0]
    document["ceilings"] = [
        c
        for c in document["ceilings"]
        if (c["resource"], c["basis"]) != (first["resource"], first["basis"])
    ]
    label = first["label"]
    assert rows_of(loaded(document), GPU)[label] == ("–", "not measured in this run")
    first["missing"] = "skipped: no memory"
    assert rows_of(loaded(document), GPU)[label] == ("–", "skipped: no memory")
    document["ceilings"] = []
    assert headlines(loaded(document), GPU) is None


def test_page_names_peaks_as_the_first_screen(profile):
    shown = tables.ceilings(profile, GPU, "ceilings")
    shown += unfolded(tables.factors(profile, GPU, "factors"))
    for name in ("published", "achievable", "model"):
        assert f">{name}<" in shown
    assert not re.search(r">(datasheet|sustained|model[-_]shaped)<", shown)


def test_links_are_compared_with_packet_limits(profile):
    raw, copied = (ceiling("pcie.h2d", basis) for basis in ("theoretical", "measured"))
    row = next(r for r in ceiling_table(profile, GPU)[1] if r.resource == "pcie.h2d")
    allowed = raw * next(f.value for f in row.by_basis["measured"].factors if f.name == "packets")
    assert row.share == pytest.approx(copied / allowed)
    bracket = f"(raw {raw / 1e9:.1f})"
    for table in (
        tables.ceilings(profile, GPU, "ceilings"),
        unfolded(tables.side_by_side([("a", profile, GPU)])),
    ):
        assert f">{units.rate(allowed, 'B/s')} {bracket}<" in table
    share = units.percent(copied / allowed)
    assert f">{share}<" in unfolded(tables.factors(profile, GPU, "factors"))
    drawn = {key: by_key(profile)[key] for key in ("ceilings", "factors")}
    for picture in drawn.values():
        assert f"{units.rate(copied, 'B/s')} {bracket}" in texts(picture)
    marks = [
        float(line.get_xdata()[0])
        for line in figure_of(drawn["ceilings"]).axes[0].get_lines()
        if len(line.get_xdata()) == 1
    ]
    assert pytest.approx(100 * copied / allowed) in marks
    bars = [bar.get_width() for bar in figure_of(drawn["factors"]).axes[0].patches]
    assert pytest.approx(100 * copied / allowed) in bars


def test_ceiling_table(profile):
    bases, rows = ceiling_table(profile, GPU)
    assert bases == list(BASES)
    row = next(r for r in rows if r.resource == "tensor.bf16")
    assert row.best.basis == "burst"
    assert row.share == ceiling("tensor.bf16", "burst") / ceiling("tensor.bf16", "theoretical")
