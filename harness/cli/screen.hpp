#pragma once

#include <string>

#include "harness/show/check.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

// The profile checked against the GPUs that this peakline knows.
Checks checks_of(const Profile& profile);

// The first screen of a profile with these checks, for stdout.
std::string screen_of(const Profile& profile);

}  // namespace peakline::bench
