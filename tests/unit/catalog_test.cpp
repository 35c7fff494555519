// The real registrations, of the host and of GPUs; nothing is launched.

#include "bench/catalog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "harness/conclude/curves.hpp"
#include "harness/run/plan.hpp"
#include "harness/values/measurement.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

constexpr int kThreads = 192;

class CatalogTest : public ::testing::Test {
 protected:
  CatalogTest() { register_all(registry_, {.threads = kThreads, .soak_s = 60}); }

  Registry registry_;
};

TEST_F(CatalogTest, EveryBenchmarkSaysWhatItIs) {
  const std::regex id("[a-z0-9_]+(\\.[a-z0-9_]+)+");
  for (const Benchmark& benchmark : registry_.benchmarks()) {
    EXPECT_TRUE(std::regex_match(benchmark.id, id)) << benchmark.id;
    EXPECT_FALSE(benchmark.what.empty()) << benchmark.id;
    EXPECT_FALSE(benchmark.work.empty()) << benchmark.id;
    EXPECT_FALSE(benchmark.points.empty()) << benchmark.id;
  }
}

// The names of the source files, from which a build without CUDA knows what it lacks.
TEST_F(CatalogTest, TheAreasAreThoseOfTheGpuBenchmarks) {
  std::set<std::string> areas;
  for (const Benchmark& benchmark : registry_.benchmarks())
    if (benchmark.loads != Loads::kHost)
      areas.insert(benchmark.id.substr(0, benchmark.id.find('.')));
  EXPECT_THAT(gpu_areas(), testing::UnorderedElementsAreArray(areas));
  EXPECT_TRUE(registry_.left_out().empty());
}

TEST_F(CatalogTest, WhatLoadsTheHostRunsThere) {
  for (const Benchmark& benchmark : registry_.benchmarks())
    for (const Point& point : benchmark.points)
      EXPECT_EQ(point.phase == Phase::kHost, benchmark.loads == Loads::kHost) << benchmark.id;
}

// On eight GPUs pairs share rounds, so that the node takes no more than three times as long as with
// two.
TEST_F(CatalogTest, EightGpusTakeNoMoreThanThreeTimesAsLongAsTwo) {
  const auto seconds = [](const std::vector<int>& gpus) {
    Registry registry;
    register_all(registry, {.gpus = gpus});
    std::vector<std::string> uuids;
    for (const int gpu : gpus) uuids.push_back("GPU-" + std::to_string(gpu));
    const Plan plan = make_plan(registry, uuids, false, "");
    double sum = 0;
    for (const PlannedPoint& point : plan.devices.back().points)
      sum += point.share_s * static_cast<double>(point.sittings);
    EXPECT_EQ(plan.devices.back().device, kNodeDevice);
    return sum;
  };
  const double two_s = seconds({0, 1}), eight_s = seconds({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_LE(two_s, 25);
  EXPECT_LE(eight_s, 60);
  EXPECT_LE(eight_s, 3 * two_s);
}

TEST_F(CatalogTest, EveryRateOfAGpuButTheL2sHasAPhysicalLimit) {
  DeviceFacts device = sample::h200();
  device.nvlinks.version = 4;
  device.nvlinks.count = 18;
  device.nvlinks.bytes_per_s = 26.562e9;
  device.peers = {{.index = 1, .path = "PHB", .nvlinks = 18, .refused = ""}};
  for (const Benchmark& benchmark : registry_.benchmarks()) {
    if (benchmark.loads == Loads::kHost || benchmark.quantity == Quantity::kTime) continue;
    if (benchmark.id.starts_with("l2.")) continue;
    Measurement m =
        sample::measurement(benchmark.id, benchmark.points.front().params, benchmark.quantity, 1);
    m.work = {.bytes_read = 4, .bytes_written = 0, .flops = 2};
    EXPECT_TRUE(plausible_limit(benchmark, m, device)) << benchmark.id;
  }
}

// The tests of the core use a list of their own, which must not drift away from this one.
TEST_F(CatalogTest, TheSamplesSayTheSame) {
  const Profile profile = sample::h200_run();
  for (const Benchmark& known : sample::benchmarks()) {
    const Benchmark* real = find_benchmark(registry_.benchmarks(), known.id);
    ASSERT_NE(real, nullptr) << known.id;
    EXPECT_EQ(real->quantity, known.quantity) << known.id;
    EXPECT_EQ(real->loads, known.loads) << known.id;
    EXPECT_EQ(real->roofline_precision, known.roofline_precision) << known.id;
    const Measurement m = sample::measurement(known.id, {}, known.quantity, 1);
    EXPECT_EQ(plausible_limit(*real, m, profile.devices[0]),
              plausible_limit(known, m, profile.devices[0]))
        << known.id;
  }
  for (const Measurement& m : profile.measurements) {
    const DeviceFacts* device = m.device == kHostDevice ? nullptr : &profile.devices[0];
    const auto real = ceiling_rules(registry_.benchmarks(), m, device);
    const auto known = ceiling_rules(sample::benchmarks(), m, device);
    ASSERT_EQ(real.empty(), known.empty()) << m.name();
    if (real.empty()) continue;
    const CeilingRule &first = *real.front(), &wanted = *known.front();
    EXPECT_EQ(first.resource, wanted.resource) << m.name();
    EXPECT_EQ(first.basis, wanted.basis) << m.name();
    EXPECT_EQ(first.note ? first.note(m) : "", wanted.note ? wanted.note(m) : "") << m.name();
  }
}

TEST_F(CatalogTest, WhatRunsInFp16ForWantOfBf16HasALimitToo) {
  DeviceFacts turing = sample::h200();
  turing.compute_major = 7;
  turing.compute_minor = 5;
  for (const char* id : {"gemm.bf16", "gemm.concurrent"}) {
    const auto limit = find_benchmark(registry_.benchmarks(), id)->limit.of(nullptr, turing);
    ASSERT_TRUE(limit) << id;
    EXPECT_DOUBLE_EQ(limit->value, 1024 * *turing.sm_count * *turing.sm_clock_max_hz);
  }
}

TEST_F(CatalogTest, MmaSyncIsNoCeilingWhereTcgen05IsTheWayIn) {
  const auto counts = [&](const char* id, int major) {
    DeviceFacts device = sample::h200();
    device.compute_major = major;
    const Measurement m = sample::measurement(id, {}, Quantity::kFlopRate, 1);
    return !ceiling_rules(registry_.benchmarks(), m, &device).empty();
  };
  for (const int major : {8, 9, 12}) EXPECT_TRUE(counts("mma.sync.bf16", major)) << major;
  for (const int major : {10, 11}) {
    EXPECT_FALSE(counts("mma.sync.bf16", major)) << major;
    EXPECT_FALSE(counts("mma.sync.int8", major)) << major;
    EXPECT_TRUE(counts("mma.sync.fp64", major)) << major;  // tcgen05 has no FP64
  }
}

TEST_F(CatalogTest, TheSampledCurvesSayTheSame) {
  const Profile profile = sample::h200_run();
  const auto sorted = [&](Benchmarks benchmarks) {
    std::vector<std::string> texts;
    for (const Curve& c : derive_curves(profile, benchmarks))
      texts.push_back(c.device + " " + c.topic + ": " + c.text);
    std::ranges::sort(texts);
    return texts;
  };
  EXPECT_EQ(sorted(registry_.benchmarks()), sorted(sample::benchmarks()));
}

}  // namespace
}  // namespace peakline::bench
