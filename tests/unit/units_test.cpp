#include "harness/values/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace peakline {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(FormatNumber, ThreeSignificantDigitsAndAllBeforeThePoint) {
  EXPECT_EQ(format_number(4583.4), "4583");
  EXPECT_EQ(format_number(805.04), "805");
  EXPECT_EQ(format_number(54.44), "54.4");
  EXPECT_EQ(format_number(5.444), "5.44");
  EXPECT_EQ(format_number(0.06217), "0.0622");
  EXPECT_EQ(format_number(-12.34), "-12.3");
  EXPECT_EQ(format_number(0), "0");
}

TEST(FormatNumber, RoundingThatCarriesDropsADecimal) {
  EXPECT_EQ(format_number(9.996), "10.0");
  EXPECT_EQ(format_number(99.96), "100");
  EXPECT_EQ(format_number(999.6), "1000");
}

TEST(FormatTime, ChoosesThePrefix) {
  EXPECT_EQ(format_time(8.7e-7), "870 ns");
  EXPECT_EQ(format_time(12.3e-6), "12.3 us");
  EXPECT_EQ(format_time(1.2e-3), "1.20 ms");
  EXPECT_EQ(format_time(118.2), "118 s");
  EXPECT_EQ(format_time(999.7e-9), "1.00 us");
  EXPECT_EQ(format_time(0), "0 s");
  EXPECT_EQ(format_time(3e-12), "0.00300 ns");
}

TEST(FormatSize, BinaryPrefixesAndWholeNumbers) {
  EXPECT_EQ(format_size(4096), "4 KiB");
  EXPECT_EQ(format_size(1.5 * kGiB), "1.5 GiB");
  EXPECT_EQ(format_size(128), "128 B");
  EXPECT_EQ(format_size(1024 * kMiB), "1 GiB");
  EXPECT_EQ(format_size(0), "0 B");
}

TEST(FormatRate, BandwidthStaysInGigabytes) {
  EXPECT_EQ(format_rate(4.583e12, "B/s"), "4583 GB/s");
  EXPECT_EQ(format_rate(54.4e9, "B/s"), "54.4 GB/s");
  EXPECT_EQ(format_rate(7.5e6, "B/s"), "7.50 MB/s");
  EXPECT_EQ(format_rate(805e12, "FLOP/s"), "805 TFLOP/s");
  EXPECT_EQ(format_rate(999.96e9, "FLOP/s"), "1.00 TFLOP/s");
  EXPECT_EQ(format_rate(0, "B/s"), "0 B/s");
}

TEST(FormatOther, ClockPercentAndUnitless) {
  EXPECT_EQ(format_clock(1.98e9), "1980 MHz");
  EXPECT_EQ(format_percent(0.953), "95.3 %");
  EXPECT_EQ(format_value(712, "W"), "712 W");
  EXPECT_EQ(format_value(1e-6, "s"), "1.00 us");
  EXPECT_EQ(format_value(4096, "B"), "4 KiB");
  EXPECT_EQ(format_value(1.98e9, "Hz"), "1980 MHz");
  EXPECT_EQ(format_value(3, ""), "3.00");
}

TEST(Format, WhatIsNotFiniteIsNeverANumber) {
  EXPECT_EQ(format_time(kNan), kNotKnown);
  EXPECT_EQ(format_size(kNan), kNotKnown);
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity(), "B/s"), kNotKnown);
  EXPECT_EQ(format_clock(kNan), kNotKnown);
  EXPECT_EQ(format_percent(kNan), kNotKnown);
  EXPECT_EQ(format_value(kNan, "W"), kNotKnown);
}

TEST(FormatMagnitude, WhatCannotBeCountedOutHasTwoDigits) {
  EXPECT_EQ(format_magnitude(870), "870");
  EXPECT_EQ(format_magnitude(9999), "9999");
  EXPECT_EQ(format_magnitude(10000), "1.0 × 10⁴");
  EXPECT_EQ(format_magnitude(3.42e12), "3.4 × 10¹²");
  EXPECT_EQ(format_magnitude(9.96e9), "1.0 × 10¹⁰");
  EXPECT_EQ(format_magnitude(kNan), kNotKnown);
}

TEST(FormatCount, OneAndMany) {
  EXPECT_EQ(format_count(0, "point"), "0 points");
  EXPECT_EQ(format_count(1, "point"), "1 point");
  EXPECT_EQ(format_count(2, "point"), "2 points");
}

}  // namespace
}  // namespace peakline
