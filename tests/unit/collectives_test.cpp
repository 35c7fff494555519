#include "bench/collectives.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

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

TEST(Collectives, TheSentenceHoldsTheBusBandwidthAgainstTheLinks) {
  const std::array all = {all_reduce(8, 12.4e-6), all_reduce(16 << 20, 80e-6),
                          all_reduce(1 << 30, 3.2e-3)};
  CurveView curve;
  for (const Measurement& m : all) curve.points.push_back(&m);
  curve.ceiling = [](std::string_view resource, Basis) -> std::optional<double> {
    if (resource == "nvlink.all_to_all") return 778e9;  // of both
    return std::nullopt;
  };
  const CurveRule rule = sample::rule_of("nccl.all_reduce");
  const Statement sentence = summarized(rule, curve);
  ASSERT_EQ(sentence.pieces.size(), 1u);
  EXPECT_EQ(sentence.pieces[0],
            "all-reduce: 8 B in 12.4 us, half of the top rate from 16 MiB, 336 GB/s at 1 GiB "
            "(86.3 % of what copies reach)");
  // Two ranks send as many bytes as the array has.
  EXPECT_DOUBLE_EQ(figure_of(sentence, {.name = "algorithm_bandwidth"}),
                   figure_of(sentence, {.name = "bus_bandwidth"}));
  EXPECT_NEAR(figure_of(sentence, {.name = "share_of_links"}), 0.863, 0.001);

  curve.ceiling = [](std::string_view, Basis) { return std::nullopt; };
  curve.points.erase(curve.points.begin() + 1);
  EXPECT_EQ(summarized(rule, curve).pieces.at(0), "all-reduce: 8 B in 12.4 us, 336 GB/s at 1 GiB");
}

}  // namespace
}  // namespace peakline::bench
