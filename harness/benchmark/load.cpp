#include "harness/benchmark/load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/statistics.hpp"

namespace peakline::bench {
namespace {

using cuda::Telemetry;

// After this time an unbroken load counts as sustained.
constexpr double kSustainedSeconds = 5.0;
// Longer than the pause between two points that share a search; after more, the card has recovered.
constexpr double kLongestPauseSeconds = 0.5;
// The last third of a load counts, but at least this long: ten steps of the energy counter.
constexpr double kSettledSeconds = 1.2;
constexpr double kSettledShare = 1.0 / 3.0;
// Duration of a load that follows others: the power control has settled by then.
constexpr double kSustainedOwnSeconds = 1.35;
// Rest before the first load, so that its time series shows the drop from burst to sustained.
constexpr double kRestBeforeLoadSeconds = 0.15;
// The loaded rule averages one swing of the power control, which on an H200 moves the rate by a few
// percent about every 0.6 s.
constexpr double kLoadedSeconds = 0.65;
constexpr double kLoadedSettledSeconds = 0.55;
constexpr double kIntervalSeconds = 0.05;
constexpr double kFirstIntervalSeconds = 0.01;
// Points of a time series kept in the profile, not counting those at the start of the load.
constexpr std::size_t kSeriesPoints = 50;
// NVML reports temperature in whole degrees.
constexpr double kEquilibriumC = 1.0;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// `values` with those from `first` on reduced to at most kSeriesPoints medians of equal-sized
// groups.
std::vector<double> thinned(const std::vector<double>& values, std::size_t first) {
  if (values.size() <= first + kSeriesPoints) return values;
  std::vector<double> kept(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first));
  const std::size_t rest = values.size() - first;
  for (std::size_t group = 0; group < kSeriesPoints; ++group) {
    std::vector<double> known;
    for (std::size_t i = first + group * rest / kSeriesPoints;
         i < first + (group + 1) * rest / kSeriesPoints; ++i)
      if (!std::isnan(values[i])) known.push_back(values[i]);
    kept.push_back(known.empty() ? kUnknown : median(known));
  }
  return kept;
}

}  // namespace

bool LoadRunner::from_rest() const {
  const bool paused = Telemetry::now_s() - end_s_ >= kLongestPauseSeconds;
  return paused || end_s_ - start_s_ < kSustainedSeconds;
}

double LoadRunner::seconds_for(Rule rule, double soak_s) const {
  if (rule == Rule::kLoaded) return kLoadedSeconds;
  if (rule == Rule::kSoak) return soak_s;
  return from_rest() ? kSustainedSeconds : kSustainedOwnSeconds;
}

void LoadRunner::rest_before(Rule rule) const {
  if (rule != Rule::kLoaded && from_rest()) sampler_.rest(kRestBeforeLoadSeconds);
}

LoadIntervals LoadRunner::run(const cuda::Launch& launch, double launch_s, double seconds) {
  const double start_s = Telemetry::now_s();
  if (start_s - end_s_ > kLongestPauseSeconds) start_s_ = start_s;
  LoadIntervals intervals = sampler_.load(
      launch,
      [&](double so_far_s) {
        return sampler_.launches_for(
            launch, so_far_s < kLoadStartSeconds ? kFirstIntervalSeconds : kIntervalSeconds,
            launch_s);
      },
      [&](double so_far_s) { return so_far_s < seconds; });
  end_s_ = Telemetry::now_s();
  return intervals;
}

std::int64_t launches_of_interval(const cuda::Sampler& sampler, const cuda::Launch& launch,
                                  double launch_s) {
  return sampler.launches_for(launch, kIntervalSeconds, launch_s);
}

double loaded_launch_s(LoadRunner& loads, cuda::Sampler& sampler, const cuda::Launch& launch,
                       double seconds) {
  const LoadIntervals intervals = loads.run(launch, sampler.warm_up(launch), seconds);
  std::vector<double> settled_s;
  for (std::size_t i = intervals.size() / 2; i < intervals.size(); ++i)
    settled_s.push_back(intervals[i].launch_s);
  return median(settled_s);
}

Series series_of(const LoadIntervals& intervals, double start_s,
                 const std::vector<cuda::TimedReading>& readings,
                 const std::function<double(double launch_s)>& rate_of) {
  Series series;
  for (const auto& interval : intervals) {
    series.time_s.push_back(interval.end_s);
    series.rate.push_back(rate_of(interval.launch_s));
    series.sm_clock_hz.push_back(interval.sm_clock_hz.value_or(kUnknown));
    const auto reading = std::lower_bound(
        readings.begin(), readings.end(), start_s + interval.end_s,
        [](const cuda::TimedReading& r, double time_s) { return r.time_s < time_s; });
    const auto value = [&](auto member) {
      return reading == readings.end() ? kUnknown : (reading->reading.*member).value_or(kUnknown);
    };
    series.power_w.push_back(value(&cuda::TelemetryReading::power_w));
    series.temperature_c.push_back(value(&cuda::TelemetryReading::temperature_c));
  }
  return series;
}

Series thinned(const Series& series) {
  const auto first = static_cast<std::size_t>(
      std::lower_bound(series.time_s.begin(), series.time_s.end(), kLoadStartSeconds) -
      series.time_s.begin());
  return {.time_s = thinned(series.time_s, first),
          .rate = thinned(series.rate, first),
          .sm_clock_hz = thinned(series.sm_clock_hz, first),
          .power_w = thinned(series.power_w, first),
          .temperature_c = thinned(series.temperature_c, first)};
}

double settled_from_s(Rule rule, double end_s) {
  return end_s - (rule == Rule::kLoaded ? kLoadedSettledSeconds
                                        : std::max(kSettledSeconds, kSettledShare * end_s));
}

std::optional<double> equilibrium_s(const Series& series) {
  return settling_time(series.time_s, series.temperature_c, kEquilibriumC);
}

SettledLoad settled(const LoadIntervals& intervals, double from_s) {
  std::vector<double> launch_s, clocks_hz;
  for (const auto& interval : intervals) {
    if (interval.end_s < from_s) continue;
    launch_s.push_back(interval.launch_s);
    if (interval.sm_clock_hz) clocks_hz.push_back(*interval.sm_clock_hz);
  }
  SettledLoad result{.launch_s = block_medians(launch_s, std::min(launch_s.size(), kBlocks)),
                     .sm_clock_hz = {}};
  if (!clocks_hz.empty()) result.sm_clock_hz = median(clocks_hz);
  return result;
}

double seconds_of_sustained_point() { return kSustainedOwnSeconds + 0.2; }

}  // namespace peakline::bench
