"""Bytes of fused and foreach kernels over lists of tensors, whose shapes a trace leaves out.

PyTorch's multi_tensor_apply gives each block 65,536 elements of one tensor, the last block of a
tensor what is left (ATen/native/cuda/MultiTensorApply.cuh). So there are at least (blocks -
tensors) x 65,536 elements, which is a bound; how many tensors a launch can hold depends on the
number of lists.
"""

from __future__ import annotations

import re

from peakline.workload.works import Work

_CHUNK = 65_536  # elements of a block
_MOST_TENSORS = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}  # of a launch, by lists
_KERNEL = re.compile(r"multi_tensor_apply_kernel<.*?TensorListMetadata<(\d)>")
_TYPES = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4, "double": 8}
# The functors read so many of their lists, and write so many.
_FUNCTORS = {
    re.compile(r"FusedAdamMathFunctor<([\w:]+), 4\b"): (4, 3),  # parameter, gradient, 2 moments
    re.compile(r"FusedAdamMathFunctor<([\w:]+), 5\b"): (5, 4),  # and the largest second moment
    re.compile(r"FusedSgdMathFunctor<([\w:]+), 2\b"): (2, 1),
    re.compile(r"FusedSgdMathFunctor<([\w:]+), 3\b"): (3, 2),  # and momentum
    re.compile(r"BinaryOpScalarFunctor<([\w:]+), 1\b"): (1, 1),
    re.compile(r"BinaryOpListAlphaFunctor<([\w:]+), 2\b"): (2, 1),
}


def foreach_work(kernel: str, blocks: int) -> Work | None:
    """The least that one launch moves; None for another kernel, or where its blocks do not tell."""
    match = _KERNEL.search(kernel)
    if match is None or int(match[1]) not in _MOST_TENSORS:
        return None
    chunks = blocks - _MOST_TENSORS[int(match[1])]
    for functor, (read, written) in _FUNCTORS.items():
        found = functor.search(kernel)
        if found and found[1] in _TYPES and chunks > 0:
            size = float(chunks * _CHUNK * _TYPES[found[1]])
            return Work("", 0.0, read * size, written * size)
    return None
