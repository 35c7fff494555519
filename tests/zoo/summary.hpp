#pragma once

#include <string>

#include "harness/benchmark/registry.hpp"
#include "harness/values/profile.hpp"

namespace peakline::zoo {

// What a reader needs to see of one device, a few lines: as what it is recognized, its datasheet or
// why there is none, what theory says of it, what is missing, memory, link, headlines, verdict.
std::string summary(const Profile& profile);

// What a run on it would measure: points and seconds, the points of units that it does not have by
// the area of their ids, and a footprint that has to be four times its L2.
std::string plan_summary(const DeviceFacts& device, const bench::Registry& registry);

}  // namespace peakline::zoo
