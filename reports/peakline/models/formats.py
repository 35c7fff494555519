"""Formats of weights and KV cache: bytes of an element, and the precision that computes."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from peakline.profile.peaks import instruction_of


@dataclass(frozen=True, slots=True)
class _Format:
    nbytes: float  # of an element, with scales
    gemm: str  # the precision of its GEMMs, as `Profile.peak` takes it

    @property
    def computes(self) -> str:
        """The precision of its instructions."""
        return instruction_of(self.gemm)


# Weight-only formats compute in BF16. Scales: 4 bytes per 128 x 128 weights for FP8 with blocks, 1
# byte per 32 for MXFP4 and per 16 for NVFP4; those of FP8 by rows of weights and tokens are few.
_WEIGHTS: Mapping[str, _Format] = {
    "bf16": _Format(2.0, "bf16"),
    "fp16": _Format(2.0, "fp16"),
    "fp8": _Format(1.0, "fp8"),
    "fp8row": _Format(1.0, "fp8_row"),
    "fp8block": _Format(1.0 + 4 / 128**2, "fp8_block"),
    "int8": _Format(1.0, "bf16"),
    "mxfp4": _Format(0.5 + 1 / 32, "bf16"),
    "nvfp4": _Format(0.5 + 1 / 16, "nvfp4"),
}
_PLAIN = "bf16"
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


# The parts of a layer are attention or state, the MLP of a dense layer, what all tokens use beside
# routed experts, and those experts.
LAYER_PARTS = ("attention", "dense", "shared", "experts")
_SPEEDS = ("bf16", "fp8", "nvfp4")  # precisions, the fastest last


@dataclass(frozen=True, slots=True)
class Formats:
    """Formats of a model's parts, named as in WEIGHT_FORMATS and CACHE_FORMATS.

    attention, dense (an MLP of all tokens), shared and (routed) experts: by default as `weights`.
    head, embedding: BF16 in most quantized models. layers: parts of single layers that differ from
    it, as (layer, part, format, share of the part's weights). compute: precision of the GEMMs, by
    default the fastest of these. stored_bytes: memory of all weights, by default computed from
    shape and formats.
    """

    weights: str = "bf16"
    kv_cache: str = "bf16"
    head: str = "bf16"
    experts: str | None = None
    compute: str | None = None
    stored_bytes: int | None = None
    attention: str | None = None
    dense: str | None = None
    shared: str | None = None
    embedding: str = "bf16"
    layers: tuple[tuple[int, str, str, float], ...] = ()

    def __post_init__(self) -> None:
        for name in self._names():
            _weights(name)
        if self.kv_cache not in _CACHE:
            raise ValueError(
                f"KV cache {self.kv_cache!r}: --kv-cache takes {', '.join(CACHE_FORMATS)}"
            )

    def of(self, part: str) -> str:
        return getattr(self, part) or self.weights

    def sizes(self) -> Callable[[int, str], float]:
        """Bytes of an element by layer and part."""
        usual = {part: _weights(self.of(part)).nbytes for part in LAYER_PARTS}
        usual["router"] = _WEIGHTS[_PLAIN].nbytes
        own = defaultdict[tuple[int, str], float](float)
        for layer, part, name, share in self.layers:
            own[layer, part] += share * _weights(name).nbytes
        return lambda layer, part: own.get((layer, part), usual[part])

    @property
    def dense_bytes(self) -> float:
        return _weights(self.weights).nbytes

    @property
    def head_bytes(self) -> float:
        return _weights(self.head).nbytes

    @property
    def embedding_bytes(self) -> float:
        return _weights(self.embedding).nbytes

    @property
    def kv_bytes(self) -> float:
        return _CACHE[self.kv_cache]

    @property
    def precision(self) -> str:
        made = (_weights(name).computes for name in self._names())
        return self.compute or max(made, key=_SPEEDS.index)

    def gemm(self, part: str) -> str:
        """The precision of the GEMMs of a layer's part, or of the head, as `Profile.peak` takes it:
        "fp8_block". Formats of single layers do not count; routers have BF16."""
        name = _PLAIN if part == "router" else self.of(part)
        return self.compute or _weights(name).gemm

    def _names(self) -> set[str]:
        usual = {self.of(part) for part in (*LAYER_PARTS, "head", "embedding")}
        return usual | {name for _, _, name, _ in self.layers}

    def __str__(self) -> str:
        """ "bf16", "bf16 with mxfp4 experts"."""
        parts = [(part, getattr(self, part)) for part in LAYER_PARTS]
        parts += [(part, self.of(part)) for part in ("head",) if self.of(part) != "bf16"]
        text = " and ".join(f"{name} {_TITLES[part]}" for part, name in parts if name)
        count = len({layer for layer, *_ in self.layers})
        others = f"other formats in {count} layer{'s' if count > 1 else ''}" if count else ""
        text = " and ".join(filter(None, (text, others)))
        return f"{self.weights}{f' with {text}' if text else ''}"


_TITLES = {
    "attention": "attention",
    "dense": "MLPs",
    "shared": "shared experts",
    "experts": "experts",
    "head": "output head",
}
