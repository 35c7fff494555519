#pragma once

#include <string>

#include "harness/values/profile.hpp"

namespace peakline::zoo {

// What a reader needs to see of one device, a few lines: as what it is recognized, its datasheet or
// why there is none, what theory says of it, what is missing, memory, link, headlines, verdict.
std::string summary(const Profile& profile);

}  // namespace peakline::zoo
