#pragma once

#include "harness/values/profile.hpp"

namespace peakline {

// Removes what comparisons do not read: time series, samples of a single run, conclusions other
// than ceilings and findings. Measurements behind ceilings stay whole; of others, the identity is
// shared between profiles until the program ends.
void pack(Profile& profile);

}  // namespace peakline
