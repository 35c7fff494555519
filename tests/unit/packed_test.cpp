#include "harness/values/packed.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <nlohmann/json.hpp>

#include "harness/documents/documents.hpp"
#include "harness/judge/check.hpp"
#include "harness/judge/compare.hpp"
#include "harness/judge/fleet.hpp"
#include "harness/judge/repeatability.hpp"
#include "harness/profile/file.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/show/compare.hpp"
#include "tests/unit/crowded_profile.hpp"

// From AddressSanitizer's allocator; not every compiler ships its header.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT

namespace peakline {
namespace {

const std::string kOneGpu = PEAKLINE_SOURCE_DIR "/tests/golden/nvidia-h200.json";

// Another run of the machine, with something of everything that comparisons read.
Profile changed(Profile profile) {
  profile.created = "2026-12-01T00:00:00Z";
  std::int64_t i = 0;
  for (Measurement& m : profile.measurements) {
    ++i;
    if (i % 7 == 0) *m.value *= 0.9;
    if (i % 31 == 0) m.conditions.sm_clock_hz = 1e9;
    if (i % 43 == 0) m.verified = false;
    if (i % 47 == 0) m.flags.implausible = true;
    if (i % 53 == 0) ++m.method_version;
    if (i % 61 == 0) m.launch = {{"n", i}, {"nccl", "2.99"}};
    if (i % 67 == 0) {
      m.status = Status::kError;
      m.reason = "it broke";
      m.value = {};
      m.summary = {};
    }
  }
  for (Ceiling& row : profile.ceilings)
    if (++i % 5 == 0) row.value *= 0.8;
  profile.measurements.erase(profile.measurements.begin() + 100,
                             profile.measurements.begin() + 120);
  profile.complete = false;
  return profile;
}

TEST(Packed, NoComparisonSaysAnythingElse) {
  std::vector<Profile> whole;
  for (const char* name : {"nvidia-h200", "nvidia-h200-x2"}) {
    whole.push_back(sample::reference(name));
    whole.push_back(changed(whole.back()));
  }
  std::vector<Profile> small = whole;
  for (Profile& profile : small) pack(profile);

  const std::vector<Population> populations = bundled_populations();
  for (const std::size_t base : {0, 2}) {
    for (const std::size_t next : {1, 3}) {
      const auto compared = [&](const std::vector<Profile>& profiles) {
        return compare_json(compare(std::span(profiles).subspan(base, 1),
                                    std::span(profiles).subspan(next, 1),
                                    {.populations = populations}));
      };
      EXPECT_EQ(compared(small), compared(whole));
    }
  }
  const auto studied = [](const std::vector<Profile>& profiles) {
    return repeatability_json(study_runs(profiles), profiles);
  };
  EXPECT_EQ(studied(small), studied(whole));
  const auto fleet = [](const std::vector<Profile>& profiles) {
    std::vector<FleetProfile> all;
    for (const Profile& profile : profiles) all.push_back({"p.json", profile});
    return fleet_json(study_fleet(all, {}));
  };
  EXPECT_EQ(fleet(small), fleet(whole));
  const auto checked = [&](const std::vector<Profile>& profiles) {
    Checks checks;
    for (const Profile& profile : profiles)
      checks.files.push_back({"p.json", check(profile, {.populations = populations})});
    return check_json(checks);
  };
  EXPECT_EQ(checked(small), checked(whole));
}

std::size_t allocated() {
#if defined(__SANITIZE_ADDRESS__)
  return __sanitizer_get_current_allocated_bytes();
#else
  const auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
#endif
}

TEST(Packed, TakesAQuarterOfItsFile) {
  const auto packed = [](std::string_view text) {
    Profile profile = profile_from_json(text, "p");
    pack(profile);
    return profile;
  };
  const std::string text = profile_format::read_text(kOneGpu);
  packed(text);  // shared parts are stored once
  const std::size_t before = allocated();
  const Profile profile = packed(text);
  EXPECT_LT(allocated() - before, text.size() / 4);
  EXPECT_FALSE(profile.points.empty());
}

// Reading dominates a fleet's cost, and a library's parser alone takes longer than all of it.
TEST(Packed, TimedReadingTakesLessThanAnotherParser) {
  const std::string text = profile_format::read_text(kOneGpu);
  const auto fastest = [](const auto& work) {
    double least = cpu_seconds(work);
    for (int i = 0; i < 4; ++i) least = std::min(least, cpu_seconds(work));
    return least;
  };
  const double reading = fastest([&] {
    Profile profile = profile_from_json(text, "p");
    pack(profile);
  });
  EXPECT_LT(reading, fastest([&] { EXPECT_FALSE(nlohmann::json::parse(text).empty()); }));
}

}  // namespace
}  // namespace peakline
