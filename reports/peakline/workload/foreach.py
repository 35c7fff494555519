"""Work of PyTorch's kernels over tensor lists, by their names and grids."""

from __future__ import annotations

import re

from peakline.workload.works import Work

# PyTorch's multi_tensor_apply gives each block 65,536 elements of one tensor, or the rest of it
# (ATen/native/cuda/MultiTensorApply.cuh). So a launch has at least (blocks - tensors) x 65,536
# elements; the most tensors per launch depend on the number of lists.
_CHUNK = 65_536  # elements per block
_MOST_TENSORS = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}  # per launch, by number of lists
_FOREACH = re.compile(r"multi_tensor_apply_kernel<.*?Metadata<(?:[\w:]+, )?(\d)>")
_FOREACH_BYTES = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4, "double": 8}
# (lists read, lists written) by functor. None: the name has the numbers, as lists, lists read, list
# written (ATen/native/cuda/ForeachFunctors.cuh).
_FUNCTORS = {
    re.compile(r"FusedAdamMathFunctor<([\w:]+), 4\b"): (4, 3),  # parameter, gradient, 2 moments
    re.compile(r"FusedAdamMathFunctor<([\w:]+), 5\b"): (5, 4),  # and the largest second moment
    re.compile(r"FusedSgdMathFunctor<([\w:]+), 2\b"): (2, 1),
    re.compile(r"FusedSgdMathFunctor<([\w:]+), 3\b"): (3, 2),  # and momentum
    re.compile(r"LpNormFunctor<([\w:]+), .*?, 1, 1, 0>"): (1, 0),
    # The two factors may be one list, as when a gradient is squared.
    re.compile(r"PointwiseOp\w*Functor<([\w:]+), \d, 3, \d>"): (2, 1),
    re.compile(r"OpFunctor<([\w:]+), \d, (\d), \d>"): None,
    re.compile(r"Op(?:List|Scalar)\w*Functor<([\w:]+), \d, (\d), \d>"): None,
}


def foreach_work(kernel: str, blocks: int) -> Work | None:
    """The least bytes of one launch of a kernel over tensor lists, whose shapes are not recorded;
    None for other kernels, or with too few blocks."""
    match = _FOREACH.search(kernel)
    if match is None or int(match[1]) not in _MOST_TENSORS:
        return None
    chunks = blocks - _MOST_TENSORS[int(match[1])]
    for functor, moves in _FUNCTORS.items():
        found = functor.search(kernel)
        if found and found[1] in _FOREACH_BYTES and chunks > 0:
            read, written = moves or (int(found[2]), 1)
            size = float(chunks * _CHUNK * _FOREACH_BYTES[found[1]])
            return Work("", 0.0, read * size, written * size)
    return None
