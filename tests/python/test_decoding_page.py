"""The page's part on a language model, and the option that asks for it."""

import html
import re

from conftest import CONFIGS, ONE_GPU
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
