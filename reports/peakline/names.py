"""Printed names of formats, resources, bases and findings."""

import re
from collections.abc import Collection, Mapping

from peakline import units


def format_name(name: str) -> str:
    """The printed name of an operand format: "bf16" is "BF16", "fp8_e5m2" is "FP8 E5M2"."""
    first, *others = name.split("_")
    # "e5m2" is part of the name, "accurate" is a word.
    return " ".join([first.upper(), *(o.upper() if o[1:2].isdigit() else o for o in others)])


def plain_label(resource: str) -> str:
    """The printed name of a resource without a label: "tensor.bf16" is "tensor bf16"."""
    return resource.replace(".", " ").replace("_", " ")


_ACRONYMS_OF_IDS = ("dsmem", "fma", "gemm", "hbm", "mma", "nccl", "tma")
_SPELLED = {"pcie": "PCIe", "nvlink": "NVLink", **{word: word.upper() for word in _ACRONYMS_OF_IDS}}
# Parameters in bytes.
_SIZES = {"block", "bytes", "chunk", "element", "footprint", "in_flight", "limit", "piece"}
_SIZES |= {"offset", "tile", "width"}


def point_name(id_: str, params: Mapping[str, int | str]) -> str:
    """The printed name of a measurement, as terminals have it: "PCIe D2H pinned (64 KiB)"."""
    words = (
        word.upper() if re.search(r"\d", word) else _SPELLED.get(word, word)
        for word in re.split("[._]", id_)
    )
    values = ", ".join(
        str(value).replace("_", " ")
        if isinstance(value, str)
        else units.size(value)
        if name in _SIZES
        else f"{name.replace('_', ' ')} {value}"
        for name, value in params.items()
    )
    return " ".join(words) + (f" ({values})" if values else "")


# The words of `peakline show` for the peaks that MFU divides by, and the bases they stand for.
# Memory and links have one measured rate, which holds under load.
BASIS_WORDS = {
    "published": ("datasheet",),
    "achievable": ("sustained", "measured"),
    "model": ("model_shaped",),
}
_WORD_OF_BASIS = {bases[0]: word for word, bases in BASIS_WORDS.items()}


def basis_name(basis: str) -> str:
    """The printed name of a basis: "sustained" is "achievable", "model_burst" is "model burst"."""
    return _WORD_OF_BASIS.get(basis, basis.replace("_", " "))


_ACRONYMS = re.compile(r"\b(cpu|ecc|l2|nvlink|pcie|tlb)\b")


def finding_name(code: str) -> str:
    """The printed name of a finding: "tlb_reach" is "TLB reach"."""
    words = _ACRONYMS.sub(lambda match: match[0].upper(), code.replace("_", " "))
    return words.replace("NVLINK", "NVLink").replace("PCIE", "PCIe")


def gpus_name(indices: Collection[int]) -> str:
    """The name of a machine's GPUs: "GPU 3", "GPUs 0-7", "GPUs 0, 2, 5"."""
    first, last = min(indices), max(indices)
    if first == last:
        return f"GPU {first}"
    if len(indices) > 2 and last - first == len(indices) - 1:
        return f"GPUs {first}-{last}"
    return f"GPUs {', '.join(map(str, sorted(indices)))}"


def level_of(resource: str) -> str:
    """The memory level of a resource: "hbm" of "hbm.read"."""
    return resource.partition(".")[0]


def is_of_node(resource: str) -> bool:
    """Whether a resource lies between GPUs, and is measured on the node."""
    return level_of(resource) in ("nvlink", "nccl")
