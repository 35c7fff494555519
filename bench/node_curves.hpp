#pragma once

#include <functional>
#include <string>

#include "harness/conclude/benchmark.hpp"

namespace peakline::bench {

// Rates of pairs at the largest size, median and slowest; the size that reaches half the rate; the
// worst and the best pair, if they differ.
CurveRule pair_rate_curve(std::string topic);
// Times of pairs, likewise.
CurveRule pair_time_curve(std::string topic);

// The ceiling that a GPU's own measurements give for the same work.
using AloneResource = std::function<std::string(const DeviceFacts&)>;

// Each GPU's rate beside all others and the share that it keeps of its rate alone; their total, the
// median and the least share. alone: where no point has the rate while the others rest; empty: not
// known.
CurveRule concurrent_curve(std::string topic, Quantity quantity, const AloneResource& alone = {});

}  // namespace peakline::bench
