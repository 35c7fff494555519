// Which runs of a machine count.

#include "harness/judge/machines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/show/fleet.hpp"
#include "harness/values/clock.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char *kMay = "2026-05-01T00:00:00Z", *kJune = "2026-06-01T00:00:00Z",
                     *kLater = "2031-01-01T00:00:00Z", *kNow = "2026-07-01T00:00:00Z";

std::string whole_uuid(const std::string& card) { return "GPU-" + card + "-2222-3333"; }

// A run on node7. cards: eight digits each, in slots of that order.
FleetProfile run_of(const char* created, const std::vector<std::string>& cards) {
  Profile p = sample::h200_run();
  p.created = created;
  p.host.hostname = "node7";
  p.software.cuda_runtime = "13.0";
  const DeviceFacts gpu = p.devices[0];
  if (cards.empty()) sample::remove_gpus(p);
  p.devices.clear();
  for (const std::string& card : cards) {
    DeviceFacts& device = p.devices.emplace_back(gpu);
    device.index = static_cast<int>(p.devices.size()) - 1;
    device.uuid = whole_uuid(card);
    device.pci_bus_id = "0000:0" + std::to_string(device.index) + ":00.0";
  }
  if (!cards.empty()) sample::rename(p, sample::kUuid, whole_uuid(cards[0]));
  return {.file = std::string(created) + ".json", .profile = sample::derived(std::move(p))};
}

Fleet in_july(const std::vector<FleetProfile>& runs) {
  return study_fleet(runs, {}, utc_seconds(kNow));
}

std::vector<std::string> lost(const Fleet& fleet) {
  std::vector<std::string> names;
  for (const FleetGroup& group : fleet.groups)
    for (const FleetMember& member : group.members)
      for (const Judged& rule : member.rules)
        if (rule.kind == RuleKind::kLost && rule.outcome == Outcome::kFail)
          names.push_back(to_string(rule.name));
  return names;
}

FleetProfile quick(FleetProfile run) {
  run.profile.mode = "quick";
  return run;
}
FleetProfile with(FleetProfile run, const std::function<void(Profile&)>& change) {
  change(run.profile);
  return run;
}

TEST(Machines, FindTheGpuThatTheNewestLacks) {
  const std::string a = "0000000a", b = "0000000b", c = "0000000c";
  const FleetProfile may = run_of(kMay, {a, b}), june = run_of(kJune, {a});
  const std::vector<std::string> gpu1 = {"node7/gpu1/lost"};
  EXPECT_EQ(lost(in_july({may, june})), gpu1);
  EXPECT_EQ(lost(in_july({june, may})), gpu1);
  EXPECT_EQ(lost(in_july({may, quick(june)})), gpu1);
  EXPECT_EQ(lost(in_july({may, run_of(kJune, {})})),
            (std::vector<std::string>{"node7/gpu0/lost", "node7/gpu1/lost"}));
  // It is there, was not asked for, could not be seen, or another is in its slot.
  const std::vector<FleetProfile> others[] = {
      {may, run_of(kJune, {b, a})},
      {june, run_of(kMay, {a})},
      {may, with(june, [](Profile& p) { p.asked.devices = "0"; })},
      {may, with(run_of(kJune, {}), [](Profile& p) { p.software.cuda_runtime.clear(); })},
      {may, run_of(kJune, {a, c})},
      {may, with(june, [](Profile& p) { p.host.hostname = "node8"; }), run_of(kJune, {a, b})},
      {may, run_of(kLater, {a})}};
  for (const auto& runs : others) EXPECT_THAT(lost(in_july(runs)), IsEmpty());
  EXPECT_THAT(fleet_text(in_july({may, june}), false, {}),
              HasSubstr("lost          not in the machine's newest run (2026-06"));
}

// A card's run that fails, and one that does not: which counts?
TEST(Machines, CountByDateWhateverTheFilesOrder) {
  const auto good = [](const char* created) { return run_of(created, {"0000000a"}); };
  const auto bad = [&](const char* created) {
    return with(good(created), [](Profile& p) { p.devices[0].after.remap_pending = true; });
  };
  const auto fails = [](std::vector<FleetProfile> runs) {
    const bool failed = in_july(runs).verdict() == Outcome::kFail;
    std::ranges::reverse(runs);
    EXPECT_EQ(in_july(runs).verdict() == Outcome::kFail, failed);
    return failed;
  };
  EXPECT_FALSE(fails({bad(kMay), good(kJune)}));
  EXPECT_TRUE(fails({good(kMay), bad(kJune)}));
  EXPECT_TRUE(fails({good(kJune), bad(kJune)}));
  EXPECT_TRUE(fails({good(kLater), bad(kMay)}));
  EXPECT_FALSE(fails({bad(kLater), good(kMay)}));
  EXPECT_TRUE(fails({bad(kLater)}));
  const Fleet fleet = in_july({good(kLater), good(kMay)});
  EXPECT_THAT(fleet.in_future, ElementsAre(std::string(kLater) + ".json"));
  EXPECT_THAT(fleet_text(fleet, false, {}), HasSubstr("dated in the future"));
  EXPECT_EQ(fleet.superseded, 2u);
  // A time zone's hours ahead.
  EXPECT_THAT(in_july({good("2026-07-01T14:00:00Z")}).in_future, IsEmpty());
}

TEST(Machines, AShortUuidMergesNoTwoCards) {
  const auto cards_of_two = [](const std::string& first, const std::string& second) {
    const auto of = [](const std::string& uuid) {
      Profile p = sample::h200_run();
      sample::rename(p, sample::kUuid, uuid);
      return p;
    };
    Cards cards;
    for (const std::string& uuid : {first, second, std::string("GPU-0000000a")})
      cards.add(of(uuid));
    return std::pair(cards.card_of(first), cards.card_of(second));
  };
  const std::string one = "GPU-0000000a-1111-2222", two = "GPU-0000000a-3333-4444";
  EXPECT_EQ(cards_of_two(one, two), std::pair(one, two));
  EXPECT_EQ(cards_of_two(one, one),
            std::pair(std::string("GPU-0000000a"), std::string("GPU-0000000a")));
}

}  // namespace
}  // namespace peakline
