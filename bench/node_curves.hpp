#pragma once

#include <functional>
#include <string>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

// Rates of pairs: slowest and fastest at the largest size, and the size that reaches half the rate.
// Figures rate (median pair), slowest_rate, half_rate.
CurveRule pair_rate_curve(std::string topic, const std::string& label);
// Times of pairs, shortest to longest. Figure time (median pair).
CurveRule pair_time_curve(std::string topic, const std::string& label);

// The ceiling that a GPU's own measurements give for the same work.
using AloneResource = std::function<std::string(const DeviceFacts&)>;

// Each GPU's rate beside all others, their total, and the share of the rate alone, by the side of
// the host if these differ. Figures total, kept (the share of each GPU), share (their median),
// least_share. alone: where no point has the rate while the others rest; empty: not known.
CurveRule concurrent_curve(std::string topic, const std::string& label, Quantity quantity,
                           const AloneResource& alone = {});

}  // namespace peakline::bench
