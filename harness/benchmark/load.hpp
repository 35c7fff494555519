#pragma once

// Unbroken load: what a device sustains once its power control has settled.

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "harness/cuda/sampler.hpp"
#include "harness/cuda/telemetry.hpp"
#include "harness/statistics/power_control.hpp"
#include "harness/values/measurement.hpp"

namespace peakline::bench {

// The time that a load takes from the burst rate to the sustained rate.
inline constexpr double kLoadStartSeconds = 0.2;

using LoadIntervals = std::vector<cuda::Sampler::Interval>;

// A load, and from when on it counts.
struct Load {
  LoadIntervals intervals;
  double from_s = 0;
};

// Puts a device under load and keeps track of when it last was, so that each load starts to count
// once it has settled.
class LoadRunner {
 public:
  explicit LoadRunner(cuda::Sampler& sampler);

  // Plans a load of which so much counts, from the state that the device is in; with others, which
  // may be in another state, as from rest.
  LoadPart part_for(double counted_s, bool with_others) const;
  // launch_s: approximate seconds of one launch. The first intervals are shorter. tolerance: it
  // goes on until it has settled to within so much, as LoadLength has it; nullopt: until the part
  // that is planned is over.
  Load run(const cuda::Launch& launch, double launch_s, const LoadPart& planned,
           std::optional<double> tolerance);

 private:
  // Whether the device has rested since the last load.
  bool from_rest() const;

  cuda::Sampler& sampler_;
  double spare_s_;
  double end_s_ = -std::numeric_limits<double>::infinity();
};

// The launches in one of the later intervals of a load.
std::int64_t launches_of_interval(const cuda::Sampler& sampler, const cuda::Launch& launch,
                                  double launch_s);

// The intervals as a series; start_s: start of the load by Telemetry's clock. rate_of: from seconds
// per launch to the measurement's value.
Series series_of(const LoadIntervals& intervals, double start_s,
                 const std::vector<cuda::TimedReading>& readings,
                 const std::function<double(double launch_s)>& rate_of);
// The series with the points after the start of the load reduced to medians of groups.
Series thinned(const Series& series);

// The time, in seconds from the start of a soak that ended at end_s, from which it counts.
double soak_settled_from_s(double end_s);
// When a soak reached thermal equilibrium; nullopt if it did not, or too late to tell.
std::optional<double> equilibrium_s(const Series& series);

struct SettledLoad {
  // Means over whole swings of the power control, in time order; the intervals themselves where
  // there are fewer.
  std::vector<double> launch_s;
  std::size_t intervals = 1;          // in each
  std::optional<double> sm_clock_hz;  // mean
};
// The part of a load that counts: the intervals that end at from_s or later, or the last one.
SettledLoad settled(const LoadIntervals& intervals, double from_s);

}  // namespace peakline::bench
