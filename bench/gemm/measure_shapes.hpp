#pragma once

// Shared by what measures the sweeps over product shapes.

#include "bench/gemm/product.hpp"

namespace peakline::bench {

// A sweep tries only a few of the heuristic's algorithms, and briefly: the first is seldom far off,
// and there are hundreds of points.
inline constexpr int kSweepAlgorithms = 6;
inline constexpr double kSweepSearchSeconds = 0.012;

// Every launch reads W from device memory, as happens when other work runs between products.
void measure_with_cold_weights(CudaBench& bench, const GemmFormat& format, const GemmShape& shape);

}  // namespace peakline::bench
