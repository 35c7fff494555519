#pragma once

// What the sweeps over the shapes of products share.

#include <string>
#include <vector>

#include "bench/gemm/product.hpp"
#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// The heuristic's first few, in so many seconds: its first is seldom far off, and there are
// hundreds of points.
inline constexpr int kSweepAlgorithms = 6;
inline constexpr double kSweepSearchSeconds = 0.012;

// A point that is compared with others of its sweep, per clock.
Point warm_point(Params params);

// W comes from device memory at every launch, as it does where other work goes on between products.
void measure_with_cold_weights(CudaBench& bench, const GemmFormat& format, const GemmShape& shape);

// What differs between sweeps.
struct GemmSweep {
  const char* area;    // of the id gemm.<area>.<format>
  const char* format;  // "bf16"
  const char* what;
  void (*run)(CudaBench&, const GemmFormat&);
  std::vector<Point> points;
  CurveRule curve;
  std::vector<CeilingRule> ceilings = {};
};
void add_sweep(Registry& registry, GemmSweep sweep);

}  // namespace peakline::bench
