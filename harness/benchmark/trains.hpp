#pragma once

// Bursts: short trains of launches, each from rest. A train is long enough to fill the chip many
// times over and too short for the power control to react, which takes 50 to 100 ms on an H200.

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/cuda/sampler.hpp"

namespace peakline::bench {

struct Trains {
  int count = 0;
  double rest_s = 0;  // before each
};

// The trains that a point of this rule (kBurst or kBrief) takes.
Trains trains_of(Rule rule, bool quick);
// How long they take, about.
double seconds_of(const Trains& trains);

struct TrainTiming {
  std::vector<double> launch_s;  // seconds a launch, one value a train
  std::optional<double> sm_clock_hz;
};

// Warms up; returns the launches of one train.
std::int64_t launches_of_train(cuda::Sampler& sampler, const cuda::Launch& launch);

// Times the trains. Where the launch does not stamp the SM clock, one more train is run, in which
// it is probed.
TrainTiming time_trains(cuda::Sampler& sampler, const cuda::Launch& launch, std::int64_t launches,
                        const Trains& trains);

// Launches of an interleaved train that count; fewer than these come first.
inline constexpr std::size_t kInterleavedLaunches = 100;

// The same where `before` comes ahead of each launch, which is timed alone; one value a train, the
// mean of its launches. Code of both has to be loaded.
TrainTiming time_interleaved_trains(cuda::Sampler& sampler, const cuda::Launch& launch,
                                    const cuda::Launch& before, const Trains& trains);

// Short looks at what a burst would give, for searches: seconds of one launch.
// The median over so many trains.
double burst_launch_s(cuda::Sampler& sampler, const cuda::Launch& launch, const Trains& trains);
// One train, shorter and after less rest: for dozens of candidates.
double short_train_launch_s(cuda::Sampler& sampler, const cuda::Launch& launch);
// One interleaved train.
double interleaved_launch_s(cuda::Sampler& sampler, const cuda::Launch& launch,
                            const cuda::Launch& before);

}  // namespace peakline::bench
