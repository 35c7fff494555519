#pragma once

#include <string>
#include <vector>

#include "harness/core/profile.hpp"

namespace peakline::bench {

// Reads several profiles at once, without series, and without the samples of what was measured in
// one run: no comparison needs them. Throws what reading the first unreadable one throws.
std::vector<Profile> read_profiles(const std::vector<std::string>& files);

}  // namespace peakline::bench
