#include "harness/statistics/swings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <stdexcept>

namespace peakline {
namespace {

constexpr std::size_t kPeriod = 48;

TEST(Swings, OfOneStateDoNotDiffer) {
  EXPECT_LT(shift_of_swings({1.0, 1.004, 0.998}), 0.01);
  EXPECT_GT(shift_of_swings({1.0, 1.004, 1.03}), 0.01);
}

// Times of a load with a short, deep dip per period, as on an H200, from `phase` on.
std::vector<double> swinging(std::size_t count, std::size_t phase, double noise = 0.005) {
  std::mt19937 random(7);
  std::normal_distribution<double> around(0, noise);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i + phase) / static_cast<double>(kPeriod);
    values.push_back(1 + 0.08 * std::exp(4 * (std::cos(angle) - 1)) + around(random));
  }
  return values;
}

TEST(Swings, FindsThePeriod) {
  for (std::size_t phase = 0; phase < kPeriod; phase += 5) {
    const auto period = swing_period(swinging(3 * kPeriod, phase));
    ASSERT_TRUE(period) << phase;
    EXPECT_NEAR(static_cast<double>(*period), kPeriod, 2) << phase;
  }
}

TEST(Swings, NoiseAndSteadyValuesHaveNone) {
  std::mt19937 random(7);
  std::normal_distribution<double> around(1, 0.02);
  std::vector<double> noise(150);
  for (double& value : noise) value = around(random);
  EXPECT_FALSE(swing_period(noise));
  EXPECT_FALSE(swing_period(std::vector<double>(150, 1.0)));
  EXPECT_FALSE(swing_period({}));
}

// The phase does not matter, while the mean of 1.5 oscillations moves by over 1 %.
TEST(Swings, TheirMeanDoesNotDependOnThePhase) {
  std::vector<double> by_swings, plain;
  for (std::size_t phase = 0; phase < kPeriod; phase += 3) {
    const std::vector<double> values = swinging(3 * kPeriod + kPeriod / 2, phase);
    std::vector<double> means = swing_means(values, 7).means;
    ASSERT_EQ(means.size(), 7u);
    std::ranges::sort(means);
    by_swings.push_back(means[3]);
    const std::vector<double> cut(values.begin(), values.begin() + 3 * kPeriod / 2);
    plain.push_back(std::accumulate(cut.begin(), cut.end(), 0.0) / static_cast<double>(cut.size()));
  }
  const auto spread = [](const std::vector<double>& values) {
    return std::ranges::max(values) / std::ranges::min(values) - 1;
  };
  EXPECT_LT(spread(by_swings), 0.003);
  EXPECT_GT(spread(plain), 0.01);
}

TEST(Swings, WithoutSwingsTheMeansAreOfThirds) {
  const SwingMeans thirds = swing_means(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3);
  EXPECT_EQ(thirds.means, (std::vector<double>{2, 5, 8}));
  EXPECT_EQ(thirds.length, 3u);
  EXPECT_THROW(swing_means(std::vector<double>{1, 2}, 3), std::invalid_argument);
}

TEST(Swings, OneInTenMayLieApartFromSteadyValues) {
  std::vector<double> values(40, 1.0);
  values[3] = 1.5;
  EXPECT_TRUE(steady(values));
  for (std::size_t i = 0; i < values.size(); i += 5) values[i] = 1.02;
  EXPECT_FALSE(steady(values));
  EXPECT_TRUE(steady({}));
}

TEST(Swings, AFewIntervalsOfALoadStandForThemselves) {
  EXPECT_EQ(load_means(std::vector<double>{1, 2, 3}).means, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(load_means(std::vector<double>{1, 2, 3}).length, 1u);
  EXPECT_EQ(load_means(std::vector<double>(70, 1.0)).means.size(), 7u);
}

}  // namespace
}  // namespace peakline
