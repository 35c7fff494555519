// Files of earlier versions: tests/golden/versions has one of each, as its own time wrote it.

#include "harness/profile/versions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/golden_profile.hpp"

namespace peakline::profile_format {
namespace {

const std::filesystem::path kFolder = PEAKLINE_SOURCE_DIR "/tests/golden/versions";

// A trial: version 5 has seconds where version 4 had minutes, and version 6 another name.
void to_seconds(Object& file) {
  for (auto& [key, value] : file)
    if (key == "duration_min") {
      key = "seconds";
      if (const std::optional<double> minutes = number(value)) value.of = *minutes * 60;
    }
}
void to_duration(Object& file) {
  for (auto& [key, value] : file)
    if (key == "seconds") key = "duration_s";
}
constexpr std::array<Conversion, 2> kConversions = {{{4, to_seconds}, {5, to_duration}}};
constexpr Versions kTrial{.newest = 6, .conversions = kConversions};

Profile read_trial(const std::string& duration, int version) {
  std::string text = golden::read_text(kFolder / "profile-4.json");
  const auto put = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
  };
  put("\"duration_s\": 117.25", duration);
  put("\"schema_version\": 4", "\"schema_version\": " + std::to_string(version));
  return profile_from_json(text, "p.json", kTrial);
}

std::string refusal(const std::string& duration, int version) {
  try {
    read_trial(duration, version);
  } catch (const ProfileError& error) {
    return error.what();
  }
  return "";
}

TEST(Versions, FilesOfEachAreRead) {
  const Profile profile = read_profile(kFolder / "profile-4.json");
  EXPECT_EQ(profile.duration_s, 117.25);
  EXPECT_EQ(profile.devices.at(0).uuid, golden::kUuid);
  EXPECT_FALSE(profile.ceilings.empty());
  const std::vector<Population> populations = read_populations(kFolder / "population-1.json");
  EXPECT_EQ(populations.at(0).facts.model, "2 x NVIDIA H200");
  EXPECT_FALSE(populations.at(0).figures.empty());
}

TEST(Versions, ConversionsRunFromTheFilesOn) {
  const Profile wanted = read_profile(kFolder / "profile-4.json");
  EXPECT_EQ(read_trial("\"duration_min\": 1.9541666666666666", 4), wanted);
  EXPECT_EQ(read_trial("\"seconds\": 117.25", 5), wanted);
  EXPECT_EQ(read_trial("\"duration_s\": 117.25", 6), wanted);
}

TEST(Versions, ConvertedFilesAreChecked) {
  EXPECT_EQ(refusal("\"duration_min\": \"two\"", 4),
            "p.json: duration_s: expected a number, found \"two\"");
  EXPECT_EQ(refusal("\"duration_min\": 2", 5), "p.json: \"duration_s\" is missing");
}

TEST(Versions, OlderAndNewerOnesAreRefused) {
  EXPECT_EQ(refusal("\"duration_s\": 1", 3),
            "p.json: schema_version: 3 is older than the 4 that this peakline reads: revision "
            "a4b10e9 reads it");
  EXPECT_EQ(refusal("\"duration_s\": 1", 7),
            "p.json: schema_version: 7 is newer than the 6 that this peakline reads: use a newer "
            "one");
}

// Populations are converted by the same steps.
TEST(Versions, PopulationsAreConverted) {
  std::string text = golden::read_text(kFolder / "population-1.json");
  const std::string key = "\"populations\"";
  text.replace(text.find(key), key.size(), "\"models\"");
  static constexpr std::array<Conversion, 1> kStep = {{{1, [](Object& file) {
                                                          for (auto& [name, value] : file)
                                                            if (name == "models")
                                                              name = "populations";
                                                        }}}};
  EXPECT_EQ(populations_from_json(text, "p.json", {.newest = 2, .conversions = kStep}).size(),
            read_populations(kFolder / "population-1.json").size());
}

// The tables have no gaps and end at the newest version.
TEST(Versions, ConversionsLeadToTheNewest) {
  for (const Versions& versions : {kProfileVersions, kPopulationVersions, kTrial}) {
    int next = versions.newest - static_cast<int>(versions.conversions.size());
    for (const Conversion& conversion : versions.conversions) EXPECT_EQ(conversion.from, next++);
  }
}

}  // namespace
}  // namespace peakline::profile_format
