#include "harness/statistics/sampling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness/cli/measure_options.hpp"
#include "harness/statistics/search.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline {
namespace {

constexpr double kSamplingTolerance = 0.003;

// A sample source with its own clock: each sample takes its time on it.
struct Source {
  double mean = 1e-3, spread = 0, slope = 0;
  double now = 0;
  std::size_t taken = 0;
  std::mt19937_64 random = std::mt19937_64(11);

  std::vector<double> take(std::size_t n) {
    std::normal_distribution<double> normal(0.0, 1.0);
    std::vector<double> samples;
    for (std::size_t i = 0; i < n; ++i) {
      samples.push_back(mean * (1 + spread * normal(random) + slope * static_cast<double>(taken)));
      now += samples.back();
      ++taken;
    }
    return samples;
  }
  // at_once: samples between two looks at the clock; 0: as many as asked for.
  Sampling collect(const SamplingRule& rule, std::size_t at_once = 0) {
    return peakline::collect(
        rule, [=, this](std::size_t n) { return take(at_once == 0 ? n : at_once); },
        [this] { return now; });
  }
};

TEST(Collect, StopsAtTheFirstLookWhenPrecise) {
  Source source{.spread = 1e-4};
  const Sampling sampling = source.collect(full_rule(0.005, kSamplingTolerance, 10.0));
  EXPECT_EQ(sampling.samples, kMinSamples);
  EXPECT_EQ(sampling.stop, StopReason::kPrecise);
  EXPECT_EQ(sampling.blocks.size(), 20u);
  EXPECT_NEAR(sampling.summary.median, 1e-3, 1e-6);
  EXPECT_FALSE(sampling.unstable);
}

TEST(Collect, DoublesUntilPrecise) {
  Source source{.spread = 0.05};
  const Sampling sampling = source.collect(full_rule(0.005, kSamplingTolerance, 1000.0));
  EXPECT_EQ(sampling.stop, StopReason::kPrecise);
  EXPECT_GT(sampling.samples, kMinSamples);
  EXPECT_EQ(sampling.samples % kMinSamples, 0u);
  const std::size_t factor = sampling.samples / kMinSamples;
  EXPECT_EQ(factor & (factor - 1), 0u);  // a power of two
}

TEST(Collect, LooksEarlierWhereSamplesTakeLong) {
  Source source{.mean = 5e-3, .spread = 1e-4};
  const Sampling sampling =
      source.collect(full_rule(0.005, kSamplingTolerance, 1.0, kMinSamples, kBlocks / 2), 2);
  EXPECT_EQ(sampling.samples, 16u);  // half of 0.16 s
  EXPECT_EQ(sampling.blocks.size(), kBlocks / 2);
  EXPECT_EQ(sampling.stop, StopReason::kPrecise);
}

TEST(Collect, SaysWhenItsTimeIsUp) {
  Source source{.mean = 0.01, .spread = 0.5};
  EXPECT_EQ(source.collect(full_rule(0.001, kSamplingTolerance, 1.0), 1).stop, StopReason::kTimeUp);
  EXPECT_LT(source.now, 1.2);
}

TEST(Collect, FlagsDrift) {
  Source source{.slope = 0.001};
  EXPECT_TRUE(source.collect(full_rule(0.001, kSamplingTolerance, 0.5)).unstable);
}

TEST(Collect, CurvePointTakesSevenSamples) {
  Source source{.spread = 0.3};
  const Sampling sampling = source.collect(curve_rule(0.005, kSamplingTolerance));
  EXPECT_EQ(sampling.samples, 7u);
  EXPECT_EQ(sampling.blocks.size(), 7u);
  EXPECT_EQ(sampling.stop, StopReason::kSampleLimit);
}

TEST(Collect, TakesOneSampleForEachBlockHoweverLongTheyLast) {
  for (const SamplingRule& rule :
       {curve_rule(0.005, kSamplingTolerance), full_rule(0.005, kSamplingTolerance, 0.1)}) {
    Source source{.mean = 0.1, .spread = 0.5};
    EXPECT_EQ(source.collect(rule, 1).samples, rule.blocks);
  }
}

TEST(Collect, UnderAProfilerTakesOne) {
  EXPECT_EQ(Source().collect(single_sample_rule()).samples, 1u);
}

bool never() { return false; }

TEST(Sampling, QuickRunsTakeHalfTheSamples) {
  const auto samples = [](const bench::MeasureOptions& options) {
    return options.run_options().min_samples;
  };
  EXPECT_EQ(samples({}), 320u);
  EXPECT_EQ(samples({.options = {.quick = true}}), 160u);
  EXPECT_EQ(samples({.options = {.quick = true}, .min_samples = 80}), 80u);
}

TEST(Search, FindsTheFastestAndSpendsLittleOnTheRest) {
  std::map<std::size_t, std::size_t> samples_of;
  const auto time_s = [&](std::size_t i, std::size_t samples) {
    samples_of[i] += samples;
    return i == 37 ? 0.9 : 1.0 + 0.01 * static_cast<double>(i);
  };
  const SearchResult result = search(100, time_s, never);
  EXPECT_EQ(result.winner, 37u);
  EXPECT_EQ(result.tried, 100u);
  EXPECT_DOUBLE_EQ(result.best_time_s, 0.9);
  EXPECT_EQ(samples_of[99], 2u);
  EXPECT_GT(samples_of[37], 10u);
}

TEST(Search, OutlivesALuckyFirstTiming) {
  // Candidate 2 looks best once and is worst afterwards.
  const auto time_s = [](std::size_t i, std::size_t samples) {
    if (i == 2) return samples <= 2 ? 0.99 : 2.0;
    return 1.0 + 0.001 * static_cast<double>(i);
  };
  EXPECT_EQ(search(5, time_s, never).winner, 0u);
}

// Also if more candidates tie than fit in the last round.
TEST(Search, AmongEqualsTheFirstWinsEveryTime) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.0004);
  for (int run = 0; run < 50; ++run) {
    const auto few = [&](std::size_t i, std::size_t) {
      return (i < 3 ? 1.1 : i == 5 ? 1.0003 : 1.0) + noise(random);
    };
    EXPECT_EQ(search(8, few, never).winner, 3u);
    const auto many = [&](std::size_t i, std::size_t) {
      return (i == 1 ? 1.003 : i == 0 ? 1.02 : 1.0) + noise(random);
    };
    EXPECT_EQ(search(30, many, never, 0.005).winner, 1u);
  }
}

TEST(Search, HowMuchAnEqualMayCostIsTheCallersChoice) {
  const auto time_s = [](std::size_t i, std::size_t) {
    return i == 0 ? 1.02 : 1.0 - 1e-3 * static_cast<double>(i);
  };
  EXPECT_EQ(search(6, time_s, never).winner, 4u);
  EXPECT_EQ(search(6, time_s, never, 0.01).winner, 1u);
  EXPECT_EQ(search(6, time_s, never, 0.03).winner, 0u);
}

TEST(Search, TakesTheFirstCostWithinTheTolerance) {
  EXPECT_EQ(first_within(std::vector{1.2, 1.009, 1.0, 1.001}, 0.01), 1u);
  EXPECT_EQ(first_within(std::vector{1.2, 1.009, 1.0, 1.001}, 0), 2u);
  EXPECT_EQ(first_within(std::vector<double>{INFINITY, 3}, 0), 1u);
  EXPECT_THROW(first_within(std::vector<double>{INFINITY}, 0), std::runtime_error);
  EXPECT_THROW(first_within({}, 0), std::runtime_error);
}

TEST(Search, PassesOverCandidatesThatCannotRun) {
  const auto time_s = [](std::size_t i, std::size_t) { return i == 3 ? 1.0 : INFINITY; };
  EXPECT_EQ(search(6, time_s, never).winner, 3u);
  EXPECT_THROW(search(
                   3, [](std::size_t, std::size_t) { return INFINITY; }, never),
               std::runtime_error);
  EXPECT_THROW(search(0, time_s, never), std::runtime_error);
}

TEST(Search, SettlesForTheBestSoFarWhenTimeIsUp) {
  std::size_t calls = 0;
  const auto time_s = [&](std::size_t i, std::size_t) {
    ++calls;
    return 10.0 - static_cast<double>(i);
  };
  const SearchResult result = search(1000, time_s, [&] { return calls >= 5; });
  EXPECT_EQ(result.winner, 4u);
  EXPECT_EQ(calls, 5u);
}

TEST(Search, RanksWhatCanRunTheWinnerFirst) {
  const std::vector<double> times = {5, 3, INFINITY, 1, 4};
  const auto result = search(
      times.size(), [&](std::size_t i, std::size_t) { return times[i]; }, never);
  EXPECT_EQ(result.ranking, (std::vector<std::size_t>{3, 1, 4, 0}));
  EXPECT_EQ(result.ranking.front(), result.winner);
}

}  // namespace
}  // namespace peakline
