"""Kernels for peakline-report: a BF16 product, softmax, layer norm, an addition, a gather.

    ncu --profile-from-start off --set full --csv --page raw python kernels_workload.py

Only what stands between cudaProfilerStart and cudaProfilerStop is meant to be profiled. Needs
PyTorch; on a machine without a GPU it runs on the CPU, in small sizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import needs_torch  # noqa: F401
import torch
import torch.nn.functional as functional


def workloads(device: str, size: int) -> dict[str, Callable[[], torch.Tensor]]:
    """Operations by name, on normal random data; size: edge of the square matrices."""
    generator = torch.Generator(device).manual_seed(1)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, device=device).to(torch.bfloat16)

    left, right = random(size, size), random(size, size)
    # 32768 rows of 4096 are 256 MiB, far larger than any L2, so that DRAM traffic counts.
    rows = random(4 * size, size // 2)
    other = random(4 * size, size // 2)
    weight, bias = random(size // 2), random(size // 2)
    index = torch.randint(0, 4 * size, (4 * size,), generator=generator, device=device)
    return {
        "matmul": lambda: left @ right,
        "softmax": lambda: functional.softmax(rows, dim=-1),
        "layer_norm": lambda: functional.layer_norm(rows, (size // 2,), weight, bias),
        "add": lambda: rows + other,
        "gather": lambda: rows.index_select(0, index),
    }


def main() -> None:
    """Warms each operation up, then launches each a few times under the profiler."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--launches", type=int, default=3, help="of each operation")
    parser.add_argument("--size", type=int, help="edge of the matrices (default: 8192 on a GPU)")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    operations = workloads(device, options.size or (8192 if device == "cuda" else 256))
    for operation in operations.values():
        operation()  # loads kernels and lets cuBLAS choose, outside the profile
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
    for name, operation in operations.items():
        for _ in range(options.launches):
            result = operation()
        print(f"{name}: {options.launches} launches, result {tuple(result.shape)}")
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


if __name__ == "__main__":
    main()
