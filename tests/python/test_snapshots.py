"""Every text, axis and line of the pictures and the page, compared with the files in snapshots/.

After an intended change: run pytest with PEAKLINE_SNAPSHOTS=write, and read the diff.
"""

import html.parser
import os
from pathlib import Path

import peakline
import pytest
from conftest import (
    GOLDEN,
    GPU,
    ONE_GPU,
    TWO_GPUS,
    document_of,
    figure_of,
    loaded,
    only,
    pictures_of,
    reference,
    scaled,
    unfolded,
)
from drawing import written
from made_kernels import PLAIN, parse
from peakline.page import comparison_page, fleet_page, tables
from peakline.profile import HOST, NODE
from peakline.report import build, compared
from peakline.workload.placement import place
from test_comparison import compared as compared_machines
from test_fleet import made_fleet
from test_labels import MADE
from test_labels import page as made

SNAPSHOTS = Path(__file__).parent / "snapshots"


def check(name, lines):
    path = SNAPSHOTS / f"{name}.txt"
    text = "".join(f"{line}\n" for line in lines)
    if os.environ.get("PEAKLINE_SNAPSHOTS") == "write":
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), path


def shape(points):
    """The ends of a line, and the centre of its points."""
    centre = tuple(sum(values) / len(values) for values in zip(*points, strict=True))
    places = (points[0], points[-1], centre) if len(points) > 1 else points
    return f"{len(points)} points: {', '.join(f'({x:.4g}, {y:.4g})' for x, y in places)}"


def described(picture):
    """A picture's texts, panels and what they show."""
    for field in ("title", "headline", "stamp", "how"):
        yield f"{field}: {getattr(picture, field)}"
    figure = figure_of(picture)
    written(figure)  # places the ticks
    for axes in figure.axes:
        yield f"panel: {axes.get_title(loc='left')!r}"
        for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            low, high = axis.get_view_interval()
            ticks = ", ".join(
                tick.label1.get_text()
                for tick in axis.get_major_ticks()
                if min(low, high) <= tick.get_loc() <= max(low, high)
            )
            label = axis.get_label().get_text()
            yield f"  {name}: {label!r} {axis.get_scale()} {low:.4g} to {high:.4g}: {ticks}"
        legend = axes.get_legend()
        if legend:
            yield f"  legend: {', '.join(text.get_text() for text in legend.get_texts())}"
        for text in axes.texts:
            yield f"  text: {text.get_text()!r}"
        unnamed = []
        for line in axes.get_lines():
            points = line.get_xydata().tolist()
            if str(line.get_label()).startswith("_"):
                unnamed += points
            else:
                yield f"  line: {line.get_label()!r} {shape(points)}"
        if unnamed:
            yield f"  other lines: {shape(unnamed)}"
        if bars := [bar for group in axes.containers for bar in group]:
            yield f"  bars: {', '.join(f'{bar.get_width():.4g}' for bar in bars)}"


def shown():
    """The pictures by the prefix of their files."""
    return {
        "gpu": pictures_of(ONE_GPU, GPU),
        "host": pictures_of(ONE_GPU, HOST),
        "node": pictures_of(TWO_GPUS, NODE),
        **{name: made(name) for name in MADE},
    }


@pytest.mark.parametrize("name", ["gpu", "host", "node", *MADE])
def test_pictures(name):
    for picture in shown()[name]:
        check(f"{name}-{picture.key}", described(picture))


class Texts(html.parser.HTMLParser):
    """The texts of a page, a line per element, without drawings, raw values and script."""

    def __init__(self, text):
        super().__init__()
        self.lines = []
        self.skipped = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("svg", "script", "style"):
            self.skipped.append(tag)
        if tag in ("h1", "h2", "h3", "p", "li", "tr", "a", "summary", "dt", "section", "title"):
            self.lines.append(f"{tag}: ")

    def handle_endtag(self, tag):
        if self.skipped and tag == self.skipped[-1]:
            self.skipped.pop()
        if tag in ("td", "th", "dt"):
            self.lines[-1] += " | "

    def handle_data(self, data):
        if self.lines and not self.skipped:
            self.lines[-1] += data


def kernels_table():
    """Kernels with a verdict, and one without."""
    found = parse(f"{PLAIN}copy,0,,1e-3,,\n")
    return tables.kernels(reference(), place(reference(), found), "kernels")


def compared_table():
    """The ceilings of two machines."""
    other = loaded(scaled(only(document_of()), 0.85, "tensor."), "second.json")
    return tables.side_by_side(compared([reference(), other]))


def node_tables():
    """The page's tables about links between GPUs."""
    profile = reference(TWO_GPUS)
    said = [curve for curve in profile.curves if curve.device == NODE]
    return unfolded(tables.ceilings(profile, NODE, "ceilings") + tables.curves(said, (), "curves"))


def fleet():
    return fleet_page(made_fleet())


def comparison():
    return unfolded(comparison_page(compared_machines()))


TABLES = [kernels_table, compared_table, node_tables, fleet, comparison]


@pytest.mark.parametrize("made", TABLES)
def test_tables(made):
    check(made.__name__.replace("_", "-"), iter(Texts(made()).lines))


def test_page():
    # The golden profile has every field.
    page = build([peakline.load(GOLDEN)])["report.html"].decode("utf-8")
    check("page", iter(Texts(unfolded(page)).lines))


def test_no_file_is_left_over():
    used = {f"{name}-{picture.key}" for name, found in shown().items() for picture in found}
    used |= {made.__name__.replace("_", "-") for made in TABLES} | {"page"}
    others = [path for path in SNAPSHOTS.iterdir() if path.stem not in used]
    if os.environ.get("PEAKLINE_SNAPSHOTS") == "write":
        for path in others:
            path.unlink()
    else:
        assert others == []
