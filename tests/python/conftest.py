"""Fixtures for the Python tests: made-up profiles, and the package's own folder on the path."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports"))

import peakline  # noqa: E402
import synthetic  # noqa: E402


@pytest.fixture
def document() -> dict[str, Any]:
    """The JSON document of a made-up profile with one GPU."""
    return synthetic.profile(1)


@pytest.fixture
def profile(document: dict[str, Any]) -> peakline.Profile:
    """The same, loaded."""
    return peakline.loads(json.dumps(document), "synthetic.json")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a document as a profile file."""

    def write_profile(content: dict[str, Any], name: str = "synthetic.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write_profile
