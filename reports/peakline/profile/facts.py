"""Facts of a machine: host, software, devices and their state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    index: int
    memory_bytes: float | None = None
    cpus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuCache:
    level: int
    bytes: float
    shared_by_cores: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    hostname: str = ""
    cpu_model: str = ""
    architecture: str = ""
    sockets: int | None = None
    cores: int | None = None
    hardware_threads: int | None = None
    usable_threads: int | None = None
    numa_nodes: tuple[NumaNode, ...] = ()
    caches: tuple[CpuCache, ...] = ()
    memory_bytes: float | None = None
    cpu_clock_max_hz: float | None = None
    vector_extension: str = ""
    os: str = ""
    kernel: str = ""
    virtualization: str = ""
    cpu_governor: str = ""
    cpu_quota: float | None = None
    cpuset_threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    driver: str = ""
    cuda_driver_api: str = ""
    cuda_runtime: str = ""
    cuda_compiler: str = ""
    cublaslt: str = ""
    cxx_compiler: str = ""
    build_type: str = ""
    git_revision: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PcieLink:
    generation: int | None = None
    width: int | None = None
    max_generation: int | None = None
    max_width: int | None = None
    max_payload_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class C2cLinks:
    """NVLink-C2C, the link to the CPU of the same module."""

    count: int | None = None
    bytes_per_s: float | None = None  # per link and direction, before protocol overhead


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLinks:
    version: int | None = None
    count: int = 0
    down: tuple[int, ...] = ()
    slow: tuple[int, ...] = ()
    bytes_per_s: float | None = None
    to_switch: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    index: int
    path: str = ""
    nvlinks: int = 0
    refused: str = ""
    atomics: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EccCounts:
    corrected: int | None = None
    uncorrected: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLinkCounters:
    """Counters of an NVLink since the driver was loaded."""

    link: int
    bytes: float | None = None
    replays: int | None = None
    recoveries: int | None = None
    crc_errors: int | None = None
    malformed_packets: int | None = None
    buffer_overruns: int | None = None
    receive_errors: int | None = None
    integrity_errors: int | None = None
    discards: int | None = None
    effective_errors: int | None = None
    symbol_errors: int | None = None
    effective_ber: float | None = None
    symbol_ber: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    ecc: EccCounts = EccCounts()
    remapped_rows_correctable: int | None = None
    remapped_rows_uncorrectable: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    temperature_c: float | None = None
    pcie_replays: int | None = None
    memory_temperature_c: float | None = None
    temperature_margin_c: float | None = None
    nvlinks: tuple[NvLinkCounters, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    pid: int
    name: str = ""
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU: facts that its driver states, its links, and its health before and after the run."""

    uuid: str
    name: str = ""
    index: int
    pci_bus_id: str = ""
    pci_device_id: str = ""
    pci_subsystem_id: str = ""
    compute_major: int
    compute_minor: int
    sm_count: int | None = None
    sm_clock_max_hz: float | None = None
    sm_clock_step_hz: float | None = None
    sm_clock_seen_max_hz: float | None = None
    memory_clock_max_hz: float | None = None
    memory_bus_bits: int | None = None
    memory_bytes: float | None = None
    memory_free_bytes: float | None = None
    l2_bytes: float | None = None
    shared_per_sm_bytes: float | None = None
    ecc_enabled: bool | None = None
    mig_enabled: bool | None = None
    integrated: bool | None = None
    confidential_computing: str = ""
    fabric: str = ""
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    power_limit_max_w: float | None = None
    pcie: PcieLink = PcieLink()
    pcie_read_under_load: bool = False
    c2c: C2cLinks | None = None
    numa_node: int | None = None
    nvlinks: NvLinks = NvLinks()
    peers: tuple[Peer, ...] = ()
    processes: tuple[Process, ...] = ()
    before: Health = Health()
    after: Health = Health()
    xids: tuple[int, ...] = ()
    vbios: str = ""
    unusable: str = ""
