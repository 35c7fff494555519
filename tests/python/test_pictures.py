"""Properties of all pictures: their list, texts, layout, colours, files."""

import itertools
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from html import escape

import pytest
from conftest import (
    GPU,
    ONE_GPU,
    TWO_GPUS,
    by_key,
    document_of,
    figure_of,
    loaded,
    only,
    pictures_of,
    reference,
)
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from peakline.names import format_name
from peakline.pictures import Canvas, inline_svg, kernel_roofline, pictures, render, sentence
from peakline.pictures import style as looks
from peakline.pictures.canvas import inches, round_values, spread
from peakline.pictures.kernels import picture as kernels_picture
from peakline.pictures.picture import unbroken
from peakline.pictures.side_by_side import overlay
from peakline.pictures.style import CARD, CSS_VARIABLES, FORMATS, INK, MUTED, SERIES, style
from peakline.profile import HOST, NODE
from peakline.report import build
from peakline.workload.kernel import Kernel
from peakline.workload.placement import place

# The package's own pictures, with their topics; profiles declare all others.
OWN = {
    "roofline": ["roofline sweep"],
    "roofline-all": [],
    "factors": [],
    "ceilings": [],
    "sustained": ["sustained load"],
    "matrix-alignment": ["product sides", "vocabulary"],
    "waves": ["waves"],
    "memory-map": ["memory map"],
    "instructions": ["instructions"],
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("submit 3 us", "Submit 3 µs."),
        ("all-reduce: 8 B in 6 us", "All-reduce: 8 B in 6 µs."),
        ("16 MiB at once.", "16 MiB at once."),
        ("cudaMalloc 4 KiB in 48.7 us", "cudaMalloc 4 KiB in 48.7 µs."),
        ("ncclAllReduce 4 us", "ncclAllReduce 4 µs."),
        ("cp.async 177 ns", "cp.async 177 ns."),
        ("fp32_fma 126 of 128", "fp32_fma 126 of 128."),
        ("", ""),
    ],
)
def test_sentences_keep_names_in_code(text, said):
    assert sentence(text) == said


def test_which_pictures_there_are(document, drawn):
    declared = [(c["device"], c["picture"]["key"]) for c in document["curves"] if "picture" in c]
    # Pictures of single topics follow the order of the profile's curves.
    topics = [c["topic"] for c in document["curves"] if c["device"] == GPU]
    assert set(OWN) <= set(drawn)
    assert list(drawn)[:5] == list(OWN)[:5]
    last = [topics.index(picture.topics[-1]) for picture in list(drawn.values())[5:]]
    assert last == sorted(last)
    assert set(drawn) - set(OWN) == {key for device, key in declared if device == GPU}
    assert [p.key for p in pictures_of(ONE_GPU, HOST)] == ["roofline", "host"]


@pytest.mark.parametrize(
    ("removed", "key"),
    [
        ("hbm.", "hbm"),
        ("pcie.", "pcie"),
        ("gemm.alignment", "matrix-alignment"),
        ("gemm.waves", "waves"),
    ],
)
def test_partial_profiles(document, drawn, removed, key):
    rows = document["measurements"]
    document["measurements"] = [m for m in rows if not m["id"].startswith(removed)]
    assert set(by_key(loaded(document))) == set(drawn) - {key}


def test_headline_is_the_first_topics_title(document):
    document = only(document, "gemm.alignment", "gemm.vocabulary")
    rows = {c["topic"]: c for c in document["curves"] if c["device"] == GPU}
    for number, topic in enumerate(OWN["matrix-alignment"], start=3):
        rows[topic]["title"] = f"A title on {topic}: {number}.5 us, {number} x as fast"
    for number, topic in enumerate(OWN["matrix-alignment"], start=3):
        headline = by_key(loaded(document))["matrix-alignment"].headline
        assert headline == f"A title on {topic}: {number}.5 µs, {number} × as fast"
        del rows[topic]["title"]
    bare = by_key(loaded(document))["matrix-alignment"]
    assert (bare.headline, bool(bare.title)) == ("", True)


def test_empty_profiles_draw_nothing(document):
    for key in ("measurements", "ceilings", "rooflines", "findings", "memory_map", "curves"):
        document[key] = []
    profile = loaded(document)
    assert pictures(profile, GPU) == []
    assert "<h1>" in build([profile])["report.html"].decode()


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(0.5, 20))
def test_spread(positions, gap):
    placed = spread(positions, gap, 0.0, 100.0)
    assert len(placed) == len(positions)
    assert all(-1e-6 <= p <= 100 + 1e-6 for p in placed)
    room = gap if gap * (len(positions) - 1) <= 100 else 100 / max(1, len(positions) - 1)
    ordered = sorted(placed)
    assert all(b - a >= room * (1 - 1e-9) - 1e-6 for a, b in itertools.pairwise(ordered))
    ranks = sorted(range(len(positions)), key=lambda i: positions[i])
    assert all(placed[a] <= placed[b] + 1e-6 for a, b in itertools.pairwise(ranks))
    if positions and all(b - a >= gap for a, b in itertools.pairwise(sorted(positions))):
        assert placed == pytest.approx(positions)


def luminance(color):
    """Relative luminance of an sRGB colour (WCAG 2)."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_have_contrast_in_both_themes():
    from importlib import resources

    style = resources.files("peakline.page").joinpath("page.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"(--[a-z0-9]+): (#[0-9a-f]{6})", part))
        for part in style.split("@media screen", 1)
    )
    for color in (*SERIES, INK, MUTED):
        assert light[CSS_VARIABLES[color]] == color
    for theme in (light, dark):
        for name in (
            "--ink",
            "--muted",
            "--error",
            "--warning",
            "--info",
            "--saved",
            *(f"--s{i + 1}" for i in range(len(SERIES))),
        ):
            assert contrast(theme[name], theme["--card"]) >= 4.5, name
    assert light["--card"] == CARD


def test_each_colour_of_a_step_has_one_meaning():
    units = [color for _, color in (*looks.LEVELS.values(), looks.TENSOR_CORES, looks.OTHER_UNITS)]
    activities = [looks.KERNELS, looks.COLLECTIVES, looks.COPIES, looks.HOST_LAUNCHES, looks.SAVING]
    colors = [*units, *(fill["color"] for fill in activities)]
    assert len(set(colors)) == len(colors)
    needed = [*map(looks.pale, units), *activities[:3]]
    assert all(fill["alpha"] < looks.SAVING["alpha"] / 2 for fill in needed)
    assert looks.SAVED not in [*SERIES, *(color for color, _ in FORMATS.values())]


def simulate(color, kind):
    """A colour as seen with a colour blindness (Machado, Oliveira, Fernandes 2009, severity 1)."""
    matrices = {
        "protan": (
            (0.152286, 1.052583, -0.204868),
            (0.114503, 0.786281, 0.099216),
            (-0.003882, -0.048116, 1.051998),
        ),
        "deutan": (
            (0.367322, 0.860646, -0.227968),
            (0.280085, 0.672501, 0.047413),
            (-0.011820, 0.042940, 0.968881),
        ),
        "tritan": (
            (1.255528, -0.076749, -0.178779),
            (-0.078411, 0.930809, 0.147602),
            (0.004733, 0.691367, 0.303900),
        ),
    }
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    seen = [sum(m * c for m, c in zip(row, linear, strict=True)) for row in matrices[kind]]
    return tuple(max(0.0, s) ** (1 / 2.2) for s in seen)


@pytest.mark.parametrize("kind", ["protan", "deutan", "tritan"])
def test_first_colours_suit_colour_blindness(kind):
    # Most pictures distinguish at most three lines by colour; marker and dash differ, too.
    seen = [simulate(color, kind) for color in SERIES[:3]]
    for i, one in enumerate(seen):
        for other in seen[i + 1 :]:
            assert math.dist(one, other) > 0.12


def test_svg_is_safe_and_takes_the_pages_colours(page, drawn):
    seen = set()
    images = re.findall("<svg.*?</svg>", page, re.DOTALL)
    assert len(images) > 2 * len(drawn)  # wide and narrow, and the host's
    for text in images:
        ElementTree.fromstring(text)
        assert "<script" not in text
        assert "<style" not in text
        assert not re.search(r"(href|src)=\"(?!#)", text)
        for color in CSS_VARIABLES:
            assert color not in text
        identities = set(re.findall(r'\bid="([^"]*)"', text))
        assert not identities & seen
        seen |= identities
        for target in re.findall(r'(?:url\(#|href="#)([^)"]*)', text):
            assert target in identities
    assert seen


@pytest.mark.parametrize("name", ["$x^$ <b>&\"' é€µ {a}", "{}%s\\\nb", "x" * 300])
def test_any_name_can_be_drawn(name):
    document = only(document_of(), "hbm.")
    document["devices"][0]["name"] = name
    for finding in document["findings"]:
        finding["message"] = name
    (row,) = [
        c
        for c in document["curves"]
        if c["device"] == GPU and c["topic"] == "device memory by size"
    ]
    row["title"] = name
    for panel in row["picture"]["panels"]:
        panel |= {"heading": name, "names": {"16": name}}
        panel["x"]["label"] = panel["y"]["label"] = name
        for series in panel["series"]:
            series |= {"label": name, "each": "width"}
    profile = loaded(document)
    named = kernels_picture(profile, place(profile, [Kernel(name, 1, 1e-3, {}, {"hbm": 1e9})]))
    for picture in (named, by_key(profile)["hbm"]):
        for form in ("png", "pdf"):
            assert len(render(picture, form)) > 1000
        for canvas in (Canvas(), Canvas(narrow=True)):
            ElementTree.fromstring(render(picture, "svg", canvas))


def test_each_file_says_what_it_is_of(document, drawn):
    picture = drawn["matrix-alignment"]
    text = render(picture, "svg").decode("utf-8")
    shown = " ".join(re.findall(r"<text[^>]*>([^<]*)", text))
    said = (picture.headline, picture.title, "NVIDIA H200")
    for part in (*said, document["created"][:10], document["tool"]):
        assert part and part in shown, part
    assert picture.headline in text.partition("<text")[0]  # in the file's own title too
    # On a page, the heading stands outside the picture.
    assert picture.headline not in inline_svg(picture, Canvas(), "p1-").partition(">")[2]


def test_numbers_stay_with_their_unit(page, drawn):
    expected = "up to 49.5_MiB, 3.85_× as fast, 2 0".replace("_", "\N{NO-BREAK SPACE}")
    assert unbroken("up to 49.5 MiB,  3.85 × as fast, 2 0") == expected
    assert unbroken("833 TFLOP/s GPU 1") == "833_TFLOP/s GPU_1".replace("_", "\N{NO-BREAK SPACE}")
    said = escape(unbroken(drawn["waves"].headline))
    assert f'<p class="said">{said}</p>' in page


def test_panels_of_a_row_are_equally_wide():
    _, (left, right) = Canvas().figure(3.0, 2, left=0.5, right=[1.2, 0.1])
    one, other = (axes.get_position() for axes in (left, right))
    assert one.width == pytest.approx(other.width)
    assert (other.x0 - one.x1) * Canvas().width == pytest.approx(1.2 + 0.5)
    assert (1 - other.x1) * Canvas().width == pytest.approx(0.1)
    _, (above, below) = Canvas(narrow=True).figure(3.0, 2, left=0.5, right=[1.2, 0.1])
    one, other = (axes.get_position() for axes in (above, below))
    assert [(1 - box.x1) * Canvas(narrow=True).width for box in (one, other)] == pytest.approx(
        [1.2, 0.1]
    )
    assert one.x0 == other.x0


@pytest.mark.parametrize("sign", [-1, 0])
def test_senseless_parameters_are_left_out(sign):
    changed = document_of(TWO_GPUS)
    figures = [f for c in changed["curves"] for f in c.get("figures", ())]
    for row in [*changed["measurements"], *figures]:
        for key in {"params", "by"} & row.keys():
            row[key] = {k: sign * v if isinstance(v, int) else v for k, v in row[key].items()}
    rows = changed["measurements"]
    unique = {json.dumps([m["id"], m.get("params"), m["device"]]): m for m in rows}
    changed["measurements"] = list(unique.values())
    profile = loaded(changed)
    for device in (profile.devices[0].uuid, NODE, HOST):
        for picture in by_key(profile, device).values():
            figure_of(picture)


def test_without_ceilings_there_are_pictures():
    changed = document_of(TWO_GPUS)
    profile = loaded({**changed, "ceilings": []})
    found = by_key(profile, profile.devices[0].uuid)
    assert len(found) > 20
    for picture in found.values():
        figure_of(picture)


def test_files_are_the_same_every_time(drawn):
    picture = drawn["roofline"]
    for form in ("svg", "png", "pdf"):
        assert render(picture, form) == render(picture, form)


def test_further_devices_get_differing_pictures(monkeypatch):
    monkeypatch.setattr("peakline.report.render", lambda *_: b"")  # only names matter here
    names = build([reference(TWO_GPUS)], ["svg"])
    first, second, between = (
        {n.removeprefix(p) for n in names if n.startswith(p)} for p in ("gpu0-", "gpu1-", "node-")
    )
    gpu = reference(TWO_GPUS).devices[0].uuid
    assert first == {f"{p.key}.svg" for p in pictures_of(TWO_GPUS, gpu)}
    assert second == {"roofline.svg", "ceilings.svg", "sustained.svg"}
    assert between
    document = only(document_of(TWO_GPUS), "hbm.")
    document["devices"][0]["name"], document["devices"][1]["name"] = "A", "B"
    names = build([loaded(document)], ["svg"])
    assert {"gpu0-hbm.svg", "gpu1-hbm.svg", "gpu1-factors.svg"} <= set(names)


def test_a_page_leaves_out_what_no_reader_sees(profile, drawn):
    kernels = [Kernel("a: <b>", 1, 1e-3, {}, {"hbm": 1e9})]
    named = kernels_picture(profile, place(profile, kernels))
    for picture in (named, drawn["hbm"]):
        text = inline_svg(picture, Canvas(), "p1-")
        ElementTree.fromstring(text)  # still whole
        assert re.findall(r"<g>(?!<title>)", text) == []
        assert re.findall(r'style="[^"]*[:;] ', text) == []
    assert "<title>1: a: &lt;b&gt;: ≤ 788 µs" in inline_svg(named, Canvas(), "p1-")


def test_every_mark_says_what_it_is(drawn):
    for key, said in {
        "roofline": "BF16 GEMMs: 715 TFLOP/s at 2048 FLOP/byte, 86.1 % of the roof above",
        "ceilings": "BF16 Tensor Cores, achievable: 701 TFLOP/s, 65.5 % of theoretical",
        "factors": "HBM triad (2 reads + write), measured, 4401 GB/s: measured, 9",
        "memory-map": "L2, far partition: latency 259 ns",
        "skinny": "BF16: 715 TFLOP/s, M 4096",
        "pcie": "H2D, pinned: 55.5 GB/s, bytes of one copy 1 GiB",
        "instructions": "fp32 add, documented: 128 results per clock and SM",
        "data": "zeros: BF16, 124 rate, % of normal data",
    }.items():
        text = inline_svg(drawn[key], Canvas(), "p1-")
        assert f'<g tabindex="0" role="img"><title>{said}' in text, key
        # Each mark has its own text.
        marks = len(re.findall("<use [^>]*/></g>", text))
        assert marks <= text.count("<title>"), key


def test_matplotlib_stays_as_it_was():
    plain = Text.set_text
    with style():
        assert Text.set_text is not plain
        assert Text(text="a\x1b\nb").get_text() == "a\ufffd\nb"
    with pytest.raises(ZeroDivisionError), style():
        _ = 1 / 0
    assert Text.set_text is plain


def test_formats_look_alike_in_all_pictures():
    looks = {format_name(name): look for name, look in FORMATS.items()}
    seen: dict[str, set[str]] = {}
    for path, device in ((ONE_GPU, GPU), (ONE_GPU, HOST)):
        for picture in pictures_of(path, device):
            for axes in figure_of(picture).axes:
                for line in axes.get_lines():
                    name, _, more = str(line.get_label()).partition(" ")
                    if name in looks and not more.startswith("ridge"):
                        color, mark = looks[name]
                        assert line.get_color() == color, picture.key
                        assert more or line.get_marker() in (mark, "None"), picture.key
                        seen.setdefault(name, set()).add(picture.key)
    assert {"roofline", "skinny", "data", "matrix-alignment"} <= seen["BF16"]


def test_sustained_names_a_load_not_a_figure(drawn):
    for picture in drawn.values():
        said = f"{picture.title} {picture.how} {picture.headline}"
        assert not re.search(r"sustained(?! load)", said, re.IGNORECASE), picture.key


def test_the_memory_map_says_how_sizes_were_found(drawn):
    shown = [t.get_text() for t in figure_of(drawn["memory-map"]).axes[0].get_yticklabels()]
    assert "L2\n60 MiB, fast up to 56 MiB, 28 MiB near" in shown


def test_no_mark_says_powers_of_ten(drawn):
    found = [*drawn.values(), *pictures_of(ONE_GPU, HOST), *pictures_of(TWO_GPUS, NODE)]
    found.append(overlay([(name, reference(ONE_GPU), GPU) for name in "ab"]))
    for picture in found:
        said = re.findall("<title>([^<]*)", inline_svg(picture, Canvas(), "p1-"))
        assert not [text for text in said if re.search(r"\de[+-]\d", text)], picture.key


def labelled(axis):
    low, high = sorted(axis.get_view_interval())
    texts = [text.get_text() for text in axis.get_ticklabels()]
    places = zip(axis.get_majorticklocs(), texts, strict=True)
    return [text for place, text in places if text and low <= place <= high]


@pytest.mark.parametrize("narrow", [False, True])
def test_log_axes_have_three_labels(narrow):
    kernel = Kernel("a", 1, 1.44e-3, {"tensor.bf16": 1.1e12}, {"hbm": 1.3e9})
    placed = place(reference(ONE_GPU), [kernel])
    found = [kernel_roofline.picture(reference(ONE_GPU), GPU, placed)]
    for path, device in ((ONE_GPU, GPU), (ONE_GPU, HOST), (TWO_GPUS, NODE)):
        found += pictures_of(path, device)
    checked = 0
    for picture in found:
        for axes in figure_of(picture, Canvas(narrow)).axes:
            if inches(axes)[0] < 1.5:  # no room
                continue
            lines = [line.get_xydata() for line in axes.get_lines()]
            for which, axis in enumerate((axes.xaxis, axes.yaxis)):
                if axis.get_scale() == "log":
                    measured = {at[which] for line in lines for at in line}
                    assert len(labelled(axis)) >= min(3, len(measured)), picture.key
                    checked += 1
    assert checked > 20


@given(st.floats(1e-9, 1e18), st.floats(1.001, 1e12), st.integers(3, 8))
def test_round_values_are_at_least_three(low, times, at_most):
    values = round_values(low, low * times, at_most)
    assert 3 <= len(values) <= 12
    assert values == sorted(set(values))
    assert low * 0.9999 <= values[0]
    assert values[-1] <= low * times * 1.0001


def test_what_varied_is_said_at_its_picture():
    document = only(document_of(), "pcie.")
    (row,) = [
        m
        for m in document["measurements"]
        if m["id"] == "pcie.h2d.pinned" and m["params"]["bytes"] == 1 << 30
    ]
    for flags, said in (([], False), (["unstable"], True)):
        row["flags"] = flags
        found = by_key(loaded(document))["pcie"].warning
        assert ("PCIe H2D pinned (1 GiB)" in found) == said
