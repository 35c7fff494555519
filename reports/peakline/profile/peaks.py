"""Peaks for training code, and the names of precisions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from peakline import units
from peakline.names import BASIS_WORDS, basis_name, level_of
from peakline.profile.conclusions import BASES, PUBLISHED_BASES
from peakline.text import OneLine, short


class PeakError(OneLine, LookupError):
    """A figure or population that does not exist, or a request that is ambiguous."""


class Peak(float):
    """A limit in FLOP/s (OP/s for integers) or B/s: a `float` that knows its origin. `mfu` reads
    its basis, so that a share of a measured peak is never called MFU. It prints as "701 TFLOP/s
    achievable (tensor.bf16 of NVIDIA H200)"."""

    resource: str
    basis: str
    unit: str
    device: str
    source: str
    work: str

    def __new__(
        cls,
        value: float,
        *,
        resource: str,
        basis: str,
        unit: str,
        device: str,
        source: str,
        work: str = "",
    ) -> Peak:
        """device: the model's name. source: profile, measurement and note. work: what the
        measurement ran, a whole GEMM or single instructions."""
        peak = super().__new__(cls, value)
        peak.resource, peak.basis, peak.unit = resource, basis, unit
        peak.device, peak.source, peak.work = device, source, work
        return peak

    @property
    def published(self) -> bool:
        """Whether it follows from a specification, not a measurement."""
        return self.basis in PUBLISHED_BASES

    @property
    def memory(self) -> str:
        """The memory level beside the units: "hbm", or "memory" of the host."""
        return "memory" if level_of(self.resource) == "cpu" else "hbm"

    def __str__(self) -> str:
        return (
            f"{units.rate(self, self.unit)} {basis_name(self.basis)} "
            f"({self.resource} of {self.device})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Peak, **vars(self)), (float(self),)


def known_peaks(bases: Iterable[str], peak: Callable[[str], Peak]) -> dict[str, Peak]:
    """The available peaks by basis. Raises the first PeakError if there is none."""
    found: dict[str, Peak] = {}
    failures = []
    for basis in bases:
        try:
            found[basis] = peak(basis)
        except PeakError as error:
            failures.append(error)
    if failures and not found:
        raise failures[0]
    return found


# Common names of precisions, and the profile's.
_DTYPE_ALIASES = {
    alias: name
    for name, aliases in {
        "bf16": "bfloat16",
        "fp16": "half float16 f16",
        "fp32": "single float float32 f32",
        "fp64": "double float64 f64",
        "tf32": "tensorfloat32",
        "fp8": "float8_e4m3fn float8_e5m2 e4m3 e5m2",
        "fp4": "float4_e2m1fn_x2 e2m1",
    }.items()
    for alias in aliases.split()
}
_DTYPES = (
    *("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4"),
    # Formats with scales, which are measured separately, but published as FP8 and FP4.
    *("fp8_row", "fp8_block", "fp8_block_both", "mxfp8", "nvfp4", "mxfp4"),
)
# The instruction's precision of formats whose scales cost time in the GEMM alone.
_INSTRUCTIONS = dict.fromkeys(("fp8_row", "fp8_block", "fp8_block_both"), "fp8")
# Search order for a bare precision: the matrix units, then the plain cores.
COMPUTE_FAMILIES = ("tensor", "cuda_core", "cpu")
# GEMMs on the plain cores must be asked for by name.
_NAMED_FAMILIES = (*COMPUTE_FAMILIES, "gemm")
# The first part of a measurement's id tells what ran where a peak was measured.
_WORK = {"gemm": "GEMM", "mma": "matrix instructions alone", "fma": "FMAs alone"}


def instruction_of(name: str) -> str:
    """The precision, or resource, of the instruction that GEMMs of a precision run: "tensor.fp8" of
    "tensor.fp8_block", whose scales cost time, but change no bound."""
    family, dot, dtype = name.rpartition(".")
    return family + dot + _INSTRUCTIONS.get(dtype, dtype)


def work_of(measurement: str) -> str:
    """The kind of work of a measurement; empty if it is no computation."""
    return _WORK.get(measurement.partition(".")[0], "")


def bases_of(basis: str) -> tuple[str, ...]:
    """The profile's bases that a basis or a word of BASIS_WORDS stands for, the first known one of
    which counts. Raises PeakError."""
    if basis in BASIS_WORDS:
        return BASIS_WORDS[basis]
    if basis in BASES:
        return (basis,)
    raise PeakError(
        f"unknown basis {short(str(basis))!r}: use one of {', '.join((*BASIS_WORDS, *BASES))}"
    )


def normalize_dtype(dtype: str) -> str:
    """The profile's name of a precision: "bf16" for "torch.bfloat16".

    A resource such as "tensor.bf16" or "cuda_core.fp16" is returned as it is. Raises PeakError for
    an unknown or sparse precision.
    """
    given = short(str(dtype))
    text = str(dtype).strip().lower().removeprefix("torch.")
    if "sparse" in text or "2:4" in text:
        raise PeakError(
            f"{given!r}: a profile holds dense peaks only, and a sparse one is twice as large on "
            "paper, so MFU against it would be half as large; ask for the dense precision"
        )
    family, _, name = text.rpartition(".")
    name = _DTYPE_ALIASES.get(name, name)
    if name not in _DTYPES or family not in ("", *_NAMED_FAMILIES):
        raise PeakError(
            f"unknown precision {given!r}: use one of {', '.join(_DTYPES)}, or name the unit too, "
            "as in tensor.fp16, cuda_core.fp16 or gemm.fp32"
        )
    return f"{family}.{name}" if family else name
