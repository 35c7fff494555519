#include "harness/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness/statistics/sm_clock.hpp"

namespace peakline {
namespace {

TEST(Estimated, IsAMedianTrimmedMeanOrFastestTenth) {
  std::vector<double> blocks;
  for (int i = 40; i > 0; --i) blocks.push_back(i);
  EXPECT_DOUBLE_EQ(estimated(blocks, Estimate::kMedian), 20.5);
  EXPECT_DOUBLE_EQ(estimated(blocks, Estimate::kFastestTenth), 2.5);  // of 1, 2, 3, 4
  blocks[0] = 1000;                                                   // not 40: trimmed
  EXPECT_DOUBLE_EQ(estimated(blocks, Estimate::kTrimmedMean), 20.5);  // of 5 to 36
  blocks[0] = 40;
  EXPECT_DOUBLE_EQ(estimated(std::vector{1.0, 90.0, 5.0, 3.0, 2.0}, Estimate::kTrimmedMean),
                   10.0 / 3);
  EXPECT_DOUBLE_EQ(estimated(std::vector{1.0, 4.0}, Estimate::kTrimmedMean), 2.5);
  EXPECT_DOUBLE_EQ(estimated(std::vector{3.0, 2.0, 5.0}, Estimate::kFastestTenth), 2);
  EXPECT_THROW(estimated({}, Estimate::kFastestTenth), std::invalid_argument);
  EXPECT_THROW(estimated({}, Estimate::kTrimmedMean), std::invalid_argument);
  EXPECT_DOUBLE_EQ(uncertainty(blocks, Estimate::kMedian), standard_error(blocks));
  EXPECT_NEAR(uncertainty(blocks, Estimate::kTrimmedMean), standard_error(blocks) / 1.2533, 1e-9);
  EXPECT_DOUBLE_EQ(uncertainty(blocks, Estimate::kFastestTenth), 5.5 / 2.5 - 1);
}

TEST(Median, OfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}), 2.5);
  EXPECT_THROW(median({}), std::invalid_argument);
  // Quantiles interpolate between the nearest.
  const std::vector<double> values = {4, 1, 3, 2, 5};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 4.6);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
}

TEST(MedianInterval, RanksMatchTheSignTest) {
  using Ranks = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(median_interval_ranks(20), Ranks(6, 15));
  EXPECT_EQ(median_interval_ranks(10), Ranks(2, 9));
  EXPECT_EQ(median_interval_ranks(7), Ranks(1, 7));
  EXPECT_EQ(median_interval_ranks(6), Ranks(1, 6));
  EXPECT_EQ(median_interval_ranks(40), Ranks(14, 27));
  EXPECT_EQ(median_interval_ranks(3), Ranks(1, 3));
  EXPECT_EQ(median_interval_ranks(1), Ranks(1, 1));
  // Their coverage matches the binomial.
  EXPECT_NEAR(median_interval_coverage(20, 6, 15), 0.9586, 1e-4);
  EXPECT_NEAR(median_interval_coverage(7, 1, 7), 1 - 2.0 / 128, 1e-12);
  EXPECT_NEAR(median_interval_coverage(5, 1, 5), 0.9375, 1e-12);
}

TEST(CorrelationLength, TellsIndependentFromCorrelated) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> independent, correlated;
  double state = 0;
  for (int i = 0; i < 1000; ++i) {
    independent.push_back(normal(random));
    state = 0.9 * state + normal(random);
    correlated.push_back(state);
  }
  EXPECT_LE(correlation_length(independent), 3u);
  EXPECT_GE(correlation_length(correlated), 10u);
  std::vector<double> ramp(100);
  std::iota(ramp.begin(), ramp.end(), 0.0);
  EXPECT_GE(correlation_length(ramp), 20u);
  EXPECT_EQ(correlation_length(std::vector<double>(50, 1.0)), 1u);
}

TEST(BlockMedians, KeepTimeOrderAndCoverEverySample) {
  const std::vector<double> samples{1, 1, 1, 2, 2, 2, 9, 3, 3, 3};
  EXPECT_EQ(block_medians(samples, 3), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(block_medians(samples, 10), samples);
  EXPECT_EQ(block_means(std::vector<double>{1, 2, 6, 0, 0, 3}, 2), (std::vector<double>{3, 1}));
}

TEST(Drifts, SeesATrendButNotNoise) {
  std::vector<double> ramp, noise;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(1.0, 0.01);
  for (int i = 0; i < 20; ++i) {
    ramp.push_back(1.0 + 0.005 * i);
    noise.push_back(normal(random));
  }
  EXPECT_TRUE(drifts(ramp, 0.01));
  EXPECT_FALSE(drifts(noise, 0.01));
  EXPECT_FALSE(drifts(ramp, 0.5));  // too small to matter
  // Each stretch that begins anew is too short to tell.
  const std::span<const double> some = std::span(ramp).first(5);
  EXPECT_FALSE(drifts(some, 0.01));
  EXPECT_TRUE(drifts(std::vector{some, some}, 0.01));
  EXPECT_FALSE(drifts(std::vector{some, std::span<const double>(noise).first(5)}, 0.01));
  // Brief points have six trains.
  EXPECT_TRUE(drifts(std::span<const double>(ramp).first(6), 0.01));
  EXPECT_FALSE(drifts(std::vector{1.0, 1.02, 1.04, 1.03, 1.08, 1.1}, 0.01));
}

TEST(TwoLevels, AreSeenWhereTheyStandApart) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal(1.0, 0.001);
  std::uniform_real_distribution<double> uniform(0.9, 1.1);
  std::vector<double> one, two, flat, rare;
  for (int i = 0; i < 160; ++i) {
    one.push_back(normal(random));
    two.push_back(normal(random) + (i % 3 == 0 ? 0.02 : 0));
    rare.push_back(normal(random) + (i % 40 == 0 ? 0.02 : 0));
    flat.push_back(uniform(random));
  }
  EXPECT_TRUE(has_two_levels(two, 0.01));
  EXPECT_FALSE(has_two_levels(two, 0.03));  // too close to matter
  EXPECT_FALSE(has_two_levels(one, 0));
  EXPECT_FALSE(has_two_levels(flat, 0));
  EXPECT_FALSE(has_two_levels(rare, 0));  // interruptions, which the median ignores
  EXPECT_FALSE(has_two_levels(std::vector<double>(40, 1.0), 0));
  EXPECT_FALSE(has_two_levels(std::vector{1.0, 2.0, 1.0, 2.0}, 0));
  // A second level with a third of the values must be further away than one with half.
  EXPECT_FALSE(has_two_levels(two, 0.015));
  // Brief points have six trains.
  EXPECT_TRUE(has_two_levels(std::vector{1.0, 1.05, 1.001, 1.05, 1.0, 1.051}, 0.01));
  EXPECT_FALSE(has_two_levels(std::vector{1.0, 1.05, 1.01, 1.04, 1.0, 1.051}, 0.01));
}

TEST(StudentQuantile, IsThatOfTheTables) {
  EXPECT_NEAR(student_quantile(0.025, 1), 12.706, 1e-3);
  EXPECT_NEAR(student_quantile(0.025, 2), 4.303, 1e-3);
  EXPECT_NEAR(student_quantile(0.025, 7), 2.365, 1e-3);
  EXPECT_NEAR(student_quantile(0.0005, 12), 4.318, 1e-3);
  EXPECT_NEAR(student_quantile(0.025, 1000), 1.962, 1e-3);
}

TEST(FitLine, FindsFixedAndPerItem) {
  const std::vector<double> nodes{1, 4, 16, 64, 256, 1024};
  std::vector<double> time_s;
  for (const double n : nodes) time_s.push_back(5e-6 + 1.2e-6 * n);
  const Line line = fit_line(nodes, time_s);
  EXPECT_NEAR(line.fixed, 5e-6, 1e-12);
  EXPECT_NEAR(line.per_item, 1.2e-6, 1e-14);
  // Their squares underflow.
  const Line tiny = fit_line(std::vector{1.0, 2.0}, std::vector{1e-200, 2e-200});
  EXPECT_NEAR(tiny.per_item / 1e-200, 1, 1e-9);
  EXPECT_THROW(fit_line(std::vector{1.0}, std::vector{1.0}), std::invalid_argument);
  EXPECT_THROW(fit_line(std::vector{2.0, 2.0}, std::vector{1.0, 1.0}), std::invalid_argument);
}

TEST(SettlingTime, IsWhereTheRestStaysNearItsEnd) {
  std::vector<double> time_s, temperature_c;
  for (int i = 0; i < 100; ++i) {
    time_s.push_back(i);
    temperature_c.push_back(70 - 30 * std::exp(-i / 10.0));
  }
  // 30 exp(-t / 10) falls below 1 at 34 s.
  ASSERT_TRUE(settling_time(time_s, temperature_c, 1.0));
  EXPECT_NEAR(*settling_time(time_s, temperature_c, 1.0), 35, 1);
  // A single late excursion delays it.
  temperature_c[60] = 75;
  EXPECT_EQ(settling_time(time_s, temperature_c, 1.0), 61.0);
}

TEST(SettlingTime, IsUnknownWhereValuesStillMove) {
  std::vector<double> time_s, rising;
  for (int i = 0; i < 40; ++i) {
    time_s.push_back(i);
    rising.push_back(i);
  }
  EXPECT_EQ(settling_time(time_s, rising, 1.0), std::nullopt);
  std::vector<double> flat(40, 60.0);
  EXPECT_EQ(settling_time(time_s, flat, 1.0), 0.0);
  flat[5] = std::nan("");
  EXPECT_EQ(settling_time(time_s, flat, 1.0), std::nullopt);
  EXPECT_EQ(settling_time(std::span(time_s).first(4), std::span<const double>(rising).first(4), 99),
            std::nullopt);
  EXPECT_THROW(settling_time(time_s, std::vector<double>(3), 1.0), std::invalid_argument);
}

constexpr double kMaxHz = 1.98e9;

// Readings of SMs with arbitrary starts that run at these clocks for `seconds`.
struct Pair {
  std::vector<ClockReading> start, end;
};
Pair readings(const std::vector<double>& clocks_hz, double seconds, std::uint32_t spread = 42) {
  Pair pair;
  for (std::uint32_t sm = 0; sm < clocks_hz.size(); ++sm) {
    const ClockReading start{.cycles = 1'000'000 + 77 * std::uint64_t{sm},
                             .nanoseconds = 5'000'000 + 32 * std::uint64_t{sm},
                             .spread = spread,
                             .sm = sm};
    ClockReading end = start;
    end.cycles += static_cast<std::uint64_t>(clocks_hz[sm] * seconds);
    end.nanoseconds += static_cast<std::uint64_t>(seconds * 1e9);
    pair.start.push_back(start);
    pair.end.push_back(end);
  }
  return pair;
}

std::optional<double> clock_of(const Pair& pair, std::optional<double> max_hz = kMaxHz) {
  return possible_clock(clock_between(pair.start, pair.end), max_hz, std::nullopt);
}

TEST(SmClock, IsTheMedianOverSmsWhateverTheirOrder) {
  Pair pair = readings({1.70e9, 1.71e9, 1.72e9, 1.73e9, 0.3e9}, 1e-3);
  EXPECT_NEAR(*clock_of(pair), 1.71e9, 1e4);
  std::ranges::reverse(pair.end);
  EXPECT_NEAR(*clock_of(pair), 1.71e9, 1e4);
}

TEST(SmClock, TakesOnlySmsReadAtBothEnds) {
  Pair pair = readings({1.5e9, 1.7e9}, 1e-3);
  pair.end[0].sm = 100;
  EXPECT_NEAR(*clock_of(pair), 1.7e9, 1e4);
  pair.start[1] = {};
  EXPECT_FALSE(clock_of(pair));
  EXPECT_FALSE(clock_between({}, {}));
}

TEST(SmClock, IsAbsentAboveTheMaximum) {
  EXPECT_TRUE(clock_of(readings({1.004 * kMaxHz}, 1e-3)));
  EXPECT_FALSE(clock_of(readings({1.006 * kMaxHz}, 1e-3)));
  EXPECT_TRUE(clock_of(readings({1.006 * kMaxHz}, 1e-3), std::nullopt));
}

// Readings above the stated maximum that a worker keeps.
TEST(SmClock, IsKeptUpToTwoStepsAboveTheMaximum) {
  constexpr double kStepHz = 15e6;
  const auto kept = [](double clock_hz, std::optional<double> step_hz) {
    const Pair pair = readings({clock_hz}, 1e-3);
    return possible_clock(clock_between(pair.start, pair.end), kMaxHz, step_hz).has_value();
  };
  for (const double clock_hz : {1995e6, 2010e6}) {
    EXPECT_TRUE(kept(clock_hz, kStepHz)) << clock_hz;
    EXPECT_FALSE(kept(clock_hz, std::nullopt)) << clock_hz;
  }
  EXPECT_FALSE(kept(2025e6, kStepHz));
  EXPECT_FALSE(kept(2040e6, kStepHz));
  EXPECT_FALSE(kept(2010e6, 7.5e6));
}

TEST(SmClock, AboveTheMaximumTakesThreeReadings) {
  const auto agreed = [](const std::vector<double>& clocks_hz) {
    return agreed_clock_above(kMaxHz, 15e6, clocks_hz);
  };
  EXPECT_EQ(agreed({1980e6, 1994e6, 1995e6, 1996e6, 1979e6}), 1995e6);
  EXPECT_EQ(agreed({2010e6, 2010e6, 1995e6, 2010e6, 1995e6}), 2010e6);
  EXPECT_EQ(agreed({2010e6, 2010e6, 1995e6, 1995e6, 1995e6}), 1995e6);
  EXPECT_EQ(agreed({}), std::nullopt);
  EXPECT_EQ(agreed({1995e6, 1995e6}), std::nullopt);
  EXPECT_EQ(agreed({1995e6, 1995e6, 2010e6}), std::nullopt);
  // Means over a change of the clock.
  EXPECT_EQ(agreed({1987e6, 1987e6, 1987e6, 2002e6, 2002e6, 2002e6}), std::nullopt);
  EXPECT_EQ(agreed({2040e6, 2040e6, 2040e6, 1980e6, 1980e6, 1980e6}), std::nullopt);
}

TEST(SmClock, IsAbsentWhereTheReadingsDoNotResolveIt) {
  // 42 cycles are 0.3 % of 7 us.
  EXPECT_FALSE(clock_of(readings({kMaxHz}, 6e-6)));
  EXPECT_TRUE(clock_of(readings({kMaxHz}, 8e-6)));
  EXPECT_FALSE(clock_of(readings({kMaxHz}, 1e-3, 7000)));
  // Backwards, as after a counter reset.
  Pair pair = readings({kMaxHz}, 1e-3);
  std::swap(pair.start, pair.end);
  EXPECT_FALSE(clock_of(pair));
}

TEST(SmClock, OfSeveralIsEstimatedAsTheirSamplesAre) {
  EXPECT_FALSE(estimated_clock({}));
  EXPECT_FALSE(estimated_clock({}, Estimate::kTrimmedMean));
  const std::vector<double> clocks{3, 1, 2, 2, 7};
  EXPECT_EQ(estimated_clock(clocks), 2);
  EXPECT_EQ(estimated_clock(clocks, Estimate::kFastestTenth), 2);
  EXPECT_DOUBLE_EQ(estimated_clock(clocks, Estimate::kTrimmedMean).value(), 7.0 / 3);
}

}  // namespace
}  // namespace peakline
