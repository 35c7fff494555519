// Curves of copies, overlap, fusion, waits and collectives.

#include <gtest/gtest.h>

#include <array>

#include "bench/collectives.hpp"
#include "bench/pipeline.hpp"
#include "bench/question.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

constexpr double kGB = 1e9;
constexpr std::int64_t kMiB = 1 << 20;

// Applies one rule to measurements.
struct Said {
  Quantity quantity = Quantity::kByteRate;
  std::vector<Measurement> points = {};

  void add(Params params, double value) {
    points.push_back(sample::measurement("x", std::move(params), quantity, value));
  }
  std::vector<Figure> of(const CurveRule& rule) const { return said_by(rule, points); }
};

TEST(CopyRateCurve, SaysFromWhichTileEachWayComesNearToTheBest) {
  Said said;
  said.add({{"way", "plain"}, {"tile", 512}}, 3000 * kGB);
  said.add({{"way", "plain"}, {"tile", 2048}}, 3500 * kGB);
  said.add({{"way", "tensor_1d"}, {"tile", 2048}}, 4000 * kGB);
  said.add({{"way", "tensor_1d"}, {"tile", 128}}, 1000 * kGB);
  const std::vector<Figure> figures = said.of(sample::rule_of("copy.hbm"));
  EXPECT_EQ(figure_values(figures), (FigureValues{{"rate/way:plain", 3500 * kGB},
                                                  {"rate/way:tensor_1d", 4000 * kGB},
                                                  {"enough_from/way:tensor_1d", 2048}}));
}

TEST(CopyLatencyCurve, ComparesTheWaysAtEachSize) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"way", "plain"}, {"tile", 512}}, 300e-9);
  said.add({{"way", "plain"}, {"tile", 8192}}, 700e-9);
  said.add({{"way", "bulk"}, {"tile", 512}}, 600e-9);
  const std::vector<Figure> figures = said.of(sample::rule_of("copy.latency"));
  EXPECT_EQ(figure_of(figures, {.name = "latency", .by = {{"way", "bulk"}, {"tile", 512}}}),
            600e-9);
}

TEST(LinkWayCurve, HasTheRateOfTheLargestSize) {
  Said said;
  said.add({{"bytes", 4096}}, kGB);
  said.add({{"bytes", 64 * kMiB}}, 50 * kGB);
  const std::vector<Figure> figures = said.of(sample::rule_of("pcie.h2d.write_combined"));
  EXPECT_EQ(figure_of(figures, {.name = "largest_size_rate"}), 50 * kGB);
}

TEST(PiecesCurve, HoldsTheSmallestPiecesAgainstOneCopy) {
  Said said;
  said.add({{"piece", 4096}}, 1);
  said.add({{"piece", 16 * kMiB}}, 1);
  said.points[0].summary = Summary{.median = 8e-3};
  EXPECT_TRUE(Said{.points = {said.points[0]}}.of(sample::rule_of("pcie.h2d.pieces")).empty());
  said.points[1].summary = Summary{.median = 3e-4};
  const std::vector<Figure> figures = said.of(sample::rule_of("pcie.h2d.pieces"));
  EXPECT_EQ(figure_values(figures),
            (FigureValues{{"whole", 3e-4}, {"in_pieces", 8e-3}, {"smallest_piece", 4096}}));
}

TEST(NumaCurve, SaysBothDirectionsOfEachNode) {
  Said said;
  said.add({{"node", 1}, {"direction", "h2d"}}, 40 * kGB);
  said.add({{"node", 0}, {"direction", "h2d"}}, 55 * kGB);
  said.add({{"node", 0}, {"direction", "d2h"}}, 54 * kGB);
  const std::vector<Figure> figures = said.of(sample::rule_of("pcie.node"));
  EXPECT_EQ(figures.size(), 3u);
  EXPECT_EQ(figure_of(figures, {.name = "rate", .by = {{"node", 1}, {"direction", "h2d"}}}),
            40 * kGB);
}

TEST(SizeCostCurve, SaysTheSmallestAndTheLargest) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"bytes", 4096}}, 2e-6);
  EXPECT_EQ(figure_values(said.of(sample::rule_of("allocation.malloc"))),
            (FigureValues{{"time/bytes:4096", 2e-6}}));
  said.add({{"bytes", 1024 * kMiB}}, 4e-4);
  said.add({{"bytes", 16 * kMiB}}, 1e-4);
  const std::vector<Figure> figures = said.of(sample::rule_of("allocation.malloc"));
  EXPECT_EQ(figure_values(figures),
            (FigureValues{{"time/bytes:4096", 2e-6}, {"time/bytes:1073741824", 4e-4}}));
}

TEST(GibCostCurve, ScalesTheLargestAndTellsPagesApart) {
  Said said{.quantity = Quantity::kTime};
  said.add({{"bytes", 16 * kMiB}}, 1);
  said.add({{"bytes", 256 * kMiB}}, 0.1);
  EXPECT_DOUBLE_EQ(
      figure_of(said.of(sample::rule_of("allocation.pinned")), {.name = "time_per_gib"}), 0.4);
  Said pages{.quantity = Quantity::kTime};
  pages.add({{"pages", "small"}, {"bytes", 256 * kMiB}}, 0.1);
  pages.add({{"pages", "huge"}, {"bytes", 256 * kMiB}}, 0.01);
  const std::vector<Figure> figures = pages.of(sample::rule_of("allocation.first_touch"));
  EXPECT_DOUBLE_EQ(figure_of(figures, {.name = "time_per_gib", .by = {{"pages", "huge"}}}), 0.04);
}

constexpr std::int64_t kKi = 1024, kMi = 1024 * kKi;

Measurement taking(const char* id, Params params, double seconds) {
  return sample::measurement(id, std::move(params), Quantity::kTime, seconds);
}

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

TEST(Overlap, SaysFromWhichChunkOnCopiesAreHidden) {
  const std::vector<Figure> figures =
      said_by(sample::rule_of("overlap.h2d"),
              {overlapped("pinned", 256 * kKi, 0.6), overlapped("pinned", kMi, 0.96),
               overlapped("pinned", 4 * kMi, 0.9), overlapped("pinned", 16 * kMi, 0.97),
               overlapped("pinned", 256 * kMi, 0.99), overlapped("pageable", 256 * kMi, 0.7)});
  const FigureValues found = figure_values(figures);
  EXPECT_NEAR(found.at("share/memory:pinned/chunk:262144"), 0.6, 1e-12);
  EXPECT_NEAR(found.at("hidden_rate/memory:pinned/chunk:262144") * 0.6,
              found.at("rate/memory:pinned/chunk:262144"), 1e-6);
  EXPECT_EQ(found.at("hidden_from/memory:pinned"), 16 * kMi);
  EXPECT_FALSE(found.contains("hidden_from/memory:pageable"));
  EXPECT_TRUE(said_by(sample::rule_of("overlap.h2d"), {}).empty());
  // A chunk whose kernel did not fit says nothing.
  Measurement mismatched = overlapped("pageable", 4 * kMi, 1);
  mismatched.launch = {{kCopyInNs, std::int64_t{30'000}}, {kKernelNs, std::int64_t{80'000}}};
  EXPECT_EQ(figure_of(said_by(sample::rule_of("overlap.h2d"),
                              {mismatched, overlapped("pageable", 256 * kMi, 0.96)}),
                      {.name = "hidden_from"}),
            256 * kMi);
  EXPECT_TRUE(said_by(sample::rule_of("overlap.h2d"), {mismatched}).empty());
}

TEST(Fusion, SaysWhatIsSavedBesideWhatTheBytesSay) {
  std::vector<Measurement> all;
  const auto add = [&](std::int64_t steps, const char* kernels, double seconds, double bytes) {
    all.push_back(taking("fusion.chain", {{"steps", steps}, {"kernels", kernels}}, seconds));
    all.back().work.bytes_read = bytes;
  };
  add(2, "separate", 10e-6, 6);
  add(2, "fused", 6.5e-6, 4);
  add(8, "fused", 1e-6, 10);  // nothing to hold it against
  const std::vector<Figure> figures = said_by(sample::rule_of("fusion.chain"), all);
  EXPECT_EQ(figures.size(), 2u);
  EXPECT_NEAR(figure_of(figures, {.name = "saving_by_bytes", .by = {{"steps", 2}}}), 1.0 / 3,
              1e-12);
}

TEST(Fusion, SaysWhatASmallChainTakesEachWay) {
  std::vector<Measurement> all;
  const auto add = [&](std::int64_t bytes, const char* kernels, double chain_s) {
    all.push_back(taking("fusion.small", {{"bytes", bytes}, {"kernels", kernels}},
                         chain_s * static_cast<double>(kChainsInARow)));
  };
  add(kMi, "separate", 20e-6);
  add(64 * kKi, "separate", 12e-6);
  add(64 * kKi, "fused", 3e-6);
  add(64 * kKi, "graph", 5e-6);
  const std::vector<Figure> figures = said_by(sample::rule_of("fusion.small"), all);
  EXPECT_NEAR(figure_of(figures, {.name = "time", .by = {{"kernels", "separate"}, {"bytes", kMi}}}),
              20e-6, 1e-12);
}

TEST(Waits, AreGivenByParameterInTheKernelsCycles) {
  std::vector<Measurement> all = {
      taking("synchronization.wait", {{"by", "stream"}}, 8.1e-6),
      taking("synchronization.wait", {{"by", "blocking_event"}}, 21e-6)};
  all[0].conditions.sm_clock_hz = 2e9;
  all[0].conditions.sm_clock_source = ClockSource::kNvml;
  EXPECT_EQ(figure_values(said_by(waits_curve("synchronization", "by"), all)),
            (FigureValues{{"time/by:stream", 8.1e-6}, {"time/by:blocking_event", 21e-6}}));
  all = {taking("synchronization.block", {{"threads", std::int64_t{32}}}, 10e-9)};
  all[0].conditions.sm_clock_hz = 2e9;
  all[0].conditions.sm_clock_source = ClockSource::kKernel;
  const std::vector<Figure> figures = said_by(waits_curve("synchronization", "threads"), all);
  EXPECT_EQ(figure_values(figures),
            (FigureValues{{"time/threads:32", 10e-9}, {"cycles/threads:32", 20}}));
  const std::vector<Figure> grid =
      said_by(waits_curve("synchronization", ""), {taking("synchronization.grid", {}, 960e-9)});
  EXPECT_EQ(figure_values(grid), (FigureValues{{"time", 960e-9}}));
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

TEST(Collectives, CompareTheBusBandwidthWithTheLinks) {
  const std::array all = {all_reduce(8, 12.4e-6), all_reduce(16 << 20, 80e-6),
                          all_reduce(1 << 30, 3.2e-3)};
  Profile profile;
  profile.ceilings = {{.device = std::string(kNodeDevice),
                       .resource = "nvlink.all_to_all",
                       .value = 778e9,  // of both
                       .unit = "B/s"}};
  const std::vector<DeviceView> views = device_views(profile);
  const auto node = std::ranges::find_if(views, &DeviceView::is_node);
  CurveView curve{.points = {}, .view = &*node};
  for (const Measurement& m : all) curve.points.push_back(&m);
  const CurveRule rule = sample::rule_of("nccl.all_reduce");
  const std::vector<Figure> figures = summarized(rule, curve);
  // Two ranks send as many bytes as the array has.
  EXPECT_DOUBLE_EQ(figure_of(figures, {.name = "algorithm_bandwidth"}),
                   figure_of(figures, {.name = "bus_bandwidth"}));
  EXPECT_NEAR(figure_of(figures, {.name = "share_of_links"}), 0.863, 0.001);
  EXPECT_DOUBLE_EQ(figure_of(figures, {.name = "smallest"}), 12.4e-6);
  EXPECT_DOUBLE_EQ(figure_of(figures, {.name = "half_rate"}), 16 << 20);

  curve.view = nullptr;
  curve.points.erase(curve.points.begin() + 1);
  const FigureValues alone = figure_values(summarized(rule, curve));
  EXPECT_FALSE(alone.contains("half_rate"));
  EXPECT_FALSE(alone.contains("share_of_links"));
}

}  // namespace
}  // namespace peakline::bench
