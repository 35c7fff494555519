#pragma once

// How the curves of what lies between a node's GPUs are summed up.

#include <string>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

// Says the rates of pairs: of the largest size the slowest and the fastest, and from which size on
// one has half of its rate. Figures rate (of the median pair), slowest_rate, half_rate.
CurveRule pair_rate_curve(std::string topic, const std::string& label);
// Says the times of pairs, from the shortest to the longest. Its figure is time, of the median
// pair.
CurveRule pair_time_curve(std::string topic, const std::string& label);

// Rates of each GPU beside all others and by itself: what each has, what all have together, and the
// share of what it has alone, by group of GPUs that share a PCIe switch or a NUMA node where groups
// differ. quantity: of the measurements. Figures total, share (the median) and least_share.
CurveRule concurrent_curve(std::string topic, const std::string& label, Quantity quantity);

}  // namespace peakline::bench
