#pragma once

// Unbroken load: what a device sustains once its power control has settled.

#include <functional>
#include <optional>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/core/measurement.hpp"
#include "harness/cuda/sampler.hpp"
#include "harness/cuda/telemetry.hpp"

namespace peakline::bench {

// By then a load has gone from the burst rate to the sustained rate.
inline constexpr double kLoadStartSeconds = 0.2;

using LoadIntervals = std::vector<cuda::Sampler::Interval>;

// Puts a device under load and keeps track of how long it has been loaded: loads without a long
// pause in between count as one.
class LoadRunner {
 public:
  explicit LoadRunner(cuda::Sampler& sampler) : sampler_(sampler) {}

  // How long a point of this rule (kSustained, kLoaded or kSoak) must load the device now.
  double seconds_for(Rule rule, double soak_s) const;
  // Rests before a load whose time series should start from rest.
  void rest_before(Rule rule) const;
  // launch_s: approximate seconds of one launch. The first intervals are shorter.
  LoadIntervals run(const cuda::Launch& launch, double launch_s, double seconds);

 private:
  // Whether the next load starts from rest, as the previous ones were too short or too long ago.
  bool from_rest() const;

  cuda::Sampler& sampler_;
  double start_s_ = 0, end_s_ = 0;
};

// The launches in one of the later intervals of a load.
std::int64_t launches_of_interval(const cuda::Sampler& sampler, const cuda::Launch& launch,
                                  double launch_s);

// Median seconds of one launch over the second half of a load of this many seconds: a quick
// estimate of the sustained rate, for searches.
double loaded_launch_s(LoadRunner& loads, cuda::Sampler& sampler, const cuda::Launch& launch,
                       double seconds);

// The intervals as a series; start_s: start of the load by Telemetry's clock. rate_of: from seconds
// per launch to the measurement's value.
Series series_of(const LoadIntervals& intervals, double start_s,
                 const std::vector<cuda::TimedReading>& readings,
                 const std::function<double(double launch_s)>& rate_of);
// The series with the points after the start of the load reduced to medians of groups.
Series thinned(const Series& series);

// The time, in seconds from the start of a load that ended at end_s, from which it counts.
double settled_from_s(Rule rule, double end_s);
// When a soak reached thermal equilibrium; nullopt if it did not, or too late to tell.
std::optional<double> equilibrium_s(const Series& series);

struct SettledLoad {
  std::vector<double> launch_s;  // blocks, in time order
  std::optional<double> sm_clock_hz;
};
// The part of a load that counts: the intervals that end at from_s or later.
SettledLoad settled(const LoadIntervals& intervals, double from_s);

// About how long a sustained point takes when it follows others.
double seconds_of_sustained_point();

}  // namespace peakline::bench
