#pragma once

// Points of a node: pairs of GPUs in rounds, and each GPU beside all others.

#include <string>
#include <utility>
#include <vector>

#include "harness/conclude/benchmark.hpp"

namespace peakline::bench {

// Two GPUs; "0-1" names the pair in a point's parameters.
using GpuPair = std::pair<int, int>;
std::string pair_name(const GpuPair& pair);

// Every pair once, lower index first, as a tournament: the fewest rounds in which every GPU (of an
// odd number all but one) has a partner.
std::vector<std::vector<GpuPair>> pair_rounds(const std::vector<int>& gpus);

// A copy of `point` for each pair, both ways round if `directed`, with the pair as the first
// parameter and rounds numbered from 1.
std::vector<Point> pair_points(const std::vector<int>& gpus, bool directed, const Point& point);

// Copies of `point` for each GPU, with `gpu` and `beside` as the first parameters: "all" runs while
// every other GPU does the same, "none" alone. one_alone: "none" for the first GPU, too.
std::vector<Point> concurrent_points(const std::vector<int>& gpus, const Point& point,
                                     bool one_alone = false);

}  // namespace peakline::bench
