#pragma once

#include <vector>

#include "harness/core/profile.hpp"

namespace peakline {

// The few figures that stand at the top, for each device that was measured; from profile.ceilings
// and profile.missing_ceilings.
std::vector<Headline> derive_headlines(const Profile& profile);

}  // namespace peakline
