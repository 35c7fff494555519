#pragma once

// The points of benchmarks whose rate depends on power, and how long they take. Free of CUDA: what
// a program can measure is known without it.

#include <cstddef>
#include <vector>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

struct Trains {
  int count = 0;
  double rest_s = 0;  // before each
};
inline constexpr double kTrainSeconds = 0.010;
// The first train after a short warm-up is not counted: on an H200 it takes up to 2.7 % longer than
// the rest (TF32 `wgmma`), the second 0.3 %.
inline constexpr int kFirstTrains = 1;

// The trains of a point of this rule (kBurst, kBrief or kLongBurst), in all its sittings.
Trains trains_of(Rule rule, bool quick);
// A rough estimate of how long the trains take in `sittings` sittings.
double seconds_of(const Trains& trains, std::size_t sittings);

// After another load the rate is that of the new one within 0.3 s on an H200.
inline constexpr double kSettleSeconds = 0.4;
// About how long a sustained point takes when it follows others.
double seconds_of_sustained_point(double counted_s);

// The points of a benchmark whose rate depends on power: load:burst and load:sustained. load_s: so
// much of the sustained load counts.
std::vector<Point> load_points(double load_s = kWholeLoadSeconds);

// The single point of a benchmark of one instruction, measured from rest.
Point long_burst_point(bool quick);

}  // namespace peakline::bench
