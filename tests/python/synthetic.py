"""A made-up profile for tests. Its device does not exist, and its figures follow from the formulas
below; nothing in it was measured."""

from __future__ import annotations

import math
from typing import Any

GPU = "GPU-00000000-0000-0000-0000-00000000000{}"
GPU_NAME = "Synthetic Accelerator"

# Limits that all of the made-up measurements follow from.
HBM = 4.8e12
LINK = 63.0e9
TENSOR = {"tf32": 495e12, "bf16": 990e12, "fp16": 990e12}
CUDA_CORE = {"fp64": 33.5e12, "fp32": 66.9e12, "fp16": 133.8e12}


def conditions(**values: Any) -> dict[str, Any]:
    return {
        "sm_clock_hz": None,
        "sm_clock_source": None,
        "memory_clock_hz": None,
        "power_w": None,
        "temperature_c": None,
        "utilization": None,
        "pcie_generation": None,
        "pcie_width": None,
        "throttle_reasons": [],
        **values,
    }


def measurement(
    device: str,
    id: str,
    params: dict[str, int | str],
    value: float,
    unit: str,
    *,
    work: float = 0.0,
    **values: Any,
) -> dict[str, Any]:
    """`work` is bytes or FLOP of one launch; the median time follows from it and `value`."""
    median = value if unit == "s" else (work or value * 1e-3) / value
    amount = median * value
    return {
        "id": id,
        "params": params,
        "device": device,
        "status": "ok",
        "reason": "",
        "work": {
            "bytes_read": amount if unit == "B/s" else 0.0,
            "bytes_written": 0.0,
            "flops": amount if unit == "FLOP/s" else 0.0,
        },
        "launch": {},
        "samples_s": [median],
        "launches_per_sample": 1,
        "summary": {
            "median_s": median,
            "ci_low_s": median * 0.998,
            "ci_high_s": median * 1.003,
            "min_s": median * 0.99,
            "max_s": median * 1.02,
            "n": 20,
        },
        "value": value,
        "unit": unit,
        "verified": True,
        "flags": [],
        "conditions": conditions(),
        "series": None,
        "duration_s": 0.1,
        "method_version": 1,
        **values,
    }


def ceiling(
    device: str, resource: str, basis: str, value: float, unit: str, measurement: str = ""
) -> dict[str, Any]:
    measured = basis not in ("theoretical", "datasheet")
    return {
        "device": device,
        "resource": resource,
        "basis": basis,
        "value": value,
        "unit": unit,
        "ci_low": value * 0.997 if measured else None,
        "ci_high": value * 1.002 if measured else None,
        "conditions": conditions(),
        "measurement": measurement,
        "note": "" if measured else "made up",
    }


def series(burst: float, sustained: float) -> dict[str, list[float | None]]:
    times = [0.1 * (i + 1) for i in range(50)]
    fall = [math.exp(-t / 0.5) for t in times]
    return {
        "time_s": times,
        "rate": [sustained + (burst - sustained) * f for f in fall],
        "sm_clock_hz": [1.41e9 + 0.57e9 * f for f in fall],
        "power_w": [
            None if t < 0.15 else 705.0 - 200.0 * f for t, f in zip(times, fall, strict=True)
        ],
        "temperature_c": [70.0 - 30.0 * f for f in fall],
    }


def health() -> dict[str, Any]:
    return {
        "ecc": {"corrected": 0, "uncorrected": 0},
        "remapped_rows_correctable": 0,
        "remapped_rows_uncorrectable": 0,
        "remap_pending": False,
        "remap_failed": False,
        "temperature_c": 35.0,
        "pcie_replays": 0,
    }


def gpu(index: int, name: str = GPU_NAME) -> dict[str, Any]:
    return {
        "uuid": GPU.format(index),
        "name": name,
        "index": index,
        "pci_bus_id": f"00000000:0{index}:00.0",
        "compute_major": 9,
        "compute_minor": 0,
        "sm_count": 132,
        "sm_clock_max_hz": 1.98e9,
        "memory_clock_max_hz": 3.2e9,
        "memory_bus_bits": 6144,
        "memory_bytes": 150e9,
        "memory_free_bytes": 149e9,
        "l2_bytes": 60.0 * 2**20,
        "shared_per_sm_bytes": 233472.0,
        "ecc_enabled": True,
        "mig_enabled": False,
        "power_limit_w": 700.0,
        "power_limit_default_w": 700.0,
        "power_limit_max_w": 700.0,
        "pcie": {"generation": 5, "width": 16, "max_generation": 5, "max_width": 16},
        "pcie_read_under_load": True,
        "numa_node": 0,
        "processes": [],
        "before": health(),
        "after": health(),
        "xids": [],
        "vbios": "00.00.00.00.00",
        "unusable": "",
    }


def gpu_measurements(device: str, scale: float) -> list[dict[str, Any]]:
    rows = []
    for direction, limit in (("h2d", 55e9), ("d2h", 54e9)):
        for memory, share, latency in (("pinned", 1.0, 4e-6), ("pageable", 0.2, 9e-6)):
            for power in range(12, 31, 2):
                bytes_ = 2**power
                value = bytes_ / (latency + bytes_ / (limit * share))
                rows.append(
                    measurement(
                        device,
                        f"pcie.{direction}.{memory}",
                        {"bytes": bytes_},
                        value,
                        "B/s",
                        work=bytes_,
                    )
                )
    for power in range(20, 31, 2):
        rows.append(
            measurement(device, "pcie.bidirectional.pinned", {"bytes": 2**power}, 95e9, "B/s")
        )
    for pattern, share in (("read", 0.95), ("write", 0.965), ("copy", 0.885), ("triad", 0.905)):
        for width, factor in ((4, 0.93), (8, 0.98), (16, 1.0)):
            for bytes_ in (2**28, 2**30, 2**31, 2**33):
                value = HBM * share * factor * scale * (1.02 if bytes_ < 2**29 else 1.0)
                rows.append(
                    measurement(
                        device,
                        f"hbm.{pattern}",
                        {"width": width, "bytes": bytes_},
                        value,
                        "B/s",
                        work=bytes_,
                    )
                )
    rows.append(measurement(device, "hbm.memcpy", {"bytes": 2**31}, HBM * 0.87, "B/s"))
    rows.append(measurement(device, "hbm.memset", {"bytes": 2**31}, HBM * 0.96, "B/s"))
    for id, time_s in (
        ("launch.submit", 1.9e-6),
        ("launch.round_trip", 7.4e-6),
        ("launch.back_to_back", 2.2e-6),
        ("launch.empty_kernel", 1.1e-6),
    ):
        rows.append(measurement(device, id, {}, time_s, "s"))
    for nodes in (1, 4, 16, 64, 256, 1024):
        rows.append(
            measurement(device, "launch.graph", {"nodes": nodes}, 5e-6 + 1.3e-6 * nodes, "s")
        )
    for paths in (1, 2, 4, 8, 16, 32):
        rows.append(
            measurement(device, "divergence.lanes", {"paths": paths}, 1e-4 * paths**0.97, "s")
        )
        rows.append(measurement(device, "divergence.warps", {"paths": paths}, 1.01e-4, "s"))
    for width in (4, 8, 16):
        for offset in range(0, 129, width):
            share = 1.0 if offset % 32 == 0 else 0.9
            rows.append(
                measurement(
                    device,
                    "alignment.offset",
                    {"width": width, "offset": offset},
                    4.3e12 * share,
                    "B/s",
                )
            )
        for stride in (1, 2, 4, 8, 16, 32, 64):
            share = max(width / 32, 1 / stride)
            rows.append(
                measurement(
                    device,
                    "alignment.stride",
                    {"width": width, "stride": stride},
                    4.3e12 * share,
                    "B/s",
                )
            )
    for precision, limit in CUDA_CORE.items():
        rows.append(
            measurement(
                device, f"fma.{precision}", {"load": "burst"}, limit * 0.98 * scale, "FLOP/s"
            )
        )
        rows.append(
            measurement(
                device,
                f"fma.{precision}",
                {"load": "sustained"},
                limit * 0.96 * scale,
                "FLOP/s",
                series=series(limit * 0.98 * scale, limit * 0.96 * scale),
            )
        )
    shapes = [
        "1024x1024x1024",
        "2048x2048x2048",
        "4096x4096x4096",
        "8192x8192x8192",
        "16384x8192x1280",
        "8192x1024x8192",
    ]
    for precision, limit in TENSOR.items():
        for i, shape in enumerate(shapes):
            rows.append(
                measurement(
                    device,
                    f"gemm.{precision}",
                    {"shape": shape},
                    limit * (0.4 + 0.08 * i) * scale,
                    "FLOP/s",
                    launch={"algorithm": 66},
                )
            )
        burst, sustained = limit * 0.82 * scale, limit * 0.70 * scale
        rows.append(measurement(device, f"gemm.{precision}", {"load": "burst"}, burst, "FLOP/s"))
        rows.append(
            measurement(
                device,
                f"gemm.{precision}",
                {"load": "sustained"},
                sustained,
                "FLOP/s",
                series=series(burst, sustained),
                flags=["throttled"],
                conditions=conditions(
                    sm_clock_hz=1.41e9,
                    sm_clock_source="probe",
                    power_w=700.0,
                    throttle_reasons=["sw_power_cap"],
                ),
            )
        )
    for precision, element in (("fp32", 4), ("fp64", 8)):
        for fma in (0, 1, 4, 16, 64, 256, 1024):
            intensity = 2 * fma / element
            if fma:
                roof = CUDA_CORE[precision] * 0.97
                value = 0.97 * min(roof, HBM * 0.95 * intensity) * scale
                rows.append(
                    measurement(
                        device,
                        f"roofline.sweep.{precision}",
                        {"fma_per_element": fma},
                        value,
                        "FLOP/s",
                    )
                )
    rows.append(
        {
            **measurement(device, "gemm.fp8", {"load": "burst"}, 1.0, "FLOP/s"),
            "status": "skipped",
            "reason": "not measured here",
            "value": None,
            "summary": None,
            "samples_s": [],
        }
    )
    return rows


def gpu_ceilings(device: str, scale: float) -> list[dict[str, Any]]:
    rows = []
    for pattern, share in (("read", 0.95), ("write", 0.965), ("copy", 0.885), ("triad", 0.905)):
        rows.append(ceiling(device, f"hbm.{pattern}", "theoretical", HBM, "B/s"))
        rows.append(
            ceiling(
                device,
                f"hbm.{pattern}",
                "measured",
                HBM * share * scale,
                "B/s",
                f"hbm.{pattern}/width:16/bytes:2147483648",
            )
        )
    for direction, value in (("h2d", 55e9), ("d2h", 54e9)):
        rows.append(ceiling(device, f"pcie.{direction}", "theoretical", LINK, "B/s"))
        rows.append(
            ceiling(
                device,
                f"pcie.{direction}",
                "measured",
                value,
                "B/s",
                f"pcie.{direction}.pinned/bytes:1073741824",
            )
        )
    for precision, limit in CUDA_CORE.items():
        resource = f"cuda_core.{precision}"
        rows.append(ceiling(device, resource, "theoretical", limit, "FLOP/s"))
        for basis, share in (("burst", 0.98), ("sustained", 0.96)):
            rows.append(
                ceiling(
                    device,
                    resource,
                    basis,
                    limit * share * scale,
                    "FLOP/s",
                    f"fma.{precision}/load:{basis}",
                )
            )
    for precision, limit in TENSOR.items():
        resource = f"tensor.{precision}"
        rows.append(ceiling(device, resource, "theoretical", limit * 1.08, "FLOP/s"))
        rows.append(ceiling(device, resource, "datasheet", limit, "FLOP/s"))
        for basis, share in (("burst", 0.82), ("sustained", 0.70)):
            rows.append(
                ceiling(
                    device,
                    resource,
                    basis,
                    limit * share * scale,
                    "FLOP/s",
                    f"gemm.{precision}/load:{basis}",
                )
            )
    return rows


def gpu_roofline(device: str, scale: float) -> dict[str, Any]:
    memory = {"hbm.read": HBM * 0.95 * scale, "pcie.h2d": 55e9}
    compute = {f"cuda_core.{p}": v * 0.98 * scale for p, v in CUDA_CORE.items()}
    compute |= {f"tensor.{p}": v * 0.82 * scale for p, v in TENSOR.items()}
    points = []
    for row in gpu_measurements(device, scale):
        if row["id"].startswith("roofline.sweep"):
            precision = row["id"].rsplit(".", 1)[1]
            element = 4 if precision == "fp32" else 8
            name = f"{row['id']}/fma_per_element:{row['params']['fma_per_element']}"
            points.append(
                {
                    "measurement": name,
                    "precision": precision,
                    "intensity": 2 * row["params"]["fma_per_element"] / element,
                    "flops_per_s": row["value"],
                }
            )
    return {
        "device": device,
        "memory": list(memory),
        "compute": list(compute),
        "ridge_points": [
            {
                "compute": c,
                "memory": m,
                "compute_basis": "burst",
                "memory_basis": "measured",
                "intensity": compute[c] / memory[m],
            }
            for m in memory
            for c in compute
        ],
        "points": points,
    }


def host_measurements() -> list[dict[str, Any]]:
    rows = []
    for pattern, limit in (("read", 210e9), ("copy", 180e9), ("triad", 190e9)):
        for threads in (1, 2, 4, 8, 16, 32):
            rows.append(
                measurement(
                    "host",
                    f"host.memory.{pattern}",
                    {"threads": threads},
                    min(limit, 18e9 * threads),
                    "B/s",
                )
            )
    for precision, rate in (("fp32", 90e9), ("fp64", 45e9)):
        for threads in (1, 2, 4, 8, 16, 32):
            rows.append(
                measurement(
                    "host", f"host.fma.{precision}", {"threads": threads}, rate * threads, "FLOP/s"
                )
            )
    for fma in (1, 4, 16, 64, 256):
        rows.append(
            measurement(
                "host",
                "host.roofline.sweep.fp32",
                {"fma_per_element": fma},
                0.97 * min(2.88e12, 210e9 * fma / 2),
                "FLOP/s",
            )
        )
    return rows


def host_ceilings() -> list[dict[str, Any]]:
    rows = [
        ceiling("host", f"memory.{p}", "measured", v, "B/s", f"host.memory.{p}/threads:32")
        for p, v in (("read", 210e9), ("copy", 180e9), ("triad", 190e9))
    ]
    rows += [
        ceiling("host", f"cpu.{p}", "measured", v, "FLOP/s", f"host.fma.{p}/threads:32")
        for p, v in (("fp32", 2.88e12), ("fp64", 1.44e12))
    ]
    return rows


def host_roofline() -> dict[str, Any]:
    return {
        "device": "host",
        "memory": ["memory.read"],
        "compute": ["cpu.fp32", "cpu.fp64"],
        "ridge_points": [
            {
                "compute": c,
                "memory": "memory.read",
                "compute_basis": "measured",
                "memory_basis": "measured",
                "intensity": v / 210e9,
            }
            for c, v in (("cpu.fp32", 2.88e12), ("cpu.fp64", 1.44e12))
        ],
        "points": [
            {
                "measurement": f"host.roofline.sweep.fp32/fma_per_element:{fma}",
                "precision": "fp32",
                "intensity": fma / 2,
                "flops_per_s": 0.97 * min(2.88e12, 210e9 * fma / 2),
            }
            for fma in (1, 4, 16, 64, 256)
        ],
    }


def profile(gpus: int = 1, scale: float = 1.0, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """A complete profile with `gpus` devices. `scale` multiplies measured GPU rates; device i is
    i percent slower than device 0."""
    devices = [gpu(i, names[i] if names else GPU_NAME) for i in range(gpus)]
    factors = [scale * (1 - 0.01 * i) for i in range(gpus)]
    measurements, ceilings, rooflines = host_measurements(), host_ceilings(), [host_roofline()]
    for device, factor in zip(devices, factors, strict=True):
        measurements += gpu_measurements(device["uuid"], factor)
        ceilings += gpu_ceilings(device["uuid"], factor)
        rooflines.append(gpu_roofline(device["uuid"], factor))
    return {
        "schema": "peakline-profile",
        "schema_version": 1,
        "created": "2000-01-01T00:00:00Z",
        "tool": "peakline 0.0.0 (synthetic)",
        "command": ["peakline", "run"],
        "mode": "full",
        "complete": True,
        "duration_s": 120.0,
        "host": {
            "hostname": "synthetic",
            "cpu_model": "Synthetic CPU",
            "architecture": "x86_64",
            "sockets": 1,
            "cores": 16,
            "hardware_threads": 32,
            "usable_threads": 32,
            "numa_nodes": [{"index": 0, "memory_bytes": 256e9, "cpus": "0-31"}],
            "caches": [{"level": 3, "bytes": 32 * 2**20, "shared_by_cores": 16, "count": 1}],
            "memory_bytes": 256e9,
            "cpu_clock_max_hz": 3.5e9,
            "vector_extension": "avx512f",
            "os": "Synthetic OS",
            "kernel": "6.1.0",
            "virtualization": "",
            "cpu_governor": "performance",
        },
        "software": {
            "driver": "580.0",
            "cuda_driver_api": "13.0",
            "cuda_runtime": "13.0",
            "cuda_compiler": "13.0",
            "cublaslt": "13.0",
            "cxx_compiler": "gcc 12",
            "build_type": "Release",
            "git_revision": "0000000",
            "environment": {},
        },
        "devices": devices,
        "measurements": measurements,
        "ceilings": ceilings,
        "rooflines": rooflines,
        "findings": [
            {
                "code": "power_cap",
                "severity": "warning",
                "device": GPU.format(0),
                "message": "BF16 products ran at 1410 MHz instead of 1980 MHz because the device "
                "reached its power limit of 700 W",
                "evidence": {"power_w": "700", "sm_clock": "1410 MHz"},
            }
        ]
        if gpus
        else [],
    }
