"""Formats of weights and KV cache: bytes of an element, and the precision that computes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Format:
    nbytes: float  # of an element, with scales
    computes: str  # the precision of its GEMMs


# Weight-only formats compute in BF16. Scales: 4 bytes per 128 x 128 weights for FP8 with blocks, 1
# byte per 32 for MXFP4 and per 16 for NVFP4.
_WEIGHTS: Mapping[str, _Format] = {
    "bf16": _Format(2.0, "bf16"),
    "fp16": _Format(2.0, "fp16"),
    "fp8": _Format(1.0, "fp8"),
    "fp8block": _Format(1.0 + 4 / 128**2, "fp8"),
    "int8": _Format(1.0, "bf16"),
    "mxfp4": _Format(0.5 + 1 / 32, "bf16"),
    "nvfp4": _Format(0.5 + 1 / 16, "nvfp4"),
}
_CACHE = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0}
# INT4 has a BF16 scale per group, and a 4-bit zero point unless symmetric.
_INT4 = re.compile(r"int4g([1-9][0-9]{0,4})(sym)?")
WEIGHT_FORMATS = (*_WEIGHTS, "int4g128", "int4g32", "int4g32sym")
CACHE_FORMATS = tuple(_CACHE)


def _weights(name: str) -> _Format:
    group = _INT4.fullmatch(name)
    if group:
        return _Format(0.5 + (2.0 if group[2] else 2.5) / int(group[1]), "bf16")
    if name not in _WEIGHTS:
        raise ValueError(
            f"weights {name!r}: not a known format; --weights takes {', '.join(WEIGHT_FORMATS)}"
        )
    return _WEIGHTS[name]


@dataclass(frozen=True, slots=True)
class Formats:
    """Formats of a model's parts, named as in WEIGHT_FORMATS and CACHE_FORMATS.

    experts: of routed ones, by default as `weights`. head: of the output head, BF16 in most
    quantized models. compute: precision of the GEMMs, by default that of `weights`. stored_bytes:
    memory of all weights, by default computed from shape and formats.
    """

    weights: str = "bf16"
    kv_cache: str = "bf16"
    head: str = "bf16"
    experts: str | None = None
    compute: str | None = None
    stored_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in (self.weights, self.head, self.experts or self.weights):
            _weights(name)
        if self.kv_cache not in _CACHE:
            raise ValueError(
                f"KV cache {self.kv_cache!r}: --kv-cache takes {', '.join(CACHE_FORMATS)}"
            )

    @property
    def dense_bytes(self) -> float:
        return _weights(self.weights).nbytes

    @property
    def expert_bytes(self) -> float:
        return _weights(self.experts or self.weights).nbytes

    @property
    def head_bytes(self) -> float:
        return _weights(self.head).nbytes

    @property
    def kv_bytes(self) -> float:
        return _CACHE[self.kv_cache]

    @property
    def precision(self) -> str:
        return self.compute or _weights(self.experts or self.weights).computes

    def __str__(self) -> str:
        """ "bf16", "bf16 with mxfp4 experts"."""
        return f"{self.weights}{f' with {self.experts} experts' if self.experts else ''}"
