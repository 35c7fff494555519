#pragma once

#include <span>

#include "harness/conclude/benchmark.hpp"
#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Derives all conclusions from the measurements, replacing earlier ones: links under load, clocks,
// plausibility, resources, ceilings, rooflines, headlines, curves, memory map and findings. kept:
// known spread of these cards' runs, besides the usual one.
Profile with_conclusions(Profile profile, Benchmarks benchmarks,
                         std::span<const Population> kept = {});

}  // namespace peakline
