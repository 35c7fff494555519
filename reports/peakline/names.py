"""How resources and operand formats are called."""

from __future__ import annotations

_LEVEL_NAMES = {"hbm": "HBM", "pcie": "PCIe", "memory": "memory", "l2": "L2", "shared": "shared"}
_VARIANT_NAMES = {"h2d": "to device", "d2h": "to host", "bidirectional": "both ways"}
_UNIT_NAMES = {
    "tensor": "Tensor Cores",
    "cuda_core": "CUDA cores",
    "gemm": "matrix product",
    "cpu": "CPU",
}
_FORMAT_NAMES = {
    "fp8_e5m2": "FP8 E5M2",
    "fp8_accurate": "FP8 accurate",
    "fp16_acc16": "FP16 acc16",
}


def format_name(name: str) -> str:
    """How an operand format is called: "bf16" is "BF16", "fp8_e5m2" is "FP8 E5M2"."""
    return _FORMAT_NAMES.get(name, name.upper())


def resource_name(resource: str) -> str:
    """How a resource is called, as `peakline show` does: "tensor.bf16" is "BF16 Tensor Cores"."""
    family, _, variant = resource.partition(".")
    if family in _UNIT_NAMES:
        return f"{format_name(variant)} {_UNIT_NAMES[family]}"
    variant = _VARIANT_NAMES.get(variant, variant.replace("_", " "))
    return f"{_LEVEL_NAMES.get(family, family)} {variant}".strip()


def level_of(resource: str) -> str:
    """The memory level of a resource: "hbm" of "hbm.read", "l2" of "cache.l2.read"."""
    family, _, variant = resource.partition(".")
    return variant.partition(".")[0] if family == "cache" else family
