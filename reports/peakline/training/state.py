"""What NVML says of the device in use: clock, power, temperature, and why it is slowed down."""

from __future__ import annotations

import importlib
from typing import Any

# The bits of nvmlClocksEventReasons (nvml.h) that slow a device down.
_REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


def device_state() -> str:
    """Clock, power, temperature and throttle reasons of the current device; why not, without
    NVML."""
    try:
        pynvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return "not known, since pynvml (nvidia-ml-py) is not installed"
    try:
        pynvml.nvmlInit()
        return _described(pynvml, _handle(pynvml))
    except pynvml.NVMLError as error:
        return f"not known: NVML says {error}"


def _handle(pynvml: Any) -> Any:
    """The device that PyTorch uses, by its UUID: NVML does not know CUDA_VISIBLE_DEVICES."""
    try:
        import torch

        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        return pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}".encode())
    except (ImportError, AttributeError, AssertionError, RuntimeError):
        return pynvml.nvmlDeviceGetHandleByIndex(0)


def _described(pynvml: Any, handle: Any) -> str:
    clock = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
    most = pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM)
    power = pynvml.nvmlDeviceGetPowerUsage(handle) / 1000
    heat = pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
    bits = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    reasons = [name for bit, name in _REASONS.items() if bits & bit]
    slowed = f"slowed down by {', '.join(reasons)}" if reasons else "not slowed down"
    return f"SM clock {clock} of {most} MHz, {power:.0f} W, {heat} °C, {slowed}"
