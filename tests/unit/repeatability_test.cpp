#include "harness/core/repeatability.hpp"

#include <gtest/gtest.h>

#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

TEST(Site, AContainerAloneIsNoVirtualMachine) {
  const auto site = [](const char* virtualization) {
    HostFacts host;
    host.virtualization = virtualization;
    EXPECT_EQ(site_of(sample::kUuid, host), Site::kGpu);
    return site_of(kHostDevice, host);
  };
  EXPECT_EQ(site(""), Site::kHost);
  EXPECT_EQ(site("docker"), Site::kHost);
  EXPECT_EQ(site("kvm"), Site::kVirtualHost);
  EXPECT_EQ(site("kvm, docker"), Site::kVirtualHost);
}

TEST(Repeatability, FollowsWhatLimitsTheResource) {
  const auto run_to_run = [](const char* resource, Basis basis, Site site = Site::kGpu) {
    return repeatability(resource, basis, site).run_to_run;
  };
  const double sustained = run_to_run("tensor.bf16", Basis::kSustained);
  const double burst = run_to_run("tensor.bf16", Basis::kBurst);
  EXPECT_LT(burst, sustained);
  // CUDA cores stay below the power cap.
  EXPECT_LT(run_to_run("cuda_core.fp32", Basis::kSustained), burst);
  EXPECT_LT(run_to_run("hbm.read", Basis::kMeasured), burst);
  EXPECT_LT(run_to_run("pcie.h2d", Basis::kMeasured), burst);
  EXPECT_LT(run_to_run("memory.read", Basis::kMeasured, Site::kHost),
            run_to_run("memory.read", Basis::kMeasured, Site::kVirtualHost) / 10);
}

TEST(Repeatability, CurvesVaryWithWhatTheCpuHasAPartIn) {
  const auto run_to_run = [](const char* id, bool virtual_machine = false) {
    return curve_repeatability(id, virtual_machine).run_to_run;
  };
  EXPECT_LT(run_to_run("divergence.lanes"), run_to_run("gemm.bf16/layout"));
  EXPECT_LT(run_to_run("divergence.lanes"), run_to_run("launch.submit"));
  EXPECT_EQ(run_to_run("pcie.h2d.pinned"), run_to_run("pcie.h2d.pinned", true));
  EXPECT_LT(run_to_run("pcie.h2d.pageable"), run_to_run("pcie.h2d.pageable", true));
}

}  // namespace
}  // namespace peakline
