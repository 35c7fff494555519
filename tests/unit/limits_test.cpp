#include "harness/conclude/limits.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

std::optional<double> limit_of(const Measurement& m, const DeviceFacts& device) {
  return plausible_limit(*find_benchmark(sample::benchmarks(), m.id), m, device);
}

TEST(PlausibleLimit, IsAMarginAboveThePhysicalPeak) {
  const auto device = sample::h200();
  const auto limit = [&](const char* id) {
    return limit_of(sample::measurement(id, {}, Quantity::kFlopRate, 1e12), device);
  };
  EXPECT_NEAR(*limit("hbm.read"), 1.005 * 4814.3e9, 1e8);
  EXPECT_NEAR(*limit("hbm.memcpy"), 1.005 * 4814.3e9, 1e8);
  EXPECT_NEAR(*limit("alignment.offset"), 1.005 * 4814.3e9, 1e8);
  EXPECT_NEAR(*limit("pcie.h2d.pageable"), 1.005 * 63.015e9, 1e7);
  EXPECT_NEAR(*limit("pcie.bidirectional.pinned"), 1.005 * 126.03e9, 1e7);
  EXPECT_NEAR(*limit("fma.fp16"), 1.005 * 133.8e12, 1e11);
  EXPECT_NEAR(*limit("gemm.fp32"), 1.005 * 66.9e12, 1e11);
  EXPECT_NEAR(*limit("gemm.bf16"), 1.005 * 1070.5e12, 1e11);
  EXPECT_NEAR(*limit("gemm.fp64"), 1.005 * 66.9e12, 1e11);
  EXPECT_NEAR(*limit("gemm.model.bf16"), 1.005 * 1070.5e12, 1e11);
  EXPECT_NEAR(*limit("gemm.waves.bf16"), 1.005 * 1070.5e12, 1e11);
  EXPECT_NEAR(*limit("gemm.alignment.int8"), 1.005 * 2141e12, 1e12);
  EXPECT_NEAR(*limit("gemm.fp8_e5m2"), 1.005 * 2141e12, 1e12);
  EXPECT_NEAR(*limit("gemm.fp8_accurate"), 1.005 * 2141e12, 1e12);
  EXPECT_NEAR(*limit("mma.wgmma.fp8"), 1.005 * 2141e12, 1e12);
  EXPECT_NEAR(*limit("mma.wgmma.fp16_acc16"), 1.005 * 1070.5e12, 1e11);
  EXPECT_NEAR(*limit("mma.sync.fp64"), 1.005 * 66.9e12, 1e11);
  EXPECT_EQ(limit("launch.submit"), std::nullopt);
  EXPECT_EQ(limit("host.memory.read"), std::nullopt);
}

TEST(PlausibleLimit, UsesTheLinkReadWhileDataMoved) {
  auto device = sample::h200();
  auto m = sample::measurement("pcie.h2d.pinned", {}, Quantity::kByteRate, 1e9);
  m.conditions.pcie_generation = 4;
  m.conditions.pcie_width = 8;
  EXPECT_NEAR(*limit_of(m, device), 1.005 * 15.75e9, 1e7);
  device.pcie = {};
  m.conditions = {};
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

TEST(PlausibleLimit, OfAnIntegratedGpuIsNoPcieLink) {
  auto device = sample::h200();
  device.pcie = {.generation = 1, .width = 1, .max_generation = 1, .max_width = 1};
  const auto m = sample::measurement("pcie.h2d.pinned", {}, Quantity::kByteRate, 60e9);
  EXPECT_NEAR(*limit_of(m, device), 1.005 * 0.25e9, 1e6);
  device.integrated = true;
  EXPECT_EQ(limit_of(m, device), std::nullopt);
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

TEST(PlausibleLimit, IsNotKnownForAnUnknownArchitectureOrClock) {
  auto device = sample::h200();
  device.sm_clock_max_hz.reset();
  const auto m = sample::measurement("gemm.bf16", {}, Quantity::kFlopRate, 1e12);
  EXPECT_EQ(limit_of(m, device), std::nullopt);
  device = sample::h200();
  device.compute_major = 13;
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
