#include "harness/conclude/conclusions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "harness/values/device_view.hpp"
#include "harness/values/measurement.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

Profile profile_with(const Measurement& measurement) {
  DeviceFacts device;
  device.uuid = measurement.device;
  device.name = "NVIDIA H200";
  device.compute_major = 9;
  device.sm_count = 132;
  device.sm_clock_max_hz = 1.98e9;
  device.memory_clock_max_hz = 3.201e9;
  device.memory_bus_bits = 6016;
  device.pcie = {.generation = 1, .width = 16, .max_generation = 5, .max_width = 16};
  Profile profile;
  profile.devices = {device};
  profile.measurements = {measurement};
  return profile;
}

Measurement bandwidth(std::string id, double bytes_per_s) {
  Measurement m;
  m.id = std::move(id);
  m.device = "GPU-01234567-89ab-cdef-0123-456789abcdef";
  m.params = {{"bytes", std::int64_t{1} << 31}};
  m.work.bytes_read = 2147483648;
  m.samples_s = {2147483648 / bytes_per_s};
  m.summary =
      Summary{m.samples_s[0], m.samples_s[0], m.samples_s[0], m.samples_s[0], m.samples_s[0], 1};
  m.value = bytes_per_s;
  m.unit = "B/s";
  m.verified = true;
  return m;
}

TEST(Conclusions, FlagsWhatIsAboveThePhysicalLimit) {
  // 2 x 3201 MHz x 6016 bit / 8 = 4814 GB/s.
  EXPECT_FALSE(with_conclusions(profile_with(bandwidth("hbm.read", 4.8e12)), sample::benchmarks())
                   .measurements[0]
                   .flags.implausible);
  const Profile above =
      with_conclusions(profile_with(bandwidth("hbm.read", 4.9e12)), sample::benchmarks());
  EXPECT_TRUE(above.measurements[0].flags.implausible);
  EXPECT_TRUE(above.memory_map.empty());
  for (const Ceiling& ceiling : above.ceilings) EXPECT_NE(ceiling.basis, Basis::kMeasured);
}

TEST(Conclusions, DropAClockAtWhichAProductWouldOutdoItsInstructions) {
  for (const double clock_hz : {1890e6, 1500e6}) {
    Profile p = sample::h200_run();
    Measurement instruction =
        sample::measurement("mma.wgmma.bf16", {}, Quantity::kFlopRate, 1000e12);
    instruction.conditions.sm_clock_hz = 1900e6;
    instruction.conditions.sm_clock_source = ClockSource::kNvml;
    p.measurements.push_back(instruction);
    const auto burst = [](Profile& profile) -> Measurement& {
      return *std::ranges::find(profile.measurements, "gemm.bf16/load:burst", &Measurement::name);
    };
    burst(p).conditions.sm_clock_hz = clock_hz;  // 805 TFLOP/s
    p = with_conclusions(std::move(p), sample::benchmarks());
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
  return with_conclusions(std::move(p), sample::benchmarks());
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

TEST(Conclusions, BelieveAClockAboveTheMaximumThatMeasurementsAgreeOn) {
  expect_believed(run_at(1995e6, 3), 1995e6);
  expect_believed(run_at(2010e6, 3), 2010e6);
  expect_believed(run_at(2040e6, 3), std::nullopt);
  expect_believed(run_at(1995e6, 1), std::nullopt);
  expect_believed(run_at(1995e6, 3, ClockSource::kNvml), std::nullopt);
  EXPECT_EQ(run_at(1995e6, 3, ClockSource::kProbe, 13).devices[0].sm_clock_seen_max_hz,
            std::nullopt);  // its step is unknown
  const Profile run = run_at(1995e6, 3);
  EXPECT_EQ(with_conclusions(run, sample::benchmarks()), run);
}

TEST(Conclusions, HoldRatesAgainstTheClockThatWasSeen) {
  const auto implausible = [](double share, double clock_hz) {
    Profile p = run_at(clock_hz, 3);
    *p.measurements[0].value *= share;
    return with_conclusions(std::move(p), sample::benchmarks()).measurements[0].flags.implausible;
  };
  EXPECT_FALSE(implausible(1.0045, 1995e6));
  EXPECT_TRUE(implausible(1.006, 1995e6));
  EXPECT_FALSE(implausible(1.006, 2010e6));
  EXPECT_TRUE(implausible(1.006, 1980e6));
  // Limits that no clock affects still apply.
  Profile p = run_at(2010e6, 3);
  p.measurements.push_back(bandwidth("hbm.read", 1.006 * 4814.3e9));
  EXPECT_TRUE(
      with_conclusions(std::move(p), sample::benchmarks()).measurements.back().flags.implausible);
}

TEST(Conclusions, HaveAsManyDigitsAsWhatTheyFollowFrom) {
  const Profile result = with_conclusions(sample::h200_run(), sample::benchmarks());
  const auto is_short = [](double figure) {
    const double stated = figure;
    round_digits(figure);
    return figure == stated || std::trunc(stated) == stated;  // sizes are exact
  };
  for (const Ceiling& row : result.ceilings) {
    EXPECT_TRUE(is_short(row.value)) << row.resource;
    EXPECT_TRUE(is_short(row.ci_low.value_or(1))) << row.resource;
    EXPECT_TRUE(is_short(row.ci_high.value_or(1))) << row.resource;
    for (const Factor& factor : row.factors) EXPECT_TRUE(is_short(factor.value)) << factor.name;
  }
  for (const Roofline& roofline : result.rooflines)
    for (const RidgePoint& ridge : roofline.ridge_points)
      EXPECT_TRUE(is_short(ridge.intensity)) << ridge.compute;
  for (const Curve& curve : result.curves)
    for (const Figure& figure : curve.figures)
      EXPECT_TRUE(is_short(figure.value)) << point_name(figure.name, figure.by);
}

TEST(Conclusions, KeepSizesExact) {
  Profile run = sample::h200_run();
  for (const auto& [gib, rate] : {std::pair{1, 1e12}, {16, 1e12}, {28, 1e12}, {64, 2e11}}) {
    run.measurements.push_back(sample::measurement(
        "random.gather", {{"bytes", std::int64_t{gib} << 30}}, Quantity::kByteRate, rate));
  }
  const Profile result = with_conclusions(run, sample::benchmarks());
  EXPECT_EQ(figure(device_views(result)[0], {.role = role::kReach}), 30064771072);
}

TEST(Conclusions, HoldAMemoryMap) {
  const Profile result = with_conclusions(sample::h200_run(), sample::benchmarks());
  ASSERT_EQ(result.memory_map.size(), 2u);  // only with rates
  EXPECT_EQ(result.memory_map[0].level, "hbm");
  EXPECT_EQ(result.memory_map[1].level, "host");
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
  const Profile whole = with_conclusions(sample::h200_run(), sample::benchmarks());
  EXPECT_EQ(broken(whole), Finding());

  const Profile result = with_rule([](const CurveView&, Sentence& sentence) {
    sentence.figure("time", 1, {{"threads", 2}});
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
      broken(with_rule([](const CurveView&, Sentence&) { throw Missing(); })).evidence[0].second,
      "launch.submit: something that it needs was not measured");
  EXPECT_EQ(broken(with_rule([](const CurveView&, Sentence&) { std::string().at(1); })).severity,
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
  const Profile result = with_conclusions(profile, sample::benchmarks());
  EXPECT_TRUE(result.devices[0].pcie_read_under_load);
  EXPECT_EQ(result.devices[0].pcie.generation, 5);
  EXPECT_EQ(result.devices[0].pcie.width, 8);
  EXPECT_EQ(result.devices[0].pcie.max_width, 16);

  const Profile idle =
      with_conclusions(profile_with(bandwidth("hbm.read", 4e12)), sample::benchmarks());
  EXPECT_FALSE(idle.devices[0].pcie_read_under_load);
  EXPECT_EQ(idle.devices[0].pcie.generation, 1);
}

}  // namespace
}  // namespace peakline
