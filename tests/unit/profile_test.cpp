// The profile's format: schema, writing, reading.

#include "harness/profile/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "harness/profile/population_file.hpp"
#include "harness/show/peaks.hpp"
#include "tests/unit/golden_profile.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/texts.hpp"

namespace peakline {
namespace {

using golden::example;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Schema, IsTheOneOfThePythonPackage) {
  const std::string folder = PEAKLINE_SOURCE_DIR "/reports/peakline/";
  golden::expect_file(profile_schema(), folder + "profile.schema.json");
  golden::expect_file(population_schema(), folder + "population.schema.json");
}

TEST(Peaks, FitANarrowTerminal) {
  for (const std::size_t width : {60, 80, 100, 140}) {
    std::istringstream text(peaks_text("", {.width = width}));
    for (std::string line; std::getline(text, line);)
      EXPECT_TRUE(text_width(line) <= width || line.find("://") != line.npos) << line;
  }
}

// Reader and writer share one description, so neither notices swapped fields; tests of the golden
// profile rely on this one.
TEST(Fields, AreNamedLikeTheirMembers) {
  const std::filesystem::path folder(PEAKLINE_SOURCE_DIR "/harness/profile");
  const std::regex field(R"re(\ba(?:\.maybe)?\(\s*"(\w+)",\s*v\.(\w+))re");
  std::ptrdiff_t found = 0;
  for (const char* name : {"fields.hpp", "picture_fields.hpp"}) {
    const std::string text = golden::read_text(folder / name);
    for (std::sregex_iterator at(text.begin(), text.end(), field), end; at != end; ++at, ++found) {
      const std::string key = (*at)[1], member = (*at)[2];
      if (key == "reference_basis" && member == "reference") continue;
      EXPECT_TRUE(key == member || key == member + "_s") << name << ": " << key << ", " << member;
    }
  }
  EXPECT_GT(found, 250);
}

TEST(Reader, DerivesKindsFromTheWordsOfOldFiles) {
  const std::pair<const char*, Absence> kSaid[] = {
      {"skipped: needs compute capability 8.9", Absence::kSkipped},
      {"failed: an illegal instruction", Absence::kFailed},
      {"implausible: above what the hardware can do", Absence::kImplausible},
      {"wrong result", Absence::kWrongResult},
      {"too few samples", Absence::kFewSamples},
      {"left out: the value is not a number", Absence::kUnreadable},
      {"gone fishing", Absence::kUnknown}};
  for (const auto& [reason, why] : kSaid) {
    auto file = nlohmann::json::parse(to_json(example()));
    auto& row = file["missing_ceilings"][0];
    row["reason"] = reason;
    row.erase("why");
    EXPECT_EQ(profile_from_json(file.dump(), "old").missing_ceilings[0].why, why) << reason;
    row["why"] = "failed";  // what a file states counts
    EXPECT_EQ(profile_from_json(file.dump(), "new").missing_ceilings[0].why, Absence::kFailed);
  }
  auto file = nlohmann::json::parse(to_json(example()));
  auto& skipped = file["measurements"][3];
  skipped.erase("never_run");
  EXPECT_FALSE(profile_from_json(file.dump(), "old").measurements[3].never_run);
  skipped["reason"] = std::string(kFailedWhereNeverRun) + ": an illegal instruction";
  EXPECT_TRUE(profile_from_json(file.dump(), "old").measurements[3].never_run);
}

TEST(Writer, WritesTheGoldenFile) { golden::expect_file(to_json(example()), golden::kFile); }

TEST(Writer, NumbersAndParametersSurviveExactly) {
  Profile profile = example();
  auto& m = profile.measurements[0];
  m.samples_s = {0.1,        1.0 / 3, 1e-30, 1e30, std::nextafter(1.0, 2.0), 9007199254740993.0,
                 4.685302e-4};
  m.params[1].second = std::numeric_limits<std::int64_t>::min();
  m.launch[0].second = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(profile_from_json(to_json(profile), "p"), profile);
  // Parameters keep their order.
  m.params = {{"z", std::int64_t{1}}, {"a", "x"}, {"m", std::int64_t{2}}};
  EXPECT_EQ(profile_from_json(to_json(profile), "p").measurements[0].name(),
            "hbm.read/z:1/a:x/m:2");
  profile.host.hostname = "caf\xe9";  // not UTF-8
  EXPECT_EQ(profile_from_json(to_json(profile), "p").host.hostname, "caf\xef\xbf\xbd");
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
  EXPECT_EQ(message_of<ProfileError>([&] { to_json(profile); }),
            "measurements: work: flops: a number is infinite or undefined");
}

TEST(Writer, RunsAreWrittenWithoutLossAndWithinTheLimit) {
  for (const Profile& run : {sample::h200_run(), sample::reference()}) {
    const std::string text = to_json(run);
    EXPECT_LT(text.size(), 1024 * 1024);
    EXPECT_EQ(profile_from_json(text, "p"), run);
  }
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

TEST(Readable, RoundsWhatWasMeasured) {
  Measurement measurement = example().measurements[0];
  measurement.samples_s = {1.0 / 3};
  const double time_s = 2.0 / 3;
  measurement.summary = {time_s, time_s, time_s, time_s, time_s, 1};
  measurement.value = 1e12 / 7;
  measurement.work.bytes_read = 1234567891;
  const Measurement back = readable(measurement);
  EXPECT_EQ(back.samples_s[0], 0.33333);
  EXPECT_EQ(back.summary->median, 0.66667);
  EXPECT_EQ(back.value, 142857100000.0);
  EXPECT_EQ(back.work.bytes_read, 1234567891);
  EXPECT_EQ(readable(back), back);
}

std::string refusal(const std::string& text) {
  return message_of<ProfileError>([&] { profile_from_json(text, "p.json"); });
}

// The example's JSON with one replacement.
std::string altered(const std::string& from, const std::string& to) {
  std::string text = to_json(example());
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Reader, NamesTheFileTheFieldAndWhatWouldBeRight) {
  struct Row {
    const char *from, *to, *error;
  };
  const Row rows[] = {
      {"\"complete\": false", "\"complete\": 0", "complete: expected true or false, found 0"},
      {"\"value\":30000000000000", "\"value\":\"fast\"",
       "measurements[7].value: expected a number, found \"fast\""},
      {"\"sockets\":2", "\"sockets\":2.5", "host.sockets: expected a whole number, found 2.5"},
      {"\"sockets\":2", "\"sockets\":3000000000",
       "host.sockets: expected a whole number from 0 to 2147483647, found 3000000000"},
      {"\"sockets\":2", "\"sockets\":100000000000000000000000000",
       "host.sockets: expected a whole number from 0 to 2147483647, found 1e+26"},
      {"\"status\":\"skipped\"", "\"status\":\"fine\"",
       "measurements[3].status: expected one of \"ok\", \"skipped\", \"error\", found \"fine\""},
      {"\"width\":16,\"footprint", "\"width\":1.5,\"footprint",
       "measurements[0].params.width: expected a whole number or text, found 1.5"},
      {"\"compute_major\":", "\"COMPUTE\":", "devices[0]: \"compute_major\" is missing"},
      {"[\"implausible\",\"unstable\"]", "[\"implausible\",\"wrong\"]",
       "measurements[1].flags: expected \"implausible\", \"unstable\" and \"throttled\", each at "
       "most once"},
      {"\"rate\":[", "\"rate\":[1,",
       "measurements[2].series.rate: expected 3 values, as in time_s, found 4"},
      {"peakline-profile", "other", "schema: expected \"peakline-profile\", found \"other\""},
      {"\"schema_version\": 4", "\"schema_version\": 0",
       "schema_version: expected a whole number from 1 to 2147483647, found 0"},
      {"117.25", "\"\u202e\x7f\"", "duration_s: expected a number, found \"��\""},
  };
  for (const auto& [from, to, error] : rows)
    EXPECT_EQ(refusal(altered(from, to)), std::string("p.json: ") + error);
}

TEST(Reader, RefusesOtherSchemasAndVersions) {
  EXPECT_EQ(refusal("{}"), "p.json: not a peakline profile");
  EXPECT_EQ(refusal("[1]"), "p.json: not a peakline profile");
  EXPECT_EQ(refusal(R"({"schema": "peakline-profile", "schema_version": 5})"),
            "p.json: schema_version: 5 is newer than the 4 that this peakline reads: use a newer "
            "one");
  EXPECT_EQ(refusal(R"({"schema": "peakline-profile", "schema_version": 3})"),
            "p.json: schema_version: 3 is older than the 4 that this peakline reads: revision "
            "a4b10e9 reads it");
}

TEST(Reader, TakesNumbersOfAnySizeAndPrecision) {
  const std::pair<const char*, double> kNumbers[] = {
      {"100000000000000000000000000", 1e26}, {"9223372036854775808", 0x1p63},
      {"0.0000000001e-2147483647", 0},       {"1e-400", 0},
      {"0.30000000000000004", 0.1 + 0.2},    {"-0", 0}};
  Profile profile = example();
  for (const auto& [text, value] : kNumbers) {
    profile.duration_s = value;
    EXPECT_EQ(profile_from_json(altered("117.25", text), "p"), profile) << text;
  }
}

TEST(Reader, NamesTheLineOfWhatIsNoJson) {
  EXPECT_THAT(refusal("{\n  \"schema\": 01}"),
              StartsWith("p.json: not valid JSON: line 2, column 14: "));
}

TEST(Reader, TakesTimeInProportionToTheFile) {
  // Quadratic reading would take many times as long.
  Profile profile = example();
  for (int i = 0; i < 12'000; ++i) {
    profile.ceilings.push_back(Ceiling(profile.ceilings[0]));
    profile.ceilings.back().resource += std::to_string(i);
    profile.measurements.push_back(Measurement(profile.measurements[3]));
    profile.measurements.back().params = {{"n", std::int64_t{i}}};
  }
  const std::string text = to_json(profile);
  const std::clock_t start = std::clock();
  EXPECT_EQ(profile_from_json(text, "p").ceilings.size(), profile.ceilings.size());
  EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace peakline
