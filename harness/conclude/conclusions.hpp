#pragma once

#include <span>

#include "harness/values/benchmark.hpp"
#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Returns the profile with everything that follows from its measurements: links under load, clocks,
// plausibility, resources, ceilings, rooflines, headlines, curves, memory map and findings.
// Replaces earlier ones. kept: how runs of these cards differ as far as that is known, beside what
// is usual.
Profile with_conclusions(Profile profile, Benchmarks benchmarks,
                         std::span<const Population> kept = {});

}  // namespace peakline
