#pragma once

#include <string>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

// Rates of pairs: slowest and fastest at the largest size, and the size that reaches half the rate.
// Figures rate (median pair), slowest_rate, half_rate.
CurveRule pair_rate_curve(std::string topic, const std::string& label);
// Times of pairs, shortest to longest. Figure time (median pair).
CurveRule pair_time_curve(std::string topic, const std::string& label);

// Each GPU's rate beside all others, their total, and the share of the rate alone, by PCIe switch
// or NUMA node if these differ. Figures total, share (the median), least_share.
CurveRule concurrent_curve(std::string topic, const std::string& label, Quantity quantity);

}  // namespace peakline::bench
