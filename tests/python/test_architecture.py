"""The direction of dependencies between the folders, read from the #include lines."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("harness", "bench", "kernels")
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".h"}

# (where it is forbidden, where it is allowed nevertheless, what is included, why not). The first
# two are patterns of a path, the third of what stands between the brackets or quotes.
RULES = [
    (r"harness/", None, r"(kernels|bench)/", "the harness knows no kernel and no benchmark"),
    (r"harness/core/", None, r"harness/(cuda|host)/", "the core is under cuda and host"),
    (r"harness/host/", None, r"harness/cuda/", "the host part builds without CUDA"),
    (r"harness/(core|host)/", None, r"(cuda|nvml|nvtx|cublas)", "builds without a CUDA toolkit"),
    (r"kernels/", None, r"(harness|bench)/", "a kernel knows nobody"),
    (r"", r"bench/", r"benchmark/", "only bench/ knows Google Benchmark"),
    (r"", r"bench/(main|\w*cli\w*|\w*command\w*)\.", r"CLI/", "only the command line knows CLI11"),
    (
        r"",
        r"bench/(\w*gemm\w*|cublaslt)\.",
        r"(bench/)?cublas",
        "only the GEMM benchmarks know cuBLASLt",
    ),
    (r"", r"harness/core/profile", r"nlohmann/", "only the profile's files know the JSON library"),
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


def violations(path: str, text: str) -> list[str]:
    """What a file (path relative to the root) includes or calls against the rules."""
    found = [
        f"{path} includes {target}: {why}"
        for where, allowed, what, why in RULES
        for target in includes(text)
        if re.match(where, path)
        and not (allowed and re.match(allowed, path))
        and re.match(what, target)
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
    assert {path.relative_to(ROOT).parts[0] for path in files} == set(FOLDERS)
    found = [
        violation
        for path in files
        for violation in violations(str(path.relative_to(ROOT)), path.read_text())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("harness/core/units.cpp", '#include "bench/registry.hpp"'),
        ("harness/cuda/sampler.cpp", '#include "kernels/clock.cuh"'),
        ("harness/core/spec.hpp", '#include "harness/cuda/device.hpp"'),
        ("harness/core/spec.hpp", "#include <cuda_runtime_api.h>"),
        ("harness/host/facts.cpp", '#include "harness/cuda/device.hpp"'),
        ("harness/host/sampler.cpp", "  #  include <nvml.h>"),
        ("harness/cuda/sampler.hpp", "#include <benchmark/benchmark.h>"),
        ("harness/core/show.cpp", "#include <nlohmann/json.hpp>"),
        ("bench/worker.cpp", "#include <nlohmann/json.hpp>"),
        ("bench/worker.cpp", "#include <CLI/CLI.hpp>"),
        ("bench/hbm.cu", "#include <cublasLt.h>"),
        ("bench/hbm.cu", '#include "bench/cublaslt.hpp"'),
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
        ("bench/main.cpp", "#include <CLI/CLI.hpp>"),
        ("bench/gemm.cpp", '#include "bench/cublaslt.hpp"'),
        ("bench/cublaslt.hpp", "#include <cublasLt.h>"),
        ("bench/registry.cpp", "#include <benchmark/benchmark.h>"),
        ("harness/core/profile_json.cpp", "#include <nlohmann/json.hpp>"),
        ("harness/cuda/nvml.cpp", "#include <nvml.h>"),
        ("harness/core/show.cpp", '#include "harness/core/profile.hpp"'),
        ("kernels/hbm.cuh", "// a new block; no cudaMalloc(here)"),
    ],
)
def test_allowed_is_not(path: str, line: str) -> None:
    assert not violations(path, f"{line}\n")
