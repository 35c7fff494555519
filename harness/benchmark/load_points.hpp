#pragma once

// Points whose rate depends on power, and their duration; without CUDA, for every build's plan.

#include <cstddef>
#include <vector>

#include "harness/conclude/benchmark.hpp"

namespace peakline::bench {

struct Trains {
  int count = 0;
  double rest_s = 0;  // before each
};
inline constexpr double kTrainSeconds = 0.010;
// Not counted after a short warm-up: on an H200 the first train takes up to 2.7 % longer (TF32
// `wgmma`), the second 0.3 %.
inline constexpr int kFirstTrains = 1;

// Trains of a kBurst, kBrief or kLongBurst point, over all sittings.
Trains trains_of(Timing timing, bool quick);
double seconds_of(const Trains& trains, std::size_t sittings);

// After another load, an H200 takes 0.3 s to reach the new rate.
inline constexpr double kSettleSeconds = 0.4;
double seconds_of_sustained_point(double counted_s);

// load:burst and load:sustained. load_s: sustained load that counts.
std::vector<Point> load_points(double load_s);

Point long_burst_point(bool quick);

}  // namespace peakline::bench
