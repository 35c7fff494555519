#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/compare.hpp"
#include "harness/profile/population_file.hpp"
#include "harness/show/compare.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/unsteady.hpp"

namespace peakline {
namespace {

using sample::at;
using sample::each;
using sample::everywhere;
using sample::gpu;
using sample::run_with;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

Gate gate_of(const std::vector<Profile>& base, const std::vector<Profile>& next,
             std::vector<std::string> allowed = {}) {
  return compare(base, next, {.allowed = std::move(allowed)}).gate;
}

// "code name" of each.
std::vector<std::string> reasons(const Gate& gate) {
  std::vector<std::string> all;
  for (const Judged& r : gate.reasons)
    all.push_back(std::string(to_string(r.kind)) + ' ' + to_string(r.name));
  return all;
}

// The gate's reasons against the sample after this change.
std::vector<std::string> reasons_of(const sample::Change& change) {
  return reasons(gate_of({sample::h200_run()}, {run_with(change)}));
}
// Of a change that does not fail in comparison with itself.
std::vector<std::string> reasons_after(const sample::Change& change) {
  const Profile next = run_with(change);
  EXPECT_THAT(reasons(gate_of({next}, {next})), IsEmpty());
  return reasons_of(change);
}

void fail(Measurement& m, std::string reason) {
  m.status = Status::kError;
  m.reason = std::move(reason);
  m.value.reset();
  m.summary.reset();
  m.verified.reset();
}

void break_gpu(Profile& p) {
  p.devices[0].unusable = "no permission";
  std::erase_if(p.measurements, [](const Measurement& m) { return m.device != kHostDevice; });
}

void keep_hbm_read(Profile& p) {
  std::erase_if(p.measurements, [](const Measurement& m) { return m.id != "hbm.read"; });
}

void skip_tf32(Profile& p) {
  Measurement& m = sample::find(p, "gemm.tf32/load:burst");
  fail(m, "too little memory");
  m.status = Status::kSkipped;
}

// A quick run, which leaves a benchmark out.
void be_quick(Profile& p) {
  p.mode = "quick";
  std::erase_if(p.measurements,
                [](const Measurement& m) { return m.id.starts_with("divergence"); });
}

TEST(Gate, NamesWhatIsLostOrLess) {
  using Reasons = std::vector<std::string>;
  const Reasons no_tf32 = {"missing gpu0/tensor.tf32/burst", "missing gpu0/gemm.tf32"},
                skipped_tf32 = {"not_measured gpu0/tensor.tf32/burst",
                                "not_measured gpu0/gemm.tf32"};
  const std::pair<sample::Change, Reasons> changes[] = {
      {break_gpu, {"device_unusable gpu0"}},
      {skip_tf32, skipped_tf32},
      {at("gemm.tf32/load:burst", [](auto& m) { m.flags.implausible = true; }), no_tf32},
      {at("launch.submit", [](auto& m) { m.verified = false; }), {"failed gpu0/launch.submit"}},
      {each("hbm.read", [](auto& m) { m.method_version = 7; }), {"method_changed gpu0/hbm.read"}},
      {each("launch.submit", [](auto& m) { m.method_version = 7; }),
       {"method_changed gpu0/launch.submit"}},
      {gpu([](auto& d) { d.xids = {79}; }), {"health gpu0/health/xid"}},
      {gpu([](auto& d) {
         d.before.ecc.uncorrected = 0;
         d.after.ecc.uncorrected = 2;
         d.after.remap_failed = true;
       }),
       {"health gpu0/health/ecc_errors", "health gpu0/health/row_remap"}},
      {gpu([](auto& d) {  // only a warning
         d.before.ecc.corrected = 0;
         d.after.ecc.corrected = 2;
       }),
       {}},
      {gpu([](auto& d) { *d.power_limit_w += 100; }), {}},  // more than before
      {gpu([](auto& d) { d.ecc_enabled.reset(); }), {"fact gpu0/ecc"}},
  };
  for (const auto& row : changes)
    EXPECT_EQ(reasons_after(row.first), row.second) << "row " << &row - changes;

  const std::pair<sample::Change, const char*> less[] = {
      {gpu([](auto& d) { --*d.sm_count; }), "fact gpu0/sm_count"},
      {gpu([](auto& d) { *d.memory_bytes /= 2; }), "fact gpu0/memory"},
      {gpu([](auto& d) { d.ecc_enabled = false; }), "fact gpu0/ecc"},
      {gpu([](auto& d) { *d.power_limit_w -= 100; }), "fact gpu0/power_limit"},
      {gpu([](auto& d) { d.mig_enabled = true; }), "fact gpu0/mig"},
      {gpu([](auto& d) { *d.l2_bytes /= 2; }), "fact gpu0/l2"},
      {gpu([](auto& d) { *d.memory_bus_bits /= 2; }), "fact gpu0/memory_bus"},
      {gpu([](auto& d) { d.pcie.width = 8; }), "fact gpu0/pcie_width"},
  };
  for (const auto& [change, found] : less) EXPECT_THAT(reasons_after(change), Contains(found));

  Profile linked = sample::h200_run();
  linked.devices[0].nvlinks.count = 18;
  Profile down = linked;
  down.devices[0].nvlinks.down = {0};
  EXPECT_THAT(reasons(gate_of({linked}, {down})), Contains("fact gpu0/nvlinks"));

  EXPECT_THAT(reasons_of(sample::remove_gpus), ElementsAre("missing gpu0"));
  EXPECT_THAT(reasons_of([](Profile& p) {
                std::erase_if(p.measurements,
                              [](const Measurement& m) { return m.device == kHostDevice; });
              }),
              ElementsAre("missing host"));
  EXPECT_THAT(reasons_of([](Profile& p) { p.complete = false; }),
              ElementsAre("ended_early machine/run"));
  for (const char* id : {"divergence.lanes", "gemm.skinny.bf16", "launch.graph", "launch.submit"})
    EXPECT_THAT(reasons_of(each(id, [](auto& m) { *m.value *= m.unit == "s" ? 2 : 0.5; })),
                ElementsAre(std::string("slower gpu0/") + id));
}

// Old runs at 1 and 0.5 say nothing of new ones at 0.7.
TEST(Gate, PassesNoGroupThatRunsCannotTellApart) {
  const auto at_speed = [](double speed, std::string_view area) {
    return run_with([=](Profile& p) {
      for (Measurement& m : p.measurements)
        if (m.device == sample::kUuid && m.id.starts_with(area)) sample::scale(m, speed);
    });
  };
  const Gate all = gate_of({at_speed(1, ""), at_speed(0.5, "")},
                           {at_speed(0.7, ""), at_speed(0.7, ""), at_speed(0.7, "")});
  EXPECT_EQ(verdict(all.reasons), Outcome::kCannotJudge);
  const Gate memory = gate_of({at_speed(1, "hbm"), at_speed(0.5, "hbm")}, {at_speed(0.7, "hbm")});
  EXPECT_EQ(verdict(memory.reasons), Outcome::kCannotJudge);
  EXPECT_THAT(reasons(memory), Contains("not_judged gpu0/coverage/memory"));
}

TEST(Gate, JudgesAGpuThatOnlyTheNewSideHas) {
  const std::string uuid = "GPU-00000000-0000-0000-0000-000000000001";
  const auto added = [&](const sample::Change& change) {
    Profile two = sample::reference(), second = two;
    sample::rename(second, std::string(two.devices[0].uuid), uuid);
    second.devices[0].index = 1;
    second.devices[0].nvlinks.count = 18;
    two.devices.push_back(second.devices[0]);
    for (const Measurement& m : second.measurements)
      if (m.device == uuid) two.measurements.push_back(m);
    for (const Ceiling& row : second.ceilings)
      if (row.device == uuid) two.ceilings.push_back(row);
    change(two);
    return reasons(compare(std::vector{sample::reference()}, std::vector{two},
                           {.populations = bundled_populations()})
                       .gate);
  };
  EXPECT_THAT(added([](Profile&) {}), IsEmpty());
  EXPECT_THAT(added([&](Profile& p) {
                for (Ceiling& row : p.ceilings)
                  if (row.device == uuid && !row.measurement.empty()) row.value *= 0.5;
              }),
              Contains("figure gpu1/hbm.read/measured"));
  EXPECT_THAT(added([](Profile& p) { p.devices[1].unusable = "no permission"; }),
              ElementsAre("unusable gpu1"));
}

TEST(Gate, SaysOnceThatADeviceCannotBeMeasured) {
  const Profile good = sample::h200_run();
  EXPECT_THAT(reasons(gate_of({good}, {good, run_with(break_gpu), good})),
              ElementsAre("device_unusable gpu0"));
}

TEST(Gate, SeesTheOneRunOfSeveralThatFailed) {
  const auto good = sample::h200_run();
  const auto bad = run_with(at("launch.submit", [](auto& m) { fail(m, "the launch failed"); }));
  EXPECT_THAT(reasons(gate_of({good, good}, {good, bad})),
              ElementsAre("failed gpu0/launch.submit"));
  EXPECT_TRUE(gate_of({good, bad}, {good, bad}).passed());  // an old run had it too
  EXPECT_THAT(reasons(gate_of({good, bad}, {bad})), ElementsAre("missing gpu0/launch.submit"));
}

TEST(Gate, AnotherVersionMayLackPointsAndBenchmarks) {
  const Profile good = sample::h200_run();
  Profile fewer = good;
  ASSERT_EQ(std::erase_if(fewer.measurements,
                          [](const Measurement& m) { return m.name() == "launch.graph/nodes:1"; }),
            1);
  EXPECT_THAT(reasons(gate_of({good}, {fewer})), ElementsAre("missing gpu0/launch.graph"));
  fewer.software.git_revision = "another";
  EXPECT_THAT(reasons(gate_of({good}, {fewer})), IsEmpty());
  Profile older = good;
  std::erase_if(older.measurements, [](const Measurement& m) { return m.id == "launch.submit"; });
  EXPECT_THAT(reasons(gate_of({good}, {older})), ElementsAre("missing gpu0/launch.submit"));
  older.software.git_revision = "another";
  EXPECT_THAT(reasons(gate_of({good}, {older})), IsEmpty());
  // Neither are its ceilings.
  Profile without = older;
  const auto of_tf32 = [](const Ceiling& row) { return row.measurement.starts_with("gemm.tf32/"); };
  std::erase_if(without.measurements, [](const Measurement& m) { return m.id == "gemm.tf32"; });
  ASSERT_GT(std::erase_if(without.ceilings, of_tf32), 0);
  const CompareResult result = compare(std::vector{good}, std::vector{without}, {});
  EXPECT_THAT(reasons(result.gate), IsEmpty());
  EXPECT_THAT(result.devices[0].only_base, Contains("tensor.tf32/sustained"));
  // Those of a benchmark that it has are missed.
  without.measurements = older.measurements;
  EXPECT_THAT(reasons(gate_of({good}, {without})), Contains("missing gpu0/tensor.tf32/sustained"));
  // Points of a benchmark that it has are missed.
  for (Measurement& m : older.measurements)
    if (m.id == "gemm.tf32") m.status = Status::kError;
  EXPECT_THAT(reasons(gate_of({good}, {older})), Contains("failed gpu0/gemm.tf32"));
}

TEST(Gate, SeesWhatSomeOfSeveralRunsLack) {
  const auto good = sample::h200_run();
  const Profile without_gpu = run_with(sample::remove_gpus);
  const Gate gone = gate_of({good, good}, {good, without_gpu, without_gpu});
  EXPECT_THAT(reasons(gone), ElementsAre("missing gpu0"));
  // An old run lacked it too.
  EXPECT_TRUE(gate_of({good, without_gpu}, {good, without_gpu}).passed());
  const Profile skipped = run_with(skip_tf32);
  EXPECT_THAT(reasons(gate_of({good}, {good, skipped})),
              ElementsAre("not_measured gpu0/tensor.tf32/burst", "not_measured gpu0/gemm.tf32"));
  EXPECT_TRUE(gate_of({good, skipped}, {good, skipped}).passed());
  const auto unverified = run_with(at("launch.submit", [](auto& m) { m.verified.reset(); }));
  EXPECT_THAT(reasons(gate_of({good}, {good, unverified})),
              ElementsAre("unverified gpu0/verification"));
  // A quick run may lack what quick mode omits.
  EXPECT_TRUE(gate_of({good}, {good, run_with(be_quick)}).passed());
}

TEST(Gate, SeesALossThatComesAndGoes) {
  const auto good = sample::h200_run();
  auto slow = good;
  sample::scale(slow, "hbm.read", Basis::kMeasured, 0.94);
  const Gate gate = gate_of({good, good}, {slow, good, good, good});
  EXPECT_THAT(reasons(gate), ElementsAre("unsteady gpu0/hbm.read/measured"));
}

TEST(Gate, AsksOfARunWhatItWasAskedFor) {
  const auto good = sample::h200_run();
  Profile without_gpu = run_with(sample::remove_gpus);
  without_gpu.asked.devices = kNoDevices;
  EXPECT_TRUE(gate_of({good}, {good, without_gpu}).passed());
  without_gpu.asked.devices.clear();
  EXPECT_FALSE(gate_of({good}, {good, without_gpu}).passed());
  Profile only_hbm = run_with(keep_hbm_read);
  only_hbm.asked.filter = "^hbm.read";
  EXPECT_TRUE(gate_of({good}, {good, only_hbm}).passed());
  // Runs with one filter each have what it selects.
  auto base = only_hbm, lost = only_hbm;
  lost.measurements.pop_back();
  EXPECT_FALSE(gate_of({base}, {only_hbm, sample::derived(lost)}).passed());
}

TEST(Gate, SeesWhatOneOfSeveralQuickRunsLacksOfAFullOne) {
  const Profile quick = run_with(be_quick);
  Profile lost = quick;
  std::erase_if(lost.measurements, [](const Measurement& m) { return m.id == "launch.submit"; });
  const auto full = sample::h200_run();
  EXPECT_TRUE(gate_of({full}, {quick, quick}).passed());
  const Gate gate = gate_of({full}, {quick, lost, quick});
  EXPECT_THAT(reasons(gate), ElementsAre("missing gpu0/launch.submit"));
  EXPECT_EQ(gate.reasons[0].text, "1 point missing: not in 1 of 3 new profiles");
}

TEST(Gate, SeesAnotherCardAmongTheNewRuns) {
  const auto good = sample::h200_run();
  const auto other = run_with([](Profile& p) {
    sample::rename(p, sample::kUuid, "GPU-00000000-0000-0000-0000-000000000001");
  });
  EXPECT_THAT(reasons(gate_of({good}, {other, good})), Contains("missing gpu0"));
}

// As in profiles from before clocks above the stated maximum were accepted.
TEST(Gate, ImplausibleWithoutAClockCannotBeJudged) {
  const auto flagged = [](double ratio, bool has_clock, int compute_major = 9) {
    return run_with([&](Profile& p) {
      p.devices[0].compute_major = compute_major;
      Measurement& m = sample::find(p, "gemm.tf32/load:burst");
      m.flags.implausible = true;
      *m.value *= ratio;
      if (!has_clock) m.conditions.sm_clock_hz.reset();
    });
  };
  const auto of = [](const Profile& next) { return gate_of({sample::h200_run()}, {next}); };
  const auto unclocked =
      ElementsAre("clock_unknown gpu0/tensor.tf32/burst", "clock_unknown gpu0/gemm.tf32");
  const auto missing = ElementsAre("missing gpu0/tensor.tf32/burst", "missing gpu0/gemm.tf32");
  EXPECT_THAT(reasons(of(flagged(1.0076, false))), unclocked);
  EXPECT_THAT(reasons(of(flagged(1.015, false))), unclocked);
  EXPECT_THAT(reasons(of(flagged(1.03, false))), missing);
  EXPECT_THAT(reasons(of(flagged(1.0076, true))), missing);
  EXPECT_THAT(reasons(of(flagged(1.0076, false, 13))), missing);
  const Profile next = flagged(1, false);
  EXPECT_EQ(compare(std::vector{sample::h200_run()}, std::vector{next}, {}).verdict(),
            "cannot_judge");
}

TEST(Gate, WhatAQuickRunDoesNotMeasureIsNotMissing) {
  auto quick = run_with([](Profile& p) {
    p.mode = "quick";
    std::erase_if(p.measurements, [](const Measurement& m) {
      return m.id.starts_with("divergence") || m.name() == "gemm.bf16/load:sustained";
    });
  });
  const auto full = sample::h200_run();
  EXPECT_TRUE(gate_of({full}, {quick}).passed());
  EXPECT_TRUE(gate_of({quick}, {full}).passed());
  quick.mode = "full";
  EXPECT_THAT(reasons(gate_of({full}, {quick})),
              IsSupersetOf({"missing gpu0/tensor.bf16/sustained", "missing gpu0/gemm.bf16",
                            "missing gpu0/divergence.lanes"}));
  // Points that it tried are judged.
  quick.mode = "quick";
  fail(sample::find(quick, "hbm.memcpy/bytes:4294967296"), "out of memory");
  EXPECT_THAT(reasons(gate_of({full}, {sample::derived(quick)})),
              ElementsAre("missing gpu0/hbm.memcpy/measured", "failed gpu0/hbm.memcpy"));
}

TEST(Gate, CannotTellWhatAFilteredQuickRunLeavesOut) {
  const auto full = sample::h200_run();
  Profile filtered = run_with(keep_hbm_read);
  filtered.mode = "quick";
  filtered.asked.filter = "^hbm.read";
  const Gate gate = gate_of({full}, {filtered});
  EXPECT_THAT(reasons(gate), Contains("filtered machine/filter"));
  auto base = full;
  base.asked = filtered.asked;
  EXPECT_THAT(reasons(gate_of({base}, {filtered})), Not(Contains("filtered machine/filter")));
  // A full run beside it tells; an equally filtered old run excuses no other.
  EXPECT_TRUE(gate_of({full}, {full, filtered}).passed());
  EXPECT_THAT(reasons(gate_of({full, filtered}, {filtered})), Contains("filtered machine/filter"));
}

TEST(Gate, JudgesOnlyResultsThatWereVerified) {
  const auto verified = sample::h200_run();
  const Profile unverified = run_with(everywhere([](auto& m) { m.verified.reset(); }));
  EXPECT_TRUE(gate_of({unverified}, {verified}).passed());
  EXPECT_THAT(reasons(gate_of({verified}, {unverified})),
              ElementsAre("unverified gpu0/verification", "unverified host/verification"));
  const Gate neither = gate_of({unverified}, {unverified});
  EXPECT_EQ(verdict(neither.reasons), Outcome::kCannotJudge);
  EXPECT_THAT(reasons(neither), Contains("not_verified gpu0/verification"));
  const Profile off = run_with([](Profile& p) { p.asked.verify = false; });
  EXPECT_EQ(verdict(gate_of({verified}, {off}).reasons), Outcome::kCannotJudge);
  EXPECT_TRUE(gate_of({off}, {verified}).passed());
}

TEST(Gate, AnonymizedFiltersAreNotAlike) {
  auto full = sample::h200_run();
  Profile filtered = run_with(keep_hbm_read);
  for (Profile* profile : {&full, &filtered}) profile->asked.filter = kLeftOut;
  EXPECT_THAT(reasons(gate_of({full}, {filtered, filtered, full})),
              Not(Contains(testing::StartsWith("missing"))));
}

TEST(Gate, SearchesLessInAQuickRun) {
  auto quick = sample::h200_run();
  quick.mode = "quick";
  sample::scale(quick, "tensor.bf16", Basis::kBurst, 0.97);
  const auto full = sample::h200_run();
  EXPECT_TRUE(gate_of({full}, {quick}).passed());
  quick.mode = "full";
  EXPECT_THAT(reasons(gate_of({full}, {quick})), ElementsAre("slower gpu0/tensor.bf16/burst"));
}

TEST(Gate, NamesADeviceThatIsSteadyInNoRun) {
  Profile good = sample::reference();  // std::tie takes no constant
  for (const double speed : {2.0 / 3, 0.1, 0.9}) {
    Profile bad = good;
    const std::size_t changed = sample::slow_down_midway(bad, speed);
    ASSERT_GE(changed, 40u);
    // Other guests may slow one direction of PCIe by 10 %.
    const std::ptrdiff_t excused = speed == 0.9 ? 2 : 0;
    for (const auto& [base, next] :
         {std::tie(good, bad), std::tie(bad, bad), std::tie(bad, good)}) {
      const Gate gate = gate_of({base}, {next});
      EXPECT_EQ(std::ranges::count(gate.reasons, RuleKind::kUnsteady, &Judged::kind) +
                    std::ranges::count(gate.reasons, RuleKind::kSlower, &Judged::kind),
                static_cast<std::ptrdiff_t>(changed) - excused)
          << speed;
      EXPECT_FALSE(gate.passed());
    }
    EXPECT_THAT(reasons(gate_of({bad}, {bad})), Contains("unsteady gpu0/hbm.read/measured"));
  }
  Profile host = good;
  for (Ceiling& row : host.ceilings)
    if (row.device == kHostDevice || row.resource == "pcie.bidirectional")
      row.spread->within = 0.2;  // others on the machine
  EXPECT_TRUE(gate_of({host}, {host}, {"machine/judged"}).passed());
}

TEST(Gate, DoesNotPassWhatItCannotJudge) {
  EXPECT_THAT(reasons_after(everywhere([](auto& m) { m.method_version = 7; })),
              AllOf(Contains("method_changed gpu0/hbm.read"),
                    Contains("method_changed host/host.memory.read")));
  // The host of a virtual machine varies too much to be judged, and there is nothing else.
  Profile host = run_with(sample::remove_gpus);
  EXPECT_TRUE(gate_of({host}, {host}).passed());
  auto kvm = sample::h200_run();
  kvm.host.virtualization = host.host.virtualization = "kvm";
  EXPECT_THAT(reasons(gate_of({host}, {host})), ElementsAre("not_judged machine/judged"));
  EXPECT_TRUE(gate_of({host}, {host}, {"machine/judged"}).passed());
  // Nor if the rest is excused.
  EXPECT_FALSE(gate_of({kvm}, {host}, {"gpu0"}).passed());
  auto nothing = host;
  nothing.measurements.clear();
  EXPECT_FALSE(gate_of({sample::derived(nothing)}, {sample::h200_run()}).passed());
}

TEST(Gate, ExcusesByName) {
  const auto base = sample::h200_run();
  const auto next = run_with([](Profile& p) {
    p.devices[0].xids = {79};
    fail(sample::find(p, "launch.submit"), "the launch failed");
  });
  const auto names = [](const char* a, const char* b) { return std::vector<std::string>{a, b}; };
  EXPECT_FALSE(gate_of({base}, {next}).passed());
  EXPECT_FALSE(gate_of({base}, {next}, {"gpu0/health/xid"}).passed());
  const Gate passed = gate_of({base}, {next}, names("gpu0/health/xid", "gpu0/launch.submit"));
  EXPECT_TRUE(passed.passed());
  EXPECT_THAT(passed.unused, IsEmpty());
  EXPECT_THAT(reasons(passed), ElementsAre("health gpu0/health/xid", "failed gpu0/launch.submit"));
  // Only whole names count.
  const Gate unused = gate_of({base}, {next}, names("gpu0", "gpu0/health/xid"));
  EXPECT_FALSE(unused.passed());
  EXPECT_THAT(unused.unused, ElementsAre("gpu0"));
  const Profile slow = run_with([](Profile& p) {
    for (Measurement& m : p.measurements)
      if (m.id == "hbm.read") sample::scale(m, 0.9);
  });
  EXPECT_THAT(compare_text(compare(std::vector{base}, std::vector{slow},
                                   {.allowed = {"gpu0/hbm.read/measured"}}),
                           {}, {}),
              StartsWith("SAME  new is as fast as base, apart from 1 allowed reason: "));
}

TEST(Gate, SeesLossesOfWhatGpusDoTogether) {
  const Profile good = sample::reference("nvidia-h200-x2");
  for (const auto& [id, factor] : {std::pair("hbm.concurrent", 0.9), std::pair("p2p.latency", 1.1),
                                   std::pair("gemm.concurrent", 0.9)}) {
    Profile slow = good;
    std::ranges::find_if(slow.measurements, [&, of = id](const Measurement& m) {
      return m.id == of && text_param(m.params, "beside").value_or("all") == "all";
    })->value.value() *= factor;
    EXPECT_THAT(reasons(gate_of({good}, {slow})),
                Contains(StartsWith(fmt::format("slower node/{}/", id))));
  }
  EXPECT_TRUE(gate_of({good}, {good}).passed());
}

// By its card, and named where it is now.
TEST(Gate, ACardInAnotherPlaceIsNamedByItsNewOne) {
  const Profile before = sample::reference("nvidia-h200-x2");
  Profile after = before;
  std::swap(after.devices[0].index, after.devices[1].index);
  const std::string card = before.devices[0].uuid;
  sample::scale(after, 0.9, [&](const Ceiling& row) {
    return row.resource == "hbm.read" && row.device == card;
  });
  const CompareResult result = compare(std::vector{before}, std::vector{after}, {});
  EXPECT_THAT(reasons(result.gate), Contains("slower gpu1/hbm.read/measured"));
  EXPECT_THAT(compare_text(result, {}, {}), StartsWith("SLOWER  gpu1: HBM read 10.0 % slower\n"));
}

TEST(Gate, ACardInAnotherPlaceMayNotLackWhatOthersLack) {
  const Profile before = sample::reference("nvidia-h200-x2");
  Profile after = before;
  std::swap(after.devices[0].index, after.devices[1].index);
  std::erase_if(after.measurements, [](const Measurement& m) { return m.id == "latency.sweep"; });
  EXPECT_THAT(reasons(gate_of({before}, {after})),
              AllOf(Contains("missing gpu0/latency.sweep"), Contains("missing gpu1/latency.sweep"),
                    Not(Contains(StartsWith("missing gpu1/allocation")))));
}

// A run takes points of the host's links only on its first GPU.
TEST(Gate, TwoGpusOfOneRunAreAlike) {
  const auto alone = [](std::size_t kept) {
    Profile p = sample::reference("nvidia-h200-x2");
    const std::string other = p.devices[1 - kept].uuid;
    std::erase_if(p.measurements, [&](const Measurement& m) {
      return m.device == other || m.device == kNodeDevice;
    });
    std::erase_if(p.ceilings, [&](const Ceiling& row) {
      return row.device == other || row.device == kNodeDevice;
    });
    p.devices.erase(p.devices.begin() + static_cast<std::ptrdiff_t>(1 - kept));
    return p;
  };
  for (const std::size_t first : {0, 1})
    EXPECT_THAT(reasons(compare(std::vector{alone(first)}, std::vector{alone(1 - first)},
                                {.populations = bundled_populations(), .in_order = true})
                            .gate),
                IsEmpty());
}

TEST(Gate, RatesAboveTheoryCannotBeJudged) {
  const auto faster = [](double factor) {
    return run_with([&](Profile& p) { sample::scale(p, "hbm.read", Basis::kMeasured, factor); });
  };
  const Profile good = sample::h200_run();
  EXPECT_THAT(reasons(gate_of({good}, {faster(1.2)})),
              ElementsAre("figure gpu0/hbm.read/measured"));
  EXPECT_EQ(compare(std::vector{good}, std::vector{faster(1.2)}, {}).verdict(), "cannot_judge");
  EXPECT_THAT(reasons(gate_of({faster(1.2)}, {faster(1.2)})), IsEmpty());  // no change
}

TEST(Gate, ACurveWhoseRunsDifferCannotBeJudged) {
  const auto launches = [](double times_as_long) {
    return run_with([&](Profile& p) {
      for (Measurement& m : p.measurements)
        if (m.id.starts_with("launch.")) sample::scale(m, times_as_long);
    });
  };
  const Profile good = sample::h200_run();
  EXPECT_THAT(reasons(gate_of({good, good, good}, {good, launches(10), launches(10)})),
              Contains(StartsWith("uneven gpu0/launch.")));
}

TEST(Gate, AHostOfAnotherSizeMayLaunchAtAnotherSpeed) {
  const auto slower_launches = [](bool other_host, double times_as_long = 1.8) {
    return run_with([&](Profile& p) {
      for (Measurement& m : p.measurements) {
        if (!m.id.starts_with("launch.")) continue;
        sample::scale(m, times_as_long);
        m.varies_with = VariesWith::kLaunches;
      }
      if (other_host) *p.host.usable_threads /= 4;
    });
  };
  const Profile good = sample::h200_run();
  EXPECT_THAT(reasons(gate_of({good}, {slower_launches(false)})),
              Contains("slower gpu0/launch.graph"));
  EXPECT_THAT(reasons(gate_of({good}, {slower_launches(true)})), IsEmpty());
  EXPECT_THAT(reasons(gate_of({good}, {slower_launches(true, 4)})),
              Contains("slower gpu0/launch.graph"));
}

TEST(Gate, AnOldRunThatEndedEarlyLeavesTheRestOpen) {
  const Profile whole = sample::h200_run();
  Profile part = whole;
  part.complete = false;
  part.measurements.resize(part.measurements.size() / 2);
  part = sample::derived(std::move(part));
  EXPECT_THAT(reasons(gate_of({part}, {whole})), ElementsAre("ended_early machine/old_run"));
  EXPECT_EQ(gate_of({part}, {whole}).outcome(), Outcome::kCannotJudge);
  EXPECT_THAT(reasons(gate_of({part, whole}, {whole})), IsEmpty());
}

// The median of all points would hide it.
TEST(Gate, SeesAPartOfACurveThatIsSlow) {
  const auto slow = [](double factor, std::string_view id) {
    return run_with([&](Profile& p) {
      std::vector<Measurement*> points;
      for (Measurement& m : p.measurements)
        if (m.id == id) points.push_back(&m);
      for (std::size_t i = 0; i < 4; ++i) sample::scale(*points.at(i), factor);
    });
  };
  const Profile good = sample::h200_run();
  const Profile slow_part = slow(0.5, "gemm.waves.bf16");
  const CompareResult result = compare(std::vector{good}, std::vector{slow_part}, {});
  EXPECT_THAT(reasons(result.gate), ElementsAre("slower gpu0/gemm.waves.bf16"));
  EXPECT_THAT(result.gate.reasons[0].text,
              StartsWith("4 of 10 points 0.500 times as fast in their median, from "));
  EXPECT_THAT(compare_text(result, {}, {}),
              StartsWith("SLOWER  gpu0: part of GEMM waves BF16 50.0 % slower\n"));
  EXPECT_THAT(reasons(gate_of({good}, {slow(0.75, "gemm.waves.bf16")})), IsEmpty());
  EXPECT_THAT(reasons(gate_of({good, slow_part}, {slow_part, good})), IsEmpty());
  EXPECT_EQ(compare(std::vector{good}, std::vector{slow_part}, {.threshold = 0.6}).verdict(),
            "same");
}

// The loss of a ceiling is not told again by the curve of its benchmark, which may lose more.
TEST(Gate, ALossIsOneReason) {
  const auto hbm = [](double speed, double of_curve) {
    return run_with([&](Profile& p) {
      const std::string behind = sample::ceiling(p, "hbm.read", Basis::kMeasured).measurement;
      for (Measurement& m : p.measurements)
        if (m.id == "hbm.read") sample::scale(m, m.name() == behind ? speed : of_curve);
    });
  };
  const auto of = [](const Profile& next) {
    return reasons(gate_of({sample::h200_run()}, {next}));
  };
  EXPECT_THAT(of(hbm(0.9, 0.9)), ElementsAre("slower gpu0/hbm.read/measured"));
  EXPECT_THAT(of(hbm(0.9, 0.5)),
              ElementsAre("slower gpu0/hbm.read/measured", "slower gpu0/hbm.read"));
}

TEST(Gate, ANewCeilingIsWhatWasMeasured) {
  const auto good = sample::h200_run();
  auto next = good;
  *sample::find(next, sample::ceiling(next, "hbm.read", Basis::kMeasured).measurement).value *= 0.5;
  EXPECT_THAT(reasons(gate_of({good}, {next})), Contains("lost gpu0/measurements"));
}

TEST(Gate, ARunOfAnotherModelIsNotJudged) {
  const auto good = sample::h200_run();
  auto other = good;
  other.devices[0].name = "NVIDIA H100 80GB HBM3";
  EXPECT_THAT(reasons(gate_of({good, good}, {good, other})),
              Contains("different_model gpu0/model"));
}

}  // namespace
}  // namespace peakline
