"""Traces of other vendors' devices and of other tools: refused, with what to record instead."""

import re
from collections.abc import Mapping
from typing import Any

from peakline.workload.kernel import WorkloadError
from peakline.workload.model import Trace

_AMD = "AMD's ROCm"
_XPU = "Intel's XPU runtime"
# By categories of a runtime's calls, as PyTorch's profiler writes them.
_CATEGORIES = {
    "xpu": _XPU,
    "mlu": "Cambricon's MLU runtime",
    "mtia": "Meta's MTIA runtime",
    "hpu": "Intel's Gaudi runtime",
    "npu": "Huawei's Ascend runtime",
    "musa": "Moore Threads' MUSA runtime",
    "privateuse1": "another vendor's runtime",
}
# By names of calls and kernels.
_NAMES = {
    _AMD: re.compile(r"hip[A-Z]|hsa_|Cijk_"),
    _XPU: re.compile(r"ur[A-Z]\w+|ze[A-Z]\w+$"),
    _CATEGORIES["mlu"]: re.compile(r"cn(Invoke|Queue|Memcpy|rt)[A-Z]"),
}
_MODELS = {
    _AMD: re.compile(r"\b(AMD|Instinct|Radeon)\b"),
    _XPU: re.compile(r"\bIntel\b"),
    _CATEGORIES["mlu"]: re.compile(r"\bMLU\d"),
}
# Other tools by what their events have that PyTorch's profiler has not, and what to give instead.
_WITH_NSYS = "which is not read: record with nsys profile --trace=cuda,nvtx"
CHAKRA = (
    "an execution trace (Chakra), which has no times of kernels: give the trace of torch.profiler "
    "that was recorded beside it"
)
_TOOLS = {
    f"a trace of JAX/XLA, {_WITH_NSYS}": re.compile(
        r"hlo_op|hlo_module|kernel_details|/device:(GPU|TPU)|PjitFunction|PjRt|XlaModule"
    ),
    f"a profile of ONNX Runtime, {_WITH_NSYS}": re.compile(
        r"ExecutionProvider|_kernel_time\b|model_loading_|session_initialization"
    ),
    f"a trace of TensorFlow, {_WITH_NSYS}": re.compile(r"\btf_op\b|tensorflow"),
    f"a trace by eBPF, {_WITH_NSYS}, or with torch.profiler": re.compile(
        r"e?bpf|\b[uk](ret)?probe", re.IGNORECASE
    ),
}


def vendor_of(category: str, arguments: Mapping[str, Any]) -> str:
    """The runtime that an event of another vendor's device belongs to; else ""."""
    if "sycl queue" in arguments or "l0 queue" in arguments:
        return _XPU
    return _CATEGORIES.get(category.partition("_")[0], "")


def tool_of(event: Mapping[str, Any]) -> str:
    """What an event's trace is, if its tool is another than PyTorch's profiler; else ""."""
    text = str([event.get("cat"), event.get("name"), event.get("args")])[:2000]
    return next((tool for tool, pattern in _TOOLS.items() if pattern.search(text)), "")


def refuse_other_vendors(trace: Trace) -> None:
    """Raises WorkloadError for a trace of a device that is not NVIDIA's."""
    vendor = trace.vendor
    models = []
    for name, pattern in _MODELS.items():
        if found := sorted({model for model in trace.models.values() if pattern.search(model)}):
            vendor, models = name, found
    used = {place for rows in (trace.calls, trace.activities) for place in rows["name"].tolist()}
    for name, pattern in _NAMES.items():
        if any(pattern.match(trace.names[place]) for place in used):
            vendor = name
    if vendor:
        on = f" on {', '.join(models)}" if models else ""
        raise WorkloadError(
            f"{trace.name}: recorded{on} with {vendor}, and profiles of peakline are of NVIDIA "
            "GPUs: give a trace of the profile's machine"
        )
