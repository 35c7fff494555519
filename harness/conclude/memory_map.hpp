#pragma once

// The levels of a device's memory side by side: how much each holds, how far it is, how fast.

#include <optional>
#include <vector>

#include "harness/values/device_view.hpp"

namespace peakline {

// An L2 whose parts are not equally far from an SM, as latencies show: plateaus of their own for
// both, a tenth apart.
struct FarPart {
  double near_s = 0, far_s = 0;
  double near_bytes = 0;  // what the near part holds
};
std::optional<FarPart> far_part_of_l2(const DeviceView& gpu);

// The levels of each GPU of which something was measured, the nearest first. Follows from
// profile.curves and profile.ceilings.
std::vector<MemoryLevel> derive_memory_map(const Profile& profile);

}  // namespace peakline
