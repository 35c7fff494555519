// Invalid values are dropped, and the profile stays.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/conclude/conclusions.hpp"
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
  for (const Measurement& m : profile.measurements) EXPECT_EQ(readable(m), m);
  EXPECT_EQ(read_again(profile).ceilings.size(), profile.ceilings.size());
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
  m.conditions.power_w = -5;
  m.reason = "a remark";
  m.conditions.temperature_c = 50;
  const Measurement kept = readable(m);
  EXPECT_EQ(kept.status, Status::kOk);
  EXPECT_EQ(kept.value, m.value);
  EXPECT_EQ(kept.conditions.temperature_c, 50);
  EXPECT_FALSE(kept.conditions.power_w);
  EXPECT_THAT(kept.reason, HasSubstr("a remark; left out: hbm.read: conditions.power_w"));
}

TEST(Readable, ARowThatBreaksARuleIsNamed) {
  Profile profile = end_of_run(sample::h200_run());
  const std::size_t ceilings = profile.ceilings.size();
  Ceiling& row = profile.ceilings.at(0);
  const std::string resource = row.resource;
  row.value = 0;
  profile.curves.at(0).figures.push_back(
      {.id = "hbm.read", .name = "rate", .by = {}, .value = 1e40, .unit = "B/s", .role = ""});
  profile.devices.at(0).memory_bus_bits = -1;
  profile.host.cores = -4;
  std::vector<Finding> left_out;
  leave_out_unreadable(profile, left_out);
  EXPECT_EQ(left_out.size(), 4u);
  for (const Finding& finding : left_out) EXPECT_EQ(finding.code, "left_out");
  EXPECT_EQ(profile.ceilings.size(), ceilings - 1);
  EXPECT_EQ(profile.missing_ceilings.back().resource, resource);
  EXPECT_FALSE(profile.devices.at(0).memory_bus_bits);
  EXPECT_EQ(profile.devices.at(0).name, "NVIDIA H200");
  EXPECT_TRUE(profile.curves.at(0).figures.empty());  // they go together
  EXPECT_FALSE(profile.curves.at(0).title.empty());
  EXPECT_FALSE(profile.curves.at(1).figures.empty());
  EXPECT_NO_THROW(read_again(profile));
}

std::string refusal(Profile profile) {
  const auto found = message_of<ProfileError>([&] { require_readable(profile, "p.json"); });
  EXPECT_EQ(found,
            message_of<ProfileError>([&] { profile_from_json(to_json(profile), "p.json"); }));
  return found;
}

TEST(Readable, IsWhatAReaderTakes) {
  const Profile profile = end_of_run(sample::h200_run());
  EXPECT_EQ(refusal(profile), "no error");
  const auto altered = [&](auto&& alter) {
    Profile changed = profile;
    alter(changed);
    return refusal(std::move(changed));
  };
  EXPECT_EQ(altered([](Profile& p) { p.mode = "slow"; }),
            "p.json: mode: expected one of \"quick\", \"full\", found \"slow\"");
  EXPECT_EQ(altered([](Profile& p) { p.measurements[1] = p.measurements[0]; }),
            "p.json: measurements[1]: its device, id, params are there twice");
  EXPECT_EQ(altered([](Profile& p) { p.curves.at(0).device = "GPU-9"; }),
            "p.json: curves[0].device: expected host, node, or uuid of one of devices, found "
            "\"GPU-9\"");
  EXPECT_EQ(altered([](Profile& p) { p.measurements[0].samples_s.assign(65, 1e-3); }),
            "p.json: measurements[0].samples_s: expected up to 64 elements, found 65");
  EXPECT_EQ(altered([](Profile& p) {
              p.measurements[0].sittings = {{1, 2}};
            }).substr(0, 43),
            "p.json: measurements[0].sittings: expected ");
  EXPECT_EQ(altered([](Profile& p) {
              std::swap(p.measurements[0].summary->min, p.measurements[0].summary->max);
            }),
            "p.json: measurements[0].summary: expected min_s <= ci_low_s <= median_s <= ci_high_s "
            "<= max_s");
  EXPECT_EQ(altered([](Profile& p) {
              p.measurements[0].params = {{"n", std::int64_t{-5}}};
            }),
            "no error");
  EXPECT_EQ(altered([](Profile& p) { p.duration_s = -1; }),
            "p.json: duration_s: expected a number that is not negative, found -1");
  EXPECT_EQ(altered([](Profile& p) { p.devices.at(0).peers = {{.index = -1}}; }),
            "p.json: devices[0].peers[0].index: expected a whole number from 0 to 2147483647, "
            "found -1");
}

TEST(Readable, AnAnonymizedProfileNamesItTooButNoDevice) {
  Profile profile = sample::h200_run();
  profile.devices.at(0).sm_count = -1;
  profile = end_of_run(std::move(profile), true);
  EXPECT_EQ(left_out(profile).size(), 1u);
  EXPECT_EQ(read_again(profile).findings, profile.findings);
  const std::string uuid = sample::kUuid;
  ASSERT_FALSE(profile.ceilings.empty());
  for (const Ceiling& ceiling : profile.ceilings) {
    EXPECT_TRUE(ceiling.device == kHostDevice || uuid.starts_with(ceiling.device))
        << ceiling.device;
    EXPECT_LT(ceiling.device.size(), uuid.size());
  }
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
