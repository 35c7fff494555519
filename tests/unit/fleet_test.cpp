#include "harness/judge/fleet.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "harness/documents/documents.hpp"
#include "harness/show/fleet.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/texts.hpp"
#include "tests/unit/unsteady.hpp"

namespace peakline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Without populations.
Fleet study(const std::vector<FleetProfile>& nodes) { return study_fleet(nodes, {}); }

std::string uuid_of(int number) {
  return fmt::format("GPU-{:08}-2222-3333-4444-555555555555", number);
}

// A run of one H200 on the node; figures times `factor`, which leaves room below theory.
FleetProfile node(int number, double factor = 1) {
  Profile p = sample::h200_run();
  p.host.hostname = fmt::format("node{:02}", number);
  for (Measurement& m : p.measurements)
    if (m.device == sample::kUuid) sample::scale(m, 0.98 * factor);
  sample::rename(p, sample::kUuid, uuid_of(number));
  p.devices[0].before.ecc.uncorrected = p.devices[0].after.ecc.uncorrected = 0;
  return {.file = p.host.hostname + ".json", .profile = sample::derived(std::move(p))};
}

std::vector<FleetProfile> fleet_of(int count) {
  std::mt19937 random(1);
  std::normal_distribution<double> chip(1, 0.005);
  std::vector<FleetProfile> nodes;
  for (int i = 1; i <= count; ++i) nodes.push_back(node(i, chip(random)));
  return nodes;
}

void scale(Profile& profile, std::string_view resource, double factor) {
  for (Ceiling& row : profile.ceilings) {
    if (row.measurement.empty() || row.resource != resource) continue;
    *row.ci_low *= factor;
    *row.ci_high *= factor;
  }
  sample::scale(profile, factor, [&](const Ceiling& row) { return row.resource == resource; });
}

const FleetGroup& gpus(const Fleet& fleet) { return fleet.groups.at(0); }

const FleetMember& member(const Fleet& fleet, std::string_view node) {
  for (const FleetMember& m : gpus(fleet).members)
    if (m.node == node) return m;
  throw std::out_of_range("no such node");
}

const FleetCeiling& ceiling(const FleetMember& m, std::string_view resource) {
  for (const FleetCeiling& row : m.ceilings)
    if (row.resource == resource) return row;
  throw std::out_of_range("no such ceiling");
}

TEST(Fleet, DevicesThatAreAlikeAreNoProofOfTheirLevel) {
  for (const int count : {2, 3, 16}) {
    const Fleet fleet = study(fleet_of(count));
    EXPECT_TRUE(fleet.sound());
    EXPECT_EQ(member(fleet, "node01").verdict(), Outcome::kWarn);
  }
}

// Two distant levels: either may be the healthy one.
TEST(Fleet, TwoLevelsCannotBeJudged) {
  auto nodes = fleet_of(10);
  for (std::size_t i = 0; i < 6; ++i) scale(nodes[i].profile, "hbm.read", 0.8);
  const Fleet fleet = study(nodes);
  EXPECT_EQ(member(fleet, "node01").verdict(), Outcome::kCannotJudge);
  EXPECT_EQ(ceiling(member(fleet, "node10"), "hbm.read").standing, Standing::kHigh);
}

TEST(Fleet, FindsWhatFallsBehindAndSaysWhy) {
  auto nodes = fleet_of(12);
  nodes[3].profile.devices[0].pcie.width = 8;
  scale(nodes[3].profile, "pcie.h2d", 0.5);
  nodes[6].profile.software.driver = "570.10";
  scale(nodes[6].profile, "hbm.read", 0.9);
  scale(nodes[8].profile, "hbm.read", 1.06);
  const Fleet fleet = study(nodes);
  EXPECT_TRUE(gpus(fleet).judged);
  EXPECT_EQ(gpus(fleet).model, "NVIDIA H200");
  const FleetCeiling& link = ceiling(member(fleet, "node04"), "pcie.h2d");
  EXPECT_EQ(link.standing, Standing::kLow);
  EXPECT_NEAR(link.deviation, -0.5, 0.02);
  EXPECT_THAT(link.cause, AllOf(HasSubstr("x8"), HasSubstr("peers"), HasSubstr("x16")));
  EXPECT_THAT(ceiling(member(fleet, "node07"), "hbm.read").cause, HasSubstr("driver 570.10"));
  EXPECT_EQ(ceiling(member(fleet, "node09"), "hbm.read").standing, Standing::kHigh);
  EXPECT_TRUE(member(fleet, "node09").sound());
  EXPECT_EQ(ceiling(member(fleet, "node01"), "hbm.read").standing, Standing::kUsual);
  for (const Distribution& row : gpus(fleet).ceilings) {
    EXPECT_EQ(row.devices, 12u);
    EXPECT_LE(row.lowest, row.p5);
    EXPECT_LE(row.p5, row.p25);
    EXPECT_LE(row.p25, row.median);
    EXPECT_LE(row.median, row.p75);
    EXPECT_LE(row.p95, row.highest);
    if (row.resource == "hbm.read") {
      EXPECT_EQ(row.low, 1u);
      EXPECT_EQ(row.high, 1u);
    }
  }
}

// At 87 °C, where its peers have 62.
TEST(Fleet, ASlowDeviceHasACause) {
  using Adjust = void (*)(Conditions&);
  const auto cause = [](Adjust of_all, Adjust of_slow) {
    auto nodes = fleet_of(8);
    scale(nodes[2].profile, "tensor.bf16", 0.9);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (Ceiling& row : nodes[i].profile.ceilings) {
        row.conditions.temperature_c = i == 2 ? 87 : 62;
        of_all(row.conditions);
        if (i == 2) of_slow(row.conditions);
      }
    return ceiling(member(study(nodes), "node03"), "tensor.bf16").cause;
  };
  const Adjust unchanged = [](Conditions&) {};
  EXPECT_EQ(cause(unchanged, unchanged), "");
  EXPECT_EQ(cause(unchanged, [](Conditions& c) { c.throttle_reasons = {"sw_thermal"}; }),
            "heat: 87 °C, peers 62 °C");
  EXPECT_EQ(cause(unchanged,
                  [](Conditions& c) {
                    c.throttle_reasons = {"sw_thermal"};
                    c.temperature_c.reset();
                  }),
            "heat");
  // A lower clock at the power cap: a slow chip.
  EXPECT_EQ(cause(
                [](Conditions& c) {
                  c.sm_clock_hz = 1500e6;
                  c.throttle_reasons = {"sw_power_cap"};
                },
                [](Conditions& c) { c.sm_clock_hz = 1350e6; }),
            "SM clock 10 % below the peers', at the power cap");
}

TEST(Fleet, ADeviceAloneAndTwoThatDifferCannotBeJudged) {
  EXPECT_EQ(study(fleet_of(1)).verdict(), Outcome::kCannotJudge);
  auto nodes = fleet_of(2);
  scale(nodes[0].profile, "hbm.read", 0.9);
  const Fleet fleet = study(nodes);
  EXPECT_EQ(fleet.verdict(), Outcome::kCannotJudge);
}

TEST(Fleet, WhatMostHaveIsMissing) {
  auto nodes = fleet_of(6);
  std::erase_if(nodes[1].profile.ceilings,
                [](const Ceiling& row) { return row.resource == "hbm.read"; });
  const Fleet fleet = study(nodes);
  EXPECT_EQ(member(fleet, "node02").verdict(), Outcome::kCannotJudge);
  EXPECT_THAT(fleet_text(fleet, true, {}), HasSubstr("HBM read: not measured"));
}

TEST(Fleet, FindsTheMachineThatHasLostAGpu) {
  auto nodes = fleet_of(8);
  Profile& lost = nodes[4].profile;
  sample::remove_gpus(lost);
  lost = sample::derived(std::move(lost));
  const Fleet fleet = study(nodes);
  EXPECT_FALSE(fleet.sound());
  EXPECT_THAT(fleet_text(fleet, true, {}),
              AllOf(HasSubstr("node05"), HasSubstr("0 GPUs; most machines with this CPU have 1")));
  // Unjudged hosts report only this.
  for (FleetProfile& n : nodes) n.profile.host.virtualization = "kvm";
  const std::string text = fleet_text(study(nodes), true, {});
  EXPECT_THAT(text, HasSubstr("node05  host  incomplete  0 GPUs"));
  EXPECT_THAT(text, Not(HasSubstr("node04  host")));
  // A newer run has it again; an older one had it.
  auto found = nodes;
  found.push_back(node(5));
  found.back().profile.created = "2100-01-01T00:00:00Z";
  EXPECT_TRUE(study(found).sound());
  found.back().profile.created = "2020-01-01T00:00:00Z";
  EXPECT_FALSE(study(found).sound());
  // The user excluded it.
  found = nodes;
  found[4].profile.asked.devices = kNoDevices;
  EXPECT_TRUE(study(found).sound());
  // Among few machines the usual one is unknown.
  nodes.erase(nodes.begin() + 5, nodes.end());
  EXPECT_TRUE(study(nodes).sound());
}

TEST(Fleet, MachinesOfOneNameAreToldApartByTheirCards) {
  auto nodes = fleet_of(8);
  for (FleetProfile& n : nodes) n.profile.host.hostname = "localhost";
  Fleet fleet = study(nodes);
  EXPECT_EQ(fleet.superseded, 0u);
  EXPECT_EQ(fleet.devices, 16u);
  EXPECT_EQ(member(fleet, "node05").file, "node05.json");  // whose name is its own
  sample::remove_gpus(nodes[4].profile);
  nodes[4].profile = sample::derived(std::move(nodes[4].profile));
  fleet = study(nodes);
  EXPECT_THAT(fleet_text(fleet, true, {}), HasSubstr("0 GPUs; most machines with this CPU have 1"));
}

TEST(Fleet, AnotherMethodIsNoYardstick) {
  auto nodes = fleet_of(8);
  for (std::size_t i = 0; i < 4; ++i) {
    for (Measurement& m : nodes[i].profile.measurements) ++m.method_version;
    scale(nodes[i].profile, "hbm.read", 1.3);
  }
  const Fleet fleet = study(nodes);
  EXPECT_EQ(member(fleet, "node08").verdict(), Outcome::kCannotJudge);
}

TEST(Fleet, ModelsAndModesAreGroupsOfTheirOwn) {
  auto nodes = fleet_of(10);
  for (std::size_t i = 0; i < 4; ++i) nodes[i].profile.mode = "quick";
  nodes[9].profile.devices[0].name = "NVIDIA H100";
  const Fleet fleet = study(nodes);
  std::vector<std::pair<std::string, std::size_t>> groups;
  for (const FleetGroup& group : fleet.groups)
    if (!group.is_host) groups.emplace_back(group.model + ' ' + group.mode, group.members.size());
  EXPECT_THAT(groups, testing::ElementsAre(std::pair("NVIDIA H200 full", 5u),
                                           std::pair("NVIDIA H200 quick", 4u),
                                           std::pair("NVIDIA H100 full", 1u)));
}

TEST(Fleet, NamesADeviceThatIsUnsteady) {
  const auto fleet = [](double speed, int count) {
    std::vector<FleetProfile> nodes;
    for (int i = 0; i < count; ++i) {
      Profile p = sample::reference();
      p.host.hostname = fmt::format("node{:02}", i);
      sample::rename(p, p.devices[0].uuid, uuid_of(i));
      if (i == 1) sample::slow_down_midway(p, speed);
      nodes.push_back({.file = p.host.hostname + ".json", .profile = std::move(p)});
    }
    return study(nodes);
  };
  for (const double speed : {2.0 / 3, 0.1, 0.9}) {
    for (const int count : {10, 2}) {  // two cannot tell which is slow
      const Fleet found = fleet(speed, count);
      EXPECT_FALSE(member(found, "node01").sound()) << speed;
      EXPECT_TRUE(member(found, "node00").sound()) << speed;
      if (speed == 0.1 && count == 10) {
        EXPECT_EQ(ceiling(member(found, "node01"), "hbm.read").standing, Standing::kLow);
      }
    }
  }
}

// The worst of several leads, whatever its name.
TEST(Fleet, TheFirstLineNamesTheWorstAndCountsTheRest) {
  auto nodes = fleet_of(8);
  scale(nodes[1].profile, "hbm.read", 0.9);
  scale(nodes[4].profile, "hbm.write", 0.6);
  const std::string text = fleet_text(study(nodes), false, {});
  EXPECT_TRUE(text.starts_with("FAIL  node05 gpu0 (H200): HBM write "));
  EXPECT_THAT(text, HasSubstr("; 1 more GPU fails: node02 gpu0; 6 of 7 other GPUs pass\n"));
}

TEST(Fleet, TheFirstLineCountsWarningsApart) {
  auto nodes = fleet_of(8);
  scale(nodes[1].profile, "hbm.read", 0.9);
  nodes[2].profile.findings.push_back({.code = "thermal_limit",
                                       .severity = Severity::kWarning,
                                       .device = uuid_of(3),
                                       .message = "It overheated.",
                                       .evidence = {}});
  scale(nodes[5].profile, "hbm.read", 1.5);  // beyond theory
  EXPECT_THAT(fleet_text(study(nodes), false, {}),
              HasSubstr("; 5 of 7 other GPUs pass; 1 cannot be judged: node06 gpu0; 1 with a "
                        "warning: node03 gpu0\n"));
}

TEST(Fleet, TheLowestIsNamedInNarrowTerminals) {
  auto nodes = fleet_of(8);
  scale(nodes[1].profile, "hbm.read", 0.9);
  for (const std::size_t width : {80, 100}) {
    const std::string text = fleet_text(study(nodes), true, {.width = width});
    EXPECT_THAT(text, testing::ContainsRegex("HBM read [^\n]* % node02 GPU 0"));
    EXPECT_EQ(text.find(" p95") != text.npos, width == 100);
  }
}

TEST(Fleet, ACardCountsOnceInAllItsModes) {
  auto nodes = fleet_of(6);
  for (int i = 1; i <= 3; ++i) {
    nodes.push_back(node(i));
    nodes.back().profile.mode = "quick";
  }
  const Fleet fleet = study(nodes);
  EXPECT_EQ(fleet.devices, 12u);
  EXPECT_THAT(fleet_text(fleet, false, {}), HasSubstr("9 profiles: 6 GPUs, 6 hosts."));
}

TEST(Fleet, AWarningNamesItsDevice) {
  auto nodes = fleet_of(6);
  nodes[2].profile.findings.push_back({.code = "thermal_limit",
                                       .severity = Severity::kWarning,
                                       .device = uuid_of(3),
                                       .message = "It overheated.",
                                       .evidence = {}});
  const std::string text = fleet_text(study(nodes), false, {});
  EXPECT_THAT(text, HasSubstr("node03  GPU 0  warns "));
  EXPECT_THAT(text, AllOf(HasSubstr("It overheated."), Not(HasSubstr("node02"))));
}

TEST(Fleet, OtherUsersAreNamedOnceWithAdvice) {
  auto nodes = fleet_of(8);
  for (const char* resource : {"hbm.read", "hbm.write", "hbm.copy"})
    scale(nodes[1].profile, resource, 0.7);
  nodes[1].profile.devices[0].processes = {{.pid = 4711, .name = "python3", .memory_bytes = {}}};
  const std::string text = fleet_text(study(nodes), false, {.width = 200});
  EXPECT_THAT(
      text.substr(text.find('\n')),
      AllOf(HasSubstr(": python3 (4711) used GPU 0 too"),
            Not(testing::ContainsRegex("used GPU.*used GPU")),
            HasSubstr("Free the GPUs that others used and run peakline check there again")));
}

std::vector<std::string> drift_lines(const std::vector<FleetProfile>& nodes) {
  std::vector<std::string> lines;
  const std::string text = fleet_text(study(nodes), false, {.width = 500});
  for (std::size_t at = text.find("\n  ", text.find("Drift of the stack")); at != text.npos;
       at = text.find("\n  ", at + 1))
    lines.push_back(text.substr(at + 3, text.find('\n', at + 1) - at - 3));
  return lines;
}

// Nodes without a value of their own have the first.
void set(std::string& fact, int node, const std::vector<std::string>& values) {
  fact = values.at(node < std::ssize(values) ? node : 0);
}

TEST(Fleet, DriftIsALinePerFact) {
  struct Case {
    const char* line;
    void (*change)(Profile&, int node);
  };
  for (const auto& [line, change] : {
           Case{"driver: 580.159 on 4 machines; 575.51 on node02, node03",
                [](Profile&p, int i) {
                  set(p.software.driver, i, {"580.159", "575.51", "575.51"});
                }},
           Case{"driver: 1 on 3 machines, 2 on 2, 3 on 1",
                [](Profile&p, int i) {
                  set(p.software.driver, i, {"1", "2", "2", "3", "1"});
                }},
           Case{"CUDA: 13.0 on 5 machines; not known on node02",
                [](Profile&p, int i) {
                  set(p.software.cuda_runtime, i, {"13.0", ""});
                }},
           Case{"kernel: a on 4 machines; b on node02; c on node03",
                [](Profile&p, int i) {
                  set(p.host.kernel, i, {"a", "b", "c"});
                }},
           Case{"kernel: a on 1 machine, b on 1, c on 1, d on 1, and 2 more values",
                [](Profile&p, int i) { p.host.kernel = static_cast<char>('a' + i); }},
           Case{"CPU governor: performance on 4 machines; powersave on node02; not known on node03",
                [](Profile&p, int i) {
                  set(p.host.cpu_governor, i, {"performance", "powersave", ""});
                }},
           Case{
               "NUMA nodes: 2 on 5 machines; 4 on node02",
               [](Profile&p, int i) { p.host.numa_nodes.assign(i == 1 ? 4 : 2, NumaNodeFacts{}); }},
           Case{"GPUs' NUMA nodes: 0 on 5 machines; 1 on node02",
                [](Profile&p, int i) { p.devices[0].numa_node = i == 1; }},
           Case{"VBIOS (NVIDIA H200): 96 for 5 GPUs; 97 for node02",
                [](Profile&p, int i) {
                  set(p.devices[0].vbios, i, {"96", "97"});
                }},
           Case{"power limit (NVIDIA H200): 700 W for 4 GPUs; 500 W for node02; not known for "
                "node03",
                [](Profile&p, int i) {
                  p.devices[0].power_limit_w.reset();
                  if (i != 2) p.devices[0].power_limit_w = i == 1 ? 500 : 700;
                }},
           Case{"ECC (NVIDIA H200): on for 5 GPUs; off for node02",
                [](Profile&p, int i) { p.devices[0].ecc_enabled = i != 1; }},
           Case{"PCIe link (NVIDIA H200): 5.0 x16 for 5 GPUs; 4.0 x16 for node02",
                [](Profile&p, int i) {
                  p.devices[0].pcie_read_under_load = true;
                  p.devices[0].pcie.generation = i == 1 ? 4 : 5;
                  p.devices[0].pcie.width = 16;
                }},
           Case{"PCIe payload (NVIDIA H200): 256 B for 5 GPUs; 128 B for node02",
                [](Profile&p, int i) { p.devices[0].pcie.max_payload_bytes = i == 1 ? 128 : 256; }},
       }) {
    auto nodes = fleet_of(6);
    for (int i = 0; i < 6; ++i) change(nodes[i].profile, i);
    EXPECT_THAT(drift_lines(nodes), testing::ElementsAre(line));
  }
  EXPECT_THAT(drift_lines(fleet_of(6)), testing::IsEmpty());
}

TEST(Fleet, DriftIsAmongAModelsNewestRuns) {
  auto nodes = fleet_of(4);
  for (std::size_t i = 0; i < 2; ++i) {
    nodes[i].profile.devices[0].name = "NVIDIA H100";
    nodes[i].profile.devices[0].vbios = "another";
  }
  nodes.push_back(node(4));
  nodes.back().profile.created = "2020-01-01T00:00:00Z";
  nodes.back().profile.mode = "quick";
  nodes.back().profile.software.driver = "old";
  EXPECT_THAT(drift_lines(nodes), testing::IsEmpty());
  // A machine without GPUs has no driver to know.
  nodes.push_back(node(5));
  sample::remove_gpus(nodes.back().profile);
  nodes.back().profile.software.driver.clear();
  EXPECT_THAT(drift_lines(nodes), testing::IsEmpty());
}

TEST(Fleet, DriftOfOneGpuOfSeveralNamesIt) {
  Drift drift{.fact = "ECC", .model = "H200", .of_gpus = true, .majority = "on"};
  drift.values["on"] = {{"node1", "gpu0"}, {"node1", "gpu1"}, {"node2", "gpu0"}, {"node8", "gpu0"},
                        {"node8", "gpu1"}, {"node9", "gpu0"}, {"node9", "gpu1"}, {"node9", "gpu2"}};
  drift.values["off"] = {{"node2", "gpu1"}, {"node3", "gpu0"}, {"node3", "gpu1"}};
  drift.unknown = {{"node4", "gpu0"}, {"node5", "gpu0"}, {"node6", "gpu0"}, {"node7", "gpu0"}};
  Fleet fleet;
  fleet.drift = {drift};
  EXPECT_THAT(
      fleet_text(fleet, false, {.width = 500}),
      HasSubstr("ECC (H200): on for 8 GPUs; off for node2 gpu1, node3; not known for node4, "
                "node5, node6 and 1 more\n"));
  EXPECT_THAT(fleet_json(fleet), HasSubstr(R"("majority": "on")"));
}

TEST(Fleet, AnAnonymizedNodeIsCalledAfterItsFile) {
  auto nodes = fleet_of(1);
  nodes[0].profile.host.hostname = "";
  nodes[0].file = "profiles/rack7.json";
  EXPECT_EQ(study(nodes).groups.at(0).members.at(0).node, "rack7");
}

}  // namespace
}  // namespace peakline
