#pragma once

#include <string>

#include "harness/show/check.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

// Checks the profile against the bundled populations.
Checks checks_of(const Profile& profile);

std::string screen_of(const Profile& profile);

}  // namespace peakline::bench
