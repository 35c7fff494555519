"""SASS of the matrix instructions of 10.0, 10.3, 11.0, 12.0 and 12.1.

python blackwell_sass_test.py NVCC CUOBJDUMP SOURCE. No such device has run them, so this checks
that each kernel has the intended instruction, on the targets that support it and on no other.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from sass_test import check_blackwell, check_spills, functions

TARGETS = ("75", "90a", "100", "100a", "103a", "110a", "120", "120f", "121a")


def main() -> None:
    nvcc, cuobjdump, source = sys.argv[1:4]
    root = Path(source).resolve().parents[2]
    for target in TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            cubin = f"{folder}/kernels.cubin"
            subprocess.run(
                [
                    nvcc,
                    "-std=c++20",
                    "--expt-relaxed-constexpr",
                    f"-I{root}",
                    f"-gencode=arch=compute_{target},code=sm_{target}",
                    "-cubin",
                    "-o",
                    cubin,
                    source,
                ],
                check=True,
            )
            by_architecture = functions(cuobjdump, cubin)
        assert len(by_architecture) == 1, f"{target}: {list(by_architecture)}"
        kernels = next(iter(by_architecture.values()))
        check_spills(kernels)
        check_blackwell(target, kernels)
        print(f"{target}: {len(kernels)} kernels")


if __name__ == "__main__":
    main()
