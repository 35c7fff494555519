"""Peaks in the forms of other tools: a value, snippet or file each, with its provenance."""

import contextlib
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from peakline.names import basis_name
from peakline.peaks.mfu import utilization_name
from peakline.profile import Device, Peak, PeakError, Profile
from peakline.text import printable

# Denominators of published MFU, in order of preference.
PUBLISHED = ("datasheet", "theoretical")

# torch's names of the profile's precisions; TF32 is a mode of float32 there.
_TORCH_DTYPES = {
    "fp64": ("torch.float64",),
    "fp32": ("torch.float32",),
    "tf32": ('"torch.tf32"',),
    "bf16": ("torch.bfloat16",),
    "fp16": ("torch.float16",),
    "fp8": ("torch.float8_e4m3fn", "torch.float8_e5m2"),
    "int8": ("torch.int8",),
}


@dataclass(frozen=True, slots=True)
class Request:
    """A precision's peak on one basis, and the device's other figures."""

    profile: Profile
    peak: Peak
    device: str | int | None

    def also(self, dtype: str, basis: str = "") -> Peak | None:
        """Another precision, by default on the same basis; None if there is none."""
        try:
            return self.profile.peak(dtype, basis=basis or self.peak.basis, device=self.device)
        except PeakError:
            return None

    def memory(self, *bases: str) -> Peak | None:
        """The bandwidth of the device's memory on the first available basis."""
        for basis in bases:
            with contextlib.suppress(PeakError):
                return self.profile.bandwidth("hbm", basis=basis, device=self.device)
        return None

    def bandwidth(self) -> Peak | None:
        """The memory's bandwidth on the same kind of basis as the peak."""
        return self.memory(*(PUBLISHED if self.peak.published else ("measured",)))

    def achieved(self, peak: Peak | None) -> float:
        """The achievable, or else measured, share of a published peak. 1 for a measured peak,
        and if nothing was measured."""
        if peak is None or not peak.published:
            return 1.0
        bases = ("sustained", "measured", "burst")
        if peak.unit == "B/s":
            found = self.memory(*bases)
        else:
            peaks = (self.also(peak.resource, basis) for basis in bases)
            found = next((one for one in peaks if one is not None), None)
        return 1.0 if found is None else found / peak

    @property
    def gpu(self) -> Device | None:
        return self.profile.gpu(self.profile.select_devices(self.device)[0])

    def memory_bytes(self) -> float | None:
        return self.gpu.memory_bytes if self.gpu else None

    def empty_kernel_s(self) -> float | None:
        device = self.profile.select_devices(self.device)[0]
        found = self.profile.figures(device, role="launch.empty_kernel")
        return found[0].value if found else None


def _needed(bandwidth: Peak | None, tool: str) -> Peak:
    if bandwidth is None:
        raise PeakError(f"{tool} needs the memory's bandwidth, which the profile does not have")
    return bandwidth


def _provenance(peak: Peak) -> list[str]:
    lines = [
        f"# {peak.resource} of {peak.device}, {basis_name(peak.basis)}, dense: "
        f"{float(peak):.6g} {peak.unit}{f', {peak.work}' if peak.work else ''}",
        f"# from {peak.source}",
    ]
    if not peak.published:
        lines.append(
            f"# A measured peak: what the tool then calls MFU is a share {utilization_name(peak)}, "
            "larger than MFU as published."
        )
    return lines


def _number(value: float) -> str:
    """A float literal that reads back as exactly this value."""
    return repr(float(value))


# Printed below the provenance; {peak} is a float literal, {rounded} an integer.
_SNIPPETS = {
    "torchtitan": """\
# after the trainer is made: torchtitan's own table is then not asked
trainer.metrics_processor.gpu_peak_flops = {peak}""",
    "lightning": """\
from lightning.fabric.utilities.throughput import Throughput

throughput = Throughput(available_flops={peak})  # world_size=... too""",
    "composer": """\
from composer.callbacks import SpeedMonitor

speed_monitor = SpeedMonitor(gpu_flops_available={peak})""",
    "olmo-core": """\
from olmo_core.train.callbacks import SpeedMonitorCallback

speed_monitor = SpeedMonitorCallback(device_peak_flops_per_second={rounded})""",
    "triton": """\
from triton_kernels import roofline

# plot_roofline takes whole numbers alone as max_tbps and max_tflops, else it measures: in its place
max_tbps, max_tflops = {tbps}, {tflops}
roofline.get_memset_tbps = lambda *_: max_tbps
roofline.get_cublas_tflops = lambda *_: max_tflops""",
    "verl": """\
from verl.utils import flops_counter

# of the keys that are part of the device's name, verl takes the last in alphabetical order
flops_counter._DEVICE_FLOPS[{device}] = {peak}""",
    "nemo-rl": """\
import torch
from nemo_rl.utils import flops_tracker

flops_tracker.THEORETICAL_TFLOPS[({device}, {torch_dtype})] = {tflops}""",
    "prime-rl": """\
from prime_rl.trainer.perf import PerfCounter

# before the trainer is made: prime-rl's own table is then not asked
PerfCounter._get_peak_flops = lambda self, device_name: {peak}""",
    "nanogpt": """\
# in model.py, GPT.estimate_mfu, instead of the A100's constant
flops_promised = {peak}""",
}


def _torch_dtype(tool: str, peak: Peak) -> str:
    """The dtype of parameters whose GEMMs run in this precision; PeakError if torch has none."""
    precision = peak.resource.rpartition(".")[2]
    names = ("torch.float32",) if precision == "tf32" else _TORCH_DTYPES.get(precision, ())
    if not names:
        raise PeakError(f"{tool} goes by torch's dtypes, of which none is {precision}")
    return names[0]


def _snippet(tool: str, request: Request) -> list[str]:
    values = {
        "peak": _number(request.peak),
        "rounded": round(request.peak),
        "tflops": _number(request.peak / 1e12),
        "device": ascii(request.peak.device),
    }
    if "{torch_dtype}" in _SNIPPETS[tool]:
        values["torch_dtype"] = _torch_dtype(tool, request.peak)
    lines = _provenance(request.peak)
    if "{tbps}" in _SNIPPETS[tool]:
        bandwidth = _needed(request.bandwidth(), tool)
        lines.append(_bandwidth_line(bandwidth))
        values["tbps"] = _number(bandwidth / 1e12)
    return [*lines, *(line.format(**values) for line in _SNIPPETS[tool].splitlines())]


def _bandwidth_line(bandwidth: Peak) -> str:
    return f"# {bandwidth.resource}, {basis_name(bandwidth.basis)}: {float(bandwidth):.6g} B/s"


def _torchao(request: Request) -> list[str]:
    bandwidth = request.bandwidth()
    entries = {
        **{f"{dtype}_peak_tops": request.also(dtype) for dtype in ("bf16", "fp8", "fp4")},
        "peak_mem_bw_bytes_sec": bandwidth,
        # torchao multiplies peaks by these; a measured peak is already achieved.
        "pct_achievable_gemm_tops": request.achieved(request.peak),
        "pct_achievable_mem_bw": request.achieved(bandwidth),
    }
    lines = _provenance(request.peak)
    if bandwidth is not None:
        lines.append(_bandwidth_line(bandwidth))
    if request.peak.published:
        lines.append("# pct_achievable: the achievable rate, or else the measured one, of the peak")
    return [
        *lines,
        "from torchao.testing.training.roofline_utils import gpu_name_to_specs",
        "",
        f"gpu_name_to_specs[{request.peak.device!a}] = {{",
        *(f'    "{key}": {_number(value)},' for key, value in entries.items() if value is not None),
        "}",
    ]


def _inductor(request: Request) -> list[str]:
    bandwidth, memory = request.bandwidth(), request.memory_bytes()
    if bandwidth is None or memory is None:
        raise PeakError(
            "inductor's DeviceInfo needs memory bandwidth and size, which the profile does not have"
        )
    peaks = {dtype: request.also(dtype) for dtype in _TORCH_DTYPES}
    return [
        *_provenance(request.peak),
        f"{_bandwidth_line(bandwidth)}; units: TFLOP/s, GB/s, GB",
        "import torch",
        "from torch._inductor.analysis import device_info",
        "",
        "info = device_info.DeviceInfo(",
        "    tops={",
        *(
            f"        {name}: {_number(peak / 1e12)},"
            for dtype, peak in peaks.items()
            if peak is not None
            for name in _TORCH_DTYPES[dtype]
        ),
        "    },",
        f"    dram_bw_gbs={_number(bandwidth / 1e9)},",
        f"    dram_gb={_number(memory / 1e9)},",
        ")",
        f"name = {request.peak.device!a}",
        "device_info._device_mapping[name] = info",
        "device_info._device_mapping[name.upper()] = info  # where newer torch looks",
    ]


def _note(request: Request) -> str:
    """The provenance in one line, for files without comments."""
    lines = (line.removeprefix("# ").removesuffix(".") for line in _provenance(request.peak))
    return "; ".join(lines)


# TraceLens' names of units, and the resources to look for.
_TRACELENS = {
    **{f"matrix_{name}": (f"tensor.{name}",) for name in ("fp16", "bf16", "tf32", "fp8", "int8")},
    "matrix_fp32": ("gemm.fp32", "cuda_core.fp32"),
    "matrix_fp64": ("tensor.fp64", "cuda_core.fp64"),
    **{f"vector_{name}": (f"cuda_core.{name}",) for name in ("fp16", "fp32", "fp64")},
}


def _tracelens(request: Request) -> list[str]:
    found = {key: [request.also(name) for name in names] for key, names in _TRACELENS.items()}
    peaks = {key: next((p for p in some if p is not None), None) for key, some in found.items()}
    memory = request.memory_bytes()
    # TraceLens' own files have achievable rates and the datasheet's bandwidth.
    bandwidth = _needed(request.memory(*PUBLISHED), "TraceLens")
    document = {
        "name": request.peak.device,
        "mem_bw_gbps": bandwidth / 1e9,
        **({"memory_gb": memory / 1e9} if memory is not None else {}),
        "max_achievable_tflops": {k: p / 1e12 for k, p in peaks.items() if p is not None},
        "_reference": f"max_achievable_tflops: {basis_name(request.peak.basis)}; {_note(request)}; "
        f"mem_bw_gbps: {_bandwidth_line(bandwidth).removeprefix('# ')}",
    }
    return json.dumps(document, indent=2).splitlines()


def _simumax(request: Request) -> list[str]:
    bandwidth, memory = _needed(request.bandwidth(), "SimuMax"), request.memory_bytes()

    def operation(peak: Peak) -> dict[str, float]:
        return {"tflops": peak / 1e12, "efficient_factor": request.achieved(peak)}

    peaks = {"default": request.peak, "matmul": request.peak, "fp8_matmul": request.also("fp8")}
    operations = {name: operation(peak) for name, peak in peaks.items() if peak is not None}
    memory_access = {
        "gbps": bandwidth / 1e9,
        "efficient_factor": request.achieved(bandwidth),
        "latency_us": (request.empty_kernel_s() or 0.0) * 1e6,
    }
    document = {
        "sys_name": request.peak.device,
        "_notes": f"{_note(request)}; not measured: networks, and num_per_node; take them from a "
        "system file of SimuMax.",
        "accelerator": {
            "backend": "cuda",
            **({"mem_gbs": memory / 2**30} if memory is not None else {}),
            "op": operations,
            "bandwidth": {"default": memory_access},
            "mode": "roofline",
        },
    }
    return json.dumps(document, indent=2).splitlines()


def _plain(value: float) -> str:
    """A number without an exponent, which YAML 1.1 reads as text if there is no point."""
    return f"{value:.12f}".rstrip("0").rstrip(".")


def _aiconfigurator(request: Request) -> list[str]:
    bandwidth, gpu = _needed(request.bandwidth(), "aiconfigurator"), request.gpu
    values: dict[str, float | None] = {
        "mem_bw": bandwidth,
        "mem_bw_empirical_scaling_factor": request.achieved(bandwidth),
        "mem_empirical_constant_latency": request.empty_kernel_s(),
        "mem_capacity": request.memory_bytes(),
        "bfloat16_tc_flops": request.also("bf16"),
        "int8_tc_flops": request.also("int8"),
        "fp8_tc_flops": request.also("fp8"),
        "fp4_tc_flops": request.also("fp4"),
        "power": gpu.power_limit_w if gpu else None,
        "sm_version": 10 * gpu.compute_major + gpu.compute_minor if gpu else None,
    }
    return [
        *_provenance(request.peak),
        _bandwidth_line(bandwidth),
        "# mem_bw_empirical_scaling_factor: what was measured of mem_bw; "
        "mem_empirical_constant_latency: an empty kernel's",
        "# takes the place of gpu in a system file; data_dir, node and misc were not measured",
        "gpu:",
        *(f"  {key}: {_plain(value)}" for key, value in values.items() if value is not None),
    ]


def _json(request: Request) -> list[str]:
    peak = request.peak
    document = {
        "value": float(peak),
        "unit": peak.unit,
        "resource": peak.resource,
        "basis": peak.basis,
        "dense": True,
        "work": peak.work,
        "device": peak.device,
        "share_is_called": utilization_name(peak),
        "source": peak.source,
    }
    return json.dumps(document, indent=2).splitlines()


_PYTHON: Mapping[str, Callable[[Request], list[str]]] = {
    **{tool: functools.partial(_snippet, tool) for tool in _SNIPPETS},
    "torchao": _torchao,
    "inductor": _inductor,
}
EXPORTS: Mapping[str, Callable[[Request], list[str]]] = {
    **_PYTHON,
    "tracelens": _tracelens,
    "simumax": _simumax,
    "aiconfigurator": _aiconfigurator,
    "json": _json,
}


# Default bases that are not the datasheet's: TraceLens expects achievable rates.
_BASES = {"tracelens": "burst"}


def export(
    profile: Profile,
    tool: str,
    dtype: str,
    *,
    basis: str | None = None,
    device: str | int | None = None,
) -> str:
    """The peak in the form of `tool` (a key of EXPORTS): Python code, or a document.

    dtype, basis, device: as in `Profile.peak`; the default basis is burst for tracelens, published
    for all others. Raises PeakError, ValueError for an unknown tool.
    """
    if tool not in EXPORTS:
        raise ValueError(f"unknown tool {tool!r}: use one of {', '.join(EXPORTS)}")
    basis = basis or _BASES.get(tool, "published")
    peak = profile.peak(dtype, basis=basis, device=device)
    # Python takes a file's encoding from its first comments, in which UTF-7 could hide code.
    lines = ["# coding: utf-8"] if tool in _PYTHON else []
    lines += EXPORTS[tool](Request(profile, peak, device))
    # Printable: a line break in a comment would run the rest as code.
    return "".join(f"{printable(line)}\n" for line in lines)
