#include "harness/conclude/factors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "harness/values/measurement.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using sample::all_of;
using sample::at;
using sample::each;
using sample::everywhere;
using sample::gpu;
using sample::kUuid;
using sample::run_with;

std::map<std::string, double> factors(const Profile& p, std::string_view resource, Basis basis) {
  const Ceiling* row = find_ceiling(p.ceilings, kUuid, resource, basis);
  const Ceiling* theory = find_ceiling(p.ceilings, kUuid, resource, Basis::kTheoretical);
  if (row == nullptr || theory == nullptr) throw std::out_of_range(std::string(resource));
  std::map<std::string, double> found;
  double product = 1;
  for (const Factor& factor : row->factors) {
    found[factor.name] = factor.value;
    product *= factor.value;
  }
  if (!found.empty()) {
    EXPECT_NEAR(product, row->value / theory->value, 1e-9) << resource;
  }
  return found;
}

Measurement instruction(double rate, double clock_hz) {
  Measurement m = sample::measurement("mma.wgmma.bf16", {}, Quantity::kFlopRate, rate);
  m.conditions.sm_clock_hz = clock_hz;
  return m;
}

// A GeForce RTX 5090: 2820 MHz observed, 2407 by datasheet, 3090 by NVML.
const sample::Change kGeforce =
    all_of(gpu([](DeviceFacts& d) {
             d.name = "NVIDIA GeForce RTX 5090";
             d.compute_major = 12;
             d.sm_count = 170;
             d.sm_clock_max_hz = 3090e6;
             d.memory_clock_max_hz = 14001e6;
             d.memory_bus_bits = 512;
           }),
           everywhere([](auto& m) { m.conditions.sm_clock_hz = 2820e6; }));

TEST(Factors, HalfRateWithFp32SumsIsTheProducts) {
  auto p =
      run_with(all_of(kGeforce, at("gemm.bf16/load:burst", [](auto& m) { m.value = 230e12; })));
  const auto bf16 = factors(p, "tensor.bf16", Basis::kBurst);
  EXPECT_EQ(bf16.at("half rate"), 0.5);
  EXPECT_NEAR(bf16.at("rest"), 230e12 / (170 * 512 * 2820e6), 1e-9);
  EXPECT_FALSE(factors(p, "cuda_core.fp32", Basis::kBurst).contains("half rate"));
  EXPECT_NEAR(find_ceiling(p.ceilings, kUuid, "tensor.bf16", Basis::kDatasheet)->value, 209.5e12,
              1);
  // A product outside the table has no known rate, hence no theoretical peak.
  p.devices[0].name = "NVIDIA GeForce RTX 5090 D";
  p = sample::derived(p);
  EXPECT_EQ(find_ceiling(p.ceilings, kUuid, "tensor.bf16", Basis::kTheoretical), nullptr);
}

TEST(Factors, TheInstructionsRateIsComparedWithTheProducts) {
  const auto p =
      run_with(all_of(kGeforce, sample::with(instruction(0.9 * 170 * 512 * 2820e6, 2820e6))));
  EXPECT_NEAR(factors(p, "tensor.bf16", Basis::kBurst).at("instruction"), 0.9, 1e-9);
  EXPECT_NEAR(factors(p, "tensor.bf16", Basis::kInstruction).at("rest"), 0.9, 1e-9);
}

TEST(Factors, TheClockIsComparedWithTheDatasheetsAsWell) {
  const auto fp32 = factors(run_with(kGeforce), "cuda_core.fp32", Basis::kBurst);
  EXPECT_NEAR(fp32.at("boost clock"), 2407 / 3090.0, 1e-9);
  EXPECT_NEAR(fp32.at("clock"), 2820 / 2407.0, 1e-9);
  // One factor if both clocks are equal.
  EXPECT_FALSE(
      factors(sample::h200_run(), "cuda_core.fp32", Basis::kBurst).contains("boost clock"));
}

TEST(Factors, AMemoryClockBelowTheMaximumIsNoFaultOfDram) {
  EXPECT_FALSE(factors(sample::h200_run(), "hbm.read", Basis::kMeasured).contains("memory clock"));
  const auto read = factors(
      run_with(everywhere([](auto& m) { m.conditions.memory_clock_hz = 3201e6 * 10251 / 10501; })),
      "hbm.read", Basis::kMeasured);
  EXPECT_NEAR(read.at("memory clock"), 10251 / 10501.0, 1e-9);
  EXPECT_NEAR(read.at("DRAM"), 4583 / 4814.0 * 10501 / 10251, 1e-3);
}

TEST(Factors, TheLastWaveLeavesSmsIdle) {
  EXPECT_EQ(share_of_waves(264, 132), 1);
  EXPECT_DOUBLE_EQ(share_of_waves(200, 132), 200 / 264.0);
  EXPECT_DOUBLE_EQ(share_of_waves(1, 132), 1 / 132.0);
  // Waves of several products are weighted by their FLOPs.
  const auto p = run_with(each("gemm.bf16", [](auto& m) {
    m.launch.emplace_back("full_wave_flops", std::llround(m.work.flops / 0.97));
  }));
  EXPECT_NEAR(factors(p, "tensor.bf16", Basis::kBurst).at("waves"), 0.97, 1e-9);
}

TEST(Factors, WithoutAClockThereIsNothingToExplainARateBy) {
  const auto p = run_with(everywhere([](auto& m) { m.conditions.sm_clock_hz.reset(); }));
  EXPECT_TRUE(factors(p, "tensor.bf16", Basis::kBurst).empty());
}

}  // namespace
}  // namespace peakline
