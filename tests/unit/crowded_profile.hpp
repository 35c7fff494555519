#pragma once

// A profile so large that work quadratic in it stands out.

#include <cstddef>
#include <ctime>
#include <string>

#include "tests/unit/sample_profile.hpp"

namespace peakline {

// Measurements of one benchmark, each with a ceiling of its own.
inline constexpr std::size_t kCrowd = 30'000;
inline Profile crowded_profile() {
  Profile p = sample::h200_run();
  p.measurements.clear();
  p.ceilings.clear();
  for (std::size_t i = 0; i < kCrowd; ++i) {
    p.measurements.push_back(
        sample::measurement("hbm.read", {{"bytes", (4LL << 30) + static_cast<std::int64_t>(i)}},
                            Quantity::kByteRate, 4e12));
    const Measurement& m = p.measurements.back();
    p.ceilings.push_back({.device = m.device,
                          .resource = "made_up." + std::to_string(i),
                          .value = *m.value,
                          .unit = m.unit,
                          .ci_low = {},
                          .ci_high = {},
                          .conditions = {},
                          .measurement = m.name(),
                          .note = {}});
  }
  return p;
}

// CPU time, so that other work on the machine does not count.
template <class Work>
double cpu_seconds(Work work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Linear work on a crowded profile takes a tenth of it in a debug build, and some more under a
// sanitizer; quadratic work takes several times as long in any build.
inline constexpr double kCrowdSeconds = 4;

}  // namespace peakline
