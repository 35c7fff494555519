// What a command line asks of a run, as the parser of the command line takes it.

#include "harness/profile/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/profile/profile.hpp"
#include "tests/unit/golden_profile.hpp"

namespace peakline {
namespace {

using profile_format::asked_of;
using Words = std::vector<std::string>;

const Asked kUnverified{.verify = false};

TEST(Command, SaysWhatWasAsked) {
  for (const auto& [words, asked] : {
           std::pair{Words{}, Asked{}},
           {Words{"--no-verify"}, kUnverified},
           {Words{"--no-verify=true"}, kUnverified},
           {Words{"--no-verify=1"}, kUnverified},
           {Words{"--no-verify=Yes"}, kUnverified},
           {Words{"-q", "--no-verify=on"}, kUnverified},
           {Words{"--no-verify=false"}, Asked{}},
           {Words{"--no-verify=OFF"}, Asked{}},
           {Words{"--no-verify=false", "--no-verify"}, kUnverified},
           {Words{"--no-verify", "--no-verify=0"}, Asked{}},
           {Words{"--output", "--no-verify"}, Asked{}},
           {Words{"-o", "--no-verify"}, Asked{}},
           {Words{"-qo", "--no-verify"}, Asked{}},
           {Words{"-onode7", "--no-verify"}, kUnverified},
           {Words{"--filter", "--no-verify"}, Asked{.filter = "--no-verify"}},
           {Words{"--filter=a=b"}, Asked{.filter = "a=b"}},
           {Words{"--filter=", "--device", "0,1"}, Asked{.devices = "0,1"}},
           {Words{"--device=none"}, Asked{.devices = "none"}},
           {Words{"--device", "all"}, Asked{}},
           {Words{"--device"}, Asked{}},
       }) {
    Words command = {"peakline", "run"};
    command.insert(command.end(), words.begin(), words.end());
    EXPECT_EQ(asked_of(command), asked) << testing::PrintToString(words);
  }
}

TEST(Command, TellsOnlyWhatAProfileLeavesOut) {
  Profile profile = golden::example();
  profile.command = {"peakline", "run", "--no-verify=yes"};
  profile.asked = {.filter = "hbm"};
  EXPECT_EQ(profile_from_json(to_json(profile), "p").asked, profile.asked);
  profile.asked = {};
  EXPECT_EQ(profile_from_json(to_json(profile), "p").asked, kUnverified);
}

TEST(Command, StaysAFactWhenAnonymized) {
  Profile profile = golden::example();
  profile.command = {"peakline", "run", "--no-verify=true", "--filter=ann", "--unknown", "ann"};
  profile.asked = {.filter = "ann", .devices = golden::kUuid, .verify = false};
  const Profile hidden = anonymized(profile);
  EXPECT_THAT(hidden.command, testing::ElementsAre("peakline", "run", "--no-verify=true",
                                                   "--filter=(left out)", kLeftOut, kLeftOut));
  EXPECT_EQ(hidden.asked,
            (Asked{.filter = std::string(kLeftOut), .devices = "GPU-01234567", .verify = false}));
}

}  // namespace
}  // namespace peakline
