#include "harness/conclude/conclusions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "harness/conclude/limits.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/measurement.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

// An H200 whose link was read idle, and one measurement.
Profile profile_with(const Measurement& measurement) {
  Profile profile;
  profile.devices = {sample::h200()};
  profile.devices[0].pcie = {.generation = 1, .width = 16, .max_generation = 5, .max_width = 16};
  profile.devices[0].pcie_read_under_load = false;
  profile.measurements = {measurement};
  return profile;
}

Measurement bandwidth(std::string id, double bytes_per_s) {
  return sample::measurement(std::move(id), {{"bytes", std::int64_t{1} << 31}}, Quantity::kByteRate,
                             bytes_per_s);
}

Profile conclude(Profile profile) {
  return with_conclusions(std::move(profile), sample::benchmarks());
}

TEST(Conclusions, FlagsWhatIsAboveThePhysicalLimit) {
  // 2 x 3201 MHz x 6016 bit / 8 = 4814 GB/s.
  const Profile below = conclude(profile_with(bandwidth("hbm.read", 4.8e12)));
  EXPECT_FALSE(below.measurements[0].flags.implausible);
  const Profile above = conclude(profile_with(bandwidth("hbm.read", 4.9e12)));
  EXPECT_TRUE(above.measurements[0].flags.implausible);
  EXPECT_TRUE(above.memory_map.empty());
  for (const Ceiling& ceiling : above.ceilings) EXPECT_NE(ceiling.basis, Basis::kMeasured);
}

TEST(Conclusions, DropAClockThatPutsAGemmAboveItsInstructions) {
  for (const double clock_hz : {1890e6, 1500e6}) {
    Profile p = sample::h200_run();
    Measurement instruction =
        sample::measurement("mma.wgmma.bf16", {}, Quantity::kFlopRate, 1000e12);
    instruction.conditions.sm_clock_hz = 1900e6;
    instruction.conditions.sm_clock_source = ClockSource::kNvml;
    p.measurements.push_back(instruction);
    const auto burst = [](Profile& profile) -> Measurement& {
      return sample::find(profile, "gemm.bf16/load:burst");
    };
    burst(p).conditions.sm_clock_hz = clock_hz;  // 805 TFLOP/s
    p = conclude(std::move(p));
    const bool possible = 805.0 / clock_hz < 1000.0 / 1900e6;
    EXPECT_EQ(burst(p).conditions.sm_clock_hz.has_value(), possible);
    EXPECT_EQ(burst(p).conditions.sm_clock_source.has_value(), possible);
    const Ceiling* row = find_ceiling(p.ceilings, burst(p).device, "tensor.bf16", Basis::kBurst);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->conditions.sm_clock_hz.has_value(), possible);
    EXPECT_EQ(row->factors.empty(), !possible);
  }
}

// A run in which this many measurements read this clock, with a rate of shared memory at 1995 MHz.
Profile run_at(double clock_hz, int measurements, ClockSource source = ClockSource::kProbe,
               int compute_major = 9) {
  constexpr double kBytesPerClock = 128 * 132;
  Profile p = profile_with(bandwidth("shared.read", 0.9999 * kBytesPerClock * 1995e6));
  p.devices[0].compute_major = compute_major;
  for (int i = 0; i < measurements; ++i) {
    Measurement m = bandwidth("latency.l1", 1e12);
    m.conditions.sm_clock_hz = clock_hz;
    m.conditions.sm_clock_source = source;
    m.series.sm_clock_hz = {clock_hz, 1980e6};
    p.measurements.push_back(m);
  }
  return conclude(std::move(p));
}

void expect_believed(const Profile& run, std::optional<double> clock_hz) {
  const DeviceFacts& device = run.devices[0];
  EXPECT_EQ(device.sm_clock_seen_max_hz, clock_hz);
  EXPECT_EQ(run.measurements[0].flags.implausible, !clock_hz);
  for (std::size_t i = 1; i < run.measurements.size(); ++i) {
    EXPECT_EQ(run.measurements[i].conditions.sm_clock_hz, clock_hz);
    EXPECT_EQ(run.measurements[i].conditions.sm_clock_source.has_value(), clock_hz.has_value());
    EXPECT_EQ(std::isfinite(run.measurements[i].series.sm_clock_hz[0]), clock_hz.has_value());
    EXPECT_EQ(run.measurements[i].series.sm_clock_hz[1], 1980e6);
  }
  const Finding* noted = sample::finding(run, "clock_above_max");
  ASSERT_EQ(noted != nullptr, clock_hz.has_value());
  if (clock_hz) {
    EXPECT_EQ(noted->severity, Severity::kInfo);
  }
}

TEST(Conclusions, BelieveAnAgreedClockAboveTheMaximum) {
  expect_believed(run_at(1995e6, 3), 1995e6);
  expect_believed(run_at(2010e6, 3), 2010e6);
  expect_believed(run_at(2040e6, 3), std::nullopt);
  expect_believed(run_at(1995e6, 1), std::nullopt);
  expect_believed(run_at(1995e6, 3, ClockSource::kNvml), std::nullopt);
  EXPECT_EQ(run_at(1995e6, 3, ClockSource::kProbe, 13).devices[0].sm_clock_seen_max_hz,
            std::nullopt);  // its step is unknown
  const Profile run = run_at(1995e6, 3);
  EXPECT_EQ(conclude(run), run);
}

TEST(Conclusions, HoldRatesAgainstTheClockThatWasSeen) {
  const auto implausible = [](double share, double clock_hz) {
    Profile p = run_at(clock_hz, 3);
    *p.measurements[0].value *= share;
    return conclude(std::move(p)).measurements[0].flags.implausible;
  };
  EXPECT_FALSE(implausible(1.0045, 1995e6));
  EXPECT_TRUE(implausible(1.006, 1995e6));
  EXPECT_FALSE(implausible(1.006, 2010e6));
  EXPECT_TRUE(implausible(1.006, 1980e6));
  // Limits that no clock affects still apply.
  Profile p = run_at(2010e6, 3);
  p.measurements.push_back(bandwidth("hbm.read", 1.006 * 4814.3e9));
  EXPECT_TRUE(conclude(std::move(p)).measurements.back().flags.implausible);
}

// A mistake in a registration costs only its topic, on affected devices.
TEST(Conclusions, ARuleThatThrowsCostsItsTopicAlone) {
  const auto with_rule = [](auto summarize) {
    const auto sample = sample::benchmarks();
    std::vector<Benchmark> benchmarks(sample.begin(), sample.end());
    const auto submit = std::ranges::find(benchmarks, "launch.submit", &Benchmark::id);
    submit->curves.push_back({"kernel launch", {{"time", "s"}}, summarize});
    return with_conclusions(sample::h200_run(), benchmarks);
  };
  const auto broken = [](const Profile& profile) {
    const Finding* found = sample::finding(profile, "broken_topic");
    return found == nullptr ? Finding() : *found;
  };
  const Profile whole = conclude(sample::h200_run());
  EXPECT_EQ(broken(whole), Finding());

  const Profile result = with_rule([](const CurveView&, Figures& figures) {
    figures.add("time", 1, {{"threads", 2}});
  });
  const std::string why =
      "launch.submit: the rule yields the figure time/threads:2, which it does not declare";
  EXPECT_EQ(broken(result).severity, Severity::kError);
  EXPECT_EQ(broken(result).device, sample::kUuid);
  EXPECT_EQ(broken(result).message,
            "Nothing is said of \"kernel launch\", owing to a mistake in peakline: " + why + ".");
  EXPECT_EQ(result.findings.size(), whole.findings.size() + 1);
  std::vector<Curve> others = whole.curves;
  EXPECT_EQ(std::erase_if(others, [](const Curve& c) { return c.topic == "kernel launch"; }), 1u);
  EXPECT_EQ(result.curves, others);
  EXPECT_EQ(result.ceilings, whole.ceilings);

  // So does any other exception.
  EXPECT_EQ(
      broken(with_rule([](const CurveView&, Figures&) { throw Missing(); })).evidence[0].second,
      "launch.submit: something that it needs was not measured");
  EXPECT_EQ(broken(with_rule([](const CurveView&, Figures&) { std::string().at(1); })).severity,
            Severity::kError);
}

TEST(Conclusions, LinkIsTheHighestReadUnderLoad) {
  Measurement copy = bandwidth("pcie.h2d.pinned", 5.5e10);
  copy.conditions.pcie_generation = 4;
  copy.conditions.pcie_width = 8;
  Profile profile = profile_with(copy);
  copy.conditions.pcie_generation = 5;
  copy.params[0].second = std::int64_t{1} << 28;
  profile.measurements.push_back(copy);
  const DeviceFacts loaded = conclude(profile).devices[0];
  EXPECT_TRUE(loaded.pcie_read_under_load);
  EXPECT_EQ(loaded.pcie.generation, 5);
  EXPECT_EQ(loaded.pcie.width, 8);
  EXPECT_EQ(loaded.pcie.max_width, 16);

  const DeviceFacts idle = conclude(profile_with(bandwidth("hbm.read", 4e12))).devices[0];
  EXPECT_FALSE(idle.pcie_read_under_load);
  EXPECT_EQ(idle.pcie.generation, 1);
}

std::optional<double> limit_of(const Measurement& m, const DeviceFacts& device) {
  return plausible_limit(*find_benchmark(sample::benchmarks(), m.id), m, device);
}

TEST(PlausibleLimit, UsesTheLinkReadWhileDataMoved) {
  auto device = sample::h200();
  auto m = sample::measurement("pcie.h2d.pinned", {}, Quantity::kByteRate, 60e9);
  m.conditions.pcie_generation = 4;
  m.conditions.pcie_width = 8;
  EXPECT_NEAR(*limit_of(m, device), 1.005 * 15.75e9, 1e7);
  device.pcie = {};
  m.conditions = {};
  EXPECT_EQ(limit_of(m, device), std::nullopt);
  // An integrated GPU has no PCIe link, whatever the driver answers.
  device.pcie = {.generation = 1, .width = 1, .max_generation = 1, .max_width = 1};
  EXPECT_NEAR(*limit_of(m, device), 1.005 * 0.25e9, 1e6);
  device.integrated = true;
  EXPECT_EQ(limit_of(m, device), std::nullopt);
}

TEST(PlausibleLimit, WhatADriverAnswers0ForLimitsNothing) {
  const auto limits = [](const DeviceFacts& device) {
    std::vector<std::string> limited;
    for (const char* id : {"hbm.read", "fma.fp16", "gemm.bf16", "pcie.h2d.pinned"})
      if (limit_of(sample::measurement(id, {}, Quantity::kFlopRate, 1e12), device))
        limited.emplace_back(id);
    return limited;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(limits(sample::h200()), (Ids{"hbm.read", "fma.fp16", "gemm.bf16", "pcie.h2d.pinned"}));
  auto device = sample::h200();
  device.memory_bus_bits = 0;
  EXPECT_EQ(limits(device), (Ids{"fma.fp16", "gemm.bf16", "pcie.h2d.pinned"}));
  device.sm_clock_max_hz = 0;
  EXPECT_EQ(limits(device), Ids{"pcie.h2d.pinned"});
  device.pcie = {.generation = 0, .width = 0, .max_generation = 0, .max_width = 0};
  EXPECT_EQ(limits(device), Ids{});
}

TEST(PlausibleLimit, OfASweepIsTheRoofItself) {
  const auto device = sample::h200();
  auto m = sample::measurement("roofline.sweep.fp32", {}, Quantity::kFlopRate, 1e12);
  m.work = {.bytes_read = 4, .bytes_written = 0, .flops = 2};
  EXPECT_NEAR(*limit_of(m, device), 1.005 * 4814.3e9 / 2, 1e8);
  m.work.flops = 4000;
  EXPECT_NEAR(*limit_of(m, device), 1.005 * 66.9e12, 1e11);
  m.work.flops = 0;
  EXPECT_EQ(limit_of(m, device), std::nullopt);
}

TEST(ExceedsAtClock, TellsAClockThatIsTooLowForTheValue) {
  const auto m = sample::measurement("gemm.bf16", {}, Quantity::kFlopRate, 1e12);
  const auto limit =
      find_benchmark(sample::benchmarks(), "gemm.bf16")->limit.of(&m, sample::h200());
  const double at_half = limit->value / 2, half_hz = *sample::h200().sm_clock_max_hz / 2;
  EXPECT_FALSE(exceeds_at_clock(1.004 * at_half, *limit, half_hz));
  EXPECT_TRUE(exceeds_at_clock(1.006 * at_half, *limit, half_hz));
  // The SM clock does not limit memory.
  EXPECT_FALSE(exceeds_at_clock(1e30, {.value = 1, .how = {}, .conditions = {}}, half_hz));
}

}  // namespace
}  // namespace peakline
