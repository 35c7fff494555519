#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/values/facts.hpp"

namespace peakline::bench {

// Bad usage; the message names option and valid values. Leads to kExitUsage.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An argument for messages: printable and shortened.
std::string shown(std::string_view argument);

struct PlannedPoint {
  const Benchmark* benchmark = nullptr;
  const Point* point = nullptr;
  std::string name;    // by point_name()
  double share_s = 0;  // of the run's wall time, shared by devices that work concurrently
  std::size_t sittings = 1;
};

struct DevicePlan {
  std::string device;                // kHostDevice, kNodeDevice or a GPU's UUID
  std::vector<PlannedPoint> points;  // in order of phases
};

struct Plan {
  std::vector<DevicePlan> devices;

  std::size_t size() const;  // points
  bool has(Phase phase) const;
  double seconds() const;  // estimated wall time
};

std::string_view phase_name(Phase phase);  // "host", "link", "node", "device", "burst", ...

// The mode's points whose name ("id/name:value") matches the regular expression (RE2, "": all).
// Always includes the host; omits devices without points. Throws UsageError for a malformed
// expression, or one without a measurable match, naming the closest ids. with_node: include points
// between GPUs.
Plan make_plan(const Registry& registry, std::span<const std::string> gpu_uuids, bool quick,
               const std::string& filter, bool with_node = true);

// Points that a device does not support take no time: they are skipped. Of GPUs on one side of the
// host, all but the first lose the points of kLink that feed no ceiling: the host decides them.
void fit_to_devices(Plan& plan, std::span<const DeviceFacts> devices);

// Devices for --device: "all", or a comma-separated list of NVML indices and unique UUID prefixes.
// Throws UsageError, listing the available ones.
std::vector<DeviceFacts> select_gpus(std::span<const DeviceFacts> all,
                                     const std::string& selection);

// Devices that CUDA_VISIBLE_DEVICES allows, in PCI bus order; as in CUDA, the list ends at the
// first invalid entry.
std::vector<DeviceFacts> visible_gpus(std::span<const DeviceFacts> all,
                                      const std::string& visible_devices);

}  // namespace peakline::bench
