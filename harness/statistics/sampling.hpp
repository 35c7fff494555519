#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

enum class StopReason { kPrecise, kTimeUp, kSampleLimit };
std::string_view to_string(StopReason reason);  // "precise", "time_up", "sample_limit"

// Blocks of a full measurement, over all its sittings.
inline constexpr std::size_t kBlocks = 20;
// Samples before the first look: 20 blocks of three correlation lengths at a lag-1 of 0.5.
inline constexpr std::size_t kMinSamples = 320;
// With fewer samples, a median and its interval mean little.
inline constexpr std::size_t kFewestSamples = 7;

struct SamplingRule {
  std::size_t min_samples =
      kMinSamples;  // samples before the first look; later looks at every doubling
  // For slow samples the first look comes after this time, with one sample per block at least.
  double min_time_s = 5e-4 * kMinSamples;
  std::size_t max_samples = 10240;
  double max_noise = 0.005;  // sufficient half width of the interval, relative to the median
  // Harmless shift within the measurement, relative to the median.
  double tolerance = 0.005;
  double time_limit_s = 1.0;  // from the first sample
  std::size_t blocks = kBlocks;
  // Taken even beyond the time limit.
  std::size_t fewest_samples = kFewestSamples;
};

// For ceilings and headline figures: blocks exceed three correlation lengths. min_samples: for
// kBlocks blocks; fewer blocks take their share.
SamplingRule full_rule(double max_noise, double tolerance, double time_limit_s,
                       std::size_t min_samples = kMinSamples, std::size_t blocks = kBlocks);
// For points of a curve: 7 samples, one look.
SamplingRule curve_rule(double max_noise, double tolerance);
// One sample, for use under a profiler.
SamplingRule single_sample_rule();

struct Sampling {
  std::vector<double> blocks;  // block medians in time order, seconds per launch
  Summary summary;
  std::size_t samples = 0;  // taken
  StopReason stop = StopReason::kPrecise;
  // Samples drift or form two levels, or blocks are too short for their correlation.
  bool unstable = false;
};

// Samples until the rule is met. take(n) returns one to n more samples (seconds per launch, in time
// order); now_s is a monotonic clock. Looks only at doubling counts, which keeps the stopping rule
// from biasing the result. Throws what `take` throws.
Sampling collect(const SamplingRule& rule,
                 const std::function<std::vector<double>(std::size_t n)>& take,
                 const std::function<double()>& now_s);

}  // namespace peakline
