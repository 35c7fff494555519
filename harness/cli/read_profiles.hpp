#pragma once

#include <string>
#include <vector>

#include "harness/core/profile.hpp"

namespace peakline::bench {

// Reads several profiles at once, without samples and series, which no comparison needs. Throws
// what reading the first unreadable one throws.
std::vector<Profile> read_profiles(const std::vector<std::string>& files);

}  // namespace peakline::bench
