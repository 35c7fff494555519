#pragma once

// A device's memory levels: capacity, latency, bandwidth.

#include <optional>
#include <vector>

#include "harness/values/device_view.hpp"

namespace peakline {

// An L2 with near and far parts: two latency plateaus, at least 10 % apart.
struct FarPart {
  double near_s = 0, far_s = 0;
  double near_bytes = 0;  // capacity of the near part
};
std::optional<FarPart> far_part_of_l2(const DeviceView& gpu);

// Levels of each GPU with any measurement, nearest first. From profile.curves and profile.ceilings.
std::vector<MemoryLevel> derive_memory_map(const Profile& profile);

}  // namespace peakline
