#include "harness/benchmark/trains.hpp"

#include <algorithm>
#include <span>

#include "harness/statistics/statistics.hpp"

namespace peakline::bench {
namespace {

using cuda::Launch;
using cuda::Sampler;

constexpr std::int64_t kTrainLaunches = 5;
constexpr double kWarmUpSeconds = 0.003;
// Searches keep the mean load at two fifths of the full load, far below the power cap.
constexpr double kShortTrainSeconds = 0.004;
constexpr double kShortRestSeconds = 0.008;
// The first launches of an interleaved train are not counted.
constexpr std::size_t kInterleavedFirst = 50;

// time: one train.
template <class Time>
TrainTiming time_all(Sampler& sampler, const Trains& trains, Time time) {
  TrainTiming timing;
  for (int train = sampler.repeats(kFirstTrains + trains.count); train > 0; --train) {
    sampler.rest(trains.rest_s);
    const Sampler::Timing timed = time();
    if (train > trains.count) continue;
    const auto first = std::min(kInterleavedFirst, timed.launch_s.size() - 1);
    timing.launch_s.push_back(mean(std::span(timed.launch_s).subspan(first)));
    if (timed.sm_clock_hz) timing.sm_clocks_hz.push_back(*timed.sm_clock_hz);
  }
  return timing;
}

}  // namespace

std::int64_t launches_of_train(Sampler& sampler, const Launch& launch) {
  const double launch_s = sampler.warm_up_for(launch, kWarmUpSeconds);
  return sampler.repeats(
      std::max(kTrainLaunches, sampler.launches_for(launch, kTrainSeconds, launch_s)));
}

TrainTiming time_trains(Sampler& sampler, const Launch& launch, std::int64_t launches,
                        const Trains& trains) {
  return time_all(sampler, trains, [&] { return sampler.time_batches(launch, launches, 1); });
}

TrainTiming time_interleaved_trains(Sampler& sampler, const Launch& launch, const Launch& before,
                                    const Trains& trains) {
  return time_all(sampler, trains, [&] {
    return sampler.time_interleaved(launch, before, kInterleavedFirst + kInterleavedLaunches);
  });
}

double burst_launch_s(Sampler& sampler, const Launch& launch, const Trains& trains) {
  const std::int64_t launches = launches_of_train(sampler, launch);
  std::vector<double> launch_s;
  for (int train = 0; train < sampler.repeats(trains.count); ++train) {
    sampler.rest(trains.rest_s);
    launch_s.push_back(sampler.time_batches(launch, launches, 1).launch_s.front());
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
