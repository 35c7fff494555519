"""Directions of dependencies in C++ and CUDA, between folders and files (#include) and between
libraries (links). pyproject.toml has Python's."""

import graphlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("harness/", "bench/", "kernels/")
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".h"}

# The folders that each folder may include; a folder that is not listed may not be included.
ARROWS = {
    f"harness/{room}": tuple(
        word if word == "kernels" else f"harness/{word}" for word in words.split()
    )
    for room, words in {
        "values": "",
        "statistics": "values",
        "hardware": "values",
        "host": "values",
        "cuda": "values statistics hardware",
        "conclude": "values statistics hardware",
        "judge": "values statistics hardware conclude",
        "profile": "values",
        "show": "values hardware conclude judge",
        "documents": "values hardware conclude judge show",
        "benchmark": "values statistics host cuda hardware conclude kernels",
        "run": "values host cuda conclude benchmark profile",
        "cli": "values statistics host conclude judge benchmark profile show documents run",
    }.items()
}
ARROWS |= {
    "bench": (*ARROWS["harness/benchmark"], "harness/benchmark"),
    "bench/main.cpp": ("bench", "harness/cli", "harness/run"),
    "kernels": (),
}
# Kernels that helpers of the harness launch.
HARNESS_KERNELS = r"kernels/(clock|fill|reference)\.cuh$"

# (forbidden in, but allowed in, included header, reason): two patterns of paths, and one of the
# text between brackets or quotes.
RULES = [
    (
        r"harness/(values|statistics|hardware|conclude|judge|profile|show|documents|host)/",
        None,
        r"(cuda|nvml|nvtx|cublas)",
        "builds without a CUDA toolkit",
    ),
    (
        r"",
        r"harness/(benchmark/|run/worker\.)",
        r"benchmark/",
        "only harness/benchmark and the worker know Google Benchmark",
    ),
    (r"", r"harness/cli/", r"CLI/", "only the command line knows CLI11"),
    (r"", r"bench/gemm/", r"cublas", "only bench/gemm knows cuBLASLt"),
    (
        r"",
        r"harness/(profile/schema\.|run/worker\.|documents/)",
        r"nlohmann/",
        "only the schema, a worker's options and the printed documents know that library",
    ),
    (r"", r"harness/profile/document\.", r"rapidjson", "one file knows the library that reads"),
    (
        r"kernels/",
        None,
        r"(chrono|ctime|cstdio|cstdlib|iostream|fstream|print|fmt/.*|memory|new|vector|string)$",
        "a kernel has no timing, no allocation, no I/O",
    ),
]

# Calls that need no header in device code, but do not belong there.
KERNEL_CALLS = re.compile(
    r"\b(cuda(Malloc|Free|Event|Memcpy|Memset|Device|Stream|GetLast|Peek|Launch)\w*"
    r"|malloc|free|printf|new)\b\s*[(\w]"
)


def includes(text):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', text, re.MULTILINE)


def code_of(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def folder_of(path):
    """The longest entry of ARROWS that a path begins with, or ""."""
    fitting = [folder for folder in ARROWS if path == folder or path.startswith(folder + "/")]
    return max(fitting, key=len, default="")


def violations(path, text):
    """Forbidden includes and calls of a file; path: relative to the root."""
    here = folder_of(path)
    targets = includes(text)
    found = [
        f"{path} includes {target}: no arrow leads from {here} to {folder_of(target) or target}"
        for target in targets
        if target.startswith(FOLDERS) and folder_of(target) not in (here, *ARROWS.get(here, ()))
    ]
    found += [
        f"{path} includes {target}: {why}"
        for where, allowed, what, why in RULES
        for target in targets
        if re.match(where, path)
        and not (allowed and re.match(allowed, path))
        and re.match(what, target)
    ]
    if here == "harness/benchmark":
        found += [
            f"{path} includes {target}: the harness does not know the benchmarks' kernels"
            for target in targets
            if target.startswith("kernels/") and not re.match(HARNESS_KERNELS, target)
        ]
    if path.startswith("kernels/"):
        found += [
            f"{path} uses {call.group(1)}: a kernel has no timing, no allocation, no I/O"
            for call in KERNEL_CALLS.finditer(code_of(text))
        ]
    return found


def sources():
    return [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]


def test_dependencies_run_one_way():
    files = sources()
    assert {folder_of(str(path.relative_to(ROOT))) for path in files} == set(ARROWS)
    found = [
        violation
        for path in files
        for violation in violations(str(path.relative_to(ROOT)), path.read_text())
    ]
    assert not found, "\n".join(found)


def test_arrows_have_no_circle():
    def reached(folder, seen=()):
        assert folder not in seen, " -> ".join((*seen, folder))
        for target in ARROWS[folder]:
            reached(target, (*seen, folder))

    for folder in ARROWS:
        reached(folder)


def file_arrows(texts):
    """The includes between files, a header and its source counting as one. texts: by path."""
    arrows = {}
    for path, text in texts.items():
        file = str(Path(path).with_suffix(""))
        included = {str(Path(target).with_suffix("")) for target in includes(text)}
        arrows.setdefault(file, set()).update(
            other for other in included - {file} if other.startswith("harness/")
        )
    return arrows


def circle(arrows):
    """A dependency cycle between files, or ""."""
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error:
        return " <- ".join(error.args[1])
    return ""


def harness_arrows():
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sources()}
    return file_arrows({path: text for path, text in texts.items() if path.startswith("harness/")})


def test_files_of_the_harness_have_no_circle():
    arrows = harness_arrows()
    assert not circle(arrows), circle(arrows)


@pytest.mark.parametrize("folder", ["harness/judge/", "harness/show/"])
def test_a_folder_has_few_files_on_few_floors(folder):
    arrows = {file: of for file, of in harness_arrows().items() if file.startswith(folder)}
    inside = {file: {other for other in of if other in arrows} for file, of in arrows.items()}
    floors = {}
    for file in graphlib.TopologicalSorter(inside).static_order():
        floors[file] = 1 + max((floors[other] for other in inside[file]), default=0)
    assert len(floors) <= 24
    assert max(floors.values()) <= 6, sorted(floors.items(), key=lambda each: -each[1])


@pytest.mark.parametrize(
    "texts",
    [
        {
            "harness/judge/gate.hpp": '#include "harness/judge/sides.hpp"\n',
            "harness/judge/sides.hpp": '#include "harness/judge/gate.hpp"\n',
        },
        {  # headers alone have no cycle
            "harness/judge/gate.hpp": "#include <span>\n",
            "harness/judge/gate.cpp": '#include "harness/judge/sides.hpp"\n',
            "harness/judge/sides.hpp": '#include "harness/judge/gate.hpp"\n',
        },
        {
            "harness/conclude/findings.cpp": '#include "harness/conclude/findings/links.hpp"\n',
            "harness/conclude/findings/links.hpp": '#include "harness/conclude/findings.hpp"\n',
        },
    ],
)
def test_a_circle_of_files_is_found(texts):
    assert circle(file_arrows(texts))


def links(folder):
    """The targets of a folder's CMakeLists.txt, each with ("PUBLIC" or "PRIVATE", folder) for each
    linked library of the project."""
    libraries = {f"peakline_{Path(folder).name}": folder for folder in ARROWS}
    found = {}
    text = (ROOT / folder / "CMakeLists.txt").read_text()
    for target, words in re.findall(r"target_link_libraries\((\w+)([^)]*)\)", text):
        scope = ""
        for word in words.split():
            if word in ("PUBLIC", "PRIVATE", "INTERFACE"):
                scope = word
            elif word in libraries:
                found.setdefault(target, set()).add((scope, libraries[word]))
    return found


def test_links_follow_the_arrows():
    by_folder = {folder: set() for folder in ARROWS}
    for folder in ARROWS:
        if (ROOT / folder).is_dir():
            for target, linked in links(folder).items():
                by_folder["bench/main.cpp" if target == "peakline" else folder] |= linked

    def reached(folder):
        """The folders that a folder's library links publicly, directly or not."""
        public = {other for scope, other in by_folder[folder] if scope == "PUBLIC"}
        return public.union(*map(reached, public))

    for folder, arrows in ARROWS.items():
        linked = {other for _, other in by_folder[folder]}
        assert linked <= set(arrows), folder
        # Every includable folder is linked, so that no other target has to bring it along.
        assert set(arrows) <= linked.union(*map(reached, linked)), folder


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("harness/values/units.cpp", '#include "harness/benchmark/registry.hpp"'),
        ("harness/run/worker.cpp", '#include "bench/catalog.hpp"'),
        ("harness/benchmark/cuda_data.cuh", '#include "kernels/fma.cuh"'),
        ("bench/hbm.cu", '#include "harness/run/plan.hpp"'),
        ("harness/hardware/spec.hpp", '#include "harness/cuda/device.hpp"'),
        ("harness/hardware/spec.hpp", "#include <cuda_runtime_api.h>"),
        ("harness/cuda/sampler.hpp", "#include <benchmark/benchmark.h>"),
        ("harness/show/show_text.cpp", "#include <nlohmann/json.hpp>"),
        ("harness/documents/summary.cpp", "#include <rapidjson/reader.h>"),
        ("bench/main.cpp", "#include <CLI/CLI.hpp>"),
        ("bench/hbm.cu", "#include <cublasLt.h>"),
        ("kernels/hbm.cuh", "#include <chrono>"),
        ("kernels/hbm.cuh", "cudaMalloc(&pointer, 4);"),
        ("kernels/host/triad.cpp", "float* x = new float[4];"),
    ],
)
def test_forbidden_is_found(path, line):
    assert violations(path, f"#include <cstdint>\n{line}\n")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("harness/cli/command_line.cpp", "#include <CLI/CLI.hpp>"),
        ("harness/run/worker.cpp", "#include <benchmark/benchmark.h>"),
        ("bench/main.cpp", '#include "harness/cli/command_line.hpp"'),
        ("bench/hbm.cu", '#include "kernels/stream.cuh"'),
        ("kernels/hbm.cuh", "// a new block; no cudaMalloc(here)"),
    ],
)
def test_allowed_is_not(path, line):
    assert not violations(path, f"{line}\n")
