// No verdict depends on text that is meant for people.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/judge/compare.hpp"
#include "harness/judge/fleet.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "tests/unit/contributed.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

constexpr const char* kOther = "skipped: failed, implausible";

void scramble(Profile& profile) {
  const auto change = [](std::string& text) {
    if (!text.empty()) text = kOther;
  };
  for (Measurement& m : profile.measurements) change(m.reason);
  for (Ceiling& row : profile.ceilings) change(row.note);
  for (MissingCeiling& row : profile.missing_ceilings) change(row.reason);
  for (Resource& row : profile.resources) change(row.label);
  for (Headline& row : profile.headlines) {
    change(row.label);
    change(row.missing);
  }
  for (Curve& row : profile.curves) change(row.title);
  for (MemoryLevel& row : profile.memory_map) change(row.label);
  for (Finding& row : profile.findings) change(row.message);
  for (DeviceFacts& gpu : profile.devices) change(gpu.unusable);
}

// Runs of which something is missing, wrong, or was never tried.
std::vector<Profile> profiles() {
  std::vector<Profile> all = contributed_profiles(PEAKLINE_SOURCE_DIR);
  for (const char* name : {"nvidia-h200", "nvidia-h200-x2"}) all.push_back(sample::reference(name));
  Profile lost = all.front();
  constexpr std::array kWhy = {Absence::kSkipped,     Absence::kFailed,     Absence::kImplausible,
                               Absence::kWrongResult, Absence::kFewSamples, Absence::kUnreadable};
  for (const Absence why : kWhy) {
    const auto row = std::ranges::find_if(
        lost.ceilings, [](const Ceiling& each) { return !each.measurement.empty(); });
    lost.missing_ceilings.push_back({.device = row->device,
                                     .resource = row->resource,
                                     .basis = row->basis,
                                     .why = why,
                                     .reason = "said so"});
    lost.ceilings.erase(row);
  }
  lost.findings.push_back({.code = "xid",
                           .severity = Severity::kError,
                           .device = lost.devices[0].uuid,
                           .message = "said so",
                           .evidence = {}});
  all.push_back(lost);
  lost.devices[0].unusable = "said so";
  all.push_back(lost);
  return all;
}

using Named = std::vector<std::tuple<std::string, std::string, Outcome>>;
void add(Named& all, std::span<const Judged> rules) {
  for (const Judged& rule : rules)
    all.emplace_back(to_string(rule.name), to_string(rule.kind), rule.outcome);
}

Named checked(const Profile& profile) {
  Named all;
  for (const CheckedDevice& device :
       check(profile, {.populations = bundled_populations(), .donors = bundled_populations()})
           .devices)
    add(all, device.rules);
  return all;
}

TEST(Scrambled, ChecksStay) {
  for (Profile& profile : profiles()) {
    const Named before = checked(profile);
    scramble(profile);
    EXPECT_EQ(checked(profile), before) << profile.created;
  }
}

TEST(Scrambled, FleetsStay) {
  const auto studied = [](bool other) {
    std::vector<FleetProfile> all;
    for (Profile& profile : profiles()) {
      if (other) scramble(profile);
      all.push_back({.file = std::to_string(all.size()), .profile = std::move(profile)});
    }
    Named rules;
    for (const FleetGroup& group : study_fleet(all, {.populations = bundled_populations()}).groups)
      for (const FleetMember& member : group.members) add(rules, member.rules);
    return rules;
  };
  EXPECT_EQ(studied(true), studied(false));
}

TEST(Scrambled, ComparisonsStay) {
  std::vector<Profile> all = profiles();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const auto compared = [&](bool other) {
      std::vector<Profile> base = {all[i]}, next = {all[i + 1]};
      if (other)
        for (auto* side : {&base, &next}) scramble(side->front());
      const CompareResult found = compare(base, next, {.populations = bundled_populations()});
      Named rules;
      add(rules, found.gate.reasons);
      for (const DeviceComparison& device : found.devices)
        for (const CeilingComparison& row : device.ceilings)
          rules.emplace_back(row.resource, to_string(row.verdict), Outcome::kPass);
      return rules;
    };
    EXPECT_EQ(compared(true), compared(false)) << i;
  }
}

}  // namespace
}  // namespace peakline
