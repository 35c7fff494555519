// What is known of hardware beforehand: rates of architectures, usual spreads.

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "harness/hardware/spec.hpp"
#include "harness/hardware/usual_spread.hpp"
#include "harness/values/resources.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

TEST(Spec, ItsUnitsAreTheResourcesWithPeaksOfTheirOwn) {
  std::set<std::string_view> own;
  for (const Resource& resource : known_resources())
    if (resource.kind == Resource::Kind::kCompute && !resource.name.starts_with("cpu."))
      own.insert(peak_resource(resource.name));
  EXPECT_EQ(own, std::set<std::string_view>(kSmUnits.begin(), kSmUnits.end()));
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

TEST(PcieBandwidth, FollowsFromGenerationAndWidth) {
  EXPECT_NEAR(*pcie_raw_bandwidth(5, 16), 63.0e9, 0.02e9);
  EXPECT_NEAR(*pcie_raw_bandwidth(4, 16), 31.5e9, 0.02e9);
  EXPECT_NEAR(*pcie_raw_bandwidth(4, 8), 15.75e9, 0.01e9);
  EXPECT_NEAR(*pcie_raw_bandwidth(3, 16), 15.75e9, 0.01e9);
  EXPECT_DOUBLE_EQ(*pcie_raw_bandwidth(2, 1), 0.5e9);
  EXPECT_DOUBLE_EQ(*pcie_raw_bandwidth(1, 16), 4e9);
  EXPECT_DOUBLE_EQ(*pcie_raw_bandwidth(6, 16), 121e9);
  for (const auto& [generation, width] : {std::pair(0, 16), {7, 16}, {5, 0}, {5, 3}, {5, -16}})
    EXPECT_EQ(pcie_raw_bandwidth(generation, width), std::nullopt) << generation << " x" << width;
}

TEST(Spec, SmClockStepsComeFromTheDriverFirst) {
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

TEST(Site, AContainerAloneIsNoVirtualMachine) {
  const auto site = [](const char* virtualization) {
    HostFacts host;
    host.virtualization = virtualization;
    EXPECT_FALSE(site_of(sample::kUuid, host).is_host);
    EXPECT_TRUE(site_of(kHostDevice, host).is_host);
    return site_of(kHostDevice, host).virtual_machine;
  };
  EXPECT_FALSE(site(""));
  EXPECT_FALSE(site("docker"));
  EXPECT_TRUE(site("kvm"));
  EXPECT_TRUE(site("kvm, docker"));
}

TEST(UsualSpread, FollowsWhatLimitsTheResource) {
  const auto run_to_run = [](const char* resource, Basis basis, Site site = {}) {
    return usual_spread(resource, basis, site).run_to_run;
  };
  const double sustained = run_to_run("tensor.bf16", Basis::kSustained);
  const double burst = run_to_run("tensor.bf16", Basis::kBurst);
  EXPECT_LT(burst, sustained);
  // CUDA cores stay below the power cap.
  EXPECT_LT(run_to_run("cuda_core.fp32", Basis::kSustained), burst);
  EXPECT_LT(run_to_run("hbm.read", Basis::kMeasured), burst);
  EXPECT_LT(run_to_run("pcie.h2d", Basis::kMeasured), burst);
  const Site host = {.is_host = true}, shared_host = {.is_host = true, .virtual_machine = true};
  EXPECT_LT(run_to_run("memory.read", Basis::kMeasured, host),
            run_to_run("memory.read", Basis::kMeasured, shared_host) / 10);
}

// Both ways need most of the host's memory bandwidth, which virtual machines share.
TEST(UsualSpread, BothWaysVaryInAVirtualMachine) {
  const auto run_to_run = [](const char* resource, bool virtual_machine) {
    return usual_spread(resource, Basis::kMeasured, {.virtual_machine = virtual_machine})
        .run_to_run;
  };
  EXPECT_EQ(run_to_run("pcie.bidirectional", false), run_to_run("pcie.h2d", false));
  EXPECT_LT(run_to_run("pcie.h2d", false), run_to_run("pcie.h2d", true));
  EXPECT_EQ(run_to_run("nvlink.read", false), run_to_run("nvlink.read", true));
  EXPECT_GT(run_to_run("pcie.bidirectional", true), 10 * run_to_run("pcie.h2d", true));
}

TEST(UsualSpread, CurvesVaryWithWhatTheCpuHasAPartIn) {
  const auto run_to_run = [](VariesWith varies, bool virtual_machine = false) {
    return usual_curve_spread(varies, virtual_machine).run_to_run;
  };
  using enum VariesWith;
  for (const VariesWith varies : {kSearch, kCollectives, kLaunches, kCpu})
    EXPECT_LT(run_to_run(kDevice), run_to_run(varies)) << to_string(varies);
  for (const VariesWith varies : {kDevice, kSearch, kCollectives, kLaunches})
    EXPECT_EQ(run_to_run(varies), run_to_run(varies, true)) << to_string(varies);
  EXPECT_LT(run_to_run(kCpu), run_to_run(kCpu, true));
}

}  // namespace
}  // namespace peakline
