// A fleet before and after.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "harness/documents/documents.hpp"
#include "harness/judge/compare.hpp"
#include "harness/show/compare.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/unsteady.hpp"

namespace peakline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kHealthyRuns = 0.0015;  // standard deviation of a run

struct Side {
  std::vector<Profile> profiles;
  std::vector<std::string> files;
};
struct Fleets {
  Side base, next;
};

std::string uuid_of(int card) { return fmt::format("GPU-{:08x}", card); }

// A run of one GPU on `node`, with the scatter of healthy runs.
Profile run_of(int card, const std::string& node, std::mt19937& random,
               const sample::Change& change = {}) {
  Profile p = sample::h200_run();
  std::normal_distribution<double> scatter(1, kHealthyRuns);
  for (Measurement& m : p.measurements)
    if (m.device == sample::kUuid && m.unit.ends_with("/s")) sample::scale(m, scatter(random));
  sample::rename(p, sample::kUuid, uuid_of(card));
  p.host.hostname = node;
  if (change) change(p);
  return sample::derived(std::move(p));
}

Fleets fleet_of(int machines, const std::map<int, sample::Change>& after = {}) {
  std::mt19937 random(1);
  Fleets fleet;
  for (int i = 0; i < machines; ++i) {
    const std::string node = fmt::format("node{}", i);
    fleet.base.profiles.push_back(run_of(i, node, random));
    const auto change = after.find(i);
    fleet.next.profiles.push_back(
        run_of(i, node, random, change == after.end() ? sample::Change() : change->second));
    for (Side* side : {&fleet.base, &fleet.next})
      side->files.push_back(fmt::format("{}/{}.json", side == &fleet.base ? "a" : "b", node));
  }
  return fleet;
}

CompareResult compared(const Fleets& fleet) {
  return compare(fleet.base.profiles, fleet.next.profiles,
                 {.base_files = fleet.base.files, .next_files = fleet.next.files});
}

std::string text_of(const CompareResult& result) {
  return compare_text(result, {}, {.color = false, .width = 400});
}
std::string first_line(const CompareResult& result) {
  const std::string text = text_of(result);
  return text.substr(0, text.find('\n'));
}

sample::Change slower_memory(double factor) {
  return [=](Profile& p) {
    for (Measurement& m : p.measurements)
      if (m.id.starts_with("hbm.")) sample::scale(m, factor);
  };
}

TEST(CompareFleet, HealthyMachinesAreTheSame) {
  const CompareResult result = compared(fleet_of(12));
  EXPECT_EQ(result.verdict(), "same") << text_of(result);
  EXPECT_EQ(result.cards, 12U);
  EXPECT_THAT(first_line(result), HasSubstr("12 cards on 12 machines: new is as fast as base"));
  EXPECT_THAT(text_of(result), HasSubstr("the fleet as a whole (median of 12 NVIDIA H200s): "));
}

TEST(CompareFleet, ASlowCardIsNamedWithItsLoss) {
  const CompareResult result = compared(fleet_of(12, {{7, slower_memory(0.959)}}));
  EXPECT_THAT(first_line(result), StartsWith("SLOWER  1 of 12 cards compared: node7 gpu0 (HBM "));
  EXPECT_THAT(first_line(result), HasSubstr(", and 2 more)"));
  for (const Judged& reason : result.gate.reasons)
    EXPECT_TRUE(reason.passes() || to_string(reason.name).starts_with("node7/gpu0/"));
  const auto document = nlohmann::json::parse(compare_json(result));
  EXPECT_EQ(document.at("machines").size(), 12U);
  EXPECT_EQ(document.at("devices").at(0).at("machine"), "node0");
  EXPECT_EQ(document.at("devices").at(0).at("new_card"), "GPU-00000000");
}

// Each loses too little to be told from its own scatter.
TEST(CompareFleet, AllCardsTogetherShowASmallLoss) {
  std::map<int, sample::Change> all;
  for (int i = 0; i < 12; ++i) all[i] = slower_memory(0.975);
  const CompareResult result = compared(fleet_of(12, all));
  EXPECT_THAT(first_line(result), StartsWith("SLOWER  the fleet as a whole: HBM "));
  EXPECT_THAT(result.gate.reasons,
              ::testing::Contains(::testing::ResultOf(
                  [](const Judged& r) { return to_string(r.name); }, StartsWith("fleet/hbm."))));
  // Five cards have no interval.
  EXPECT_THAT(compared(fleet_of(5, all)).shifts, IsEmpty());
}

TEST(CompareFleet, WhatChangedOnMostIsSaidOnce) {
  std::map<int, sample::Change> all;
  for (int i = 0; i < 8; ++i)
    all[i] = [=](Profile& p) {
      p.software.driver = "580.159";
      if (i == 3) slower_memory(0.95)(p);
      if (i == 3) p.devices[0].memory_clock_max_hz = 2.5e9;
    };
  Fleets fleet = fleet_of(8, all);
  for (Profile& p : fleet.base.profiles) p.software.driver = "575.51";
  const std::string text = text_of(compared(fleet));
  EXPECT_THAT(text, HasSubstr("driver 575.51 → 580.159 on 8 of 8 cards"));
  const std::string row = text.substr(text.find("\nnode3 gpu0 "));
  EXPECT_THAT(row, HasSubstr("maximum memory clock "));
  EXPECT_THAT(row, Not(HasSubstr("driver")));
}

TEST(CompareFleet, LostMovedAndReplacedCardsAreNamed) {
  Fleets fleet = fleet_of(8);
  std::mt19937 random(2);
  fleet.next.profiles[1] = run_of(99, "node1", random);  // replaced
  std::swap(fleet.next.profiles[2].host.hostname, fleet.next.profiles[3].host.hostname);
  fleet.next.profiles[7] = run_of(100, "node8", random);  // another machine
  const CompareResult result = compared(fleet);
  EXPECT_EQ(result.cards, 9U);
  EXPECT_EQ(result.verdict(), "different");
  EXPECT_THAT(first_line(result), HasSubstr("node7 gpu0 (NVIDIA H200: not in the new profiles)"));
  EXPECT_THAT(result.only_base, ElementsAre("node7 gpu0 (GPU-00000007)", "node7 host"));
  EXPECT_THAT(result.only_next, ElementsAre("node8 gpu0 (GPU-00000064)", "node8 host"));
  const std::string text = text_of(result);
  EXPECT_THAT(text, HasSubstr("node1 gpu0: another card, GPU-00000001 → GPU-00000063"));
  EXPECT_THAT(text, HasSubstr("node3 gpu0: GPU-00000002 was in node2 before"));
}

TEST(CompareFleet, CardsComparedAsOneAreCounted) {
  Fleets fleet = fleet_of(3);
  std::mt19937 random(3);
  for (int i = 0; i < 3; ++i)
    fleet.next.profiles[i] = run_of(50 + i, fmt::format("other{}", i), random);
  const std::string text = text_of(compared(fleet));
  EXPECT_THAT(text, StartsWith("SAME  new (3 cards) is as fast as base (3 cards)"));
  EXPECT_THAT(text, HasSubstr("compared as one"));
}

// Each loss has a row in it; the change of a time is that of the time, not of the speed.
TEST(CompareFleet, ACardHasOneTable) {
  const CompareResult result = compared(fleet_of(4, {{2, [](Profile& p) {
                                                        slower_memory(0.9)(p);
                                                        for (Measurement& m : p.measurements)
                                                          if (m.id == "launch.graph")
                                                            sample::scale(m, 4);
                                                      }}}));
  const std::string text = text_of(result);
  ASSERT_NE(text.find("\nnode2 gpu0\n"), text.npos);
  EXPECT_EQ(text.find("\nnode2 gpu0\n"), text.rfind("\nnode2 gpu0\n"));
  EXPECT_THAT(first_line(result), HasSubstr("launch graph takes 4.0"));
  EXPECT_THAT(text, HasSubstr(" +300.0 %"));
}

TEST(CompareFleet, CardsOfOneSideAreNotCounted) {
  Fleets fleet = fleet_of(2);
  std::mt19937 random(4);
  fleet.next.profiles.push_back(run_of(99, "node2", random));
  fleet.next.files.emplace_back("b/node2.json");
  EXPECT_THAT(
      first_line(compared(fleet)),
      HasSubstr("2 cards on 2 machines (1 on one side alone, not compared): new is as fast"));
}

// Nothing became unsteady: a card that fails came along.
TEST(CompareFleet, ANewCardThatIsUnsteadyIsADifference) {
  Fleets fleet = fleet_of(2);
  std::mt19937 random(4);
  Profile added = run_of(99, "node2", random);
  sample::slow_down_midway(added, 0.5);
  fleet.next.profiles.push_back(std::move(added));
  fleet.next.files.emplace_back("b/node2.json");
  const CompareResult result = compared(fleet);
  EXPECT_THAT(result.gate.reasons,
              ::testing::Contains(::testing::Field(&Judged::kind, RuleKind::kUnsteady)));
  EXPECT_EQ(result.verdict(), "different");
  EXPECT_THAT(first_line(result), StartsWith("DIFFERENT  1 of 3 cards: node2 gpu0 (only in new: "));
}

// Names of containers say nothing, and anonymized profiles have none.
TEST(CompareFleet, AMachineIsKnownByNameFileOrCards) {
  std::mt19937 random(3);
  const auto machines = [&](const std::vector<std::pair<std::string, int>>& base,
                            const std::vector<std::pair<std::string, int>>& next) {
    Fleets fleet;
    for (const auto& [from, side] : {std::pair(&base, &fleet.base), std::pair(&next, &fleet.next)})
      for (const auto& [name, card] : *from) {
        const bool is_file = name.ends_with(".json");
        side->profiles.push_back(run_of(card, is_file ? "" : name, random));
        side->files.push_back(is_file ? name : fmt::format("{}{}.json", from == &base, card));
      }
    return compared(fleet).machines;
  };
  EXPECT_THAT(machines({{"a", 1}, {"b", 2}}, {{"a", 1}, {"b", 2}}), ElementsAre("a", "b"));
  EXPECT_THAT(machines({{"x/a.json", 1}, {"x/b.json", 2}}, {{"y/a.json", 1}, {"y/b.json", 2}}),
              ElementsAre("a", "b"));
  EXPECT_THAT(machines({{"a", 1}, {"b", 2}}, {{"c", 1}, {"d", 2}}), ElementsAre("a", "b"));
  // One machine in containers, and runs of it without a name.
  EXPECT_THAT(machines({{"a", 1}, {"b", 1}}, {{"c", 1}, {"d", 1}}), IsEmpty());
  EXPECT_THAT(machines({{"a", 1}, {"x.json", 1}}, {{"a", 1}}), IsEmpty());
  // Somebody chose machines that have nothing in common.
  EXPECT_THAT(machines({{"a", 1}, {"b", 2}}, {{"c", 3}, {"d", 4}}), IsEmpty());
  EXPECT_THAT(machines({{"a", 1}}, {{"b", 2}}), IsEmpty());
  EXPECT_THAT(machines({{"localhost", 1}, {"localhost", 2}}, {{"localhost", 1}, {"localhost", 2}}),
              ElementsAre("true1", "true2"));
}

}  // namespace
}  // namespace peakline
