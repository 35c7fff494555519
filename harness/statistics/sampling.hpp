#pragma once

// How many samples a measurement takes: rules, and taking samples until one is met.

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

enum class StopReason { kPrecise, kTimeUp, kSampleLimit };
std::string_view to_string(StopReason reason);  // "precise", "time_up", "sample_limit"

// Blocks that the samples of a full measurement are grouped into, over all of its sittings.
inline constexpr std::size_t kBlocks = 20;
// Samples of a full measurement before the first look: with a correlation of 0.5 between
// neighbours, 20 blocks are then longer than three correlation lengths.
inline constexpr std::size_t kMinSamples = 320;
// Below this many samples a median and its interval mean little.
inline constexpr std::size_t kFewestSamples = 7;

// When to stop sampling.
struct SamplingRule {
  std::size_t min_samples = kMinSamples;  // the first look; later looks at every doubling
  // If samples take long, the first look comes after this time, at one or more for each block.
  double min_time_s = 5e-4 * kMinSamples;
  std::size_t max_samples = 10240;
  double max_noise = 0.005;  // half width of the interval over the median that is enough
  // A shift within the measurement that is no larger does not matter, relative to the median.
  double tolerance = 0.005;
  double time_limit_s = 1.0;  // measured from the first sample
  std::size_t blocks = kBlocks;
  // Taken even where the time limit has passed: work that takes long is measured for longer.
  std::size_t fewest_samples = kFewestSamples;
};

// Ceilings and other headline figures: blocks longer than three correlation lengths. min_samples:
// for kBlocks; a sitting of fewer blocks takes its share.
SamplingRule full_rule(double max_noise, double tolerance, double time_limit_s,
                       std::size_t min_samples = kMinSamples, std::size_t blocks = kBlocks);
// A point of a curve: 7 samples of their own, one look.
SamplingRule curve_rule(double max_noise, double tolerance);
// One sample, whatever it is worth: under a profiler.
SamplingRule single_sample_rule();

struct Sampling {
  std::vector<double> blocks;  // block medians in time order, seconds per launch
  Summary summary;
  std::size_t samples = 0;  // taken
  StopReason stop = StopReason::kPrecise;
  // The samples drift or lie around two levels, or the blocks are too short for their correlation.
  bool unstable = false;
};

// Takes samples until the rule is met. `take(n)` measures up to n more samples and returns at least
// one (seconds per launch, in time order); `now_s` is a monotonic clock. Looks at the stopping rule
// only at doubling counts, so that looking does not bias it. Throws what `take` throws.
Sampling collect(const SamplingRule& rule,
                 const std::function<std::vector<double>(std::size_t n)>& take,
                 const std::function<double()>& now_s);

}  // namespace peakline
