// Loads under power control: their length, settling and oscillations.

#include "harness/statistics/power_control.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness/statistics/swings.hpp"

namespace peakline {
namespace {

constexpr double kStepSeconds = 0.02;
constexpr double kLoadTolerance = 0.034;  // of a GEMM under sustained load
constexpr double kSpareSeconds = 60;
constexpr LoadPart kPlanned{.from_s = 1.4, .counted_s = 3};

// Time per launch at this time into the load; 1 at first.
using Device = std::function<double(double seconds)>;

double at_once(double seconds) { return seconds < 0.08 ? 1 : 1.15; }
// An H200: at its limit within 0.1 s, then a short, deep dip every second.
double with_swings(double seconds) {
  const double angle = 2 * std::numbers::pi * seconds / 0.95;
  return seconds < 0.08 ? 1 : 1.15 + 0.1 * std::exp(4 * (std::cos(angle) - 1));
}
// A card that heats up, within 0.1 % of its end after 20 s.
double after_twenty_seconds(double seconds) { return 1.3 - 0.3 * std::exp(-seconds / 3); }
double never_settles(double seconds) { return 1 + 0.02 * seconds; }
// Oscillation longer than the planned part.
double slow_swings(double seconds) {
  return 1.2 + 0.1 * std::sin(2 * std::numbers::pi * seconds / 2.5);
}
// A low-power card, such as an L4 with 72 W: half rate after 50 ms.
double of_little_power(double seconds) { return seconds < 0.05 ? 1 : 2; }

struct Loaded {
  LoadPart part;
  std::vector<double> ends_s, rates;
};

Loaded loaded(const Device& device, std::optional<double> tolerance = kLoadTolerance,
              double spare_s = kSpareSeconds) {
  LoadLength length(kPlanned, tolerance, spare_s);
  Loaded load;
  std::vector<double> launch_s;
  do {
    const double end_s = load.ends_s.empty() ? 0 : load.ends_s.back();
    launch_s.push_back(device(end_s));
    load.rates.push_back(1 / launch_s.back());
    load.ends_s.push_back(end_s + kStepSeconds);
  } while (length.goes_on(load.ends_s, launch_s));
  load.part = length.part();
  EXPECT_NEAR(load.ends_s.back(), load.part.end_s(), 2 * kStepSeconds);
  return load;
}

TEST(LoadLength, IsASecondWhereSteadyElseAsPlanned) {
  EXPECT_EQ(loaded(with_swings).part.from_s, kPlanned.from_s);
  EXPECT_EQ(loaded(with_swings).part.counted_s, kPlanned.counted_s);
  // A second suffices where the load is steady.
  for (const Device& device : {Device(at_once), Device(of_little_power)}) {
    EXPECT_EQ(loaded(device).part.from_s, kPlanned.from_s);
    EXPECT_NEAR(loaded(device).part.counted_s, 1, 2 * kStepSeconds);
    EXPECT_EQ(loaded(device, std::nullopt).part.counted_s, kPlanned.counted_s);
  }
}

TEST(LoadLength, IsWhatTheDeviceNeeds) {
  const Loaded heating = loaded(after_twenty_seconds);
  EXPECT_GT(heating.part.from_s, 4);
  EXPECT_LT(heating.part.end_s(), 23);
  // The counted part begins within 2 % of the end.
  EXPECT_NEAR(after_twenty_seconds(heating.part.from_s), 1.3, 0.026);
  const Loaded swinging = loaded(slow_swings);
  EXPECT_EQ(swinging.part.from_s, kPlanned.end_s());
  EXPECT_EQ(swinging.part.counted_s, 2 * kPlanned.counted_s);
}

TEST(LoadLength, EndsWhereTheLoadNeverSettles) {
  EXPECT_EQ(loaded(never_settles).part.counted_s, 12);
  EXPECT_LT(loaded(never_settles).ends_s.back(), 23);
  // Earlier loads have used up the spare time.
  EXPECT_EQ(loaded(never_settles, kLoadTolerance, 7).part.counted_s, 6);
  EXPECT_EQ(loaded(never_settles, kLoadTolerance, 5).part.counted_s, 3);
  EXPECT_EQ(loaded(never_settles, std::nullopt).part.counted_s, 3);
}

LoadCourse course(const Device& device) {
  const Loaded load = loaded(device);
  return load_course(load.ends_s, load.rates).value();
}

TEST(LoadCourse, SaysWhenALoadSettledAndHowFarItSwings) {
  EXPECT_NEAR(course(at_once).settled_s, 0.1, kStepSeconds);
  EXPECT_EQ(course(at_once).swing, 0);
  EXPECT_NEAR(course(with_swings).settled_s, 0.1, kStepSeconds);
  EXPECT_NEAR(course(with_swings).swing, 0.08, 0.02);
  EXPECT_NEAR(course(of_little_power).settled_s, 0.08, kStepSeconds);
  const LoadCourse heating = course(after_twenty_seconds);
  EXPECT_GT(heating.settled_s, 4);
  EXPECT_LT(heating.settled_s, 15);
  EXPECT_NEAR(course(slow_swings).swing, 0.17, 0.02);
}

TEST(LoadCourse, IsNotKnownOfAFewRatesOrOfGaps) {
  EXPECT_FALSE(load_course(std::vector<double>(9, 1.0), std::vector<double>(9, 1.0)));
  std::vector<double> ends_s(20), rates(20, 1.0);
  for (std::size_t i = 0; i < ends_s.size(); ++i) ends_s[i] = static_cast<double>(i + 1);
  EXPECT_TRUE(load_course(ends_s, rates));
  rates[3] = std::nan("");
  EXPECT_FALSE(load_course(ends_s, rates));
}

// Trains of five parts of 2 ms, each after this rest. allows_s: work that the device allows before
// its power control responds; recovers: how fast rest restores it.
struct LittlePower {
  double allows_s = 1, recovers = 1;
  double spent_s = 0;

  TrainParts train(double rest_s) {
    spent_s = std::max(0.0, spent_s - recovers * rest_s);
    TrainParts parts;
    for (int part = 0; part < 5; ++part, spent_s += 0.002)
      parts.push_back(spent_s < allows_s ? 1e-3 : 1.6e-3);
    return parts;
  }
  std::vector<TrainParts> trains(double rest_s) {
    std::vector<TrainParts> all;
    for (int i = 0; i < 11; ++i) all.push_back(train(rest_s));
    return all;
  }
};

TEST(Burst, AreBurstsWhereNothingAnswers) {
  EXPECT_EQ(parts_of_burst(LittlePower().trains(0.03)), 5u);
  EXPECT_TRUE(rested(LittlePower().trains(0.03)));
  // An H200's first train takes 2.7 % longer, and the first part of each 3 % more or less.
  std::vector<TrainParts> trains(10, {0.97, 1, 1.005, 0.995, 1});
  trains.front() = {1.027, 1.027, 1.02, 1.02, 1.01};
  trains.back() = {1.03, 1, 1, 1, 1};
  EXPECT_EQ(parts_of_burst(trains), 5u);
  EXPECT_TRUE(rested(trains));
}

TEST(Burst, CountUntilThePowerControlAnswers) {
  EXPECT_EQ(parts_of_burst(LittlePower{.allows_s = 0.005}.trains(0.03)), 3u);
  EXPECT_TRUE(rested(LittlePower{.allows_s = 0.005}.trains(0.03)));
  EXPECT_EQ(parts_of_burst(std::vector<TrainParts>{{1.0}}), 1u);  // under a profiler
  // They need longer rests where the device has not recovered.
  const LittlePower slow{.allows_s = 0.025, .recovers = 0.1};
  EXPECT_FALSE(rested(LittlePower(slow).trains(0.03)));
  EXPECT_TRUE(rested(LittlePower(slow).trains(0.12)));
}

constexpr std::size_t kPeriod = 48;

TEST(Swings, OfOneStateDoNotDiffer) {
  EXPECT_LT(shift_of_swings({1.0, 1.004, 0.998}), 0.01);
  EXPECT_GT(shift_of_swings({1.0, 1.004, 1.03}), 0.01);
}

// Times of a load with a short, deep dip per period, as on an H200, from `phase` on.
std::vector<double> swinging(std::size_t count, std::size_t phase) {
  std::mt19937 random(7);
  std::normal_distribution<double> around(0, 0.005);
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
  // A few intervals of a load stand for themselves.
  EXPECT_EQ(load_means(std::vector<double>{1, 2, 3}).means, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(load_means(std::vector<double>{1, 2, 3}).length, 1u);
  EXPECT_EQ(load_means(std::vector<double>(70, 1.0)).means.size(), 7u);
}

TEST(Swings, OneInTenMayLieApartFromSteadyValues) {
  std::vector<double> values(40, 1.0);
  values[3] = 1.5;
  EXPECT_TRUE(steady(values));
  for (std::size_t i = 0; i < values.size(); i += 5) values[i] = 1.02;
  EXPECT_FALSE(steady(values));
  EXPECT_TRUE(steady({}));
}

}  // namespace
}  // namespace peakline
