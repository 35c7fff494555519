#pragma once

#include <string>

#include "harness/values/profile.hpp"

namespace peakline::bench {

// The first screen of a profile, for stdout; its GPUs are held against those that this peakline
// knows.
std::string screen_of(const Profile& profile);

}  // namespace peakline::bench
