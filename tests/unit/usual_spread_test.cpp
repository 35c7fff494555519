#include "harness/hardware/usual_spread.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

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
TEST(UsualSpread, BothWaysVaryWithTheNeighboursOfAVirtualMachine) {
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
