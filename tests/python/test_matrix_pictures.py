"""Pictures of matrix products: what is drawn, and where."""

import statistics

import pytest
from conftest import GPU, by_key, figure_of, loaded, only
from drawing import lines


def per_clock(m):
    """Clocks differ by tens of percent: rates that are not per clock would be that far off."""
    return float(m["value"] / m["conditions"]["sm_clock_hz"])


def test_matrix_alignment_is_per_clock(document, drawn):
    figure = figure_of(drawn["matrix-alignment"])
    assert [axes.get_title(loc="left")[0] for axes in figure.axes] == ["M", "N", "K"]
    powers = [1, 2, 4, 8, 16, 32, 64, 128, 8192]
    for name in ("bf16", "fp8", "int8"):
        rows = [m for m in document["measurements"] if m["id"] == f"gemm.alignment.{name}"]
        aligned = max(per_clock(m) for m in rows if m["params"]["size"] == 8192)
        for axes, dimension in zip(figure.axes, "MNK", strict=True):
            shares = {}
            for m in rows:
                if m["params"]["dimension"] == dimension:
                    size = m["params"]["size"]
                    shares.setdefault(size & -size, []).append(100 * per_clock(m) / aligned)
            (line,) = (x for x in axes.get_lines() if x.get_label() == name.upper())
            drawn_at = {powers[int(x)]: y for x, y in zip(*line.get_data(), strict=True)}
            assert drawn_at == pytest.approx({p: statistics.median(s) for p, s in shares.items()})
            (single,) = (x for x in axes.get_lines() if x.get_label() == f"_{name} points")
            assert len(single.get_xdata()) == sum(map(len, shares.values()))


def test_waves_show_the_cliff(document, drawn):
    picture = drawn["waves"]
    found = lines(picture)
    sms = document["devices"][0]["sm_count"]
    rows = [m for m in document["measurements"] if m["id"].startswith("gemm.waves.")]
    waves = {
        m["params"]["m"]: m["params"]["m"]
        * m["launch"]["n"]
        / (m["launch"]["tile_m"] * m["launch"]["tile_n"] * sms)
        for m in rows
    }
    for kernel, name in (("fixed", "one kernel"), ("best", "best kernel")):
        assert dict(found[name]) == pytest.approx(
            {
                waves[m["params"]["m"]]: per_clock(m) / sms
                for m in rows
                if m["params"]["kernel"] == kernel
            }
        )
    (axes,) = figure_of(picture).axes
    verticals = [
        line.get_xdata()[0] for line in axes.get_lines() if "wave" in str(line.get_label())
    ]
    assert verticals == [1, 2, 3]
    fixed = dict(found["one kernel"])
    (just_past,) = (x for x in sorted(fixed) if x > 1 and x < 1.1)
    assert fixed[just_past] < 0.6 * fixed[1.0]
    (shares,) = (
        {f["by"]["m"]: f["value"] for f in c["figures"] if f["name"] == "ideal_share"}
        for c in document["curves"]
        if (c["device"], c["topic"]) == (GPU, "waves")
    )
    top = max(fixed.values()) / max(shares.values())
    assert dict(found["idle SMs alone"]) == pytest.approx(
        {waves[m]: top * share for m, share in shares.items()}
    )


@pytest.fixture
def products(document):
    """The measurements of these pictures alone."""
    return only(document, "gemm.waves", "gemm.alignment")


def test_without_its_figures_there_is_no_ideal(products):
    for row in products["curves"]:
        row["figures"] = []
    assert "idle SMs alone" not in lines(by_key(loaded(products))["waves"])


def test_many_waves_have_few_verticals(products):
    for m in products["measurements"]:
        if "tile_m" in m["launch"]:
            m["launch"]["n"] *= 10**9
    (axes,) = figure_of(by_key(loaded(products))["waves"]).axes
    verticals = [line for line in axes.get_lines() if "wave" in str(line.get_label())]
    assert 6 <= len(verticals) <= 12


def test_rates_per_clock_need_clocks(products):
    assert {"matrix-alignment", "waves"} <= set(by_key(loaded(products)))
    for m in products["measurements"]:
        m["conditions"].pop("sm_clock_hz", None)
    assert not {"matrix-alignment", "waves"} & set(by_key(loaded(products)))
