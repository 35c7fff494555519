#include "harness/run/session.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sample_catalog.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline::bench {
namespace {

TEST(Concluded, AnonymizedNamesNoDevice) {
  RunSettings settings;
  settings.anonymize = true;
  settings.benchmarks = sample::benchmarks();
  Profile profile = sample::h200_run();
  const std::string uuid = profile.devices.at(0).uuid;
  profile = concluded(std::move(profile), settings);
  ASSERT_FALSE(profile.ceilings.empty());
  for (const Ceiling& ceiling : profile.ceilings) {
    EXPECT_TRUE(ceiling.device == kHostDevice || uuid.starts_with(ceiling.device))
        << ceiling.device;
    EXPECT_LT(ceiling.device.size(), uuid.size());
  }
}

}  // namespace
}  // namespace peakline::bench
