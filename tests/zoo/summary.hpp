#pragma once

#include <string>

#include "harness/benchmark/registry.hpp"
#include "harness/values/profile.hpp"

namespace peakline::zoo {

// What a reader needs to see of one device, a few lines: as what it is recognized, its datasheet or
// why there is none, what theory says of it, what is missing, memory, link, headlines, verdict.
std::string summary(const Profile& profile);

// The areas of the ids that a run on it leaves out, for units that it does not have, and a
// footprint that has to be four times its L2.
std::string lacks(const DeviceFacts& device, const bench::Registry& registry);

// How long a full and a quick run on it take.
std::string plan_summary(const DeviceFacts& device, const bench::Registry& registry);

}  // namespace peakline::zoo
