#include "harness/judge/check.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/hardware/usual_spread.hpp"
#include "harness/judge/lint.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/profile/profile.hpp"
#include "harness/show/check.hpp"
#include "harness/values/resources.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::ceiling;
using sample::reference;
using testing::EndsWith;
using testing::HasSubstr;

CheckResult checked(const Profile& profile, const std::vector<std::string>& allowed = {}) {
  return check(
      profile,
      {.populations = bundled_populations(), .allowed = allowed, .donors = bundled_populations()});
}

Profile changed(const std::function<void(Profile&)>& change) {
  Profile profile = reference();
  change(profile);
  return profile;
}

// With one figure at `factor` times its value.
Profile with_scaled(const char* resource, Basis basis, double factor) {
  return changed([&](Profile& p) { sample::scale(p, resource, basis, factor); });
}
Profile with_slow_writes(double factor) {
  return with_scaled("hbm.write", Basis::kMeasured, factor);
}

void add_finding(Profile& p, const char* code, Severity severity, const char* message) {
  p.findings.push_back({.code = code,
                        .severity = severity,
                        .device = p.devices[0].uuid,
                        .message = message,
                        .evidence = {}});
}

// Names and texts of rules that do not pass.
std::vector<std::string> reasons(const CheckResult& result) {
  std::vector<std::string> texts;
  for (const CheckedDevice& device : result.devices)
    for (const Judged& rule : device.rules)
      if (rule.outcome != Outcome::kPass)
        texts.push_back(std::string(to_string(rule.outcome)) + ' ' + to_string(rule.name) + ": " +
                        describe(rule));
  return texts;
}

void expect_only(const CheckResult& result, Outcome verdict, const std::string& reason) {
  EXPECT_EQ(result.verdict(), verdict);
  EXPECT_THAT(reasons(result), testing::ElementsAre(reason));
}

TEST(Check, WhatFailsBesideAnotherProcessNamesIt) {
  const auto with = [](std::vector<DeviceProcess> processes) {
    const CheckResult result = checked(changed([&](Profile& p) {
      ceiling(p, "hbm.write", Basis::kMeasured).value *= 0.85;
      p.devices[0].processes = std::move(processes);
    }));
    return reasons(result).at(0);
  };
  EXPECT_THAT(with({{.pid = 4711, .name = "python3", .memory_bytes = {}}}),
              testing::EndsWith("; python3 (4711) used GPU 0 too"));
  EXPECT_THAT(with({{.pid = 1, .name = std::string(kMpsServer), .memory_bytes = {}}}),
              testing::Not(HasSubstr("used GPU")));
}

TEST(Check, NeighboursOfAVirtualMachineMaySlowItsLink) {
  const auto verdict = [](double share) {
    return checked(with_scaled("pcie.h2d", Basis::kMeasured, share)).verdict();
  };
  EXPECT_EQ(verdict(0.95), Outcome::kWarn);
  EXPECT_EQ(verdict(0.85), Outcome::kFail);
  CardFacts facts;
  facts.virtual_machine = false;
  EXPECT_FALSE(neighbours_may_slow(facts, "pcie.h2d", 0.95));
  facts.virtual_machine = true;
  EXPECT_TRUE(neighbours_may_slow(facts, "pcie.h2d", 0.95));
  EXPECT_FALSE(neighbours_may_slow(facts, "pcie.h2d", 0.89));
}

auto find_rule(const std::vector<Judged>& rules, std::string_view name) {
  return std::ranges::find(rules, name, [](const Judged& rule) { return to_string(rule.name); });
}

// With this step between the sittings of BF16's burst.
Profile stepped(double step) {
  return changed(
      [=](Profile& p) { ceiling(p, "tensor.bf16", Basis::kBurst).spread->sittings = step; });
}

TEST(Check, ScatterIsBelievedUpToItsClass) {
  struct Case {
    const char *resource, *model;
    double scatter, believed;
    bool excessive;
  };
  for (const Case& c : {Case{"hbm.read", "NVIDIA H200", 0.004, 0.004, false},
                        {"hbm.read", "NVIDIA H200", 0.009, 0.005, false},
                        {"hbm.read", "NVIDIA H200", 0.011, 0.005, true},
                        {"l2.read", "NVIDIA H200", 0.03, 0.006, true},
                        {"pcie.h2d", "NVIDIA H200", 0.05, 0.02, false},
                        {"pcie.bidirectional", "NVIDIA H200", 0.5, 0.04, false},
                        // Assumed to be twice as noisy.
                        {"hbm.read", "NVIDIA A100", 0.011, 0.01, false}}) {
    SCOPED_TRACE(testing::Message() << c.resource << " of " << c.model << ", " << c.scatter);
    const Profile p = changed([&](Profile& profile) {
      profile.devices[0].name = c.model;
      ceiling(profile, c.resource, Basis::kMeasured).spread = RunSpread{.within = c.scatter};
    });
    const OwnScatter own =
        own_scatter(device_views(p)[0],
                    *find_ceiling(p.ceilings, p.devices[0].uuid, c.resource, Basis::kMeasured));
    EXPECT_DOUBLE_EQ(own.believed, c.believed);
    EXPECT_EQ(own.excessive.has_value(), c.excessive);
  }
}

// Without a rate of writes; why: they were tried.
void miss_writes(Profile& p, std::optional<Absence> why = {}, const char* reason = "") {
  std::erase_if(p.ceilings, [](const Ceiling& row) { return row.resource == "hbm.write"; });
  if (why)
    p.missing_ceilings.push_back({.device = p.devices[0].uuid,
                                  .resource = "hbm.write",
                                  .basis = Basis::kMeasured,
                                  .why = *why,
                                  .reason = reason});
}

TEST(Check, AMissingFigureFailsWhereItWasTried) {
  expect_only(checked(changed([](Profile& p) { miss_writes(p); })), Outcome::kCannotJudge,
              "cannot_judge gpu0/hbm.write/measured: HBM write: not measured");
  for (const auto& [why, outcome] : {std::pair(Absence::kWrongResult, Outcome::kFail),
                                     {Absence::kSkipped, Outcome::kCannotJudge}})
    expect_only(
        checked(changed([&, absence = why](Profile& p) { miss_writes(p, absence, "the reason"); })),
        outcome,
        fmt::format("{} gpu0/hbm.write/measured: HBM write: the reason", to_string(outcome)));
}

// Newer versions measure more: a figure that few cards have is only missed in a run whose program
// knows it, or that tried it.
TEST(Check, AFigureOfFewCardsIsNotExpectedOfOlderVersions) {
  std::vector<Population> few = bundled_populations();
  for (Population& population : few)
    for (PopulationFigure& figure : population.figures)
      if (figure.resource == "hbm.write") figure.cards = population.cards / 2;
  const auto verdict = [&](bool known, std::optional<Absence> why) {
    const Profile p = changed([&](Profile& profile) {
      miss_writes(profile, why, "zeros");
      if (!known)
        std::erase_if(profile.resources, [](const Resource& r) { return r.name == "hbm.write"; });
    });
    return check(p, {.populations = few}).verdict();
  };
  EXPECT_EQ(verdict(false, {}), Outcome::kPass);
  EXPECT_EQ(verdict(false, Absence::kSkipped), Outcome::kPass);
  EXPECT_EQ(verdict(false, Absence::kImplausible), Outcome::kCannotJudge);
  EXPECT_EQ(verdict(false, Absence::kWrongResult), Outcome::kFail);
  EXPECT_EQ(verdict(true, {}), Outcome::kCannotJudge);
}

// Whatever lets a measurement fail, the first line names it.
TEST(CheckText, MeasurementsThatFailedAreNamed) {
  const auto fail = [](Profile& p, std::string_view device) {
    Measurement& m = *std::ranges::find_if(p.measurements, [&](const Measurement& each) {
      return each.device == device && std::ranges::none_of(p.ceilings, [&](const Ceiling& row) {
               return row.measurement == each.name();
             });
    });
    m.status = Status::kError;
    m.reason = "the worker was killed by signal 9";
    return m.name();
  };
  const auto line = [](const Profile& p, const std::vector<std::string>& allowed = {}) {
    return check_text(Checks{.files = {{"a.json", checked(p, allowed)}}, .source = "here"}, false,
                      {});
  };
  Profile p = reference();
  const std::string card = fail(p, p.devices[0].uuid);
  EXPECT_THAT(line(p), testing::StartsWith("FAIL  gpu0 (H200): 1 measurement failed: " + card +
                                           ". First reason: the worker was killed by signal 9"));
  EXPECT_THAT(line(p, {"gpu0/health/failed"}),
              testing::AllOf(testing::StartsWith("PASS"),
                             HasSubstr("; gpu0: 1 measurement failed: " + card)));
  p.devices[0].xids = {79};
  EXPECT_THAT(line(p), testing::AllOf(HasSubstr("Xid 79"),
                                      HasSubstr("; gpu0: 1 measurement failed: " + card)));
  Profile of_host = reference();
  const std::string host = fail(of_host, kHostDevice);
  EXPECT_THAT(line(of_host),
              testing::StartsWith("WARN  host: 1 measurement failed: " + host + ". First reason"));
}

TEST(CheckText, GivesSeveralGroupsOneSharedReason) {
  const auto line = [](bool tensor) {
    const Profile profile = changed([&](Profile& p) {
      p.devices[0].name = "NVIDIA A100";
      p.devices[0].compute_major = 8;
      if (!tensor)
        std::erase_if(p.ceilings, [](const auto& c) { return part_of(c.resource) == "tensor"; });
    });
    return check_sentence(Checks{.files = {{"a.json", checked(profile)}}, .source = "here"});
  };
  const std::string open = "gpu0 (A100): memory, compute, Tensor Cores, PCIe not judged";
  EXPECT_EQ(line(true), open + ": none below its floor");
  EXPECT_EQ(line(false), open);
}

TEST(Check, APrecisionThatIsFasterAccusesNoOther) {
  const CheckResult result = checked(with_scaled("tensor.fp8", Basis::kBurst, 1.25));
  EXPECT_EQ(result.verdict(), Outcome::kWarn);
  EXPECT_THAT(reasons(result),
              testing::Each(testing::AllOf(
                  testing::StartsWith("warn gpu0/tensor."),
                  testing::EndsWith("FP8 Tensor Cores burst is faster than on healthy cards"))));
}

TEST(Check, ALinkBelowItsFloorFailsWhateverNeighboursDo) {
  Profile unknown = changed([](Profile& p) {
    p.devices[0].name = "NVIDIA A100";
    p.devices[0].compute_major = 8;
  });
  const CheckResult healthy = checked(unknown);
  const std::vector<Judged>& rules = healthy.devices.at(0).rules;
  const auto link = find_rule(rules, "gpu0/pcie.h2d/measured");
  ASSERT_EQ(link->found->by.kind, YardstickKind::kFloor);
  ceiling(unknown, "pcie.h2d", Basis::kMeasured).value = 0.95 * link->found->by.centre;
  EXPECT_EQ(checked(unknown).verdict(), Outcome::kFail);
}

// Facts count where a profile lacks the finding that follows from them. tests/cli/mutants_test.py
// draws losses of each figure, and what a run lacks or contradicts itself in.
TEST(Check, FactsThatSpeakAgainstTheCardCount) {
  const std::pair<std::function<void(DeviceFacts&)>, const char*> kFacts[] = {
      {[](DeviceFacts& d) { d.sm_count = 130; }, "fail gpu0/sm_count: SMs: 130, other cards 132"},
      {[](DeviceFacts& d) { *d.memory_bytes /= 2; }, "fail gpu0/memory"},
      {[](DeviceFacts& d) { d.ecc_enabled = false; }, "fail gpu0/ecc"},
      {[](DeviceFacts& d) { d.power_limit_w = 600; }, "fail gpu0/power_limit"},
      {[](DeviceFacts& d) { d.pcie.width = 8; }, "fail gpu0/pcie_width"},
      {[](DeviceFacts& d) { d.mig_enabled = true; }, "cannot_judge gpu0/mig"},
      {[](DeviceFacts& d) { d.sm_count.reset(); }, "cannot_judge gpu0/sm_count"},
      {[](DeviceFacts& d) { d.ecc_enabled.reset(); }, "cannot_judge gpu0/ecc"},
      {[](DeviceFacts& d) { d.power_limit_w.reset(); }, "cannot_judge gpu0/power_limit"},
      {[](DeviceFacts& d) { d.pcie_read_under_load = false; }, "cannot_judge gpu0/pcie"},
      {[](DeviceFacts& d) { d.after.ecc.uncorrected.reset(); }, "cannot_judge gpu0/health"},
      {[](DeviceFacts& d) { d.after.remap_pending = true; }, "fail gpu0/health/remap_pending"},
      {[](DeviceFacts& d) { d.after.remap_failed = true; }, "fail gpu0/health/row_remap"},
      {[](DeviceFacts& d) { d.xids = {79}; }, "fail gpu0/health/xid"},
      {[](DeviceFacts& d) {
         d.before.remapped_rows_uncorrectable = 0;
         d.after.remapped_rows_uncorrectable = 1;
       },
       "fail gpu0/health/row_remap"},
      {[](DeviceFacts& d) {
         d.before.remapped_rows_correctable = 2;
         d.after.remapped_rows_correctable = 3;
       },
       "fail gpu0/health/remap_pending"},
      {[](DeviceFacts& d) { d.before.ecc.uncorrected = 0, d.after.ecc.uncorrected = 1; },
       "fail gpu0/health/ecc_errors"},
      {[](DeviceFacts& d) { d.before.ecc.uncorrected = d.after.ecc.uncorrected = 2; },
       "fail gpu0/health/ecc_errors"},
      {[](DeviceFacts& d) {
         d.before.pcie_replays = 5'000'000;
         d.after.pcie_replays = 5'000'001;
       },
       "warn gpu0/health/pcie_replays: The PCIe link sent 1 packet again"},
      {[](DeviceFacts& d) {
         d.before.nvlinks = {{.link = 3, .crc_errors = 1}};
         d.after.nvlinks = {{.link = 3, .crc_errors = 2}};
       },
       "warn gpu0/health/nvlink_errors: Errors during the run on NVLink 3 (1 CRC error)"},
      {[](DeviceFacts& d) { d.fabric = "not started"; }, "warn gpu0/health/fabric_not_ready"},
      {[](DeviceFacts& d) { *d.l2_bytes /= 2; }, "fail gpu0/l2"},
      {[](DeviceFacts& d) { *d.memory_bus_bits /= 2; }, "fail gpu0/memory_bus"},
      {[](DeviceFacts& d) { d.l2_bytes.reset(); }, "cannot_judge gpu0/l2"}};
  for (const auto& [change, found] : kFacts)
    EXPECT_THAT(reasons(checked(changed([&](Profile& p) { change(p.devices[0]); }))),
                testing::Contains(testing::StartsWith(found)));
  // A peakline fault was told as such.
  EXPECT_EQ(checked(changed([](Profile& p) {
              p.devices[0].xids = {13};
              add_finding(p, "xid_of_peakline", Severity::kInfo, "Xid 13");
            })).verdict(),
            Outcome::kPass);
}

TEST(Check, UnknownModelsNeedFactsThatWereRead) {
  const auto not_read = [](const std::function<void(DeviceFacts&)>& forget) {
    Profile profile = reference();
    profile.devices[0].name = "NVIDIA Z1";  // no population, no datasheet
    forget(profile.devices[0]);
    std::vector<std::string> found;
    for (const std::string& reason : reasons(check(profile, {})))
      if (reason.ends_with("not read")) found.push_back(reason);
    return found;
  };
  EXPECT_THAT(not_read([](DeviceFacts&) {}), testing::IsEmpty());
  EXPECT_THAT(not_read([](DeviceFacts& d) {
                d.sm_count.reset();
                d.power_limit_w.reset();
                d.ecc_enabled.reset();
                d.l2_bytes.reset();
              }),
              testing::ElementsAre("cannot_judge gpu0/sm_count: SMs: not read",
                                   "cannot_judge gpu0/power_limit: power limit: not read",
                                   "cannot_judge gpu0/ecc: ECC: not read"));
}

// Rules files may change any rule that a check has.
TEST(Check, LintKnowsTheRulesOfTheReferences) {
  for (const char* name : {"nvidia-h200", "nvidia-h200-x2"}) {
    const CheckOptions options{.populations = bundled_populations()};
    for (const CheckedDevice& device : check(reference(name), options).devices)
      for (const Judged& rule : device.rules)
        EXPECT_EQ(lint({.name = to_string(rule.name)}, options.populations, {}).mistake, "");
  }
}

TEST(Check, PcieBothWaysBelowItsFloorFails) {
  const auto verdict = [](double factor) {
    return checked(with_scaled("pcie.bidirectional", Basis::kMeasured, factor)).verdict();
  };
  EXPECT_EQ(verdict(0.8), Outcome::kWarn);  // other guests
  EXPECT_EQ(verdict(0.5), Outcome::kFail);
  EXPECT_EQ(verdict(0.1), Outcome::kFail);
}

TEST(Check, AMistakeInPeaklineIsNoErrorOfTheCard) {
  EXPECT_EQ(checked(changed([](Profile& p) {
              add_finding(p, "broken_topic", Severity::kError, "Nothing is said of \"L2\"");
            })).verdict(),
            Outcome::kPass);
}

TEST(Check, LinksThatWearFailAVerifyingSoak) {
  const Profile worn = changed([](Profile& p) {
    DeviceFacts& gpu = p.devices[0];
    gpu.before.nvlinks = {{.link = 3, .replays = 1}};
    gpu.after.nvlinks = {{.link = 3, .replays = 4}};
    p.measurements.push_back(
        sample::measurement("soak.memory", {}, Quantity::kByteRate, 4e12, gpu.uuid));
    p.measurements.back().launch = {{"differing_words", std::int64_t{0}}};
  });
  EXPECT_THAT(reasons(checked(worn)),
              testing::Contains(testing::StartsWith("fail gpu0/health/nvlink_errors")));
}

// Four GPUs.
Profile node_of_four() {
  return read_profile(PEAKLINE_SOURCE_DIR
                      "/reports/reference/cards/nvidia-h200/abcd-quick1.json.gz");
}

TEST(Check, PairsThatWereMeasuredDoNotVouchForOthers) {
  EXPECT_EQ(checked(node_of_four()).verdict(), Outcome::kPass);
  Profile lacking = node_of_four();
  std::erase_if(lacking.ceilings, [](const Ceiling& row) {
    return row.resource.ends_with("write.1-2") || row.resource.ends_with("write.2-1");
  });
  EXPECT_EQ(checked(lacking).verdict(), Outcome::kCannotJudge);
  EXPECT_THAT(reasons(checked(lacking)),
              testing::ElementsAre(
                  "cannot_judge node/nvlink.write.1-2/measured: NVLink write 1-2: not measured",
                  "cannot_judge node/nvlink.write.2-1/measured: NVLink write 2-1: not measured"));
  lacking.missing_ceilings.push_back({.device = std::string(kNodeDevice),
                                      .resource = "nvlink.write.2-1",
                                      .why = Absence::kSkipped,
                                      .reason = "skipped: access is refused"});
  EXPECT_EQ(checked(lacking).verdict(), Outcome::kFail);
  EXPECT_EQ(reasons(checked(lacking)).at(0),
            "fail node/nvlink.write.2-1/measured: NVLink write 2-1: skipped: access is refused");
  // Nothing is expected of pairs without NVLinks.
  lacking.missing_ceilings.clear();
  for (DeviceFacts& gpu : lacking.devices)
    for (PeerFacts& peer : gpu.peers)
      if (gpu.index + peer.index == 3) peer.nvlinks = 0;
  EXPECT_EQ(checked(lacking).verdict(), Outcome::kPass);
}

TEST(Check, MemoryThatASoakCouldNotTestIsNotJudged) {
  expect_only(checked(changed([](Profile& p) {
                add_finding(p, "memory_untested", Severity::kWarning, "The soak tested 14 GiB");
              })),
              Outcome::kCannotJudge,
              "cannot_judge gpu0/health/memory_untested: The soak tested 14 GiB");
}

TEST(Check, AThermalLimitOnlyWarns) {
  expect_only(checked(changed([](Profile& p) {
                add_finding(p, "thermal_limit", Severity::kWarning, "The device overheated");
              })),
              Outcome::kWarn, "warn gpu0/health/thermal_limit: The device overheated");
}

TEST(Check, APartitionedNeighbourNeedsNoLinks) {
  const Profile& pair = reference("nvidia-h200-x2");
  Profile partitioned = pair;
  partitioned.devices[1].mig_enabled = true;
  const auto of_links = [](const Profile& profile) {
    int rules = 0;
    for (const CheckedDevice& device : checked(profile).devices)
      for (const Judged& rule : device.rules) rules += rule.group == RuleGroup::kGpuLinks ? 1 : 0;
    return rules;
  };
  EXPECT_GT(of_links(pair), 0);
  EXPECT_EQ(of_links(partitioned), 0);
}

TEST(Check, LinksThatLeadNowhereAreNotExpected) {
  const auto verdict = [](Profile profile, const char* model, std::size_t with_links_down) {
    for (std::size_t i = 0; i < profile.devices.size(); ++i) {
      DeviceFacts& gpu = profile.devices[i];
      gpu.name = model;
      gpu.nvlinks.count = 2;
      if (i < with_links_down) gpu.nvlinks.down = {0, 1};
    }
    const std::vector<Judged> rules = checked(profile).devices.at(0).rules;
    const auto links = find_rule(rules, "gpu0/nvlinks");
    return links == rules.end() ? Outcome::kPass : links->outcome;
  };
  const Profile& pair = reference("nvidia-h200-x2");
  // A GPU of a baseboard, alone in a virtual machine; cards without bridges.
  EXPECT_EQ(verdict(reference(), "NVIDIA H200", 1), Outcome::kPass);
  EXPECT_EQ(verdict(pair, "NVIDIA H100 PCIe", 2), Outcome::kPass);
  EXPECT_EQ(verdict(pair, "NVIDIA H100 PCIe", 1), Outcome::kFail);
  EXPECT_EQ(verdict(pair, "NVIDIA H200", 2), Outcome::kFail);
}

TEST(Check, WrongDataBetweenGpusFailBothOfThem) {
  const auto with = [](const char* pair) {
    return checked(changed([&](Profile& p) {
      Measurement m = p.measurements.front();
      m.id = "soak.pairs";
      m.device = kNodeDevice;
      m.params = {{"pair", pair}};
      m.verified = false;
      p.measurements.push_back(std::move(m));
    }));
  };
  for (const char* pair : {"0-3", "3-0"})
    expect_only(
        with(pair), Outcome::kFail,
        std::string("fail gpu0/health/pairs: copies between this GPU and GPU 3 arrive with "
                    "wrong data: either of the two or the link is faulty (soak.pairs/pair:") +
            pair + ")");
  EXPECT_EQ(with("2-3").verdict(), Outcome::kPass);
}

TEST(Check, ReasonsCanBeExcused) {
  const Profile slow = changed([](Profile& p) { p.devices[0].sm_count = 130; });
  const CheckResult result = checked(slow, {"gpu0/sm_count", "gpu0/ecc"});
  EXPECT_EQ(result.verdict(), Outcome::kPass);
  EXPECT_THAT(reasons(result), testing::ElementsAre(HasSubstr("excused gpu0/sm_count")));
  EXPECT_THAT(result.unused, testing::ElementsAre("gpu0/ecc"));
}

// Checks a profile by a site's rules.
CheckResult by_rules(const std::vector<RuleChange>& changes, const Profile& profile = reference()) {
  return check(profile, {.populations = bundled_populations(), .changes = changes});
}

TEST(CheckRules, ALimitOfTheSiteCountsInsteadOfThePopulations) {
  Profile copy = reference();
  const double value = ceiling(copy, "hbm.write", Basis::kMeasured).value;
  const CheckResult tight =
      by_rules({{.name = "hbm.write/measured", .limit = value * 1.01, .reason = "the contract"}});
  EXPECT_EQ(tight.verdict(), Outcome::kFail);
  EXPECT_THAT(reasons(tight).at(0),
              testing::MatchesRegex("fail gpu0/hbm.write/measured: HBM write: 47.. GB/s, limit "
                                    "47.. GB/s by the rules: the contract"));
  // A site's rule may accept a loss of 20 % on one GPU.
  const Profile slow = with_slow_writes(0.85);
  const RuleChange loose{.name = "gpu0/hbm.write/measured", .loss = 0.2, .reason = "shared"};
  EXPECT_EQ(by_rules({loose}, slow).verdict(), Outcome::kPass);
  RuleChange other = loose;
  other.name = "gpu1/hbm.write/measured";
  EXPECT_EQ(by_rules({other}, slow).verdict(), Outcome::kFail);
  RuleChange quick = loose;
  quick.mode = "quick";
  EXPECT_EQ(by_rules({quick}, slow).verdict(), Outcome::kFail);
  EXPECT_THAT(by_rules({quick}, slow).unused, testing::IsEmpty());
}

TEST(CheckRules, ARuleIsLeftOutOrOnlyWarnsWithItsReason) {
  const Profile slow = changed([](Profile& p) { p.devices[0].sm_count = 130; });
  const auto with = [&](Outcome outcome) {
    return by_rules({{.name = "sm_count", .outcome = outcome, .reason = "a test chip"}}, slow);
  };
  EXPECT_THAT(reasons(with(Outcome::kWarn)),
              testing::ElementsAre("warn gpu0/sm_count: SMs: 130, other cards 132; only warns by "
                                   "the rules: a test chip"));
  EXPECT_EQ(with(Outcome::kWarn).verdict(), Outcome::kWarn);
  EXPECT_THAT(reasons(with(Outcome::kExcused)),
              testing::ElementsAre("excused gpu0/sm_count: SMs: 130, other cards 132; left out by "
                                   "the rules: a test chip"));
}

TEST(CheckRules, ALimitOnAFactIsNamed) {
  EXPECT_THAT(
      reasons(by_rules({{.name = "power_limit", .limit = 800, .reason = "the contract"}})),
      testing::ElementsAre(
          "fail gpu0/power_limit: power limit: 700 W, limit 800 W by the rules: the contract"));
}

TEST(CheckRules, ANarrowerRuleCountsInAnyOrder) {
  const RuleChange of_all{.name = "hbm.write/measured", .limit = 4e12, .reason = "all"};
  RuleChange of_one{.name = "gpu0/hbm.write/measured", .limit = 9e12, .reason = "one"};
  EXPECT_EQ(by_rules({of_all, of_one}).verdict(), Outcome::kFail);
  EXPECT_EQ(by_rules({of_one, of_all}).verdict(), Outcome::kFail);
  of_one.name = of_all.name;
  of_one.mode = reference().mode;
  EXPECT_EQ(by_rules({of_one, of_all}).verdict(), Outcome::kFail);
  // Another mode's rule of the name changes nothing.
  RuleChange absent{
      .name = "gpu9/hbm.write/measured", .limit = 1e12, .mode = "quick", .reason = "a"};
  EXPECT_EQ(by_rules({absent}).verdict(), Outcome::kPass);
  RuleChange asked = absent;
  asked.mode = reference().mode;
  EXPECT_EQ(by_rules({absent, asked}).verdict(), Outcome::kCannotJudge);
}

TEST(CheckRules, ALimitIsAddedWhereNoPopulationHasOne) {
  const Profile other = changed([](Profile& p) { p.devices[0].name = "NVIDIA A100"; });
  const auto limited = [&](double limit, std::string name = "hbm.write/measured") {
    std::vector<RuleChange> changes = {
        {.name = std::move(name), .limit = limit, .reason = "the contract"}};
    for (const char* group : {"compute", "tensor", "host_link"})
      changes.push_back({.name = std::string("coverage/") + group,
                         .outcome = Outcome::kExcused,
                         .reason = "own limits"});
    return by_rules(changes, other);
  };
  // It vouches for its figure, not for the group.
  const CheckResult one = limited(1e12);
  EXPECT_EQ(one.verdict(), Outcome::kCannotJudge);
  EXPECT_THAT(reasons(one), testing::Contains("cannot_judge gpu0/coverage/memory: only 1 of 11 "
                                              "figures known"));
  EXPECT_EQ(limited(9e12).verdict(), Outcome::kFail);
  EXPECT_THAT(ids_to_measure_again(limited(9e12)), testing::ElementsAre("hbm.write"));
  EXPECT_EQ(limited(1, "tensor.fp4/burst").verdict(), Outcome::kCannotJudge);
}

TEST(CheckRules, ALimitThatNothingCanBeHeldAgainstIsNotJudged) {
  const auto first_reason = [](RuleChange change, const Profile& profile) {
    change.reason = "the contract";
    const CheckResult result = by_rules({change}, profile);
    EXPECT_THAT(result.unused, testing::IsEmpty());
    const Judged* const worst = result.worst();
    return fmt::format("{} {}: {}", to_string(worst->outcome), to_string(worst->name),
                       describe(*worst));
  };
  EXPECT_EQ(
      first_reason({.name = "gpu9/hbm.read/measured", .limit = 1e9}, reference()),
      "cannot_judge gpu9/hbm.read/measured: not measured; the rules ask for it: the contract");
  EXPECT_EQ(
      first_reason({.name = "gpu9/hbm.read/measured", .loss = 0.02}, reference()),
      "cannot_judge gpu9/hbm.read/measured: not measured; the rules ask for it: the contract");
  EXPECT_EQ(first_reason({.name = "node/nvlink.read/measured", .limit = 1e9}, reference()),
            "cannot_judge node/nvlink.read/measured: not measured; the rules ask for it: the "
            "contract");
  // A share of what healthy cards reach needs some that are known.
  const Profile unknown = changed([](Profile& p) { p.devices[0].name = "NVIDIA A100"; });
  const CheckResult result =
      by_rules({{.name = "hbm.read/measured", .loss = 0.02, .reason = "the contract"}}, unknown);
  EXPECT_THAT(reasons(result),
              testing::Contains(testing::MatchesRegex(
                  "cannot_judge gpu0/hbm.read/measured: no healthy ones are known, and the rules "
                  "ask for it: the contract: HBM read: .*")));
}

TEST(CheckRules, ALimitOfNoDeviceAsksEachForItsOwn) {
  const Profile& pair = reference("nvidia-h200-x2");
  const auto judged = [&](std::string name) {
    const CheckResult result =
        by_rules({{.name = std::move(name), .limit = 1e9, .reason = "the contract"}}, pair);
    EXPECT_NE(result.verdict(), Outcome::kCannotJudge);
    std::vector<std::string> names;
    for (const CheckedDevice& device : result.devices)
      for (const Judged& rule : device.rules)
        if (rule.reason == "the contract") names.push_back(to_string(rule.name));
    return names;
  };
  EXPECT_THAT(
      judged("pcie.bidirectional/measured"),
      testing::ElementsAre("gpu0/pcie.bidirectional/measured", "gpu1/pcie.bidirectional/measured"));
  for (const std::string name : {"nvlink.read/measured", "pcie.concurrent.h2d/measured"})
    EXPECT_THAT(judged(name), testing::ElementsAre("node/" + name));
}

TEST(Check, WhatPassesTheSecondTimeWarns) {
  struct Case {
    Profile profile;
    const char *still, *passes;  // parts of the reason after each measurement
  };
  for (const auto& [profile, still, passes] :
       {Case{with_slow_writes(0.9), "; before: 42", "warn gpu0/hbm.write/measured: HBM write: 47"},
        {stepped(0.06), "fail gpu0/tensor.bf16/burst/steady",
         "warn gpu0/tensor.bf16/burst/steady"}}) {
    CheckResult result = checked(profile);
    confirm(result, checked(profile));
    EXPECT_EQ(result.verdict(), Outcome::kFail);
    EXPECT_THAT(reasons(result).at(0), HasSubstr(still));
    confirm(result, checked(reference()));
    EXPECT_EQ(result.verdict(), Outcome::kWarn);
    EXPECT_THAT(reasons(result).at(0), HasSubstr(passes));
  }
}

TEST(Check, UnsteadyStaysWithoutASecondFigure) {
  CheckResult result = checked(stepped(0.06));
  confirm(result, checked(changed([](Profile& p) {
            std::erase_if(p.ceilings, [](const Ceiling& row) {
              return row.resource == "tensor.bf16" && row.basis == Basis::kBurst;
            });
          })));
  EXPECT_EQ(result.verdict(), Outcome::kFail);
}

TEST(Check, ASecondMeasurementHasAllPrecisions) {
  const CheckResult result = checked(with_scaled("tensor.bf16", Basis::kBurst, 0.9));
  EXPECT_THAT(ids_to_measure_again(result),
              testing::IsSupersetOf({"gemm.bf16", "gemm.fp16", "gemm.fp8", "gemm.tf32"}));
}

TEST(Check, ASecondMeasurementIsOfWhatFails) {
  const Profile slow = with_slow_writes(0.9);
  std::vector<std::string> filters;
  const auto twice = [&](const Profile& first, const Profile& second) {
    return check_twice([&](const std::string& filter) -> Attempt {
      filters.push_back(filter);
      return {checked(filters.size() % 2 == 1 ? first : second)};
    });
  };
  EXPECT_EQ(twice(slow, slow).verdict(), Outcome::kFail);
  EXPECT_EQ(twice(slow, reference()).verdict(), Outcome::kWarn);
  EXPECT_EQ(twice(reference(), slow).verdict(), Outcome::kPass);
  EXPECT_THAT(filters,
              testing::ElementsAre("", "^(hbm\\.write)(/|$)", "", "^(hbm\\.write)(/|$)", ""));
}

TEST(Check, WhatIsStoppedNeitherPassesNorFails) {
  const Profile slow = changed([](Profile& p) {
    sample::scale(p, "hbm.write", Basis::kMeasured, 0.9);
    sample::scale(p, "hbm.read", Basis::kMeasured, 0.8);
  });
  Profile partial = slow;
  partial.complete = false;
  // Stops the first or the second measurement, whatever the second has found.
  for (const std::size_t stopped_at : {1u, 2u}) {
    for (const Profile* second : {&slow, &reference()}) {
      std::size_t attempts = 0;
      const CheckResult result = check_twice([&](const std::string&) -> Attempt {
        ++attempts;
        const Profile& first = stopped_at == 1 ? partial : slow;
        return {checked(attempts == 1 ? first : *second), attempts == stopped_at};
      });
      EXPECT_EQ(attempts, stopped_at);
      EXPECT_EQ(result.verdict(), Outcome::kCannotJudge);
      EXPECT_THAT(reasons(result),
                  testing::Contains(testing::StartsWith("cannot_judge gpu0/hbm.write/measured: no "
                                                        "time to confirm: HBM write: 42")));
      const std::string text = check_text({.files = {{"", result}}, .source = "here"}, false, {});
      EXPECT_THAT(text,
                  testing::StartsWith(stopped_at == 1
                                          ? "CANNOT JUDGE  gpu0 (H200): the run ended early\n"
                                          : "CANNOT JUDGE  gpu0 (H200): no time to confirm: HBM"));
    }
  }
}

TEST(Check, ACeilingOfALostPointIsNotJudged) {
  const CheckResult result = checked(changed([](Profile& p) {
    p.complete = false;
    miss_writes(p, Absence::kFailed, "no such points");
  }));
  EXPECT_EQ(result.verdict(), Outcome::kCannotJudge);
}

TEST(Check, FailsWithoutASecondMeasurementIfStopped) {
  const Profile partial = changed([](Profile& p) {
    p.complete = false;
    p.devices[0].sm_count = 130;
  });
  const CheckResult result = check_twice([&](const std::string&) -> Attempt {
    return {checked(partial), true};
  });
  EXPECT_EQ(result.verdict(), Outcome::kFail);
}

TEST(CheckText, FailNamesWhoWhatAndHowManyUncut) {
  const Profile slow = changed([](Profile& p) {
    for (const char* resource : {"hbm.copy", "hbm.read", "hbm.write"})
      sample::scale(p, resource, Basis::kMeasured,
                    resource == std::string("hbm.copy") ? 0.85 : 0.92);
  });
  Checks checks{.files = {{"", checked(slow)}}, .source = "here"};
  const auto line = [&] { return terminal_text(check_line(checks), false); };
  EXPECT_EQ(line(),
            "FAIL  gpu0 (H200): HBM copy (read + write) 15.0 % below healthy, and 2 more\n");
  const auto on = [](const char* uuid, Profile profile) {
    sample::rename(profile, std::string(profile.devices[0].uuid), uuid);
    return checked(profile);
  };
  checks.files = {{"a/node1.json", on("GPU-a", reference())}, {"a/node2.json.gz", checked(slow)}};
  EXPECT_EQ(
      line(),
      "FAIL  node2 gpu0 (H200): HBM copy (read + write) 15.0 % below healthy, and 2 more; the "
      "other GPU passes\n");
  // The slowest counts in any order, and a card once.
  checks.files.insert(checks.files.begin(), {"a/node0.json", on("GPU-b", with_slow_writes(0.9))});
  checks.files.push_back({"a/node2-again.json", checked(slow)});
  EXPECT_EQ(
      line(),
      "FAIL  node2 gpu0 (H200): HBM copy (read + write) 15.0 % below healthy, and 2 more; 1 more "
      "GPU fails: node0 gpu0; 1 of 2 other GPUs passes\n");
  // Cards whose files have one name are cards of their own.
  checks.files = {{"a/x.json", checked(slow)},
                  {"b/x.json", on("GPU-a", reference())},
                  {"c/x.json", on("GPU-b", with_slow_writes(0.9))},
                  {"d/x.json", on("GPU-c", reference())}};
  EXPECT_THAT(line(), testing::EndsWith("; 1 more GPU fails: x gpu0; 2 of 3 other GPUs pass\n"));
}

TEST(CheckText, LinksOfAMachineAreCountedOnce) {
  Profile slow = sample::reference("nvidia-h200-x2");
  sample::scale(slow, 0.6, [](const Ceiling& row) { return row.resource.starts_with("nvlink."); });
  const Checks checks{.files = {{"n1.json", checked(slow)}, {"n2.json", checked(slow)}},
                      .source = "here"};
  EXPECT_THAT(terminal_text(check_line(checks), false),
              testing::AllOf(testing::StartsWith("FAIL  n1 node: NVLink "),
                             testing::EndsWith("; each GPU by itself passes\n")));
}

TEST(CheckText, OtherUsersAreNamedOnceWithAdvice) {
  const Profile disturbed = changed([](Profile& p) {
    for (const char* resource : {"hbm.copy", "hbm.read", "hbm.write"})
      sample::scale(p, resource, Basis::kMeasured, 0.8);
    p.devices[0].processes = {{.pid = 4711, .name = "python3", .memory_bytes = {}}};
  });
  const Checks checks{.files = {{"", checked(disturbed)}}, .source = "here"};
  const std::string text = check_text(checks, false, {.width = 200});
  EXPECT_THAT(
      text.substr(text.find('\n')),
      testing::AllOf(HasSubstr("  gpu0: python3 (4711) used GPU 0 too: free the GPU and run "
                               "peakline check again; "),
                     testing::Not(testing::ContainsRegex("used GPU.*\n.*used GPU"))));
}

TEST(CheckText, NamesTheFileWithoutAGpu) {
  const Checks checks{.files = {{"a.json", checked(reference())}, {"b.json", checked({})}},
                      .source = "here"};
  EXPECT_EQ(check_sentence(checks, false), "no GPU in b.json");
}

TEST(CheckText, NamesAllModelsAndWhatIsExcused) {
  Profile unusable = node_of_four();
  unusable.devices[2].unusable = "lost";
  const Checks checks{
      .files = {{"a.json", checked(unusable, {"gpu2"})}, {"b.json", checked(changed([](Profile& p) {
                                                            p.devices[0].name = "NVIDIA H200 NVL";
                                                          }))}},
      .source = "here"};
  EXPECT_THAT(check_sentence(checks, false),
              testing::AllOf(testing::StartsWith("5 GPUs, NVIDIA H200, NVIDIA H200 NVL (by"),
                             testing::EndsWith("; no verdict on gpu2")));
}

Profile two_gpus(const std::function<void(Profile&)>& change) {
  Profile profile = reference("nvidia-h200-x2");
  change(profile);
  return profile;
}

TEST(Check, FasterPairsAreNoLessImplausible) {
  const CheckResult result = checked(two_gpus([](Profile& p) {
    const std::string fastest = ceiling(p, "nvlink.read", Basis::kMeasured).measurement;
    sample::scale(p, 1.2, [&](const Ceiling& row) { return row.measurement == fastest; });
  }));
  EXPECT_EQ(result.verdict(), Outcome::kCannotJudge);
  EXPECT_THAT(reasons(result), testing::ElementsAre(HasSubstr("node/nvlink.read/measured: impl")));
}

TEST(Check, ClocksAreSeenUpToTheSecondStep) {
  for (const auto& [resource, basis] :
       {std::pair("cuda_core.fp32", Basis::kBurst), std::pair("shared.read", Basis::kMeasured)})
    for (const auto& [clock_hz, verdict] :
         {std::pair(2.01e9, Outcome::kPass), std::pair(3e9, Outcome::kCannotJudge)}) {
      const Profile p = changed([&, id = resource, b = basis, hz = clock_hz](Profile& profile) {
        profile.devices[0].sm_clock_step_hz = 15e6;
        profile.devices[0].sm_clock_seen_max_hz = hz;
        const double theory =
            find_ceiling(profile.ceilings, profile.devices[0].uuid, id, Basis::kTheoretical)->value;
        sample::scale(profile, id, b, 1.01 * theory / ceiling(profile, id, b).value);
      });
      EXPECT_EQ(checked(p).verdict(), verdict) << resource << clock_hz;
    }
}

TEST(Check, AMaximumStatedAStepHigherExcusesRates) {
  const Profile p = changed([](Profile& profile) {
    profile.devices[0].sm_clock_step_hz = 15e6;
    profile.devices[0].sm_clock_max_hz = *profile.devices[0].sm_clock_max_hz + 15e6;
    const double theory =
        find_ceiling(profile.ceilings, profile.devices[0].uuid, "shared.read", Basis::kTheoretical)
            ->value;
    sample::scale(profile, "shared.read", Basis::kMeasured,
                  1.007 * theory / ceiling(profile, "shared.read", Basis::kMeasured).value);
  });
  EXPECT_EQ(checked(p).verdict(), Outcome::kPass);
}

TEST(CheckRules, OneLimitVouchesForNoLinks) {
  const Profile unknown = two_gpus([](Profile& p) {
    for (DeviceFacts& gpu : p.devices) {
      gpu.name = "NVIDIA B999";
      gpu.compute_major = 10;
    }
  });
  const std::vector<RuleChange> changes = {{.name = "nvlink.read/measured", .limit = 3e11}};
  const CheckResult result = check(
      unknown,
      {.populations = bundled_populations(), .changes = changes, .donors = bundled_populations()});
  EXPECT_THAT(reasons(result), testing::Contains(HasSubstr("node/coverage/gpu_links: only 1 of")));
}

}  // namespace
}  // namespace peakline
