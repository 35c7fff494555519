#include "harness/run/coordinator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace peakline::bench {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;

TEST(Environment, NamesWhatChangesResults) {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);
  ::setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  ::setenv("CUDA_HOME", "/usr/local/cuda", 1);
  EXPECT_THAT(environment_that_matters(), IsSupersetOf({Pair("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
                                                        Pair("NVIDIA_TF32_OVERRIDE", "0")}));
  EXPECT_THAT(environment_that_matters(), Not(Contains(Pair("CUDA_HOME", "/usr/local/cuda"))));
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  ::unsetenv("NVIDIA_TF32_OVERRIDE");
  ::unsetenv("CUDA_HOME");
}

TEST(WorkerArguments, CarryEveryOption) {
  RunOptions options;
  options.quick = true;
  options.max_noise = 0.02;
  options.min_samples = 80;
  options.seed = 18446744073709551615u;
  options.verify = false;
  options.profile = true;
  EXPECT_THAT(worker_arguments("host", options),
              ::testing::ElementsAre("--device", "host", "--max-noise", "2", "--min-samples", "80",
                                     "--seed", "18446744073709551615", "--quick", "--no-verify",
                                     "--profile"));
}

}  // namespace
}  // namespace peakline::bench
