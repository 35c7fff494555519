// Never run on hardware yet: on devices with the units, each point verifies itself and has a
// result; on others it is skipped with a reason, and takes no time.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "bench/catalog.hpp"
#include "harness/benchmark/device.hpp"
#include "harness/cuda/device.hpp"

namespace peakline::bench {
namespace {

TEST(NeverRun, IsRightOrSkippedWithTheReason) {
  const DeviceFacts facts = cuda::device_facts();
  const std::string version = fmt::format("{}.{}", facts.compute_major, facts.compute_minor);
  Registry registry;
  register_all(registry, {});
  const auto device = open_device(facts.uuid, {});
  std::size_t seen = 0;
  for (const Benchmark& benchmark : registry.benchmarks()) {
    if (!benchmark.never_run) continue;
    for (const Point& point : benchmark.points) {
      ++seen;
      const auto start = std::chrono::steady_clock::now();
      const Measurement m = device->measure(registry.find(point_name(benchmark.id, point.params)));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      SCOPED_TRACE(m.name() + ": " + m.reason);
      if (m.status == Status::kOk) {
        EXPECT_EQ(m.verified, true);
        continue;
      }
      EXPECT_EQ(m.status, Status::kSkipped);
      if (benchmark.runs_on(facts)) continue;
      EXPECT_NE(m.reason.find(version), std::string::npos);
      EXPECT_LT(took.count(), 0.01);
    }
  }
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace peakline::bench
