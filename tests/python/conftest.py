"""Fixtures for the Python tests: made-up profiles, and the package's own folder on the path.

What takes long is made once for all tests: the profile is loaded once, each of its pictures drawn
once, its page built once.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import gzip
import json
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import pytest

# Ctrl-C must reach what tests start, also where these run in the background and so ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports"))

import peakline  # noqa: E402
import synthetic  # noqa: E402
from peakline import pictures  # noqa: E402
from peakline.report import build  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GPU = synthetic.GPU.format(0)
# Why a test is skipped that hands something to another tool.
NO_TOOLS = "PyTorch and such tools are not installed (scripts/test --tools)"
REFERENCES = sorted((ROOT / "reports/reference").glob("*.json"))


@functools.cache
def synthetic_text(gpus: int = 1) -> str:
    """The JSON text of a made-up profile."""
    return json.dumps(synthetic.profile(gpus))


def loaded(document: dict[str, Any], name: str = "synthetic.json") -> peakline.Profile:
    """A profile from its document."""
    return peakline.loads(json.dumps(document), name)


def only(document: dict[str, Any], *prefixes: str) -> dict[str, Any]:
    """The document with the measurements alone whose id begins so: quick to draw."""
    kept = [m for m in document["measurements"] if m["id"].startswith(prefixes)]
    return {**document, "measurements": kept}


@functools.cache
def synthetic_profile() -> peakline.Profile:
    """The made-up profile with one GPU, loaded once."""
    return peakline.loads(synthetic_text(), "synthetic.json")


@functools.cache
def synthetic_pictures(device: str = GPU) -> tuple[pictures.Picture, ...]:
    """Its pictures, the same objects for every test, so that each is drawn once."""
    return tuple(pictures.pictures(synthetic_profile(), device))


def by_key(profile: peakline.Profile, device: str = GPU) -> dict[str, pictures.Picture]:
    """The pictures of a device by their keys."""
    return {p.key: p for p in pictures.pictures(profile, device)}


def figure_of(picture: pictures.Picture, canvas: pictures.Canvas | None = None) -> Figure:
    """The figure of a picture, drawn once."""
    return _figure_of(picture, canvas or pictures.Canvas())


@functools.cache
def _figure_of(picture: pictures.Picture, canvas: pictures.Canvas) -> Figure:
    return pictures.draw(picture, canvas)


@functools.cache
def reference(path: Path) -> peakline.Profile:
    """A reference profile, loaded once."""
    return peakline.load(path)


Drawn = tuple[pictures.Picture, pictures.Canvas, "Figure"]


class Built(NamedTuple):
    """A page, what was drawn for it, and the processor time that it took."""

    page: str
    drawn: list[Drawn]
    seconds: float


@functools.cache
def reference_page(path: Path) -> Built:
    """The page of a reference profile."""
    figures: list[Drawn] = []
    start = time.process_time()

    def recorded(picture: pictures.Picture, canvas: pictures.Canvas, prefix: str) -> str:
        def draw(canvas: pictures.Canvas) -> Figure:
            figure = picture.draw(canvas)
            figures.append((picture, canvas, figure))
            return figure

        return pictures.inline_svg(dataclasses.replace(picture, draw=draw), canvas, prefix)

    with mock.patch("peakline.page.sections.inline_svg", recorded):
        page = build([reference(path)])["report.html"].decode("utf-8")
    return Built(page, figures, time.process_time() - start)


def unfolded(page: str) -> str:
    """A page with what its lines hide unpacked, as page.js does when they are opened."""

    def unpacked(match: re.Match[str]) -> str:
        content = gzip.decompress(base64.b64decode(match[1])).decode("utf-8")
        return f"<details>{match[2]}{content}</details>"

    pattern = r'<details data-packed="([^"]*)">(<summary>[^<]*</summary>)<p>[^<]*</p></details>'
    return re.sub(pattern, unpacked, page)


@pytest.fixture
def document() -> dict[str, Any]:
    """The JSON document of a made-up profile with one GPU, to be changed."""
    return json.loads(synthetic_text())


@pytest.fixture(scope="session")
def profile() -> peakline.Profile:
    """The same, loaded."""
    return synthetic_profile()


@pytest.fixture(scope="session")
def drawn() -> dict[str, pictures.Picture]:
    """The pictures of its GPU by their keys."""
    return {p.key: p for p in synthetic_pictures()}


@pytest.fixture(scope="session")
def page() -> str:
    """The page of the made-up profile."""
    profile = peakline.loads(synthetic_text(), "node.json")
    return build([profile])["report.html"].decode("utf-8")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a document as a profile file."""

    def write_profile(content: dict[str, Any], name: str = "synthetic.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write_profile
