// Curves of copies, overlap and collectives; reference_test.cpp has the figures of real runs.

#include <gtest/gtest.h>

#include "bench/collectives.hpp"
#include "bench/pipeline.hpp"
#include "bench/question.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

TEST(NumaCurve, SaysBothDirectionsOfEachNode) {
  const auto copies = [](int node, const char* direction, double rate) {
    return sample::measurement("pcie.node", {{"node", node}, {"direction", direction}},
                               Quantity::kByteRate, rate);
  };
  EXPECT_EQ(figure_values(
                said_by(sample::rule_of("pcie.node"),
                        {copies(1, "h2d", 40e9), copies(0, "h2d", 55e9), copies(0, "d2h", 54e9)})),
            (FigureValues{{"rate/node:0/direction:d2h", 54e9},
                          {"rate/node:0/direction:h2d", 55e9},
                          {"rate/node:1/direction:h2d", 40e9}}));
}

constexpr std::int64_t kKi = 1024, kMi = 1024 * kKi;

Measurement overlapped(const char* memory, std::int64_t chunk, double share) {
  Measurement m =
      sample::measurement("overlap.h2d", {{"memory", memory}, {"chunk", chunk}},
                          Quantity::kByteRate, static_cast<double>(chunk) * share / 1e-3);
  m.work.bytes_read = static_cast<double>(chunk);
  m.launch = {{kCopyInNs, std::int64_t{1'000'000}}, {kKernelNs, std::int64_t{990'000}}};
  return m;
}

TEST(StepsThatTake, FollowTheLineThroughTwoTimings) {
  // 3 us plus 2 ns per step.
  const StepsTiming few{64, 3.128e-6}, many{1024, 5.048e-6};
  EXPECT_NEAR(steps_that_take(23e-6, few, many), 10000, 1);
  EXPECT_EQ(steps_that_take(1e-6, few, many), 1U);
}

TEST(StepsThatTake, AreNotEndlessWhereNoiseHidesWhatAStepTakes) {
  for (const double few_s : {9.99e-3, 10e-3, 15e-3}) {
    const unsigned steps = steps_that_take(0.1, {64, few_s}, {1024, 10e-3});
    EXPECT_GE(steps, 10240U) << few_s;
    EXPECT_LE(steps, 16U * 10240 + 64) << few_s;
  }
}

TEST(Overlap, IsTheSlowestPartAloneOverAllAtOnce) {
  Measurement m = overlapped("pinned", kMi, 0.8);
  EXPECT_DOUBLE_EQ(*overlap_share(m), 0.8);
  m.launch.emplace_back(kCopyOutNs, std::int64_t{1'100'000});
  EXPECT_DOUBLE_EQ(*overlap_share(m), 0.88);
  const auto alone = [&](const char* part) -> std::int64_t& {
    return std::get<std::int64_t>(
        std::ranges::find(m.launch, std::string(part), &Params::value_type::first)->second);
  };
  const std::int64_t copy_ns = alone(kCopyOutNs);
  alone(kKernelNs) = copy_ns * 13 / 10;
  EXPECT_FALSE(overlap_share(m));
  alone(kKernelNs) = copy_ns * 7 / 10;
  EXPECT_FALSE(overlap_share(m));
  m.launch.clear();
  EXPECT_FALSE(overlap_share(m));
}

TEST(Overlap, AChunkWhoseKernelDidNotFitSaysNothing) {
  Measurement mismatched = overlapped("pageable", 4 * kMi, 1);
  mismatched.launch = {{kCopyInNs, std::int64_t{30'000}}, {kKernelNs, std::int64_t{80'000}}};
  EXPECT_EQ(figure_of(said_by(sample::rule_of("overlap.h2d"),
                              {mismatched, overlapped("pageable", 256 * kMi, 0.96)}),
                      {.name = "hidden_from"}),
            256 * kMi);
  EXPECT_TRUE(said_by(sample::rule_of("overlap.h2d"), {mismatched}).empty());
}

// Factors of nccl-tests' doc/PERFORMANCE.md.
TEST(Collectives, BusBandwidthCountsWhatEachGpuSends) {
  EXPECT_DOUBLE_EQ(bus_bytes(Collective::kAllReduce, 8, 800), 1400);
  EXPECT_DOUBLE_EQ(bus_bytes(Collective::kAllReduce, 2, 800), 800);
  for (const Collective part :
       {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll}) {
    EXPECT_DOUBLE_EQ(bus_bytes(part, 8, 800), 700);
    EXPECT_DOUBLE_EQ(bus_bytes(part, 2, 800), 400);
  }
  EXPECT_DOUBLE_EQ(bus_bytes(Collective::kBroadcast, 8, 800), 800);
  EXPECT_DOUBLE_EQ(bus_bytes(Collective::kSendReceive, 8, 800), 800);
}

Measurement all_reduce(std::int64_t bytes, double time_s) {
  Measurement m = sample::measurement("nccl.all_reduce", {{"ranks", 2}, {"bytes", bytes}},
                                      Quantity::kByteRate, static_cast<double>(bytes) / time_s);
  m.summary->median = time_s;
  return m;
}

// nccl-tests' PERFORMANCE.md: on 8 ranks, 875 GB/s bus bandwidth are 500 GB/s of the array for an
// all-reduce, 1000 for an all-gather.
TEST(Collectives, TheAlgorithmBandwidthIsThatOfTheArray) {
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(Collective::kAllReduce, 8, 875e9), 500e9);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(Collective::kAllGather, 8, 875e9), 1000e9);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(Collective::kSendReceive, 8, 300e9), 300e9);
}

TEST(Collectives, AllLinksThatAreUpAreTheLimitUnlessSwitchesSum) {
  DeviceFacts gpu = sample::h200();
  Measurement m = all_reduce(1 << 30, 3.2e-3);
  EXPECT_FALSE(collective_limit().of(&m, gpu));
  gpu.nvlinks = {.version = 4, .count = 18, .down = {3}};
  m.launch = {{"algorithm", "RING"}};
  EXPECT_DOUBLE_EQ(collective_limit().of(&m, gpu).value().value, 17 * 25e9);
  m.launch = {{"algorithm", "NVLS"}};
  EXPECT_FALSE(collective_limit().of(&m, gpu));
}

}  // namespace
}  // namespace peakline::bench
