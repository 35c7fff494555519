"""The package as pip builds it without the program: what the wheel has in it, and can do."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from pathlib import Path

import peakline
import pytest
import yaml
from conftest import ROOT
from peakline.profile import ProfileError


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The folder with the content of the wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["-q", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder]
    options.append("--config-settings=wheel.cmake=false")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def metadata(installed):
    (file,) = installed.glob("*.dist-info/METADATA")
    return Parser().parsestr(file.read_text())


def run(installed, *arguments):
    """Python with the wheel's content instead of this repository's, elsewhere."""
    folders = os.pathsep.join([str(installed), sysconfig.get_path("purelib")])
    environment = {**os.environ, "PYTHONPATH": folders}
    return subprocess.run(
        [sys.executable, "-S", *arguments],  # without the import hook of an editable installation
        cwd=installed.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_metadata(installed):
    found = metadata(installed)
    (licenses,) = installed.glob("*.dist-info/licenses")
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    files += (ROOT / "harness").rglob("CMakeLists.txt")
    cmake = "".join(file.read_text() for file in files)
    assert (found["Name"], found["Version"]) == ("peakline", peakline.__version__)
    assert found["Author"] == "peakline developers"
    assert found["License-Expression"] == "Apache-2.0"
    assert found["Requires-Python"] == ">=3.10"
    classifiers = found.get_all("Classifier")
    for minor in (10, 11, 12, 13):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers
    texts = found.get_all("License-File")
    assert "LICENSE" in texts
    assert all((licenses / text).is_file() for text in texts)
    # Each library that the build looks for has a text by its name, as has what is linked with it.
    linked = {name.lower() for name in re.findall(r"find_package\((\w+)", cmake)}
    linked |= {name.lower() for name in re.findall(r"IMPORTED_TARGET (\w+)", cmake)}
    linked |= {name.lower() for name in re.findall(r"find_path\((\w+)_INCLUDE_DIR", cmake)}
    linked -= {"nvml", "nvtx", "cublaslt"}  # declarations alone
    linked -= {"threads", "pkgconfig", "gtest", "python3"}
    assert {"fmt", "re2", "hwloc", "cudatoolkit"} < linked
    for name in linked:
        assert f"licenses/{name.replace('cudatoolkit', 'cudart')}.txt" in texts
    assert not [key for key in found if "url" in key.lower() or key == "Home-page"]


def test_version_stands_once():
    for file in ("CMakeLists.txt", "pyproject.toml"):
        assert peakline.__version__ not in (ROOT / file).read_text()


def test_citation_and_changelog_name_the_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"(?m)^## \[(\d.*?)\] - (.*)$", (ROOT / "CHANGELOG.md").read_text())
    assert (cited["version"], cited["date-released"]) == newest.groups()
    assert cited["version"] == peakline.__version__


def test_every_file_of_the_package_is_in_it(installed):
    package = ROOT / "reports/peakline"
    files = {file.relative_to(package) for file in package.rglob("*") if file.is_file()}
    files |= {
        Path(f"reference_profiles/{name}.json")
        for name in ("nvidia-h200", "nvidia-h200-x2", "populations/nvidia-h200")
    }
    wanted = {file for file in files if file.suffix not in (".pyc", ".png")}
    there = {file.relative_to(installed / "peakline") for file in installed.rglob("peakline/**/*")}
    assert wanted <= there
    assert not [file for file in there if file.suffix == ".png" or "cards" in file.parts]


def test_reference_profiles(installed):
    code = "import peakline; print(peakline.__file__, peakline.reference('H200').population.mode)"
    done = run(installed, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{installed}/")
    assert peakline.reference("nvidia-h200").devices[0].name == "NVIDIA H200"
    with pytest.raises(ProfileError, match=r"profile of .x100.; there is: h200, h200-x2$"):
        peakline.reference("x100")


def test_the_commands_start(installed):
    for command in ("report", "mfu"):
        done = run(installed, "-m", "peakline", command, "--help")
        assert done.returncode == 0, done.stderr
