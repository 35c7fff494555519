"""The documents: they lead where they say, and say what the program says."""

import json
import re
import subprocess

import peakline
import pytest
from conftest import CONFIGS, ROOT, text_of
from schemas import FILES

REPORTS_README = ROOT / "reports/README.md"
README_WORDS = 1300  # five minutes


def documents():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    return [ROOT / name for name in listed] or sorted(ROOT.glob("*.md"))


def prose(document):
    """The text without its code blocks."""
    return re.sub(r"(?ms)^```.*?^```$", "", document.read_text())


def anchors(document):
    """What GitHub makes of the headings."""
    headings = re.findall(r"(?m)^#+ (.*)$", prose(document))
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in words}


def broken_links(document):
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    assert broken_links(document) == []


def test_a_broken_link_is_found(tmp_path):
    document = tmp_path / "a.md"
    document.write_text("# One & two\n[a](b.md) [b](#one--two) [c](#three) [d](a.md#one)\n")
    assert broken_links(document) == ["b.md", "#three", "a.md#one"]


def test_gallery_shows_every_picture_drawn():
    drawn = {path.name: path for path in (ROOT / "reports/gallery").iterdir()}
    shown = re.findall(r"\(gallery/(\S+)\)", text_of(REPORTS_README))
    assert sorted(shown) == sorted(drawn)
    assert all(path.stat().st_size <= 150_000 for path in drawn.values())
    assert 1 < len(drawn) <= 10


def test_readme_is_read_in_five_minutes():
    assert len((ROOT / "README.md").read_text().split()) <= README_WORDS


# Inputs of the examples in reports/README.md, and the share that they come to.
_SHARE, _DEVICES = 0.413, 8


def test_figures_of_python_examples_come_out():
    block = re.search(r"(?ms)^```python\n(import peakline\n.*?)^```$", text_of(REPORTS_README))[1]
    reference, config = peakline.reference("h200"), CONFIGS / "llama-3-8b.json"
    told = block.replace('"node7.json"', "PROFILE").replace('"Llama-3.1-8B/"', "CONFIG")
    flops = peakline.transformer_flops(7e9, 32, 32, 128, 4096)
    published = reference.peak("bf16", basis="published")
    tokens = _SHARE * _DEVICES * published / flops
    names = {"tokens": tokens, "seconds": 1.0, "CONFIG": config, "print": str}
    names["PROFILE"] = REPORTS_README.parent / "reference/nvidia-h200.json"
    checked = 0
    for line in told.splitlines():
        code, _, comment = line.partition("  #")
        try:
            value = eval(code, names)
        except SyntaxError:
            exec(code, names)
            continue
        said = comment.strip()
        if isinstance(value, str):
            assert value == said
        else:
            assert f"{value:.3g}" == said.split()[0]
            more = re.search(r'; (basis="\w+"): (\d+)', said)
            again = more and eval(code.rstrip().replace(")", f", {more[1]})"), names)
            assert not more or f"{again:.3g}" == more[2]
        checked += 1
    assert checked == 7


def stated_versions():
    """The versions of all documents, as the code that prints them and their schemas state them."""
    paths = [*(ROOT / "harness").rglob("*.cpp"), *(ROOT / "reports/peakline").rglob("*.py")]
    text = "\n".join(path.read_text() for path in paths)
    keys = r'"schema"[,:] "(peakline-\w+)"\}?,\s*\{?"schema_version"[,:] (\d+)'
    found = re.findall(keys, text) + re.findall(r'rows_document\("(peakline-\w+)", (\d+)', text)
    for kind, file in FILES.items():
        schema = json.loads(file.read_text())
        for form in schema.get("oneOf", [schema]):
            version = form["properties"]["schema_version"]["const"]
            found.append((f"peakline-{kind}", str(version)))
    return found


def test_versions_of_documents_are_the_codes():
    listed = re.findall(r"(?m)^\| (peakline-\w+) \| (\d+) \|", text_of(ROOT / "COMPATIBILITY.md"))
    assert len(listed) == 16
    assert sorted(listed) == sorted(set(stated_versions()))


def sources():
    """What prints messages, string literals that go over several lines in one piece."""
    files = [*(ROOT / "scripts").iterdir(), *(ROOT / "cmake").iterdir()]
    for folder, pattern in (("harness", "*.[ch]pp"), ("bench", "*.[ch]pp")):
        files += (ROOT / folder).rglob(pattern)
    text = "\n".join(path.read_text() for path in files if path.is_file() and path.suffix != ".md")
    return re.sub(r'"\s*\n\s*"', "", text)


def quoted(row):
    return re.findall(r"`([^`]+)`", row)


def test_troubleshooting_quotes_real_messages():
    rows = re.findall(r"(?m)^\| (.*?) \| ", (ROOT / "scripts/troubleshooting.md").read_text())
    of_others = {"peakline: command not found", "version 'GLIBC_…' not found", "ERR_NVGPUCTRPERM"}
    messages = {message for row in rows for message in quoted(row)} - of_others
    assert len(messages) > 15
    printed = sources()
    assert [message for message in messages if message not in printed] == []


# What an operator types, or a GPU's name.
COMMANDS = re.compile(r"(nvidia-smi|lspci|peakline) |--|gpu3$")
RUNBOOK = ROOT / "scripts/runbook.md"


def test_runbook_quotes_what_is_printed():
    rows = re.findall(r"(?m)^\|.*", prose(RUNBOOK))
    words = {word.removeprefix("health/") for row in rows for word in quoted(row)}
    printed = sources()
    assert len(words) > 80
    assert [word for word in words if not COMMANDS.match(word) and word not in printed] == []


def codes_of_health():
    """What follows health/ in names of rules that do not pass."""
    folder = ROOT / "harness/conclude"
    text = "".join(
        path.read_text() for path in [*folder.glob("*.[ch]pp"), *folder.rglob("findings/*.cpp")]
    )
    # A finding whose severity is, or may be, an error.
    severe = r"(?:Severity::kError|severity|gpu\.unusable)"
    added = rf"(?:add|report)\(\s*(?:\"(\w+)\"|std::string\((k\w+)\)),\s*{severe}"
    judged = (ROOT / "harness/judge/health.cpp").read_text()
    constants = dict(re.findall(r"(k\w+) = \"(\w+)\"", text))
    found = {code or constants[name] for code, name in re.findall(added, text)}
    found |= {
        constants[name] for name in re.findall(r"code == (k\w+)", judged) if name in constants
    }
    return found | set(re.findall(r"\"health/(\w+)\"", judged))


def test_runbook_has_every_health_rule():
    codes = codes_of_health() - {"broken_topic"}  # not judged
    assert {"xid", "ecc_errors", "row_remap", "failed", "thermal_limit", "pairs"} < codes
    named = {word for word in quoted(prose(RUNBOOK)) if word.startswith("health/")}
    assert named == {f"health/{code}" for code in codes}
