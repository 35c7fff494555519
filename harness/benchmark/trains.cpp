#include "harness/benchmark/trains.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "harness/statistics/power_control.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {
namespace {

using cuda::Launch;
using cuda::Sampler;

// Parts in which a train is timed, and its fewest launches.
constexpr std::size_t kTrainParts = 5;
constexpr double kWarmUpSeconds = 0.003;
// Searches keep the mean load at 40 %, far below the power cap.
constexpr double kShortTrainSeconds = 0.004;
constexpr double kShortRestSeconds = 0.008;
// Insufficient rests grow by this factor, up to half a second.
constexpr double kLongerRest = 4;
constexpr double kLongestRestSeconds = 0.5;
// Uncounted first launches of an interleaved train.
constexpr std::size_t kInterleavedFirst = 50;

template <class Time>
std::vector<Sampler::Timing> time_all(Sampler& sampler, const Trains& trains, Time time) {
  std::vector<Sampler::Timing> timings;
  for (int train = sampler.repeats(kFirstTrains + trains.count); train > 0; --train) {
    sampler.rest(trains.rest_s);
    timings.push_back(time());
  }
  return timings;
}

// Drops the first trains.
std::span<const Sampler::Timing> counted(const std::vector<Sampler::Timing>& timings,
                                         const Trains& trains) {
  const auto count = std::min(timings.size(), static_cast<std::size_t>(trains.count));
  return std::span(timings).last(count);
}

std::vector<double> known_clocks_hz(std::span<const Sampler::Timing> timings) {
  std::vector<double> clocks_hz;
  for (const auto& timed : timings)
    if (timed.sm_clock_hz) clocks_hz.push_back(*timed.sm_clock_hz);
  return clocks_hz;
}

BurstTiming burst_of(const std::vector<Sampler::Timing>& timings, std::int64_t launches,
                     const Trains& trains) {
  std::vector<TrainParts> parts;
  for (const auto& timed : timings) parts.push_back(timed.launch_s);
  const auto counting = counted(timings, trains);
  BurstTiming burst;
  burst.rest_s = trains.rest_s;
  burst.rested = rested(parts);
  burst.parts = parts_of_burst(std::span(parts).last(counting.size()));
  for (const auto& timed : counting)
    burst.launch_s.push_back(mean(std::span(timed.launch_s).first(burst.parts)));
  if (burst.parts == parts.back().size())
    burst.sm_clocks_hz = known_clocks_hz(counting);
  else
    burst.answer_s =
        median(burst.launch_s) * static_cast<double>(burst.parts) * static_cast<double>(launches);
  return burst;
}

}  // namespace

std::int64_t launches_of_part(Sampler& sampler, const Launch& launch) {
  const double launch_s = sampler.warm_up_for(launch, kWarmUpSeconds);
  const double launches = kTrainSeconds / static_cast<double>(kTrainParts) / launch_s;
  const auto most = sampler.launches_for(launch, kTrainSeconds, launch_s);
  return std::clamp(static_cast<std::int64_t>(std::llround(launches)), std::int64_t{1}, most);
}

BurstTiming time_trains(Sampler& sampler, const Launch& launch, std::int64_t launches,
                        Trains trains) {
  for (;; trains.rest_s *= kLongerRest) {
    const auto timings = time_all(
        sampler, trains, [&] { return sampler.time_batches(launch, launches, kTrainParts); });
    BurstTiming burst = burst_of(timings, launches, trains);
    if (burst.rested || kLongerRest * trains.rest_s > kLongestRestSeconds) return burst;
  }
}

TrainTiming time_interleaved_trains(Sampler& sampler, const Launch& launch, const Launch& before,
                                    const Trains& trains) {
  const auto timings = time_all(sampler, trains, [&] {
    return sampler.time_interleaved(launch, before, kInterleavedFirst + kInterleavedLaunches);
  });
  const auto counting = counted(timings, trains);
  TrainTiming timing{.launch_s = {}, .sm_clocks_hz = known_clocks_hz(counting)};
  for (const auto& timed : counting) {
    const auto first = std::min(kInterleavedFirst, timed.launch_s.size() - 1);
    timing.launch_s.push_back(mean(std::span(timed.launch_s).subspan(first)));
  }
  return timing;
}

double burst_launch_s(Sampler& sampler, const Launch& launch, const Trains& trains) {
  const std::int64_t launches = launches_of_part(sampler, launch);
  std::vector<double> launch_s;
  for (int train = 0; train < sampler.repeats(trains.count); ++train) {
    sampler.rest(trains.rest_s);
    launch_s.push_back(mean(sampler.time_batches(launch, launches, kTrainParts).launch_s));
  }
  return median(launch_s);
}

double short_train_launch_s(Sampler& sampler, const Launch& launch) {
  const double launch_s = sampler.warm_up(launch);
  sampler.rest(kShortRestSeconds);
  const std::int64_t launches = sampler.launches_for(launch, kShortTrainSeconds, launch_s);
  return sampler.time_batches(launch, launches, 1).launch_s.front();
}

}  // namespace peakline::bench
