"""Work of PyTorch's operators by their shapes: FLOPs and bytes of GEMMs, attention and
convolutions, bytes of elementwise operators and normalizations.

Bytes are compulsory: each operand read and each result written once. Operators are those that
launch kernels themselves, in the form of torch.profiler traces with record_shapes=True.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peakline.workload.kernel import UNKNOWN_UNIT
from peakline.workload.numbers import checked
from peakline.workload.operands import Arguments, Unclear

# Bytes of an element by its c10::ScalarType.
_SCALAR_BYTES = {"5": 2, "6": 4, "15": 2, "23": 1, "24": 1}
_INT32_BYTES = 4
# Operators whose result needs one element of each operand, with the number of first arguments that
# may be operands; the array of `out=` follows these. A trailing "_" overwrites the first.
_ELEMENTWISE = {
    f"aten::{name}": arguments
    for arguments, names in {
        1: "abs cos elu erf exp gelu hardtanh leaky_relu log neg reciprocal relu rsqrt sigmoid silu"
        " sin sqrt square tanh",
        2: "add clamp_max clamp_min div maximum minimum mul pow sub gelu_backward silu_backward"
        " sigmoid_backward tanh_backward threshold_backward",
        3: "addcdiv addcmul clamp lerp masked_fill",
        6: "elu_backward",
    }.items()
    for name in names.split()
}
# Arguments read > written by an operator's kernel; with several kernels, each begins with a part of
# its name. Small or value-dependent traffic is left out.
_MOVES = {
    f"aten::{name}": moves.split(";")
    for names, moves in (
        ("copy_", "1 > 0"),
        ("fill_ zero_", "> 0"),
        ("sum mean amax amin argmax", "0 >"),
        ("_softmax _log_softmax native_dropout cumsum roll", "0 > 0"),
        ("_softmax_backward_data _log_softmax_backward_data native_dropout_backward", "0 1 > 0"),
        ("native_layer_norm", "0 2 3 > 0"),
        ("_fused_rms_norm", "0 2 > 0"),
        (
            "native_layer_norm_backward _fused_rms_norm_backward",
            "grad_input 0 1 > 1; GammaBeta 0 1 >",
        ),
        ("native_batch_norm", "collect_statistics 0 >; transform_input 0 > 0"),
        (
            "native_batch_norm_backward",
            "backward_reduce 0 1 >; backward_elemt 0 1 > 1; norm_backward_kernel 0 1 > 1",
        ),
        ("cudnn_batch_norm", "bn_fw 0 > 0"),
        ("cudnn_batch_norm_backward", "bn_bw 0 1 > 0"),
        ("native_group_norm", "RowwiseMoments 0 >; elementwise_kernel 0 > 0"),
        (
            "native_group_norm_backward",
            "InternalGradients 0 1 >; GammaBetaBackward 2 3 >; elementwise_kernel 0 1 > 1",
        ),
        ("max_pool2d_with_indices_backward", "0 7 > 1"),
        ("embedding_dense_backward", "compute_grad_weight 0 >"),
        ("topk", "computeBlockDigitCounts 0 >; gatherTopK 0 >"),
    )
    for name in names.split()
}
# Recorded with record_shapes=True.
SHAPES = ("Input Dims", "Concrete Inputs")
# Index of the first matrix; the operand before it is added to the GEMM.
_PRODUCTS = {
    "aten::mm": 0,
    "aten::bmm": 0,
    "aten::mv": 0,
    "aten::_int_mm": 0,
    "aten::_scaled_mm": 0,
    "aten::addmm": 1,
    "aten::addmv": 1,
    "aten::addmv_": 1,
    "aten::baddbmm": 1,
    "aten::_addmm_activation": 1,
}
_INDEX_BYTES = 8
# Operators in names of generated kernels that choose what they read.
_CHOOSES = re.compile("embedding|index|gather|scatter|select|slice|cat|split|roll|pool|upsample")
_SCALED_OUT_TYPE = 6  # index of out_dtype in _scaled_mm
_SCALES = 2  # index of the first matrix' scales in _scaled_mm; those of the second follow
_BLOCK = 128  # elements of a scaled block's side
# Operators of engines that multiply (M, K) by (N, K) in FP8 with scales of blocks.
_OF_BLOCKS = re.compile("deep_?gemm|block_fp8_matmul|block_scaled_mm")


@dataclass(frozen=True, slots=True)
class _Attention:
    """Positions of an attention operator's arguments."""

    query: int  # key and value follow
    causal: int
    windows: tuple[int, ...]
    heads_first: bool  # (batch, heads, tokens, size), else (batch, tokens, heads, size)
    # GEMMs of queries x keys x size: two forward; backward four and the scores again.
    products: int


_ATTENTION = {
    "aten::_flash_attention_forward": _Attention(0, 8, (11, 12), False, 2),
    "aten::_efficient_attention_forward": _Attention(0, 9, (13,), False, 2),
    "aten::_cudnn_attention_forward": _Attention(0, 10, (), True, 2),
    "aten::_flash_attention_backward": _Attention(1, 11, (15, 16), False, 5),
    "aten::_cudnn_attention_backward": _Attention(1, 14, (), True, 5),
}


@dataclass(frozen=True, slots=True)
class OpWork:
    """The work of one kernel of an operator."""

    unit: str
    flops: float
    read: float  # bytes
    written: float
    # Part of the kernel's name, if an operator has several. Works of one role are one launch each.
    role: str = ""
    # Rows, columns, inner dimension and bytes of an element of a GEMM.
    sides: tuple[int, int, int, int] | None = None
    # Each element of the result needs only one of each operand, and goes to a new array.
    elementwise: bool = False
    # The ceiling of GEMMs with the scales of this one: "tensor.fp8_block".
    scaled: str = ""
    # `read` and `written` are elements, whose size is in the kernel's name: "OpaqueType<2u>".
    opaque: bool = False

    @property
    def size(self) -> str:
        """The sides of a GEMM behind its kernel's name: " (8192 x 4096 x 4096)", else ""."""
        return f" ({' x '.join(map(str, self.sides[:3]))})" if self.sides else ""

    def times(self, factor: float) -> OpWork:
        return dataclasses.replace(
            self, flops=self.flops * factor, read=self.read * factor, written=self.written * factor
        )


def _work(
    read: float, written: float, role: str = "", *, unit: str = "", flops: float = 0.0, **more: Any
) -> OpWork:
    """Work of checked amounts, by default without counted FLOPs. Raises ValueError."""
    return OpWork(unit, checked(flops), checked(read), checked(written), role, **more)


def works(operator: Mapping[str, Any]) -> list[OpWork]:
    """The work of an operator, one per kernel; empty if shapes do not determine it."""
    arguments = Arguments(operator["args"])
    name = str(operator.get("name"))
    try:
        if name in _MOVES:
            return [_moved(move, arguments) for move in _MOVES[name]]
        if name.removesuffix("_") in _ELEMENTWISE:
            return [_elementwise(name, arguments)]
        if name.startswith("triton_"):
            return [_generated(name, arguments)]
        if name in _FORMULAS:
            found = _FORMULAS[name](name, arguments)
            return found if isinstance(found, list) else [found]
        if _OF_BLOCKS.search(name):
            return [_product_of_blocks(arguments)]
    except (Unclear, LookupError, TypeError, ValueError):
        pass  # arguments of another version, or impossible sizes
    return []


def stated(operator: Mapping[str, Any]) -> list[OpWork]:
    """The work of an operator with FLOPs stated in the trace, and bytes by shapes."""
    flops = _count(operator["args"], "flops")
    if not flops:
        return []
    found = works(operator)
    if len(found) == 1:
        return [dataclasses.replace(found[0], flops=flops)]
    return [OpWork(UNKNOWN_UNIT, flops, 0.0, 0.0)]


def counts(arguments: Mapping[str, Any]) -> tuple[float, float]:
    """FLOPs and bytes stated in a kernel's event; 0 if missing."""
    flops = _count(arguments, "kernel_flop") or _count(arguments, "flops")
    return flops, _count(arguments, "kernel_num_gb") * 1e9


def _count(arguments: Mapping[str, Any], key: str) -> float:
    """A positive number or its text, else 0. Raises ValueError if out of range."""
    value = arguments.get(key)
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return 0.0
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not number > 0:
        return 0.0
    try:
        return checked(number)
    except ValueError as error:
        raise ValueError(f"{key} is {error}") from error


def _product(name: str, arguments: Arguments) -> OpWork:
    first = _PRODUCTS[name]
    left = arguments.shape(first, (2, 3))
    right = arguments.shape(first + 1, (1, 2, 3))
    columns = right[-1] if len(right) > 1 else 1
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner or left[:-2] != right[:-2]:
        raise Unclear
    element = arguments.element(first)
    if name == "aten::_int_mm":
        element = _INT32_BYTES
    elif name == "aten::_scaled_mm":
        element = _SCALAR_BYTES[arguments.value(_SCALED_OUT_TYPE)]
    read = sum(arguments.bytes(index) for index in range(first + 2))
    written = math.prod(left[:-1]) * columns * element
    flops = 2 * math.prod(left) * columns
    sides = (math.prod(left[:-1]), columns, inner, arguments.element(first))
    scaled = ""
    if name == "aten::_scaled_mm" and arguments.is_plain(_SCALES):
        of_left, of_right = arguments.sizes(_SCALES), arguments.sizes(_SCALES + 1)
        scaled = _scaled(*sides[:3], of_left, of_right[::-1])
    unit = arguments.unit(first)
    return _work(read, written, unit=unit, flops=flops, sides=sides, scaled=scaled)


def _scaled(
    rows: int, columns: int, inner: int, of_left: Sequence[int], of_right: Sequence[int]
) -> str:
    """The ceiling of FP8 GEMMs with such scales, which are counted along a matrix' own side and
    the inner one; empty for scales of whole matrices."""
    blocks = math.ceil(inner / _BLOCK)
    if len(of_left) != 2 or len(of_right) != 2 or of_left[1] != of_right[1]:
        return ""
    each = (of_left[0], of_right[0])
    if each == (rows, columns) and of_left[1] in (1, blocks):
        if each == (1, 1):
            return ""
        return "tensor.fp8_row" if of_left[1] == 1 else "tensor.fp8_block_both"
    coarse = (math.ceil(rows / _BLOCK), math.ceil(columns / _BLOCK))
    one_coarse = each in ((rows, coarse[1]), (coarse[0], columns))
    return "tensor.fp8_block" if one_coarse and of_left[1] == blocks else ""


def _product_of_blocks(arguments: Arguments) -> OpWork:
    """Two FP8 matrices of (M, K) and (N, K), and a result of 2 bytes an element."""
    matrices = [index for index in arguments.tensors(None) if arguments.is_fp8(index)]
    left, right = (arguments.shape(index, (2,)) for index in matrices)
    if left[1] != right[1]:
        raise Unclear
    rows, columns, inner = left[0], right[0], left[1]
    return _work(
        sum(arguments.bytes(index) for index in matrices),
        2.0 * rows * columns,
        unit="tensor.fp8",
        flops=2 * rows * columns * inner,
        sides=(rows, columns, inner, 1),
        scaled="tensor.fp8_block",
    )


def _moved(move: str, arguments: Arguments) -> OpWork:
    """Bytes of whole arguments by _MOVES; arguments other than tensors count nothing."""
    role = "".join(re.findall(r"[A-Za-z]\w+", move))
    read, written = (
        sum(arguments.bytes(i) for i in map(int, numbers) if arguments.is_tensor(i))
        for numbers in (re.findall(r"\b\d\b", side) for side in move.split(">"))
    )
    return _work(read, written, role)


def _generated(name: str, arguments: Arguments) -> OpWork:
    """A kernel of torch.compile touches at most as many elements of each array as it iterates over;
    whether it reads or writes them is unknown. Indexed accesses are not counted."""
    if _CHOOSES.search(name):
        raise Unclear
    size = math.prod(int(value) for value in arguments.scalars())
    moved = sum(
        min(arguments.bytes(index), size * arguments.element(index))
        for index in arguments.tensors(None)
    )
    return _work(moved, 0.0)


def _grouped(name: str, arguments: Arguments) -> OpWork:
    """GEMMs of groups of rows (or of the inner dimension), with a matrix each. Matrices do not
    count, since groups may be empty."""
    left, right = arguments.shape(0, (2,)), arguments.shape(1, (2, 3))
    inner, columns = right[-2], right[-1]
    if left[1] != inner:
        raise Unclear
    element = 2 if arguments.element(0) == 1 else arguments.element(0)
    flops, read = 2 * math.prod(left) * columns, arguments.bytes(0)
    result = left[0] * columns
    if len(right) == 2:
        read += arguments.bytes(1)
        result *= arguments.shape(2 if name == "aten::_grouped_mm" else 4, (1,))[0]
    scaled = "tensor.fp8_row" if name != "aten::_grouped_mm" and arguments.is_plain(_SCALES) else ""
    unit = arguments.unit(0)
    return _work(read, result * element, unit=unit, flops=flops, scaled=scaled)


def _pooling(name: str, arguments: Arguments) -> OpWork:
    source = arguments.shape(0, (4,))
    kernel, stride, padding, dilation = (arguments.numbers(index) for index in range(1, 5))
    stride = stride or kernel
    if any(step > size for step, size in zip(stride, kernel, strict=True)):
        raise Unclear
    result = [*source[:2], *_windows(source[2:], kernel, padding, stride, dilation)]
    written = math.prod(result) * (arguments.element(0) + _INDEX_BYTES)
    return _work(arguments.bytes(0), written)


def _elementwise(name: str, arguments: Arguments) -> OpWork:
    tensors = arguments.tensors(_ELEMENTWISE[name.removesuffix("_")])
    in_place = name.endswith("_")
    result = arguments.shape(tensors[0], range(1, 9))
    element = arguments.element(tensors[0])
    if not in_place:
        for index in tensors[1:]:
            result = _broadcast(result, arguments.shape(index, range(1, 9)))
        element = max(arguments.element(index) for index in tensors)
    read = sum(arguments.bytes(index) for index in tensors)
    written = math.prod(result) * element
    return _work(read, written, elementwise=not in_place)


def _concatenation(name: str, arguments: Arguments) -> OpWork:
    """Each element is read and written; the type of a tensor list is not recorded."""
    elements = arguments.elements_of_list(0)
    return _work(elements, elements, "CatArrayBatchedCopy", opaque=True)


def _looked_up(name: str, arguments: Arguments) -> OpWork:
    """Indices are read, and the chosen elements written. Reads of the table do not count: repeated
    rows may be read only once."""
    index = 1 if name == "aten::embedding" else 2
    written = math.prod(arguments.shape(index, range(1, 9)))
    if name == "aten::embedding":
        written *= arguments.shape(0, (2,))[1]
    elif name == "aten::index_select":
        table, along = arguments.shape(0, range(1, 9)), int(arguments.value(1))
        written *= math.prod(table) // table[along]
    elif written * arguments.element(index) == arguments.bytes(index):
        raise Unclear  # single elements, whose memory traffic is unknown
    read, written = arguments.bytes(index), written * arguments.element(0)
    return _work(read, written)


def _sorted(name: str, arguments: Arguments) -> OpWork:
    """Values are read, and written with their indices."""
    read, places = arguments.bytes(0), math.prod(arguments.shape(0, range(1, 9))) * _INDEX_BYTES
    return _work(read, read + places)


def _broadcast(first: list[int], second: list[int]) -> list[int]:
    longer, shorter = sorted((first, second), key=len, reverse=True)
    filled = [1] * (len(longer) - len(shorter)) + shorter
    if any(a != b and 1 not in (a, b) for a, b in zip(longer, filled, strict=True)):
        raise Unclear
    return [max(a, b) for a, b in zip(longer, filled, strict=True)]


def _attention(name: str, arguments: Arguments) -> list[OpWork]:
    where = _ATTENTION[name]
    # Packed sequences have three dimensions, and unknown lengths.
    query, key, value = (arguments.shape(where.query + i, (4,)) for i in range(3))
    tokens, heads = (2, 1) if where.heads_first else (1, 2)
    if any(arguments.value(index) not in ("", "-1") for index in where.windows):
        raise Unclear
    share = 1.0
    if arguments.value(where.causal) not in ("False", "0"):
        if query[tokens] != key[tokens]:
            raise Unclear
        share = (query[tokens] + 1) / (2 * query[tokens])
    pairs = query[0] * query[heads] * query[tokens] * key[tokens]
    # Forward, the scores use the key's size and the result the value's; backward they are equal.
    flops = 2 * pairs * (query[3] + value[3]) * where.products / 2 * share
    element = arguments.element(where.query)
    result = result_bytes = query[0] * query[heads] * query[tokens] * value[3] * element
    if where.query:  # backward: reads gradient and result, too, and writes three gradients
        operands = sum(arguments.bytes(index) for index in range(5))
        result = sum(math.prod(shape) for shape in (query, key, value)) * element
    else:
        operands = sum(arguments.bytes(index) for index in range(3))
    main = _work(operands, result, unit=arguments.unit(where.query), flops=flops)
    if not where.query:
        return [main]
    # Extra kernels: gradient times forward result before, conversion of the query's gradient after.
    size = math.prod(query)
    return [
        main,
        _work(2.0 * result_bytes, 0.0, "dot_do_o"),
        _work(4.0 * size, size * element, "convert_dq"),
    ]


def _windows(*sides: Sequence[int]) -> list[int]:
    """The number of windows along each dimension, from sizes, widths, padding, steps, distances."""
    return [
        (size + 2 * pad - gap * (width - 1) - 1) // step + 1
        for size, width, pad, step, gap in zip(*sides, strict=True)
    ]


# cuDNN computes with channels last, and rearranges other operands with one launch each.
_TO_CHANNELS_LAST, _TO_CHANNELS_FIRST = "nchwToNhwc", "nhwcToNchw"


def _rearranged(size: int, role: str) -> OpWork:
    return _work(size, size, role)


def _convolution(name: str, arguments: Arguments) -> list[OpWork]:
    source, weight = arguments.shape(0, (3, 4, 5)), arguments.shape(1, (3, 4, 5))
    padding, stride, dilation = (arguments.numbers(index) for index in (2, 3, 4))
    result = [source[0], weight[0], *_windows(source[2:], weight[2:], padding, stride, dilation)]
    flops = 2 * math.prod(result) * math.prod(weight[1:])
    operands = [arguments.bytes(0), arguments.bytes(1)]
    written = math.prod(result) * arguments.element(0)
    return [
        _work(sum(operands), written, unit=arguments.unit(0), flops=flops),
        *(_rearranged(size, _TO_CHANNELS_LAST) for size in operands),
        _rearranged(written, _TO_CHANNELS_FIRST),
    ]


def _convolution_backward(name: str, arguments: Arguments) -> list[OpWork]:
    gradient, weight = arguments.shape(0, (3, 4, 5)), arguments.shape(2, (3, 4, 5))
    if arguments.value(7) != "False":  # transposed
        raise Unclear
    flops, unit = 2 * math.prod(gradient) * math.prod(weight[1:]), arguments.unit(0)
    outgoing, source, weights = (arguments.bytes(index) for index in range(3))
    asked = arguments.value(10).strip("[]").split(", ")
    found = []
    for role, operand, result, wanted in (
        ("dgrad", weights, source, asked[0]),
        ("wgrad", source, weights, asked[1]),
    ):
        if wanted == "True":
            found += [
                _work(outgoing + operand, result, role, unit=unit, flops=flops),
                _rearranged(outgoing, _TO_CHANNELS_LAST),
                _rearranged(operand, _TO_CHANNELS_LAST),
                _rearranged(result, _TO_CHANNELS_FIRST),
            ]
    return found


_FORMULAS: dict[str, Callable[[str, Arguments], OpWork | list[OpWork]]] = {
    **dict.fromkeys(_PRODUCTS, _product),
    **dict.fromkeys(_ATTENTION, _attention),
    **dict.fromkeys(("aten::_grouped_mm", "aten::_scaled_grouped_mm"), _grouped),
    "aten::cudnn_convolution": _convolution,
    "aten::convolution_backward": _convolution_backward,
    "aten::max_pool2d_with_indices": _pooling,
    **dict.fromkeys(("aten::embedding", "aten::gather", "aten::index_select"), _looked_up),
    "aten::sort": _sorted,
    "aten::cat": _concatenation,
}


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


def foreach_work(kernel: str, blocks: int) -> OpWork | None:
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
            return OpWork("", 0.0, read * size, written * size)
    return None
