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

// The way from burst to sustained is over after this.
inline constexpr double kLoadStartSeconds = 0.2;

using LoadIntervals = std::vector<cuda::Sampler::Interval>;

// Puts a device under load, and knows for how long it has been: loads that follow one another
// without a longer pause count together.
class LoadRunner {
 public:
  explicit LoadRunner(cuda::Sampler& sampler) : sampler_(sampler) {}

  // How long a point of this rule (kSustained, kLoaded or kSoak) has to load the device now.
  double seconds_for(Rule rule, double soak_s) const;
  // Rests ahead of a load that is to be followed from rest on.
  void rest_before(Rule rule) const;
  // launch_s: seconds of one launch, about. Intervals are short at first.
  LoadIntervals run(const cuda::Launch& launch, double launch_s, double seconds);

 private:
  // Whether the loads up to now do not yet make the next one sustained from its start on.
  bool from_rest() const;

  cuda::Sampler& sampler_;
  double start_s_ = 0, end_s_ = 0;
};

// The launches of one of its later intervals.
std::int64_t launches_of_interval(const cuda::Sampler& sampler, const cuda::Launch& launch,
                                  double launch_s);

// Median seconds of one launch over the second half of so many seconds of load: a short look at
// what a sustained load would give, for searches.
double loaded_launch_s(LoadRunner& loads, cuda::Sampler& sampler, const cuda::Launch& launch,
                       double seconds);

// The intervals as a series; start_s: when the load began, on Telemetry's clock. rate_of: the
// measurement's value for the seconds of one launch.
Series series_of(const LoadIntervals& intervals, double start_s,
                 const std::vector<cuda::TimedReading>& readings,
                 const std::function<double(double launch_s)>& rate_of);
// With fewer points after the first moments: their medians.
Series thinned(const Series& series);

// Seconds from the start of a load that ended at end_s from which on it counts.
double settled_from_s(Rule rule, double end_s);
// When a soak's temperature reached its equilibrium; nullopt where it did not, or not in time.
std::optional<double> equilibrium_s(const Series& series);

struct SettledLoad {
  std::vector<double> launch_s;  // blocks, in time order
  std::optional<double> sm_clock_hz;
};
// What counts of it: the intervals that end at from_s or later.
SettledLoad settled(const LoadIntervals& intervals, double from_s);

// How long a point of the rule takes, about, where it follows others.
double seconds_of_sustained_point();

}  // namespace peakline::bench
