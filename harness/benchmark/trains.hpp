#pragma once

// Bursts: short trains of launches from rest. A train fills the GPU many times, but ends before
// power control responds, which takes 30 to 100 ms on an H200; the parts of the trains verify this.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/benchmark/load_points.hpp"
#include "harness/cuda/sampler.hpp"

namespace peakline::bench {

struct TrainTiming {
  std::vector<double> launch_s;      // per train, in time order
  std::vector<double> sm_clocks_hz;  // where readable
};

// Warms up; returns the launches per part of a train.
std::int64_t launches_of_part(cuda::Sampler& sampler, const cuda::Launch& launch);

struct BurstTiming : TrainTiming {
  std::size_t parts = 0;           // of each train, that count
  std::optional<double> answer_s;  // time into a train at which power control responded
  double rest_s = 0;               // before each
  bool rested = true;              // whether that rest sufficed
};
// Times the trains after an uncounted one; again if their rests are too short. launches: per part.
BurstTiming time_trains(cuda::Sampler& sampler, const cuda::Launch& launch, std::int64_t launches,
                        Trains trains);

// Counted launches of an interleaved train; fewer uncounted ones precede them.
inline constexpr std::size_t kInterleavedLaunches = 100;

// Times launches alone, each after `before`: one mean per train. The code of both must be loaded.
TrainTiming time_interleaved_trains(cuda::Sampler& sampler, const cuda::Launch& launch,
                                    const cuda::Launch& before, const Trains& trains);

// Estimates the burst time of a launch, seconds, for searches: median over trains.
double burst_launch_s(cuda::Sampler& sampler, const cuda::Launch& launch, const Trains& trains);
// From one shorter train and rest, for dozens of candidates.
double short_train_launch_s(cuda::Sampler& sampler, const cuda::Launch& launch);

}  // namespace peakline::bench
