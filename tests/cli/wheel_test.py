"""The wheel with the program, $WHEEL or one made from the build tree $BUILD, installed in a clean
environment.

Under pytest, with scikit-build-core and what the report needs; nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 20e6
# libc's and the compiler's, which every Linux has.
EVERYWHERE = re.compile(r"(linux-vdso|ld-linux-.*|lib(c|m|gcc_s|stdc\+\+|dl|rt|pthread))\.so\.\d+$")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    if "WHEEL" in os.environ:
        return Path(shutil.copy(os.environ["WHEEL"], folder))
    # The tree keeps its objects and its tests: a build of the wheel's own would take minutes.
    options = [
        *("-q", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder),
        f"--config-settings=build-dir={os.environ['BUILD']}",
        "--config-settings=cmake.define.PEAKLINE_TESTS=ON",
    ]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, ROOT], check=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def environment(wheel: Path) -> Path:
    environment = wheel.parent / "environment"
    venv.create(environment)
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin/python"]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    return environment


def run(environment: Path, command: str, *arguments: str | Path, **variables: str) -> str:
    """Standard output of an installed command, as in a new shell."""
    return subprocess.run(
        [environment / "bin" / command, *arguments],
        env={"PATH": "/usr/bin:/bin", **variables},
        cwd=environment.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def test_it_is_small_and_for_this_kind_of_machine(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES
    assert re.search(rf"-py3-none-(many)?linux_[0-9_]*{platform.machine()}\.whl$", wheel.name)


def test_it_needs_no_newer_libc_than_its_tag(wheel: Path) -> None:
    tag = re.search(r"-manylinux_2_(\d+)_", wheel.name)
    if not tag:
        pytest.skip("only a release's wheel has a libc in its tag")
    with zipfile.ZipFile(wheel) as archive:
        needed = re.findall(rb"\0GLIBC_2\.(\d+)", b"".join(map(archive.read, archive.namelist())))
    assert max(map(int, needed)) <= int(tag[1])


def test_the_program_brings_its_libraries(environment: Path) -> None:
    program = environment / "bin/peakline"
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    brought = f" => {environment}/bin/../libexec/peakline/"
    for line in loaded.splitlines():
        assert brought in line or EVERYWHERE.search(line.split()[0]), line
    assert brought in loaded
    files = [file.read_bytes() for file in (environment / "libexec/peakline").iterdir()]
    assert len(files) == len(set(files))  # each by one of its names


def test_it_measures_and_draws(environment: Path) -> None:
    version = run(environment, "peakline", "--version").split()[1]
    assert version in next(environment.rglob("peakline-*.dist-info")).name
    profile = environment.parent / "host.json"
    options = ("-q", "--quick", "--device", "none", "--filter", "^host.fma.fp64", "-o", profile)
    run(environment, "peakline", "run", *options)
    assert json.loads(profile.read_text())["tool"] == f"peakline {version}"
    # fastjsonschema and matplotlib are those of this environment.
    packages = sysconfig.get_path("purelib")
    run(environment, "peakline-report", profile, PYTHONPATH=packages)
    assert f"peakline {version}" in (environment.parent / "host/report.html").read_text()


def test_it_brings_the_demo(environment: Path) -> None:
    folder = environment.parent / "try"
    assert "peakline check node7.json" in run(environment, "peakline", "demo", folder)
    assert run(environment, "peakline", "check", folder / "node7.json").startswith("PASS")


def test_its_manual_pages_and_license(environment: Path) -> None:
    pages = {page.name: page.read_text() for page in environment.glob("share/man/man1/*")}
    assert set(pages) == {f"peakline{command}.1" for command in ("", "-report", "-mfu", "-llm")}
    assert pages["peakline.1"].startswith(".TH PEAKLINE 1 ")
    (license_file,) = environment.rglob("peakline-*.dist-info/licenses/LICENSE")
    assert license_file.read_text() == (ROOT / "LICENSE").read_text()
