#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/conclude/conclusions.hpp"
#include "harness/profile/profile.hpp"
#include "tests/unit/golden_profile.hpp"
#include "tests/unit/sample_catalog.hpp"

namespace peakline {
namespace {

using golden::example;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Anonymized, TellsNeitherMachineNorOwner) {
  Profile profile = example();
  profile.command = {"/home/ann/bin/peakline",
                     "run",
                     "--output=/home/ann/node7.json",
                     "--filter",
                     "hbm.read/width:16",
                     "--device",
                     golden::kUuid};
  profile.software.environment.push_back({"CUDA_VISIBLE_DEVICES", golden::kUuid});
  const Profile hidden = with_conclusions(anonymized(profile), sample::benchmarks());
  const std::string text = to_json(hidden);
  for (const char* secret :
       {"node7", "89ab-cdef", "7654-3210", "python3", "4711", "/home", "ann/"}) {
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
  EXPECT_EQ(hidden.devices[0].uuid, "GPU-01234567");
  EXPECT_EQ(hidden.measurements[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.ceilings[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.rooflines[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.memory_map[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.findings[0].device, "GPU-01234567");
  EXPECT_EQ(hidden.measurements[4].device, "host");
  EXPECT_EQ(hidden.devices[0].vbios, "96.00.BC.00.01");
  EXPECT_EQ(hidden.command[0], "peakline");
  EXPECT_EQ(hidden.command[2], "--output=localhost.json");
  EXPECT_EQ(hidden.command[4], "hbm.read/width:16");
  EXPECT_EQ(hidden.command[6], "GPU-01234567");
  EXPECT_EQ(hidden.devices[0].processes.size(), 2);
  EXPECT_THAT(text, HasSubstr("during the run: process 1, process 2."));
  EXPECT_EQ(profile_from_json(text, "p"), hidden);
}

TEST(Anonymized, KeepsDevicesApartWhoseShortNamesAreEqual) {
  Profile profile = example();
  profile.devices[1].uuid = "GPU-01234567-0000-0000-0000-000000000000";
  const Profile hidden = anonymized(profile);
  EXPECT_NE(hidden.devices[0].uuid, hidden.devices[1].uuid);
}

}  // namespace
}  // namespace peakline
