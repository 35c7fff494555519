"""Provenance of a profile: machine, software, command."""

from collections import Counter
from pathlib import Path

from peakline import units
from peakline.page.html import card, escape
from peakline.profile import HOST, NODE, Device, Profile


def _device_line(device: Device) -> str:
    parts = [f"compute capability {device.compute_major}.{device.compute_minor}"]
    if device.sm_count:
        parts.append(f"{device.sm_count} SMs")
    if device.sm_clock_max_hz:
        parts.append(f"up to {units.clock(device.sm_clock_max_hz)}")
    if device.memory_bytes:
        parts.append(f"{device.memory_bytes / units.GIB:.0f} GiB")
    if device.power_limit_w:
        parts.append(f"power limit {device.power_limit_w:.0f} W")
    link = device.pcie
    if link.generation and link.width:
        state = "" if device.pcie_read_under_load else " (idle)"
        parts.append(f"PCIe {link.generation}.0 ×{link.width}{state}")
    return ", ".join(parts)


def _count(number: int | None, what: str) -> str:
    """A count with its noun; empty for none."""
    return units.counted(number, what) if number else ""


def _listed(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def provenance(profile: Profile) -> str:
    host, software = profile.host, profile.software
    cuda = {
        "runtime": software.cuda_runtime,
        "nvcc": software.cuda_compiler,
        "cuBLASLt": software.cublaslt,
    }
    pairs = {
        "Profile": Path(profile.path).name,
        "Measured": f"{profile.created}, {profile.mode} mode, {profile.duration_s:.0f} s",
        "Tool": f"{profile.tool}, revision {software.git_revision or 'unknown'}",
        "Command": " ".join(profile.command),
        "Host": host.hostname,
        "CPU": _listed(
            host.cpu_model,
            _count(host.sockets, "socket"),
            _count(host.cores, "core"),
            _count(host.usable_threads, "usable thread"),
            host.vector_extension,
        ),
        "Memory": f"{host.memory_bytes / units.GIB:.0f} GiB" if host.memory_bytes else "",
        "System": _listed(host.os, host.kernel, host.virtualization),
        "Driver": software.driver,
        "CUDA": _listed(*(f"{name} {version}" for name, version in cuda.items() if version)),
        "Build": _listed(software.build_type, software.cxx_compiler),
        "Environment": _listed(*(f"{k}={v}" for k, v in software.environment.items())),
        **{f"GPU {d.index}": f"{d.name}: {_device_line(d)}" for d in profile.devices},
    }
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in pairs.items() if v)
    return card("provenance", f"<h3>Provenance</h3><dl>{items}</dl>")


def machine(profile: Profile) -> str:
    """The machine's GPUs, "2 × NVIDIA H200", or its CPU."""
    counts = Counter(device.name for device in profile.devices)
    if not counts:
        return profile.host.cpu_model or profile.host.hostname or "host"
    return ", ".join(f"{n} × {name}" if n > 1 else name for name, n in counts.items())


def device_heading(profile: Profile, device: str) -> str:
    """The heading of a device's part: "GPU 1: NVIDIA H200"."""
    part = {HOST: "Host: ", NODE: "Between GPUs: "}.get(device, "")
    return part + profile.device_label(device)


def lead(profile: Profile) -> str:
    """The line under the page's title."""
    where = f" on {profile.host.hostname}" if profile.host.hostname else ""
    text = f"Measured{where} on {profile.created[:10]} in {profile.duration_s:.0f} s"
    return f'<p class="lead">{escape(text)}</p>'
