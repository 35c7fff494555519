"""The direction of dependencies between the folders, read from the #include lines."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("harness/", "bench/", "kernels/")
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".h"}

# What each folder may include of the project, besides itself. One that is not listed may not be
# included from anywhere, so a new one needs a line here.
ARROWS = {
    "harness/core": (),
    "harness/profile": ("harness/core",),
    "harness/show": ("harness/core",),
    "harness/cuda": ("harness/core",),
    "harness/host": ("harness/core",),
    "harness/benchmark": ("harness/core", "harness/cuda", "harness/host", "kernels"),
    "harness/run": (
        "harness/core",
        "harness/cuda",
        "harness/host",
        "harness/benchmark",
        "harness/profile",
        "harness/show",
    ),
    "harness/cli": (
        "harness/core",
        "harness/host",
        "harness/benchmark",
        "harness/profile",
        "harness/show",
        "harness/run",
    ),
    "bench": ("harness/core", "harness/cuda", "harness/host", "harness/benchmark", "kernels"),
    "bench/main.cpp": ("bench", "harness/cli", "harness/run"),
    "kernels": (),
}
# Of the kernels the harness knows those that its own helpers launch.
HARNESS_KERNELS = r"kernels/(clock|fill|reference)\.cuh$"

# (where it is forbidden, where it is allowed nevertheless, what is included, why not). The first
# two are patterns of a path, the third of what stands between the brackets or quotes.
RULES = [
    (
        r"harness/(core|profile|show|host)/",
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
        r"harness/(profile/|show/\w+_document\.)",
        r"nlohmann/",
        "only the profile's files and the printed documents know the JSON library",
    ),
    (
        r"kernels/",
        None,
        r"(chrono|ctime|cstdio|cstdlib|iostream|fstream|print|fmt/.*|memory|new|vector|string)$",
        "a kernel has no timing, no allocation, no I/O",
    ),
]

# What needs no header in device code, yet does not belong there.
KERNEL_CALLS = re.compile(
    r"\b(cuda(Malloc|Free|Event|Memcpy|Memset|Device|Stream|GetLast|Peek|Launch)\w*"
    r"|malloc|free|printf|new)\b\s*[(\w]"
)


def includes(text: str) -> list[str]:
    """The targets of the #include lines of a source text."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', text, re.MULTILINE)


def code_of(text: str) -> str:
    """A source text without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def folder_of(path: str) -> str:
    """The entry of ARROWS that a path belongs to: the longest that it begins with, or ""."""
    fitting = [folder for folder in ARROWS if path == folder or path.startswith(folder + "/")]
    return max(fitting, key=len, default="")


def violations(path: str, text: str) -> list[str]:
    """What a file (path relative to the root) includes or calls against the rules."""
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


def sources() -> list[Path]:
    return [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]


def test_dependencies_run_one_way() -> None:
    files = sources()
    assert {folder_of(str(path.relative_to(ROOT))) for path in files} == set(ARROWS)
    found = [
        violation
        for path in files
        for violation in violations(str(path.relative_to(ROOT)), path.read_text())
    ]
    assert not found, "\n".join(found)


def test_arrows_have_no_circle() -> None:
    def reached(folder: str, seen: tuple[str, ...] = ()) -> None:
        assert folder not in seen, " -> ".join((*seen, folder))
        for target in ARROWS[folder]:
            reached(target, (*seen, folder))

    for folder in ARROWS:
        reached(folder)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("harness/core/units.cpp", '#include "harness/benchmark/registry.hpp"'),
        ("harness/core/comparison.cpp", '#include "harness/show/text_table.hpp"'),
        ("harness/show/overview.cpp", '#include "harness/profile/profile.hpp"'),
        ("harness/benchmark/registry.cpp", '#include "harness/run/plan.hpp"'),
        ("harness/run/plan.cpp", '#include "harness/cli/commands.hpp"'),
        ("harness/run/worker.cpp", '#include "bench/catalog.hpp"'),
        ("harness/benchmark/cuda_data.cuh", '#include "kernels/fma.cuh"'),
        ("bench/hbm.cu", '#include "harness/run/plan.hpp"'),
        ("bench/host/fma.cpp", '#include "harness/profile/profile.hpp"'),
        ("bench/hbm.cu", '#include "harness/elsewhere/hbm.hpp"'),
        ("harness/cuda/sampler.cpp", '#include "kernels/clock.cuh"'),
        ("harness/core/spec.hpp", '#include "harness/cuda/device.hpp"'),
        ("harness/core/spec.hpp", "#include <cuda_runtime_api.h>"),
        ("harness/host/facts.cpp", '#include "harness/cuda/device.hpp"'),
        ("harness/host/sampler.cpp", "  #  include <nvml.h>"),
        ("harness/cuda/sampler.hpp", "#include <benchmark/benchmark.h>"),
        ("harness/run/coordinator.cpp", "#include <benchmark/benchmark.h>"),
        ("harness/show/show_text.cpp", "#include <nlohmann/json.hpp>"),
        ("harness/run/worker.cpp", "#include <nlohmann/json.hpp>"),
        ("bench/main.cpp", "#include <CLI/CLI.hpp>"),
        ("bench/hbm.cu", "#include <cublasLt.h>"),
        ("harness/cuda/resources.hpp", "#include <cublas_v2.h>"),
        ("kernels/hbm.cuh", '#include "harness/core/units.hpp"'),
        ("kernels/hbm.cuh", "#include <chrono>"),
        ("kernels/hbm.cuh", "cudaMalloc(&pointer, 4);"),
        ("kernels/host/triad.cpp", "float* x = new float[4];"),
    ],
)
def test_forbidden_is_found(path: str, line: str) -> None:
    assert violations(path, f"#include <cstdint>\n{line}\n")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("harness/cli/command_line.cpp", "#include <CLI/CLI.hpp>"),
        ("bench/gemm/search.cpp", '#include "bench/gemm/cublaslt.hpp"'),
        ("bench/gemm/cublaslt.hpp", "#include <cublasLt.h>"),
        ("harness/benchmark/registry.cpp", "#include <benchmark/benchmark.h>"),
        ("harness/run/worker.cpp", "#include <benchmark/benchmark.h>"),
        ("harness/profile/reader.cpp", "#include <nlohmann/json.hpp>"),
        ("harness/show/show_document.cpp", "#include <nlohmann/json.hpp>"),
        ("bench/main.cpp", '#include "harness/cli/command_line.hpp"'),
        ("bench/hbm.cu", '#include "kernels/stream.cuh"'),
        ("harness/cuda/nvml.cpp", "#include <nvml.h>"),
        ("harness/show/show.hpp", '#include "harness/core/profile.hpp"'),
        ("kernels/hbm.cuh", "// a new block; no cudaMalloc(here)"),
    ],
)
def test_allowed_is_not(path: str, line: str) -> None:
    assert not violations(path, f"{line}\n")
