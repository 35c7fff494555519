#pragma once

// NVML, loaded at run time and optional; needs no CUDA context. Names devices by UUID, as NVML and
// CUDA_VISIBLE_DEVICES may number them differently.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cuda/nvml_unavailable.hpp"
#include "harness/values/facts.hpp"

namespace peakline::cuda {

// One reading; nullopt: unreadable.
struct TelemetryReading {
  std::optional<double> sm_clock_hz, memory_clock_hz;
  std::optional<double> power_w;   // instantaneous; averaged over a second on older drivers
  std::optional<double> energy_j;  // since the driver was loaded; Nvml::energy_j
  // Time at lowered clocks because of the power cap, since the driver was loaded.
  std::optional<double> power_capped_s;
  std::optional<double> temperature_c;
  std::optional<double> utilization;              // 0..1
  std::optional<std::uint64_t> throttle_reasons;  // bits

  bool operator==(const TelemetryReading&) const = default;
};

struct NvmlLibrary;

class Nvml {
 public:
  // sysfs: mount point. Throws NvmlUnavailable.
  explicit Nvml(std::string sysfs = "/sys");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;       // "580.159.03"
  std::string cuda_driver_version() const;  // "13.0": the newest CUDA that the driver supports

  // NVML's facts about every device, in PCI bus order: identity, compute capability, maximum
  // clocks, memory, bus width, ECC, MIG, power limits, PCIe link (idle) and NUMA node. An
  // unreadable device has `unusable` set. `before` stays empty. Read at the first call, since
  // several GPUs with many links take long; not to be called concurrently.
  const std::vector<DeviceFacts>& devices() const;

  // These throw NvmlUnavailable for an unknown UUID; unreadable values are nullopt.
  DeviceHealth health(const std::string& uuid) const;
  std::vector<DeviceProcess> processes(const std::string& uuid) const;  // includes this process
  PcieLink pcie_link(const std::string& uuid) const;                    // at the moment
  TelemetryReading telemetry(const std::string& uuid) const;            // without energy
  std::optional<double> energy_j(const std::string& uuid) const;

  // Collects Xid errors from now on, if supported; xids() returns those so far, without waiting.
  void watch_xids(const std::vector<std::string>& uuids);
  std::vector<std::int64_t> xids(const std::string& uuid);

 private:
  std::string sysfs_;
  std::unique_ptr<NvmlLibrary> library_;
  mutable std::vector<DeviceFacts> devices_;
};

inline constexpr const char* kPowerCapReason = "sw_power_cap";

// Names of NVML's clock event reason bits: "sw_power_cap", "hw_slowdown", "sync_boost",
// "sw_thermal", "hw_thermal", "hw_power_brake", "display_clock". Omits the idle and
// application-clock bits, which limit nothing under load.
std::vector<std::string> throttle_reason_names(std::uint64_t bits);

}  // namespace peakline::cuda
