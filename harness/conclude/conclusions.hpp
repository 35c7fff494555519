#pragma once

#include <span>

#include "harness/values/benchmark.hpp"
#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// The same profile with what follows from its measurements: links under load, clocks, plausibility,
// resources, ceilings, rooflines, headlines, curves, memory map and findings. What stood there
// before is replaced. kept: what is known of how runs of these cards differ, beside what is usual.
Profile with_conclusions(Profile profile, Benchmarks benchmarks,
                         std::span<const Population> kept = {});

}  // namespace peakline
