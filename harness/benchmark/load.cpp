#include "harness/benchmark/load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "harness/benchmark/load_points.hpp"
#include "harness/cuda/telemetry.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/statistics/swings.hpp"
#include "harness/values/clock.hpp"

namespace peakline::bench {
namespace {

using cuda::Telemetry;

// Longer than preparing the next point; after a longer pause the card has recovered.
constexpr double kLongestPauseSeconds = 1.0;
// From rest, power control must first reach its cap, and overshoots once, after 0.9 s.
constexpr double kSettleFromRestSeconds = 1.4;
// Rest before the first load, to show the drop from burst to sustained in its series.
constexpr double kRestBeforeLoadSeconds = 0.15;
// The last third of a soak counts, at least ten steps of the energy counter.
constexpr double kSoakShare = 1.0 / 3.0;
constexpr double kLeastSoakSeconds = 1.2;
// Short for power control's oscillation, long for the jitter of events.
constexpr double kIntervalSeconds = 0.02;
constexpr double kFirstIntervalSeconds = 0.01;
// Time for unsettled loads beyond the plan: they cost a minute rather than five.
constexpr double kSpareSeconds = 60;
// Points in the profile, besides those at the start.
constexpr std::size_t kSeriesPoints = 32;
// NVML reports whole degrees.
constexpr double kEquilibriumC = 1.0;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Reduces `values` from `first` on to at most kSeriesPoints medians of equal groups.
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

LoadRunner::LoadRunner(cuda::Sampler& sampler) : sampler_(sampler), spare_s_(kSpareSeconds) {}

LoadPart LoadRunner::part_for(double counted_s, bool with_others) const {
  return {.from_s = with_others || from_rest() ? kSettleFromRestSeconds : kSettleSeconds,
          .counted_s = counted_s};
}

bool LoadRunner::from_rest() const { return now_s() - end_s_ > kLongestPauseSeconds; }

Load LoadRunner::run(const cuda::Launch& launch, double launch_s, const LoadPart& planned,
                     std::optional<double> tolerance) {
  if (from_rest()) sampler_.rest(kRestBeforeLoadSeconds);
  LoadLength length(planned, tolerance, spare_s_);
  std::vector<double> ends_s, launches_s;
  LoadIntervals intervals = sampler_.load(
      launch,
      [&](double so_far_s) {
        return sampler_.launches_for(
            launch, so_far_s < kLoadStartSeconds ? kFirstIntervalSeconds : kIntervalSeconds,
            launch_s);
      },
      [&](std::span<const cuda::Sampler::Interval> so_far) {
        ends_s.push_back(so_far.back().end_s);
        launches_s.push_back(so_far.back().launch_s);
        return length.goes_on(ends_s, launches_s);
      });
  spare_s_ -= length.part().end_s() - planned.end_s();
  end_s_ = now_s();
  return {.intervals = std::move(intervals), .from_s = length.part().from_s};
}

std::int64_t launches_of_interval(const cuda::Sampler& sampler, const cuda::Launch& launch,
                                  double launch_s) {
  return sampler.launches_for(launch, kIntervalSeconds, launch_s);
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

double soak_settled_from_s(double end_s) {
  return end_s - std::max(kLeastSoakSeconds, kSoakShare * end_s);
}

std::optional<double> equilibrium_s(const Series& series) {
  return settling_time(series.time_s, series.temperature_c, kEquilibriumC);
}

SettledLoad settled(const LoadIntervals& intervals, double from_s) {
  SettledLoad result;
  std::vector<double> launch_s, clocks_hz;
  for (const auto& interval : intervals) {
    if (interval.end_s < from_s && &interval != &intervals.back()) continue;
    launch_s.push_back(interval.launch_s);
    if (interval.sm_clock_hz) clocks_hz.push_back(*interval.sm_clock_hz);
  }
  SwingMeans swings = load_means(launch_s);
  result.launch_s = std::move(swings.means);
  result.intervals = swings.length;
  if (!clocks_hz.empty()) result.sm_clock_hz = mean(clocks_hz);
  return result;
}

}  // namespace peakline::bench
