#pragma once

// Unbroken load: the rate once power control has settled.

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "harness/cuda/sampler.hpp"
#include "harness/statistics/power_control.hpp"
#include "harness/values/measurement.hpp"

namespace peakline::cuda {
struct TimedReading;
}

namespace peakline::bench {

// Time from burst rate to sustained rate.
inline constexpr double kLoadStartSeconds = 0.2;

using LoadIntervals = std::vector<cuda::Sampler::Interval>;

struct Load {
  LoadIntervals intervals;
  double from_s = 0;
};

// Loads a device and remembers when, so that each load counts only once settled.
class LoadRunner {
 public:
  explicit LoadRunner(cuda::Sampler& sampler);

  // Plans a load that counts for counted_s. with_others: settle as from rest, as they may be.
  LoadPart part_for(double counted_s, bool with_others) const;
  // launch_s: approximate seconds per launch. tolerance: extend the load until it settles to within
  // this (LoadLength); nullopt: end as planned. The first intervals are shorter.
  Load run(const cuda::Launch& launch, double launch_s, const LoadPart& planned,
           std::optional<double> tolerance);

 private:
  bool from_rest() const;

  cuda::Sampler& sampler_;
  double spare_s_;
  double end_s_ = -std::numeric_limits<double>::infinity();
};

// Launches per later interval of a load.
std::int64_t launches_of_interval(const cuda::Sampler& sampler, const cuda::Launch& launch,
                                  double launch_s);

// start_s: start of the load by Telemetry's clock. rate_of: converts to the measurement's value.
Series series_of(const LoadIntervals& intervals, double start_s,
                 const std::vector<cuda::TimedReading>& readings,
                 const std::function<double(double launch_s)>& rate_of);
// Reduces points after the start of the load to medians of groups.
Series thinned(const Series& series);

// Seconds from a soak's start until it counts.
double soak_settled_from_s(double end_s);
// When a soak reached thermal equilibrium; nullopt if not, or too late to tell.
std::optional<double> equilibrium_s(const Series& series);

struct SettledLoad {
  // Means over whole oscillations, in time order; single intervals if there are fewer.
  std::vector<double> launch_s;
  std::size_t intervals = 1;          // in each mean
  std::optional<double> sm_clock_hz;  // mean
};
// The part of a load that counts: intervals that end at from_s or later, at least the last.
SettledLoad settled(const LoadIntervals& intervals, double from_s);

}  // namespace peakline::bench
