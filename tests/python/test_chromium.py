"""The page of a report in Chromium: layout, themes, tables, printing, nothing from elsewhere."""

import base64
import hashlib
import html.parser
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import GPU, ONE_GPU, REFERENCES, document_of, pictures_of, reference_page

PUBLISHED = REFERENCES[1]  # of one GPU

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed (scripts/test --browser)"
)


# Runs in the page and writes the layout as JSON into the title, which --dump-dom shows.
PROBE = """
const shown = (e) => { const b = e.getBoundingClientRect(); return b.width > 50 && b.height > 50; };
const probe = () => JSON.stringify({
  width: innerWidth,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  pictures: Array.from(document.querySelectorAll("section[data-picture]"), (section) => ({
    key: section.dataset.picture,
    figures: section.querySelectorAll("figure").length,
    shown: Array.from(section.querySelectorAll("figure svg")).filter(shown).length,
    smallest: Math.min(...Array.from(section.querySelectorAll("figure svg"))
      .filter(shown)
      .flatMap((svg) => Array.from(svg.querySelectorAll("text"), (text) =>
        parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width
          / svg.viewBox.baseVal.width))),
  })),
  fold,
  said: Math.max(...Array.from(document.querySelectorAll(".said"), (said) =>
    said.getBoundingClientRect().height / parseFloat(getComputedStyle(said).lineHeight))),
  cut: Math.max(0, ...Array.from(document.querySelectorAll(".answers .scroll"),
    (answer) => answer.scrollWidth - answer.clientWidth)),
  heads: Array.from(document.querySelectorAll("th"),
    (head) => [head.textContent, head.getBoundingClientRect().right]),
  linked: Array.from(document.querySelectorAll("nav a"), (link) =>
    document.querySelector(`[id="${link.hash.slice(1)}"]`) !== null),
  sorted: [1, 2].map(() => {
    const table = document.querySelector("[id='ceilings-0']");
    const head = table?.querySelector("th.n");
    head?.click();
    return [head?.ariaSort, ...Array.from(table?.tBodies[0].rows ?? [],
      (row) => row.cells[head.cellIndex].dataset.raw)];
  }),
  folded: document.querySelectorAll("details[data-packed]").length,
  raw: document.querySelectorAll("#raw tbody tr").length,
  background: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  requests: performance.getEntriesByType("resource").map((entry) => entry.name),
});
const fold = document.querySelector("#answers")?.getBoundingClientRect().bottom;
const packed = Array.from(document.querySelectorAll("details[data-packed]"));
for (const details of document.querySelectorAll("details")) details.open = true;
const ready = () => {
  if (packed.every((details) => details.querySelector("table"))) document.title = probe();
  else setTimeout(ready, 50);
};
onload = () => setTimeout(ready, 100);
"""


def chromium(path, *options):
    """Runs Chromium on a file, with all host names unresolvable."""
    fixed = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *(f"--user-data-dir={path.parent / 'browser'}", "--host-resolver-rules=MAP * ~NOTFOUND"),
    ]
    return subprocess.run(
        [CHROMIUM, *fixed, *options, f"file://{path}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


# --dump-dom waits for the load event, which waits for the open frame.
FRAMES = """<!doctype html>{}<iframe id="held"></iframe><script>
const held = document.getElementById("held").contentDocument;
held.open();
const wait = () => {{
  const seen = Array.from(document.querySelectorAll("iframe:not(#held)"),
    (frame) => frame.contentDocument.title);
  if (!seen.every((title) => title.startsWith("{{"))) return void setTimeout(wait, 50);
  document.title = JSON.stringify(seen);
  held.close();
}};
wait();
</script>"""


def probed(pages, directory, *options):
    """PROBE's results and the console log of each page. pages: HTML and viewport width, by name."""
    # Headless windows are at least 500 px wide, frames are not. The page's policy additionally
    # allows the probe's hash.
    digest = base64.b64encode(hashlib.sha256(PROBE.encode()).digest()).decode()
    frames = ""
    for name, (page, width) in pages.items():
        assert page.count("script-src '") == 1
        page = page.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)
        page = page.replace("</body>", f"<script>{PROBE}</script></body>", 1)
        (directory / f"{name}.html").write_text(page, encoding="utf-8")
        style = f"width:{width}px;height:900px;border:0"
        frames += f'<iframe src="{name}.html" style="{style}"></iframe>'
    frame = directory / "frame.html"
    frame.write_text(FRAMES.format(frames), encoding="utf-8")
    done = chromium(frame, "--allow-file-access-from-files", "--dump-dom", *options)
    (title,) = re.findall(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    # Lines without a page's name count for all pages.
    anonymous = [line for line in console if not any(f"{name}.html" in line for name in pages)]
    return {
        name: (json.loads(seen), anonymous + [line for line in console if f"{name}.html" in line])
        for name, seen in zip(pages, json.loads(html.unescape(title)), strict=True)
    }


@pytest.fixture(scope="session")
def light(page, hostile_page, tmp_path_factory):
    """PROBE's results of all pages in the light theme."""
    broken = page.replace("</main>", '<img src="http://example.invalid/x.png"></main>', 1)
    pages = {"hostile": (hostile_page, 390), "broken": (broken, 800)}
    for path in REFERENCES:
        pages[path.stem] = (reference_page(path).page, 390)
        pages[f"{path.stem}-wide"] = (reference_page(path).page, 1440)
    folder = tmp_path_factory.mktemp("light")
    return probed(pages, folder, "--blink-settings=preferredColorScheme=1")


# Names of the references' pages on a phone and a laptop.
NARROW, WIDE = ([path.stem + end for path in REFERENCES] for end in ("", "-wide"))


@needs_chromium
@pytest.mark.parametrize("name", NARROW + WIDE)
def test_page_in_chromium(light, name):
    seen, log = light[name]
    assert log == []
    assert seen["width"] == (390 if name in NARROW else 1440)
    assert seen["requests"] == []
    assert seen["overflow"] <= 0, "the page is wider than its window"
    pictures = [p for p in seen["pictures"] if p["figures"]]
    assert len(pictures) >= len(pictures_of(ONE_GPU, GPU)) + len(pictures_of(ONE_GPU, "host"))
    for picture in pictures:
        # Either the wide or the narrow drawing is shown, with legible letters.
        assert picture["shown"] == 1, picture
        assert picture["smallest"] >= 11, picture
    if name in WIDE:
        assert round(seen["said"]) <= 2, "a sentence of figures has more than two lines"


@needs_chromium
def test_answers_fit_phone_and_laptop_screens(light):
    assert [light[name][0]["cut"] for name in NARROW] == [0, 0]
    assert max(light[name][0]["fold"] for name in WIDE) <= 900


@pytest.fixture
def page_path(page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    return path


@needs_chromium
def test_one_gpu_prints_on_few_pages(page_path, tmp_path):
    chromium(page_path, f"--print-to-pdf={tmp_path}/page.pdf", "--no-pdf-header-footer")
    pages = re.findall(rb"/Type */Page\b", (tmp_path / "page.pdf").read_bytes())
    # Folded groups would give three.
    assert 10 <= len(pages) <= 16


@needs_chromium
@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="pdftoppm is not installed")
def test_printed_pages_are_half_full(page_path, tmp_path):
    pdf, images = tmp_path / "page.pdf", tmp_path / "image"
    chromium(page_path, f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
    subprocess.run(["pdftoppm", "-gray", "-r", "20", pdf, images], check=True)
    *pages, _ = sorted(tmp_path.glob("image-*.pgm"))
    for page in pages:
        _, size, _, pixels = page.read_bytes().split(b"\n", 3)
        width, height = map(int, size.split())
        inked = max(place for place, pixel in enumerate(pixels) if pixel < 250) // width
        assert inked > height / 2, page.name


@needs_chromium
def test_link_opens_its_folded_group(page_path):
    done = chromium(Path(f"{page_path}#at-host-memory-0"), "--dump-dom")
    opened = re.findall('<details class="group" id="([^"]*)" open="">', done.stdout)
    assert opened == ["group-0-0", "group-0-4"]


@needs_chromium
def test_contents_and_sorted_tables(light):
    seen, _ = light[f"{PUBLISHED.stem}-wide"]
    # Answers, what matters, pictures in seven groups, the host, and provenance.
    assert len(seen["linked"]) == 13
    assert all(seen["linked"])
    for order, (shown, *raw) in zip(("descending", "ascending"), seen["sorted"], strict=True):
        assert shown == order
        values = [float(value) for value in raw if value]
        assert len(values) > 10
        assert values == sorted(values, reverse=order == "descending")
        # Missing values are last in both orders.
        assert "" not in raw[: len(values)]


@needs_chromium
def test_lines_that_open_show_their_tables(light):
    seen, log = light[f"{PUBLISHED.stem}-wide"]
    assert log == []
    assert seen["folded"] >= 3
    assert seen["raw"] == len(document_of(PUBLISHED)["measurements"])


@needs_chromium
def test_dark_and_light(light, page, tmp_path):
    dark = probed({"dark": (page, 800)}, tmp_path, "--blink-settings=preferredColorScheme=0")
    dark_page, light_page = dark["dark"][0], light[f"{PUBLISHED.stem}-wide"][0]
    assert light_page["background"] == "rgb(244, 246, 248)"
    assert dark_page["background"] == "rgb(18, 22, 27)"
    assert light_page["ink"] != dark_page["ink"]


@needs_chromium
def test_hostile_profile_in_chromium(light):
    seen, log = light["hostile"]
    assert log == []
    assert seen["requests"] == []
    assert seen["overflow"] <= 0


@needs_chromium
def test_probe_sees_console_errors_and_requests(light):
    # Proves that the other tests would notice.
    _, log = light["broken"]
    assert any("Content Security Policy" in line for line in log)
