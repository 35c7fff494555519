// Invalid values are dropped, and the profile stays.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/conclude/sittings.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/session.hpp"
#include "tests/unit/sample_catalog.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/texts.hpp"

namespace peakline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Profile read_again(const Profile& profile) {
  return profile_from_json(to_json(profile), "profile");
}

Profile end_of_run(Profile profile, bool anonymize = false) {
  bench::RunSettings settings;
  settings.anonymize = anonymize;
  settings.benchmarks = sample::benchmarks();
  return bench::concluded(std::move(profile), settings);
}

std::vector<std::string> left_out(const Profile& profile) {
  std::vector<std::string> messages;
  for (const Finding& finding : profile.findings)
    if (finding.code == "left_out") messages.push_back(finding.message);
  return messages;
}

TEST(Readable, WhatKeepsTheRulesStaysAsItIs) {
  const Profile profile = end_of_run(sample::h200_run());
  EXPECT_THAT(left_out(profile), IsEmpty());
  for (const Measurement& m : profile.measurements) {
    const Measurement kept = readable(m);
    EXPECT_EQ(kept.status, m.status);
    EXPECT_TRUE(readable(kept) == kept);
  }
  EXPECT_EQ(read_again(profile), profile);
}

Measurement hbm_read() { return sample::measurement("hbm.read", {}, Quantity::kByteRate, 4.6e12); }

TEST(Readable, AMeasurementWithoutAValueIsAnError) {
  Measurement m = hbm_read();
  m.samples_s[3] = -3600;
  m.summary.reset();
  const Measurement kept = readable(m);
  EXPECT_EQ(kept.status, Status::kError);
  EXPECT_EQ(kept.name(), m.name());
  EXPECT_EQ(kept.device, m.device);
  EXPECT_FALSE(kept.value);
  EXPECT_THAT(kept.reason, HasSubstr("samples_s[3]: expected a number above 0, found -3600"));
  // So is a figure that is no number.
  m = hbm_read();
  m.summary->max = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(readable(m).status, Status::kError);
}

TEST(Readable, AMeasurementLosesOnlyWhatBreaksARule) {
  Measurement m = hbm_read();
  m.conditions.temperature_c = 50;
  const Measurement sound = m;
  for (const double watts : {-5.0, 1e40, std::numeric_limits<double>::quiet_NaN()}) {
    m.conditions.power_w = watts;
    EXPECT_EQ(readable(m), sound) << watts;
  }
}

TEST(Readable, FactsThatBreakARuleAreUnknown) {
  Profile profile = sample::h200_run();
  profile.devices.at(0).memory_bus_bits = 0;
  profile.host.cores = -4;
  profile = end_of_run(std::move(profile));
  EXPECT_FALSE(profile.devices.at(0).memory_bus_bits);
  EXPECT_FALSE(profile.host.cores);
  EXPECT_EQ(profile.devices.at(0).name, "NVIDIA H200");
  EXPECT_THAT(left_out(profile), IsEmpty());
}

TEST(Readable, ARowThatBreaksARuleIsNamed) {
  Profile profile = end_of_run(sample::h200_run());
  const std::size_t ceilings = profile.ceilings.size(), curves = profile.curves.size();
  const std::string resource = profile.ceilings.at(0).resource;
  profile.ceilings.at(0).value = 0;
  profile.curves.at(0).figures.push_back(
      {.id = "hbm.read", .name = "rate", .by = {}, .value = 1e40, .unit = "B/s", .role = ""});
  std::vector<Finding> left_out;
  leave_out_unreadable(profile, left_out);
  EXPECT_EQ(left_out.size(), 2u);
  EXPECT_THAT(left_out.at(0).message, HasSubstr("value: expected a number above 0, found 0"));
  EXPECT_EQ(profile.ceilings.size(), ceilings - 1);
  EXPECT_EQ(profile.missing_ceilings.back().resource, resource);
  EXPECT_EQ(profile.missing_ceilings.back().why, Absence::kUnreadable);
  EXPECT_EQ(profile.curves.size(), curves - 1);
  EXPECT_EQ(read_again(profile), profile);
}

TEST(Readable, AnonymizedFaultsNameNoDevice) {
  Profile profile = sample::h200_run();
  profile.devices.at(0).peers = {{.index = -1}};
  profile = end_of_run(std::move(profile), true);
  EXPECT_EQ(left_out(profile).size(), 1u);
  EXPECT_EQ(read_again(profile), profile);
  for (const Finding& finding : profile.findings)
    EXPECT_LT(finding.device.size(), std::string_view(sample::kUuid).size());
}

// Two of twenty samples took a minute, as on a paused machine.
TEST(Readable, StalledSamplesLeaveAProfile) {
  Profile profile = sample::h200_run();
  Measurement& m = sample::find(profile, "host.memory.read/threads:192");
  m.samples_s[4] = 60;
  m.samples_s[5] = 400;
  m.summary = Summary{1e-3, 1e-3, 60, 1e-3, 400, 20};
  EXPECT_GT(next_run_half_width(spread_of(m, 0.001)), 10);
  profile = end_of_run(std::move(profile));
  const Ceiling& row = sample::ceiling(profile, "memory.read", Basis::kMeasured);
  EXPECT_FALSE(row.ci_low || row.ci_high);
  EXPECT_TRUE(sample::find(profile, "host.memory.read/threads:192").flags.unstable);
  EXPECT_THAT(left_out(profile), IsEmpty());
  EXPECT_EQ(read_again(profile).measurements.size(), profile.measurements.size());
}

// Runs known to differ by half leave the figure without interval, but valid.
TEST(Readable, WhatRunsDifferByIsNoFaultOfARun) {
  Profile profile = sample::h200_run();
  profile.host.virtualization = "kvm";
  profile = end_of_run(std::move(profile));
  EXPECT_FALSE(sample::ceiling(profile, "memory.read", Basis::kMeasured).ci_low);
  EXPECT_FALSE(sample::find(profile, "host.memory.read/threads:192").flags.unstable);
}

}  // namespace
}  // namespace peakline
