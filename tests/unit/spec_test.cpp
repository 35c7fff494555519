#include "harness/hardware/spec.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "harness/values/resources.hpp"

namespace peakline {
namespace {

TEST(Spec, ItsUnitsAreTheResourcesWithPeaksOfTheirOwn) {
  std::set<std::string_view> own;
  for (const Resource& resource : known_resources())
    if (resource.kind == Resource::Kind::kCompute && !resource.name.starts_with("cpu."))
      own.insert(peak_resource(resource.name));
  EXPECT_EQ(own, std::set<std::string_view>(kSmUnits.begin(), kSmUnits.end()));
}

TEST(Spec, WhatRunsOnAUnitHasItsPeak) {
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(9, 0, "gemm.fp32")->ops, 256);
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(8, 9, "tensor.fp16_acc16")->ops, 1024);
  EXPECT_TRUE(ops_per_clock_per_sm(8, 9, "tensor.fp16")->uncertain);
  EXPECT_FALSE(ops_per_clock_per_sm(8, 9, "tensor.fp16_acc16")->uncertain);
}

TEST(Spec, TheL1AndSharedMemoryOfKnownArchitecturesMove128BytesPerClock) {
  EXPECT_EQ(on_chip_bytes_per_clock_per_sm(9, 0), 128);
  EXPECT_EQ(on_chip_bytes_per_clock_per_sm(7, 5), 64);
  EXPECT_EQ(on_chip_bytes_per_clock_per_sm(9, 1), std::nullopt);
}

TEST(Spec, InstructionsHaveTheRateOfTheTable) {
  EXPECT_DOUBLE_EQ(results_per_clock_per_sm(9, 0, "fp32_add").value(), 128);
  EXPECT_DOUBLE_EQ(results_per_clock_per_sm(9, 0, "fp64_fma").value(), 64);
  EXPECT_DOUBLE_EQ(results_per_clock_per_sm(9, 0, "fp16x2_mul").value(), 256);
  EXPECT_DOUBLE_EQ(results_per_clock_per_sm(8, 6, "fp64_fma").value(), 2);
  EXPECT_DOUBLE_EQ(results_per_clock_per_sm(12, 0, "int32_add").value(), 128);
  EXPECT_DOUBLE_EQ(results_per_clock_per_sm(9, 0, "reduce").value(), 16);
  EXPECT_FALSE(results_per_clock_per_sm(7, 5, "reduce"));
  EXPECT_FALSE(results_per_clock_per_sm(9, 0, "match"));
  EXPECT_FALSE(results_per_clock_per_sm(13, 0, "fp32_add"));
}

TEST(OpsPerClock, FollowsTheArchitecture) {
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(9, 0, "tensor.bf16")->ops, 4096);
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(9, 0, "cuda_core.fp64")->ops, 128);
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(8, 0, "cuda_core.fp16")->ops, 512);
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(10, 0, "tensor.fp4")->ops, 32768);
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(10, 0, "cuda_core.fp16")->ops, 256);
  EXPECT_FALSE(ops_per_clock_per_sm(9, 0, "tensor.bf16")->uncertain);
}

TEST(OpsPerClock, MarksWhereGeForceDiffers) {
  EXPECT_TRUE(ops_per_clock_per_sm(8, 6, "tensor.tf32")->uncertain);
  EXPECT_TRUE(ops_per_clock_per_sm(8, 9, "tensor.fp8")->uncertain);
  EXPECT_TRUE(ops_per_clock_per_sm(7, 5, "tensor.fp16")->uncertain);
  EXPECT_FALSE(ops_per_clock_per_sm(8, 9, "tensor.int8")->uncertain);
  EXPECT_FALSE(ops_per_clock_per_sm(8, 9, "cuda_core.fp32")->uncertain);
}

TEST(OpsPerClock, NeverGuesses) {
  EXPECT_EQ(ops_per_clock_per_sm(7, 5, "tensor.bf16"), std::nullopt);
  EXPECT_EQ(ops_per_clock_per_sm(9, 0, "tensor.fp4"), std::nullopt);
  for (const auto& [major, minor] : {std::pair(8, 7), {10, 3}, {11, 0}, {12, 1}, {13, 0}})
    for (const std::string_view unit : kSmUnits)
      EXPECT_EQ(ops_per_clock_per_sm(major, minor, unit), std::nullopt) << major << minor << unit;
  for (const char* op : {"int32_add", "int32_mad", "int32_shift", "int32_logic"})
    EXPECT_EQ(results_per_clock_per_sm(10, 0, op), std::nullopt) << op;
  EXPECT_EQ(ops_per_clock_per_sm(0, 0, "cuda_core.fp32"), std::nullopt);
  EXPECT_EQ(ops_per_clock_per_sm(9, 0, "tensor.fp128"), std::nullopt);
  DeviceFacts device;
  device.compute_major = 9;
  EXPECT_EQ(theoretical_flops(device, "tensor.bf16", 1e9), std::nullopt);
}

TEST(MemoryBandwidth, FollowsFromClockAndBus) {
  DeviceFacts h200;
  h200.memory_clock_max_hz = 3201e6;
  h200.memory_bus_bits = 6016;
  EXPECT_NEAR(*theoretical_memory_bandwidth(h200), 4814e9, 0.5e9);
  DeviceFacts a100;
  a100.memory_clock_max_hz = 1215e6;
  a100.memory_bus_bits = 5120;
  EXPECT_NEAR(*theoretical_memory_bandwidth(a100), 1555e9, 0.5e9);
  a100.memory_bus_bits.reset();
  EXPECT_EQ(theoretical_memory_bandwidth(a100), std::nullopt);
}

TEST(MemoryBandwidth, IsNotKnownOfSharedMemory) {
  DeviceFacts gb10;
  gb10.memory_clock_max_hz = 8533e6;  // transfers
  gb10.memory_bus_bits = 256;
  gb10.integrated = true;
  EXPECT_EQ(theoretical_memory_bandwidth(gb10), std::nullopt);
}

TEST(MemoryName, IsThatOfTheArchitecture) {
  const auto name = [](int major, int minor) {
    DeviceFacts device;
    device.compute_major = major;
    device.compute_minor = minor;
    return memory_name(device);
  };
  EXPECT_EQ(name(9, 0), "HBM");
  EXPECT_EQ(name(8, 9), "GDDR");
  EXPECT_EQ(name(12, 0), "GDDR");
  EXPECT_EQ(name(12, 1), "LPDDR");
  EXPECT_EQ(name(13, 0), "device memory");
}

TEST(PcieBandwidth, FollowsFromGenerationAndWidth) {
  EXPECT_NEAR(*pcie_raw_bandwidth(5, 16), 63.0e9, 0.02e9);
  EXPECT_NEAR(*pcie_raw_bandwidth(4, 16), 31.5e9, 0.02e9);
  EXPECT_NEAR(*pcie_raw_bandwidth(4, 8), 15.75e9, 0.01e9);
  EXPECT_NEAR(*pcie_raw_bandwidth(3, 16), 15.75e9, 0.01e9);
  EXPECT_DOUBLE_EQ(*pcie_raw_bandwidth(2, 1), 0.5e9);
  EXPECT_DOUBLE_EQ(*pcie_raw_bandwidth(1, 16), 4e9);
  EXPECT_DOUBLE_EQ(*pcie_raw_bandwidth(6, 16), 121e9);
}

TEST(PcieBandwidth, RefusesWhatIsNoLink) {
  EXPECT_EQ(pcie_raw_bandwidth(0, 16), std::nullopt);
  EXPECT_EQ(pcie_raw_bandwidth(7, 16), std::nullopt);
  EXPECT_EQ(pcie_raw_bandwidth(5, 0), std::nullopt);
  EXPECT_EQ(pcie_raw_bandwidth(5, 3), std::nullopt);
  EXPECT_EQ(pcie_raw_bandwidth(5, -16), std::nullopt);
}

TEST(Spec, StepsOfTheSmClockAreTheDriversElseTheArchitectures) {
  DeviceFacts device;
  device.sm_clock_max_hz = 1980e6;
  EXPECT_EQ(sm_clock_step(device), std::nullopt);
  device.sm_clock_step_hz = 7.5e6;
  EXPECT_EQ(sm_clock_step(device), 7.5e6);
  device.sm_clock_step_hz = 1635e6;  // a list of two clocks
  EXPECT_EQ(sm_clock_step(device), std::nullopt);
  device.compute_major = 9;
  EXPECT_EQ(sm_clock_step(device), 15e6);
}

}  // namespace
}  // namespace peakline
