// Output for a GPU whose copies take NVLink-C2C instead of PCIe.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/hardware/spec.hpp"
#include "harness/profile/profile.hpp"
#include "harness/show/check.hpp"
#include "harness/show/show.hpp"
#include "harness/values/measurement.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A GH200's links by nvidia-smi c2c --status.
constexpr int kLinks = 10;
constexpr double kLinkBytesPerSecond = 44.712e9;
// 346 GB/s to the device, instead of the H200's 55.5 over PCIe.
constexpr double kFaster = 346.0 / 55.5;

// An H200's profile as if copies took NVLink-C2C.
Profile behind_c2c() {
  Profile profile = sample::reference();
  DeviceFacts& gpu = profile.devices[0];
  gpu.c2c = {.count = kLinks, .bytes_per_s = kLinkBytesPerSecond};
  gpu.pcie = {};
  gpu.pcie_read_under_load = false;
  for (Measurement& m : profile.measurements) {
    m.conditions.pcie_generation = m.conditions.pcie_width = std::nullopt;
    const bool copies = m.id.starts_with("pcie.") && m.id.find("pageable") == std::string::npos;
    if (copies && m.unit == "B/s") sample::scale(m, kFaster);
  }
  return sample::concluded(std::move(profile));
}

TEST(HostLink, OfAGpuBehindC2cIsNotPcie) {
  const Profile profile = behind_c2c();
  const std::string& gpu = profile.devices[0].uuid;
  for (const Measurement& m : profile.measurements) EXPECT_FALSE(m.flags.implausible) << m.name();
  for (const Ceiling& row : profile.ceilings) EXPECT_NE(part_of(row.resource), "pcie");
  const Ceiling* measured = find_ceiling(profile.ceilings, gpu, "c2c.h2d", Basis::kMeasured);
  const Ceiling* theory = find_ceiling(profile.ceilings, gpu, "c2c.h2d", Basis::kTheoretical);
  ASSERT_NE(measured, nullptr);
  ASSERT_NE(theory, nullptr);
  EXPECT_NEAR(measured->value, 346e9, 1e9);
  EXPECT_NEAR(theory->value, 447.12e9, 1e6);
  EXPECT_NEAR(find_ceiling(profile.ceilings, gpu, "c2c.bidirectional", Basis::kTheoretical)->value,
              2 * 447.12e9, 1e6);
  EXPECT_NE(std::ranges::find(profile.headlines, "NVLink-C2C H2D", &Headline::label),
            profile.headlines.end());
  const auto host = std::ranges::find(profile.memory_map, "host", &MemoryLevel::level);
  ASSERT_NE(host, profile.memory_map.end());
  EXPECT_EQ(host->bytes_per_s, measured->value);
  const auto topic = std::ranges::find(profile.curves, "PCIe copies", &Curve::topic);
  ASSERT_NE(topic, profile.curves.end());
  EXPECT_THAT(topic->title, HasSubstr("NVLink-C2C: 346 GB/s H2D"));
  for (const Factor& factor : measured->factors) EXPECT_NE(factor.name, "packets");
}

TEST(HostLink, IsKeptInTheProfileAndSaid) {
  const Profile profile = behind_c2c();
  const Profile read = profile_from_json(to_json(profile), "c2c.json");
  EXPECT_EQ(read.devices[0].c2c, profile.devices[0].c2c);
  for (const std::string& text : {show_all(read, {.color = false, .width = 200}),
                                  first_screen(read, {}, {.color = false, .width = 80})}) {
    EXPECT_THAT(text, HasSubstr("NVLink-C2C"));
    EXPECT_THAT(text, HasSubstr("346 GB/s"));
    EXPECT_THAT(text, Not(HasSubstr("PCIe H2D")));
  }
}

TEST(HostLink, WithoutARateOfItsLinksHasNoLimit) {
  Profile profile = behind_c2c();
  profile.devices[0].c2c = C2cLinks{};
  profile = sample::concluded(std::move(profile));
  const std::string& gpu = profile.devices[0].uuid;
  EXPECT_NE(find_ceiling(profile.ceilings, gpu, "c2c.h2d", Basis::kMeasured), nullptr);
  EXPECT_EQ(find_ceiling(profile.ceilings, gpu, "c2c.h2d", Basis::kTheoretical), nullptr);
}

TEST(MigInstance, HasNoTheoryOfItsCard) {
  DeviceFacts gpu = sample::reference().devices[0];
  EXPECT_TRUE(theoretical_memory_bandwidth(gpu));
  EXPECT_FALSE(is_mig_instance(gpu));
  gpu.uuid = "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f";
  EXPECT_TRUE(is_mig_instance(gpu));
  EXPECT_FALSE(theoretical_memory_bandwidth(gpu));
}

}  // namespace
}  // namespace peakline
