#pragma once

#include <string>

#include "harness/values/profile.hpp"

namespace peakline::bench {

// The first screen of a profile, for stdout. GPUs are compared with those that this peakline knows.
std::string screen_of(const Profile& profile);

}  // namespace peakline::bench
