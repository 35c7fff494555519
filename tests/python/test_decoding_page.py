"""The page's part on a language model, and the option that asks for it."""

import dataclasses
import html
import re
from pathlib import Path

import pytest
from conftest import CONFIGS, ONE_GPU, reference
from drawing import lines, overlapping, texts
from peakline import decode_bound, from_hf_config
from peakline.pictures import Canvas, draw
from peakline.pictures.decode import decode_picture
from peakline.pictures.picture import unbroken

LLAMA = str(CONFIGS / "llama-3-8b.json")


def test_the_page_answers(report, llm, tmp_path):
    out = report.stdout(ONE_GPU, "--hf-config", LLAMA, "-o", tmp_path)
    printed = out.replace("\n", " ")
    document = llm.document("--profile", ONE_GPU, "--hf-config", LLAMA)
    page = (tmp_path / "report.html").read_text()
    assert "<h1>Decoding llama-3-8b on NVIDIA H200</h1>" in page
    assert '<a href="#decoding" class=part>Decoding llama-3-8b</a>' in page
    # A picture with the bound's headline, in both widths.
    answer = "llama-3-8b decodes at most 306 tokens/s at batch 1 on NVIDIA H200"
    assert f'<p class="own">{unbroken(answer)}</p>' in page
    section = re.search(r'<section class="card" data-picture="decoding-table">.*?</section>', page)
    text = html.unescape(section[0])
    answer = "llama-3-8b bf16, batch 1, context 1024: at most 306 tokens/s (HBM read), library"
    assert answer in printed
    # Every row of peakline-llm, to the last digit.
    rows = re.findall(r"<tr>(.*?)</tr>", section[0])[1:]
    found = [list(map(float, re.findall(r'data-raw="([^"]*)"', row))) for row in rows]
    keys = ("batch", "context", "tokens_per_s", "kernels_tokens_per_s")
    assert found == [
        [*(row[key] for key in keys), row["memory_bytes"] / 1e9, row["largest_batch"]]
        for row in document["decode"]
    ]
    assert [">no</td>" in row for row in rows] == [not row["fits"] for row in document["decode"]]
    for note in document["notes"]:
        assert note in text
    assert "First token, by the length of the prompt, no sooner than: " in text


def test_pictures_of_their_own(report, tmp_path, ceilings_path):
    report.stdout(ceilings_path, "--hf-config", LLAMA, "--format", "png", "-o", tmp_path)
    assert (tmp_path / "decode.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("memory", [1e9, 16.4e9, 16.8e9, 80e9, 1e13])
def test_curves_end_where_memory_does(memory):
    """A model that does not fit at all has whole curves, and one that always fits has no end."""
    profile = reference(ONE_GPU)
    gpus = tuple(dataclasses.replace(gpu, memory_bytes=memory) for gpu in profile.devices)
    profile = dataclasses.replace(profile, devices=gpus)
    model = from_hf_config(Path(LLAMA))
    most = decode_bound(profile, model).largest_batch
    picture = decode_picture(profile, model, "llama")
    assert picture.headline.endswith("does not fit in memory") == (most == 0)
    last = max(x for x, _ in lines(picture)["bound"])
    ends = [text for text in texts(picture) if text.startswith("memory ends")]
    if not most or most >= 1024:
        assert (last, ends) == (1024, [])
    else:
        assert most / 2 < last <= most and ends == [f"memory ends at batch {most}"]
    for canvas in (Canvas(), Canvas(narrow=True)):
        assert not overlapping(draw(picture, canvas))
