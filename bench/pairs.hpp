#pragma once

// Points of a node: its pairs of GPUs, in rounds of those that have none in common, and each GPU
// beside all others.

#include <string>
#include <utility>
#include <vector>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

// A pair is one GPU and then another; "0-1" names the one by which a point's GPUs are known.
using GpuPair = std::pair<int, int>;
std::string pair_name(const GpuPair& pair);

// Every pair once, lower index first, as a tournament: as few rounds as there can be, in each of
// which every GPU (of an odd number all but one) has a partner.
std::vector<std::vector<GpuPair>> pair_rounds(const std::vector<int>& gpus);

// A point like `point` for each pair, both ways round if `directed`, with the pair as its first
// parameter and the numbers of its rounds from `round` on.
std::vector<Point> pair_points(const std::vector<int>& gpus, bool directed, const Point& point,
                               int round = 1);

// Points like `point` of each GPU, with `gpu` and `beside` as the first parameters: "none", by
// itself, and "all", while every other one does the same.
std::vector<Point> concurrent_points(const std::vector<int>& gpus, const Point& point);

}  // namespace peakline::bench
