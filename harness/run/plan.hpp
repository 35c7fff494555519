#pragma once

// Plans what a run measures, on which device and in which order.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/values/facts.hpp"

namespace peakline::bench {

// Bad usage: the message names the option and what would be right. Ends in kExitUsage.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An argument as messages repeat it: cleaned of control characters, and shortened.
std::string shown(std::string_view argument);

struct PlannedPoint {
  const Benchmark* benchmark = nullptr;
  const Point* point = nullptr;
  std::string name;    // as point_name() gives it
  double share_s = 0;  // of the run's wall time: devices that work at once share it
  std::size_t sittings = 1;
};

struct DevicePlan {
  std::string device;                // kHostDevice, kNodeDevice or a GPU's UUID
  std::vector<PlannedPoint> points;  // in the order of the phases
};

struct Plan {
  std::vector<DevicePlan> devices;

  std::size_t size() const;  // points
  bool has(Phase phase) const;
  double seconds() const;  // estimated wall time of the measurements
};

std::string_view phase_name(Phase phase);  // "host", "link", "node", "device", "burst", ...

// The points that belong to the mode and in whose name ("id/name:value") the regular expression
// (RE2 syntax) finds a match, if one is given. The host is always included; a device without points
// is not. Throws UsageError for a malformed expression, and for one that matches nothing that can
// be measured, naming the closest ids. with_node: also what lies between several GPUs.
Plan make_plan(const Registry& registry, std::span<const std::string> gpu_uuids, bool quick,
               const std::string& filter, bool with_node = true);

// The points of a device that it cannot have take none of the run's time: they are skipped.
void leave_out_time(Plan& plan, std::span<const DeviceFacts> devices);

// The devices that --device names: "all", or a comma-separated list of NVML indices and UUIDs,
// where a prefix is enough if it is unique. Throws UsageError, listing those that are available.
std::vector<DeviceFacts> select_gpus(std::span<const DeviceFacts> all,
                                     const std::string& selection);

// The devices that a value of CUDA_VISIBLE_DEVICES allows, read as CUDA reads it, in PCI bus order:
// the list ends at the first entry that names no device.
std::vector<DeviceFacts> visible_gpus(std::span<const DeviceFacts> all,
                                      const std::string& visible_devices);

}  // namespace peakline::bench
