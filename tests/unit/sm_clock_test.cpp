#include "harness/statistics/sm_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace peakline {
namespace {

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

TEST(SmClock, AboveTheMaximumIsTheStepThatThreeReadingsAgreeOn) {
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
