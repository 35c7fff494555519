"""What a release is made of: its notes, its files, and the SBOM of a wheel, with the packages of a
simulated build machine."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

RELEASE = ROOT / "scripts/release"
SBOM = RELEASE / "sbom.py"
FMT = b"a shared library"
# Answers by the arguments that matter; the file of libfmt is in the folder $PACKAGES.
TOOLS = {
    "dpkg-query": r"""
        case "$*" in
          *-S*libfmt.so.9) echo "libfmt9:amd64: $PACKAGES/libfmt.so.9" ;;
          *-S*) echo "no path found matching pattern" >&2; exit 1 ;;
          *Package*) package=${!#}; echo "${package%%:*} 9.1+ds-2 amd64" ;;
          *) printf 9.1+ds-2 ;;
        esac""",
    "apt-cache": r"""
        package=${2%%=*}
        echo "Package: $package"
        echo "Filename: pool/$package.deb"
        [[ $package == "$UNKNOWN" ]] || echo "SHA256: $(sha256sum <<<"$package" | cut -c -64)" """,
}


def make(folder):
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def sbom(tmp_path):
    """Runs the script on a wheel of these files; returns its exit code, output and errors."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, body in TOOLS.items():
        (commands / name).write_text(f"#!/bin/bash\n{body}\n")
        (commands / name).chmod(0o755)
    (tmp_path / "libfmt.so.9").write_bytes(FMT)
    tree = tmp_path / "peakline"
    script = shutil.copy(SBOM, make(tree / "scripts/release"))
    shutil.copytree(ROOT / "licenses", tree / "licenses")
    path = f"{commands}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PACKAGES": str(tmp_path)}
    wheel = tmp_path / "peakline-1.2.3-py3-none-manylinux_2_35_x86_64.whl"

    def run(files, program=b"no device code", **variables):
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("peakline-1.2.3.dist-info/METADATA", "Version: 1.2.3\n")
            archive.writestr("peakline-1.2.3.data/data/bin/peakline", program)
            for name, data in files.items():
                archive.writestr(f"peakline-1.2.3.data/data/libexec/peakline/{name}", data)
        done = subprocess.run(
            [sys.executable, script, wheel],
            capture_output=True,
            text=True,
            env=environment | variables,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    run.wheel, run.cuda = wheel, tree / ".deps/cuda"
    return run


def test_every_library_has_version_licence_hash(sbom):
    code, out, err = sbom({"libfmt.so.9": FMT})
    assert code == 0, err
    document = json.loads(out)
    packages = {package["name"]: package for package in document["packages"]}
    assert set(packages) == {"peakline", "fmt", "cli11", "nlohmann_json", "rapidjson"}
    of = {
        name: (each["versionInfo"], each["licenseDeclared"], each["checksums"][0]["checksumValue"])
        for name, each in packages.items()
    }
    digest = hashlib.sha256(sbom.wheel.read_bytes()).hexdigest()
    assert of["peakline"] == ("1.2.3", "Apache-2.0", digest)
    assert of["fmt"] == ("9.1+ds-2", "MIT", hashlib.sha256(FMT).hexdigest())
    assert of["cli11"][:2] == ("9.1+ds-2", "BSD-3-Clause")
    assert of["cli11"][2] == hashlib.sha256(b"libcli11-dev\n").hexdigest()
    (purl,) = packages["fmt"]["externalRefs"]
    assert purl["referenceLocator"] == "pkg:deb/debian/libfmt9@9.1%2Bds-2?arch=amd64"


def test_relations_lead_to_packages(sbom):
    document = json.loads(sbom({"libfmt.so.9": FMT})[1])
    ids = [package["SPDXID"] for package in document["packages"]]
    assert len(ids) == len(set(ids))
    related = [each["relatedSpdxElement"] for each in document["relationships"]]
    assert sorted(related) == sorted(ids)
    kinds = [each["relationshipType"] for each in document["relationships"]]
    assert kinds == ["DESCRIBES", "CONTAINS", *["STATIC_LINK"] * 3]


def test_device_code_brings_the_cuda_runtime(sbom):
    make(sbom.cuda / "lib")
    (sbom.cuda / "lib/libcudart_static.a").write_bytes(b"static")
    metadata = make(sbom.cuda / "nvidia_cuda_runtime-13.0.96.dist-info") / "METADATA"
    metadata.write_text("Version: 13.0.96\n")
    packages = json.loads(sbom({}, program=b".nv_fatbin")[1])["packages"]
    (cudart,) = (package for package in packages if package["name"] == "cudart")
    assert cudart["versionInfo"] == "13.0.96"
    assert cudart["licenseDeclared"] == "LicenseRef-NVIDIA-CUDA-EULA"
    assert cudart["checksums"][0]["checksumValue"] == hashlib.sha256(b"static").hexdigest()


@pytest.mark.parametrize(
    ("files", "more", "message"),
    [
        ({"libfoo.so.1": b""}, {}, "libfoo.so.1 is bundled, but LICENSES does not name foo"),
        ({"libz.so.1": b""}, {}, "no path found"),
        ({"libfmt.so.9": b"another"}, {}, "not the file of a package that is installed here"),
        ({}, {"UNKNOWN": "rapidjson-dev"}, "the hash of rapidjson-dev 9.1+ds-2: apt-get update"),
        ({}, {"program": b".nv_fatbin"}, "no nvidia-cuda-runtime, from which a release is built"),
    ],
)
def test_an_unknown_library_is_refused(sbom, files, more, message):
    code, out, err = sbom(files, **more)
    assert (code, out) == (2, "")
    assert message in err


def test_licences_are_those_of_the_folder():
    listed = subprocess.run(
        [sys.executable, "-c", "import json, sbom; print(json.dumps(list(sbom.LICENSES)))"],
        cwd=SBOM.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(json.loads(listed.stdout)) == sorted(
        file.stem for file in (ROOT / "licenses").iterdir()
    )


CHANGELOG = """# Changelog
## [Unreleased]
- next
## [1.2.3] - 2026-12-01
### Added
- this
## [1.2.2] - 2026-11-01
- last
"""


def notes(folder, tag, changelog=CHANGELOG):
    """Runs the script in a tree of version 1.2.3; returns its exit code, output and errors."""
    shutil.copy(RELEASE / "notes", make(folder / "scripts/release"))
    (make(folder / "reports/peakline") / "__init__.py").write_text('__version__ = "1.2.3"  # x\n')
    (folder / "CHANGELOG.md").write_text(changelog)
    command = [folder / "scripts/release/notes", tag]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_notes_are_those_of_the_version(tmp_path):
    assert notes(tmp_path, "v1.2.3") == (0, "### Added\n- this\n", "")


@pytest.mark.parametrize(
    ("tag", "changelog", "message"),
    [
        ("v1.2.4", CHANGELOG, "v1.2.4: the tag of this tree's version is v1.2.3"),
        ("1.2.3", CHANGELOG, "1.2.3: the tag of this tree's version is v1.2.3"),
        ("v1.2.3", "## [1.2.3]\n- undated\n", 'no line "## [1.2.3] - YYYY-MM-DD"'),
        ("v1.2.3", "## [1.2.3] - 2026-12-01\n\n## [1.2.2]\n- x\n", "says nothing of 1.2.3"),
    ],
)
def test_a_tag_without_its_notes_is_refused(tmp_path, tag, changelog, message):
    code, out, err = notes(tmp_path, tag, changelog)
    assert (code, out) == (2, "")
    assert message in err


def test_a_release_without_a_wheel_is_refused(tmp_path):
    for ending in ("x86_64.whl", "x86_64.spdx.json", "aarch64.whl"):
        (tmp_path / f"peakline-1.2.3-py3-none-manylinux_2_35_{ending}").write_text("x")
    command = [RELEASE / "assemble", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("needs one peakline-*-manylinux_*_aarch64.spdx.json\n")
