// The memory benchmarks skip footprints that the L2 would serve.

#include <gtest/gtest.h>

#include "bench/catalog.hpp"
#include "harness/benchmark/cuda_bench.hpp"

namespace peakline::bench {
namespace {

TEST(Hbm, SkipsFootprintsThatTheL2WouldServe) {
  Registry registry;
  register_all(registry, {});
  const RunOptions options;
  WorkerCache cache;
  CudaSession session(nullptr, options);
  session.facts.l2_bytes = 0x1p40;  // beyond every footprint
  int points = 0;
  for (const Benchmark& benchmark : registry.benchmarks()) {
    if (!benchmark.id.starts_with("hbm.")) continue;
    for (const Point& point : benchmark.points) {
      const bench::Run& run = *registry.find(point_name(benchmark.id, point.params)).run;
      CudaBench bench(benchmark, point, options, cache, session);
      EXPECT_THROW(std::get<std::function<void(CudaBench&)>>(run)(bench), Skipped)
          << point_name(benchmark.id, point.params);
      ++points;
    }
  }
  EXPECT_GT(points, 30);
}

}  // namespace
}  // namespace peakline::bench
