#pragma once

// Shared by the sweeps over product shapes.

#include <vector>

#include "bench/gemm/product.hpp"
#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// A sweep tries only a few of the heuristic's algorithms, and briefly: the first is seldom far off,
// and there are hundreds of points.
inline constexpr int kSweepAlgorithms = 6;
inline constexpr double kSweepSearchSeconds = 0.012;

// A point whose rate per clock is compared with the others of its sweep.
Point warm_point(Params params);

// Every launch reads W from device memory, as happens when other work runs between products.
void measure_with_cold_weights(CudaBench& bench, const GemmFormat& format, const GemmShape& shape);

// The parts that differ between sweeps.
struct GemmSweep {
  const char* area;    // of the id gemm.<area>.<format>
  const char* format;  // "bf16"
  const char* what;
  void (*run)(CudaBench&, const GemmFormat&);
  std::vector<Point> points;
  CurveRule curve;
  std::vector<CeilingRule> ceilings = {};
  int method_version = 1;
};
void add_sweep(Registry& registry, GemmSweep sweep);

}  // namespace peakline::bench
