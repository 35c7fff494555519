#!/usr/bin/env python3
"""Prints the SBOM of a wheel (SPDX 2.3, JSON): scripts/release/sbom.py WHEEL > WHEEL.spdx.json

Runs on the machine that built the wheel, whose packages the bundled libraries come from.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
CUDA_WHEELS = ROOT / ".deps/cuda"
CUDA_LICENSE = "LicenseRef-NVIDIA-CUDA-EULA"

# Licences by the names of licenses/*.txt.
LICENSES = {
    "absl": "Apache-2.0",
    "benchmark": "Apache-2.0",
    "cap": "BSD-3-Clause",
    "cli11": "BSD-3-Clause",
    "cudart": CUDA_LICENSE,
    "fmt": "MIT",
    "hwloc": "BSD-3-Clause",
    "liburing": "MIT",
    "nlohmann_json": "MIT",
    "rapidjson": "MIT",
    "re2": "BSD-3-Clause",
    "tomlplusplus": "MIT",
    "udev": "LGPL-2.1-or-later",
    "zlib": "Zlib",
}
# Where the stem of a library's file is not the name of its licence.
STEMS = {"uring": "liburing", "z": "zlib"}
# Libraries that are compiled into the program, by Debian's packages.
HEADERS = {
    "cli11": "libcli11-dev",
    "nlohmann_json": "nlohmann-json3-dev",
    "rapidjson": "rapidjson-dev",
}


@dataclass
class Library:
    name: str
    version: str
    sha256: str
    file: str  # what the hash is of
    purl: str
    relation: str = "CONTAINS"

    @property
    def identifier(self) -> str:
        return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", self.file)


def fail(message: str) -> NoReturn:
    print(f"sbom.py: {message}", file=sys.stderr)
    sys.exit(2)


def output_of(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{' '.join(command)}: {getattr(error, 'stderr', '') or error}".strip())
    return done.stdout


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def debian_purl(package: str) -> str:
    fields = output_of("dpkg-query", "-W", "-f=${Package} ${Version} ${Architecture}", package)
    name, version, architecture = fields.split()
    return f"pkg:deb/debian/{name}@{quote(version)}?arch={architecture}"


def bundled(path: str, data: bytes) -> Library:
    """A library that the wheel holds as a file, which must be the file of an installed package."""
    file = path.rsplit("/", 1)[-1]
    match = re.match(r"lib([a-z0-9]+)", file)
    stem = match[1] if match else file
    name = STEMS.get(stem, stem)
    if name not in LICENSES:
        fail(f"{file} is bundled, but LICENSES does not name {name}")
    for line in output_of("dpkg-query", "-S", f"*/{file}").splitlines():
        package, _, installed = line.partition(": ")
        if Path(installed).read_bytes() == data:
            version = output_of("dpkg-query", "-W", "-f=${Version}", package)
            return Library(name, version, sha256(data), path, debian_purl(package))
    fail(f"{file} is not the file of a package that is installed here")


def compiled_in(name: str, package: str) -> Library:
    """A library of headers; the hash is that of Debian's package."""
    version = output_of("dpkg-query", "-W", "-f=${Version}", package)
    shown = Parser().parsestr(output_of("apt-cache", "show", f"{package}={version}"))
    if "SHA256" not in shown:
        fail(f"apt does not know the hash of {package} {version}: apt-get update")
    file = shown["Filename"].rsplit("/", 1)[-1]
    return Library(name, version, shown["SHA256"], file, debian_purl(package), "STATIC_LINK")


def cuda_runtime() -> Library:
    """The static library of CUDA that scripts/setup installed for the build."""
    found = list(CUDA_WHEELS.glob("nvidia_cuda_runtime-*.dist-info/METADATA"))
    if len(found) != 1:
        fail(f"{CUDA_WHEELS} has no nvidia-cuda-runtime, from which a release is built")
    version = Parser().parsestr(found[0].read_text())["Version"]
    (file,) = CUDA_WHEELS.rglob("libcudart_static.a")
    purl = f"pkg:pypi/nvidia-cuda-runtime@{version}"
    return Library("cudart", version, sha256(file.read_bytes()), file.name, purl, "STATIC_LINK")


def libraries(wheel: zipfile.ZipFile) -> list[Library]:
    names = wheel.namelist()
    found = [
        bundled(name, wheel.read(name)) for name in sorted(names) if "/libexec/peakline/" in name
    ]
    programs = [name for name in names if name.endswith("/bin/peakline")]
    if len(programs) != 1:
        fail(f"{wheel.filename} has no program")
    found += [compiled_in(name, package) for name, package in HEADERS.items()]
    if b".nv_fatbin" in wheel.read(programs[0]):  # the section of device code
        found.append(cuda_runtime())
    return found


def package_of(library: Library) -> dict[str, Any]:
    license_id = LICENSES.get(library.name, "Apache-2.0")  # peakline's own
    return {
        "name": library.name,
        "SPDXID": library.identifier,
        "versionInfo": library.version,
        "packageFileName": library.file,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": license_id,
        "licenseDeclared": license_id,
        "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": library.sha256}],
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": library.purl,
            }
        ],
    }


def document(file: Path) -> dict[str, Any]:
    """The SPDX document of a wheel."""
    digest = sha256(file.read_bytes())
    with zipfile.ZipFile(file) as wheel:
        (path,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(wheel.read(path).decode())
        found = libraries(wheel)
    version = metadata["Version"]
    own = Library("peakline", version, digest, file.name, f"pkg:generic/peakline@{version}")
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": file.stem,
        "documentNamespace": f"https://spdx.org/spdxdocs/{file.stem}-{digest}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "creators": ["Tool: peakline-sbom.py"],
        },
        "packages": [*map(package_of, (own, *found))],
        "relationships": [
            relation("SPDXRef-DOCUMENT", "DESCRIBES", own.identifier),
            *(relation(own.identifier, each.relation, each.identifier) for each in found),
        ],
        "hasExtractedLicensingInfos": [
            {
                "licenseId": CUDA_LICENSE,
                "name": "End User License Agreement of the CUDA toolkit",
                "extractedText": (ROOT / "licenses/cudart.txt").read_text(encoding="utf-8"),
            }
        ],
    }


def relation(element: str, kind: str, related: str) -> dict[str, str]:
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}


def main() -> None:
    if len(sys.argv) != 2:
        fail("usage: scripts/release/sbom.py WHEEL")
    print(json.dumps(document(Path(sys.argv[1])), indent=2))


if __name__ == "__main__":
    main()
