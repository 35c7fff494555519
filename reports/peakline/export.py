"""Peaks as other tools take them: a value or snippet for each, with its provenance in comments."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from peakline.mfu import utilization_name
from peakline.profile import Peak, PeakError, Profile

# What torch calls a precision of a profile; TF32 is a mode of float32 there.
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
    """What is exported: one precision's peak on one basis, and the device's other figures."""

    profile: Profile
    peak: Peak
    device: str | int | None

    def also(self, dtype: str) -> Peak | None:
        """Another precision on the same basis; None where the profile has none."""
        try:
            return self.profile.peak(dtype, basis=self.peak.basis, device=self.device)
        except PeakError:
            return None

    def bandwidth(self) -> Peak | None:
        """Device memory, on the same kind of basis: published with published, else measured."""
        bases = ("datasheet", "theoretical") if self.peak.published else ("measured",)
        for basis in bases:
            try:
                return self.profile.bandwidth("hbm", basis=basis, device=self.device)
            except PeakError:
                continue
        return None

    def achieved(self, peak: Peak) -> float:
        """What was measured of a published peak, sustained before all; 1 where nothing was."""
        for basis in ("sustained", "measured", "burst"):
            try:
                if peak.unit == "B/s":
                    found = self.profile.bandwidth("hbm", basis=basis, device=self.device)
                else:
                    found = self.profile.peak(peak.resource, basis=basis, device=self.device)
            except PeakError:
                continue
            return found / peak
        return 1.0

    def memory_bytes(self) -> float | None:
        """Size of the device's memory."""
        gpu = self.profile.gpu(self.profile.select_devices(self.device)[0])
        return gpu.memory_bytes if gpu else None


def _one_line(text: str) -> str:
    # A line break would end the comment, and what follows would be run as code.
    return " ".join(text.split())


def _provenance(peak: Peak) -> list[str]:
    lines = [
        f"# {peak.resource} of {_one_line(peak.device)}, {peak.basis}, dense: "
        f"{float(peak):.6g} {peak.unit}{f', {peak.work}' if peak.work else ''}",
        f"# from {_one_line(peak.source)}",
    ]
    if not peak.published:
        lines.append(
            f"# A measured peak: what the tool then calls MFU is {utilization_name(peak)}, larger "
            "than MFU as published."
        )
    return lines


def _number(value: float) -> str:
    """A float literal that reads back as exactly this value."""
    return repr(float(value))


# What stands below the provenance; {peak} is a float literal, {rounded} an integer.
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
    "nanogpt": """\
# in model.py, GPT.estimate_mfu, instead of the A100's constant
flops_promised = {peak}""",
}


def _snippet(tool: str, request: Request) -> list[str]:
    text = _SNIPPETS[tool].format(peak=_number(request.peak), rounded=round(request.peak))
    return [*_provenance(request.peak), text]


def _torchao(request: Request) -> list[str]:
    bandwidth = request.bandwidth()
    lines = _provenance(request.peak)
    entries = {}
    for dtype in ("bf16", "fp8", "fp4"):
        peak = request.also(dtype)
        if peak is not None:
            entries[f"{dtype}_peak_tops"] = _number(peak)
    if bandwidth is not None:
        lines.append(f"# {bandwidth.resource}, {bandwidth.basis}: {float(bandwidth):.6g} B/s")
        entries["peak_mem_bw_bytes_sec"] = _number(bandwidth)
    # torchao multiplies peaks by these shares, and needs them; a measured peak is achieved.
    gemm, memory = 1.0, 1.0
    if request.peak.published:
        gemm = request.achieved(request.peak)
        memory = request.achieved(bandwidth) if bandwidth is not None else 1.0
        lines.append(
            "# pct_achievable: measured, sustained where there is such a figure, of the peak"
        )
    entries |= {"pct_achievable_gemm_tops": _number(gemm), "pct_achievable_mem_bw": _number(memory)}
    lines += [
        "from torchao.testing.training.roofline_utils import gpu_name_to_specs",
        "",
        f"gpu_name_to_specs[{json.dumps(request.peak.device)}] = {{",
        *(f'    "{key}": {value},' for key, value in entries.items()),
        "}",
    ]
    return lines


def _inductor(request: Request) -> list[str]:
    bandwidth, memory = request.bandwidth(), request.memory_bytes()
    if bandwidth is None or memory is None:
        raise PeakError(
            "inductor's DeviceInfo needs memory bandwidth and size, which the profile does not have"
        )
    lines = [
        *_provenance(request.peak),
        f"# {bandwidth.resource}, {bandwidth.basis}: {float(bandwidth):.6g} B/s; units: TFLOP/s, "
        "GB/s, GB",
        "import torch",
        "from torch._inductor.analysis import device_info",
        "",
        "info = device_info.DeviceInfo(",
        "    tops={",
    ]
    for dtype, names in _TORCH_DTYPES.items():
        peak = request.also(dtype)
        if peak is not None:
            lines += [f"        {name}: {_number(peak / 1e12)}," for name in names]
    return [
        *lines,
        "    },",
        f"    dram_bw_gbs={_number(bandwidth / 1e9)},",
        f"    dram_gb={_number(memory / 1e9)},",
        ")",
        f"name = {json.dumps(request.peak.device)}",
        "device_info._device_mapping[name] = info",
        "device_info._device_mapping[name.upper()] = info  # where newer torch looks",
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
    return [json.dumps(document, indent=2)]


EXPORTS: Mapping[str, Callable[[Request], list[str]]] = {
    **{tool: functools.partial(_snippet, tool) for tool in _SNIPPETS},
    "torchao": _torchao,
    "inductor": _inductor,
    "json": _json,
}


def export(
    profile: Profile,
    tool: str,
    dtype: str,
    *,
    basis: str = "datasheet",
    device: str | int | None = None,
) -> str:
    """What `tool` (a key of EXPORTS) takes, as Python code or, for json, a document.

    dtype, basis, device as in `Profile.peak`. Raises PeakError, ValueError for an unknown tool.
    """
    if tool not in EXPORTS:
        raise ValueError(f"unknown tool {tool!r}: use one of {', '.join(EXPORTS)}")
    peak = profile.peak(dtype, basis=basis, device=device)
    return "\n".join(EXPORTS[tool](Request(profile, peak, device))) + "\n"
