#include "harness/judge/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/documents/documents.hpp"
#include "harness/profile/profile.hpp"
#include "harness/show/compare.hpp"
#include "tests/unit/crowded_profile.hpp"
#include "tests/unit/golden_profile.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/texts.hpp"

namespace peakline {
namespace {

using sample::find;
using sample::run_with;
using sample::scale;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

Profile with_scaled(std::string_view name, double factor) {
  return run_with([&](Profile& p) { scale(find(p, name), factor); });
}

CompareResult compare_one(const Profile& base, const Profile& next,
                          const CompareOptions& options = {}) {
  return compare(std::span(&base, 1), std::span(&next, 1), options);
}

// "code name" of each reason.
std::vector<std::string> reasons(const CompareResult& result) {
  std::vector<std::string> all;
  for (const Judged& r : result.gate.reasons)
    all.push_back(std::string(to_string(r.kind)) + ' ' + to_string(r.name));
  return all;
}

// name: as in "tensor.bf16/burst".
const CeilingComparison& ceiling(const CompareResult& r, std::string_view name,
                                 std::size_t device = 0) {
  for (const CeilingComparison& c : r.devices.at(device).ceilings)
    if (to_string(FigureKey(c)) == name) return c;
  throw std::out_of_range("no ceiling " + std::string(name));
}

const CurveComparison& curve(const CompareResult& r, std::string_view id) {
  for (const CurveComparison& c : r.devices.at(0).curves)
    if (c.id == id) return c;
  throw std::out_of_range("no curve " + std::string(id));
}

TEST(Compare, ARunIsTheSameAsItself) {
  const auto p = sample::h200_run();
  const auto result = compare_one(p, p);
  ASSERT_EQ(result.devices.size(), 2U);  // the GPU, then the host
  for (const DeviceComparison& device : result.devices) {
    EXPECT_TRUE(device.same_model);
    EXPECT_TRUE(device.differences.empty());
    EXPECT_FALSE(device.ceilings.empty());
    for (const CeilingComparison& c : device.ceilings) {
      EXPECT_EQ(c.verdict, Verdict::kSame) << c.resource;
      EXPECT_DOUBLE_EQ(c.ratio, 1) << c.resource;
      EXPECT_NE(c.basis, Basis::kTheoretical);  // computed, not measured
      EXPECT_NE(c.basis, Basis::kDatasheet);
    }
  }
  EXPECT_THROW(curve(result, "gemm.bf16"), std::out_of_range);  // points of a search
  EXPECT_THAT(result.devices[1].base_name, HasSubstr("host"));
  EXPECT_TRUE(result.gate.passed());
}

TEST(Compare, FasterAndSlowerBeyondThresholdAndSpread) {
  constexpr double kDefault = CompareOptions{}.threshold;
  struct Case {
    double factor;
    Verdict verdict;
    double threshold = kDefault, half_width = 0.001;
  };
  for (const Case& c : {Case{1.10, Verdict::kFaster},
                        {0.90, Verdict::kSlower},
                        {1.005, Verdict::kSame},
                        {0.995, Verdict::kSame},
                        // More than noise, less than the threshold: one run cannot tell.
                        {0.979, Verdict::kInconclusive},
                        // Scatter that no healthy run has excuses nothing.
                        {0.90, Verdict::kUneven, kDefault, 0.2},
                        {0.93, Verdict::kSlower, 0.03},
                        {0.93, Verdict::kSame, 0.10}}) {
    SCOPED_TRACE(testing::Message() << c.factor << " at " << c.threshold << " +- " << c.half_width);
    const auto next = run_with([&](Profile& p) {
      auto& m = find(p, "gemm.bf16/load:burst");
      scale(m, c.factor);
      m.summary->ci_low = m.summary->median * (1 - c.half_width);
      m.summary->ci_high = m.summary->median * (1 + c.half_width);
    });
    const auto result = compare_one(sample::h200_run(), next, {.threshold = c.threshold});
    EXPECT_EQ(ceiling(result, "tensor.bf16/burst").verdict, c.verdict);
    EXPECT_EQ(result.gate.passed(), c.verdict != Verdict::kSlower && c.verdict != Verdict::kUneven);
  }
}

TEST(Compare, AProfileOfSeveralRunsCountsAsSoMany) {
  const Profile three = run_with([](Profile& p) {
    Measurement& m = find(p, "hbm.read/width:16/bytes:4294967296");
    const double t = m.summary->median;
    m.samples_s.clear();
    for (const double time : {t, 1.01 * t, 0.99 * t})
      m.samples_s.insert(m.samples_s.end(), 10, time);
    m.sittings = {{10}, {5, 5}, {10}};
  });
  const auto result = compare_one(three, sample::h200_run());
  const CeilingComparison& read = ceiling(result, "hbm.read/measured");
  EXPECT_EQ(read.base.runs, 3u);
  EXPECT_EQ(read.next.runs, 1u);
  EXPECT_NEAR(read.ratio, 1, 1e-4);
}

TEST(Compare, SittingsThatDifferExcuseNoLoss) {
  const Profile before = sample::h200_run();
  Profile after = before;
  Ceiling& read = sample::ceiling(after, "hbm.read", Basis::kMeasured);
  const auto verdict = [&](double sittings) {
    read.spread = RunSpread{.within = 0.001, .sittings = sittings, .runs = 0.001};
    const auto result = compare_one(before, after);
    return ceiling(result, "hbm.read/measured").verdict;
  };
  read.value *= 0.965;
  EXPECT_EQ(verdict(0.0005), Verdict::kSlower);
  EXPECT_EQ(verdict(0.009), Verdict::kSlower);
  EXPECT_EQ(verdict(0.016), Verdict::kUnsteady);
}

TEST(Compare, AVirtualMachinesHostIsNotJudged) {
  auto base = sample::h200_run();
  auto next = base;
  for (Ceiling& row : next.ceilings) {
    if (row.device == kHostDevice) row.value *= 0.5;
  }
  for (Measurement& m : next.measurements) {
    if (m.device == kHostDevice) m.value = *m.value / 2;
  }
  const auto verdicts = [&] {
    const CompareResult result = compare_one(base, next);
    EXPECT_EQ(result.gate.passed(), result.devices.at(1).shared_host());
    std::set<Verdict> found;
    for (const CeilingComparison& c : result.devices.at(1).ceilings) found.insert(c.verdict);
    for (const CurveComparison& c : result.devices.at(1).curves) found.insert(c.verdict);
    return found;
  };
  EXPECT_EQ(verdicts(), std::set{Verdict::kSlower});
  base.host.virtualization = next.host.virtualization = "docker";
  EXPECT_EQ(verdicts(), std::set{Verdict::kSlower});
  base.host.virtualization = next.host.virtualization = "kvm, docker";
  EXPECT_EQ(verdicts(), std::set{Verdict::kNotJudged});
}

// As on another host: of 32 runs the slowest had 9 % more than the mean.
TEST(Compare, LatencyOfHostMemoryVariesWithTheHost) {
  Profile base = sample::reference();
  for (Measurement& m : base.measurements)
    if (m.id == "latency.pcie")
      m.varies_with = find_benchmark(sample::benchmarks(), m.id)->varies_with;
  const auto slower_by = [&](double factor) {
    Profile next = base;
    for (Measurement& m : next.measurements)
      if (m.id == "latency.pcie" || m.id == "latency.hbm") {
        scale(m, 1 / factor);  // all times
        m.value = m.summary->median;
      }
    std::set<std::string> curves;
    for (const DeviceComparison& device : compare_one(base, next).devices)
      for (const CurveComparison& c : device.curves)
        if (c.verdict == Verdict::kSlower) curves.insert(c.id);
    return curves;
  };
  EXPECT_EQ(slower_by(1.1), std::set<std::string>{"latency.hbm"});
  EXPECT_EQ(slower_by(1.4), (std::set<std::string>{"latency.hbm", "latency.pcie"}));
}

TEST(Compare, SaysWhatMovedWithACeiling) {
  const auto next = run_with([](Profile& p) {
    auto& m = find(p, "gemm.bf16/load:sustained");
    scale(m, 0.9);
    m.conditions.sm_clock_hz = 1260e6;
    m.conditions.power_w = 600;
    p.devices[0].power_limit_w = 600;
    p.software.driver = "590.1";
    p.software.cublaslt = "13.1";
    p.devices[0].pcie.width = 8;
    p.devices[0].ecc_enabled = false;
  });
  const auto result = compare_one(sample::h200_run(), next);
  EXPECT_EQ(explanation(ceiling(result, "tensor.bf16/sustained")),
            "same per clock (power cap), SM clock 1410 → 1260 MHz, power 700 → 600 W");
  std::vector<std::string> differing;
  for (const Difference& d : result.devices[0].differences) differing.push_back(d.what);
  EXPECT_THAT(differing,
              UnorderedElementsAre("driver", "cuBLASLt", "power limit", "PCIe link", "ECC"));
  EXPECT_EQ(result.devices[0].differences[0].base, "580.159.03");
  EXPECT_EQ(result.devices[0].differences[0].next, "590.1");
}

TEST(Compare, TellsASlowChipFromALowClock) {
  const auto why = [](double factor, double clock_hz, std::vector<std::string> reasons = {}) {
    const auto next = run_with([&](Profile& p) {
      auto& m = find(p, "gemm.bf16/load:sustained");
      scale(m, factor);
      m.conditions.sm_clock_hz = clock_hz;
      m.conditions.throttle_reasons = reasons;
    });
    const auto result = compare_one(sample::h200_run(), next);
    return explanation(ceiling(result, "tensor.bf16/sustained"));
  };
  EXPECT_EQ(why(0.9, 1410e6), "at equal clock -10.0 %: the SM clock is not the cause");
  EXPECT_EQ(why(0.9, 1551e6),
            "at equal clock -18.2 %: the SM clock is not the cause, SM clock 1410 → 1551 MHz");
  EXPECT_EQ(why(0.9, 1269e6), "same per clock, SM clock 1410 → 1269 MHz");
  EXPECT_EQ(why(0.9, 1269e6, {"sw_thermal"}), "same per clock (heat), SM clock 1410 → 1269 MHz");
  // A limit on the base explains that the other side is faster.
  EXPECT_EQ(why(1.1, 1551e6), "same per clock (power cap), SM clock 1410 → 1551 MHz");
  EXPECT_EQ(why(1.005, 1410e6), "");
  const auto result = compare_one(sample::h200_run(), with_scaled("gemm.bf16/load:burst", 0.8));
  EXPECT_NEAR(*ceiling(result, "tensor.bf16/burst").ratio_per_clock, 0.8, 1e-9);
  EXPECT_EQ(ceiling(result, "hbm.read/measured").ratio_per_clock, std::nullopt);
}

TEST(Compare, EachSweepOfABenchmarkIsACurve) {
  const auto next = with_scaled("gemm.bf16/data:zeros", 0.9);
  const auto result = compare_one(sample::h200_run(), next);
  EXPECT_EQ(curve(result, "gemm.bf16/data").points.size(), 3U);
  EXPECT_EQ(curve(result, "gemm.bf16/data").points[2].name, "data:zeros");
  EXPECT_EQ(curve(result, "gemm.bf16/layout").points.size(), 2U);
  EXPECT_FALSE(curve(result, "gemm.bf16/l2").part());
  EXPECT_EQ(curve(result, "gemm.model.bf16").points.size(), 7U);
  EXPECT_EQ(curve(result, "gemm.skinny.bf16").points[1].name, "m:4");
  EXPECT_DOUBLE_EQ(*curve(result, "gemm.bf16/l2").median_ratio_per_clock, 1);
  EXPECT_EQ(curve(result, "pcie.h2d.pinned").median_ratio_per_clock, std::nullopt);
}

TEST(Compare, AVariantUnderLoadWithoutACeilingIsACurve) {
  const auto with_variant = [](double factor) {
    return run_with([&](Profile& p) {
      Measurement m = find(p, "gemm.bf16/load:burst");
      m.id = "gemm.fp8_accurate";
      scale(m, factor);
      p.measurements.push_back(std::move(m));
    });
  };
  const auto result = compare_one(with_variant(1), with_variant(0.5));
  EXPECT_EQ(curve(result, "gemm.fp8_accurate/load").verdict, Verdict::kSlower);
}

TEST(Compare, ACurveMayBeSlowerByItsClockAlone) {
  const auto next = run_with([](Profile& p) {
    for (Measurement& m : p.measurements) {
      if (m.id != "gemm.skinny.bf16") continue;
      scale(m, 0.9);
      *m.conditions.sm_clock_hz *= 0.9;
    }
  });
  const auto result = compare_one(sample::h200_run(), next);
  const auto& c = curve(result, "gemm.skinny.bf16");
  EXPECT_NEAR(c.median_ratio, 0.9, 1e-9);
  EXPECT_NEAR(*c.median_ratio_per_clock, 1, 1e-9);
}

// Two clock steps explain differences of figures that the clock bounds, but not of memory.
TEST(Compare, StepsAboveTheStatedClockAccuseNobody) {
  const Profile plain = sample::h200_run(), stepped = run_with([](Profile&p) {
                                              p.devices[0].sm_clock_seen_max_hz = 2010e6;
                                              for (Measurement& m : p.measurements)
                                                scale(m, 2010.0 / 1980);
                                            });
  const auto verdict = [&](const Profile& base, const Profile& next, const char* name) {
    return ceiling(compare_one(base, next, {.threshold = 0.001}), name).verdict;
  };
  Profile unexplained = stepped, absurd = stepped;
  unexplained.devices[0].sm_clock_seen_max_hz.reset();
  absurd.devices[0].sm_clock_seen_max_hz = 4e9;
  EXPECT_EQ(verdict(absurd, plain, "cuda_core.fp32/burst"), Verdict::kSlower);
  for (const auto& [name, clocked] :
       {std::pair("cuda_core.fp32/burst", true), {"hbm.read/measured", false}}) {
    EXPECT_EQ(verdict(unexplained, plain, name), Verdict::kSlower) << name;
    EXPECT_EQ(verdict(stepped, plain, name) == Verdict::kSlower, !clocked) << name;
    EXPECT_EQ(verdict(plain, stepped, name) == Verdict::kFaster, !clocked) << name;
  }
}

TEST(Compare, CurvesOfAnotherWidthOrMethodAreNotCompared) {
  using Change = void (*)(Measurement&);
  for (const auto& [change, base, next] :
       {std::tuple<Change, const char*, const char*>(
            [](Measurement& m) { m.launch[0].second = std::int64_t{1408}; },
            "gemm.waves.bf16 (10 points)", "gemm.waves.bf16 (10 points)"),
        {[](Measurement& m) { m.method_version = 2; }, "gemm.waves.bf16 by method 1",
         "gemm.waves.bf16 by method 2"}}) {
    const auto result = compare_one(sample::h200_run(), run_with([&](Profile& p) {
                                      for (Measurement& m : p.measurements)
                                        if (m.id == "gemm.waves.bf16") change(m);
                                    }));
    EXPECT_THAT(result.devices[0].only_base, Contains(base));
    EXPECT_THAT(result.devices[0].only_next, Contains(next));
  }
}

TEST(Compare, FactsMissingOnOneSideAreNotCompared) {
  const auto next = run_with([](Profile& p) {
    p.devices[0].ecc_enabled.reset();
    p.software.driver.clear();
    p.devices[0].pcie_read_under_load = false;
  });
  EXPECT_TRUE(compare_one(sample::h200_run(), next).devices[0].differences.empty());
}

TEST(Compare, AChangedMethodIsNotJudged) {
  const auto next = run_with([](Profile& p) {
    auto& m = find(p, "gemm.bf16/load:burst");
    scale(m, 0.8);
    m.method_version = 2;
  });
  const auto result = compare_one(sample::h200_run(), next);
  EXPECT_EQ(ceiling(result, "tensor.bf16/burst").verdict, Verdict::kNotJudged);
  EXPECT_EQ(explanation(ceiling(result, "tensor.bf16/burst")), "measurement method changed");
  EXPECT_THAT(reasons(result), ElementsAre("method_changed gpu0/gemm.bf16"));
}

TEST(Compare, CurvesPartWhereTheirRatiosDo) {
  const auto next = run_with([](Profile& p) {
    for (Measurement& m : p.measurements) {
      if (m.id == "pcie.h2d.pinned" && *int_param(m.params, "bytes") <= 262144) scale(m, 0.8);
    }
  });
  const auto result = compare_one(sample::h200_run(), next);
  const auto& c = curve(result, "pcie.h2d.pinned");
  ASSERT_EQ(c.points.size(), 6U);
  ASSERT_TRUE(c.part());
  EXPECT_EQ(c.part()->begin, 0U);
  EXPECT_EQ(c.part()->end, 3U);
  EXPECT_EQ(c.points[2].name, "bytes:262144");
  EXPECT_NEAR(c.points[0].ratio, 0.8, 1e-9);
  EXPECT_NEAR(c.points[5].ratio, 1, 1e-9);
  EXPECT_FALSE(curve(result, "pcie.d2h.pinned").part());
}

TEST(Compare, ATimeThatGrewIsSlower) {
  const auto next = run_with([](Profile& p) { find(p, "launch.submit").value = 2 * 1.9e-6; });
  EXPECT_DOUBLE_EQ(curve(compare_one(sample::h200_run(), next), "launch.submit").points[0].ratio,
                   0.5);
}

// Others use the CPU too. At least one profile must say that the figure depends on it.
TEST(Compare, WhatTheCpuDoesMayTakeHalfAsLongAgain) {
  const auto verdict = [](VariesWith before, VariesWith after) {
    const auto run = [](VariesWith varies, double times) {
      return run_with([&](Profile& p) {
        p.host.virtualization = "kvm";
        Measurement& m = find(p, "launch.submit");
        m.varies_with = varies;
        m.value = times * *m.value;
      });
    };
    const Profile next = run(after, 1.5);
    return curve(compare_one(run(before, 1), next), "launch.submit").verdict;
  };
  EXPECT_EQ(verdict(VariesWith::kDevice, VariesWith::kDevice), Verdict::kSlower);
  EXPECT_EQ(verdict(VariesWith::kSearch, VariesWith::kSearch), Verdict::kSlower);
  EXPECT_EQ(verdict(VariesWith::kCpu, VariesWith::kCpu), Verdict::kInconclusive);
  EXPECT_EQ(verdict(VariesWith::kDevice, VariesWith::kCpu), Verdict::kInconclusive);
}

TEST(Compare, SaysWhatExistsOnOneSideOnly) {
  const auto next = run_with([](Profile& p) {
    std::erase_if(p.measurements, [](const Measurement& m) {
      return m.id == "gemm.tf32" || m.id == "launch.submit" ||
             m.name() == "divergence.lanes/paths:32";
    });
    p.measurements.push_back(
        sample::measurement("l2.read", {{"bytes", 1 << 20}}, Quantity::kByteRate, 1e12));
  });
  const auto result = compare_one(sample::h200_run(), next);
  EXPECT_THAT(result.devices[0].only_base,
              UnorderedElementsAre("tensor.tf32/burst", "tensor.tf32/sustained", "launch.submit",
                                   "divergence.lanes (1 point)"));
  EXPECT_THAT(result.devices[0].only_next, ElementsAre("l2.read"));
}

TEST(Compare, DifferentModelsGiveRatiosAndNoVerdict) {
  const auto next = run_with([](Profile& p) {
    sample::rename(p, sample::kUuid, "GPU-2");
    p.devices[0].name = "NVIDIA H100 80GB HBM3";
    scale(find(p, "hbm.read/width:16/bytes:4294967296"), 0.7);
  });
  const auto result = compare_one(sample::h200_run(), next);
  ASSERT_EQ(result.devices.size(), 2U);
  EXPECT_FALSE(result.devices[0].same_model);
  EXPECT_EQ(ceiling(result, "hbm.read/measured").verdict, Verdict::kNotJudged);
  EXPECT_LT(ceiling(result, "hbm.read/measured").ratio, 1);
  EXPECT_THAT(reasons(result), ElementsAre("different_model gpu0/model"));
  EXPECT_TRUE(result.devices[1].same_model);  // the same host
}

Profile two_devices(const char* first, const char* second) {
  auto p = sample::h200_run();
  sample::rename(p, sample::kUuid, first);
  p.devices.push_back(p.devices[0]);
  p.devices[1].uuid = second;
  p.devices[1].index = 1;
  auto slow = find(p, "gemm.bf16/load:burst");
  slow.device = second;
  slow.value = 500e12;
  p.measurements.push_back(slow);
  return sample::derived(p);
}

// An anonymized profile has only the first part of the UUID.
TEST(Compare, AnAnonymizedRunIsOfTheSameCard) {
  const Profile run = two_devices("GPU-01234567-89ab-cdef-0123-456789abcdef",
                                  "GPU-76543210-89ab-cdef-0123-456789abcdef");
  const std::vector<Profile> both = {run, anonymized(run)};
  for (const auto& [base, next] : {std::pair{std::span(both), std::span(both).first(1)},
                                   std::pair{std::span(both).last(1), std::span(both)}}) {
    const CompareResult result = compare(base, next, {});
    EXPECT_EQ(result.devices.size(), 3U);
    EXPECT_TRUE(result.only_base.empty());
    EXPECT_TRUE(result.only_next.empty());
    EXPECT_THAT(reasons(result), ::testing::Each(Not(HasSubstr("missing"))));
    for (const Difference& d : result.devices[0].differences) EXPECT_NE(d.what, "card");
  }
}

TEST(Compare, AnotherCardIsAnotherCondition) {
  const auto first = two_devices("GPU-01234567-89ab", "GPU-2"),
             second = two_devices("GPU-76543210-89ab", "GPU-2");
  const auto result = compare_one(first, second);
  const Difference& card = result.devices[0].differences.at(0);
  EXPECT_EQ(card.what, "card");
  EXPECT_EQ(card.base + card.next, "GPU-01234567GPU-76543210");
}

// The last point of a sweep over threads uses all of them, so it differs between hosts.
TEST(Compare, AHostWithOtherThreadsLacksNothing) {
  const auto with_threads = [](int threads) {
    return run_with([=](Profile& p) {
      p.host.usable_threads = threads;
      Measurement m = sample::measurement("host.fma.fp32", {{"threads", std::int64_t{1}}},
                                          Quantity::kFlopRate, 1e12);
      m.device = kHostDevice;
      m.verified = true;
      p.measurements.push_back(m);
      m.params = {{"threads", std::int64_t{threads}}};
      p.measurements.push_back(m);
    });
  };
  EXPECT_THAT(reasons(compare_one(with_threads(16), with_threads(32))), ::testing::IsEmpty());
  // A host lacks something if all points are missing, or the one with the same number of threads.
  for (const auto& [threads, missing] :
       {std::pair(32, "host.fma.fp32/threads:"), {16, "host.fma.fp32/threads:16"}}) {
    Profile lost = with_threads(threads);
    std::erase_if(lost.measurements,
                  [&](const Measurement& m) { return m.name().starts_with(missing); });
    EXPECT_THAT(reasons(compare_one(with_threads(16), lost)),
                Contains("missing host/host.fma.fp32"));
  }
}

TEST(CompareText, NoAdviceHidesALoss) {
  CompareResult result;
  DeviceComparison& device = result.devices.emplace_back();
  device.same_model = true;
  const auto add = [&](const char* resource, std::optional<std::size_t> runs, double threshold) {
    CeilingComparison& c = device.ceilings.emplace_back();
    c.resource = resource;
    c.label = resource;
    c.unit = "B/s";
    c.verdict = Verdict::kInconclusive;
    c.runs_to_settle = runs;
    c.threshold_to_settle = threshold;
  };
  add("hbm.read", 3, 0.021);
  add("hbm.write", std::nullopt, 0.0261);
  add("PCIe both ways", std::nullopt, 0.118);
  EXPECT_THAT(compare_text(result, {.all = true}, {.width = 1000}),
              HasSubstr("3 runs a side could settle 1 of the 3 inconclusive figures (hbm.read). "
                        "--threshold 2.7 would settle 1 of the 3 inconclusive figures (hbm.write). "
                        "PCIe both ways is too noisy to tell."));
}

TEST(CompareText, WhereNothingDeviatesEachFigureIsCounted) {
  CompareResult result;
  result.base_files = {"node7.json"};
  result.next_files = {"profiles/node8.json.gz"};
  result.threshold = 0.02;
  DeviceComparison& device = result.devices.emplace_back();
  const auto add = [&](const char* resource, double ratio_low, Verdict verdict,
                       std::optional<std::size_t> runs) {
    CeilingComparison& c = device.ceilings.emplace_back();
    c.label = resource;
    c.unit = "B/s";
    c.ratio_low = ratio_low;
    c.verdict = verdict;
    c.runs_to_settle = runs;
  };
  const auto line = [&] {
    const std::string text = compare_text(result, {}, {});
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(line(), "CANNOT JUDGE  no figure could be judged");
  add("hbm.read", 0.995, Verdict::kSame, std::nullopt);
  EXPECT_EQ(line(), "SAME  node8 is as fast as node7: 1 figure equal");
  add("hbm.write", 0.965, Verdict::kInconclusive, 3);
  EXPECT_EQ(
      line(),
      "SAME  node8 is as fast as node7 within 3.5 %: 1 figure equal, 1 inconclusive (3 runs a "
      "side say more)");
  add("PCIe both ways", 0.7, Verdict::kInconclusive, std::nullopt);
  EXPECT_EQ(
      line(),
      "SAME  node8 is as fast as node7 within 3.5 %: 1 figure equal, 1 inconclusive (3 runs a "
      "side say more); PCIe both ways is too noisy to tell");
  device.ceilings.erase(device.ceilings.begin() + 1, device.ceilings.end());
  const auto differs = [&](const char* label, double ratio) {
    add("gemm.fp32", ratio - 0.016, Verdict::kWithinModel, std::nullopt);
    device.ceilings.back().label = label;
    device.ceilings.back().ratio = ratio;
  };
  differs("FP32 GEMM burst", 0.96);
  EXPECT_EQ(line(),
            "SAME  node8 is as fast as node7 within 5.6 %: 1 figure equal, 1 differs as cards do "
            "(FP32 GEMM burst -4.0 %)");
  differs("FP32 GEMM achievable", 0.929);
  EXPECT_EQ(line(),
            "SAME  node8 is as fast as node7 within 8.7 %: 1 figure equal, 2 differ as cards do "
            "(most: FP32 GEMM achievable -7.1 %)");
  CurveComparison& faster = device.curves.emplace_back();
  faster.id = "launch.graph";
  faster.verdict = Verdict::kFaster;
  faster.points = {{.name = "nodes:1", .ratio = 2}};
  EXPECT_THAT(line(), testing::EndsWith(
                          "(most: FP32 GEMM achievable -7.1 %); 1 curve faster (launch graph)"));
  device.curves.clear();
  add("l2.read", 1.05, Verdict::kFaster, std::nullopt);
  EXPECT_EQ(line(),
            "FASTER  node8 is faster than node7 in 1 of 4 figures by more than 2.0 %, slower in "
            "none; 2 differ as cards do (most: FP32 GEMM achievable -7.1 %)");
}

// Each alone leaves its figure open.
TEST(Compare, InconclusiveFiguresOfOneSignLean) {
  const auto lean = [](std::vector<double> ratios, std::optional<double> between_cards = {}) {
    DeviceComparison device;
    for (const double ratio : ratios) {
      CeilingComparison& c = device.ceilings.emplace_back();
      c.ratio = ratio;
      c.between_cards = between_cards;
      c.threshold_to_settle = 0.04;
      c.verdict = Verdict::kInconclusive;
    }
    return lean_of(std::span(&device, 1), 0.02);
  };
  const std::vector<double> slower(14, 0.975);
  auto mostly = slower, half = slower, slightly = slower;
  mostly[3] = 1.01;
  std::fill_n(half.begin(), 6, 1.03);
  std::ranges::fill(slightly, 0.992);
  EXPECT_EQ(lean(slower)->figures, 14u);
  EXPECT_EQ(lean(mostly)->figures, 13u);
  EXPECT_DOUBLE_EQ(lean(mostly)->ratio, 0.975);
  EXPECT_FALSE(lean(std::vector<double>(8, 1.025))->slower());
  EXPECT_TRUE(lean(slower, 0.004));
  EXPECT_FALSE(lean(slower, 0.011));  // two cards may differ so far
  EXPECT_FALSE(lean(half) || lean(slightly) || lean({}) || lean(std::vector<double>(7, 0.97)));
}

TEST(CompareText, TheFirstLineSaysWhereFiguresLean) {
  CompareResult result;
  result.threshold = 0.02;
  result.lean = {.figures = 13, .inconclusive = 14, .ratio = 0.979};
  for (int i = 0; i < 15; ++i) {
    CeilingComparison& c = i == 0 ? result.devices.emplace_back().ceilings.emplace_back()
                                  : result.devices[0].ceilings.emplace_back();
    c.ratio_low = 0.96;
    c.runs_to_settle = 3;
    c.verdict = i == 0 ? Verdict::kSame : Verdict::kInconclusive;
  }
  EXPECT_TRUE(compare_text(result, {}, {})
                  .starts_with("SAME  new differs from base by at most 4.0 %: 13 of 14 "
                               "inconclusive figures are slower, by 2.1 % in the median (3 runs a "
                               "side say more); 1 figure equal\n"));
  EXPECT_EQ(nlohmann::json::parse(compare_json(result))["lean"]["figures"], 13);
}

// A new run that warns by itself, though nothing became slower.
TEST(CompareText, CarriesWarningsOfTheNewRuns) {
  const Profile base = sample::h200_run();
  Profile hot = base;
  hot.findings.push_back({.code = "thermal_limit",
                          .severity = Severity::kWarning,
                          .device = std::string(sample::kUuid),
                          .message = "It overheated at 82 °C.",
                          .evidence = {}});
  const std::vector<std::string> allowed = {"gpu0/health/thermal_limit"};
  const CompareResult result = compare_one(base, hot);
  EXPECT_EQ(result.verdict(), "same");
  EXPECT_TRUE(result.gate.passed());
  for (const bool gate : {false, true}) {
    const std::string text = compare_text(result, {.gate = gate}, {});
    EXPECT_TRUE(text.starts_with(gate ? "WARN  " : "SAME  "));
    EXPECT_THAT(text, HasSubstr("; new by itself has a warning: gpu0/health/thermal_limit\n"
                                "  gpu0/health/thermal_limit: warn: It overheated at 82 °C."));
  }
  const auto document = nlohmann::json::parse(compare_json(result));
  EXPECT_EQ(document["gate"]["warnings"][0]["outcome"], "warn");
  EXPECT_EQ(compare_one(base, hot, {.allowed = allowed}).gate.outcome(), Outcome::kPass);
  EXPECT_EQ(compare_one(hot, base).gate.outcome(), Outcome::kPass);
}

TEST(CompareText, FiguresArePrintedThoughOneCannotBeJudged) {
  const auto next = run_with([](Profile& p) {
    find(p, "gemm.bf16/load:burst").method_version = 2;
    scale(find(p, "gemm.bf16/load:sustained"), 0.99);
  });
  const std::string text = compare_text(compare_one(sample::h200_run(), next), {}, {});
  EXPECT_TRUE(text.starts_with("CANNOT JUDGE  gpu0/gemm.bf16: "));
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("; otherwise new is as fast as base"));
  EXPECT_THAT(text, HasSubstr("the largest differences:"));
  EXPECT_THAT(text, HasSubstr("\n  BF16 Tensor Cores achievable "));
}

TEST(Compare, DevicesArePairedByUuidElseByIndexAndName) {
  const auto base = two_devices("GPU-a", "GPU-b");
  auto swapped = base;
  std::swap(swapped.devices[0].index, swapped.devices[1].index);
  for (const Profile& next : {swapped, two_devices("GPU-c", "GPU-d")}) {
    const auto result = compare_one(base, next);
    ASSERT_EQ(result.devices.size(), 3U);
    for (const DeviceComparison& device : result.devices)
      for (const CeilingComparison& c : device.ceilings) EXPECT_DOUBLE_EQ(c.ratio, 1);
  }
}

TEST(Compare, ChosenGpusArePairedInTheirOrder) {
  const auto both = two_devices("GPU-a", "GPU-b");
  auto reversed = both;
  std::swap(reversed.devices[0], reversed.devices[1]);
  const auto first = [&](bool in_order) {
    const CompareResult result = compare_one(both, reversed, {.in_order = in_order});
    EXPECT_TRUE(result.only_base.empty());
    return result.devices.at(0).next_name;
  };
  EXPECT_EQ(first(false), "GPU 0 · NVIDIA H200");
  EXPECT_EQ(first(true), "GPU 1 · NVIDIA H200");
}

TEST(Compare, ADeviceOfOneSideIsNamed) {
  auto base = two_devices("GPU-a", "GPU-b");
  auto next = base;
  next.devices.pop_back();
  const auto result = compare_one(base, sample::derived(next));
  EXPECT_EQ(result.devices.size(), 2U);
  EXPECT_THAT(result.only_base, ElementsAre("GPU 1 · NVIDIA H200"));
  EXPECT_TRUE(result.only_next.empty());
}

TEST(Compare, HostsOfDifferentModelsAreNotJudged) {
  const auto next = run_with([](Profile& p) {
    p.host.cpu_model = "Intel(R) Xeon(R) Platinum 8480C";
    scale(find(p, "host.memory.read/threads:192"), 0.5);
  });
  const auto result = compare_one(sample::h200_run(), next);
  EXPECT_FALSE(result.devices[1].same_model);
  EXPECT_THAT(reasons(result), ElementsAre("different_model host/model"));
}

TEST(Compare, AnEmptySideComparesWithNothing) {
  const auto p = sample::h200_run();
  const auto result = compare({}, std::span(&p, 1), {});
  EXPECT_TRUE(result.devices.empty());
  EXPECT_EQ(result.only_next.size(), 2U);
}

TEST(CompareText, IsThatOfTheGoldenFile) {
  const auto next = run_with([](Profile& p) {
    auto& m = find(p, "gemm.bf16/load:sustained");
    scale(m, 0.9);
    m.conditions.sm_clock_hz = 1260e6;
    for (Measurement& each : p.measurements)
      if (each.id == "pcie.h2d.pinned" && *int_param(each.params, "bytes") <= 262144)
        scale(each, 0.8);
    std::erase_if(p.measurements, [](const Measurement& each) { return each.id == "gemm.tf32"; });
    p.software.driver = "590.1";
    p.devices[0].xids = {79};
  });
  auto other = sample::h200_run();
  other.devices[0].name = "NVIDIA H100 80GB HBM3";
  scale(other, "hbm.read", Basis::kMeasured, 0.7);
  const std::vector<std::string> allowed = {"gpu0/health/xid", "gpu1"};
  const ShowOptions wide{.color = false, .width = 100};
  golden::expect_screen(
      compare_text(compare_one(sample::h200_run(), next, {.allowed = allowed}),
                   {.all = true, .gate = true}, wide) +
          compare_text(compare_one(sample::h200_run(), other), {.all = true}, wide),
      "compared");
}

TEST(CompareText, KeepsWithinTheTerminal) {
  const Profile& base = sample::reference();
  Profile next = base;
  next.devices[0].vbios = "another";
  next.mode = "quick";
  const auto slow_down = [](double& value, Conditions& conditions) {
    value *= 0.8;
    if (conditions.sm_clock_hz) *conditions.sm_clock_hz *= 0.9;
    if (conditions.power_w) *conditions.power_w *= 0.9;
  };
  for (Ceiling& c : next.ceilings) slow_down(c.value, c.conditions);
  for (Measurement& m : next.measurements)
    if (m.value && m.params.size() > 1) slow_down(*m.value, m.conditions);
  for (const std::size_t width : {80, 100}) {
    const std::string text = compare_text(compare_one(base, next), {.all = true}, {.width = width});
    // The verdict stays in one line.
    EXPECT_LE(widest_line(text.substr(text.find('\n') + 1)), width);
  }
}

TEST(CompareJson, SaysTheSame) {
  const auto result = compare_one(sample::h200_run(), with_scaled("gemm.bf16/load:burst", 0.9));
  const auto document = nlohmann::json::parse(compare_json(result));
  EXPECT_EQ(document["schema"], "peakline-comparison");
  EXPECT_EQ(document["gate"]["passed"], false);
  EXPECT_EQ(document["gate"]["reasons"][0]["code"], "slower");
  EXPECT_EQ(document["gate"]["reasons"][0]["name"], "gpu0/tensor.bf16/burst");
  std::vector<std::string> slower;
  for (const auto& c : document["devices"][0]["ceilings"]) {
    if (c["verdict"] == "slower") slower.push_back(c["resource"]);
  }
  EXPECT_THAT(slower, ElementsAre("tensor.bf16"));
  EXPECT_FALSE(document["devices"][0]["curves"].empty());
}

TEST(Compare, TimedManyCeilingsTakeNoLongerThanTheyHaveTo) {
  EXPECT_LT(growth([](const Profile& p) {
              const auto result = compare_one(p, p);
              EXPECT_EQ(result.devices.at(0).ceilings.size(), p.ceilings.size());
              EXPECT_FALSE(compare_text(result, {.all = true}, {}).empty());
            }),
            kMostGrowth);
}

TEST(Compare, TimedAFleetIsLinear) {
  const auto p = two_devices("GPU-a", "GPU-b");
  const auto time_for = [&](std::size_t n) {
    std::vector<Profile> fleet(n, p);
    for (std::size_t i = 0; i < n; ++i) fleet[i].devices[0].uuid = "GPU-" + std::to_string(i);
    return cpu_seconds(
        [&] { EXPECT_EQ(compare(fleet, fleet, {}).devices.size(), fleet.size() + 2); });
  };
  time_for(40);  // warms up caches
  // Quadratic work on eight times the profiles would take 64 times as long.
  const double small = time_for(40);
  EXPECT_LT(time_for(320), kMostGrowth * small);
}

}  // namespace
}  // namespace peakline
