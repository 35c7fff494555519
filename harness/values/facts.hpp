#pragma once

// Facts about machine, devices and software, before and after a run. nullopt: unknown.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peakline {

struct PcieLink {
  std::optional<int> generation, width;          // as read, idle or under load
  std::optional<int> max_generation, max_width;  // of the device in this slot
  std::optional<int> max_payload_bytes = {};     // configured, per packet
  bool operator==(const PcieLink&) const = default;
};

struct NvLinks {
  std::optional<int> version;
  int count = 0;                           // of the GPU, up or down
  std::vector<int> down = {};              // link numbers
  std::vector<int> slow = {};              // link numbers, slower than the fastest
  std::optional<double> bytes_per_s = {};  // of the fastest, per direction, raw
  std::optional<bool> to_switch = {};      // false: directly to other GPUs

  int up() const { return count - static_cast<int>(down.size()); }
  bool operator==(const NvLinks&) const = default;
};

// Why two GPUs cannot use each other's memory, in the cases that drivers distinguish.
inline constexpr std::string_view kChipsetRefuses = "the chipset does not support it";
inline constexpr std::string_view kGpuRefuses = "the GPU does not support it";
inline constexpr std::string_view kTopologyRefuses = "the PCIe topology does not support it";
inline constexpr std::string_view kDriverRefuses = "it is turned off in the driver";
inline constexpr std::string_view kSystemRefuses =
    "it is not supported here (PCIe ACS or an IOMMU, MIG, or a virtual machine without it)";
inline constexpr std::array kRefusals = {kChipsetRefuses, kGpuRefuses, kTopologyRefuses,
                                         kDriverRefuses, kSystemRefuses};

struct PeerFacts {
  int index = 0;          // the other one's, by NVML
  std::string path = {};  // over PCIe, as nvidia-smi calls it: "PIX", "PXB", "PHB", "NODE", "SYS"
  int nvlinks = 0;        // that are up and lead there
  std::string refused = {};  // one of kRefusals; empty: peer access works
  std::optional<bool> atomics = {};
  bool operator==(const PeerFacts&) const = default;
};

struct EccCounts {
  std::optional<std::int64_t> corrected, uncorrected;  // volatile: since the driver was loaded
  bool operator==(const EccCounts&) const = default;
};

struct DeviceProcess {
  std::int64_t pid = 0;
  std::string name;
  std::optional<double> memory_bytes;
  bool operator==(const DeviceProcess&) const = default;
};

// The server of CUDA MPS, through which several processes share the device.
inline constexpr std::string_view kMpsServer = "nvidia-cuda-mps-server";
inline bool is_mps_server(const DeviceProcess& process) {
  return process.name.ends_with(kMpsServer);
}

// Counters of an NVLink since the driver was loaded. nullopt: the model has none.
struct NvLinkCounters {
  int link = 0;
  std::optional<double> bytes = {};  // of data, both directions
  // Up to NVLink 4; recoveries also of NVLink 5.
  std::optional<std::int64_t> replays = {}, recoveries = {}, crc_errors = {};
  // Of NVLink 5, of which nobody knows yet how far they grow on healthy links.
  std::optional<std::int64_t> malformed_packets = {}, buffer_overruns = {}, receive_errors = {},
                              integrity_errors = {}, discards = {}, effective_errors = {},
                              symbol_errors = {};
  std::optional<double> effective_ber = {}, symbol_ber = {};  // bit error ratios
  bool operator==(const NvLinkCounters&) const = default;
};

// NVML's counters, read before and after the run; findings compare them.
struct DeviceHealth {
  EccCounts ecc;
  std::optional<std::int64_t> remapped_rows_correctable, remapped_rows_uncorrectable;
  std::optional<bool> remap_pending, remap_failed;
  std::optional<double> temperature_c;
  std::optional<std::int64_t> pcie_replays;
  std::optional<double> memory_temperature_c = {};
  std::optional<double> temperature_margin_c = {};  // until the GPU slows down
  std::vector<NvLinkCounters> nvlinks = {};
  bool operator==(const DeviceHealth&) const = default;
};

// NVLink-C2C, between a GPU and the CPU of its module; copies to and from host memory take it.
struct C2cLinks {
  std::optional<int> count = {};
  std::optional<double> bytes_per_s = {};  // per link and direction, raw
  bool operator==(const C2cLinks&) const = default;
};

struct DeviceFacts {
  std::string uuid;  // "GPU-...", or "MIG-..." for a MIG instance
  std::string name;
  int index = 0;  // in PCI bus order; NVML's, but MIG instances count one by one
  std::string pci_bus_id;
  std::string pci_device_id, pci_subsystem_id;  // vendor and product, as in "10de:2335"
  int compute_major = 0, compute_minor = 0;
  std::optional<int> sm_count;
  std::optional<double> sm_clock_max_hz, memory_clock_max_hz;  // as the driver states them
  std::optional<double> sm_clock_step_hz = {};                 // between settable clocks
  // The SM clock above the stated maximum that several measurements of a run agree on.
  std::optional<double> sm_clock_seen_max_hz = {};
  std::optional<int> memory_bus_bits;
  std::optional<double> memory_bytes, memory_free_bytes;
  std::optional<double> l2_bytes, shared_per_sm_bytes;
  std::optional<bool> ecc_enabled, mig_enabled;
  std::optional<bool> integrated = {};      // shares the host's memory, without a PCIe link
  std::string confidential_computing = {};  // "off", "on", "protected PCIe"; "": unknown
  // State of the NVSwitch fabric: "completed", "in progress", "not started"; "": unknown or none.
  std::string fabric = {};
  std::optional<double> power_limit_w, power_limit_default_w, power_limit_max_w;
  PcieLink pcie;  // generation and width: the highest read under load, else idle
  bool pcie_read_under_load = false;
  std::optional<C2cLinks> c2c = {};  // nullopt: none, or off
  std::optional<int> numa_node;
  NvLinks nvlinks;
  std::vector<PeerFacts> peers;          // the other GPUs of the node
  std::vector<DeviceProcess> processes;  // other processes on the device
  DeviceHealth before, after;
  std::vector<std::int64_t> xids;  // Xid errors during the run
  std::string vbios;
  std::string unusable;  // why it cannot be measured (no permission, MIG, ...); "": it can

  bool operator==(const DeviceFacts&) const = default;
};

// Adds one library's facts to another's; where both know a value, `into` keeps its own.
void merge(DeviceFacts& into, const DeviceFacts& other);

// The highest SM clock known: the one seen, else the stated maximum.
std::optional<double> highest_sm_clock_hz(const DeviceFacts& device);

// "NVLink-C2C" or "PCIe" to host memory; "Host memory" for an integrated GPU.
std::string_view host_link_name(const DeviceFacts& gpu);
// "pcie.h2d", "c2c.h2d". direction: "h2d", "d2h", "bidirectional".
std::string host_link_resource(const DeviceFacts& gpu, std::string_view direction);
// Whether both reach the host through the same processor: the same NUMA node, or no path between
// processors.
bool share_host_side(const DeviceFacts& one, const DeviceFacts& other);
// Processes that used the device beside the run: "python3 (4711)". MPS's server is none of them.
std::vector<std::string> other_users(const DeviceFacts& gpu);
// A slice of a card, which shares clocks and power.
inline bool is_mig_instance(const DeviceFacts& gpu) { return gpu.uuid.starts_with("MIG-"); }
// A size that no cache holds: `bytes` or `l2s` times the L2, whichever is more, in whole MiB;
// `bytes` where the L2 is unknown.
std::size_t beyond_l2(const DeviceFacts& device, std::size_t bytes, double l2s);

// NVLinks that are up and lead to the GPU of that index (nullopt: to any); 0: none or unknown.
int nvlinks_to(const DeviceFacts& gpu, std::optional<int> index);

struct CpuCacheFacts {
  int level = 0;
  double bytes = 0;         // of one cache
  int shared_by_cores = 0;  // physical cores
  int count = 0;
  bool operator==(const CpuCacheFacts&) const = default;
};

struct NumaNodeFacts {
  int index = 0;
  std::optional<double> memory_bytes;
  std::string cpus;  // list format, "0-15,32-47"
  bool operator==(const NumaNodeFacts&) const = default;
};

struct StorageFacts {
  std::string path;           // directory
  std::string file_system;    // "ext4", "tmpfs", "overlay", "nfs4"
  std::string source;         // what is mounted there: "/dev/nvme0n1p1", "server:/export"
  std::string mount_options;  // "rw,relatime"
  std::string device_model;   // "" where the kernel names none
  double file_bytes = 0;      // size of the file read
  bool direct = false;        // bypassing the page cache
  bool operator==(const StorageFacts&) const = default;
};

struct HostFacts {
  std::string hostname;
  std::string cpu_model, architecture;                                  // "AMD EPYC ...", "x86_64"
  std::optional<int> sockets, cores, hardware_threads, usable_threads;  // usable: affinity, cgroup
  std::vector<NumaNodeFacts> numa_nodes;
  std::vector<CpuCacheFacts> caches;  // data and unified
  std::optional<double> memory_bytes;
  std::optional<double> cpu_clock_max_hz;
  std::string vector_extension;  // the widest used: "avx512f", "avx2+fma", "neon", ...
  std::string os, kernel;
  std::string virtualization;  // "", "kvm", "docker", ...
  std::string cpu_governor;    // "" where not readable
  // CPU time that the cgroup allows, in CPUs: 0.2 for 20 % of one; nullopt: no known limit.
  std::optional<double> cpu_quota{};
  // CPUs in the cgroup's cpuset, before any affinity mask.
  std::optional<int> cpuset_threads{};
  std::optional<StorageFacts> storage{};
  bool operator==(const HostFacts&) const = default;
};

// HostFacts::virtualization may name both, one inside the other.
bool in_container(const HostFacts& host);
bool in_virtual_machine(const HostFacts& host);

struct SoftwareFacts {
  std::string driver;           // "580.159.03"; "" without one
  std::string cuda_driver_api;  // "13.0": the newest CUDA the driver supports
  std::string cuda_runtime;     // "13.0"
  std::string cuda_compiler;    // nvcc's version
  std::string cublaslt;         // "13.0.2"
  std::string cxx_compiler;     // "gcc 13.2.0"
  std::string build_type;       // "Release"
  std::string git_revision;     // of peakline; "-dirty" with local changes
  // Environment variables that were set and change results.
  std::vector<std::pair<std::string, std::string>> environment;
  bool operator==(const SoftwareFacts&) const = default;
};

}  // namespace peakline
