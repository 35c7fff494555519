#pragma once

#include <string>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

// Rates of pairs at the largest size, median and slowest; the size that reaches half the rate; the
// worst and the best pair, if they differ.
CurveRule pair_rate_curve(std::string topic);
// Times of pairs, likewise.
CurveRule pair_time_curve(std::string topic);

// Each GPU's rate beside all others and its share of the rate alone; their total, the median and
// the least share.
CurveRule concurrent_curve(std::string topic, Quantity quantity);

}  // namespace peakline::bench
