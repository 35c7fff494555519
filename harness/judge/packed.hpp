#pragma once

// Profiles as small as comparisons of many need them.

#include "harness/values/profile.hpp"

namespace peakline {

// Leaves out what no comparison looks at: time series, samples of a single run, what follows from
// the measurements but ceilings and findings. Of measurements only those stay whole that a ceiling
// came from; of the others, what was measured is the same in most profiles, and is kept once for
// all of them, until the program ends.
void pack(Profile& profile);

}  // namespace peakline
