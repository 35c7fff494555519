#pragma once

#include "bench/gemm/product.hpp"

namespace peakline::bench {

// A sweep has hundreds of points, and the heuristic's first choice is seldom far off.
inline constexpr int kSweepAlgorithms = 6;
inline constexpr double kSweepSearchSeconds = 0.012;

// Every launch reads W from device memory, as if other work ran between products.
void measure_with_cold_weights(CudaBench& bench, const GemmFormat& format, const GemmShape& shape);

}  // namespace peakline::bench
