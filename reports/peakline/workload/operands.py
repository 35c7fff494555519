"""The operands of an operator in a trace: shapes, types, values."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

# Unit and bytes by torch's names of types, in lower case.
_TYPES = {
    "c10::bfloat16": ("tensor.bf16", 2),
    "c10::half": ("tensor.fp16", 2),
    "c10::float8_e4m3fn": ("tensor.fp8", 1),
    "c10::float8_e5m2": ("tensor.fp8", 1),
    "float": ("cuda_core.fp32", 4),
    "double": ("tensor.fp64", 8),
    "signed char": ("tensor.int8", 1),
}
# Bytes of types without a GEMM.
_OTHER_BYTES = {"bool": 1, "unsigned char": 1, "short": 2, "int": 4, "long int": 8, "long": 8}


class Unclear(Exception):
    """The shapes do not determine the work."""


class Arguments:
    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._shapes: Sequence[Any] = arguments.get("Input Dims") or ()
        self._strides: Sequence[Any] = arguments.get("Input Strides") or ()
        self._types: Sequence[Any] = arguments.get("Input type") or ()
        self._values: Sequence[Any] = arguments.get("Concrete Inputs") or ()

    def shape(self, index: int, dimensions: Sequence[int]) -> list[int]:
        shape = self._shapes[index]
        if len(shape) not in dimensions or not all(type(s) is int and s > 0 for s in shape):
            raise Unclear
        return list(shape)

    def unit(self, index: int) -> str:
        return _TYPES[str(self._types[index]).lower()][0]

    def is_fp8(self, index: int) -> bool:
        name = str(self._types[index]).lower()
        return name in _TYPES and _TYPES[name][0] == "tensor.fp8"

    def is_plain(self, index: int) -> bool:
        """Whether an argument is in FP32, as scales are that the instruction does not apply."""
        return str(self._types[index]).lower() == "float"

    def sizes(self, index: int) -> Sequence[Any]:
        """A shape of any number of dimensions, as recorded."""
        return tuple(self._shapes[index])

    def element(self, index: int) -> int:
        name = str(self._types[index]).lower()
        return _OTHER_BYTES[name] if name in _OTHER_BYTES else _TYPES[name][1]

    def scalars(self) -> list[str]:
        return [self._values[i] for i, of in enumerate(self._types) if of == "Scalar"]

    def is_tensor(self, index: int) -> bool:
        """Whether an argument is present and a tensor."""
        return index < len(self._types) and self._types[index] not in ("", "Scalar", "ScalarList")

    def tensors(self, most: int | None) -> list[int]:
        """The tensors among the first `most` arguments."""
        return [index for index, shape in enumerate(self._shapes[:most]) if shape]

    def bytes(self, index: int) -> int:
        """Distinct bytes: a dimension of stride 0 repeats the same elements."""
        shape = self.shape(index, range(9))
        strides = self._strides[index] if index < len(self._strides) else ()
        if len(strides) != len(shape):
            strides = [1] * len(shape)
        distinct = (size for size, stride in zip(shape, strides, strict=True) if stride)
        return math.prod(distinct) * self.element(index)

    def elements_of_list(self, index: int) -> int:
        shapes = self._shapes[index]
        if not shapes or not all(type(s) is int and s > 0 for shape in shapes for s in shape):
            raise Unclear
        return sum(math.prod(shape) for shape in shapes)

    def value(self, index: int) -> str:
        return str(self._values[index])

    def numbers(self, index: int) -> list[int]:
        return [int(part) for part in self.value(index).strip("[]").split(",")]
