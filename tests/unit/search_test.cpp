#include "harness/statistics/search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

namespace peakline {
namespace {

bool never() { return false; }

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

TEST(Search, AmongEqualsTheFirstWinsEveryTime) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.0004);
  for (int run = 0; run < 50; ++run) {
    const auto time_s = [&](std::size_t i, std::size_t) {
      return (i < 3 ? 1.1 : i == 5 ? 1.0003 : 1.0) + noise(random);
    };
    EXPECT_EQ(search(8, time_s, never).winner, 3u);
  }
}

// Also if more candidates tie than fit in the last round.
TEST(Search, AmongManyEqualsTheFirstWinsEveryTime) {
  constexpr double kTolerance = 0.005;
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.0004);
  for (int run = 0; run < 50; ++run) {
    const auto time_s = [&](std::size_t i, std::size_t) {
      return (i == 1 ? 1.003 : i == 0 ? 1.02 : 1.0) + noise(random);
    };
    EXPECT_EQ(search(30, time_s, never, kTolerance).winner, 1u);
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
  const SearchResult result = search(
      times.size(), [&](std::size_t i, std::size_t) { return times[i]; }, [] { return false; });
  EXPECT_EQ(result.ranking, (std::vector<std::size_t>{3, 1, 4, 0}));
  EXPECT_EQ(result.ranking.front(), result.winner);
}

}  // namespace
}  // namespace peakline
