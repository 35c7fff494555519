#pragma once

// Profiles large enough to expose quadratic work.

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string>

#include "tests/unit/sample_profile.hpp"

namespace peakline {

// Measurements of one benchmark, each with its own ceiling.
inline Profile crowded_profile(std::size_t size) {
  Profile p = sample::h200_run();
  p.measurements.clear();
  p.ceilings.clear();
  for (std::size_t i = 0; i < size; ++i) {
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

// CPU time is independent of other work on the machine.
template <class Work>
double cpu_seconds(Work work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Time for eight times as many ceilings: about 8 x if linear, 64 x if quadratic, in any build.
template <class Work>
double growth(Work work) {
  constexpr std::size_t kSmall = 2'000;
  const Profile small = crowded_profile(kSmall), large = crowded_profile(8 * kSmall);
  cpu_seconds([&] { work(small); });  // warms up caches
  // The short run is easily disturbed, so the longer of two counts.
  const double once =
      std::max(cpu_seconds([&] { work(small); }), cpu_seconds([&] { work(small); }));
  return cpu_seconds([&] { work(large); }) / once;
}
inline constexpr double kMostGrowth = 28;

}  // namespace peakline
