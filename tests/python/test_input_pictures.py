"""The links from storage to a GPU: picture, text and errors."""

import json

import peakline
import pytest
from conftest import GPU, ONE_GPU, TWO_GPUS, document_of, figure_of, loaded, only
from drawing import crossed, cut, lines, overlapping, texts
from peakline.peaks.storage import InputNeed
from peakline.pictures import Canvas, pictures
from test_input_bound import PIPELINE, STORAGE, with_storage

SLOW = {"storage.read": STORAGE, "input.pipeline": PIPELINE}
FAST = {"storage.read": 26e9, "input.pipeline": 24e9}
NEED = ["--bytes-per-sample", "600kB", "--samples-per-s", "9000"]


def picture_of(rates, need=None, device=GPU):
    found = pictures(loaded(with_storage(**rates)), device, need=need)
    return next((picture for picture in found if picture.key == "input"), None)


def drawn(rates, need=None):
    return picture_of(rates, need)


def drawn_with_need():
    """Rates far apart, on a log axis."""
    return drawn(SLOW, InputNeed(600e3, 9000))


def test_unmeasured_links_are_no_shortage():
    profile = loaded(document_of(TWO_GPUS))
    found = pictures(profile, profile.devices[0].uuid, need=InputNeed(600e3, 3000))
    picture = next(picture for picture in found if picture.key == "input")
    assert "samples/s" not in picture.headline
    assert picture.headline.endswith("; not measured: storage, storage to GPU")


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("rates", [SLOW, FAST])
@pytest.mark.parametrize("samples_per_s", [0, 1, 9000, 50e3, 1e9])
def test_texts_keep_clear(rates, samples_per_s, narrow):
    need = InputNeed(600e3, samples_per_s) if samples_per_s else None
    figure = figure_of(drawn(rates, need), Canvas(narrow))
    assert (cut(figure), overlapping(figure), crossed(figure)) == ([], [], [])


def test_picture_needs_a_measured_link():
    profile = peakline.load(ONE_GPU)
    for need, there in ((None, False), (InputNeed(1e5, 1e3), True)):
        keys = {picture.key for picture in pictures(profile, GPU, need=need)}
        assert ("input" in keys) == there
    assert picture_of(FAST, device="host") is None  # only GPUs have this picture


def test_a_host_alone_has_its_links():
    document = with_storage(**FAST)
    for key, rows in document.items():
        if isinstance(rows, list):
            document[key] = [row for row in rows if GPU not in json.dumps(row)]
    (picture,) = (p for p in pictures(loaded(document), "host") if p.key == "input")
    assert list(lines(picture)) == []
    assert {"storage,\nsequential", "host memory,\nhalf of its copies"} < set(texts(picture))
    assert picture.headline.startswith("Storage is the slowest link")


def test_the_report_says_and_shows_it(report, write, tmp_path):
    path, out = write(with_storage()), tmp_path / "out"
    said = " ".join(report.stdout(path, "-o", out, "--format", "svg", *NEED).split())
    assert (
        "Input does not keep up: 5.40 GB/s needed; the slowest link measured, "
        "storage to GPU, carries 2.10 GB/s" in said
    )
    assert "needed: 5.40 GB/s" in (out / "input.svg").read_text()
    found = report.document(path, *NEED)
    assert (found["schema"], found["enough"]) == ("peakline-input", False)
    assert found["bytes_per_s"] == pytest.approx(5.4e9)
    assert found["links"][0]["label"] == "storage to GPU"


def test_the_page_has_its_part(report, write, tmp_path):
    path = write(only(with_storage(), "host.storage", "input."))
    report.stdout(path, "-o", tmp_path / "out", *NEED)
    page = (tmp_path / "out/report.html").read_text()
    assert 'id="at-input"' in page
    assert "Varied within the run" not in page
    assert "3500 of 9000" in page.replace("\N{NO-BREAK SPACE}", " ")


def test_a_profile_without_any_link(report, write):
    path = write({**with_storage(), "ceilings": []})
    err = report.refused(path, *NEED)
    assert "`peakline run --storage DIR` measures all of them" in err


@pytest.mark.parametrize(
    ("text", "value"), [("600000", 6e5), ("150kB", 15e4), ("1.5 MiB", 1.5 * 2**20), ("6e5B", 6e5)]
)
def test_sizes(text, value):
    from peakline.commands.arguments import size

    assert size(text) == value
