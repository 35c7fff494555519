#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/profile/profile.hpp"
#include "tests/unit/golden_profile.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using golden::example;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Writer, WritesTheGoldenFile) {
  // PEAKLINE_UPDATE_GOLDEN=1 rewrites it after an intended change of the format.
  const std::string written = to_json(example());
  if (std::getenv("PEAKLINE_UPDATE_GOLDEN")) std::ofstream(golden::kFile) << written;
  EXPECT_EQ(written, golden::read_text(golden::kFile));
}

TEST(Writer, WhatIsNotKnownOrEmptyIsLeftOut) {
  const auto written = nlohmann::json::parse(to_json(example()));
  const auto& skipped = written["measurements"][3];
  for (const char* key : {"params", "work", "launch", "samples_s", "summary", "value", "flags",
                          "series", "duration_s"}) {
    EXPECT_FALSE(skipped.contains(key)) << key;
  }
  EXPECT_EQ(written["measurements"][0]["work"].size(), 1);  // only reads
  EXPECT_FALSE(written["ceilings"][0].contains("conditions"));
  EXPECT_FALSE(written["devices"][1].contains("sm_count"));
  EXPECT_FALSE(written["devices"][1].contains("vbios"));
}

TEST(Writer, ARowSaysAllByItself) {
  const auto written = nlohmann::json::parse(to_json(example()));
  ASSERT_EQ(written["measurements"].size(), example().measurements.size());
  for (const auto& row : written["measurements"]) {
    for (const char* key : {"id", "device", "status", "unit", "method_version"}) {
      EXPECT_TRUE(row.contains(key)) << row;
    }
    for (const char* key : {"samples_s", "summary", "value"}) {
      EXPECT_EQ(row.contains(key), row["status"] == "ok") << row;
    }
  }
}

TEST(Writer, NumbersSurviveExactly) {
  Profile profile = example();
  auto& samples = profile.measurements[0].samples_s;
  samples = {0.1, 1.0 / 3, 1e-30, 1e30, std::nextafter(1.0, 2.0), 9007199254740993.0, 4.685302e-4};
  profile.measurements[0].params[1].second = std::numeric_limits<std::int64_t>::min();
  profile.measurements[0].launch[0].second = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(profile_from_json(to_json(profile), "p"), profile);
}

TEST(Writer, WhatIsConcludedFromARunIsReadAgain) {
  const Profile run = sample::h200_run();
  EXPECT_EQ(profile_from_json(to_json(run), "p"), run);
}

TEST(Writer, ParametersKeepTheirOrder) {
  Profile profile = example();
  profile.measurements[0].params = {{"z", std::int64_t{1}}, {"a", "x"}, {"m", std::int64_t{2}}};
  EXPECT_EQ(profile_from_json(to_json(profile), "p").measurements[0].name(),
            "hbm.read/z:1/a:x/m:2");
}

TEST(Writer, GapsInASeriesAreNull) {
  Measurement measurement = example().measurements[2];
  measurement.series.power_w[1] = std::nan("");
  const std::string line = to_json_line(measurement);
  EXPECT_THAT(line, HasSubstr("\"power_w\":[512.5,null,698]"));
  const Series back = measurement_from_json_line(line).series;
  EXPECT_TRUE(std::isnan(back.power_w[1]));
  EXPECT_EQ(back.power_w[2], 698);
}

TEST(Writer, UndefinedNumbersAreNotWritten) {
  Profile profile = example();
  profile.measurements[1].work.flops = std::numeric_limits<double>::infinity();
  try {
    to_json(profile);
    FAIL();
  } catch (const ProfileError& error) {
    EXPECT_STREQ(error.what(), "measurements: work: flops: a number is infinite or undefined");
  }
}

TEST(Writer, TextThatIsNotUtf8IsReplaced) {
  Profile profile = example();
  profile.host.hostname = "caf\xe9";
  EXPECT_EQ(profile_from_json(to_json(profile), "p").host.hostname, "caf\xef\xbf\xbd");
}

TEST(Writer, AMeasuredOneIsWrittenWithoutLossAndWithinTheLimit) {
  const Profile measured = read_profile(std::filesystem::path(PEAKLINE_SOURCE_DIR) /
                                        "reports/reference/nvidia-h200.json");
  const std::string text = to_json(measured);
  RecordProperty("bytes", std::to_string(text.size()));
  EXPECT_LT(text.size(), 1024 * 1024);
  EXPECT_EQ(profile_from_json(text, "p"), measured);
}

TEST(Writer, SurvivesALine) {
  for (const Measurement& measurement : example().measurements) {
    const std::string line = to_json_line(measurement);
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_EQ(measurement_from_json_line(line), measurement);
  }
  for (const DeviceFacts& device : example().devices) {
    EXPECT_EQ(device_facts_from_json_line(to_json_line(device)), device);
  }
}

TEST(Writer, RoundsWhatWasMeasuredToSevenDigitsOnce) {
  Measurement measurement = example().measurements[0];
  measurement.samples_s = {1.0 / 3};
  const double time_s = 2.0 / 3;
  measurement.summary = {time_s, time_s, time_s, time_s, time_s, 1};
  measurement.value = 1e12 / 7;
  measurement.work.bytes_read = 1234567891;
  const Measurement back = measurement_from_json_line(to_json_line(measurement));
  EXPECT_EQ(back.samples_s[0], 0.3333333);
  EXPECT_EQ(back.summary->median, 0.6666667);
  EXPECT_EQ(back.value, 142857100000.0);
  EXPECT_EQ(back.work.bytes_read, 1234567891);
  EXPECT_EQ(measurement_from_json_line(to_json_line(back)), back);
}

}  // namespace
}  // namespace peakline
