#pragma once

// What a run measures, on which device and in which order.

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/core/facts.hpp"

namespace peakline::bench {

// Bad usage: the message names the option and what would be right. Ends in exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PlannedPoint {
  const Benchmark* benchmark = nullptr;
  const Point* point = nullptr;
  std::string name;    // as point_name() gives it
  double share_s = 0;  // of the run's wall time: devices that work at once share it
};

struct DevicePlan {
  std::string device;                // kHostDevice or a GPU's UUID
  std::vector<PlannedPoint> points;  // in the order of the phases
};

struct Plan {
  std::vector<DevicePlan> devices;

  std::size_t size() const;
  bool has(Phase phase) const;
  double seconds() const;  // estimated wall time of the measurements
};

inline bool is_host_point(const Point& point) { return point.phase == Phase::kHost; }
std::string_view name_of(Phase phase);  // "host", "link", "device", "burst", "sustained"

// The points that are part of the mode and whose name ("id/name:value") the regular expression
// (ECMAScript, searched) matches, if one is given. The host is always part of it; a device without
// points is not. Throws UsageError for a bad expression, and for one that matches nothing that
// could be measured, naming the nearest ids.
Plan make_plan(const Registry& registry, std::span<const std::string> gpu_uuids, bool quick,
               const std::string& filter);

// The devices that --device names: "all", or a comma-separated list of NVML's indices and of UUIDs,
// of which a prefix that fits one device alone is enough. Throws UsageError, naming those there
// are.
std::vector<DeviceFacts> select_gpus(std::span<const DeviceFacts> all,
                                     const std::string& selection);

// The devices that a value of CUDA_VISIBLE_DEVICES leaves, read as CUDA reads it, in PCI bus order:
// the list ends at the first entry that names no device.
std::vector<DeviceFacts> visible_gpus(std::span<const DeviceFacts> all,
                                      const std::string& visible_devices);

}  // namespace peakline::bench
