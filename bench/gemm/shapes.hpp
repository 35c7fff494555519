#pragma once

#include <vector>

#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// The points of a sweep, whose rates per clock are compared.
inline const Point kWarm{.phase = Phase::kWarm, .seconds = 0.06};

struct GemmSweep {
  const char* area;    // of the id gemm.<area>.<format>
  const char* format;  // "bf16"
  const char* what;
  Run run;
  std::vector<Point> points;
  std::vector<CurveRule> curves;
  std::vector<CeilingRule> ceilings = {};
  std::vector<Topic> topics = {};
  int method_version = 1;
};
void add_sweep(Registry& registry, GemmSweep sweep);

}  // namespace peakline::bench
