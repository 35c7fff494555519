#pragma once

// NVML, loaded at run time, so that the executable starts on a machine without a driver. It needs
// no CUDA context. Devices are always named by UUID, since NVML and CUDA_VISIBLE_DEVICES may number
// them differently.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cuda/nvml_unavailable.hpp"
#include "harness/values/facts.hpp"

namespace peakline::cuda {

// One reading; nullopt: not readable.
struct TelemetryReading {
  std::optional<double> sm_clock_hz, memory_clock_hz;
  std::optional<double> power_w;   // instantaneous; on older drivers, averaged over a second
  std::optional<double> energy_j;  // since the driver was loaded
  // How long clocks were below their maximum because of the power cap, since the driver was loaded.
  std::optional<double> power_capped_s;
  std::optional<double> temperature_c;
  std::optional<double> utilization;              // 0..1
  std::optional<std::uint64_t> throttle_reasons;  // NVML clock event reason bits

  bool operator==(const TelemetryReading&) const = default;
};

struct NvmlLibrary;  // the loaded entry points

class Nvml {
 public:
  // Loads the library and initializes it. sysfs: where the kernel's file system is mounted. Throws
  // NvmlUnavailable.
  explicit Nvml(std::filesystem::path sysfs = "/sys");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;       // "580.159.03"
  std::string cuda_driver_version() const;  // "13.0": the newest CUDA the driver supports

  // Facts that NVML reports about every device, in PCI bus order: identity, compute capability,
  // maximum clocks, memory, bus width, ECC, MIG, power limits, PCIe link (idle) and NUMA node. A
  // device that cannot be read is listed with `unusable` set. `before` is not filled.
  std::vector<DeviceFacts> devices() const;

  // Throw NvmlUnavailable for an unknown UUID; individual values that cannot be read are nullopt.
  DeviceHealth health(const std::string& uuid) const;
  std::vector<DeviceProcess> processes(const std::string& uuid) const;  // all, including our own
  PcieLink pcie_link(const std::string& uuid) const;                    // current state
  TelemetryReading telemetry(const std::string& uuid) const;

  // Collects Xid errors of the devices from now on; xids() returns those seen so far, without
  // waiting. Does nothing if the driver does not support events.
  void watch_xids(const std::vector<std::string>& uuids);
  std::vector<std::int64_t> xids(const std::string& uuid);

 private:
  std::filesystem::path sysfs_;
  std::unique_ptr<NvmlLibrary> library_;
};

inline constexpr const char* kPowerCapReason = "sw_power_cap";

// NVML clock event reason bits as names, without the idle and application-clock bits that limit
// nothing under load: "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal", "hw_thermal",
// "hw_power_brake", "display_clock".
std::vector<std::string> throttle_reason_names(std::uint64_t bits);

}  // namespace peakline::cuda
