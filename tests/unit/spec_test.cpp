#include "harness/hardware/spec.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/hardware/datasheets.hpp"
#include "harness/values/resources.hpp"

namespace peakline {
namespace {

DeviceFacts device_named(std::string name, int major, int minor, int sm_count) {
  DeviceFacts device;
  device.name = std::move(name);
  device.compute_major = major;
  device.compute_minor = minor;
  device.sm_count = sm_count;
  return device;
}

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

// Every figure that a datasheet states with its clock has to follow from the architecture table:
// a wrong rate, SM count, clock, or a sparse figure taken for a dense one breaks this.
TEST(Datasheets, AgreeWithTheArchitectureTableAtTheirClock) {
  // Datasheets round to two or three digits (9.7 for 9.746).
  constexpr double kRounding = 0.013;
  int checked = 0;
  for (const Datasheet& sheet : datasheets()) {
    const auto device = device_named(std::string(sheet.name), sheet.compute_major,
                                     sheet.compute_minor, sheet.sm_count);
    for (const DatasheetFigure& figure : sheet.figures) {
      if (figure.clock_hz == 0) continue;
      const auto peak = theoretical_flops(device, figure.resource, figure.clock_hz);
      ASSERT_TRUE(peak) << sheet.product << " " << figure.resource;
      EXPECT_NEAR(*peak / figure.value, 1, kRounding) << sheet.product << " " << figure.resource;
      ++checked;
    }
  }
  EXPECT_GT(checked, 80);
}

// Where no clock is stated, the implied one has to be a clock that the part can run.
TEST(Datasheets, FiguresWithoutAClockImplyAPossibleOne) {
  for (const Datasheet& sheet : datasheets()) {
    const auto device = device_named(std::string(sheet.name), sheet.compute_major,
                                     sheet.compute_minor, sheet.sm_count);
    for (const DatasheetFigure& figure : sheet.figures) {
      if (figure.clock_hz != 0 || figure.resource == "hbm") continue;
      const auto peak_at_1_hz = theoretical_flops(device, figure.resource, 1);
      ASSERT_TRUE(peak_at_1_hz) << sheet.product << " " << figure.resource;
      const double implied_hz = figure.value / *peak_at_1_hz;
      EXPECT_GT(implied_hz, 1.4e9) << sheet.product << " " << figure.resource;
      EXPECT_LT(implied_hz, 2.0e9) << sheet.product << " " << figure.resource;
    }
  }
}

TEST(Datasheets, EveryNameIsThereOnce) {
  std::set<std::string_view> names;
  for (const Datasheet& sheet : datasheets()) EXPECT_TRUE(names.insert(sheet.name).second);
  EXPECT_GE(names.size(), 15U);
}

TEST(Datasheets, H200TensorFigureStandsAt1830Megahertz) {
  const auto h200 = device_named("NVIDIA H200", 9, 0, 132);
  const DatasheetFigure* bf16 = datasheet_figure(h200, "tensor.bf16");
  ASSERT_NE(bf16, nullptr);
  EXPECT_DOUBLE_EQ(bf16->value, 989.4e12);
  EXPECT_DOUBLE_EQ(bf16->clock_hz, 1830e6);
  EXPECT_NEAR(*theoretical_flops(h200, "tensor.bf16", 1830e6), 989.4e12, 0.1e12);
  EXPECT_NEAR(*theoretical_flops(h200, "tensor.bf16", 1980e6), 1070.5e12, 0.1e12);
  EXPECT_NEAR(*theoretical_flops(h200, "cuda_core.fp32", 1980e6), 66.9e12, 0.05e12);
  EXPECT_DOUBLE_EQ(datasheet_figure(h200, "hbm")->value, 4.8e12);
  EXPECT_EQ(datasheet_figure(h200, "tensor.fp4"), nullptr);
}

TEST(Datasheets, VariantsOfOneChipAreKeptApart) {
  EXPECT_EQ(find_datasheet(device_named("NVIDIA H200 NVL", 9, 0, 132))->product, "H200 NVL");
  EXPECT_EQ(find_datasheet(device_named("NVIDIA H100 80GB HBM3", 9, 0, 132))->product, "H100 SXM");
  EXPECT_EQ(find_datasheet(device_named("NVIDIA H100 PCIe", 9, 0, 114))->product, "H100 PCIe");
  const auto hbm = [](const char* name) {
    return datasheet_figure(device_named(name, 8, 0, 108), "hbm")->value;
  };
  EXPECT_DOUBLE_EQ(hbm("NVIDIA A100-SXM4-40GB"), 1555e9);
  EXPECT_DOUBLE_EQ(hbm("NVIDIA A100-SXM4-80GB"), 2039e9);
  EXPECT_DOUBLE_EQ(hbm("NVIDIA A100 80GB PCIe"), 1935e9);
}

TEST(Datasheets, AnUnknownVariantNeverTakesAnothersFigures) {
  for (const char* name : {"NVIDIA H20", "NVIDIA H800", "NVIDIA H100 64GB HBM2e", "NVIDIA H100",
                           "NVIDIA GH200 144G HBM3e", "H200", "nvidia h200", "NVIDIA H200 ", ""}) {
    EXPECT_EQ(find_datasheet(device_named(name, 9, 0, 132)), nullptr) << name;
  }
  EXPECT_EQ(find_datasheet(device_named("NVIDIA A10G", 8, 6, 80)), nullptr);
  EXPECT_EQ(find_datasheet(device_named("NVIDIA A100-SXM-64GB", 8, 0, 124)), nullptr);
}

TEST(Datasheets, ASliceOrACutDownPartHasNone) {
  EXPECT_EQ(find_datasheet(device_named("NVIDIA H200", 9, 0, 16)), nullptr);
  EXPECT_EQ(find_datasheet(device_named("NVIDIA H200", 10, 0, 132)), nullptr);
  auto mig = device_named("NVIDIA H200", 9, 0, 132);
  mig.mig_enabled = true;
  EXPECT_EQ(find_datasheet(mig), nullptr);
  auto unknown_sm_count = device_named("NVIDIA H200", 9, 0, 132);
  unknown_sm_count.sm_count.reset();
  EXPECT_NE(find_datasheet(unknown_sm_count), nullptr);
}

TEST(OpsPerClock, FollowsTheArchitecture) {
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(9, 0, "tensor.bf16")->ops, 4096);
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(9, 0, "cuda_core.fp64")->ops, 128);
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(8, 0, "cuda_core.fp16")->ops, 512);
  EXPECT_DOUBLE_EQ(ops_per_clock_per_sm(10, 0, "tensor.fp4")->ops, 32768);
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
  EXPECT_EQ(ops_per_clock_per_sm(10, 3, "tensor.bf16"), std::nullopt);
  EXPECT_EQ(ops_per_clock_per_sm(0, 0, "cuda_core.fp32"), std::nullopt);
  EXPECT_EQ(ops_per_clock_per_sm(9, 0, "tensor.fp128"), std::nullopt);
  auto device = device_named("x", 9, 0, 1);
  device.sm_count.reset();
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

}  // namespace
}  // namespace peakline
