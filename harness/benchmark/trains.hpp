#pragma once

// Bursts: short trains of launches, each from rest. A train is long enough to fill the GPU many
// times over, yet too short for the power control to answer, which takes 30 to 100 ms on an H200.
// Whether that holds, the parts of the trains say.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/benchmark/load_points.hpp"
#include "harness/cuda/sampler.hpp"

namespace peakline::bench {

struct TrainTiming {
  std::vector<double> launch_s;      // seconds per launch, one value per train
  std::vector<double> sm_clocks_hz;  // of those trains of which it could be read
};

// Warms up; returns the launches of each part of a train.
std::int64_t launches_of_part(cuda::Sampler& sampler, const cuda::Launch& launch);

struct BurstTiming : TrainTiming {
  std::size_t parts = 0;           // of each train, that count
  std::optional<double> answer_s;  // the power control answered so long into a train
  double rest_s = 0;               // before each
  bool rested = true;              // by then the device had recovered from the train before
};
// Times the trains, after a first one that does not count: after a short warm-up it differs from
// the rest. Where their rests do not suffice, all are timed again with longer ones. launches: of a
// part.
BurstTiming time_trains(cuda::Sampler& sampler, const cuda::Launch& launch, std::int64_t launches,
                        Trains trains);

// Launches of an interleaved train that count; a smaller number before them does not.
inline constexpr std::size_t kInterleavedLaunches = 100;

// Runs `before` ahead of each launch and times the launch alone. Returns one value per train, the
// mean of its launches. The code of both must already be loaded.
TrainTiming time_interleaved_trains(cuda::Sampler& sampler, const cuda::Launch& launch,
                                    const cuda::Launch& before, const Trains& trains);

// Quick estimates of the burst time of one launch, in seconds, for searches. The median over
// several trains.
double burst_launch_s(cuda::Sampler& sampler, const cuda::Launch& launch, const Trains& trains);
// One shorter train after a shorter rest: for dozens of candidates.
double short_train_launch_s(cuda::Sampler& sampler, const cuda::Launch& launch);

}  // namespace peakline::bench
