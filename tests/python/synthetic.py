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
L1, L2 = 33e12, 9e12
L1_HELD, L2_HELD = 2**17, 50 * 2**20  # of each SM, of all
TENSOR = {"tf32": 495e12, "bf16": 990e12, "fp16": 990e12, "fp8": 1980e12, "int8": 1980e12}
CUDA_CORE = {"fp64": 33.5e12, "fp32": 66.9e12, "fp16": 133.8e12}
# These products have no ceiling here: FP64, and FP32 without Tensor Cores.
OTHER_PRODUCTS = {"fp64": 60e12, "fp32": 60e12}
# Shares of the limits that instructions alone and long products reach.
INSTRUCTION, BURST, SUSTAINED, MODEL_SHAPED = 0.93, 0.82, 0.70, 0.74
# Bytes of an operand's and of a result's element.
OPERAND = {"bf16": 2, "fp8": 1, "int8": 1}
RESULT = {"bf16": 2, "fp8": 2, "int8": 4}
SM_COUNT = 132
# The clock of a warm card at its power limit, at which curves are measured.
WARM_CLOCK = 1.55e9
BURST_CLOCK = 1.95e9
# The alignment of each dimension costs nothing in BF16 from this power of two on.
ALIGNED_FROM = {"M": 2, "N": 8, "K": 32}


def conditions(**values: Any) -> dict[str, Any]:
    return values


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
            "flops": amount if unit in ("FLOP/s", "OP/s") else 0.0,
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
        "duration_s": 0.1,
        "method_version": 1,
        **values,
    }


def ceiling(
    device: str, resource: str, basis: str, value: float, unit: str, measurement: str = ""
) -> dict[str, Any]:
    row = {
        "device": device,
        "resource": resource,
        "basis": basis,
        "value": value,
        "unit": unit,
        "measurement": measurement,
    }
    if basis in ("theoretical", "datasheet"):
        return {**row, "note": "made up"}
    return {**row, "ci_low": value * 0.997, "ci_high": value * 1.002}


def series(
    burst: float, sustained: float, seconds: float = 5.0, step: float = 0.1, decay_s: float = 0.05
) -> dict[str, list[float | None]]:
    """Points 10 ms apart for 0.2 s, then about `step` apart."""
    times = [0.01 * (i + 1) for i in range(20)]
    count = round((seconds - 0.2) / step)
    times += [0.2 + (seconds - 0.2) * (i + 1) / count for i in range(count)]
    fall = [math.exp(-t / decay_s) for t in times]
    return {
        "time_s": times,
        "rate": [sustained + (burst - sustained) * f for f in fall],
        # The clock falls as the rate does.
        "sm_clock_hz": [1.41e9 * (1 + (burst / sustained - 1) * f) for f in fall],
        "power_w": [
            None if t < 0.015 else 705.0 - 200.0 * f for t, f in zip(times, fall, strict=True)
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
        "sm_count": SM_COUNT,
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
    rows += matrix_measurements(device, scale)
    rows.append(measurement(device, "launch.submit", {}, 1.9e-6, "s"))
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
    skipped = measurement(device, "mma.sync.fp8", {}, 1.0, "FLOP/s")
    skipped |= {"status": "skipped", "reason": "not measured here"}
    rows.append({k: v for k, v in skipped.items() if k not in ("value", "summary", "samples_s")})
    return rows


def unit_of(precision: str) -> str:
    return "OP/s" if precision == "int8" else "FLOP/s"


def product(
    device: str,
    id: str,
    params: dict[str, int | str],
    shape: tuple[int, int, int],
    *,
    scale: float,
    share: float = MODEL_SHAPED,
    clock: float = WARM_CLOCK,
    **values: Any,
) -> dict[str, Any]:
    """A product of M x N x K: it takes as long as the slower of arithmetic, at `share` of the
    limit, and memory, at 0.9 of what reads reach, and 1 us more."""
    precision = id.rsplit(".", 1)[1]
    m, n, k = shape
    read = float((m + n) * k * OPERAND[precision])
    written = float(m * n * RESULT[precision])
    flops = 2.0 * m * n * k
    memory_s = (read + written) / (0.9 * 0.95 * HBM * scale)
    seconds = max(flops / (TENSOR[precision] * share * scale), memory_s) + 1e-6
    held = conditions(sm_clock_hz=clock, sm_clock_source="probe")
    rate, unit = flops / seconds, unit_of(precision)
    row = measurement(device, id, params, rate, unit, work=flops, conditions=held, **values)
    return {**row, "work": {"bytes_read": read, "bytes_written": written, "flops": flops}}


def load_measurements(device: str, precision: str, limit: float, scale: float) -> list[Any]:
    """A product's burst and sustained load, and BF16's soak."""
    id, unit = f"gemm.{precision}", unit_of(precision)
    burst, sustained = limit * BURST * scale, limit * SUSTAINED * scale
    held = conditions(
        sm_clock_hz=1.41e9,
        sm_clock_source="probe",
        power_w=700.0,
        temperature_c=70.0,
        throttle_reasons=["sw_power_cap"],
    )
    shape = {"shape": "4096x16384x4096", "layout": "TN"}

    def row(load: str, value: float, **values: Any) -> dict[str, Any]:
        return measurement(device, id, {"load": load}, value, unit, **values)

    rows = [
        row(
            "burst",
            burst,
            launch=shape,
            conditions=conditions(sm_clock_hz=BURST_CLOCK, sm_clock_source="probe"),
        ),
        row(
            "sustained",
            sustained,
            launch=shape,
            series=series(burst, sustained, decay_s=4e13 / limit),
            flags=["throttled"],
            conditions=held,
        ),
    ]
    if precision == "bf16":
        soak = series(burst, sustained, 120.0, 2.0)
        soak["temperature_c"] = [72.0 - 32.0 * math.exp(-(t or 0.0) / 20) for t in soak["time_s"]]
        rows.append(
            row(
                "soak",
                sustained,
                launch={
                    **shape,
                    "seconds": 120,
                    "equilibrium_s": 64,
                    "equilibrium_temperature_c": 71,
                },
                series=soak,
                flags=["throttled"],
                conditions=held,
            )
        )
    return rows


def alignment_share(precision: str, dimension: str, size: int) -> float:
    """The rate per clock of a product with this size of a dimension, relative to 8192."""
    power = (size & -size) * OPERAND[precision] / 2
    return min(1.0, 0.55 + 0.45 * power / ALIGNED_FROM[dimension])


# The products whose tiles fill the SMs more or less often.
TILE = (128, 256)
WAVES_N = 2816
WAVES_M = [TILE[0] * i for i in (4, 8, 11, 12, 13, 16, 20, 23, 24, 25, 30, 35, 36, 37)]


def tiles_of(m: int) -> int:
    return m // TILE[0] * (WAVES_N // TILE[1])


def waves_share(tiles: int) -> float:
    """The share of the last wave's SMs that have work, over all waves."""
    return tiles / SM_COUNT / math.ceil(tiles / SM_COUNT)


def matrix_measurements(device: str, scale: float) -> list[dict[str, Any]]:
    rows = []
    for precision, limit in {**TENSOR, **OTHER_PRODUCTS}.items():
        rows += load_measurements(device, precision, limit, scale)
    for precision, limit in TENSOR.items():
        value = limit * INSTRUCTION * scale
        rows.append(measurement(device, f"mma.wgmma.{precision}", {}, value, unit_of(precision)))
    for precision in ("bf16", "fp8", "int8"):
        near = [*range(8184, 8193), 8176, 8160, 8128, 8064]
        if precision != "bf16":
            near = [8192 - less for less in (0, 16, 32, 48, 64, 128)]
        for dimension in "MNK":
            for i, size in enumerate(near):
                shape = {"M": 8192, "N": 8192, "K": 8192, dimension: size}
                # Clocks that differ: only a comparison per clock shows what alignment costs.
                clock = WARM_CLOCK * (0.9 if i % 2 else 1.0)
                rows.append(
                    product(
                        device,
                        f"gemm.alignment.{precision}",
                        {"dimension": dimension, "size": size},
                        (shape["M"], shape["N"], shape["K"]),
                        scale=scale,
                        share=0.7
                        * alignment_share(precision, dimension, size)
                        * clock
                        / WARM_CLOCK,
                        clock=clock,
                    )
                )
    n, k, (tile_m, tile_n) = WAVES_N, 4096, TILE
    for m in WAVES_M:
        tiles = tiles_of(m)
        fixed = waves_share(tiles)
        for kernel, share in (("fixed", fixed), ("best", max(fixed, 0.9))):
            rows.append(
                product(
                    device,
                    "gemm.waves.bf16",
                    {"m": m, "kernel": kernel},
                    (m, n, k),
                    scale=scale,
                    share=0.8 * share,
                    launch={"n": n, "k": k, "tile_m": tile_m, "tile_n": tile_n, "tiles": tiles},
                )
            )
    for precision in ("bf16", "fp8"):
        for power in range(13):
            m = 2**power
            id_ = f"gemm.skinny.{precision}"
            rows.append(product(device, id_, {"m": m}, (m, 8192, 8192), scale=scale))
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
        share_of = {"launch": 0.998} | (
            {"turnaround": 0.92} if pattern in ("copy", "triad") else {}
        )
        rest = share * scale / math.prod(share_of.values())
        rows[-1]["factors"] = [
            {"name": name, "value": value} for name, value in {**share_of, "DRAM": rest}.items()
        ]
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
        rows[-1]["factors"] = explained(value / LINK, packets=0.914)
    rows.append(ceiling(device, "l2.read", "measured", L2, "B/s", "l2.read/percent_of_l2:40"))
    rows.append(ceiling(device, "l1.read", "theoretical", L1 * 1.01, "B/s"))
    rows.append(ceiling(device, "l1.read", "measured", L1, "B/s", "l1.read"))
    rows.append(ceiling(device, "pcie.bidirectional", "theoretical", 2 * LINK, "B/s"))
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
        unit = unit_of(precision)
        layer = f"gemm.model.{precision}/hidden:8192/tokens:16384/part:layer"
        rows.append(ceiling(device, resource, "theoretical", limit * 1.08, unit))
        rows.append(ceiling(device, resource, "datasheet", limit, unit))
        for basis, share, source in (
            ("instruction", INSTRUCTION, f"mma.wgmma.{precision}"),
            ("burst", BURST, f"gemm.{precision}/load:burst"),
            ("sustained", SUSTAINED, f"gemm.{precision}/load:sustained"),
            ("model_burst", BURST, f"gemm.model.{precision}/load:burst"),
            ("model_shaped", MODEL_SHAPED, layer),
        ):
            rows.append(ceiling(device, resource, basis, limit * share * scale, unit, source))
            clock = {"burst": 0.82, "sustained": 0.71}.get(basis)
            if clock:
                rows[-1]["factors"] = explained(share * scale / 1.08, clock=clock, waves=0.98)
    return rows


def explained(share: float, **factors: float) -> list[dict[str, Any]]:
    """The factors of a ceiling: those given, and what they leave of `share`."""
    rest = share / math.prod(factors.values())
    return [{"name": name, "value": value} for name, value in {**factors, "rest": rest}.items()]


def gpu_roofline(device: str, scale: float) -> dict[str, Any]:
    memory = {"hbm.read": HBM * 0.95 * scale, "l2.read": L2, "l1.read": L1, "pcie.h2d": 55e9}
    compute = {f"cuda_core.{p}": v * 0.98 * scale for p, v in CUDA_CORE.items()}
    compute |= {f"tensor.{p}": v * BURST * scale for p, v in TENSOR.items()}
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


# Label and unit of each resource, in the order shown; compute has its precision in its name.
RESOURCES = {
    **{f"hbm.{p}": f"HBM {p}" for p in ("read", "write", "copy", "triad")},
    "l2.read": "L2 read",
    "l1.read": "L1 read",
    "pcie.h2d": "PCIe to device",
    "pcie.d2h": "PCIe to host",
    "pcie.bidirectional": "PCIe both ways",
    **{f"cuda_core.{p}": f"{p.upper()} CUDA cores" for p in CUDA_CORE},
    **{f"tensor.{p}": f"{p.upper()} Tensor Cores" for p in TENSOR},
    **{f"memory.{p}": f"memory {p}" for p in ("read", "copy", "triad")},
    **{f"cpu.{p}": f"{p.upper()} CPU" for p in ("fp32", "fp64")},
}
# The program sums these up, by the picture that shows them; the last belongs to none.
TOPICS = {
    "roofline": ("roofline sweep",),
    "sustained": ("sustained load",),
    "soak": ("soak",),
    "matrix-alignment": ("product sides", "vocabulary"),
    "waves": ("waves",),
    "hbm": ("HBM by size",),
    "memory-map": ("memory map",),
    "pcie": ("PCIe copies",),
    "instructions": ("instructions",),
    "": ("made-up family",),
}
HEADLINES = {
    "HBM read": ("hbm.read", "measured", "theoretical"),
    "PCIe to device": ("pcie.h2d", "measured", "theoretical"),
    "FP32 CUDA cores": ("cuda_core.fp32", "burst", "theoretical"),
    "BF16 burst": ("tensor.bf16", "burst", "datasheet"),
    "BF16 sustained": ("tensor.bf16", "sustained", "datasheet"),
}
HOST_HEADLINES = {
    "memory read": "memory.read",
    "memory copy": "memory.copy",
    "memory triad": "memory.triad",
    "FP64": "cpu.fp64",
    "FP32": "cpu.fp32",
}


def resource(name: str) -> dict[str, str]:
    family, _, precision = name.partition(".")
    row = {"name": name, "label": RESOURCES[name]}
    if family in ("hbm", "l1", "l2", "pcie", "memory"):
        return {**row, "unit": "B/s", "kind": "memory"}
    return {**row, "unit": unit_of(precision), "kind": "compute", "precision": precision}


# Results per clock and SM as measured and as documented, and cycles.
INSTRUCTIONS: dict[str, tuple[float, float | None, float]] = {
    "fp32_fma": (126.5, 128, 4),
    "fp16x2_fma": (253, 256, 8),
    "sin": (15.9, 16, 23),
    "match": (4, None, 61),
}


def figure(id: str, name: str, value: float, unit: str, *, role: str = "", **by: int | str) -> Any:
    row = {"id": id, "name": name, "by": by, "value": value, "unit": unit}
    return {**row, "role": role} if role else row


def instruction_figures() -> list[Any]:
    of_name = {"results": "throughput", "documented": "throughput", "cycles": "latency"}
    return [
        figure(f"instruction.{of_name[name]}", name, value, "1", role=f"instruction.{role}", op=op)
        for op, values in INSTRUCTIONS.items()
        for (name, role), value in zip(
            (("results", "results"), ("documented", "documented_results"), ("cycles", "cycles")),
            values,
            strict=True,
        )
        if value is not None
    ]


# The pictures that the profile declares: subject, parameter along the x axis, how that is written,
# and the benchmarks that have a line of their own, by what it is called.
DECLARED = {
    "hbm": ("By size", "bytes", "size", {f"hbm.{p}": p for p in ("read", "write", "copy")}),
    "pcie": ("The host link", "bytes", "size", {"pcie.h2d.pinned": "in", "pcie.d2h.pinned": "out"}),
    "host": ("All threads", "threads", "integer", {"host.memory.read": "read"}),
}


def declared(key: str) -> dict[str, Any]:
    subject, over, written, lines = DECLARED[key]
    panel = {
        "kind": "lines",
        "over": over,
        "x": {"label": over, "written": written, "scale": "log2"},
        "y": {"label": "GB/s", "per": 1e9},
        "series": [{"label": label, "numbers": {"id": id_}} for id_, label in lines.items()],
    }
    return {"key": key, "subject": subject, "how": "Lines are made up.", "panels": [panel]}


def curve(device: str, topic: str, number: int, key: str = "") -> dict[str, Any]:
    """What the program says on a topic; `key`: of the picture that shows it."""
    own = {
        "instructions": instruction_figures(),
        "waves": [
            figure("gemm.waves.bf16", "ideal_share", waves_share(tiles_of(m)), "1", m=m)
            for m in WAVES_M
        ],
    }
    row = {
        "device": device,
        "topic": topic,
        "sentence": f"What the program says on {topic}: {number} of 7",
        "title": f"A title on {topic}: {number}.5 us, {number} x as fast",
        "figures": [*own.get(topic, []), figure("made.up", "time", number + 0.5, "s", n=number)],
    }
    return {**row, "picture": declared(key)} if key in DECLARED else row


def curves(device: str) -> list[dict[str, Any]]:
    topics = [(key, topic) for key, of_picture in TOPICS.items() for topic in of_picture]
    return [curve(device, topic, number, key) for number, (key, topic) in enumerate(topics)]


LEVELS = {"shared": "shared memory", "hbm": "device memory", "host": "host memory"}


def memory_map(device: str) -> list[dict[str, Any]]:
    """Some figures of each level; of the host's memory only how fast it is."""
    levels: dict[str, dict[str, Any]] = {
        "shared": {"per_sm": True, "size_bytes": 228 * 2**10, "latency_s": 12e-9},
        "l1": {
            "per_sm": True,
            "held_bytes": L1_HELD,
            "line_bytes": 128,
            "sector_bytes": 32,
            "latency_s": 16e-9,
            "bytes_per_s": L1,
        },
        "l2": {
            "size_bytes": 1.2 * L2_HELD,
            "held_bytes": L2_HELD,
            "near_bytes": 0.5 * L2_HELD,
            "line_bytes": 128,
            "latency_s": 140e-9,
            "far_latency_s": 250e-9,
            "bytes_per_s": L2,
        },
        "hbm": {"size_bytes": 141e9, "line_bytes": 64, "latency_s": 336e-9, "bytes_per_s": HBM},
        "host": {"bytes_per_s": 0.95 * LINK},
    }
    return [
        {"device": device, "level": level, "label": LEVELS.get(level, level.upper()), **known}
        for level, known in levels.items()
    ]


def headlines(device: str) -> list[dict[str, str]]:
    keys = ("resource", "basis", "reference_basis")
    if device == "host":
        return [
            {"device": device, "label": label, "resource": name, "basis": "measured"}
            for label, name in HOST_HEADLINES.items()
        ]
    return [
        {"device": device, "label": label, **dict(zip(keys, values, strict=True))}
        for label, values in HEADLINES.items()
    ]


def profile(gpus: int = 1, scale: float = 1.0, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """A complete profile with `gpus` devices. `scale` multiplies measured GPU rates; device i is
    i percent slower than device 0."""
    devices = [gpu(i, names[i] if names else GPU_NAME) for i in range(gpus)]
    factors = [scale * (1 - 0.01 * i) for i in range(gpus)]
    measurements, ceilings, rooflines = (host_measurements(), host_ceilings(), [host_roofline()])
    for device, factor in zip(devices, factors, strict=True):
        measurements += gpu_measurements(device["uuid"], factor)
        ceilings += gpu_ceilings(device["uuid"], factor)
        rooflines.append(gpu_roofline(device["uuid"], factor))
    return {
        "schema": "peakline-profile",
        "schema_version": 4,
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
        "resources": [resource(name) for name in RESOURCES],
        "curves": [
            *(c for d in devices for c in curves(d["uuid"])),
            curve("host", "threads", 7, "host"),
        ],
        "memory_map": [level for d in devices for level in memory_map(d["uuid"])],
        "headlines": [h for d in [*(d["uuid"] for d in devices), "host"] for h in headlines(d)],
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
