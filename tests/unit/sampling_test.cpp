#include "harness/statistics/sampling.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace peakline {
namespace {

constexpr double kSamplingTolerance = 0.003;

// A sample source with its own clock: each sample takes its time on it.
struct Source {
  std::mt19937_64 random{11};
  double now = 0;
  double mean = 1e-3, spread = 0, slope = 0;
  std::size_t taken = 0;

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
  Sampling collect(const SamplingRule& rule) {
    return peakline::collect(
        rule, [this](std::size_t n) { return take(n); }, [this] { return now; });
  }
};

TEST(Collect, StopsAtTheFirstLookWhenPrecise) {
  Source source;
  source.spread = 1e-4;
  const Sampling sampling = source.collect(full_rule(0.005, kSamplingTolerance, 10.0));
  EXPECT_EQ(sampling.samples, kMinSamples);
  EXPECT_EQ(sampling.stop, StopReason::kPrecise);
  EXPECT_EQ(sampling.blocks.size(), 20u);
  EXPECT_NEAR(sampling.summary.median, 1e-3, 1e-6);
  EXPECT_FALSE(sampling.unstable);
}

TEST(Collect, DoublesUntilPrecise) {
  Source source;
  source.spread = 0.05;
  const Sampling sampling = source.collect(full_rule(0.005, kSamplingTolerance, 1000.0));
  EXPECT_EQ(sampling.stop, StopReason::kPrecise);
  EXPECT_GT(sampling.samples, kMinSamples);
  EXPECT_EQ(sampling.samples % kMinSamples, 0u);
  const std::size_t factor = sampling.samples / kMinSamples;
  EXPECT_EQ(factor & (factor - 1), 0u);  // a power of two
}

TEST(Collect, LooksEarlierWhereSamplesTakeLong) {
  Source source;
  source.spread = 1e-4;
  source.mean = 5e-3;
  const Sampling sampling = peakline::collect(
      full_rule(0.005, kSamplingTolerance, 1.0, kMinSamples, kBlocks / 2),
      [&](std::size_t) { return source.take(2); }, [&] { return source.now; });
  EXPECT_EQ(sampling.samples, 16u);  // half of 0.16 s
  EXPECT_EQ(sampling.blocks.size(), kBlocks / 2);
  EXPECT_EQ(sampling.stop, StopReason::kPrecise);
}

TEST(Collect, SaysWhenItsTimeIsUp) {
  Source source;
  source.spread = 0.5;
  source.mean = 0.01;
  const Sampling sampling = peakline::collect(
      full_rule(0.001, kSamplingTolerance, 1.0), [&](std::size_t) { return source.take(1); },
      [&] { return source.now; });
  EXPECT_EQ(sampling.stop, StopReason::kTimeUp);
  EXPECT_LT(source.now, 1.2);
}

TEST(Collect, FlagsDrift) {
  Source source;
  source.slope = 0.001;
  const Sampling sampling = source.collect(full_rule(0.001, kSamplingTolerance, 0.5));
  EXPECT_TRUE(sampling.unstable);
}

TEST(Collect, CurvePointTakesSevenSamples) {
  Source source;
  source.spread = 0.3;
  const Sampling sampling = source.collect(curve_rule(0.005, kSamplingTolerance));
  EXPECT_EQ(sampling.samples, 7u);
  EXPECT_EQ(sampling.blocks.size(), 7u);
  EXPECT_EQ(sampling.stop, StopReason::kSampleLimit);
}

TEST(Collect, TakesOneSampleForEachBlockHoweverLongTheyLast) {
  for (const SamplingRule& rule :
       {curve_rule(0.005, kSamplingTolerance), full_rule(0.005, kSamplingTolerance, 0.1)}) {
    Source source;
    source.spread = 0.5;
    source.mean = 0.1;
    const Sampling sampling = peakline::collect(
        rule, [&](std::size_t) { return source.take(1); }, [&] { return source.now; });
    EXPECT_EQ(sampling.samples, rule.blocks);
  }
}

TEST(Collect, UnderAProfilerTakesOne) {
  Source source;
  EXPECT_EQ(source.collect(single_sample_rule()).samples, 1u);
}

}  // namespace
}  // namespace peakline
