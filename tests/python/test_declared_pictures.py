"""The pictures that profiles declare, drawn from the references, show all measured values."""

import ast
import functools
import typing
from typing import Any

import drawing
import peakline
import pytest
from conftest import (
    REFERENCES,
    ROOT,
    TWO_GPUS,
    by_key,
    document_of,
    figure_of,
    loaded,
    pictures_of,
    reference,
)
from peakline.pictures import declared

document = functools.cache(document_of)


def drawn(path, device):
    return {picture.key: picture for picture in pictures_of(path, device)}


def declarations():
    """Every picture of both references: path, curve and name."""
    return [
        pytest.param(path, curve, id=f"{path.stem}-{curve['device'][:6]}-{curve['picture']['key']}")
        for path in REFERENCES
        for curve in document(path)["curves"]
        if "picture" in curve
    ]


def numbers(path, device, wanted):
    """The values of one series in the file, each with its parameters."""
    where = wanted.get("where", {}).items()
    if "figure" in wanted:
        rows = [
            (f.get("by", {}), f["value"])
            for curve in document(path)["curves"]
            if curve["device"] == device
            for f in curve.get("figures", ())
            if (f["id"], f["name"]) == (wanted["id"], wanted["figure"])
        ]
    else:
        rows = [
            (m.get("params", {}), m["value"])
            for m in document(path)["measurements"]
            if (m["device"], m["id"], m["status"]) == (device, wanted["id"], "ok")
        ]
    return [(by, value) for by, value in rows if where <= by.items()]


@pytest.mark.parametrize(("path", "curve"), declarations())
def test_picture_shows_every_measurement(path, curve):
    device, picture = curve["device"], curve["picture"]
    if picture["key"] not in drawn(path, device):
        # What the host decides has one value on GPUs that share a NUMA node with another.
        every = [series["numbers"] for panel in picture["panels"] for series in panel["series"]]
        assert all(len(numbers(path, device, wanted)) <= 1 for wanted in every)
        return
    figure = figure_of(drawn(path, device)[picture["key"]])
    places = {
        round(float(place), 9)
        for axes in figure.axes
        for line in axes.get_lines()
        for values in line.get_data()
        for place in typing.cast(Any, values)
    } | {round(bar.get_width(), 9) for axes in figure.axes for bar in axes.patches}
    for panel in picture["panels"]:
        axis = panel["y"] if panel["kind"] == "lines" else panel["x"]
        for series in panel["series"]:
            for by, value in numbers(path, device, series["numbers"]):
                if panel["kind"] == "lines" and panel["over"] not in by:
                    continue
                assert round(value / axis.get("per", 1), 9) in places, (series, by)


def changed(key, change):
    """The GPU's pictures after a change of one declared picture and the profile's rows."""
    made = document_of(TWO_GPUS)
    curve = next(c for c in made["curves"] if c.get("picture", {}).get("key") == key)
    change(made, curve)
    return by_key(loaded(made), curve["device"])


def test_unnamed_value_is_its_own_name():
    def new_way(made, curve):
        for m in made["measurements"]:
            if m["id"].startswith("copy.") and m["params"]["way"] == "bulk":
                m["params"]["way"] = "some_$new$_way"

    lines = drawing.lines(changed("copies", new_way)["copies"])
    assert "some $new$ way" in lines
    assert "plain loads" in lines


def test_unknown_picture_stands_at_its_topic():
    def rename(made, curve):
        curve["picture"]["key"] = "unheard-of"

    known = list(changed("divergence", lambda *_: None))
    assert list(changed("divergence", rename)).index("unheard-of") == known.index("divergence")


def test_too_many_lines_and_rows_are_cut():
    def many(made, curve):
        for panel in curve["picture"]["panels"]:
            panel["series"] *= 50

    for key in ("divergence", "synchronization"):
        for axes in figure_of(changed(key, many)[key]).axes:
            assert len(axes.get_lines()) <= declared.MOST_LINES + 1
            assert len(axes.get_yticks()) <= declared.MOST_ROWS


def test_without_its_numbers_there_is_no_picture():
    def forget(made, curve):
        curve["figures"] = []

    assert "divergence" not in changed("divergence", forget)


def test_marks_are_ceilings_figures_or_numbers():
    gpu = reference(TWO_GPUS).devices[0].uuid
    profile, pictures = reference(TWO_GPUS), drawn(TWO_GPUS, gpu)
    ceiling = profile.ceiling(gpu, "l1.read", "theoretical")
    (held,) = profile.figures(gpu, id="cache.sweep", name="held", level="l2")
    lines = drawing.lines(pictures["cache"])
    assert {y for _, y in lines["L1, theoretical"]} == {ceiling.value / 1e9}
    assert {x for x, _ in lines[f"L2 {peakline.units.size(held.value)}"]} == {held.value}
    assert {x for x, _ in drawing.lines(pictures["data"])["normal data"]} == {100}


def selections():
    """Every literal selection of figures in the package."""
    found = []
    for source in sorted((ROOT / "reports/peakline").rglob("*.py")):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "figures":
                said = {
                    k.arg: k.value.value
                    for k in node.keywords
                    if k.arg and isinstance(k.value, ast.Constant)
                }
                if said:
                    found.append(pytest.param(said, id=f"{source.stem}:{node.lineno}"))
    return found


@pytest.mark.parametrize("selection", selections())
def test_references_have_every_figure_used(selection):
    assert any(
        reference(path).figures(device, **selection)
        for path in REFERENCES
        for device in reference(path).measured_devices()
    )


def test_two_points_are_marks_without_a_line():
    (gpu,) = (d["uuid"] for d in document(REFERENCES[1])["devices"])
    (first, *_) = figure_of(drawn(REFERENCES[1], gpu)["model"]).axes
    styles = {line.get_label(): line.get_linestyle() for line in first.get_lines()}
    assert styles["BF16 layer"] == "-" and styles["BF16 QKV"] == "None"
