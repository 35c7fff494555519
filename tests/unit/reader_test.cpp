#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "harness/profile/profile.hpp"
#include "tests/unit/golden_profile.hpp"

namespace peakline {
namespace {

using golden::example;
using ::testing::StartsWith;

std::string refusal(const std::string& text) {
  try {
    profile_from_json(text, "p.json");
  } catch (const ProfileError& error) {
    return error.what();
  }
  return "accepted";
}

// The example's JSON with one replacement.
std::string altered(const std::string& from, const std::string& to) {
  std::string text = to_json(example());
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Reader, IgnoresKeysItDoesNotKnow) {
  EXPECT_EQ(profile_from_json(altered("\"mode\"", "\"extra\": {\"deep\": [1]},\n\"mode\""), "p"),
            example());
}

TEST(Reader, NamesTheFileTheFieldAndWhatWouldBeRight) {
  EXPECT_EQ(refusal(altered("\"complete\": false", "\"complete\": 0")),
            "p.json: complete: expected true or false, found 0");
  EXPECT_EQ(refusal(altered("\"value\":30000000000000", "\"value\":\"fast\"")),
            "p.json: measurements[7].value: expected a number, found \"fast\"");
  EXPECT_EQ(refusal(altered("\"sockets\":2", "\"sockets\":2.5")),
            "p.json: host.sockets: expected a whole number, found 2.5");
  EXPECT_EQ(refusal(altered("\"sockets\":2", "\"sockets\":3000000000")),
            "p.json: host.sockets: expected a whole number from 0 to 2147483647, found 3000000000");
  EXPECT_EQ(refusal(altered("\"status\":\"skipped\"", "\"status\":\"fine\"")),
            "p.json: measurements[3].status: expected one of \"ok\", \"skipped\", \"error\", found "
            "\"fine\"");
  EXPECT_EQ(refusal(altered("\"width\":16,\"footprint", "\"width\":1.5,\"footprint")),
            "p.json: measurements[0].params.width: expected a whole number or text, found 1.5");
  EXPECT_EQ(refusal(altered("\"compute_major\":", "\"COMPUTE\":")),
            "p.json: devices[0]: \"compute_major\" is missing");
  EXPECT_EQ(refusal(altered("[\"implausible\",\"unstable\"]", "[\"implausible\",\"wrong\"]")),
            "p.json: measurements[1].flags: expected \"implausible\", \"unstable\" and "
            "\"throttled\", each at most once");
  EXPECT_EQ(refusal(altered("\"rate\":[", "\"rate\":[1,")),
            "p.json: measurements[2].series.rate: expected 3 values, as in time_s, found 4");
}

TEST(Reader, RefusesOtherSchemasAndVersions) {
  EXPECT_EQ(refusal("{}"), "p.json: not a peakline profile");
  EXPECT_EQ(refusal("[1]"), "p.json: not a peakline profile");
  EXPECT_EQ(refusal(altered("peakline-profile", "other")),
            "p.json: schema: expected \"peakline-profile\", found \"other\"");
  EXPECT_EQ(refusal(R"({"schema": "peakline-profile", "schema_version": 5})"),
            "p.json: schema_version: 5 is newer than the 4 that this peakline reads: use a newer "
            "one");
  EXPECT_EQ(refusal(R"({"schema": "peakline-profile", "schema_version": 3})"),
            "p.json: schema_version: 3 is older than the 4 that this peakline reads: revision "
            "a4b10e9 reads it");
  EXPECT_EQ(refusal(altered("\"schema_version\": 4", "\"schema_version\": 0")),
            "p.json: schema_version: expected a whole number from 1 to 2147483647, found 0");
}

// The reading library refuses such integers.
TEST(Reader, TakesNumbersBeyond64BitsForWhatTheyAre) {
  const std::string large = "100000000000000000000000000";
  Profile profile = example();
  profile.duration_s = 1e26;
  EXPECT_EQ(profile_from_json(altered("117.25", large), "p"), profile);
  const std::string extra = "\"extra\": [null, true, -7, 0.5, " + large + ", -" + large + "0], ";
  EXPECT_EQ(profile_from_json(altered("\"mode\"", extra + "\"mode\""), "p"), example());
  profile = example();
  profile.tool = "a \"-" + large + "\", [" + large;
  const std::string tool = R"("tool": "a \"-)" + large + R"(\", [)" + large + "\"";
  EXPECT_EQ(profile_from_json(altered("\"tool\": \"peakline 0.1.0\"", extra + tool), "p"), profile);
  EXPECT_EQ(refusal(altered("\"sockets\":2", "\"sockets\":" + large)),
            "p.json: host.sockets: expected a whole number from 0 to 2147483647, found 1e+26");
}

TEST(Reader, RefusesEveryTruncation) {
  const std::string text = to_json(example());
  for (std::size_t size = 1; size + 2 < text.size(); size += 97) {
    EXPECT_THAT(refusal(text.substr(0, size)), StartsWith("p.json: not valid JSON: ")) << size;
  }
}

TEST(Reader, ShowsLittleOfWhatItFindsAndNothingThatATerminalObeys) {
  const std::string text(100'000, 'x');
  EXPECT_LT(refusal(altered("117.25", "\"" + text + "\"")).size(), 200);
  EXPECT_LT(refusal(altered("117.25", text)).size(), 300);
  EXPECT_LT(refusal(altered("\"width\":16,\"foot", "\"" + text + "\":[],\"foot")).size(), 200);
  EXPECT_EQ(refusal(altered("117.25", "\"\u202e\x7f\"")),
            "p.json: duration_s: expected a number, found \"��\"");
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
