#pragma once

#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// The same profile with what follows from its measurements: links under load, plausibility,
// resources, ceilings, rooflines, headlines, curves, memory map and findings. What stood there
// before is replaced.
Profile with_conclusions(Profile profile, Benchmarks benchmarks);

}  // namespace peakline
