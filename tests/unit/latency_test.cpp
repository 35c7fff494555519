// Curves of latencies, occupancy and instructions.

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/conclude/findings.hpp"
#include "harness/conclude/limits.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

constexpr double kGHz = 1e9;

// Applies one rule to measurements.
struct Said {
  std::vector<Measurement> points = {};
  DeviceFacts device = sample::h200();
  std::optional<double> hbm_read = {};

  void add(Params params, double value, Quantity quantity = Quantity::kTime) {
    points.push_back(sample::measurement("x", std::move(params), quantity, value));
  }
  std::vector<Figure> of(const CurveRule& rule) const {
    Profile profile;
    profile.measurements = {sample::measurement("latency.hbm", {}, Quantity::kTime, 337e-9)};
    profile.devices = {device};
    if (hbm_read)
      profile.ceilings = {
          {.device = device.uuid, .resource = "hbm.read", .value = *hbm_read, .unit = "B/s"}};
    const std::vector<DeviceView> views = device_views(profile);
    CurveView curve{.device = &device, .points = {}, .view = &views.front()};
    for (const Measurement& m : points) curve.points.push_back(&m);
    return summarized(rule, curve);
  }
};

TEST(LatencyCurve, SaysTimeAndCyclesOfTheKernelsOwnClock) {
  Said said;
  said.add({{"part", "near"}}, 133e-9);
  said.add({{"part", "far"}}, 150e-9);
  said.points[0].conditions.sm_clock_hz = 2 * kGHz;
  const std::vector<Figure> figures = said.of(sample::rule_of("latency.l2"));
  EXPECT_EQ(figure_values(figures), (FigureValues{{"latency/level:l2/part:near", 133e-9},
                                                  {"cycles/level:l2/part:near", 266},
                                                  {"latency/level:l2/part:far", 150e-9}}));
}

TEST(LatencySteps, AreWhereEachLevelEnds) {
  Said said;
  said.device.shared_per_sm_bytes = 228 * kKiB;
  const auto add = [&](double bytes, double ns) {
    said.add({{"bytes", static_cast<std::int64_t>(bytes)}}, ns * 1e-9);
  };
  for (const double kib : {64, 128, 192}) add(kib * kKiB, 16);
  add(256 * kKiB, 84);
  for (const double mib : {1, 8, 16, 24}) add(mib * kMiB, 142);
  add(28 * kMiB, 151.5);  // not 144 as in other runs of this H200
  add(32 * kMiB, 210);
  for (const double mib : {40, 48, 56}) add(mib * kMiB, 255);
  for (const double gib : {0.5, 8.0, 64.0}) add(gib * kGiB, 338);
  EXPECT_EQ(find_figure(said.of(sample::rule_of("latency.sweep")), {.name = "largest"}), nullptr);
  add(128 * kGiB, 362);
  const std::vector<Figure> figures = said.of(sample::rule_of("latency.sweep"));
  EXPECT_EQ(figure_values(figures), (FigureValues{{"held/level:l1", 192 * kKiB},
                                                  {"near_held/level:l2", 28 * kMiB},
                                                  {"held/level:l2", 56 * kMiB},
                                                  {"plateau", 338 * 1e-9},
                                                  {"plateau_up_to", 64 * kGiB},
                                                  {"largest", 362 * 1e-9},
                                                  {"largest_footprint", 128 * kGiB}}));
}

TEST(LineSize, IsWhereTheLinesUsedBeginToFit) {
  Said said;
  for (const auto& [stride, random, sequential] :
       std::vector<std::tuple<std::int64_t, int, int>>{{8, 114, 48},
                                                       {16, 122, 79},
                                                       {32, 138, 142},
                                                       {64, 117, 142},
                                                       {128, 142, 142},
                                                       {256, 16, 16}}) {
    said.add({{"order", "random"}, {"stride", stride}}, random * 1e-9);
    said.add({{"order", "sequential"}, {"stride", stride}}, sequential * 1e-9);
  }
  EXPECT_EQ(figure_values(said.of(sample::rule_of("latency.stride"))),
            (FigureValues{{"line/level:l1", 128}, {"sector/level:l1", 32}}));
  for (Measurement& m : said.points) m.value = 142e-9;
  EXPECT_TRUE(said.of(sample::rule_of("latency.stride")).empty());
}

// Every other line of a footprint fits the L2, but not the part near an SM.
TEST(LineSize, IsFoundWhereWhatFitsIsFar) {
  Said said;
  for (const auto& [stride, ns] : std::vector<std::pair<std::int64_t, int>>{
           {32, 319}, {64, 346}, {128, 346}, {256, 275}, {512, 178}})
    said.add({{"order", "random"}, {"stride", stride}}, ns * 1e-9);
  const std::vector<Figure> figures = said.of(sample::rule_of("latency.stride.l2"));
  EXPECT_EQ(figure_values(figures), (FigureValues{{"line/level:l2", 128}}));
}

TEST(Occupancy, InterpolatesBytesInFlight) {
  Said said;
  for (const auto& [warps, loads, rate] :
       std::vector<std::tuple<std::int64_t, std::int64_t, double>>{
           {2, 1, 10e9}, {4, 1, 20e9}, {4, 2, 30e9}, {8, 1, 40e9}, {16, 1, 50e9}, {32, 1, 50e9}})
    said.add({{"warps", warps}, {"loads", loads}}, rate, Quantity::kByteRate);
  const auto warps_for = [&](double rate) {
    said.hbm_read = rate / 0.9;
    const std::vector<Figure> figures = said.of(sample::rule_of("occupancy.hbm"));
    return figure_of(figures, {.name = "in_flight_per_sm"}) / (32 * 16);
  };
  EXPECT_DOUBLE_EQ(warps_for(45e9), 12);
  EXPECT_THROW(warps_for(5e9), std::out_of_range);   // the least is enough
  EXPECT_THROW(warps_for(51e9), std::out_of_range);  // the most is not
}

TEST(Occupancy, SaysBytesInFlightBesideLatencyTimesBandwidth) {
  Said said;
  for (const auto& [warps, rate] :
       std::vector<std::pair<std::int64_t, double>>{{8, 1320e9}, {32, 3700e9}, {64, 4400e9}})
    said.add({{"warps", warps}, {"loads", 1}}, rate, Quantity::kByteRate);
  const std::vector<Figure> figures = said.of(sample::rule_of("occupancy.hbm"));
  EXPECT_NEAR(figure_of(figures, {.name = "latency_times_bandwidth"}), 337e-9 * 4400e9, 1);
  const auto per_sm = [](const std::vector<Figure>& all) {
    return figure_of(all, {.name = "in_flight_per_sm"});
  };
  EXPECT_NEAR(per_sm(figures), 21.9 * kKiB, 0.05 * kKiB);
  EXPECT_NEAR(figure_of(figures, {.name = "in_flight"}), 132 * per_sm(figures), 1e-6);
  // Relative to the memory's bandwidth if measured.
  said.hbm_read = 4600e9;
  EXPECT_NEAR(per_sm(said.of(sample::rule_of("occupancy.hbm"))), 26.1 * kKiB, 0.05 * kKiB);
}

TEST(Occupancy, SaysTheFewestWarpsByChains) {
  Said said;
  for (const auto& [warps, chains, rate] :
       std::vector<std::tuple<std::int64_t, std::int64_t, double>>{
           {4, 1, 16e12}, {16, 1, 65e12}, {32, 1, 66e12}, {4, 4, 64e12}, {8, 4, 66e12}}) {
    said.add({{"warps", warps}, {"chains", chains}}, rate, Quantity::kFlopRate);
    said.points.back().conditions.sm_clock_hz = 2 * kGHz;
  }
  EXPECT_EQ(figure_values(said.of(sample::rule_of("occupancy.fma"))),
            (FigureValues{{"warps_per_sm/chains:1", 16}, {"warps_per_sm/chains:4", 4}}));
  said.points[0].conditions.sm_clock_hz.reset();
  EXPECT_TRUE(said.of(sample::rule_of("occupancy.fma")).empty());
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
  ASSERT_NE(finding(falls), nullptr);
  EXPECT_EQ(finding(falls)->message,
            "Random access is fast up to 64 GiB of 140 GiB; over 128 GiB the TLB no longer covers "
            "it, and it falls to 16.0 %.");
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

TEST(InstructionCurves, RatesPerClockBesideTheDocumentedOnes) {
  const auto figures = said(sample::rule_of("instruction.throughput"),
                            {rate_of("fp32_fma", 127), rate_of("int32_add", 16),
                             rate_of("match", 2), rate_of("fp64_fma", 63)});
  const auto of = [&](const char* role, const char* op) {
    return figure_of(figures, {.role = role, .by = {{"op", op}}});
  };
  EXPECT_NEAR(of(role::kResults, "fp32_fma"), 127, 1e-9);
  EXPECT_DOUBLE_EQ(of(role::kDocumentedResults, "fp32_fma"), 128);
  EXPECT_NEAR(of(role::kResults, "match"), 2, 1e-9);
  EXPECT_THROW(of(role::kDocumentedResults, "match"), std::out_of_range);
}

TEST(InstructionCurves, WithoutAClockNothingIsSaidPerClock) {
  auto m = rate_of("fp32_fma", 127);
  m.conditions.sm_clock_hz.reset();
  const auto figures = said(sample::rule_of("instruction.throughput"), {m});
  EXPECT_TRUE(figures.empty());
}

TEST(InstructionCurves, LatenciesInCyclesOfTheirOwnClock) {
  const auto latency = [](const char* op, double cycles) {
    return at_clock("instruction.latency", {{"op", std::string(op)}}, Quantity::kTime,
                    cycles / kClockHz);
  };
  const auto figures =
      said(sample::rule_of("instruction.latency"), {latency("fp32_fma", 4), latency("match", 30)});
  EXPECT_NEAR(figure_of(figures, {.role = role::kCycles, .by = {{"op", "match"}}}), 30, 1e-9);
}

TEST(InstructionCurves, WhatOneAddressCosts) {
  const auto atomics = [](const char* op, const char* addresses, const char* scope, double rate) {
    return sample::measurement("atomics.global",
                               {{"op", std::string(op)},
                                {"addresses", std::string(addresses)},
                                {"scope", std::string(scope)}},
                               Quantity::kOpRate, rate);
  };
  const auto figures = said(
      sample::rule_of("atomics.global"),
      {atomics("int32_add", "one", "device", 2e9), atomics("int32_add", "per_warp", "device", 7e9),
       atomics("int32_add", "per_thread", "device", 1e12),
       atomics("int32_add", "one", "block", 4e9), atomics("int32_add", "per_thread", "block", 1e12),
       atomics("fp32_add", "per_thread", "device", 9e11)});
  EXPECT_EQ(figure_values(figures),
            (FigureValues{{"rate/op:int32_add/scope:device", 1e12},
                          {"one_address_share/op:int32_add/scope:device", 0.002},
                          {"rate/op:int32_add/scope:block", 1e12},
                          {"one_address_share/op:int32_add/scope:block", 0.004},
                          {"furthest_from_device/scope:block", 1}}));
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
