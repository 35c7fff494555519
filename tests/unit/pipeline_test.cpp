#include "bench/pipeline.hpp"

#include <gtest/gtest.h>

#include "bench/question.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

constexpr std::int64_t kKi = 1024, kMi = 1024 * kKi;

Measurement taking(const char* id, Params params, double seconds) {
  return sample::measurement(id, std::move(params), Quantity::kTime, seconds);
}

Measurement overlapped(const char* memory, std::int64_t chunk, double share) {
  Measurement m = taking("overlap.h2d", {{"memory", memory}, {"chunk", chunk}}, 1e-3 / share);
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
  const Statement sentence =
      said_by(sample::rule_of("overlap.h2d"),
              {overlapped("pinned", 256 * kKi, 0.6), overlapped("pinned", kMi, 0.96),
               overlapped("pinned", 4 * kMi, 0.9), overlapped("pinned", 16 * kMi, 0.97),
               overlapped("pinned", 256 * kMi, 0.99), overlapped("pageable", 256 * kMi, 0.7)});
  EXPECT_EQ(sentence.pieces,
            std::vector<std::string>{"copying in while a kernel runs: 99.0 % of the slowest part's "
                                     "rate with pinned memory (95 % from chunks of 16 MiB), 70.0 % "
                                     "with pageable"});
  const FigureValues found = values_of(sentence);
  EXPECT_NEAR(found.at("share/memory:pinned/chunk:262144"), 0.6, 1e-12);
  EXPECT_NEAR(found.at("hidden_rate/memory:pinned/chunk:262144") * 0.6,
              found.at("rate/memory:pinned/chunk:262144"), 1e-6);
  EXPECT_EQ(found.at("hidden_from/memory:pinned"), 16 * kMi);
  EXPECT_FALSE(found.contains("hidden_from/memory:pageable"));
  EXPECT_TRUE(said_by(sample::rule_of("overlap.h2d"), {}).pieces.empty());
  // A chunk whose kernel did not fit says nothing.
  Measurement mismatched = overlapped("pageable", 4 * kMi, 1);
  mismatched.launch = {{kCopyInNs, std::int64_t{30'000}}, {kKernelNs, std::int64_t{80'000}}};
  EXPECT_EQ(
      said_by(sample::rule_of("overlap.h2d"), {mismatched, overlapped("pageable", 256 * kMi, 0.96)})
          .pieces,
      std::vector<std::string>{"copying in while a kernel runs: 96.0 % of the slowest part's "
                               "rate with pageable memory (95 % from chunks of 256 MiB)"});
  EXPECT_TRUE(said_by(sample::rule_of("overlap.h2d"), {mismatched}).pieces.empty());
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
  const Statement sentence = said_by(sample::rule_of("fusion.chain"), all);
  EXPECT_EQ(sentence.pieces,
            std::vector<std::string>{"time saved by one kernel: 2 steps 35.0 % (33.3 % by bytes)"});
  EXPECT_EQ(sentence.figures.size(), 2u);
  EXPECT_NEAR(figure_of(sentence, {.name = "saving_by_bytes", .by = {{"steps", 2}}}), 1.0 / 3,
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
  EXPECT_TRUE(said_by(sample::rule_of("fusion.small"), all).pieces.empty());
  add(64 * kKi, "graph", 5e-6);
  const Statement sentence = said_by(sample::rule_of("fusion.small"), all);
  EXPECT_EQ(sentence.pieces, std::vector<std::string>{
                                 "4 steps over 64 KiB: 12.0 us with a kernel each, 5.00 us as a "
                                 "graph of these, 3.00 us fused"});
  EXPECT_NEAR(
      figure_of(sentence, {.name = "time", .by = {{"kernels", "separate"}, {"bytes", kMi}}}), 20e-6,
      1e-12);
}

TEST(Waits, AreSaidByTheirParameterWithTheKernelsOwnCycles) {
  std::vector<Measurement> all = {
      taking("synchronization.wait", {{"by", "stream"}}, 8.1e-6),
      taking("synchronization.wait", {{"by", "blocking_event"}}, 21e-6)};
  all[0].conditions.sm_clock_hz = 2e9;
  all[0].conditions.sm_clock_source = ClockSource::kNvml;
  EXPECT_EQ(said_by(waits_curve("synchronization", "wait by", "by"), all).pieces,
            std::vector<std::string>{"wait by stream 8.10 us, blocking event 21.0 us"});
  all = {taking("synchronization.block", {{"threads", std::int64_t{32}}}, 10e-9)};
  all[0].conditions.sm_clock_hz = 2e9;
  all[0].conditions.sm_clock_source = ClockSource::kKernel;
  const Statement sentence = said_by(waits_curve("synchronization", "barrier of", "threads"), all);
  EXPECT_EQ(sentence.pieces, std::vector<std::string>{"barrier of 32 threads 10.0 ns (20 cycles)"});
  EXPECT_EQ(values_of(sentence),
            (FigureValues{{"time/threads:32", 10e-9}, {"cycles/threads:32", 20}}));
  const Statement grid = said_by(waits_curve("synchronization", "barrier of a grid", ""),
                                 {taking("synchronization.grid", {}, 960e-9)});
  EXPECT_EQ(grid.pieces, std::vector<std::string>{"barrier of a grid 960 ns"});
  EXPECT_EQ(values_of(grid), (FigureValues{{"time", 960e-9}}));
}

}  // namespace
}  // namespace peakline::bench
