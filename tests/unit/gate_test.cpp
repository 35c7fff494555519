#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/compare.hpp"
#include "harness/show/compare.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/unsteady.hpp"

namespace peakline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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
  for (const JudgedRule& r : gate.reasons) all.push_back(r.code + ' ' + r.name);
  return all;
}

template <class Change>
Profile changed(Change change) {
  auto p = sample::h200_run();
  change(p);
  return sample::derived(std::move(p));
}

// The gate's reasons against the sample after this change.
template <class Change>
std::vector<std::string> reasons_after(Change change) {
  const Profile base = sample::h200_run(), next = changed(change);
  EXPECT_THAT(reasons(gate_of({next}, {next})), IsEmpty());  // not caused by the gate itself
  return reasons(gate_of({base}, {next}));
}

void fail(Measurement& m, std::string reason) {
  m.status = Status::kError;
  m.reason = std::move(reason);
  m.value.reset();
  m.summary.reset();
  m.verified.reset();
}

void lose_gpu(Profile& p) {
  p.devices.clear();
  std::erase_if(p.measurements, [](const Measurement& m) { return m.device != kHostDevice; });
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

TEST(Gate, PassesWhatIsAsItWas) {
  const auto p = sample::h200_run();
  EXPECT_TRUE(gate_of({p}, {p}).passed());
  EXPECT_THAT(reasons(gate_of({p, p}, {p, p, p})), IsEmpty());
}

TEST(Gate, MissesADevice) {
  EXPECT_THAT(reasons(gate_of({sample::h200_run()}, {changed(lose_gpu)})),
              ElementsAre("missing gpu0"));
  const auto without_host = changed([](Profile& p) {
    std::erase_if(p.measurements, [](const Measurement& m) { return m.device == kHostDevice; });
  });
  EXPECT_THAT(reasons(gate_of({sample::h200_run()}, {without_host})), ElementsAre("missing host"));
}

TEST(Gate, SeesADeviceThatCannotBeMeasuredAndSaysSoOnce) {
  EXPECT_THAT(reasons_after(break_gpu), ElementsAre("device_unusable gpu0"));
  const Profile good = sample::h200_run();
  EXPECT_THAT(reasons(gate_of({good}, {good, changed(break_gpu), good})),
              ElementsAre("device_unusable gpu0"));
}

TEST(Gate, SeesFailedMeasurements) {
  const auto found = reasons_after([](Profile& p) {
    for (Measurement& m : p.measurements)
      if (m.id == "hbm.read" || m.id == "gemm.bf16") fail(m, "out of memory");
  });
  EXPECT_THAT(found,
              IsSupersetOf({"failed gpu0/hbm.read", "failed gpu0/gemm.bf16",
                            "missing gpu0/hbm.read/measured", "missing gpu0/tensor.bf16/burst",
                            "missing gpu0/tensor.bf16/sustained"}));
}

TEST(Gate, SeesTheOneRunOfSeveralThatFailed) {
  const auto good = sample::h200_run();
  const auto bad =
      changed([](Profile& p) { fail(sample::find(p, "launch.submit"), "the launch failed"); });
  EXPECT_THAT(reasons(gate_of({good, good}, {good, bad})),
              ElementsAre("failed gpu0/launch.submit"));
  // An old run had it too.
  EXPECT_TRUE(gate_of({good, bad}, {good, bad}).passed());
  // Now it never works.
  EXPECT_THAT(reasons(gate_of({good, bad}, {bad})), ElementsAre("missing gpu0/launch.submit"));
}

TEST(Gate, AnotherVersionMayLackABenchmark) {
  const Profile good = sample::h200_run();
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
  const Profile without_gpu = changed(lose_gpu);
  const Gate gone = gate_of({good, good}, {good, without_gpu, without_gpu});
  EXPECT_THAT(reasons(gone), ElementsAre("missing gpu0"));
  EXPECT_THAT(gone.reasons[0].text, HasSubstr("not in 2 of 3 new profiles"));
  // An old run lacked it too.
  EXPECT_TRUE(gate_of({good, without_gpu}, {good, without_gpu}).passed());
  const Profile skipped = changed(skip_tf32);
  EXPECT_THAT(reasons(gate_of({good}, {good, skipped})),
              ElementsAre("missing gpu0/tensor.tf32/burst", "missing gpu0/gemm.tf32"));
  EXPECT_TRUE(gate_of({good, skipped}, {good, skipped}).passed());
  const auto unverified =
      changed([](Profile& p) { sample::find(p, "launch.submit").verified.reset(); });
  EXPECT_THAT(reasons(gate_of({good}, {good, unverified})),
              ElementsAre("unverified gpu0/verification"));
  // A quick run may lack what quick mode omits.
  EXPECT_TRUE(gate_of({good}, {good, changed(be_quick)}).passed());
}

TEST(Gate, SeesALossThatComesAndGoes) {
  const auto good = sample::h200_run();
  auto slow = good;
  for (Ceiling& c : slow.ceilings)
    if (c.resource == "hbm.read" && c.basis == Basis::kMeasured) c.value *= 0.94;
  const Gate gate = gate_of({good, good}, {slow, good, good, good});
  EXPECT_THAT(reasons(gate), ElementsAre("unsteady gpu0/hbm.read/measured"));
  EXPECT_THAT(gate.reasons[0].text, HasSubstr("slower in 1 of 4 new runs, down to 0.940"));
}

TEST(Gate, AsksOfARunWhatItWasAskedFor) {
  const auto good = sample::h200_run();
  Profile without_gpu = changed(lose_gpu);
  without_gpu.command = {"peakline", "run", "--device", "none"};
  EXPECT_TRUE(gate_of({good}, {good, without_gpu}).passed());
  without_gpu.command = {"peakline", "run", "--device=all"};
  EXPECT_FALSE(gate_of({good}, {good, without_gpu}).passed());
  Profile only_hbm = changed(keep_hbm_read);
  only_hbm.command = {"peakline", "run", "--filter", "^hbm.read"};
  EXPECT_TRUE(gate_of({good}, {good, only_hbm}).passed());
  // Runs with one filter each have what it selects.
  auto base = only_hbm, lost = only_hbm;
  lost.measurements.pop_back();
  EXPECT_FALSE(gate_of({base}, {only_hbm, sample::derived(lost)}).passed());
}

TEST(Gate, SeesWhatOneOfSeveralQuickRunsLacksOfAFullOne) {
  const Profile quick = changed(be_quick);
  Profile lost = quick;
  std::erase_if(lost.measurements, [](const Measurement& m) { return m.id == "launch.submit"; });
  const auto full = sample::h200_run();
  EXPECT_TRUE(gate_of({full}, {quick, quick}).passed());
  const Gate gate = gate_of({full}, {quick, lost, quick});
  EXPECT_THAT(reasons(gate), ElementsAre("missing gpu0/launch.submit"));
  EXPECT_EQ(gate.reasons[0].text, "1 point: not in 1 of 3 new profiles");
}

// Another card's run among this card's.
TEST(Gate, SeesAnotherCardAmongTheNewRuns) {
  const auto good = sample::h200_run();
  auto other = good;
  const std::string uuid = "GPU-00000000-0000-0000-0000-000000000001";
  other.devices[0].uuid = uuid;
  for (Measurement& m : other.measurements)
    if (m.device != kHostDevice) m.device = uuid;
  EXPECT_THAT(reasons(gate_of({good}, {sample::derived(other), good})),
              ElementsAre("missing gpu0"));
}

TEST(Gate, SeesWhatIsSkippedOrImplausibleNow) {
  const auto implausible = reasons_after(
      [](Profile& p) { sample::find(p, "gemm.tf32/load:burst").flags.implausible = true; });
  for (const auto& found : {reasons_after(skip_tf32), implausible})
    EXPECT_THAT(found, ElementsAre("missing gpu0/tensor.tf32/burst", "missing gpu0/gemm.tf32"));
}

// As in profiles from before clocks above the stated maximum were accepted.
TEST(Gate, WhatOnlyAMissingClockMakesImplausibleCannotBeJudged) {
  const auto flagged = [](double ratio, bool has_clock, int compute_major = 9) {
    return reasons_after([&](Profile& p) {
      p.devices[0].compute_major = compute_major;
      Measurement& m = sample::find(p, "gemm.tf32/load:burst");
      m.flags.implausible = true;
      *m.value *= ratio;
      if (!has_clock) m.conditions.sm_clock_hz.reset();
    });
  };
  const auto unclocked =
      ElementsAre("clock_unknown gpu0/tensor.tf32/burst", "clock_unknown gpu0/gemm.tf32");
  const auto missing = ElementsAre("missing gpu0/tensor.tf32/burst", "missing gpu0/gemm.tf32");
  EXPECT_THAT(flagged(1.0076, false), unclocked);
  EXPECT_THAT(flagged(1.015, false), unclocked);
  EXPECT_THAT(flagged(1.03, false), missing);
  EXPECT_THAT(flagged(1.0076, true), missing);
  EXPECT_THAT(flagged(1.0076, false, 13), missing);

  const Profile base = sample::h200_run(),
                next = changed([](Profile&p) {
                  Measurement& m = sample::find(p, "gemm.tf32/load:burst");
                  m.flags.implausible = true;
                  m.conditions.sm_clock_hz.reset();
                });
  EXPECT_EQ(compare(std::span(&base, 1), std::span(&next, 1), {}).verdict(), "cannot_judge");
}

TEST(Gate, ACeilingOfNothingIsMissing) {
  auto next = sample::h200_run();
  for (Ceiling& c : next.ceilings)
    if (c.resource == "hbm.read" && c.basis == Basis::kMeasured) c.value = 0;
  EXPECT_THAT(reasons(gate_of({sample::h200_run()}, {next})),
              ElementsAre("missing gpu0/hbm.read/measured"));
}

TEST(Gate, SeesWrongAndUnverifiedResults) {
  EXPECT_THAT(reasons_after([](Profile& p) {
                for (Measurement& m : p.measurements) m.verified.reset();
              }),
              ElementsAre("unverified gpu0/verification", "unverified host/verification"));
  EXPECT_THAT(reasons_after([](Profile& p) { sample::find(p, "launch.submit").verified = false; }),
              ElementsAre("failed gpu0/launch.submit"));
}

TEST(Gate, SeesNewErrorFindings) {
  EXPECT_THAT(reasons_after([](Profile& p) { p.devices[0].xids = {79}; }),
              ElementsAre("health gpu0/health/xid"));
  EXPECT_THAT(reasons_after([](Profile& p) {
                p.devices[0].before.ecc.uncorrected = 0;
                p.devices[0].after.ecc.uncorrected = 2;
                p.devices[0].after.remap_failed = true;
              }),
              ElementsAre("health gpu0/health/ecc_errors", "health gpu0/health/row_remap"));
  // Warnings do not concern the gate.
  EXPECT_THAT(reasons_after([](Profile& p) {
                p.devices[0].before.ecc.corrected = 0;
                p.devices[0].after.ecc.corrected = 2;
              }),
              IsEmpty());
}

TEST(Gate, SeesCurvesAtHalfSpeed) {
  const auto halve = [](std::string_view id) {
    return changed([&](Profile& p) {
      for (Measurement& m : p.measurements) {
        if (m.id != id) continue;
        const double factor = m.unit == "s" ? 2 : 0.5;
        m.value = *m.value * factor;
      }
    });
  };
  const auto base = sample::h200_run();
  for (const char* id : {"divergence.lanes", "gemm.skinny.bf16", "launch.graph", "launch.submit"}) {
    EXPECT_THAT(reasons(gate_of({base}, {halve(id)})),
                ElementsAre(std::string("slower gpu0/") + id));
  }
}

TEST(Gate, WhatAQuickRunDoesNotMeasureIsNotMissing) {
  auto quick = changed([](Profile& p) {
    p.mode = "quick";
    std::erase_if(p.measurements, [](const Measurement& m) {
      return m.id.starts_with("divergence") || m.name() == "gemm.bf16/load:sustained";
    });
  });
  const auto full = sample::h200_run();
  EXPECT_TRUE(gate_of({full}, {quick}).passed());
  EXPECT_TRUE(gate_of({quick}, {full}).passed());
  EXPECT_THAT(
      compare_text(compare(std::span(&full, 1), std::span(&quick, 1), {}), {.all = true}, {}),
      HasSubstr("what it leaves out is not missing"));
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
  Profile filtered = changed(keep_hbm_read);
  filtered.mode = "quick";
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"peakline", "run", "--filter", "^hbm.read"},
                             Words{"peakline", "run", "--filter=^hbm.read"}}) {
    filtered.command = words;
    const Gate gate = gate_of({full}, {filtered});
    EXPECT_THAT(reasons(gate), Contains("filtered machine/filter"));
    EXPECT_THAT(gate.reasons[0].text, HasSubstr("'^hbm.read'"));
    auto base = full;
    base.command = words;
    EXPECT_THAT(reasons(gate_of({base}, {filtered})), Not(Contains("filtered machine/filter")));
    // A full run beside it tells; an equally filtered old run excuses no other.
    EXPECT_TRUE(gate_of({full}, {full, filtered}).passed());
    EXPECT_THAT(reasons(gate_of({full, filtered}, {filtered})),
                Contains("filtered machine/filter"));
  }
}

TEST(Gate, FiltersThatAnonymizedProfilesLeaveOutAreNotAlike) {
  auto full = sample::h200_run();
  Profile filtered = changed(keep_hbm_read);
  for (Profile* profile : {&full, &filtered})
    profile->command = {"peakline", "run", "--filter", std::string(kLeftOut)};
  EXPECT_THAT(reasons(gate_of({full}, {filtered, filtered, full})),
              Not(Contains(testing::StartsWith("missing"))));
}

TEST(Gate, SearchesLessInAQuickRun) {
  auto quick = sample::h200_run();
  quick.mode = "quick";
  for (Ceiling& c : quick.ceilings)
    if (c.resource == "tensor.bf16" && c.basis == Basis::kBurst) c.value *= 0.97;
  const auto full = sample::h200_run();
  EXPECT_TRUE(gate_of({full}, {quick}).passed());
  quick.mode = "full";
  EXPECT_THAT(reasons(gate_of({full}, {quick})), ElementsAre("slower gpu0/tensor.bf16/burst"));
}

TEST(Gate, SeesARunThatEndedEarly) {
  auto next = sample::h200_run();
  next.complete = false;
  EXPECT_THAT(reasons(gate_of({sample::h200_run()}, {next})),
              ElementsAre("ended_early machine/run"));
}

TEST(Gate, NamesADeviceThatIsSteadyInNoRun) {
  const Profile measured = sample::measured_h200();
  Profile good = measured;
  for (const double speed : {2.0 / 3, 0.1, 0.9}) {
    Profile bad = measured;
    const std::size_t changed = sample::slow_down_midway(bad, speed);
    ASSERT_GE(changed, 40u);
    // Other guests may slow one direction of PCIe by 10 %.
    const std::ptrdiff_t excused = speed == 0.9 ? 2 : 0;
    for (const auto& [base, next] :
         {std::tie(good, bad), std::tie(bad, bad), std::tie(bad, good)}) {
      const Gate gate = gate_of({base}, {next});
      EXPECT_EQ(std::ranges::count(gate.reasons, "unsteady", &JudgedRule::code) +
                    std::ranges::count(gate.reasons, "slower", &JudgedRule::code),
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

TEST(Gate, SaysHowUnsteadyAndCanExcuseIt) {
  const Profile good = sample::measured_h200();
  Profile bad = good;
  for (Ceiling& row : bad.ceilings)
    if (row.resource == "hbm.read" && row.spread) row.spread->sittings = 0.19;
  const Gate gate = gate_of({good}, {bad});
  ASSERT_THAT(reasons(gate), ElementsAre("unsteady gpu0/hbm.read/measured"));
  EXPECT_THAT(gate.reasons[0].text, HasSubstr("scatters by 19.0 % within a new run"));
  EXPECT_TRUE(gate_of({good}, {bad}, {"gpu0/hbm.read/measured"}).passed());
}

TEST(Gate, NamesWhatAnotherMethodMeasured) {
  const auto found = reasons_after([](Profile& p) {
    for (Measurement& m : p.measurements)
      if (m.id == "hbm.read" || m.id == "launch.submit") m.method_version = 7;
  });
  EXPECT_THAT(found,
              ElementsAre("method_changed gpu0/hbm.read", "method_changed gpu0/launch.submit"));
}

TEST(Gate, DoesNotPassWhatItCannotJudge) {
  EXPECT_THAT(reasons_after([](Profile& p) {
                for (Measurement& m : p.measurements) m.method_version = 7;
              }),
              AllOf(Contains("method_changed gpu0/hbm.read"),
                    Contains("method_changed host/host.memory.read")));
  // The host of a virtual machine varies too much to be judged, and there is nothing else.
  Profile host = changed(lose_gpu);
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

TEST(Gate, SeesThatACardHasLess) {
  const auto after = [](auto change) {
    return reasons_after([&](Profile& p) { change(p.devices[0]); });
  };
  EXPECT_THAT(after([](DeviceFacts& d) { --*d.sm_count; }), Contains("fact gpu0/sm_count"));
  EXPECT_THAT(after([](DeviceFacts& d) { *d.memory_bytes /= 2; }), Contains("fact gpu0/memory"));
  EXPECT_THAT(after([](DeviceFacts& d) { d.ecc_enabled = false; }), Contains("fact gpu0/ecc"));
  EXPECT_THAT(after([](DeviceFacts& d) { *d.power_limit_w -= 100; }),
              Contains("fact gpu0/power_limit"));
  // More than before, or unknown on one side, is no reason.
  EXPECT_THAT(after([](DeviceFacts& d) { *d.power_limit_w += 100; }), IsEmpty());
  EXPECT_THAT(after([](DeviceFacts& d) { d.ecc_enabled.reset(); }), IsEmpty());
}

TEST(Gate, ALinkThatIsDownIsSeen) {
  const auto run = [](int width, int links_down) {
    return changed([&](Profile& p) {
      p.devices[0].pcie_read_under_load = true;
      p.devices[0].pcie.generation = 5;
      p.devices[0].pcie.width = width;
      p.devices[0].nvlinks.count = 18;
      for (int i = 0; i < links_down; ++i) p.devices[0].nvlinks.down.push_back(i);
    });
  };
  EXPECT_THAT(reasons(gate_of({run(16, 0)}, {run(8, 0)})), Contains("fact gpu0/pcie_width"));
  EXPECT_THAT(reasons(gate_of({run(16, 0)}, {run(16, 1)})), Contains("fact gpu0/nvlinks"));
}

TEST(Gate, ExcusesByName) {
  const auto base = sample::h200_run();
  const auto next = changed([](Profile& p) {
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
}

TEST(Gate, IsShownWithItsReasons) {
  const auto base = sample::h200_run();
  const auto next = changed([](Profile& p) { p.devices[0].xids = {79}; });
  const auto text = [&](std::vector<std::string> allowed) {
    return compare_text(compare(std::span(&base, 1), std::span(&next, 1), {.allowed = allowed}),
                        {.gate = true}, {});
  };
  EXPECT_THAT(text({}), StartsWith("FAIL  gpu0/health/xid: The driver reported 1 error"));
  EXPECT_THAT(text({}), HasSubstr("gpu0/health/xid: health: The driver reported 1 error"));
  EXPECT_THAT(text({"gpu0/health/xid", "gpu1"}), StartsWith("PASS  "));
  EXPECT_THAT(text({"gpu0/health/xid", "gpu1"}), HasSubstr("gpu0/health/xid: allowed, health: "));
  EXPECT_THAT(text({"gpu0/health/xid", "gpu1"}),
              HasSubstr("--allow gpu1: no reason has that name"));
}

}  // namespace
}  // namespace peakline
