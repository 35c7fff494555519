"""What is known of a machine: its host, its software, its devices and their state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NumaNode:
    index: int
    memory_bytes: float | None
    cpus: str


@dataclass(frozen=True, slots=True)
class CpuCache:
    level: int
    bytes: float
    shared_by_cores: int
    count: int


@dataclass(frozen=True, slots=True)
class Host:
    hostname: str
    cpu_model: str
    architecture: str
    sockets: int | None
    cores: int | None
    hardware_threads: int | None
    usable_threads: int | None
    numa_nodes: tuple[NumaNode, ...]
    caches: tuple[CpuCache, ...]
    memory_bytes: float | None
    cpu_clock_max_hz: float | None
    vector_extension: str
    os: str
    kernel: str
    virtualization: str
    cpu_governor: str


@dataclass(frozen=True, slots=True)
class Software:
    driver: str
    cuda_driver_api: str
    cuda_runtime: str
    cuda_compiler: str
    cublaslt: str
    cxx_compiler: str
    build_type: str
    git_revision: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PcieLink:
    generation: int | None
    width: int | None
    max_generation: int | None
    max_width: int | None


@dataclass(frozen=True, slots=True)
class EccCounts:
    corrected: int | None
    uncorrected: int | None


@dataclass(frozen=True, slots=True)
class Health:
    ecc: EccCounts
    remapped_rows_correctable: int | None
    remapped_rows_uncorrectable: int | None
    remap_pending: bool | None
    remap_failed: bool | None
    temperature_c: float | None
    pcie_replays: int | None


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    name: str
    memory_bytes: float | None


@dataclass(frozen=True, slots=True)
class Device:
    uuid: str
    name: str
    index: int
    pci_bus_id: str
    compute_major: int
    compute_minor: int
    sm_count: int | None
    sm_clock_max_hz: float | None
    memory_clock_max_hz: float | None
    memory_bus_bits: int | None
    memory_bytes: float | None
    memory_free_bytes: float | None
    l2_bytes: float | None
    shared_per_sm_bytes: float | None
    ecc_enabled: bool | None
    mig_enabled: bool | None
    power_limit_w: float | None
    power_limit_default_w: float | None
    power_limit_max_w: float | None
    pcie: PcieLink
    pcie_read_under_load: bool
    numa_node: int | None
    processes: tuple[Process, ...]
    before: Health
    after: Health
    xids: tuple[int, ...]
    vbios: str
    unusable: str
