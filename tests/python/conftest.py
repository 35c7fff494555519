"""Fixtures for the Python tests: the profiles of reports/reference, and variants of them.

Slow results are cached for all tests: loaded references, drawn pictures, built pages.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import gzip
import io
import json
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

# Other work on the machine makes single examples slow.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# Background processes inherit an ignored SIGINT; the programs under test must see Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).parent / "data"
CONFIGS, RECORDED, CAUSES = (DATA / name for name in ("configs", "recorded", "causes"))
# A quick profile of one H200.
QUICK = ROOT / "reports/reference/cards/nvidia-h200/localhost-20261124T163619Z.json.gz"
sys.path[:0] = [str(ROOT / "reports"), str(ROOT / "tests/corpus")]

import peakline  # noqa: E402
import peakline.commands.llm  # noqa: E402
import peakline.commands.mfu  # noqa: E402
import peakline.commands.report  # noqa: E402
from hostile import in_texts  # noqa: E402
from made_traces import Made, export  # noqa: E402
from peakline import commands, pictures  # noqa: E402
from peakline.page.screen import Screen, read_screen  # noqa: E402
from peakline.pictures.canvas import Figure  # noqa: E402
from peakline.report import build  # noqa: E402
from peakline.workload.analysis import Analysis, analyze  # noqa: E402
from peakline.workload.part import Part  # noqa: E402
from schemas import checked  # noqa: E402

if not Path(peakline.__file__).is_relative_to(ROOT):
    installed = f"{peakline.__file__} is another tree's"
    pytest.exit(f"{installed}; scripts/setup test makes a .venv for this one", 2)
# Reason for skipping tests of exports to other tools.
NO_TOOLS = "PyTorch and such tools are not installed (scripts/test --tools)"
REFERENCES = sorted((ROOT / "reports/reference").glob("*.json"))
# As the references were once, since tests know their figures.
ONE_GPU = ROOT / "tests/golden/nvidia-h200.json"
TWO_GPUS = ROOT / "reports/reference/nvidia-h200-x2.json"
# Written by the C++ tests: small, with every field.
GOLDEN = ROOT / "tests/golden/profile.json"


# Output of `peakline show --json` for the profile of one GPU.
SHOWN = DATA / "show_h200.json.gz"


def shown_screen() -> dict[str, Any]:
    """The first screen of the profile of one GPU; the caller may change it."""
    screen: dict[str, Any] = json.loads(gzip.decompress(SHOWN.read_bytes()))["screen"]
    return screen


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def document_of(path: Path = ONE_GPU) -> dict[str, Any]:
    """A profile's JSON document; the caller may change it."""
    found: dict[str, Any] = json.loads(text_of(path))
    return found


def config_of(name: str) -> dict[str, Any]:
    """The published config of a model; the caller may change it."""
    return document_of(CONFIGS / f"{name}.json")


GPU: str = document_of()["devices"][0]["uuid"]


@functools.cache
def ceiling(resource: str, basis: str, device: str = GPU) -> float:
    """A ceiling of a reference profile, read from the file."""
    (value,) = (
        row["value"]
        for row in document_of()["ceilings"]
        if (row["device"], row["resource"], row["basis"]) == (device, resource, basis)
    )
    return float(value)


def loaded(document: dict[str, Any], name: str = "changed.json") -> peakline.Profile:
    return peakline.loads(json.dumps(document), name)


def only(document: dict[str, Any], *prefixes: str) -> dict[str, Any]:
    """Keeps all ceilings, but only measurements with these prefixes: quick to load and draw."""
    return {
        **document,
        "measurements": [m for m in document["measurements"] if m["id"].startswith(prefixes)],
        "curves": [
            c
            for c in document["curves"]
            if any(f["id"].startswith(prefixes) for f in c.get("figures", ()))
        ],
        "memory_map": [],
    }


def scaled(document: dict[str, Any], factor: float, *prefixes: str) -> dict[str, Any]:
    """Multiplies the measured ceilings of resources with these prefixes."""
    for row in document["ceilings"]:
        published = row["basis"] in ("theoretical", "datasheet")
        if row["resource"].startswith(prefixes) and not published:
            row |= {key: row[key] * factor for key in ("value", "ci_low", "ci_high") if key in row}
    return document


@functools.cache
def reference(path: Path = ONE_GPU) -> peakline.Profile:
    return peakline.load(path)


@functools.cache
def pictures_of(path: Path, device: str) -> tuple[pictures.Picture, ...]:
    """The pictures of a reference; the same objects for all tests, so that each is drawn once."""
    return tuple(pictures.pictures(reference(path), device))


def by_key(profile: peakline.Profile, device: str = GPU) -> dict[str, pictures.Picture]:
    return {p.key: p for p in pictures.pictures(profile, device)}


def figure_of(picture: pictures.Picture, canvas: pictures.Canvas | None = None) -> Figure:
    return _figure_of(picture, canvas or pictures.Canvas())


@functools.cache
def _figure_of(picture: pictures.Picture, canvas: pictures.Canvas) -> Figure:
    return pictures.draw(picture, canvas)


Drawn = tuple[pictures.Picture, pictures.Canvas, Figure]


class Built(NamedTuple):
    """A page, its drawn pictures, and its CPU time in units of `plain_figures`."""

    page: str
    drawn: list[Drawn]
    work: float


def plain_figures() -> float:
    """CPU seconds of twenty plain figures, a yardstick for machines that differ by 3 x."""
    from matplotlib.figure import Figure

    start = time.process_time()
    for _ in range(20):
        figure = Figure()
        axes = figure.add_subplot()
        axes.plot(range(100), label="a")
        axes.legend()
        figure.savefig(io.BytesIO(), format="svg")
    return time.process_time() - start


@functools.cache
def reference_page(path: Path) -> Built:
    """The page of a reference; that of one GPU has the program's first screen."""
    screen = read_screen(shown_screen()) if path == ONE_GPU else "no program was asked"
    figures: list[Drawn] = []
    start = time.process_time()

    def recorded(picture: pictures.Picture, canvas: pictures.Canvas, prefix: str) -> str:
        def draw(canvas: pictures.Canvas) -> Figure:
            figure = picture.draw(canvas)
            figures.append((picture, canvas, figure))
            return figure

        return pictures.inline_svg(dataclasses.replace(picture, draw=draw), canvas, prefix)

    with mock.patch("peakline.page.sections.inline_svg", recorded):
        page = build([reference(path)], screens=[screen])["report.html"].decode("utf-8")
    seconds = time.process_time() - start
    return Built(page, figures, seconds / plain_figures())


class Command:
    """A command of the package, run in this process."""

    def __init__(self, main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]):
        self._main, self._capsys = main, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        try:
            code = self._main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *self._capsys.readouterr()

    def stdout(self, *arguments: object) -> str:
        code, out, err = self(*arguments)
        assert code == 0, err
        return out

    def document(self, *arguments: object) -> Any:
        """The JSON that the command prints, checked against its schema."""
        return checked(json.loads(self.stdout(*arguments, "--json")))

    def refused(self, *arguments: object) -> str:
        """The error of unusable input: one line, without output."""
        code, out, err = self(*arguments)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        return err


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(commands.report.main, capsys)


@pytest.fixture
def mfu(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(commands.mfu.main, capsys)


@pytest.fixture
def llm(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(commands.llm.main, capsys)


def unfolded(page: str) -> str:
    """A page with its packed content unpacked, as by page.js."""

    def unpacked(match: re.Match[str]) -> str:
        content = gzip.decompress(base64.b64decode(match[1])).decode("utf-8")
        return f"<details>{match[2]}{content}</details>"

    pattern = r'<details data-packed="([^"]*)">(<summary>[^<]*</summary>)<p>[^<]*</p></details>'
    return re.sub(pattern, unpacked, page)


@pytest.fixture
def document() -> dict[str, Any]:
    return document_of()


@pytest.fixture(scope="session")
def profile() -> peakline.Profile:
    return reference(ONE_GPU)


@pytest.fixture(scope="session")
def drawn() -> dict[str, pictures.Picture]:
    return {p.key: p for p in pictures_of(ONE_GPU, GPU)}


@pytest.fixture(scope="session")
def page() -> str:
    return reference_page(ONE_GPU).page


@pytest.fixture(scope="session")
def ceilings_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A profile with only ceilings, which commands load quickly."""
    path = tmp_path_factory.mktemp("ceilings") / "ceilings.json"
    path.write_text(json.dumps(only(document_of())), encoding="utf-8")
    return str(path)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_profile(content: dict[str, Any], name: str = "changed.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write_profile


def idle(analysis: Analysis) -> dict[Part, int]:
    """The parts of a step in which nothing runs on the device, in ns."""
    return {part: time for part, time in analysis.parts.items() if part.is_idle}


@pytest.fixture
def analyzed(tmp_path: Path) -> Callable[..., Analysis]:
    """Analyzes a made-up trace, or the export of Nsight Systems of these tables."""

    def analysis(
        made: Made | dict[str, list[tuple[Any, ...]]], wanted: str = "", **beside: Any
    ) -> Analysis:
        if isinstance(made, dict):
            (tmp_path / "made.sqlite").unlink(missing_ok=True)
            path = export(tmp_path / "made.sqlite", made)
        else:
            path = made.write(tmp_path / "made.json", **beside)
        found = analyze(reference(), [path], None, wanted)
        assert sum(found.parts.values()) == found.nanoseconds
        return found

    return analysis


def page_of(document: dict[str, Any], screen: Screen | str = "none was asked for") -> str:
    profile = peakline.loads(json.dumps(document), "node.json")
    return build([profile], screens=[screen])["report.html"].decode("utf-8")


@pytest.fixture(scope="session")
def hostile_page() -> str:
    """A page whose every free text is hostile."""
    document = only(document_of(), "hbm.", "instruction.", "synchronization.")
    whole = hostile({**document, "memory_map": document_of()["memory_map"]})
    return page_of(whole, read_screen(hostile(shown_screen())))


def hostile(value: Any) -> Any:
    """Plants HOSTILE in the free texts of a profile or a screen."""
    fixed = (
        *("schema", "created", "kind", "reference_basis", "mode", "device", "uuid", "id"),
        *("status", "unit", "basis", "resource", "severity", "flags", "memory", "compute"),
        *("compute_basis", "memory_basis", "sm_clock_source", "measurement", "estimate"),
        # Declarations of pictures.
        *("varies_with", "key", "over", "by", "naming", "written", "scale", "role", "number"),
        *("format", "mark"),
    )
    return in_texts(value, fixed)
