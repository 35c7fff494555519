#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/conclude/limits.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

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

Statement said(const CurveRule& rule, const std::vector<Measurement>& all) {
  const DeviceFacts device = sample::h200();
  return said_by(rule, all, &device);
}

TEST(InstructionCurves, RatesPerClockBesideTheDocumentedOnes) {
  const auto sentence = said(sample::rule_of("instruction.throughput"),
                             {rate_of("fp32_fma", 127), rate_of("int32_add", 16),
                              rate_of("match", 2), rate_of("fp64_fma", 63)});
  EXPECT_EQ(sentence.pieces.at(0), "per clock and SM from 2.00 (match) to 127 (fp32_fma)");
  EXPECT_EQ(sentence.pieces.at(1),
            "2 of 3 within 2 % of the documented rate, furthest int32_add at 25.0 %");
  const auto of = [&](const char* role, const char* op) {
    return figure_of(sentence, {.role = role, .by = {{"op", op}}});
  };
  EXPECT_NEAR(of(role::kResults, "fp32_fma"), 127, 1e-9);
  EXPECT_DOUBLE_EQ(of(role::kDocumentedResults, "fp32_fma"), 128);
  EXPECT_NEAR(of(role::kResults, "match"), 2, 1e-9);
  EXPECT_THROW(of(role::kDocumentedResults, "match"), std::out_of_range);
}

TEST(InstructionCurves, WithoutAClockNothingIsSaidPerClock) {
  auto m = rate_of("fp32_fma", 127);
  m.conditions.sm_clock_hz.reset();
  const auto sentence = said(sample::rule_of("instruction.throughput"), {m});
  EXPECT_TRUE(sentence.pieces.empty());
  EXPECT_TRUE(sentence.figures.empty());
}

TEST(InstructionCurves, LatenciesInCyclesOfTheirOwnClock) {
  const auto latency = [](const char* op, double cycles) {
    return at_clock("instruction.latency", {{"op", std::string(op)}}, Quantity::kTime,
                    cycles / kClockHz);
  };
  const auto sentence =
      said(sample::rule_of("instruction.latency"), {latency("fp32_fma", 4), latency("match", 30)});
  EXPECT_EQ(sentence.pieces.at(0), "latency in cycles from 4.00 (fp32_fma) to 30.0 (match)");
  EXPECT_NEAR(figure_of(sentence, {.role = role::kCycles, .by = {{"op", "match"}}}), 30, 1e-9);
}

TEST(InstructionCurves, WhatOneAddressCosts) {
  const auto atomics = [](const char* op, const char* addresses, const char* scope, double rate) {
    return sample::measurement("atomics.global",
                               {{"op", std::string(op)},
                                {"addresses", std::string(addresses)},
                                {"scope", std::string(scope)}},
                               Quantity::kOpRate, rate);
  };
  const auto sentence = said(
      sample::rule_of("atomics.global"),
      {atomics("int32_add", "one", "device", 2e9), atomics("int32_add", "per_warp", "device", 7e9),
       atomics("int32_add", "per_thread", "device", 1e12),
       atomics("int32_add", "one", "block", 4e9), atomics("int32_add", "per_thread", "block", 1e12),
       atomics("fp32_add", "per_thread", "device", 9e11)});
  EXPECT_EQ(sentence.pieces,
            (std::vector<std::string>{"global memory with one address per thread: int32_add 1.00 "
                                      "TOP/s, 2.00 GOP/s on one",
                                      "against device scope: block within 100.0 %"}));
  EXPECT_EQ(values_of(sentence),
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
