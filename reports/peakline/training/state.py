"""Clock, power, temperature and throttle reasons of the device in use, from NVML."""

import importlib
from typing import Any

# Bits of nvmlClocksEventReasons (nvml.h) that mean a slowdown.
_REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


def device_state() -> str:
    """The current device's state from NVML, or why it is unknown."""
    try:
        pynvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return "not known, since pynvml (nvidia-ml-py) is not installed"
    uuid = device_uuid()
    if not uuid:
        return "not known, since PyTorch does not say which GPU is in use"
    try:
        pynvml.nvmlInit()
        try:
            return _described(pynvml, pynvml.nvmlDeviceGetHandleByUUID(uuid.encode()))
        finally:
            pynvml.nvmlShutdown()
    except (pynvml.NVMLError, AttributeError) as error:
        return f"not known: NVML says {error}"


def device_uuid(index: int | None = None) -> str:
    """PyTorch's device of this index, by default the current one; "" if unknown. NVML ignores
    CUDA_VISIBLE_DEVICES."""
    try:
        import torch

        chosen = torch.cuda.current_device() if index is None else index
        properties = torch.cuda.get_device_properties(chosen)
        return f"GPU-{properties.uuid}"
    except (ImportError, AttributeError, AssertionError, RuntimeError):
        return ""


def _described(pynvml: Any, handle: Any) -> str:
    def read(function: str, *of: str) -> Any:
        """None if the device has no such value: a part of a GPU has no power."""
        try:
            return getattr(pynvml, function)(handle, *(getattr(pynvml, name) for name in of))
        except (pynvml.NVMLError, AttributeError):
            return None

    clock = read("nvmlDeviceGetClockInfo", "NVML_CLOCK_SM")
    most = read("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_SM")
    power = read("nvmlDeviceGetPowerUsage")
    heat = read("nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU")
    bits = read("nvmlDeviceGetCurrentClocksThrottleReasons")
    found = []
    if clock is not None:
        found.append(f"SM clock {clock}{'' if most is None else f' of {most}'} MHz")
    if power is not None:
        found.append(f"{power / 1000:.0f} W")
    if heat is not None:
        found.append(f"{heat} °C")
    if bits is not None:
        reasons = ", ".join(name for bit, name in _REASONS.items() if bits & bit)
        found.append(f"slowed down by {reasons}" if reasons else "not slowed down")
    return ", ".join(found) or "not known: NVML has none of its values"
