#include "harness/benchmark/trains.hpp"

#include <algorithm>
#include <span>

#include "harness/conclude/sittings.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {
namespace {

using cuda::Launch;
using cuda::Sampler;

constexpr double kTrainSeconds = 0.010;
constexpr std::int64_t kTrainLaunches = 5;
constexpr double kWarmUpSeconds = 0.003;
// The rest before a train lowers the average load to a quarter of the full one, far below the power
// cap. (On an H200, rests of 0.05 to 0.5 s give the same BF16 and FP8 rates to within 0.5 %.)
constexpr Trains kFull{.count = 10, .rest_s = 0.03};
// The fewest trains that give a 95 % interval. For benchmarks with many points, and in quick mode.
constexpr Trains kBrief{.count = 6, .rest_s = 0.03};
// An instruction alone varies more than a product: trains by up to 1.5 % within a sitting on H200s,
// INT8's for a whole sitting by 0.5 %.
constexpr Trains kLong{.count = 24, .rest_s = 0.03};
// The first train after a short warm-up is not counted: on an H200 it takes up to 2.7 % longer than
// the rest (TF32 `wgmma`), the second 0.3 %.
constexpr int kFirstTrains = 1;
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

Trains trains_of(Rule rule, bool quick) {
  if (quick || rule == Rule::kBrief) return kBrief;
  return rule == Rule::kLongBurst ? kLong : kFull;
}

double seconds_of(const Trains& trains, std::size_t sittings) {
  return (trains.count + static_cast<int>(sittings) * kFirstTrains) *
         (trains.rest_s + kTrainSeconds);
}

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
