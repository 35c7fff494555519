#pragma once

// What a profile says of the machine: names and traits of its devices, in words.

#include <cstddef>
#include <string>
#include <vector>

#include "harness/values/device_view.hpp"

namespace peakline {

// GPUs, node and host that were measured, in this order.
std::vector<DeviceView> measured_devices(const Profile& profile);

// "GPU 0 · NVIDIA H200", "node", "host".
std::string name_of(const DeviceView& device);
// SMs, clock, memory, power, link.
std::vector<std::string> traits_of(const DeviceView& device);
// Name and traits.
std::string title_of(const DeviceView& device);
// "2 x AMD EPYC 9654, 192 cores, 4 of 384 CPUs usable"; "" if the model is unknown.
std::string cpu_text(const HostFacts& host);

struct PointCounts {
  std::size_t ok = 0, skipped = 0, failed = 0;
};
PointCounts count_points(const Profile& profile);

}  // namespace peakline
