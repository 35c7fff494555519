// Every point of the node's benchmarks on two real GPUs, and faults.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <numeric>

#include "bench/catalog.hpp"
#include "harness/benchmark/device.hpp"
#include "harness/benchmark/node_bench.hpp"
#include "harness/conclude/limits.hpp"

namespace peakline::bench {
namespace {

using ::testing::HasSubstr;

class Node : public ::testing::Test {
 protected:
  void SetUp() override {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) GTEST_SKIP() << "needs two GPUs";
    // In CUDA's order: every visible GPU has its index in the list.
    for (int i = 0; i < gpus; ++i) options_.visible_gpus.push_back(i);
    options_.profile = true;  // each point once
    device_ = open_device(std::string(kNodeDevice), options_);
  }

  std::vector<Measurement> measure(const Benchmark& benchmark, const Point& point) {
    const Entry entry = registry_.find(point_name(benchmark.id, point.params));
    return device_->measure(registry_.round_of(entry));
  }

  Registry registry_ = [] {
    Registry registry;
    register_all(registry, {});
    return registry;
  }();
  RunOptions options_;
  std::unique_ptr<Device> device_;
};

TEST_F(Node, EveryPointIsMeasuredAndVerified) {
  int measured = 0;
  for (const Benchmark& benchmark : registry_.benchmarks()) {
    for (const Point& point : benchmark.points) {
      if (!is_node_point(point)) continue;
      for (const Measurement& m : measure(benchmark, point)) {
        const bool one_at_a_time = m.id == "p2p.visibility" || m.id.starts_with("beside.") ||
                                   m.id.starts_with("collective.");
        if (m.id == "nccl.all_reduce.symmetric" && m.status == Status::kSkipped) continue;
        EXPECT_EQ(m.status, one_at_a_time ? Status::kSkipped : Status::kOk)
            << m.name() << ": " << m.reason;
        EXPECT_EQ(m.verified, one_at_a_time ? std::nullopt : std::optional(true)) << m.name();
        ++measured;
      }
    }
  }
  EXPECT_GT(measured, 70);
}

// Rounds bound the time for pairs: 8 GPUs have 28 times as many as 2.
TEST(NodePlan, TakesAMinuteOnEightGpus) {
  const auto planned_s = [](int gpus) {
    Registry registry;
    CatalogInput input;
    input.gpus.resize(static_cast<std::size_t>(gpus));
    std::iota(input.gpus.begin(), input.gpus.end(), 0);
    register_all(registry, input);
    double seconds = 0;
    for (const Benchmark& benchmark : registry.benchmarks())
      for (const Point& point : benchmark.points)
        if (is_node_point(point))
          seconds += point.seconds / static_cast<double>(round_of(benchmark, point).size());
    std::cout << gpus << " GPUs: " << seconds << " s\n";
    return seconds;
  };
  EXPECT_LT(planned_s(2), 36);
  EXPECT_LT(planned_s(4), 47);
  EXPECT_LT(planned_s(8), 69);
}

// A failure of one GPU costs only its own point.
TEST_F(Node, AFailureInARoundLeavesTheOthersOfIt) {
  Registry registry;
  registry.add(
      {.id = "test.round",
       .what = "",
       .work = "",
       .limit = no_limit("a test"),
       .points =
           {{.params = {{"gpu", std::int64_t{0}}}, .phase = Phase::kNode, .gpus = {0}, .round = 1},
            {.params = {{"gpu", std::int64_t{1}}}, .phase = Phase::kNode, .gpus = {1}, .round = 1},
            {.params = {{"gpu", std::int64_t{99}}},
             .phase = Phase::kNode,
             .gpus = {99},
             .round = 1}}},
      std::function<void(CudaBench&)>([](CudaBench& bench) {
        if (bench.integer("gpu") == 1) throw Skipped("not this one");
        bench.measure({}, [](cudaStream_t) {});
      }));
  const auto records = device_->measure(registry.round_of(registry.find("test.round/gpu:0")));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].status, Status::kOk) << records[0].reason;
  EXPECT_EQ(records[1].status, Status::kSkipped);
  EXPECT_EQ(records[2].status, Status::kError);
  EXPECT_THAT(records[2].reason, HasSubstr("GPU 99"));
}

TEST_F(Node, MembersOfARoundWorkAtTheSameTime) {
  options_.profile = false;
  device_ = open_device(std::string(kNodeDevice), options_);
  const Benchmark* benchmark = find_benchmark(registry_.benchmarks(), "pcie.concurrent.h2d");
  const auto beside = std::ranges::find(benchmark->points, 1, &Point::round);
  const auto records = measure(*benchmark, *beside);
  ASSERT_EQ(records.size(), 2U);
  for (const Measurement& m : records) {
    EXPECT_EQ(m.status, Status::kOk) << m.reason;
    EXPECT_GT(*m.value, 1e9);
  }
}

}  // namespace
}  // namespace peakline::bench
