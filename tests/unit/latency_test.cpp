// Curves of latencies, occupancy and instructions.

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/conclude/limits.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

TEST(Occupancy, InterpolatesBytesInFlight) {
  Profile profile;
  profile.devices = {sample::h200()};
  for (const auto& [warps, loads, rate] :
       std::vector<std::tuple<std::int64_t, std::int64_t, double>>{
           {2, 1, 10e9}, {4, 1, 20e9}, {4, 2, 30e9}, {8, 1, 40e9}, {16, 1, 50e9}, {32, 1, 50e9}})
    profile.measurements.push_back(sample::measurement(
        "occupancy.hbm", {{"warps", warps}, {"loads", loads}}, Quantity::kByteRate, rate));
  const auto warps_for = [&](double rate) {
    profile.ceilings = {
        {.device = sample::kUuid, .resource = "hbm.read", .value = rate / 0.9, .unit = "B/s"}};
    const std::vector<DeviceView> views = device_views(profile);
    CurveView curve{.device = &profile.devices[0], .points = {}, .view = &views.front()};
    for (const Measurement& m : profile.measurements) curve.points.push_back(&m);
    const std::vector<Figure> figures = summarized(sample::rule_of("occupancy.hbm"), curve);
    return figure_of(figures, {.name = "in_flight_per_sm"}) / (32 * 16);
  };
  EXPECT_DOUBLE_EQ(warps_for(45e9), 12);
  EXPECT_THROW(warps_for(5e9), std::out_of_range);   // the least is enough
  EXPECT_THROW(warps_for(51e9), std::out_of_range);  // the most is not
}

// Short loads of one H200 and sustained ones of another: short ones do not count for many SMs.
TEST(SomeOfTheSms, ProductsOnManySmsCountUnderLoadAlone) {
  const auto sms_for = [](bool with_loads) {
    std::vector<Measurement> points;
    const auto add = [&](std::int64_t sms, double tflops, Params load = {}) {
      load.emplace_back("sms", sms);
      points.push_back(
          sample::measurement("sms.gemm", std::move(load), Quantity::kFlopRate, tflops * 1e12));
      points.back().launch = {{"sms", sms}};
    };
    for (const auto& [sms, tflops] : std::vector<std::pair<std::int64_t, double>>{
             {8, 53}, {48, 339}, {64, 450}, {80, 537}, {96, 647}, {112, 720}, {132, 696}})
      add(sms, tflops);
    if (with_loads)
      for (const auto& [sms, tflops] :
           std::vector<std::pair<std::int64_t, double>>{{96, 561}, {112, 610}, {132, 643}})
        add(sms, tflops, {{"load", "sustained"}});
    const auto figures = said_by(sample::rule_of("sms.gemm"), points);
    return figure_of(figures, {.name = "sms_for", .by = {{"percent", std::int64_t{95}}}});
  };
  EXPECT_EQ(sms_for(true), 113);   // 95 % of 643
  EXPECT_EQ(sms_for(false), 105);  // 95 % of 720
}

Profile with_gather(std::initializer_list<std::pair<double, double>> rates) {
  Profile p = sample::h200_run();
  for (const auto& [gib, gb_per_s] : rates)
    p.measurements.push_back(sample::measurement("random.gather",
                                                 {{"bytes", static_cast<std::int64_t>(gib * kGiB)}},
                                                 Quantity::kByteRate, gb_per_s * 1e9));
  return sample::derived(p);
}

TEST(Gather, ATlbThatCoversLessThanTheMemoryIsAFinding) {
  const auto finding = [](const Profile& p) { return sample::finding(p, "tlb_reach"); };
  const Profile falls = with_gather({{1, 1250}, {16, 1205}, {64, 1200}, {96, 290}, {128, 193}});
  EXPECT_NE(finding(falls), nullptr);
  const Profile flat = with_gather({{1, 1250}, {16, 1205}, {64, 1200}, {128, 1190}});
  EXPECT_EQ(finding(flat), nullptr);
  const Profile few = with_gather({{1, 1250}, {16, 1205}, {64, 200}});
  EXPECT_EQ(finding(few), nullptr);
}

constexpr double kClockHz = 1.9e9;

Measurement at_clock(const char* id, Params params, Quantity quantity, double value) {
  auto m = sample::measurement(id, std::move(params), quantity, value);
  m.conditions.sm_clock_hz = kClockHz;
  return m;
}
Measurement rate_of(const char* op, double per_clock_per_sm) {
  return at_clock("instruction.throughput", {{"op", std::string(op)}}, Quantity::kOpRate,
                  per_clock_per_sm * kClockHz * *sample::h200().sm_count);
}

std::vector<Figure> said(const CurveRule& rule, const std::vector<Measurement>& all) {
  const DeviceFacts device = sample::h200();
  return said_by(rule, all, &device);
}

TEST(InstructionCurves, WithoutAClockNothingIsSaidPerClock) {
  auto m = rate_of("fp32_fma", 127);
  m.conditions.sm_clock_hz.reset();
  const auto figures = said(sample::rule_of("instruction.throughput"), {m});
  EXPECT_TRUE(figures.empty());
}

TEST(InstructionRate, IsTheDocumentedRateAtTheMaximumClock) {
  const DeviceFacts device = sample::h200();
  const Limit& rate = find_benchmark(sample::benchmarks(), "instruction.throughput")->limit;
  const auto limit = [&](const char* op) {
    const auto m = rate_of(op, 1);
    return rate.of(&m, device);
  };
  EXPECT_NEAR(limit("fp16x2_fma")->value, 256 * 132 * 1980e6, 1);
  EXPECT_EQ(limit("ex2")->how, "16 results/clk/SM x 132 SMs x 1980 MHz");
  EXPECT_FALSE(limit("match"));
  EXPECT_FALSE(rate.of(nullptr, device));
  EXPECT_EQ(per_clock_per_sm(32).of(nullptr, device)->how, "32 ops/clk/SM x 132 SMs x 1980 MHz");
}

}  // namespace
}  // namespace peakline
